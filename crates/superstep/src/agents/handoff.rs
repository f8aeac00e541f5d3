//! Handoff to another agent: the tool that a model calls, and how a parent graph detects the handoff.
//!
//! A handoff ends the agent that calls it, as if the agent had responded. So all of its messages leave its graph in
//! the usual way, together with the results of the other calls of the same message, and the parent graph chooses the
//! next agent from the messages.

use serde::Deserialize;

use super::state::AgentState;
use crate::core::message::{Role, ToolStatus};
use crate::tools::{IntoToolOutput, SharedTool, ToolSpec, tool_fn};
use crate::{Command, JsonSchema, Message, Messages, ToolError};

/// Metadata key of the tool message of a handoff; the value is the name of the next agent.
pub(super) const HANDOFF: &str = "handoff_to";

/// Returns the name of the tool that hands off to an agent.
pub(super) fn tool_name(agent: &str) -> String {
    format!("transfer_to_{agent}")
}

#[derive(Deserialize, JsonSchema)]
struct HandoffArgs {
    /// Task of the other agent, in one sentence.
    #[serde(default, rename = "task")]
    _task: Option<String>,
}

/// Returns the tool `transfer_to_<agent>`, which ends the agent that calls it. [`handoff_targets`] returns the
/// requested agent.
///
/// ```
/// use superstep::agents::{MessagesState, handoff_targets, handoff_tool, messages_graph, react_agent};
/// use superstep::models::{ScriptedReply, ScriptedModel};
/// use superstep::prelude::*;
/// use superstep::tools::ToolSet;
///
/// # let model = ScriptedModel::new([ScriptedReply::tool_call("transfer_to_expert", serde_json::json!({}))]);
/// let front = react_agent(model, [handoff_tool("expert", "Knows everything about Rust.")]).compile()?;
/// # let model = ScriptedModel::new(["It depends."]);
/// let expert = react_agent(model, ToolSet::default()).compile()?;
///
/// let mut graph = messages_graph("support");
/// let front = graph.add_node("front", front);
/// let expert = graph.add_node("expert", expert);
/// graph.add_edge(START, front).add_edge(expert, END);
/// graph.add_conditional_edges(front, |state: &MessagesState| match handoff_targets(&state.messages).is_empty() {
///     true => END,
///     false => "expert".into(),
/// }, [expert.into(), END]);
/// let done = graph.compile()?.invoke("Which loop is best?").wait_blocking()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "It depends.");
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn handoff_tool(agent: impl Into<String>, description: impl AsRef<str>) -> SharedTool {
    let agent = agent.into();
    let description = format!("Transfers the conversation to the agent `{agent}`. {}", description.as_ref());
    tool_fn(ToolSpec::new(tool_name(&agent), description.trim_end()), move |_: HandoffArgs, _cx| {
        let agent = agent.clone();
        async move {
            let mut output = Command::<AgentState>::end().into_tool_output()?;
            output.content = Some(format!("transferred to {agent}").into());
            output.metadata.insert(HANDOFF.to_owned(), agent.into());
            Ok::<_, ToolError>(output)
        }
    })
}

/// Returns the targets of the handoffs at the end of a conversation, in call order and without duplicates. Empty
/// unless the last messages are results of handoffs.
#[must_use]
pub fn handoff_targets(messages: &Messages) -> Vec<String> {
    let mut agents: Vec<String> = Vec::new();
    for (_, agent) in trailing_handoffs(messages) {
        if !agents.iter().any(|name| name == agent) {
            agents.push(agent.to_owned());
        }
    }
    agents
}

/// Returns the handoff messages at the end of a conversation, with their target agents.
pub(super) fn trailing_handoffs(messages: &Messages) -> Vec<(&Message, &str)> {
    let results = messages.iter().rev().take_while(|message| message.role == Role::Tool);
    let mut handoffs: Vec<_> = results.filter_map(|message| Some((message, target(message)?))).collect();
    handoffs.reverse();
    handoffs
}

fn target(message: &Message) -> Option<&str> {
    message.metadata.get(HANDOFF)?.as_str().filter(|_| message.status == ToolStatus::Success)
}
