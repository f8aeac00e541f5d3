//! Where words go: results to stdout, everything else to stderr; as text, as one JSON document, or as lines of JSON.
//!
//! Colour is taken away by `anstream` where it is not wanted, so text is styled without asking. A reader that is gone
//! (a closed pipe) is not an error.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::args::{Color, Global};

/// In what form results are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    JsonLines,
}

/// How results and everything else are told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Out {
    pub(crate) format: Format,
    is_quiet: bool,
    no_input: bool,
}

impl Out {
    pub(crate) fn new(global: &Global) -> Self {
        let format = match (global.json, global.jsonl) {
            (true, _) => Format::Json,
            (_, true) => Format::JsonLines,
            _ => Format::Text,
        };
        Self { format, is_quiet: global.quiet, no_input: global.no_input }
    }

    /// A line of the result, for people.
    pub(crate) fn result(&self, line: impl Display) {
        write_stdout(&format!("{line}\n"));
    }

    /// The result, or a part of it, for programs.
    pub(crate) fn json(&self, value: &impl Serialize) {
        let text = match self.format {
            Format::JsonLines => serde_json::to_string(value),
            _ => serde_json::to_string_pretty(value),
        };
        self.result(text.unwrap_or_default());
    }

    /// A list: one document, or a line for each.
    pub(crate) fn json_list(&self, values: &[impl Serialize]) {
        match self.format {
            Format::JsonLines => values.iter().for_each(|value| self.json(value)),
            _ => self.json(&values),
        }
    }

    /// Something that is not the result.
    pub(crate) fn note(&self, line: impl Display) {
        if !self.is_quiet {
            write_stderr(&line.to_string());
        }
    }

    pub(crate) fn is_text(&self) -> bool {
        self.format == Format::Text
    }

    /// Whether progress may be drawn over and over.
    pub(crate) fn is_live(&self) -> bool {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        !self.is_quiet && !is_dumb && std::io::stderr().is_terminal()
    }

    /// Whether somebody can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        !self.no_input && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

/// Colour for everything that is written from now on.
pub(crate) fn use_color(color: Color) {
    let choice = match color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes as it is, without a line's end.
pub(crate) fn write_stdout(text: &str) {
    let mut stdout = anstream::stdout().lock();
    // Whoever read this has left; what was asked for is done all the same.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes a line.
pub(crate) fn write_stderr(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// What a word means; it is always said in another way as well.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tone {
    Good,
    Bad,
    Asks,
    Faint,
    Strong,
}

/// A text with the colour of its tone.
pub(crate) fn toned(tone: Tone, text: &str) -> String {
    let style = match tone {
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Asks => AnsiColor::Yellow.on_default(),
        Tone::Faint => Style::new().dimmed(),
        Tone::Strong => Style::new().bold(),
    };
    format!("{style}{text}{style:#}")
}
