//! Runs the tool calls of the model concurrently and records the status of each source.

use superstep::core::command::TaskOutput;
use superstep::core::message::{MessageUpdate, MessageUpdates};
use superstep::core::state::{IntoUpdate, UncheckedUpdate};
use superstep::tools::ToolSet;
use superstep::{FromTask, Message, Node, NodeError, TaskContext, ToolNode, View};

use crate::context::SuggestionsContext;
use crate::response_format::statuses;
use crate::state::SuggestionsState;
use crate::tools::tools;

/// The node `toolExec`, which runs tool calls.
pub(crate) struct ToolExec(ToolNode);

impl ToolExec {
    /// Creates the node with exactly the five tools of the agent.
    pub(crate) fn new() -> Self {
        Self(ToolNode::new(ToolSet::from(tools())))
    }
}

impl Node<SuggestionsState, SuggestionsContext> for ToolExec {
    type Output = TaskOutput;

    async fn run(&self, cx: TaskContext) -> Result<TaskOutput, NodeError> {
        let state = <View<SuggestionsState> as FromTask<SuggestionsState, SuggestionsContext>>::from_task(&cx)?;
        let mut output = Node::<SuggestionsState, SuggestionsContext>::run(&self.0, cx).await?;
        let results = tool_messages(&output);
        // Computed over all rounds: a source that returned results once is not unavailable because a later search
        // failed.
        let statuses = statuses(state.messages.iter().chain(results.iter().copied()));
        output.updates.push(SuggestionsState::update().tool_status(statuses).into_update());
        Ok(output)
    }
}

/// Returns the tool messages in an output.
fn tool_messages(output: &TaskOutput) -> Vec<&Message> {
    let writes = output.updates.iter().flat_map(|update| match update {
        UncheckedUpdate::Typed(update) => update.writes(),
        UncheckedUpdate::Json(_) => &[],
    });
    let edits = writes.filter_map(|write| write.value.get::<MessageUpdates>()).flat_map(|edits| &edits.0);
    let messages = edits.filter_map(|edit| match edit {
        MessageUpdate::Put(message) => Some(message),
        MessageUpdate::Remove(_) | MessageUpdate::RemoveAll => None,
    });
    messages.collect()
}
