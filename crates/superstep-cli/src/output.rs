//! Output: results to stdout, everything else to stderr; as text, as one JSON document, or as JSON Lines.
//!
//! `anstream` removes colours where they are not supported, so text is always styled. A closed pipe is not an
//! error.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::args::{Color, GlobalArgs};

/// Format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    JsonLines,
}

/// Output options of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) format: OutputFormat,
    is_quiet: bool,
    no_input: bool,
}

impl Output {
    pub(crate) fn new(global: &GlobalArgs) -> Self {
        let format = match (global.json, global.jsonl) {
            (true, _) => OutputFormat::Json,
            (_, true) => OutputFormat::JsonLines,
            _ => OutputFormat::Text,
        };
        Self { format, is_quiet: global.quiet, no_input: global.no_input }
    }

    /// Prints a line of the result, for users.
    pub(crate) fn print_result(&self, line: impl Display) {
        write_stdout(&format!("{line}\n"));
    }

    /// Prints the result, or a part of it, as JSON.
    pub(crate) fn json(&self, value: &impl Serialize) {
        let text = match self.format {
            OutputFormat::JsonLines => serde_json::to_string(value),
            _ => serde_json::to_string_pretty(value),
        };
        self.print_result(text.unwrap_or_default());
    }

    /// Prints a list: one document, or one line per element.
    pub(crate) fn json_list(&self, values: &[impl Serialize]) {
        match self.format {
            OutputFormat::JsonLines => values.iter().for_each(|value| self.json(value)),
            _ => self.json(&values),
        }
    }

    /// Prints a line that is not part of the result.
    pub(crate) fn print_note(&self, line: impl Display) {
        if !self.is_quiet {
            write_stderr(&line.to_string());
        }
    }

    pub(crate) fn is_text(&self) -> bool {
        self.format == OutputFormat::Text
    }

    /// Returns true if live progress can be redrawn.
    pub(crate) fn supports_live_output(&self) -> bool {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        !self.is_quiet && !is_dumb && std::io::stderr().is_terminal()
    }

    /// Returns true if the user can be prompted.
    pub(crate) fn is_interactive(&self) -> bool {
        !self.no_input && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

/// Sets the colour mode of all later output.
pub(crate) fn use_color(color: Color) {
    let choice = match color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes text unchanged, without a line break.
pub(crate) fn write_stdout(text: &str) {
    let mut stdout = anstream::stdout().lock();
    // If the reader has closed the pipe, the command still completes.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes a line to stderr.
pub(crate) fn write_stderr(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Style of a text; its meaning is always expressed in words as well.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TextStyle {
    Good,
    Bad,
    Prompt,
    Faint,
    Strong,
}

/// Returns a text in the colour of its style.
pub(crate) fn styled(text_style: TextStyle, text: &str) -> String {
    let style = match text_style {
        TextStyle::Good => AnsiColor::Green.on_default(),
        TextStyle::Bad => AnsiColor::Red.on_default().bold(),
        TextStyle::Prompt => AnsiColor::Yellow.on_default(),
        TextStyle::Faint => Style::new().dimmed(),
        TextStyle::Strong => Style::new().bold(),
    };
    format!("{style}{text}{style:#}")
}
