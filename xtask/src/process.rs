//! Child processes: each leads its own process group, has a time limit, and is ended together with its children.
//!
//! `cargo`, `npm` and `node` start processes themselves. Killing only the direct child would leave those running, and a
//! process that never ends keeps a test run from ending, so the whole group is ended. The terminal sends Ctrl-C only to
//! the foreground group, which is the group of this program: it handles SIGINT and SIGTERM and ends the groups that it
//! started. Children in the foreground group would receive Ctrl-C directly, but could not be ended as a group, because
//! that group also contains this program and the script that started it. Processes that call `setsid` (the servers of
//! `superstep-cluster`) leave the group and have their own watcher.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Default time limit of a command; long runs of the simulation and the fault tests set their own.
const DEFAULT_LIMIT: Duration = minutes(120);
/// Time between SIGTERM and SIGKILL. `cargo nextest` ends its own tests within 10 s of a SIGTERM.
const GRACE_PERIOD: Duration = Duration::from_secs(15);
/// Interval between two checks of a child.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Returns a duration in minutes.
pub(crate) const fn minutes(number: u64) -> Duration {
    Duration::from_secs(number * 60)
}

/// A time limit and the instant at which it is reached.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    limit: Duration,
    instant: Instant,
}

impl Deadline {
    fn after(limit: Duration) -> Self {
        Self { limit, instant: Instant::now() + limit }
    }
}

thread_local! {
    /// The deadline of all commands that this thread runs.
    static DEADLINE: Cell<Option<Deadline>> = const { Cell::new(None) };
}

/// Runs `work` with one time limit for all of its commands. A shorter limit of the caller stays in force.
pub(crate) fn with_time_limit<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    let (outer, inner) = (DEADLINE.get(), Deadline::after(limit));
    DEADLINE.set(Some(outer.filter(|outer| outer.instant < inner.instant).unwrap_or(inner)));
    let result = work();
    DEADLINE.set(outer);
    result
}

/// The running groups, which a signal ends.
struct Groups {
    is_ending: bool,
    running: Vec<Pid>,
}

static GROUPS: Mutex<Groups> = Mutex::new(Groups { is_ending: false, running: Vec::new() });

fn groups() -> MutexGuard<'static, Groups> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the program and every group on SIGINT and SIGTERM; a second signal does not wait for them.
///
/// # Errors
/// Returns an error if the signal handlers cannot be installed.
pub(crate) fn handle_signals() -> Result<(), String> {
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|error| format!("signals cannot be handled: {error}"))?;
    thread::spawn(move || {
        let number = signals.forever().next().unwrap_or(SIGTERM);
        let running = {
            let mut groups = groups();
            groups.is_ending = true;
            groups.running.clone()
        };
        eprintln!("error: stopped by signal {number}; ending {} running command(s)", running.len());
        send(&running, Signal::TERM);
        let started_at = Instant::now();
        while running.iter().any(|id| is_running(*id))
            && started_at.elapsed() < GRACE_PERIOD
            && signals.pending().next().is_none()
        {
            thread::sleep(POLL_INTERVAL);
        }
        send(&running, Signal::KILL);
        std::process::exit(128 + number);
    });
    Ok(())
}

fn send(groups: &[Pid], signal: Signal) {
    for id in groups {
        // An error means that the group is gone.
        let _ = kill_process_group(*id, signal);
    }
}

/// Returns true if a group has a process that is not a zombie. Zombies remain in a container whose first process does
/// not reap them.
fn is_running(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let stats = processes.flatten().filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats.into_iter().any(|stat| {
        // The name of the program comes before these fields, in brackets, and may contain spaces.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, id) = (fields.next(), fields.nth(1));
        id == Some(&group.to_string()) && !matches!(state, Some("Z" | "X"))
    })
}

/// A child process that leads a group. Dropping it ends the group.
pub(crate) struct Group {
    child: Child,
    id: Pid,
    name: String,
    deadline: Deadline,
}

impl Group {
    /// Starts a command as the leader of a new group, without input.
    ///
    /// # Errors
    /// Returns an error if the command does not start.
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let name = name(command);
        // The system would stop a background group that reads from the terminal.
        command.process_group(0).stdin(Stdio::null());
        // Locked until the group is registered, so that a signal does not miss it.
        let mut groups = groups();
        if groups.is_ending {
            drop(groups);
            wait_for_exit();
        }
        let child = command.spawn().map_err(|error| format!("{name} could not be started: {error}"))?;
        let id = Pid::from_child(&child);
        groups.running.push(id);
        let deadline = DEADLINE.get().unwrap_or_else(|| Deadline::after(DEFAULT_LIMIT));
        Ok(Self { child, id, name, deadline })
    }

    /// Waits until the command ends, then ends its remaining child processes. Ends the whole group at the time limit.
    ///
    /// # Errors
    /// Returns an error with the command and the limit if the time limit is reached.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus, String> {
        loop {
            if groups().is_ending {
                wait_for_exit();
            }
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    self.end(GRACE_PERIOD);
                    return Ok(status);
                }
                Ok(None) if Instant::now() < self.deadline.instant => thread::sleep(POLL_INTERVAL),
                Ok(None) => break,
                Err(error) => return Err(format!("{} cannot be waited for: {error}", self.name)),
            }
        }
        self.end(GRACE_PERIOD);
        Err(self.timeout_error("was still running"))
    }

    /// Returns the first line of the standard output, which must be piped. Later output is discarded.
    ///
    /// # Errors
    /// Returns an error if there is no line within the time limit.
    pub(crate) fn first_line(&mut self, limit: Duration) -> Result<String, String> {
        let pipe = self.child.stdout.take().ok_or_else(|| format!("{} has no output", self.name))?;
        let (sender, line) = channel();
        thread::spawn(move || {
            let (mut reader, mut line) = (BufReader::new(pipe), String::new());
            let _ = reader.read_line(&mut line);
            let _ = sender.send(line);
            // Without a reader, the program would block once the pipe is full.
            let _ = std::io::copy(&mut reader, &mut std::io::sink());
        });
        line.recv_timeout(limit).map_err(|_| format!("{} printed nothing within {}", self.name, text(limit)))
    }

    /// Returns the complete output of a pipe of the child.
    fn collect(&self, pipe: &Receiver<Vec<u8>>) -> Result<Vec<u8>, String> {
        let remaining = self.deadline.instant.saturating_duration_since(Instant::now()).max(GRACE_PERIOD);
        pipe.recv_timeout(remaining)
            .map_err(|_| self.timeout_error("had ended, but a process that it started kept its output open"))
    }

    fn timeout_error(&self, state: &str) -> String {
        let limit = text(self.deadline.limit);
        format!(
            "{} {state} when its time limit of {limit} was reached; it was ended with all of its child processes",
            self.name
        )
    }

    /// Ends all running processes of the group: SIGTERM, then SIGKILL after the grace period.
    fn end(&mut self, grace: Duration) {
        if !is_running(self.id) {
            // Reaps a leader that has ended by itself.
            let _ = self.child.try_wait();
            return;
        }
        let started_at = Instant::now();
        let _ = kill_process_group(self.id, Signal::TERM);
        loop {
            // Reaps the leader.
            let _ = self.child.try_wait();
            if !is_running(self.id) {
                break;
            }
            if started_at.elapsed() >= grace {
                let _ = kill_process_group(self.id, Signal::KILL);
                break;
            }
            thread::sleep(POLL_INTERVAL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end(GRACE_PERIOD);
        groups().running.retain(|id| *id != self.id);
    }
}

/// Blocks forever: the thread that handles the signal ends the program.
fn wait_for_exit() -> ! {
    loop {
        thread::park();
    }
}

/// Runs a command that must succeed; its output passes through.
///
/// # Errors
/// Returns an error if the command does not start, does not end within the time limit, or fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = Group::start(command)?.wait()?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", name(command))) }
}

/// Runs a command and returns its output; nothing passes through.
///
/// # Errors
/// Returns an error if the command does not start or does not end within the time limit.
pub(crate) fn output(command: &mut Command) -> Result<Output, String> {
    capture(command.stderr(Stdio::piped()), false)
}

/// Runs a command and returns its standard output; its standard error passes through.
///
/// # Errors
/// Returns the errors of [`output`].
pub(crate) fn stdout(command: &mut Command) -> Result<Output, String> {
    capture(command.stderr(Stdio::inherit()), false)
}

/// Runs a command and returns its output, which also passes through immediately.
///
/// # Errors
/// Returns the errors of [`output`].
pub(crate) fn passed_through(command: &mut Command) -> Result<Output, String> {
    capture(command.stderr(Stdio::piped()), true)
}

fn capture(command: &mut Command, passes: bool) -> Result<Output, String> {
    let mut group = Group::start(command.stdout(Stdio::piped()))?;
    let stdout = group.child.stdout.take().map(|pipe| read(pipe, passes.then(std::io::stdout)));
    let stderr = group.child.stderr.take().map(|pipe| read(pipe, passes.then(std::io::stderr)));
    let status = group.wait()?;
    let collect = |pipe: Option<Receiver<Vec<u8>>>| pipe.map_or(Ok(Vec::new()), |pipe| group.collect(&pipe));
    Ok(Output { status, stdout: collect(stdout)?, stderr: collect(stderr)? })
}

/// Reads a pipe to its end on a new thread, and copies everything to `copy`.
fn read(mut pipe: impl Read + Send + 'static, mut copy: Option<impl Write + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let (mut output_bytes, mut buffer) = (Vec::new(), [0; 8192]);
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            output_bytes.extend_from_slice(&buffer[..length]);
            if let Some(copy) = &mut copy {
                let _ = copy.write_all(&buffer[..length]).and_then(|()| copy.flush());
            }
        }
        let _ = sender.send(output_bytes);
    });
    receiver
}

/// Returns the last non-empty lines of an output.
pub(crate) fn last_lines(printed: &[u8], number: usize) -> String {
    let printed = String::from_utf8_lossy(printed);
    let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(number)..].join("\n")
}

/// Returns a command as it would be typed in a shell.
fn name(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let command_line = std::iter::once(program).chain(command.get_args());
    format!("`{}`", command_line.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(" "))
}

fn text(limit: Duration) -> String {
    match limit.as_secs() {
        seconds if seconds >= 60 && seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn is_alive(process: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().split_whitespace().next().unwrap_or("X").to_owned();
        state != "Z" && state != "X"
    }

    #[test]
    fn a_command_that_outlives_its_limit_is_ended_with_its_children() {
        let script = "sleep 100000 & echo $!; wait";
        let (grandchild, problem) = with_time_limit(Duration::ZERO, || {
            let mut group = Group::start(shell(script).stdout(Stdio::piped())).unwrap();
            let line = group.first_line(minutes(60)).unwrap();
            assert!(is_alive(line.trim()));
            (line.trim().to_owned(), group.wait().unwrap_err())
        });
        assert!(!is_alive(&grandchild));
        assert_eq!(
            problem,
            format!(
                "`sh -c {script}` was still running when its time limit of 0 s was reached; \
                 it was ended with all of its child processes"
            )
        );
    }

    #[test]
    fn a_process_that_ignores_sigterm_is_killed() {
        let mut group = Group::start(shell("trap '' TERM; echo ready; sleep 100000").stdout(Stdio::piped())).unwrap();
        group.first_line(minutes(60)).unwrap();
        group.end(Duration::ZERO);
        assert!(!is_running(group.id));
    }

    #[test]
    fn background_processes_of_a_command_are_ended() {
        let output = output(&mut shell("sleep 100000 & echo $!")).unwrap();
        assert!(output.status.success());
        assert!(!is_alive(String::from_utf8(output.stdout).unwrap().trim()));
    }

    #[test]
    fn output_is_captured_and_a_failure_is_named() {
        let output = output(&mut shell("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(run(&mut shell("exit 3")).unwrap_err(), "`sh -c exit 3` ended with exit status: 3");
        assert!(run(&mut Command::new("no-such-program")).unwrap_err().starts_with("`no-such-program` could not be"));
    }

    #[test]
    fn the_shorter_of_two_limits_is_in_force() {
        let limit = || DEADLINE.get().unwrap().limit;
        with_time_limit(minutes(1), || {
            assert_eq!(with_time_limit(minutes(2), limit), minutes(1));
            assert_eq!(with_time_limit(Duration::from_secs(1), limit), Duration::from_secs(1));
            assert_eq!(limit(), minutes(1));
        });
        assert!(DEADLINE.get().is_none());
        assert_eq!((text(minutes(25)), text(Duration::from_secs(90))), ("25 min".to_owned(), "90 s".to_owned()));
    }

    #[test]
    fn last_lines_returns_the_final_lines() {
        assert_eq!(last_lines(b"a\nb\n\nc\n", 2), "b\nc");
        assert_eq!(last_lines(b"a", 9), "a");
    }
}
