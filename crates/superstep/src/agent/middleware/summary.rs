//! Keeps a conversation short: the older part becomes one message.

use std::sync::Arc;

use super::Middleware;
use crate::agent::hook::{Effect, Hook, Hooks};
use crate::core::message::{MessageEdit, MessageEdits, MessageId, Role, count_tokens};
use crate::model::{Request, SharedModel};
use crate::{Message, Messages, NodeError};

/// How many messages stay as they are unless something else is said.
const KEEP: usize = 20;

const PROMPT: &str = "Sum up the conversation below for yourself, so that you can go on without it. Keep what was asked, \
    what was found out, what was decided, names and numbers, and what is still to do. Answer with the summary only.";

/// Sums up the older messages when the conversation has become long.
///
/// A model writes the summary, which takes the place of what it sums up. Messages of the system stay, the last ones stay,
/// and a call stays together with its results. Without a threshold nothing is ever summed up. Inside another graph only the
/// agent forgets: the conversation of the graph around keeps what it has.
///
/// ```
/// use superstep::agent::{Summarize, react_agent};
/// use superstep::model::Scripted;
/// use superstep::tool::Tools;
///
/// let cheap = Scripted::new(["The user likes tea."]);
/// let summary = Summarize::with(cheap).at_tokens(100_000).at_messages(200).keep(20);
/// let agent = react_agent(Scripted::new(["Tea."]), Tools::default()).middleware(summary).compile()?;
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "give it to an agent"]
pub struct Summarize {
    model: SharedModel,
    tokens: Option<u64>,
    messages: Option<usize>,
    keep: usize,
    prompt: String,
}

impl Summarize {
    /// This model writes summaries.
    pub fn with(model: impl Into<SharedModel>) -> Self {
        Self { model: model.into(), tokens: None, messages: None, keep: KEEP, prompt: PROMPT.to_owned() }
    }

    /// When all messages together have this many tokens, by estimate where nobody counted.
    pub fn at_tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// When there are this many messages.
    pub fn at_messages(mut self, messages: usize) -> Self {
        self.messages = Some(messages);
        self
    }

    /// How many of the last messages stay as they are, one at least; 20 unless told. More stay where a call would lose
    /// its results.
    pub fn keep(mut self, messages: usize) -> Self {
        self.keep = messages.max(1);
        self
    }

    /// What the model is told to do.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = prompt.into();
        self
    }

    fn is_long(&self, messages: &Messages) -> bool {
        self.messages.is_some_and(|most| messages.len() >= most)
            || self.tokens.is_some_and(|most| {
                let tokens: u64 = messages.iter().map(|message| count_tokens(message).tokens).sum();
                tokens >= most
            })
    }

    /// What is to be summed up: everything older than the messages that stay.
    fn older(&self, messages: &Messages) -> Vec<Arc<Message>> {
        let mut cut = messages.len().saturating_sub(self.keep);
        while cut > 0 && messages.get(cut).is_some_and(|message| message.role == Role::Tool) {
            cut -= 1;
        }
        let older = messages.shared().take(cut).filter(|message| message.role != Role::System);
        older.cloned().collect()
    }
}

impl Middleware for Summarize {
    fn hooks(&self) -> Hooks {
        Hooks::none().before_model()
    }

    async fn before_model(&self, hook: Hook) -> Result<Effect, NodeError> {
        if !self.is_long(hook.messages()) {
            return Ok(Effect::none());
        }
        let older = self.older(hook.messages());
        let ids: Vec<MessageId> = older.iter().filter_map(|message| message.id.clone()).collect();
        // What has no id cannot be taken away; one message is as short as its summary.
        let Some((first, others)) = ids.split_first().filter(|_| ids.len() == older.len() && older.len() > 1) else {
            return Ok(Effect::none());
        };
        let text: Vec<String> = older.iter().map(|message| told(message)).collect();
        let request = Request::new([Message::system(self.prompt.as_str()), Message::user(text.join("\n"))]);
        let summary = hook.cx().model(&self.model).request(request).tag("nostream").await?;
        let summary = Message::user(format!("Summary of the conversation so far:\n{}", summary.message.text()))
            .with_id(first)
            .with_metadata("summary_of", older.len());
        let removed = others.iter().cloned().map(MessageEdit::Remove);
        let edits: Vec<MessageEdit> = std::iter::once(MessageEdit::Put(summary)).chain(removed).collect();
        Ok(Effect::none().messages(MessageEdits(edits)))
    }
}

/// A message as the one who sums up reads it.
fn told(message: &Message) -> String {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        _ => "system",
    };
    let calls = message.tool_calls.iter().map(|call| format!(" [calls {} {}]", call.name, call.args));
    format!("{role}: {}{}", message.text(), calls.collect::<String>())
}
