//! Responses that are read at once, for calls without a listener.
//!
//! Chat completions are parsed here instead of by `genai`, which trims texts and fails if the arguments of a tool
//! call are not JSON.

use genai::chat::{StopReason as GenaiStop, ToolCall as GenaiCall};
use serde_json::Value;
use superstep_core::error::{Error, Result};
use superstep_core::model::{ChatRequest, ChatResponse, ModelErrorKind, StopReason};
use tokio::time::timeout_at;

use super::accumulator::{ResponseAccumulator, ToolCallDelta, to_stop_reason};
use super::call::PreparedCall;
use super::error::ErrorReporter;
use super::messages::thinking_blocks;
use super::provider_api::ApiDialect;
use super::provider_error::ProviderError;

/// Sends a request and waits for the complete response.
///
/// # Errors
/// Returns an error if the request fails or the response has an unexpected form.
pub(super) async fn generate(call: PreparedCall<'_>) -> Result<ChatResponse> {
    let response_future = call.client.exec_chat(call.target, call.chat, Some(&call.options));
    let result = timeout_at(call.deadline, response_future).await.map_err(|_| call.report.timeout(call.total))?;
    let accumulator = match (call.dialect, result) {
        (ApiDialect::OpenAi, Ok(response)) => {
            read(&response.captured_raw_body.unwrap_or_default(), call.request, &call.report)?
        }
        (ApiDialect::OpenAi, Err(genai::Error::ChatResponseGeneration { response_body, .. })) => {
            read(&response_body, call.request, &call.report)?
        }
        (dialect, Ok(response)) => accumulate(response, dialect, call.request),
        (_, Err(error)) => return Err(to_error(error, &call.report)),
    };
    accumulator.into_response(call.request, &call.report)
}

/// Converts an error. Google reports a blocked prompt in a response without candidates.
fn to_error(error: genai::Error, report: &ErrorReporter) -> Error {
    if let genai::Error::ChatResponseGeneration { response_body, .. } = &error {
        if let Some(reason) = response_body.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            return report.blocked(reason);
        }
        if response_body.get("error").is_some() {
            return report.provider_error(&ProviderError::from_value(response_body), None);
        }
    }
    report.genai_error(error)
}

fn accumulate(response: genai::chat::ChatResponse, dialect: ApiDialect, request: &ChatRequest) -> ResponseAccumulator {
    let mut accumulator = ResponseAccumulator {
        stop: response.stop_reason.map(to_stop_reason),
        ..ResponseAccumulator::for_request(request)
    };
    accumulator.usage = Some(response.usage);
    if dialect == ApiDialect::Anthropic {
        accumulator.thinking_blocks = thinking_blocks(response.content.parts().iter().cloned());
    }
    for part in response.content {
        match part {
            genai::chat::ContentPart::Text(text) => accumulator.text.push_str(&text),
            genai::chat::ContentPart::ToolCall(call) => drop(accumulator.call(ToolCallDelta::Complete, call)),
            // Other blocks, thoughts and their signatures are not part of the text.
            _ => {}
        }
    }
    accumulator.reasoning = response.reasoning_content.unwrap_or_default();
    accumulator
}

/// Parses a chat completion.
fn read(body: &Value, request: &ChatRequest, report: &ErrorReporter) -> Result<ResponseAccumulator> {
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(report.provider_error(&ProviderError::from_value(body), None));
    }
    let Some(message) = body.pointer("/choices/0/message").filter(|message| message.is_object()) else {
        return Err(report.error(ModelErrorKind::InvalidResponse, "the response contains no message"));
    };
    let text = |key: &str| message.get(key).and_then(Value::as_str);
    let mut accumulator = ResponseAccumulator {
        reasoning: text("reasoning_content").or(text("reasoning")).unwrap_or_default().to_owned(),
        text: content_text(&message["content"]),
        stop: body.pointer("/choices/0/finish_reason").and_then(Value::as_str).map(reason),
        usage: serde_json::from_value(body["usage"].clone()).ok(),
        ..ResponseAccumulator::for_request(request)
    };
    if let Some(refusal) = text("refusal") {
        accumulator.text.push_str(refusal);
        accumulator.stop = Some(StopReason::ContentFilter);
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let text = |path: &str| call.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let call = GenaiCall {
            call_id: text("/id"),
            fn_name: text("/function/name"),
            fn_arguments: call.pointer("/function/arguments").cloned().unwrap_or_default(),
            thought_signatures: None,
        };
        accumulator.call(ToolCallDelta::Complete, call);
    }
    Ok(accumulator)
}

/// Returns a text, or the joined texts of a list of parts.
fn content_text(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

fn reason(word: &str) -> StopReason {
    to_stop_reason(GenaiStop::from(word.to_owned()))
}
