//! What was said so far, as the library takes it: texts, pictures, calls of tools and what came of them.

use std::borrow::Cow;

use genai::chat::{Binary, ChatMessage, ChatRole, ContentPart, MessageContent, ToolCall as TheirCall, ToolResponse};
use serde_json::{Value, json};
use superstep_core::error::Result;
use superstep_core::id::derive;
use superstep_core::message::{
    Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolStatus, close_unanswered,
};

use super::ask::Ask;
use super::service::{Dialect, Service};

/// Where the signatures of a call's thoughts are kept, which Google wants to be told again.
pub(super) const SIGNATURES: &str = "thought_signatures";

/// Where the thoughts before a call are kept, which Anthropic wants to be told again.
const THOUGHTS: &str = "anthropic_thoughts";

/// The longest id of a call that all take: OpenAI's limit is the lowest.
const LONGEST_ID: usize = 40;

/// What an answer of Anthropic holds before its text, in the form in which it goes back: a block for each thought.
pub(super) fn thoughts(parts: impl IntoIterator<Item = ContentPart>) -> Vec<Value> {
    let (mut blocks, mut signature) = (Vec::new(), None);
    for part in parts {
        match part {
            ContentPart::ThoughtSignature(text) => signature = Some(text),
            ContentPart::ReasoningContent(text) => {
                let signed = signature.take();
                blocks.extend(signed.map(|signed| json!({"type": "thinking", "thinking": text, "signature": signed})));
            }
            ContentPart::Custom(block) if block.typ() == Some("redacted_thinking") => blocks.push(block.data),
            _ => {}
        }
    }
    blocks
}

/// Keeps thoughts with the message that they led to.
pub(super) fn keep_thoughts(message: Message, thoughts: Vec<Value>) -> Message {
    if thoughts.is_empty() { message } else { message.with_metadata(THOUGHTS, thoughts) }
}

/// All messages, with open calls closed, which every provider refuses.
pub(super) fn messages(ask: &Ask<'_>) -> Result<Vec<ChatMessage>> {
    let mut messages: Vec<ChatMessage> = Vec::new();
    for message in close_unanswered(&ask.request.messages, "the conversation went on without it").iter() {
        let (role, content) = match message.role {
            Role::System => (ChatRole::System, said(ask, message)?),
            Role::User => (ChatRole::User, said(ask, message)?),
            Role::Assistant => (ChatRole::Assistant, answered(ask, message)?),
            Role::Tool => (ChatRole::Tool, vec![tool_result(ask, message)?]),
            other => return Err(ask.refuse(format!("a message of the role {other:?} cannot be sent"))),
        };
        if content.is_empty() {
            // Nothing was said, and a message of nothing is refused by some.
            continue;
        }
        match messages.last_mut() {
            // The results of one turn belong into one message, for those that have no role for them.
            Some(last) if last.role == ChatRole::Tool && role == ChatRole::Tool => {
                last.content.extend(MessageContent::from_parts(content));
            }
            _ => messages.push(ChatMessage::new(role, MessageContent::from_parts(content))),
        }
    }
    Ok(messages)
}

/// What the application or the person says.
fn said(ask: &Ask<'_>, message: &Message) -> Result<Vec<ContentPart>> {
    match &message.content {
        // A text of nothing is refused by some.
        Content::Text(text) if text.is_empty() => Ok(Vec::new()),
        Content::Text(text) => Ok(vec![ContentPart::from_text(text)]),
        Content::Parts(parts) if message.role == Role::System => {
            let texts = parts.iter().map(|part| match part {
                Part::Text { text, .. } => Ok(text.as_str()),
                _ => Err(ask.refuse("a system message can hold texts only")),
            });
            Ok(vec![ContentPart::from_text(texts.collect::<Result<String>>()?)])
        }
        Content::Parts(parts) => parts.iter().filter(says_something).map(|part| part_of(ask, part)).collect(),
    }
}

fn says_something(part: &&Part) -> bool {
    !matches!(part, Part::Text { text, .. } if text.is_empty())
}

fn part_of(ask: &Ask<'_>, part: &Part) -> Result<ContentPart> {
    match part {
        Part::Text { text, .. } => Ok(ContentPart::from_text(text)),
        Part::Image(media) => picture(ask, media),
        other => Err(ask.refuse(format!("a part of the kind `{}` cannot be sent", kind(other)))),
    }
}

fn kind(part: &Part) -> &str {
    match part {
        Part::Text { .. } => "text",
        Part::Image(_) => "image",
        Part::Audio(_) => "audio",
        Part::File(_) => "file",
        Part::Other(value) => value.get("type").and_then(Value::as_str).unwrap_or("unknown"),
        _ => "unknown",
    }
}

fn picture(ask: &Ask<'_>, media: &Media) -> Result<ContentPart> {
    let (kind, data) = match &media.source {
        MediaSource::Base64(data) => (media.mime_type.as_deref(), data.as_str()),
        MediaSource::Url(url) => match inside(url) {
            Some((kind, data)) => (Some(kind), data),
            None => return picture_elsewhere(ask, url, media.mime_type.as_deref()),
        },
    };
    match kind {
        Some(kind) if kind.starts_with("image/") => {
            Ok(ContentPart::Binary(Binary::from_base64(kind, data.to_owned(), None)))
        }
        _ => Err(ask.refuse("a picture does not say its kind").help("set its `mime_type`, such as `image/png`")),
    }
}

/// The kind and the base64 text of an address that holds all of it.
fn inside(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

fn picture_elsewhere(ask: &Ask<'_>, url: &str, kind: Option<&str>) -> Result<ContentPart> {
    match ask.service {
        Service::Ollama => Err(ask.refuse("Ollama does not fetch pictures").help("send the picture itself, in base64")),
        // The library would leave the picture out.
        Service::Anthropic => Ok(custom(json!({"type": "image", "source": {"type": "url", "url": url}}))),
        _ => Ok(ContentPart::Binary(Binary::from_url(kind.unwrap_or_else(|| guess(url)), url, None))),
    }
}

/// What kind a picture is, by the end of its address; providers look for themselves, but want to be told something.
fn guess(url: &str) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let ends = |end: &str| path.ends_with(end);
    match () {
        () if ends(".png") => "image/png",
        () if ends(".gif") => "image/gif",
        () if ends(".webp") => "image/webp",
        () => "image/jpeg",
    }
}

fn custom(block: Value) -> ContentPart {
    ContentPart::from_custom(block, None)
}

/// What the model said before.
fn answered(ask: &Ask<'_>, message: &Message) -> Result<Vec<ContentPart>> {
    let mut parts = Vec::new();
    if let Content::Parts(all) = &message.content
        && let Some(other) = all.iter().find(|part| !matches!(part, Part::Text { .. }))
    {
        let fact = format!("a part of the kind `{}` in an answer cannot be sent again", kind(other));
        return Err(ask.refuse(fact));
    }
    if ask.service.dialect() == Dialect::Anthropic {
        let thoughts = message.metadata.get(THOUGHTS).and_then(Value::as_array);
        parts.extend(thoughts.into_iter().flatten().cloned().map(custom));
    }
    let text = message.text();
    if !text.is_empty() {
        parts.push(ContentPart::from_text(text));
    }
    let signed = ask.service.dialect() == Dialect::Google;
    parts.extend(message.tool_calls.iter().map(|call| ContentPart::ToolCall(call_of(call, signed))));
    Ok(parts)
}

/// The id of a call as every provider takes it: a conversation may have begun with another one, whose ids are longer or
/// have other letters.
fn wire_id(id: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(is_plain) {
        true => Cow::Borrowed(id),
        false => Cow::Owned(format!("call_{:032x}", derive(&[id.as_bytes()]))),
    }
}

fn call_of(call: &ToolCall, signed: bool) -> TheirCall {
    let signatures = call.extra.get(SIGNATURES).and_then(Value::as_array);
    let signatures = signatures.map(|all| all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect());
    TheirCall {
        call_id: wire_id(&call.id).into_owned(),
        fn_name: call.name.clone(),
        // Every provider wants an object back, also where its model wrote none.
        fn_arguments: match &call.args {
            Value::Object(_) => call.args.clone(),
            Value::Null => json!({}),
            other => json!({ "unparsed": other }),
        },
        thought_signatures: signatures.filter(|_| signed),
    }
}

/// What came of a call.
fn tool_result(ask: &Ask<'_>, message: &Message) -> Result<ContentPart> {
    let Some(id) = &message.tool_call_id else {
        return Err(ask.refuse("a tool message does not say which call it answers").help("set its `tool_call_id`"));
    };
    if ask.service.dialect() == Dialect::Anthropic {
        let failed = message.status == ToolStatus::Error;
        let content = blocks(ask, &message.content)?;
        let mut block = json!({"type": "tool_result", "tool_use_id": wire_id(id), "content": content});
        if failed {
            block["is_error"] = true.into();
        }
        return Ok(custom(block));
    }
    if let Content::Parts(parts) = &message.content
        && let Some(other) = parts.iter().find(|part| !matches!(part, Part::Text { .. }))
    {
        let fact = format!("a result of a tool with a part of the kind `{}` cannot be sent", kind(other));
        return Err(ask.refuse(fact).help("let the tool give a text"));
    }
    // The name is that of the call, which the library looks up; the speaker of the message may be called otherwise.
    Ok(ContentPart::ToolResponse(ToolResponse::new(wire_id(id), message.text())))
}

/// A content in Anthropic's form, which may hold pictures.
fn blocks(ask: &Ask<'_>, content: &Content) -> Result<Value> {
    let parts = match content {
        Content::Text(text) => return Ok(text.as_str().into()),
        Content::Parts(parts) => parts,
    };
    parts
        .iter()
        .filter(says_something)
        .map(|part| match part_of(ask, part)? {
            ContentPart::Text(text) => Ok(json!({"type": "text", "text": text})),
            ContentPart::Custom(block) => Ok(block.data),
            ContentPart::Binary(Binary { content_type, source: genai::chat::BinarySource::Base64(data), .. }) => {
                Ok(json!({"type": "image", "source": {"type": "base64", "media_type": content_type, "data": &*data}}))
            }
            _ => Err(ask.refuse("a part of a tool's result cannot be sent")),
        })
        .collect()
}
