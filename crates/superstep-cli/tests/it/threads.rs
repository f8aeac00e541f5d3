//! Tests of stored threads and the commands that show them.

use crate::support::{Folder, normalize};

fn folder_with_thread(name: &str) -> Folder {
    let folder = Folder::new(name);
    assert_eq!(folder.run(&["run", "titles", "--thread", "t1", "--input", r#"{"text":"fox"}"#]).code, 0);
    folder
}

/// R-CLI-4a: threads are listed and shown with state and history.
#[test]
fn threads_are_listed_and_shown_with_state_and_history() {
    let folder = folder_with_thread("threads");
    let rows: [&[&str]; 5] =
        [&["threads"], &["threads", "show", "t1"], &["state", "t1"], &["state", "t1", "--at", "1"], &["history", "t1"]];
    let outputs: Vec<String> =
        rows.iter().map(|args| format!("$ {}\n{}", args.join(" "), normalize(&folder.run(args).stdout))).collect();
    insta::assert_snapshot!(outputs.join(""), @r#"
    $ threads
    t1  titles  finished     [when]
    $ threads show t1
    thread      t1
    graph       titles
    status      finished
    started     [when]
    updated     [when]
    superstep   2
    next        none
    $ state t1
    {
      "text": "Foxes and dogs!",
      "title": "Foxes and dogs"
    }
    $ state t1 --at 1
    {
      "text": "fox",
      "title": "Foxes and dogs"
    }
    $ history t1
       2  [id]  [when]  next: none
          text: "Foxes and dogs!"
       1  [id]  [when]  next: shout
          title: "Foxes and dogs"
       0  [id]  [when]  next: title
          text: "fox"
    "#);
    assert_eq!(folder.run(&["threads", "--graph", "review", "--json"]).json(), serde_json::json!([]));
    let filtered = folder.run(&["threads", "--graph", "review"]).stderr;
    assert!(filtered.contains("no thread matches; `superstep threads` lists all threads"), "{filtered}");
}

/// R-CLI-4a: a state is found by its checkpoint.
#[test]
fn a_state_is_found_by_its_checkpoint() {
    let folder = folder_with_thread("at");
    let history = folder.run(&["history", "t1", "--json"]).json();
    let id = history[2]["checkpoint_id"].as_str().unwrap();
    assert_eq!(folder.run(&["state", "t1", "--at", id, "--json"]).json()["values"]["title"], serde_json::Value::Null);
    assert_eq!(folder.run(&["state", "t1", "--at", "nowhere"]).code, 66);
}

/// R-CLI-11: a misspelled thread id.
#[test]
fn an_unknown_thread_suggests_a_similar_id() {
    let folder = folder_with_thread("near");
    folder.run(&["run", "titles", "--thread", "customer-7", "--input", r#"{"text":"fox"}"#]);
    insta::assert_snapshot!(folder.run(&["state", "custmer-7"]).snapshot_text(), @r"
    ---
    error[SS-015]: thread `custmer-7` not found
      help: did you mean `customer-7`?
      more: superstep explain SS-015
    [exit 66]
    ");
}

/// R-CLI-4a: deletion is permanent, so it is confirmed by prompt or `--yes`; then nothing is left.
#[test]
fn a_thread_is_removed_permanently_after_confirmation() {
    let folder = folder_with_thread("rm");
    assert_eq!(folder.run(&["threads", "rm", "t1"]).code, 64);
    assert_eq!(folder.run(&["state", "t1"]).code, 0);
    assert_eq!(folder.run(&["threads", "rm", "t1", "--yes"]).code, 0);
    assert_eq!(folder.run(&["state", "t1"]).code, 66);
    let repeated = folder.run(&["run", "titles", "--thread", "t1", "--input", r#"{"text":"fox"}"#]);
    assert_eq!(repeated.code, 0);
    assert_eq!(folder.run(&["history", "t1", "--json"]).json().as_array().unwrap().len(), 3);
}

/// R-CLI-7: reading creates nothing.
#[test]
fn reading_threads_creates_no_storage() {
    let folder = Folder::empty("look");
    assert_eq!(folder.run(&["threads", "--json"]).json(), serde_json::json!([]));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// R-DEB-57: control characters in a title, interrupt, state or error never reach the terminal.
#[test]
fn stored_control_characters_do_not_reach_the_terminal() {
    let folder = Folder::new("hostile");
    let hostile = "sea\u{1b}[2J\u{9b}2Jfog";
    folder.write("review.toml", &REVIEW.replace("Send?", "Send\\u001b[2J\\u009b2J?"));
    let input = serde_json::json!({ "draft": hostile }).to_string();
    assert_eq!(folder.run(&["run", "review", "--thread", "t1", "--input", &input]).code, 10);
    let demo = ["demo", "debate", "--topic", hostile, "--rounds", "1", "--offline", "--json"];
    let debate = folder.run(&demo).json()["thread"].as_str().unwrap().to_owned();
    let title = folder.run(&["threads", "show", &debate]).stdout;
    assert!(title.contains("title       sea [2J 2Jfog\n"), "{title}");
    let commands: [&[&str]; 8] = [
        &["threads"],
        &["threads", "show", &debate],
        &["threads", "show", "t1"],
        &["state", "t1"],
        &["history", "t1"],
        &["resume", "t1"],
        &["state", hostile],
        &["run", "review", "--stream", "values", "--input", &input],
    ];
    for args in commands {
        let output = folder.run(args);
        let all = output.stdout + &output.stderr;
        let is_printable = |symbol: char| !symbol.is_control() || symbol == '\n';
        assert!(!all.is_empty() && all.chars().all(is_printable), "{args:?}: {all:?}");
    }
}

/// Graph with an interrupt whose text a test replaces.
const REVIEW: &str = r#"
name = "review"
state.draft = { type = "string" }
state.approved = { type = "boolean" }
nodes.review = { kind = "interrupt", prompt = "Send?", payload_fields = ["draft"], resume_type = "boolean", output = "approved" }
edges = [{ from = "START", to = "review" }, { from = "review", to = "END" }]
"#;
