//! The ready-made agent: a model, two tools, a limit, and human approval before destructive calls. Runs offline: the
//! model is a script, and any other model can replace it.

use serde_json::json;
use superstep::agents::{HumanInTheLoop, react_agent};
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::prelude::*;
use superstep::tools::ToolSet;

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
    let model = ScriptedModel::new([
        ScriptedReply::tool_call("list", json!({ "folder": "work" })),
        ScriptedReply::tool_call("delete", json!({ "path": "work/draft.txt" })),
        ScriptedReply::from("The draft is gone, the final text is still there."),
    ]);
    let agent = react_agent(model, ToolSet::new([list(), delete()])?)
        .system_prompt("You keep folders tidy.")
        .middleware(HumanInTheLoop::new())
        .max_iterations(10)
        .checkpointer(MemoryCheckpointer::new())
        .compile()?;

    let interrupted = agent.invoke("Tidy up my work").thread("desk").await?;
    for interrupt in interrupted.interrupts() {
        let action = &interrupt.value["action_requests"][0];
        println!("{} {} {}", interrupt.prompt.as_deref().unwrap_or_default(), action["name"], action["args"]);
    }
    let done = agent.resume("desk", json!({ "decisions": [{ "type": "approve" }] })).await?;
    for message in &done.state.messages {
        println!("{:?}: {}", message.role, message.text());
    }
    Ok(())
}
