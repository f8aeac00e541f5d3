//! Tests of runs: results on stdout, the node tree on stderr, every output format.

use serde_json::json;

use crate::support::{CommandOutput, Folder};
#[cfg(unix)]
use crate::terminal::Terminal;

const INPUT: &str = r#"{"text":"fox"}"#;

/// R-CLI-4a, R-CLI-7, R-CLI-9a, R-CLI-12: stdout has only the result; stderr has plain lines and a summary with time,
/// tokens and thread; the storage is created, and a note says so once.
#[test]
fn a_run_prints_its_result_on_stdout_and_progress_on_stderr() {
    let folder = Folder::new("run");
    insta::assert_snapshot!(folder.run(&["run", "titles", "--input", INPUT]).snapshot_text(), @r#"
    {
      "text": "Foxes and dogs!",
      "title": "Foxes and dogs"
    }
    ---
    threads are stored in .superstep/superstep.db; set `storage.checkpointer` to change the location
     ✓ title     title: Foxes and dogs  [time] · [tokens]
     ✓ shout     text: Foxes and dogs!  [time]
    done · [time] · [tokens] · thread titles-[id]
    [exit 0]
    "#);
    assert!(folder.path().join(".superstep/superstep.db").is_file());
    assert!(!folder.run(&["run", "titles", "--input", INPUT]).stderr.contains("stored in"));
    assert_eq!(folder.run(&["run", "titles", "--input", INPUT, "--quiet"]).stderr, "");
}

/// R-CLI-4a: input as JSON, from a file, from stdin.
#[test]
fn input_is_read_from_a_file_or_stdin() {
    let folder = Folder::new("input");
    folder.write("in.json", INPUT);
    let from_file = folder.run(&["run", "titles", "--input", "@in.json", "--json"]).json();
    assert_eq!(from_file["output"]["title"], "Foxes and dogs");
    let file = std::fs::File::open(folder.path().join("in.json")).unwrap();
    let piped = folder.command(&["run", "titles", "--input", "-", "--json"]).stdin(file).output().unwrap();
    let from_stdin = CommandOutput::from(piped);
    assert_eq!(from_stdin.code, 0, "{}", from_stdin.stderr);
    assert_eq!(from_stdin.json()["output"], json!({ "text": "Foxes and dogs!", "title": "Foxes and dogs" }));
}

/// R-CLI-7: `--json` prints one document.
#[test]
fn a_run_is_one_json_document() {
    let folder = Folder::new("json");
    let result = folder.run(&["run", "titles", "--thread", "t1", "--input", INPUT, "--json"]).json();
    assert_eq!(
        (&result["thread"], &result["status"], &result["graph"]),
        (&json!("t1"), &json!("finished"), &json!("titles"))
    );
    assert_eq!(result["output"], json!({ "text": "Foxes and dogs!", "title": "Foxes and dogs" }));
    assert!(result["tokens"].as_u64().unwrap() > 0);
}

/// R-CLI-4a, R-CLI-7: each stream mode as lines, with the result as the last line.
#[test]
fn a_run_is_printed_line_by_line_in_every_mode() {
    let folder = Folder::new("lines");
    let lines_of = |mode: &str| {
        let mut lines = folder.run(&["run", "titles", "--input", INPUT, "--jsonl", "--stream", mode]).lines();
        let last = lines.pop().unwrap();
        assert_eq!((&last["event"], &last["status"]), (&json!("end"), &json!("finished")), "{mode}");
        lines
    };
    let updates = [
        json!({ "node": "title", "update": { "title": "Foxes and dogs" } }),
        json!({ "node": "shout", "update": { "text": "Foxes and dogs!" } }),
    ];
    assert_eq!(lines_of("updates"), updates);
    let tokens: String = lines_of("tokens").iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(tokens, "Foxes and dogs");
    let values: Vec<_> = lines_of("values").iter().map(|line| line["values"]["text"].clone()).collect();
    assert_eq!(values, ["fox", "fox", "Foxes and dogs!"]);
    let events = lines_of("events");
    assert_eq!((&events[0]["event"], &events[0]["name"]), (&json!("on_chain_start"), &json!("titles")));
    let unspecified = folder.run(&["run", "titles", "--input", INPUT, "--jsonl"]).lines();
    assert_eq!(unspecified.len(), events.len() + 1);
}

/// R-CLI-4a: in text output, tokens are printed as plain text.
#[test]
fn tokens_are_printed_as_plain_text() {
    let folder = Folder::new("tokens");
    assert_eq!(folder.run(&["run", "titles", "--input", INPUT, "--stream", "tokens"]).stdout, "Foxes and dogs\n");
}

/// R-CLI-4a: a thread continues with a new input.
#[test]
fn a_thread_keeps_its_state_between_commands() {
    let folder = Folder::new("thread");
    folder.run(&["run", "titles", "--thread", "t1", "--input", INPUT]);
    folder.run(&["run", "titles", "--thread", "t1", "--input", r#"{"text":"dog"}"#]);
    let history = folder.run(&["history", "t1", "--json"]).json();
    assert_eq!(history.as_array().unwrap().len(), 6);
}

/// R-CLI-8: colour is enabled and disabled by flag and environment; the meaning does not depend on it.
#[test]
fn colour_is_set_by_flag_and_environment() {
    let folder = Folder::new("colour");
    let args = ["run", "titles", "--input", INPUT];
    let colored = |args: &[&str], variables: &[(&str, &str)]| {
        let output = folder.command(args).envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stderr).unwrap().contains('\u{1b}')
    };
    assert!(!colored(&args, &[]));
    assert!(colored(&args, &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&args, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(colored(&[&args[..], &["--color", "always"]].concat(), &[("NO_COLOR", "1")]));
    assert!(!colored(&[&args[..], &["--color=never"]].concat(), &[("CLICOLOR_FORCE", "1")]));
    let plain = folder.run(&args).stderr;
    assert!(plain.contains(" ✓ title") && plain.contains("done · "), "{plain}");
}

/// R-CLI-8: `auto` colours a terminal, unless the terminal is dumb or `NO_COLOR` is set.
#[cfg(unix)]
#[test]
fn a_terminal_has_colour_unless_it_is_dumb() {
    let folder = Folder::new("colour-terminal");
    for (variable, value, expected) in [("TERM", "xterm", true), ("TERM", "dumb", false), ("NO_COLOR", "1", false)] {
        let mut command = folder.command(&["run", "titles", "--input", INPUT]);
        // On a machine of CI a dumb terminal is coloured all the same.
        command.env_remove("CI").env(variable, value);
        let (output, code) = Terminal::start(command).end();
        assert_eq!((code, output.contains("\u{1b}[32m")), (0, expected), "{variable}={value}: {output:?}");
    }
}

/// R-CLI-5a: a graph in every form; a graph file as Rust.
#[test]
fn a_graph_is_drawn_in_every_form() {
    let folder = Folder::new("graph");
    let rows = [
        ("text", "│ title │"),
        ("mermaid", "graph TD;"),
        ("dot", "digraph"),
        ("svg", "<svg"),
        ("json", "\"nodes\""),
        ("rust", "pub fn build(parts: &Components)"),
    ];
    for (format, text) in rows {
        let output = folder.run(&["graph", "titles", "--format", format]);
        assert!(output.code == 0 && output.stdout.contains(text), "{format}: {}", output.stdout);
    }
    assert!(folder.run(&["graph", "./titles.toml"]).stdout.contains("title"));
    assert!(!folder.path().join(".superstep").exists(), "drawing a graph created the storage");
}

/// R-CLI-17: with `--offline` a network model is an error.
#[test]
fn a_network_model_is_an_error_offline() {
    let folder = Folder::new("offline");
    let output = folder.run(&["run", "talk", "--input", INPUT, "--offline", "--thread", "t1"]);
    insta::assert_snapshot!(output.snapshot_text(), @r#"
    ---
    threads are stored in .superstep/superstep.db; set `storage.checkpointer` to change the location
     ✓ note      text: fox, please  [time]
     ✗ say       model `far` needs the network, which `--offline` forbids  [time]
    error[SS-026]: node `say`: model `far` needs the network, which `--offline` forbids
      help: use a model with `provider = "local/rules"`
      more: superstep explain SS-026
      state is saved; resume with: superstep resume t1
    [exit 77]
    "#);
}
