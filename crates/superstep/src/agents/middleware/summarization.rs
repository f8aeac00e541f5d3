//! Summarization: replaces the older part of a long conversation by one message.

use std::sync::Arc;

use super::Middleware;
use crate::agents::hooks::{HookContext, HookUpdate, Hooks};
use crate::core::message::{MessageId, MessageUpdate, MessageUpdates, Role, count_tokens};
use crate::models::{ChatRequest, SharedModel};
use crate::{Message, Messages, NodeError};

/// Default number of messages that stay unchanged.
const DEFAULT_KEEP_LAST: usize = 20;

const PROMPT: &str = "Summarize the conversation below so that you can continue it from the summary alone. \
     Include what the user asked for, findings, decisions, names, numbers and open tasks. Respond with the \
     summary only.";

/// Replaces older messages by a summary if the conversation has become long.
///
/// A model writes the summary, which replaces the summarized messages. System messages and the last messages stay,
/// and a tool call stays together with its results. Without a threshold nothing is summarized. In an agent that is a
/// node of another graph, the conversation of the parent graph keeps all messages.
///
/// ```
/// use superstep::agents::{Summarization, react_agent};
/// use superstep::models::ScriptedModel;
/// use superstep::tools::ToolSet;
///
/// let cheap = ScriptedModel::new(["The user likes tea."]);
/// let summary = Summarization::new(cheap).trigger_tokens(100_000).trigger_messages(200).keep_last(20);
/// let agent = react_agent(ScriptedModel::new(["Tea."]), ToolSet::default()).middleware(summary).compile()?;
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct Summarization {
    model: SharedModel,
    tokens: Option<u64>,
    messages: Option<usize>,
    keep_last: usize,
    prompt: String,
}

impl Summarization {
    /// Sets the model that writes summaries.
    pub fn new(model: impl Into<SharedModel>) -> Self {
        Self {
            model: model.into(),
            tokens: None,
            messages: None,
            keep_last: DEFAULT_KEEP_LAST,
            prompt: PROMPT.to_owned(),
        }
    }

    /// Sets the threshold in tokens of all messages; messages without a count are estimated.
    pub fn trigger_tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Sets the threshold in messages.
    pub fn trigger_messages(mut self, messages: usize) -> Self {
        self.messages = Some(messages);
        self
    }

    /// Sets the number of last messages that stay unchanged. Default: 20, minimum: 1. More messages stay if a tool
    /// call would otherwise be separated from its results.
    pub fn keep_last(mut self, messages: usize) -> Self {
        self.keep_last = messages.max(1);
        self
    }

    /// Sets the prompt of the summarizing model.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = prompt.into();
        self
    }

    fn is_long(&self, messages: &Messages) -> bool {
        self.messages.is_some_and(|max| messages.len() >= max)
            || self.tokens.is_some_and(|max| {
                let tokens: u64 = messages.iter().map(|message| count_tokens(message).tokens).sum();
                tokens >= max
            })
    }

    /// Returns the messages to summarize: all messages before those that stay, without system messages.
    fn older(&self, messages: &Messages) -> Vec<Arc<Message>> {
        let mut cut = messages.len().saturating_sub(self.keep_last);
        while cut > 0 && messages.get(cut).is_some_and(|message| message.role == Role::Tool) {
            cut -= 1;
        }
        let older = messages.iter_arcs().take(cut).filter(|message| message.role != Role::System);
        older.cloned().collect()
    }
}

impl Middleware for Summarization {
    fn hooks(&self) -> Hooks {
        Hooks::none().before_model()
    }

    async fn before_model(&self, hook: HookContext) -> Result<HookUpdate, NodeError> {
        if !self.is_long(hook.messages()) {
            return Ok(HookUpdate::none());
        }
        let older = self.older(hook.messages());
        let ids: Vec<MessageId> = older.iter().filter_map(|message| message.id.clone()).collect();
        // A message without an id cannot be removed, and a summary of a single message saves nothing.
        let Some((first, others)) = ids.split_first().filter(|_| ids.len() == older.len() && older.len() > 1) else {
            return Ok(HookUpdate::none());
        };
        let text: Vec<String> = older.iter().map(|message| message_as_text(message)).collect();
        let request = ChatRequest::new([Message::system(self.prompt.as_str()), Message::user(text.join("\n"))]);
        let summary = hook.task().model(&self.model).request(request).tag("nostream").await?;
        let summary = Message::user(format!("Summary of the conversation so far:\n{}", summary.message.text()))
            .with_id(first)
            .with_metadata("summary_of", older.len());
        let removed = others.iter().cloned().map(MessageUpdate::Remove);
        let edits: Vec<MessageUpdate> = std::iter::once(MessageUpdate::Put(summary)).chain(removed).collect();
        Ok(HookUpdate::none().messages(MessageUpdates(edits)))
    }
}

/// Renders a message as text for the summarizing model.
fn message_as_text(message: &Message) -> String {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        _ => "system",
    };
    let calls = message.tool_calls.iter().map(|call| format!(" [calls {} {}]", call.name, call.args));
    format!("{role}: {}{}", message.text(), calls.collect::<String>())
}
