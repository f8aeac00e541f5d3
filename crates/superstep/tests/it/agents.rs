//! Prebuilt agents, with scripted models.

use std::path::PathBuf;

use serde_json::json;
use superstep::core::message::Role;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::prelude::*;

mod approval;
mod as_subgraph;
mod call_chain;
mod crashes;
mod hooks;
mod limits;
mod map_reduce;
mod messages_graph;
mod react;
mod structured;
mod summarization;
mod swarm;
mod team_crashes;
mod teams;

/// Returns the temperature in a city.
#[tool(read_only)]
pub(crate) async fn weather(city: String) -> String {
    format!("18 degrees in {city}")
}

/// Deletes a file.
#[tool(destructive)]
pub(crate) async fn delete(path: String) -> String {
    format!("{path} is gone")
}

/// Returns the path of a database that does not exist yet, in a separate folder without data of earlier tests.
fn fresh_file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("agents-{name}"));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("threads.db")
}

/// A call of `weather`.
pub(crate) fn asks_for(city: &str) -> ScriptedReply {
    ScriptedReply::tool_call("weather", json!({ "city": city }))
}

/// A call of `weather`, then a text.
pub(crate) fn one_call() -> ScriptedModel {
    ScriptedModel::new([asks_for("Paris"), ScriptedReply::from("It is 18 degrees.")])
}

/// Returns the conversation, one line per message.
pub(crate) fn transcript(messages: &Messages) -> Vec<String> {
    messages.iter().map(line).collect()
}

fn line(message: &Message) -> String {
    let calls: Vec<String> = message.tool_calls.iter().map(|call| format!(" {}{}", call.name, call.args)).collect();
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "model",
        Role::System => "system",
        _ => "tool",
    };
    format!("{role}: {}{}", message.text(), calls.concat())
}
