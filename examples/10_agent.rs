//! The ready-made agent: a model, two tools, a bound, and a person who is asked before anything is destroyed. Offline: the
//! model is a script, and any other model takes its place.

use serde_json::json;
use superstep::agent::{HumanApproval, react_agent};
use superstep::model::{Reply, Scripted};
use superstep::prelude::*;
use superstep::tool::Tools;

/// Lists the files of a folder.
#[tool(read_only)]
async fn list(folder: String) -> Vec<String> {
    vec![format!("{folder}/draft.txt"), format!("{folder}/final.txt")]
}

/// Deletes a file.
#[tool(destructive)]
async fn delete(path: String) -> String {
    format!("{path} is gone")
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let model = Scripted::new([
        Reply::call("list", json!({ "folder": "work" })),
        Reply::call("delete", json!({ "path": "work/draft.txt" })),
        Reply::from("The draft is gone, the final text is still there."),
    ]);
    let agent = react_agent(model, Tools::new([list(), delete()])?)
        .system_prompt("You keep folders tidy.")
        .middleware(HumanApproval::new())
        .max_rounds(10)
        .checkpointer(Memory::new())
        .compile()?;

    let paused = agent.run("Tidy up my work").thread("desk").await?;
    for question in paused.questions() {
        let action = &question.value["action_requests"][0];
        println!("{} {} {}", question.text.as_deref().unwrap_or_default(), action["name"], action["args"]);
    }
    let done = agent.resume("desk", json!({ "decisions": [{ "type": "approve" }] })).await?;
    for message in &done.state.messages {
        println!("{:?}: {}", message.role, message.text());
    }
    Ok(())
}
