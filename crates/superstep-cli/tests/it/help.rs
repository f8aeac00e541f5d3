//! Tests of help, welcome text and startup time.

use std::time::Duration;

use crate::support::Folder;

const COMMANDS: [&str; 15] = [
    "demo",
    "run",
    "resume",
    "threads",
    "state",
    "history",
    "graph",
    "serve",
    "eval",
    "mcp",
    "explain",
    "doctor",
    "config",
    "completions",
    "version",
];

/// R-CLI-15: the command without arguments prints four lines.
#[test]
fn the_command_without_arguments_prints_first_steps() {
    insta::assert_snapshot!(Folder::empty("start").run(&[]).snapshot_text(), @r"
    superstep runs durable agent graphs that can be stopped and resumed.
      superstep demo debate        watch a debate; needs no project and no key
      superstep run GRAPH          run a graph of ./superstep.toml
      superstep --help             show all commands and options
    ---
    [exit 0]
    ");
}

/// R-CLI-15: for every command `-h` fits a screen of 24 lines and `--help` begins with examples.
#[test]
fn short_help_fits_a_screen_and_long_help_starts_with_examples() {
    let folder = Folder::empty("help");
    for command in COMMANDS {
        let short = folder.run(&[command, "-h"]);
        assert!(short.code == 0 && short.stdout.lines().count() <= 24, "{command}: {}", short.stdout);
        let long = folder.run(&[command, "--help"]);
        let examples = long.stdout.strip_prefix("Examples:\n").and_then(|rest| rest.split("\n\n").next());
        let has_examples = examples.is_some_and(|examples| examples.contains(&format!("superstep {command}")));
        assert!(has_examples || command == "version", "{command}:\n{}", long.stdout);
    }
    let short = folder.run(&["-h"]).stdout;
    assert!(short.lines().count() <= 24, "{short}");
    assert!(COMMANDS.iter().all(|command| short.contains(&format!("  {command} "))), "{short}");
    assert!(folder.run(&["--help"]).stdout.starts_with("Examples:\n  superstep demo debate"));
}

/// R-CLI-15: the help of `run` as users see it.
#[test]
fn the_help_of_run_names_every_way_to_give_input() {
    insta::assert_snapshot!(Folder::empty("help-run").run(&["run", "-h"]).stdout, @r"
    Run a graph

    Usage: superstep run [OPTIONS] <GRAPH>

    Arguments:
      <GRAPH>  Name of the graph in superstep.toml

    Options:
      -i, --input <JSON>     Input of the run: JSON, @FILE, or - for stdin
      -t, --thread <THREAD>  Thread of the run; default: a new thread
      -s, --stream <MODE>    Print progress of the run on stdout [possible values: updates, tokens,
                             events, values]
      -h, --help             Print help (see more with '--help')
    ");
}

/// R-CLI-18, R-CLI-6a: a command takes less than 50 ms, and creates no file. Measures processor time, which does not
/// depend on the load of the machine.
#[test]
fn a_command_takes_less_than_fifty_milliseconds() {
    const RUNS: u32 = 30;
    let folder = Folder::empty("fast");
    let before = cpu_time_of_children();
    for _ in 0..RUNS {
        assert_eq!(folder.run(&["version"]).stdout, concat!("superstep ", env!("CARGO_PKG_VERSION"), "\n"));
    }
    let mean = (cpu_time_of_children() - before) / RUNS;
    assert!(mean < Duration::from_millis(50), "{mean:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Returns the processor time of all child processes that have ended. Linux counts it in units of 10 ms.
fn cpu_time_of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The second field is the name of the program in parentheses; `cutime` and `cstime` are the 16th and 17th.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    Duration::from_millis(fields[13..15].iter().map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum())
}
