//! `superstep completions SHELL`: scripts that know commands and flags, and ask this program for names.
//!
//! Bash, zsh and fish ask for the names of graphs, threads and codes while somebody types (`superstep __names`);
//! PowerShell and elvish know commands and flags only.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};
use superstep::Code;
use superstep_server::{Desk, RecordsQuery};

use crate::args::{Cli, Completions, Global, Names, NamesOf};
use crate::failure::Failure;
use crate::graphs;
use crate::local::block_on;
use crate::out::{Out, write_stdout};
use crate::setup::Setup;
use crate::version::VERSION;

/// Commands whose first word is a name, and of what.
const NAMED: [(&str, &str); 6] = [
    ("run", "graphs"),
    ("graph", "graphs"),
    ("resume", "threads"),
    ("state", "threads"),
    ("history", "threads"),
    ("explain", "codes"),
];

/// Writes the script for a shell.
pub(crate) fn write(asked: &Completions, _out: &Out) -> Result<u8, Failure> {
    let mut script = Vec::new();
    generate(asked.shell, &mut shown(), "superstep", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    write_stdout(&match asked.shell {
        Shell::Bash => format!("{script}{}", bash()),
        Shell::Zsh => zsh(&script),
        Shell::Fish => format!("{script}{}", fish()),
        _ => script,
    });
    Ok(0)
}

/// The commands that people know; scripts would offer the hidden ones as well.
fn shown() -> clap::Command {
    let all = Cli::command();
    let commands = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Global::augment_args(clap::Command::new("superstep").version(VERSION)).subcommands(commands)
}

/// Names, a line each; nothing where they cannot be found, because nobody reads errors while typing.
pub(crate) fn names(asked: &Names, global: &Global, out: &Out) -> Result<u8, Failure> {
    let names = match asked.what {
        NamesOf::Graphs => Setup::load(global).and_then(|setup| graphs::names(&setup)),
        NamesOf::Threads => block_on(threads(global)),
        NamesOf::Codes => Ok(Code::ALL.iter().map(ToString::to_string).collect()),
    };
    names.unwrap_or_default().iter().for_each(|name| out.result(name));
    Ok(0)
}

async fn threads(global: &Global) -> Result<Vec<String>, Failure> {
    let desk = Desk::open([], Setup::load(global)?.look().await?)?;
    let records = desk.records(&RecordsQuery { limit: Some(50), ..RecordsQuery::default() }).await?;
    Ok(records.into_iter().map(|record| record.thread.to_string()).collect())
}

/// A function around the one that was made, which steps in where a name is due.
fn bash() -> String {
    let cases: String = NAMED.iter().map(|(command, what)| format!("        {command}) what={what} ;;\n")).collect();
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
    let line = |(command, what): &(&str, &str)| {
        format!(
            "complete -c superstep -n \"__fish_superstep_using_subcommand {command}\" -f -a \"(superstep __names {what} 2>/dev/null)\"\n"
        )
    };
    NAMED.iter().map(line).collect()
}

/// The script, with names in place of files where a graph, a thread or a code is due.
fn zsh(script: &str) -> String {
    let mut script = script.to_owned();
    for (argument, what) in [("graph", "graphs"), ("thread", "threads"), ("code", "codes")] {
        let lines = script.lines().map(|line| {
            let is_of = [format!("':{argument} -- "), format!("'::{argument} -- ")]
                .iter()
                .any(|it| line.trim().starts_with(it));
            if is_of { line.replace(":_default'", &format!(":{{_superstep_names {what}}}'")) } else { line.to_owned() }
        });
        script = lines.collect::<Vec<_>>().join("\n") + "\n";
    }
    let names = "\n_superstep_names() {\n    local -a names\n    names=(${(f)\"$(superstep __names $1 2>/dev/null)\"})\n    compadd -a names\n}\n";
    match script.split_once("\n\n") {
        Some((head, rest)) => format!("{head}\n{names}\n{rest}"),
        None => script,
    }
}
