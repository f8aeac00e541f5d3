//! Parses the command line, prints the welcome text, and reports usage errors in two lines.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use superstep::core::suggest::did_you_mean;

use crate::args::{Cli, Color};
use crate::output::{self, Output, TextStyle, styled};

/// Exit code of a usage error.
pub(crate) const USAGE: u8 = 64;

/// Parses the command line; returns an exit code if help or an error was printed.
pub(crate) fn parse_args(args: Vec<OsString>) -> Result<Cli, ExitCode> {
    // Clap may print before the flags are parsed.
    output::use_color(color_in(&args));
    let parsed = Cli::command().try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.map_err(|error| print_usage_error(&error))?;
    output::use_color(cli.global.color);
    Ok(cli)
}

/// Prints the text of `superstep` without arguments.
pub(crate) fn print_welcome(out: &Output) -> u8 {
    out.print_result("superstep runs durable agent graphs that can be stopped and resumed.");
    out.print_result("  superstep demo debate        watch a debate; needs no project and no key");
    out.print_result("  superstep run GRAPH          run a graph of ./superstep.toml");
    out.print_result("  superstep --help             show all commands and options");
    0
}

fn color_in(args: &[OsString]) -> Color {
    let mut args = args.iter().filter_map(|arg| arg.to_str());
    while let Some(arg) = args.next() {
        let value = arg.strip_prefix("--color=").or_else(|| (arg == "--color").then(|| args.next()).flatten());
        match value {
            Some("always") => return Color::Always,
            Some("never") => return Color::Never,
            _ => {}
        }
    }
    Color::Auto
}

fn print_usage_error(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        output::write_stdout(&error.render().ansi().to_string());
        return ExitCode::SUCCESS;
    }
    for line in essential_lines(&error.to_string(), similar_command(error)) {
        output::write_stderr(&line);
    }
    ExitCode::from(USAGE)
}

/// Suggests a similar command; clap finds fewer.
fn similar_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(input)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let command = Cli::command();
    did_you_mean(input, command.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name))
}

/// Reduces an error text of clap to two lines: the message, with the list that follows it, and the advice: the similar
/// command, a tip, or the usage line.
fn essential_lines(text: &str, similar: Option<String>) -> Vec<String> {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or_default().to_owned();
    let remaining: Vec<&str> = lines.collect();
    let continuation = remaining.iter().take_while(|line| line.starts_with("  ") && !line.starts_with("  tip:"));
    let message = continuation.fold(message, |message, line| format!("{message} {}", line.trim()));
    let message = match message.strip_prefix("error:") {
        Some(rest) => format!("{}{rest}", styled(TextStyle::Bad, "error:")),
        None => message,
    };
    let tip = remaining.iter().find_map(|line| line.trim().strip_prefix("tip: "));
    let usage = remaining.iter().find_map(|line| line.trim().strip_prefix("Usage: "));
    let advice = similar.as_deref().or(tip).or(usage).unwrap_or("superstep --help");
    vec![message, format!("  help: {advice}")]
}
