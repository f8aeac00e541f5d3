//! Test fixture: a pseudo-terminal with simulated input.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A process at a terminal of 80 columns.
pub(crate) struct Terminal {
    screen: File,
    child: Child,
    output: String,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        tcsetwinsize(&screen, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(name).unwrap();
        command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
        let child = command.spawn().unwrap();
        // The command holds the other end of the pseudo-terminal; reads must fail once the process has closed that end.
        drop(command);
        Self { screen: File::from(screen), child, output: String::new() }
    }

    /// Reads until the text appears, or to the end of output.
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        let mut buffer = [0; 4096];
        while !self.output.contains(text) {
            match self.screen.read(&mut buffer) {
                Ok(count) if count > 0 => self.output.push_str(&String::from_utf8_lossy(&buffer[..count])),
                _ => break,
            }
        }
        assert!(text == NEVER || self.output.contains(text), "{text}: {}", self.output);
        self
    }

    pub(crate) fn type_text(&mut self, text: &str) -> &mut Self {
        self.screen.write_all(text.as_bytes()).unwrap();
        self
    }

    pub(crate) fn output(&self) -> &str {
        &self.output
    }

    /// Sends Ctrl-C.
    pub(crate) fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Returns all output and the exit code.
    pub(crate) fn end(mut self) -> (String, i32) {
        self.wait_for(NEVER);
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        (self.output.replace('\r', ""), code)
    }
}

/// Text that no process prints.
const NEVER: &str = "\u{0}";
