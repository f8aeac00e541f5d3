//! What rules and scripts look for in a request.

use superstep_core::message::Role;
use superstep_core::model::Request;

/// True where the last thing a person said has all of these words, in any order and whatever their case.
///
/// ```
/// use superstep::model::{Request, says};
///
/// let rain = says("weather paris");
/// assert!(rain(&Request::from("How is the weather in Paris?")));
/// assert!(!rain(&Request::from("How is the weather?")));
/// ```
pub fn says(words: impl Into<String>) -> impl Fn(&Request) -> bool + Send + Sync + 'static {
    let words: Vec<String> = split(&words.into()).collect();
    move |request| {
        let mut said = request.messages.iter().rev();
        said.find(|message| message.role == Role::User).is_some_and(|message| {
            let said: Vec<String> = split(&message.text()).collect();
            words.iter().all(|word| said.contains(word))
        })
    }
}

/// True where the last message is the result of this tool.
pub fn after_tool(tool: impl Into<String>) -> impl Fn(&Request) -> bool + Send + Sync + 'static {
    let tool = tool.into();
    move |request| {
        let Some(id) = request.messages.last().and_then(|last| last.tool_call_id.as_deref()) else { return false };
        let mut calls = request.messages.iter().rev().flat_map(|message| &message.tool_calls);
        calls.find(|call| call.id == id).is_some_and(|call| call.name == tool)
    }
}

fn split(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
