//! Request matchers for rules and scripts.

use superstep_core::message::Role;
use superstep_core::model::ChatRequest;

/// Matches requests whose last user message contains all of these words, in any order, ignoring case.
///
/// ```
/// use superstep::models::{ChatRequest, user_message_contains};
///
/// let rain = user_message_contains("weather paris");
/// assert!(rain(&ChatRequest::from("How is the weather in Paris?")));
/// assert!(!rain(&ChatRequest::from("How is the weather?")));
/// ```
pub fn user_message_contains(words: impl Into<String>) -> impl Fn(&ChatRequest) -> bool + Send + Sync + 'static {
    let words: Vec<String> = split(&words.into()).collect();
    move |request| {
        let mut messages = request.messages.iter().rev();
        messages.find(|message| message.role == Role::User).is_some_and(|message| {
            let message_words: Vec<String> = split(&message.text()).collect();
            words.iter().all(|word| message_words.contains(word))
        })
    }
}

/// Matches requests whose last message is a result of this tool.
pub fn last_message_is_tool_result(tool: impl Into<String>) -> impl Fn(&ChatRequest) -> bool + Send + Sync + 'static {
    let tool = tool.into();
    move |request| {
        let Some(id) = request.messages.last().and_then(|last| last.tool_call_id.as_deref()) else { return false };
        let mut calls = request.messages.iter().rev().flat_map(|message| &message.tool_calls);
        calls.find(|call| call.id == id).is_some_and(|call| call.name == tool)
    }
}

fn split(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
