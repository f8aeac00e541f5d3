//! Ready-made agents, with models that are scripts.

use std::path::PathBuf;

use serde_json::json;
use superstep::core::message::Role;
use superstep::model::{Reply, Scripted};
use superstep::prelude::*;

mod approval;
mod around;
mod conversations;
mod crashes;
mod hooks;
mod inside;
mod limits;
mod map_reduce;
mod react;
mod structured;
mod summary;
mod swarm;
mod team_crash;
mod teams;

/// How warm it is in a city.
#[tool(read_only)]
pub(crate) async fn weather(city: String) -> String {
    format!("18 degrees in {city}")
}

/// Deletes a file.
#[tool(destructive)]
pub(crate) async fn delete(path: String) -> String {
    format!("{path} is gone")
}

/// A database that is not there yet, in a folder of its own; nothing is left of an earlier run of the test.
fn fresh_file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("agents-{name}"));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("threads.db")
}

/// A call of `weather`.
pub(crate) fn asks_for(city: &str) -> Reply {
    Reply::call("weather", json!({ "city": city }))
}

/// A call of `weather`, then words.
pub(crate) fn one_call() -> Scripted {
    Scripted::new([asks_for("Paris"), Reply::from("It is 18 degrees.")])
}

/// The conversation, a line for each message.
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
