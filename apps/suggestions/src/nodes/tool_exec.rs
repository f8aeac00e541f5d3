//! Runs what the model asks for, all at once, and notes how each source went.

use superstep::core::command::Output;
use superstep::core::message::{MessageEdit, MessageEdits};
use superstep::core::state::{Draft, IntoDraft};
use superstep::tool::Tools;
use superstep::{Cx, FromTask, Message, Node, NodeError, ToolNode, View};

use crate::context::Context;
use crate::format::statuses;
use crate::state::Suggestions;
use crate::tools::tools;

/// The node `toolExec`.
pub(crate) struct ToolExec(ToolNode);

impl ToolExec {
    /// With the five tools, and no other.
    pub(crate) fn new() -> Self {
        Self(ToolNode::new(Tools::from(tools())))
    }
}

impl Node<Suggestions, Context> for ToolExec {
    type Output = Output;

    async fn run(&self, cx: Cx) -> Result<Output, NodeError> {
        let state = <View<Suggestions> as FromTask<Suggestions, Context>>::from_task(&cx)?;
        let mut output = Node::<Suggestions, Context>::run(&self.0, cx).await?;
        let answers = answers(&output);
        // All rounds together: a source that gave something once is not unavailable because a later search failed.
        let statuses = statuses(state.messages.iter().chain(answers.iter().copied()));
        output.updates.push(Suggestions::update().tool_status(statuses).into_draft());
        Ok(output)
    }
}

/// The tool messages that an output brings.
fn answers(output: &Output) -> Vec<&Message> {
    let writes = output.updates.iter().flat_map(|draft| match draft {
        Draft::Typed(update) => update.writes(),
        Draft::Json(_) => &[],
    });
    let edits = writes.filter_map(|write| write.value.get::<MessageEdits>()).flat_map(|edits| &edits.0);
    let put = edits.filter_map(|edit| match edit {
        MessageEdit::Put(message) => Some(message),
        MessageEdit::Remove(_) | MessageEdit::RemoveAll => None,
    });
    put.collect()
}
