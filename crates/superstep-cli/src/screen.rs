//! The few lines at the bottom of a terminal that are drawn over and over, on stderr.
//!
//! What is settled scrolls away above them. Where nothing can be drawn over, only what is settled is written.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::out::{Out, write_stderr};

/// At most fifteen times a second.
const PACE: Duration = Duration::from_millis(67);

/// Nothing moves before this: what is over by then needs no progress.
const PATIENCE: Duration = Duration::from_millis(300);

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The lines that are drawn over and over.
pub(crate) struct Screen {
    out: Out,
    is_live: bool,
    drawn: usize,
    begun: Instant,
    last: Option<Instant>,
}

impl Screen {
    pub(crate) fn new(out: Out) -> Self {
        Self { out, is_live: out.is_live(), drawn: 0, begun: Instant::now(), last: None }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Whether it is time to draw again.
    pub(crate) fn is_due(&self) -> bool {
        self.is_live && self.begun.elapsed() > PATIENCE && self.last.is_none_or(|last| last.elapsed() >= PACE)
    }

    /// Draws these lines in place of those before; each fits the width of the terminal.
    pub(crate) fn draw(&mut self, lines: &[String]) {
        if !self.is_due() {
            return;
        }
        self.clear();
        lines.iter().for_each(|line| write_stderr(line));
        (self.drawn, self.last) = (lines.len(), Some(Instant::now()));
    }

    /// A line that stays.
    pub(crate) fn settle(&mut self, line: &str) {
        self.clear();
        self.out.note(line);
    }

    /// Takes the lines away.
    pub(crate) fn clear(&mut self) {
        if self.drawn > 0 {
            // The stream of `anstream` may take escapes away; lines are drawn at a terminal only.
            let _ = write!(std::io::stderr().lock(), "\x1b[{}A\x1b[J", self.drawn);
            self.drawn = 0;
        }
    }

    /// A sign that something goes on.
    pub(crate) fn spinner(&self) -> &'static str {
        let turn = self.begun.elapsed().as_millis() / 80;
        SPINNER[usize::try_from(turn).unwrap_or(0) % SPINNER.len()]
    }
}
