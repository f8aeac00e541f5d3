//! Handing over to another agent: the tool that a model calls, and how a graph around reads that it did.
//!
//! A hand-off ends the agent that makes it, as if it had answered. So all it has said comes out of its graph in the usual
//! way, the results of other calls of the same turn with it, and the graph around leads on by looking at the messages.

use serde::Deserialize;

use super::state::AgentState;
use crate::core::message::{Role, ToolStatus};
use crate::tool::{IntoToolOutput, SharedTool, ToolSpec, tool_fn};
use crate::{Command, JsonSchema, Message, Messages, ToolError};

/// Marks the tool message of a hand-off with the agent that is next.
pub(super) const HANDOFF: &str = "handoff_to";

/// The name of the tool that hands over to an agent.
pub(super) fn tool_name(agent: &str) -> String {
    format!("transfer_to_{agent}")
}

#[derive(Deserialize, JsonSchema)]
struct Task {
    /// What it shall do, in a sentence.
    #[serde(default, rename = "task")]
    _task: Option<String>,
}

/// The tool `transfer_to_<agent>`: it ends the agent that calls it, and [`handed_over`] says where to go on.
///
/// ```
/// use superstep::agent::{MessagesState, handed_over, handoff_tool, messages_graph, react_agent};
/// use superstep::model::{Reply, Scripted};
/// use superstep::prelude::*;
/// use superstep::tool::Tools;
///
/// # let model = Scripted::new([Reply::call("transfer_to_expert", serde_json::json!({}))]);
/// let front = react_agent(model, [handoff_tool("expert", "Knows everything about Rust.")]).compile()?;
/// # let model = Scripted::new(["It depends."]);
/// let expert = react_agent(model, Tools::default()).compile()?;
///
/// let mut graph = messages_graph("desk");
/// let front = graph.node("front", front);
/// let expert = graph.node("expert", expert);
/// graph.edge(START, front).edge(expert, END);
/// graph.route(front, |state: &MessagesState| match handed_over(&state.messages).is_empty() {
///     true => END,
///     false => "expert".into(),
/// }, [expert.into(), END]);
/// let done = graph.compile()?.run("Which loop is best?").wait()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "It depends.");
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn handoff_tool(agent: impl Into<String>, description: impl AsRef<str>) -> SharedTool {
    let agent = agent.into();
    let description = format!("Hands the conversation over to `{agent}`. {}", description.as_ref());
    tool_fn(ToolSpec::new(tool_name(&agent), description.trim_end()), move |_: Task, _cx| {
        let agent = agent.clone();
        async move {
            let mut output = Command::<AgentState>::end().into_tool_output()?;
            output.content = Some(format!("handed over to {agent}").into());
            output.metadata.insert(HANDOFF.to_owned(), agent.into());
            Ok::<_, ToolError>(output)
        }
    })
}

/// Whom the end of a conversation hands over to, in the order of the calls, each once. Nobody, unless a hand-off was the
/// last thing that happened.
#[must_use]
pub fn handed_over(messages: &Messages) -> Vec<String> {
    let mut agents: Vec<String> = Vec::new();
    for (_, agent) in hand_offs(messages) {
        if !agents.iter().any(|known| known == agent) {
            agents.push(agent.to_owned());
        }
    }
    agents
}

/// The hand-offs at the end of a conversation, with whom they name.
pub(super) fn hand_offs(messages: &Messages) -> Vec<(&Message, &str)> {
    let results = messages.iter().rev().take_while(|message| message.role == Role::Tool);
    let mut found: Vec<_> = results.filter_map(|message| Some((message, target(message)?))).collect();
    found.reverse();
    found
}

fn target(message: &Message) -> Option<&str> {
    message.metadata.get(HANDOFF)?.as_str().filter(|_| message.status == ToolStatus::Success)
}
