//! Test of `book/src/reference/cli.md`: the page is the help of the binary.
//!
//! The variable `SUPERSTEP_WRITE_REFERENCE=1` makes the test write the page first.

use crate::support::Folder;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/reference/cli.md");
const INTRODUCTION: &str = "# Command line

This page is generated from `superstep --help`. Every command accepts the options under `Global options`; they are
listed once, with `superstep`.
";

/// Heading of the options that every command accepts. It is the last one of a help text.
const GLOBAL_OPTIONS: &str = "\nGlobal options:\n";

/// R-CLI-19: the command line reference of the book has the help of every visible command.
#[test]
fn the_command_line_reference_is_the_help_of_every_command() {
    let page = page(&Folder::empty("reference-page"));
    if std::env::var_os("SUPERSTEP_WRITE_REFERENCE").is_some_and(|value| value == "1") {
        std::fs::write(PATH, &page).unwrap();
    }
    let stored = std::fs::read_to_string(PATH).unwrap();
    let difference = page.lines().zip(stored.lines()).find(|(expected, line)| expected != line);
    assert!(
        stored == page,
        "{PATH} differs from the help, first in (expected, stored) {difference:?}; write it with \
         `SUPERSTEP_WRITE_REFERENCE=1 cargo test -p superstep-cli --test it reference_page`"
    );
}

#[test]
fn subcommands_are_read_from_the_list_of_commands_only() {
    let help = "Run it\n\nUsage: superstep [COMMAND]\n\nCommands:\n  demo  Run an application\n  mcp\n          Serve tools\n  \
                serve  Serve graphs [aliases: up]\n\nOptions:\n  -h, --help\n";
    assert_eq!(subcommands(help).collect::<Vec<_>>(), ["demo", "mcp", "serve"]);
    assert_eq!(subcommands("Options:\n  -h, --help\n").count(), 0);
}

/// Renders the page.
fn page(folder: &Folder) -> String {
    let top = help(folder, &[]);
    let global_options = top.find(GLOBAL_OPTIONS).map(|start| top[start..].to_owned()).unwrap();
    let mut page = INTRODUCTION.to_owned();
    add_section(&mut page, "superstep", 2, &top);
    for command in subcommands(&top) {
        add_command(&mut page, folder, &[command], &global_options);
    }
    page
}

/// Adds the sections of a command and of its subcommands.
fn add_command(page: &mut String, folder: &Folder, command: &[&str], global_options: &str) {
    let help = help(folder, command);
    let command_help = help.strip_suffix(global_options).unwrap_or(&help);
    add_section(page, &format!("superstep {}", command.join(" ")), command.len() + 1, command_help);
    for subcommand in subcommands(&help) {
        add_command(page, folder, &[command, &[subcommand]].concat(), global_options);
    }
}

fn add_section(page: &mut String, title: &str, level: usize, help: &str) {
    let heading = "#".repeat(level);
    *page += &format!("\n{heading} `{title}`\n\n```text\n{}\n```\n", help.trim_end());
}

/// Returns the help of a command; it does not depend on the environment of this process.
fn help(folder: &Folder, command: &[&str]) -> String {
    let mut process = folder.command(&[command, &["--help"]].concat());
    // Help texts contain the values of variables.
    for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SUPERSTEP_")) {
        process.env_remove(variable);
    }
    let output = process.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the names in the section `Commands` of a help text.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Other lines continue a description.
    let rows = listed.filter_map(|line| line.strip_prefix("  ").filter(|name| !name.starts_with(' ')));
    rows.filter_map(|row| row.split_whitespace().next())
}
