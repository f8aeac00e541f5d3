//! The sample files, and the components that they reference by name.

use std::path::PathBuf;

use serde_json::json;
use superstep::files::{Components, GraphFile};
use superstep::models::{RuleBasedModel, ScriptedReply, last_message_is_tool_result, user_message_contains};
use superstep::prelude::*;
use superstep::{DynamicState, Schema};

/// Looks an order up.
#[tool(read_only)]
fn find_order(number: u64) -> String {
    format!("order {number} left on Monday")
}

/// Pays money back.
#[tool(destructive)]
fn refund(number: u64) -> String {
    format!("order {number} is paid back")
}

pub(super) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/files").join(name)
}

pub(super) fn sample(name: &str) -> GraphFile {
    GraphFile::open(path(name)).unwrap()
}

/// A model with replies for the tickets of the tests.
pub(super) fn model() -> RuleBasedModel {
    RuleBasedModel::new("small")
        .rule(
            |request| starts(request, "Sort") && user_message_contains("fire")(request),
            r#"{"category": "danger", "urgency": 10}"#,
        )
        .rule(
            |request| starts(request, "Sort") && user_message_contains("order")(request),
            r#"{"category": "order", "urgency": 3}"#,
        )
        .rule(|request| starts(request, "Sort"), r#"{"category": "other", "urgency": 2}"#)
        .rule(|request| starts(request, "Which"), r#"["Why?", "Since when?", "How much?"]"#)
        .rule_with(
            |request| starts(request, "Answer"),
            |request, _| ScriptedReply::text(last(request).replace("Answer in a sentence: ", "found: ")),
        )
        .rule(|request| starts(request, "Write"), "Dear customer, all is well.")
        .rule_with(|request| starts(request, "A title"), |request, _| ScriptedReply::text(last(request)))
        .rule(last_message_is_tool_result("find_order"), "It left on Monday.")
        .rule(last_message_is_tool_result("refund"), "You have your money back.")
        .rule(user_message_contains("pay back"), ScriptedReply::tool_call("refund", json!({ "number": 7 })))
        .rule(user_message_contains("order"), ScriptedReply::tool_call("find_order", json!({ "number": 7 })))
        .default_reply("I see.")
}

fn last(request: &superstep::models::ChatRequest) -> String {
    request.messages.last().map(|message| message.text().into_owned()).unwrap_or_default()
}

fn starts(request: &superstep::models::ChatRequest, word: &str) -> bool {
    last(request).starts_with(word)
}

/// A graph in Rust, with a separate state.
fn shout() -> superstep::CompiledGraph<DynamicState> {
    let schema = Schema::from_json("shout", &json!({ "words": { "type": "integer", "reducer": "add", "default": 0 } }));
    let mut graph = StateGraph::<DynamicState>::with_schema("shout", schema.unwrap());
    let add = graph.add_node("add", || json!({ "words": 100 }));
    graph.add_edge(START, add).add_edge(add, END);
    graph.compile().unwrap()
}

pub(super) fn parts() -> Components {
    Components::new()
        .model("small", model())
        .tool(find_order())
        .tool(refund())
        .graph("shout", shout())
        .node("send", || json!({ "status": "sent" }))
        .node("count", async |record: View<DynamicState>| {
            let quiet = record.get("secret").as_str().is_some_and(|secret| secret == "quiet");
            Command::<DynamicState>::end().update(json!({ "words": if quiet { 1000 } else { 0 }, "secret": "told" }))
        })
        .checkpointer(MemoryCheckpointer::new())
}

/// Compares a text with a file in this folder. With `SUPERSTEP_GOLDEN=write` the file is written instead.
pub(super) fn assert_golden(name: &str, text: &str) {
    if std::env::var("SUPERSTEP_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(path(name), text).unwrap();
    }
    let golden = std::fs::read_to_string(path(name)).unwrap_or_default();
    let line = golden.lines().zip(text.lines()).position(|(expected, now)| expected != now);
    let line = line.unwrap_or_else(|| golden.lines().count().min(text.lines().count()));
    let excerpt = |text: &str| text.lines().nth(line).unwrap_or("<end>").to_owned();
    assert!(
        golden == text,
        "{name}:{} differs, `SUPERSTEP_GOLDEN=write` writes it anew\nkept: {}\nnow:  {}",
        line + 1,
        excerpt(&golden),
        excerpt(text),
    );
}

/// A folder that is deleted on drop.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-files-{name}-{}", std::process::id()));
        // Process ids repeat, and a process that died may have left its folder.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder.canonicalize().unwrap())
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
