//! Tests of error messages and exit codes.

use serde_json::json;

use crate::support::Folder;

/// Runs the command lines, and returns each with its stderr and exit code.
fn command_outputs(folder: &Folder, rows: &[&[&str]]) -> String {
    let outputs = rows.iter().map(|args| {
        let output = folder.run(args);
        assert_eq!(output.stdout, "", "{args:?}");
        format!("$ superstep {}\n{}[exit {}]", args.join(" "), output.stderr, output.code)
    });
    outputs.collect::<Vec<_>>().join("\n")
}

/// R-CLI-11, R-CLI-12, R-CLI-15: a usage error prints two lines: the error, and a suggestion.
#[test]
fn a_usage_error_prints_two_lines() {
    let folder = Folder::new("usage");
    let rows: [&[&str]; 4] = [&["rnu"], &["run", "titles", "--inptu", "x"], &["run"], &["explain", "SS-099"]];
    insta::assert_snapshot!(command_outputs(&folder, &rows), @r"
    $ superstep rnu
    error: unrecognized subcommand 'rnu'
      help: did you mean `run`?
    [exit 64]
    $ superstep run titles --inptu x
    error: unexpected argument '--inptu' found
      help: a similar argument exists: '--input'
    [exit 64]
    $ superstep run
    error: the following required arguments were not provided: <GRAPH>
      help: superstep run <GRAPH>
    [exit 64]
    $ superstep explain SS-099
    error: unknown error code `SS-099`
      help: did you mean `SS-009`?
    [exit 64]
    ");
}

/// R-CLI-10, R-CLI-11, R-CLI-12: errors in graphs, fields, input and settings have a message, every location,
/// advice and the code.
#[test]
fn an_error_is_printed_with_advice() {
    let folder = Folder::new("errors");
    let rows: [&[&str]; 5] = [
        &["run", "titles", "--input", r#"{"txt":1}"#, "--quiet"],
        &["run", "titles", "--input", r#"{"text":"a"}"#, "--thread", "a b", "--quiet"],
        &["run", "titles", "--input", "{"],
        &["run", "titles", "--input", "@nowhere.json"],
        &["config", "show", "--set", "limits.recursion_limt=3"],
    ];
    insta::assert_snapshot!(command_outputs(&folder, &rows), @r#"
    $ superstep run titles --input {"txt":1} --quiet
    error[SS-002]: the input is invalid
      /txt   no field `txt` — did you mean `text`?
      /text  required field `text` is missing
      help: nothing was run; correct the input and run again
            for example: superstep run titles --input '{"text":"…"}'
      more: superstep explain SS-002
    [exit 65]
    $ superstep run titles --input {"text":"a"} --thread a b --quiet
    error[SS-002]: `a b` is not a valid thread id
      help: use 1 to 128 letters, digits and `_ . : -`
      more: superstep explain SS-002
    [exit 65]
    $ superstep run titles --input {
    error[SS-002]: `--input` is not JSON: EOF while parsing an object at line 1 column 1
      help: pass a JSON object: --input '{"field": "value"}'; @FILE reads a file, - reads stdin
      more: superstep explain SS-002
    [exit 65]
    $ superstep run titles --input @nowhere.json
    error[SS-002]: `nowhere.json` cannot be read: entity not found
      more: superstep explain SS-002
    [exit 65]
    $ superstep config show --set limits.recursion_limt=3
    error[SS-027]: the configuration is invalid
      flag `limits.recursion_limt`: unknown setting `limits.recursion_limt` — did you mean `limits.recursion_limit`?
      help: flags override environment variables, environment variables override the file
      more: superstep explain SS-027
    [exit 78]
    "#);
}

/// R-CLI-11: a misspelled graph name.
#[test]
fn an_unknown_graph_suggests_a_similar_name() {
    let output = Folder::new("near-graph").run(&["run", "titels"]);
    assert_eq!(output.code, 66);
    let expected = "error[SS-015]: graph `titels` not found\n  help: did you mean `titles`? known: `titles`, ";
    assert!(output.stderr.starts_with(expected), "{}", output.stderr);
}

/// R-CLI-10: a graph file with errors is rejected with every location.
#[test]
fn a_broken_graph_file_is_rejected_with_every_location_and_blocks_no_other_graph() {
    let folder = Folder::new("broken");
    folder.write("review.toml", "name = \"review\"\nstat = 1\n[nodes]\n");
    let output = folder.run(&["run", "review", "--input", "{}"]);
    assert_eq!(output.code, 65, "{}", output.stderr);
    assert!(output.stderr.starts_with("error[SS-001]: graph file `review.toml` is invalid"), "{}", output.stderr);
    assert!(output.stderr.contains("review.toml:2:1  unknown key `stat`"), "{}", output.stderr);
    assert_eq!(folder.run(&["run", "titles", "--input", r#"{"text":"a"}"#]).code, 0);
}

/// R-CLI-7, R-CLI-12: errors for programs are JSON on stderr, with the exit code of the table.
#[test]
fn errors_are_json_with_json_output() {
    let folder = Folder::new("error-json");
    let output = folder.run(&["run", "titles", "--input", "{}", "--json"]);
    let line = output.stderr.lines().last().unwrap();
    let error: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["exit"]), (&json!("SS-002"), &json!(65)));
    assert_eq!(error["error"]["errors"][0]["pointer"], "/text");
    assert_eq!((output.code, output.stdout.as_str()), (65, ""));
}

/// R-CLI-10: a failed run prints the saved thread and how to resume it; the next attempt continues after the
/// finished nodes.
#[test]
fn a_failed_run_is_saved_and_resumed() {
    let folder = Folder::new("failed");
    let failed = folder.run(&["run", "talk", "--input", r#"{"text":"hi"}"#, "--thread", "t1"]);
    assert_eq!(failed.code, 77, "{}", failed.stderr);
    assert!(failed.stderr.contains("error[SS-022]") && failed.stderr.contains("OPENAI_API_KEY"), "{}", failed.stderr);
    assert!(failed.stderr.ends_with("state is saved; resume with: superstep resume t1\n"), "{}", failed.stderr);
    folder.set_far("{ provider = \"scripted\", model = \"replies.txt\" }");
    let resumed = folder.run(&["resume", "t1"]);
    insta::assert_snapshot!(resumed.snapshot_text(), @r#"
    {
      "said": "Foxes and dogs",
      "text": "hi, please"
    }
    ---
     ✓ say       said: Foxes and dogs  [time] · [tokens]
    done · [time] · [tokens] · thread t1
    [exit 0]
    "#);
}
