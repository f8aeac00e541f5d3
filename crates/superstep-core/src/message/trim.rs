//! Prepares a list of messages for a provider: short enough, and without tool calls or tool results that lack their
//! counterpart.
//!
//! Nothing here changes a state; `TrimResult::removals` returns the update that does.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Message, MessageUpdates, Messages, RemoveMessage, Role, ToolCall, ToolStatus, count_tokens};

/// The token budget of a trim.
#[derive(Debug, Clone, Copy)]
pub struct TrimOptions {
    /// Maximum number of tokens of all kept messages together.
    pub max_tokens: u64,
    /// Counts the tokens of one message.
    pub count: fn(&Message) -> u64,
}

impl TrimOptions {
    /// Creates a budget of that many tokens, counted by [`count_tokens`].
    pub fn new(max_tokens: u64) -> Self {
        Self { max_tokens, count: |message| count_tokens(message).tokens }
    }
}

/// The kept and the removed messages of a trim, both in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrimResult {
    /// Messages that are kept.
    pub retained: Vec<Arc<Message>>,
    /// Messages that are removed.
    pub removed: Vec<Arc<Message>>,
    /// Tokens of the kept messages; above the budget only if the messages that are always kept exceed it.
    pub tokens: u64,
}

impl TrimResult {
    /// Returns the update that removes the same messages from the list; messages without an id cannot be removed by
    /// an update.
    pub fn removals(&self) -> MessageUpdates {
        self.removed.iter().filter_map(|message| message.id.clone()).map(RemoveMessage).collect()
    }
}

/// Keeps the latest messages that fit the budget.
///
/// System messages are always kept, a tool message only together with its call. The other messages start with a
/// message of the user; if no complete turn fits, the last user message is kept, and as many of the latest messages
/// after it as fit.
///
/// ```
/// use superstep_core::message::{Message, Messages, TrimOptions, trim};
///
/// let all: Messages =
///     [Message::user("old"), Message::assistant("old"), Message::user("new")].into_iter().collect();
/// let trimmed = trim(&all, &TrimOptions { max_tokens: 1, count: |_| 1 });
/// assert_eq!(trimmed.retained.len(), 1);
/// assert_eq!(trimmed.removed.len(), 2);
/// ```
pub fn trim(messages: &Messages, budget: &TrimOptions) -> TrimResult {
    let all: Vec<_> = messages.list.iter().cloned().collect();
    let costs: Vec<_> = all.iter().map(|message| (budget.count)(message)).collect();
    let flags = choose(&all, &costs, budget.max_tokens);
    let mut trimmed = TrimResult { retained: Vec::new(), removed: Vec::new(), tokens: 0 };
    for ((message, cost), is_retained) in all.into_iter().zip(costs).zip(flags) {
        if is_retained {
            trimmed.tokens = trimmed.tokens.saturating_add(cost);
            trimmed.retained.push(message);
        } else {
            trimmed.removed.push(message);
        }
    }
    trimmed
}

/// Returns the index of the call for each tool message; `None` for a tool message without a call.
fn tool_call_indices(all: &[Arc<Message>]) -> BTreeMap<usize, Option<usize>> {
    let mut request_indices = BTreeMap::new();
    let mut calls = BTreeMap::new();
    for (index, message) in all.iter().enumerate() {
        request_indices.extend(message.tool_calls.iter().map(|call| (call.id.as_str(), index)));
        if message.role == Role::Tool {
            let call = message.tool_call_id.as_deref().and_then(|id| request_indices.get(id).copied());
            calls.insert(index, call);
        }
    }
    calls
}

/// Decides for each message if it is kept.
fn choose(all: &[Arc<Message>], costs: &[u64], max_tokens: u64) -> Vec<bool> {
    let calls = tool_call_indices(all);
    // The cost of a tool message is added to its call, because they are kept together; messages that are always
    // kept reduce the budget.
    let mut weights = vec![0_u64; all.len()];
    let mut budget = max_tokens;
    for (index, cost) in costs.iter().enumerate() {
        match calls.get(&index) {
            Some(Some(call)) => weights[*call] = weights[*call].saturating_add(*cost),
            Some(None) => {}
            None if all[index].role == Role::System => budget = budget.saturating_sub(*cost),
            None => weights[index] = weights[index].saturating_add(*cost),
        }
    }
    let is_user = |index: &usize| all[*index].role == Role::User;
    let earliest = first_index_within_budget(budget, &weights);
    let (anchor, start) = match (earliest..all.len()).find(is_user) {
        Some(user) => (user, user),
        None => match (0..all.len()).rev().find(is_user) {
            Some(user) => (user, first_index_within_budget(budget.saturating_sub(weights[user]), &weights)),
            None => (earliest, earliest),
        },
    };
    let stays = |index: usize| index == anchor || index >= start || all[index].role == Role::System;
    let is_retained = |index: usize| calls.get(&index).map_or_else(|| stays(index), |call| call.is_some_and(stays));
    (0..all.len()).map(is_retained).collect()
}

/// Returns the index from which on everything fits.
fn first_index_within_budget(budget: u64, weights: &[u64]) -> usize {
    let mut sum = 0_u64;
    let fits = weights.iter().rev().take_while(|weight| {
        sum = sum.saturating_add(**weight);
        sum <= budget
    });
    weights.len() - fits.count()
}

/// Adds a tool message "not executed: …" for every call without a result, after the existing results; returns the
/// list unchanged if no call is open.
///
/// Providers reject a list with an open call.
///
/// ```
/// use superstep_core::message::{Message, ToolCall, add_missing_tool_results};
///
/// let call = Message::assistant("").with_tool_calls([ToolCall::new("c1", "search", "rust")]);
/// let messages = [call.into()];
/// let closed = add_missing_tool_results(&messages, "the run was cancelled");
/// assert_eq!(closed[1].text(), "not executed: the run was cancelled");
/// ```
pub fn add_missing_tool_results<'a>(messages: &'a [Arc<Message>], reason: &str) -> Cow<'a, [Arc<Message>]> {
    let has_open = |index: usize| open_calls(&messages[index], &messages[index + 1..]).next().is_some();
    if !(0..messages.len()).any(has_open) {
        return Cow::Borrowed(messages);
    }
    let mut closed = Vec::with_capacity(messages.len() + 1);
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        closed.push(Arc::clone(message));
        rest = after;
        if message.tool_calls.is_empty() {
            continue;
        }
        let tool_result_count = after.iter().take_while(|message| message.role == Role::Tool).count();
        closed.extend_from_slice(&after[..tool_result_count]);
        rest = &after[tool_result_count..];
        closed.extend(open_calls(message, after).map(|call| {
            let tool_result = Message::tool(&call.id, format!("not executed: {reason}")).with_name(&call.name);
            Arc::new(tool_result.with_status(ToolStatus::Error))
        }));
    }
    Cow::Owned(closed)
}

/// Returns the calls of a message that have no result after it.
fn open_calls<'a>(message: &'a Message, after: &'a [Arc<Message>]) -> impl Iterator<Item = &'a ToolCall> {
    // Some models number their calls anew in every turn, so a result belongs to the nearest call before it.
    let turn = after.iter().take_while(|message| message.role != Role::Assistant);
    let is_result = |call: &ToolCall, message: &Message| message.tool_call_id.as_deref() == Some(call.id.as_str());
    message.tool_calls.iter().filter(move |call| !turn.clone().any(|message| is_result(call, message)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses `s`, `u`, `a`, `c1` (requests call 1) and `t1` (result of call 1); every message costs one token.
    fn list(words: &str) -> Messages {
        let parse = |(index, word): (usize, &str)| {
            let (kind, call) = word.split_at(1);
            let message = match kind {
                "s" => Message::system(word),
                "u" => Message::user(word),
                "a" => Message::assistant(word),
                "c" => Message::assistant(word).with_tool_calls([ToolCall::new(call, "tool", 1)]),
                _ => Message::tool(call, word),
            };
            message.with_id(index.to_string())
        };
        words.split_whitespace().enumerate().map(parse).collect()
    }

    fn join_texts<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> String {
        messages.into_iter().map(|message| message.text().into_owned()).collect::<Vec<_>>().join(" ")
    }

    fn check(words: &str, max_tokens: u64, expected: &str) {
        let trimmed = trim(&list(words), &TrimOptions { max_tokens, count: |_| 1 });
        assert_eq!(join_texts(&trimmed.retained), expected, "{words} within {max_tokens}");
        assert_eq!(trimmed.retained.len() + trimmed.removed.len(), list(words).len());
    }

    /// R-FWK-66: the latest complete turns that fit are kept.
    #[test]
    fn the_latest_turns_are_retained() {
        check("s u a u a", 5, "s u a u a");
        check("s u a u a", 4, "s u a");
        check("s u a u a", 3, "s u a");
        check("u a s u a", 3, "s u a");
        check("a u a", 9, "u a");
        check("", 9, "");
    }

    /// R-FWK-66: a tool message is kept or removed with its call, wherever the cut is.
    #[test]
    fn tool_messages_are_trimmed_with_their_call() {
        check("u c1 t1 a u a", 5, "u a");
        check("u c1 u t1 a", 4, "u a");
        check("u t9 a", 9, "u a");
        check("u c1 t1 c2 t2 a", 4, "u c2 t2 a");
        check("u c1 t1 c2 t2 a", 3, "u a");
    }

    /// R-FWK-66: system messages and the last user message stay even if they alone exceed the budget.
    #[test]
    fn system_messages_and_the_question_always_stay() {
        check("s s u a", 1, "s s u");
        check("s a a a", 3, "s a a");
        let trimmed = trim(&list("s s u a"), &TrimOptions { max_tokens: 1, count: |_| 1 });
        assert_eq!(trimmed.tokens, 3);
        assert_eq!(trimmed.removals(), RemoveMessage::new("3").into());
    }

    /// R-FWK-68, R-FWK-66: every open call is closed, after the existing results.
    #[test]
    fn open_calls_are_closed() {
        let close = |words: &str| {
            let all: Vec<_> = list(words).list.iter().cloned().collect();
            join_texts(add_missing_tool_results(&all, "stopped").iter())
        };
        assert_eq!(close("u c1 t1 a"), "u c1 t1 a");
        assert_eq!(close("u c1"), "u c1 not executed: stopped");
        assert_eq!(close("u c1 u a"), "u c1 not executed: stopped u a");
        assert_eq!(close("u c1 u t1 a"), "u c1 u t1 a");
        assert_eq!(close("c1 t1 c1 u"), "c1 t1 c1 not executed: stopped u");
        let call = |id: &str| ToolCall::new(id, "tool", 1);
        let two = Message::assistant("calls").with_tool_calls([call("1"), call("2")]);
        let half_answered = [two.into(), Message::tool("2", "two").into()];
        let closed = add_missing_tool_results(&half_answered, "stopped");
        assert_eq!(join_texts(closed.iter()), "calls two not executed: stopped");
        assert_eq!(closed[2].tool_call_id.as_deref(), Some("1"));
        assert_eq!(closed[2].status, ToolStatus::Error);
    }

    proptest! {
        /// R-FWK-66: for any list and budget, the kept messages are in order, complete, and start with the user.
        #[test]
        fn retained_messages_are_a_valid_request(
            words in prop::collection::vec(prop::sample::select(vec!["s", "u", "a", "c1", "c2", "t1", "t2"]), 0..14),
            max_tokens in 0_u64..14,
        ) {
            let all = list(&words.join(" "));
            let trimmed = trim(&all, &TrimOptions { max_tokens, count: |_| 1 });
            let rest: Vec<_> = trimmed.retained.iter().filter(|message| message.role != Role::System).collect();
            let count = |role: Role| move |message: &&Message| message.role == role;
            prop_assert_eq!(
                trimmed.retained.len() - rest.len(), all.iter().filter(count(Role::System)).count(), "systems stay"
            );
            if all.iter().any(|message| message.role == Role::User) {
                prop_assert_eq!(rest.first().map(|message| message.role), Some(Role::User));
                let min_retained = trimmed.retained.len() - rest.len() + 1;
                prop_assert!(trimmed.tokens <= max_tokens.max(min_retained as u64));
            }
            for (index, message) in rest.iter().enumerate() {
                let calls = rest[..index].iter().flat_map(|message| &message.tool_calls);
                let has_call = calls.map(|call| &call.id).any(|id| message.tool_call_id.as_ref() == Some(id));
                prop_assert!(message.role != Role::Tool || has_call);
            }
            let mut remaining = all.clone();
            remaining.reduce(trimmed.removals()).unwrap();
            prop_assert_eq!(remaining, trimmed.retained.into_iter().collect::<Messages>());
        }
    }
}
