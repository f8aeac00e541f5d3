//! `superstep completions SHELL`: completion scripts for commands and flags, with names from this program.
//!
//! Bash, zsh and fish complete the names of graphs, threads and codes with `superstep __names`; PowerShell and
//! elvish complete only commands and flags.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};
use superstep::ErrorCode;
use superstep_server::{RunService, ThreadSearch};

use crate::args::{Cli, CompletionsArgs, GlobalArgs, NameKind, NamesArgs};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::graphs;
use crate::output::{Output, write_stdout};
use crate::runtime::block_on;
use crate::version::VERSION;

/// Commands whose first argument is a name, and the kind of name.
const COMPLETED_COMMANDS: [(&str, &str); 6] = [
    ("run", "graphs"),
    ("graph", "graphs"),
    ("resume", "threads"),
    ("state", "threads"),
    ("history", "threads"),
    ("explain", "codes"),
];

/// Prints the script for a shell.
pub(crate) fn print_script(args: &CompletionsArgs, _out: &Output) -> Result<u8, CliError> {
    let mut script = Vec::new();
    generate(args.shell, &mut visible_command(), "superstep", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    write_stdout(&match args.shell {
        Shell::Bash => format!("{script}{}", bash()),
        Shell::Zsh => zsh(&script),
        Shell::Fish => format!("{script}{}", fish()),
        _ => script,
    });
    Ok(0)
}

/// Returns the visible commands; scripts would offer the hidden ones as well.
fn visible_command() -> clap::Command {
    let all = Cli::command();
    let commands = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    GlobalArgs::augment_args(clap::Command::new("superstep").version(VERSION)).subcommands(commands)
}

/// Prints names, one per line; nothing on an error, because the user is typing a command.
pub(crate) fn names(args: &NamesArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    let names = match args.kind {
        NameKind::Graphs => CliConfig::load(global).and_then(|config| graphs::names(&config)),
        NameKind::Threads => block_on(threads(global)),
        NameKind::Codes => Ok(ErrorCode::ALL.iter().map(ToString::to_string).collect()),
    };
    names.unwrap_or_default().iter().for_each(|name| out.print_result(name));
    Ok(0)
}

async fn threads(global: &GlobalArgs) -> Result<Vec<String>, CliError> {
    let runs = RunService::open([], CliConfig::load(global)?.open_storage_read_only().await?)?;
    let records = runs.search_threads(&ThreadSearch { limit: Some(50), ..ThreadSearch::default() }).await?;
    Ok(records.into_iter().map(|record| record.thread.to_string()).collect())
}

/// Returns a function that wraps the generated one and completes names.
fn bash() -> String {
    let cases: String =
        COMPLETED_COMMANDS.iter().map(|(command, kind)| format!("        {command}) what={kind} ;;\n")).collect();
    format!(
        r#"
_superstep_names() {{
    local what=""
    case "${{COMP_WORDS[1]}}" in
{cases}    esac
    if [[ -n "$what" && "$COMP_CWORD" -eq 2 && "${{COMP_WORDS[2]}}" != -* ]]; then
        COMPREPLY=($(compgen -W "$(superstep __names "$what" 2>/dev/null)" -- "${{COMP_WORDS[2]}}"))
        return 0
    fi
    _superstep "$@"
}}
complete -F _superstep_names -o bashdefault -o default superstep
"#
    )
}

fn fish() -> String {
    let line = |(command, kind): &(&str, &str)| {
        format!(
            "complete -c superstep -n \"__fish_superstep_using_subcommand {command}\" \
             -f -a \"(superstep __names {kind} 2>/dev/null)\"\n"
        )
    };
    COMPLETED_COMMANDS.iter().map(line).collect()
}

/// Replaces file completion by names for graph, thread and code arguments.
fn zsh(script: &str) -> String {
    let mut script = script.to_owned();
    for (argument, kind) in [("graph", "graphs"), ("thread", "threads"), ("code", "codes")] {
        let lines = script.lines().map(|line| {
            let completes_argument = [format!("':{argument} -- "), format!("'::{argument} -- ")]
                .iter()
                .any(|prefix| line.trim().starts_with(prefix));
            if completes_argument {
                line.replace(":_default'", &format!(":{{_superstep_names {kind}}}'"))
            } else {
                line.to_owned()
            }
        });
        script = lines.collect::<Vec<_>>().join("\n") + "\n";
    }
    let names = "\n_superstep_names() {\n    local -a names\n    \
                 names=(${(f)\"$(superstep __names $1 2>/dev/null)\"})\n    compadd -a names\n}\n";
    match script.split_once("\n\n") {
        Some((preamble, rest)) => format!("{preamble}\n{names}\n{rest}"),
        None => script,
    }
}
