//! An answer at once, for when nobody listens on the way.
//!
//! OpenAI's form is read here and not by the library, which cuts space off texts and fails where a model wrote arguments
//! that are not JSON.

use genai::chat::{ChatResponse, ContentPart, StopReason as TheirStop, ToolCall as TheirCall};
use serde_json::Value;
use superstep_core::error::{Error, Result};
use superstep_core::model::{Answer, Request, StopReason, Trouble};
use tokio::time::timeout_at;

use super::call::Call;
use super::gathered::{Form, Gathered, stopped};
use super::parts::thoughts;
use super::said::Said;
use super::service::Dialect;
use super::trouble::Report;

/// Asks and waits for the whole answer.
///
/// # Errors
/// When something goes wrong on the way, or the answer has not the form it should.
pub(super) async fn answer(call: Call<'_>) -> Result<Answer> {
    let asked = call.client.exec_chat(call.target, call.chat, Some(&call.options));
    let answered = timeout_at(call.deadline, asked).await.map_err(|_| call.report.too_slow(call.total))?;
    let gathered = match (call.dialect, answered) {
        (Dialect::OpenAi, Ok(response)) => {
            read(&response.captured_raw_body.unwrap_or_default(), call.request, &call.report)?
        }
        (Dialect::OpenAi, Err(genai::Error::ChatResponseGeneration { response_body, .. })) => {
            read(&response_body, call.request, &call.report)?
        }
        (dialect, Ok(response)) => gather(response, dialect, call.request),
        (_, Err(error)) => return Err(blame(error, &call.report)),
    };
    gathered.answer(call.request, &call.report)
}

/// Google blocks what was asked with an answer that holds no answer.
fn blame(error: genai::Error, report: &Report) -> Error {
    if let genai::Error::ChatResponseGeneration { response_body, .. } = &error {
        if let Some(reason) = response_body.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            return report.blocked(reason);
        }
        if response_body.get("error").is_some() {
            return report.said(&Said::of(response_body), None);
        }
    }
    report.failed(error)
}

fn gather(response: ChatResponse, dialect: Dialect, request: &Request) -> Gathered {
    let mut gathered = Gathered { stop: response.stop_reason.map(stopped), ..Gathered::to(request) };
    gathered.usage = Some(response.usage);
    if dialect == Dialect::Anthropic {
        gathered.thoughts = thoughts(response.content.parts().iter().cloned());
    }
    for part in response.content {
        match part {
            ContentPart::Text(text) => gathered.text.push_str(&text),
            ContentPart::ToolCall(call) => drop(gathered.call(Form::Whole, call)),
            // Blocks of other kinds, thoughts and their signatures are not part of what was said.
            _ => {}
        }
    }
    gathered.reasoning = response.reasoning_content.unwrap_or_default();
    gathered
}

/// Reads a chat completion.
fn read(body: &Value, request: &Request, report: &Report) -> Result<Gathered> {
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(report.said(&Said::of(body), None));
    }
    let Some(message) = body.pointer("/choices/0/message").filter(|message| message.is_object()) else {
        return Err(report.tell(Trouble::BadAnswer, "the answer holds no message"));
    };
    let text = |key: &str| message.get(key).and_then(Value::as_str);
    let mut gathered = Gathered {
        reasoning: text("reasoning_content").or(text("reasoning")).unwrap_or_default().to_owned(),
        text: said(&message["content"]),
        stop: body.pointer("/choices/0/finish_reason").and_then(Value::as_str).map(reason),
        usage: serde_json::from_value(body["usage"].clone()).ok(),
        ..Gathered::to(request)
    };
    if let Some(refusal) = text("refusal") {
        gathered.text.push_str(refusal);
        gathered.stop = Some(StopReason::Refused);
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let text = |path: &str| call.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let call = TheirCall {
            call_id: text("/id"),
            fn_name: text("/function/name"),
            fn_arguments: call.pointer("/function/arguments").cloned().unwrap_or_default(),
            thought_signatures: None,
        };
        gathered.call(Form::Whole, call);
    }
    Ok(gathered)
}

/// A text, or the texts of a list of parts.
fn said(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

fn reason(word: &str) -> StopReason {
    stopped(TheirStop::from(word.to_owned()))
}
