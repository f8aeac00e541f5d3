//! Assembly of a response from its chunks.
//!
//! Tool calls arrive in three forms; each is converted to deltas, so that the concatenated deltas are the call.

use genai::chat::{StopReason as GenaiStop, ToolCall as GenaiCall, Usage as GenaiUsage};
use serde_json::Value;
use superstep_core::error::Result;
use superstep_core::message::{Message, TokenUsage, ToolCall, count_tokens};
use superstep_core::model::{ChatRequest, ChatResponse, ModelErrorKind, StopReason, ToolCallChunk};

use super::error::ErrorReporter;
use super::messages::{SIGNATURES_KEY, attach_thinking};

/// The received part of a response.
#[derive(Debug, Default)]
pub(super) struct ResponseAccumulator {
    /// Number of the next generated tool call id.
    pub(super) next: usize,
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<PartialToolCall>,
    /// Thinking blocks in the form in which Anthropic needs them back.
    pub(super) thinking_blocks: Vec<Value>,
    pub(super) stop: Option<StopReason>,
    pub(super) usage: Option<GenaiUsage>,
}

/// Form of the tool call chunks of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolCallDelta {
    /// New characters only.
    Incremental,
    /// All characters received so far.
    Cumulative,
    /// The complete call.
    Complete,
}

/// The received part of a tool call.
#[derive(Debug, Default)]
pub(super) struct PartialToolCall {
    id: String,
    name: String,
    args: String,
    signatures: Vec<String>,
}

/// Prefix of generated tool call ids.
const GENERATED_ID_PREFIX: &str = "tool_call_";

impl ResponseAccumulator {
    /// Returns an empty response to a request. Generated tool call ids do not repeat earlier ids of the conversation.
    pub(super) fn for_request(request: &ChatRequest) -> Self {
        let calls = request.messages.iter().flat_map(|message| &message.tool_calls);
        let numbers = calls.filter_map(|call| call.id.strip_prefix(GENERATED_ID_PREFIX)?.parse::<usize>().ok());
        Self { next: numbers.max().map_or(0, |last| last.saturating_add(1)), ..Self::default() }
    }

    /// Adds a tool call chunk and returns the delta.
    pub(super) fn call(&mut self, form: ToolCallDelta, call: GenaiCall) -> ToolCallChunk {
        let args = match call.fn_arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            value => value.to_string(),
        };
        let existing = self.find(form, &call.call_id, &call.fn_name);
        let index = existing.unwrap_or(self.calls.len());
        if existing.is_none() {
            let id = self.assign_id(call.call_id);
            self.calls.push(PartialToolCall { id, ..PartialToolCall::default() });
        }
        let part = &mut self.calls[index];
        let has_no_name = part.name.is_empty();
        if has_no_name {
            part.name = call.fn_name;
        }
        part.signatures.extend(call.thought_signatures.into_iter().flatten());
        let added = match form {
            ToolCallDelta::Cumulative => args.strip_prefix(part.args.as_str()).unwrap_or(&args),
            ToolCallDelta::Incremental | ToolCallDelta::Complete => args.as_str(),
        };
        part.args.push_str(added);
        ToolCallChunk {
            index,
            id: existing.is_none().then(|| part.id.clone()),
            name: (has_no_name && !part.name.is_empty()).then(|| part.name.clone()),
            args: added.to_owned(),
        }
    }

    /// Returns the index of the call that a chunk belongs to.
    fn find(&self, form: ToolCallDelta, id: &str, name: &str) -> Option<usize> {
        if form == ToolCallDelta::Complete {
            return None;
        }
        let existing = self.calls.iter().rposition(|call| call.id == id && !id.is_empty());
        if existing.is_some() || form == ToolCallDelta::Cumulative || !name.is_empty() {
            return existing;
        }
        // Only the first chunk of a call has a name. Later chunks have no id either; the library puts the index of
        // the call there.
        let number = id.strip_prefix("call_").and_then(|number| number.parse().ok());
        number.filter(|&number: &usize| number < self.calls.len()).or(self.calls.len().checked_sub(1))
    }

    /// Returns the id, or a generated one: Google's calls have no ids, and the library numbers them per event instead
    /// of per conversation.
    fn assign_id(&mut self, id: String) -> String {
        if !id.is_empty() && !id.starts_with("call#") {
            return id;
        }
        let number = self.next;
        self.next = number.saturating_add(1);
        format!("{GENERATED_ID_PREFIX}{number}")
    }

    /// Returns the complete response.
    ///
    /// # Errors
    /// Returns an error if a tool call has no name.
    pub(super) fn into_response(self, request: &ChatRequest, report: &ErrorReporter) -> Result<ChatResponse> {
        if self.calls.iter().any(|call| call.name.is_empty()) {
            return Err(
                report.error(ModelErrorKind::InvalidResponse, "the response contains a tool call without a name")
            );
        }
        let mut message =
            Message::assistant(self.text).with_tool_calls(self.calls.into_iter().map(PartialToolCall::call));
        if !self.reasoning.is_empty() {
            message = message.with_metadata("reasoning", self.reasoning);
        }
        let message = attach_thinking(message, self.thinking_blocks);
        let usage = self.usage.and_then(to_usage).unwrap_or_else(|| estimate_usage(request, &message));
        let has_calls = !message.tool_calls.is_empty();
        let response = ChatResponse::new(message, report.info.clone()).with_usage(usage);
        Ok(match self.stop {
            // Some providers report a normal end although they request tools; the presence of calls decides.
            None | Some(StopReason::End | StopReason::ToolCalls) => response,
            Some(StopReason::Sequence) if has_calls => response,
            Some(stop) => response.with_stop(stop),
        })
    }
}

impl PartialToolCall {
    fn call(self) -> ToolCall {
        let args = match self.args.trim() {
            "" => Value::Object(serde_json::Map::new()),
            text => serde_json::from_str(text).unwrap_or(Value::String(self.args)),
        };
        let mut call = ToolCall::new(self.id, self.name, args);
        if !self.signatures.is_empty() {
            call.extra.insert(SIGNATURES_KEY.to_owned(), self.signatures.into());
        }
        call
    }
}

/// Converts the stop reason.
pub(super) fn to_stop_reason(stop: GenaiStop) -> StopReason {
    match stop {
        GenaiStop::Completed(_) => StopReason::End,
        GenaiStop::MaxTokens(_) => StopReason::Length,
        GenaiStop::ToolCall(_) => StopReason::ToolCalls,
        GenaiStop::ContentFilter(_) => StopReason::ContentFilter,
        GenaiStop::StopSequence(_) => StopReason::Sequence,
        GenaiStop::Other(word) => StopReason::Other(word),
    }
}

/// Converts the usage; `None` if the provider sent no counts.
fn to_usage(usage: GenaiUsage) -> Option<TokenUsage> {
    if usage.prompt_tokens.is_none() && usage.completion_tokens.is_none() {
        return None;
    }
    let tokens = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok());
    let mut token_usage = TokenUsage::new(
        tokens(usage.prompt_tokens).unwrap_or_default(),
        tokens(usage.completion_tokens).unwrap_or_default(),
    );
    token_usage.total_tokens = token_usage.total_tokens.max(tokens(usage.total_tokens).unwrap_or_default());
    let cached = usage.prompt_tokens_details.and_then(|details| tokens(details.cached_tokens));
    let thought = usage.completion_tokens_details.and_then(|details| tokens(details.reasoning_tokens));
    for (name, count) in [("cached_tokens", cached), ("reasoning_tokens", thought)] {
        if let Some(count) = count {
            token_usage.details.insert(name.to_owned(), count.into());
        }
    }
    Some(token_usage)
}

fn estimate_usage(request: &ChatRequest, response: &Message) -> TokenUsage {
    let read = request.messages.iter().map(|message| count_tokens(message).tokens).sum();
    TokenUsage { estimated: true, ..TokenUsage::new(read, count_tokens(response).tokens) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(id: &str, name: &str, args: impl Into<Value>) -> GenaiCall {
        GenaiCall { call_id: id.into(), fn_name: name.into(), fn_arguments: args.into(), thought_signatures: None }
    }

    fn accumulate(form: ToolCallDelta, fragments: Vec<GenaiCall>) -> Vec<(String, String, Value)> {
        let (mut accumulator, mut joined) = (ResponseAccumulator::default(), Vec::<(String, String)>::new());
        for fragment in fragments {
            let chunk = accumulator.call(form, fragment);
            if chunk.index == joined.len() {
                joined.push((chunk.id.clone().unwrap(), String::new()));
            }
            joined[chunk.index].1.push_str(&chunk.args);
        }
        for (part, (id, args)) in accumulator.calls.iter().zip(&joined) {
            assert_eq!((&part.id, &part.args), (id, args), "the pieces joined are the call");
        }
        accumulator.calls.into_iter().map(PartialToolCall::call).map(|call| (call.id, call.name, call.args)).collect()
    }

    fn row(id: &str, name: &str, args: Value) -> (String, String, Value) {
        (id.to_owned(), name.to_owned(), args)
    }

    /// R-FWK-69: streamed tool calls are assembled correctly in every form.
    #[test]
    fn pieces_of_calls_are_put_together_in_every_form() {
        use serde_json::json;
        let interleaved = vec![
            fragment("a", "f", ""),
            fragment("b", "g", ""),
            fragment("call_0", "", "{\"x\":"),
            fragment("call_1", "", "{}"),
            fragment("call_0", "", "1}"),
        ];
        let expected = [row("a", "f", json!({"x": 1})), row("b", "g", json!({}))];
        assert_eq!(accumulate(ToolCallDelta::Incremental, interleaved), expected);
        let repeating_ids = vec![fragment("a", "f", "{\"x\""), fragment("a", "f", ":1}"), fragment("b", "f", "{}")];
        assert_eq!(
            accumulate(ToolCallDelta::Incremental, repeating_ids),
            [row("a", "f", json!({"x": 1})), row("b", "f", json!({}))]
        );
        let so_far = vec![fragment("a", "f", ""), fragment("a", "f", "{\"x\""), fragment("a", "f", "{\"x\":1}")];
        assert_eq!(accumulate(ToolCallDelta::Cumulative, so_far), [row("a", "f", json!({"x": 1}))]);
        let complete = vec![fragment("call#f#0", "f", json!({"x": 1})), fragment("call#f#0", "f", json!({"x": 2}))];
        let expected = [row("tool_call_0", "f", json!({"x": 1})), row("tool_call_1", "f", json!({"x": 2}))];
        assert_eq!(accumulate(ToolCallDelta::Complete, complete), expected);
    }

    /// R-FWK-69: arguments that are not JSON stay text, and missing arguments are an empty object.
    #[test]
    fn arguments_that_are_not_json_are_preserved() {
        let broken = vec![fragment("a", "f", "{\"x\": oops"), fragment("b", "g", "")];
        let expected = [row("a", "f", "{\"x\": oops".into()), row("b", "g", serde_json::json!({}))];
        assert_eq!(accumulate(ToolCallDelta::Incremental, broken), expected);
    }
}
