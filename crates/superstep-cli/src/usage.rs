//! Reads the command line, shows the start, and says in two lines what is wrong with a line that cannot be read.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use superstep::core::suggest::did_you_mean;

use crate::args::{Cli, Color};
use crate::out::{self, Out, Tone, toned};

/// How a process ends that was asked wrongly.
pub(crate) const USAGE: u8 = 64;

/// Reads the command line, or has shown help or what is wrong.
pub(crate) fn read(words: Vec<OsString>) -> Result<Cli, ExitCode> {
    // What clap itself prints comes before the flags are read.
    out::use_color(color_in(&words));
    let read = Cli::command().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = read.map_err(|error| refuse(&error))?;
    out::use_color(cli.global.color);
    Ok(cli)
}

/// What `superstep` alone shows.
pub(crate) fn start(out: &Out) -> u8 {
    out.result("superstep runs durable agent graphs: they stop, are saved, and go on where they were.");
    out.result("  superstep demo debate        watch two voices argue; no project, no key");
    out.result("  superstep run GRAPH          run a graph of ./superstep.toml");
    out.result("  superstep --help             everything else");
    0
}

fn color_in(words: &[OsString]) -> Color {
    let mut words = words.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        let value = word.strip_prefix("--color=").or_else(|| (word == "--color").then(|| words.next()).flatten());
        match value {
            Some("always") => return Color::Always,
            Some("never") => return Color::Never,
            _ => {}
        }
    }
    Color::Auto
}

fn refuse(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        out::write_stdout(&error.render().ansi().to_string());
        return ExitCode::SUCCESS;
    }
    for line in lines_that_matter(&error.to_string(), near_command(error)) {
        out::write_stderr(&line);
    }
    ExitCode::from(USAGE)
}

/// The command that was probably meant; clap finds fewer.
fn near_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let command = Cli::command();
    did_you_mean(given, command.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name))
}

/// The fact, with its list where it has one, and what to do: a tip, or how the command is used.
fn lines_that_matter(text: &str, near: Option<String>) -> Vec<String> {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let fact = lines.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = lines.collect();
    let of_fact = rest.iter().take_while(|line| line.starts_with("  ") && !line.starts_with("  tip:"));
    let fact = of_fact.fold(fact, |fact, line| format!("{fact} {}", line.trim()));
    let fact = match fact.strip_prefix("error:") {
        Some(rest) => format!("{}{rest}", toned(Tone::Bad, "error:")),
        None => fact,
    };
    let tip = rest.iter().find_map(|line| line.trim().strip_prefix("tip: "));
    let usage = rest.iter().find_map(|line| line.trim().strip_prefix("Usage: "));
    let next = near.as_deref().or(tip).or(usage).unwrap_or("superstep --help");
    vec![fact, format!("  help: {next}")]
}
