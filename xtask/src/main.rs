//! Development commands of the project, run as `cargo xtask <command>`.
//!
//! This file only dispatches; each command is a module. Not part of a release. No command changes committed files
//! unless its arguments request that.

mod book;
mod conformance;
mod count;
mod fault_programs;
mod langgraph;
mod model;
mod parity;
mod process;
mod python;
mod record;
mod run_log;
mod rust_source;
mod servers;
mod sim;
mod spec;
mod tally;
mod test;
mod tidy;
mod torture;
mod web;
mod weights;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

/// A command: its name, its help text, and its function.
struct Command {
    name: &'static str,
    help: &'static str,
    run: fn(&Workspace, &[String]) -> Result<(), String>,
}

/// All commands, in the order of the help.
const COMMANDS: [Command; 15] = [
    Command { name: "test", help: test::HELP, run: test::run },
    Command { name: "tidy", help: tidy::HELP, run: tidy::run },
    Command { name: "spec", help: spec::HELP, run: spec::run },
    Command { name: "book", help: book::HELP, run: book::run },
    Command { name: "sim", help: sim::HELP, run: sim::run },
    Command { name: "torture", help: torture::HELP, run: torture::run },
    Command { name: "count", help: count::HELP, run: count::run },
    Command { name: "parity", help: parity::HELP, run: parity::run },
    Command { name: "record", help: record::HELP, run: record::run },
    Command { name: "conformance", help: conformance::HELP, run: conformance::run },
    Command { name: "langgraph", help: langgraph::HELP, run: langgraph::run },
    Command { name: "web", help: web::HELP, run: web::run },
    Command { name: "servers", help: servers::HELP, run: servers::run },
    Command { name: "model", help: model::HELP, run: model::run },
    Command { name: "weights", help: weights::HELP, run: weights::run },
];

fn main() -> ExitCode {
    if let Err(message) = process::handle_signals() {
        eprintln!("error: {message}");
        return ExitCode::FAILURE;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        None => usage("no command given"),
        Some((name, _)) if name == "--help" || name == "-h" => {
            println!("{}", help());
            ExitCode::SUCCESS
        }
        Some((name, rest)) => match COMMANDS.iter().find(|command| command.name == name) {
            Some(command) => perform(command, rest),
            None => usage(&format!("unknown command `{name}`")),
        },
    }
}

fn perform(command: &Command, arguments: &[String]) -> ExitCode {
    match Workspace::find().and_then(|workspace| (command.run)(&workspace, arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("error: {problem}\n{}", help());
    ExitCode::from(2)
}

fn help() -> String {
    COMMANDS
        .iter()
        .map(|command| format!("cargo xtask {:<11} {}", command.name, command.help))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_has_one_line_per_command() {
        assert_eq!(help().lines().count(), COMMANDS.len());
        assert!(COMMANDS.iter().all(|command| help().contains(command.name)));
    }
}
