//! Live region: the last lines of the terminal, redrawn on stderr.
//!
//! Permanent lines scroll away above the region. Without a terminal only permanent lines are written.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::output::{Output, write_stderr};

/// Minimum time between redraws: at most fifteen per second.
const MIN_REDRAW_INTERVAL: Duration = Duration::from_millis(67);

/// Delay before the first redraw: short runs need no progress display.
const FIRST_DRAW_DELAY: Duration = Duration::from_millis(300);

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Live region at the bottom of the terminal.
pub(crate) struct LiveRegion {
    out: Output,
    is_live: bool,
    drawn_lines: usize,
    started: Instant,
    last: Option<Instant>,
}

impl LiveRegion {
    pub(crate) fn new(out: Output) -> Self {
        Self { out, is_live: out.supports_live_output(), drawn_lines: 0, started: Instant::now(), last: None }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Returns true if it is time to redraw.
    pub(crate) fn is_due(&self) -> bool {
        self.is_live
            && self.started.elapsed() > FIRST_DRAW_DELAY
            && self.last.is_none_or(|last| last.elapsed() >= MIN_REDRAW_INTERVAL)
    }

    /// Replaces the live lines; each must fit the width of the terminal.
    pub(crate) fn redraw(&mut self, lines: &[String]) {
        if !self.is_due() {
            return;
        }
        self.clear();
        lines.iter().for_each(|line| write_stderr(line));
        (self.drawn_lines, self.last) = (lines.len(), Some(Instant::now()));
    }

    /// Prints a permanent line.
    pub(crate) fn print_permanent(&mut self, line: &str) {
        self.clear();
        self.out.print_note(line);
    }

    /// Clears the live lines.
    pub(crate) fn clear(&mut self) {
        if self.drawn_lines > 0 {
            // Written without `anstream`, which may strip escape codes; live lines are drawn at a terminal only.
            let _ = write!(std::io::stderr().lock(), "\x1b[{}A\x1b[J", self.drawn_lines);
            self.drawn_lines = 0;
        }
    }

    /// Returns the current frame of the spinner.
    pub(crate) fn spinner(&self) -> &'static str {
        let frame = self.started.elapsed().as_millis() / 80;
        SPINNER[usize::try_from(frame).unwrap_or(0) % SPINNER.len()]
    }
}
