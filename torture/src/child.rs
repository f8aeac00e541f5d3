//! Children: started, heard line by line, killed by their own id.
//!
//! Whatever a child said before it died is heard, and a child that says nothing for too long is stuck.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

use crate::store::Place;
use crate::told::Told;

/// A child that is silent for so long is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A child.
pub(crate) struct Child {
    process: Process,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    /// The process that speaks: another one than ours where it runs under a tool.
    pid: Option<u32>,
}

/// What a child did.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) told: Vec<Told>,
    pub(crate) status: ExitStatus,
    /// What it wrote to standard error.
    pub(crate) errors: String,
}

/// What there is to hear.
pub(crate) enum Heard {
    Told(Told),
    /// It has closed its mouth for ever.
    End,
}

/// The command that starts this program as a child.
///
/// # Errors
/// When this program does not know where it is.
pub(crate) fn command(role: &str, place: &Place, order: &impl Serialize) -> Result<Vec<String>, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program does not find itself: {error}"))?;
    let order = serde_json::to_string(order).map_err(|error| error.to_string())?;
    let [kind, at] = place.words();
    Ok(vec![program.display().to_string(), role.to_owned(), kind, at, order])
}

impl Child {
    /// Starts the words as a program.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start(words: &[String]) -> Result<Self, String> {
        Self::start_with(words, &[])
    }

    /// Starts the words as a program, with more in its environment.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start_with(words: &[String], environment: &[(&str, String)]) -> Result<Self, String> {
        let (program, rest) = words.split_first().ok_or("no program")?;
        let mut command = Command::new(program);
        command.args(rest).envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("`{program}` does not start: {error}"))?;
        let (sender, lines) = channel();
        let (output, errors) = (process.stdout.take(), process.stderr.take());
        std::thread::spawn(move || output.map(|output| pass_on(output, &sender)));
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            // What cannot be read is not missed: it is only shown to people.
            let _ = errors.map(|mut errors| errors.read_to_string(&mut text));
            text
        });
        Ok(Self { process, lines, errors: Some(errors), pid: None })
    }

    /// What the child says next.
    ///
    /// # Errors
    /// When it says nothing for too long, or something that is not ours.
    pub(crate) fn hear(&mut self) -> Result<Heard, String> {
        match self.lines.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Disconnected) => Ok(Heard::End),
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                Err(format!("a child was stuck for {PATIENCE:?}"))
            }
            Ok(line) => {
                let told: Told = serde_json::from_str(&line).map_err(|_| format!("a child said `{line}`"))?;
                if let Told::Born { pid } = &told {
                    self.pid = Some(*pid);
                }
                Ok(Heard::Told(told))
            }
        }
    }

    /// Says a line to it.
    ///
    /// # Errors
    /// When it does not listen.
    pub(crate) fn say(&mut self, line: &str) -> Result<(), String> {
        let input = self.process.stdin.as_mut().ok_or("the child has no ear")?;
        input.write_all(format!("{line}\n").as_bytes()).map_err(|error| format!("the child does not listen: {error}"))
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        // Under a tool the child speaks under another id; the tool ends with it, and if not, now.
        let _ = self.process.kill();
    }

    /// Sends it a signal; one that has ended does not mind.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.pid.unwrap_or(self.process.id());
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Everything else that it says, until it ends.
    ///
    /// # Errors
    /// As [`Child::hear`], and when it cannot be waited for.
    pub(crate) fn end(mut self) -> Result<End, String> {
        // Nobody speaks to it any more: one that waits for a word gives up.
        drop(self.process.stdin.take());
        let mut told = Vec::new();
        while let Heard::Told(one) = self.hear()? {
            told.push(one);
        }
        let begun = Instant::now();
        let status = loop {
            // A child that has closed its mouth may still be at work: a stopped or hanging one is stuck.
            if let Some(status) = self.process.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                self.kill();
                return Err("a child did not end".to_owned());
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let errors = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        Ok(End { told, status, errors })
    }
}

/// Nobody is left behind, also not one that was stopped.
impl Drop for Child {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.kill();
            let _ = self.process.wait();
        }
    }
}

fn pass_on(output: impl Read, sender: &Sender<String>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = String::new();
        // A line without its end was torn by the death of the child, so nobody was told it.
        let Ok(_) = output.read_line(&mut line) else { return };
        let Some(line) = line.strip_suffix('\n') else { return };
        if sender.send(line.to_owned()).is_err() {
            return;
        }
    }
}

impl End {
    /// Whether the child panicked, was struck down, or did anything else that no fault excuses.
    pub(crate) fn is_wild(&self) -> bool {
        !matches!(self.status.code(), Some(0 | 1))
    }

    /// How it ended, for people.
    pub(crate) fn spoken(&self) -> String {
        let errors = self.errors.trim();
        let tail: Vec<&str> = errors.lines().rev().take(6).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        format!("{}; it said: {}", self.status, tail.join(" / "))
    }
}
