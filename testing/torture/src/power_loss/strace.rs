//! Parser of `strace -f -xx` logs: file changes of a process in a folder, and its messages to the parent.
//!
//! System calls of several threads overlap: a call may be split into an unfinished and a resumed line. Relevant are
//! the start of writes, the start and the end of syncs, and the messages to the parent.

use std::collections::BTreeMap;

use crate::protocol::ChildMessage;

/// System calls that strace logs.
pub(crate) const CALLS: &str = "trace=openat,close,dup,dup2,dup3,pwrite64,pwritev,pwritev2,ftruncate,fallocate,fsync,\
                                fdatasync,write,writev,unlink,unlinkat,rename,renameat,renameat2,mmap";
/// Maximum length of logged strings; the data of writes must not be truncated.
pub(crate) const MAX_STRING_BYTES: &str = "4000000";

/// One event in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TraceStep {
    /// A message to the parent.
    Message(ChildMessage),
    /// A write to a file.
    Write { file: String, offset: usize, bytes: Vec<u8> },
    /// A change of the length of a file.
    Truncate { file: String, length: usize },
    /// The start of a sync by a thread.
    SyncStarts { file: String, thread: u32 },
    /// The end of a sync by a thread.
    SyncEnds { thread: u32 },
    /// A removal of a file.
    Remove { file: String },
}

/// Parses a log; ignores files outside of the folder and shared memory files.
///
/// # Errors
/// Returns an error for file changes that the parser does not support, because ignoring them would hide losses.
pub(crate) fn parse(log: &str, folder: &str) -> Result<Vec<TraceStep>, String> {
    let mut parser = TraceParser { folder, files: BTreeMap::new(), unfinished: BTreeMap::new(), steps: Vec::new() };
    for line in log.lines() {
        parser.parse_line(line).map_err(|error| format!("{error} in the log line `{:.160}`", line))?;
    }
    Ok(parser.steps)
}

struct TraceParser<'a> {
    folder: &'a str,
    /// Files by descriptor.
    files: BTreeMap<u32, String>,
    /// Unfinished calls by thread.
    unfinished: BTreeMap<u32, SystemCall>,
    steps: Vec<TraceStep>,
}

#[derive(Debug, Clone)]
struct SystemCall {
    name: String,
    arguments: Vec<String>,
}

impl TraceParser<'_> {
    fn parse_line(&mut self, line: &str) -> Result<(), String> {
        let (thread, call_text) = line.split_once(' ').ok_or("no thread")?;
        let thread = thread.parse().map_err(|_| "no thread".to_owned())?;
        let call_text = call_text.trim_start();
        if call_text.starts_with("+++") || call_text.starts_with("---") {
            return Ok(());
        }
        if let Some(resumed) = call_text.strip_prefix("<... ") {
            let call = self.unfinished.remove(&thread).ok_or("a call returns that did not start")?;
            return self.end_call(thread, &call, result(resumed)?);
        }
        let (name, arguments) = call_text.split_once('(').ok_or("no call")?;
        let is_unfinished = arguments.contains("<unfinished ...>");
        let arguments = arguments.split(" <unfinished ...>").next().unwrap_or_default();
        let arguments = if is_unfinished { arguments } else { arguments.rsplit_once(" = ").ok_or("no result")?.0 };
        let call = SystemCall {
            name: name.to_owned(),
            arguments: arguments.trim_end().trim_end_matches(')').split(", ").map(str::to_owned).collect(),
        };
        self.start_call(thread, &call)?;
        if is_unfinished {
            self.unfinished.insert(thread, call);
            return Ok(());
        }
        self.end_call(thread, &call, result(call_text)?)
    }

    /// Handles the start of a call.
    fn start_call(&mut self, thread: u32, call: &SystemCall) -> Result<(), String> {
        match &*call.name {
            "write" if call.argument(0)? == "1" => {
                let message = serde_json::from_slice(&call.bytes(1)?)
                    .map_err(|error| format!("not a message of a child: {error}"))?;
                self.steps.push(TraceStep::Message(message));
            }
            "pwrite64" => {
                if let Some(file) = self.file(call.number(0)?) {
                    let (offset, bytes) = (call.number(3)? as usize, call.bytes(1)?);
                    self.steps.push(TraceStep::Write { file, offset, bytes });
                }
            }
            "ftruncate" => {
                if let Some(file) = self.file(call.number(0)?) {
                    self.steps.push(TraceStep::Truncate { file, length: call.number(1)? as usize });
                }
            }
            "fsync" | "fdatasync" => {
                if let Some(file) = self.file(call.number(0)?) {
                    self.steps.push(TraceStep::SyncStarts { file, thread });
                }
            }
            "mmap" if call.arguments.len() >= 5 && call.argument(3)?.contains("MAP_SHARED") => {
                let is_ours = call.argument(4)? != "-1" && self.file(call.number(4)?).is_some();
                if is_ours && call.argument(2)?.contains("PROT_WRITE") {
                    return Err("a file is changed through a memory map, which is not supported".to_owned());
                }
            }
            "write" | "writev" | "pwritev" | "pwritev2" | "fallocate" if self.file(call.number(0)?).is_some() => {
                return Err("this write operation is not supported".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles the end of a call.
    fn end_call(&mut self, thread: u32, call: &SystemCall, result: i64) -> Result<(), String> {
        let is_sync = matches!(&*call.name, "fsync" | "fdatasync");
        if is_sync && result == 0 && self.file(call.number(0)?).is_some() {
            self.steps.push(TraceStep::SyncEnds { thread });
        }
        let Ok(descriptor) = u32::try_from(result) else { return Ok(()) };
        match &*call.name {
            "openat" => {
                self.files.remove(&descriptor);
                let path = call.path(1)?;
                self.files.extend(self.relative_name(&path).map(|file| (descriptor, file)));
            }
            "dup" | "dup2" | "dup3" => {
                let file = self.files.get(&(call.number(0)? as u32)).cloned();
                self.files.remove(&descriptor);
                self.files.extend(file.map(|file| (descriptor, file)));
            }
            "close" => _ = self.files.remove(&(call.number(0)? as u32)),
            "unlink" => self.record_removal(&call.path(0)?),
            "unlinkat" => self.record_removal(&call.path(1)?),
            "rename" | "renameat" | "renameat2" => {
                let paths = call
                    .arguments
                    .iter()
                    .filter(|argument| argument.starts_with('"'))
                    .map(|argument| unescaped(argument));
                if paths.collect::<Result<Vec<_>, _>>()?.iter().any(|path| path.starts_with(self.folder.as_bytes())) {
                    return Err("renaming a file is not supported".to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn record_removal(&mut self, path: &str) {
        self.steps.extend(self.relative_name(path).map(|file| TraceStep::Remove { file }));
    }

    fn file(&self, descriptor: u64) -> Option<String> {
        self.files.get(&u32::try_from(descriptor).ok()?).cloned()
    }

    /// Returns the name of a file in the folder, except shared memory, which SQLite creates again after a crash.
    fn relative_name(&self, path: &str) -> Option<String> {
        let name = path.strip_prefix(self.folder)?.trim_start_matches('/');
        (!name.is_empty() && !name.ends_with("-shm")).then(|| name.to_owned())
    }
}

impl SystemCall {
    fn argument(&self, index: usize) -> Result<&str, String> {
        self.arguments.get(index).map(|argument| argument.trim()).ok_or_else(|| "an argument is missing".to_owned())
    }

    fn number(&self, index: usize) -> Result<u64, String> {
        let argument = self.argument(index)?;
        argument.parse().map_err(|_| format!("`{argument}` is not a number"))
    }

    fn bytes(&self, index: usize) -> Result<Vec<u8>, String> {
        unescaped(self.argument(index)?)
    }

    fn path(&self, index: usize) -> Result<String, String> {
        String::from_utf8(self.bytes(index)?).map_err(|_| "a path is not UTF-8".to_owned())
    }
}

fn result(line: &str) -> Result<i64, String> {
    let result = line.rsplit_once(" = ").ok_or("no result")?.1;
    let result = result.split(' ').next().unwrap_or_default();
    // Memory addresses are irrelevant.
    if result.starts_with("0x") { Ok(-1) } else { result.parse().map_err(|_| format!("`{result}` is not a result")) }
}

/// Decodes a string logged in hexadecimal.
fn unescaped(argument: &str) -> Result<Vec<u8>, String> {
    let content = argument.strip_prefix('"').and_then(|argument| argument.strip_suffix('"'));
    let content = content.ok_or("a string is truncated")?;
    let digit = |byte: u8| (byte as char).to_digit(16);
    let pairs = content.as_bytes().chunks(4).map(|escape| match escape {
        [b'\\', b'x', high, low] => Some((digit(*high)? * 16 + digit(*low)?) as u8),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(|| "a string is not hexadecimal".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        let escaped: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("\"{escaped}\"")
    }

    #[test]
    fn overlapping_calls_are_put_in_order() {
        let log = format!(
            "7 openat(AT_FDCWD, {}, O_RDWR|O_CREAT, 0644) = 5\n\
             7 pwrite64(5, {}, 2, 10) = 2\n\
             7 fdatasync(5 <unfinished ...>\n\
             8 write(1, {}, 18) = 18\n\
             7 <... fdatasync resumed>)         = 0\n\
             7 close(5)          = 0\n\
             7 pwrite64(5, {}, 2, 10) = 2\n\
             7 unlink({}) = 0\n\
             7 +++ exited with 0 +++\n",
            hex("/d/a.db"),
            hex("xy"),
            hex("{\"type\":\"opened\"}\n"),
            hex("zz"),
            hex("/d/a.db-wal"),
        );
        let file = || "a.db".to_owned();
        let steps = parse(&log, "/d").unwrap();
        assert_eq!(
            steps,
            [
                TraceStep::Write { file: file(), offset: 10, bytes: b"xy".to_vec() },
                TraceStep::SyncStarts { file: file(), thread: 7 },
                TraceStep::Message(ChildMessage::Opened),
                TraceStep::SyncEnds { thread: 7 },
                TraceStep::Remove { file: "a.db-wal".into() },
            ]
        );
    }

    #[test]
    fn unsupported_calls_are_rejected() {
        let open = format!("7 openat(AT_FDCWD, {}, O_RDWR) = 5\n", hex("/d/a.db"));
        for line in [
            "7 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 5, 0) = 0x7f00",
            "7 write(5, \"\\x00\", 1) = 1",
            "7 pwrite64(5, \"\\x00\"..., 4096, 0) = 4096",
        ] {
            assert!(parse(&format!("{open}{line}\n"), "/d").is_err(), "{line}");
        }
        let shared = format!("7 openat(AT_FDCWD, {}, O_RDWR) = 5\n", hex("/d/a.db-shm"));
        let mapped = "7 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 5, 0) = 0x7f00\n";
        assert!(parse(&format!("{shared}{mapped}"), "/d").unwrap().is_empty());
    }
}
