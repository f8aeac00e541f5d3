//! The suggestions agent at the command line: the demo, the check, its tools for others.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::Folder;

/// R-CLI-3, R-SUG-41, R-SUG-42: the demo needs nothing: it says who decides, what is searched for, and what to read.
#[test]
fn the_demo_tells_what_is_searched_for_and_what_to_read() {
    let folder = Folder::empty("suggestions");
    let said = folder.run(&["demo", "suggestions", "--offline"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let parts = [
        "suggestions · keyword planner, no language model\n  How do I roll back a failed AKS deployment?\n",
        "  search docs    ",
        "\nnext    ",
        "\nMicrosoft 365\n",
        "\ndocuments\n  Roll back a deployment",
        "    docs/platform/rollback-a-deployment.md",
        "\nissues\n",
        "\nposts\n",
    ];
    let places: Vec<Option<usize>> = parts.iter().map(|part| said.stdout.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{}", said.stdout);
    assert!(!said.stdout.contains('\u{1b}') && !folder.path().join(".superstep/suggestions/posts.db").exists());
}

/// R-CLI-7, R-SUG-37: for programs it is one document, or events and the document.
#[test]
fn the_demo_is_told_as_json() {
    let folder = Folder::empty("suggestions-json");
    let words = ["demo", "suggestions", "--post", "How do I undo a release?"];
    let found = folder.run(&[&words[..], &["--json"]].concat()).json();
    assert_eq!((&found["source"], &found["model"]["kind"]), (&json!("mcp"), &json!("rules")));
    assert!(!found["docs"].as_array().unwrap().is_empty() && !found["queries"].as_array().unwrap().is_empty());
    let lines = folder.run(&[&words[..], &["--jsonl", "--model", "local/rules"]].concat()).lines();
    assert!(lines.iter().any(|line| line["event"] == "on_tool_start"));
    let last = &lines.last().unwrap();
    assert_eq!(last["event"], "suggestions");
    // Posts of the sample are as old as the process says.
    for part in ["docs", "issues", "m365", "actionHint", "queries", "model"] {
        assert_eq!(last["data"][part], found[part], "{part}");
    }
}

/// R-SUG-49, R-SUG-50, R-CLI-17: posts that are none, that break rules, and models that may not be asked.
#[test]
fn the_demo_refuses_what_cannot_be() {
    let folder = Folder::empty("suggestions-refused");
    for (words, code, said) in [
        (vec!["--id", "p999"], 66, "no post `p999`"),
        (vec!["--post", " "], 65, "/text must not be empty"),
        (vec!["--model", "nobody"], 65, "no model `nobody`"),
        (vec!["--model", "groq/x", "--offline"], 77, "forbids it"),
        (vec!["--graph-url", "https://graph.example", "--offline"], 77, "forbids it"),
        (vec!["--post", "x", "--id", "p042"], 64, "cannot be used with"),
    ] {
        let refused = folder.run(&[&["demo", "suggestions"], &words[..]].concat());
        assert!(
            refused.code == code && refused.stderr.contains(said),
            "{words:?}: {} {}",
            refused.code,
            refused.stderr
        );
    }
}

/// R-SUG-43: the check says how many are right, with a line for each question.
#[test]
fn the_check_counts_what_is_right() {
    let folder = Folder::empty("suggestions-eval");
    let said = folder.run(&["eval", "suggestions"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains(" of 25 right, ") && said.stderr.starts_with("enough: "), "{}", said.stdout);
    let score = folder.run(&["eval", "suggestions", "--json"]).json();
    assert!(score["right"].as_u64().unwrap() >= 20 && score["rows"].as_array().unwrap().len() == 25);
    // Without words that mean the same it is too few, and that is said by the exit code.
    folder.write(".superstep/suggestions/sample/words.txt", "");
    let again = folder.run(&["eval", "suggestions"]);
    assert!(again.code == 1 && again.stderr.starts_with("too few: "), "{} {}", again.code, again.stderr);
}

/// R-SUG-23: the five tools over standard input and output, for any client.
#[test]
fn the_tools_are_offered_over_standard_input_and_output() {
    let folder = Folder::empty("suggestions-mcp");
    let mut child = folder.command(&["mcp", "serve", "suggestions"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |id: u32, method: &str, params: Value| -> Value {
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(stdin, "{asked}").unwrap();
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    assert_eq!(ask(1, "initialize", hello)["result"]["serverInfo"]["name"], "suggestions");
    let listed = ask(2, "tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 5, "{listed}");
    let call = json!({ "name": "search_docs", "arguments": { "query": "rollback" } });
    let found = ask(3, "tools/call", call);
    let text = found["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("rollback-a-deployment.md"), "{found}");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

/// R-SUG-23: over HTTP only for this machine.
#[test]
fn the_tools_are_not_offered_to_the_world() {
    let folder = Folder::empty("suggestions-mcp-http");
    let said = folder.run(&["mcp", "serve", "suggestions", "--http", "0.0.0.0:0"]);
    assert!(said.code == 77 && said.stderr.contains("127.0.0.1"), "{}", said.stderr);
}
