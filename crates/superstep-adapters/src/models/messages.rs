//! Conversion of messages to the types of `genai`: texts, images, tool calls and tool results.

use std::borrow::Cow;

use genai::chat::{Binary, ChatMessage, ChatRole, MessageContent, ToolCall as GenaiCall, ToolResponse};
use serde_json::{Value, json};
use superstep_core::error::Result;
use superstep_core::id::hash_id;
use superstep_core::message::{
    Content, ContentPart, Media, MediaSource, Message, Role, ToolCall, ToolStatus, add_missing_tool_results,
};

use super::provider_api::{ApiDialect, ProviderApi};
use super::request::RequestBuilder;

/// Key of the thought signatures of a tool call, which Google needs in later requests.
pub(super) const SIGNATURES_KEY: &str = "thought_signatures";

/// Metadata key of the thinking blocks before a tool call, which Anthropic needs in later requests.
const THINKING_KEY: &str = "anthropic_thoughts";

/// Maximum length of a tool call id that all providers accept; OpenAI has the lowest limit.
const MAX_ID_LENGTH: usize = 40;

/// Returns the thinking blocks of an Anthropic response in the form in which they are sent back.
pub(super) fn thinking_blocks(parts: impl IntoIterator<Item = genai::chat::ContentPart>) -> Vec<Value> {
    let (mut blocks, mut signature) = (Vec::new(), None);
    for part in parts {
        match part {
            genai::chat::ContentPart::ThoughtSignature(text) => signature = Some(text),
            genai::chat::ContentPart::ReasoningContent(text) => {
                let signed = signature.take();
                blocks.extend(signed.map(|signed| json!({"type": "thinking", "thinking": text, "signature": signed})));
            }
            genai::chat::ContentPart::Custom(block) if block.typ() == Some("redacted_thinking") => {
                blocks.push(block.data)
            }
            _ => {}
        }
    }
    blocks
}

/// Stores thinking blocks in the metadata of their message.
pub(super) fn attach_thinking(message: Message, thinking_blocks: Vec<Value>) -> Message {
    if thinking_blocks.is_empty() { message } else { message.with_metadata(THINKING_KEY, thinking_blocks) }
}

/// Converts all messages. Tool calls without a result get one, because every provider rejects open calls.
pub(super) fn messages(builder: &RequestBuilder<'_>) -> Result<Vec<ChatMessage>> {
    let mut messages: Vec<ChatMessage> = Vec::new();
    for message in add_missing_tool_results(&builder.request.messages, "the conversation continued without it").iter() {
        let (role, content) = match message.role {
            Role::System => (ChatRole::System, user_parts(builder, message)?),
            Role::User => (ChatRole::User, user_parts(builder, message)?),
            Role::Assistant => (ChatRole::Assistant, assistant_parts(builder, message)?),
            Role::Tool => (ChatRole::Tool, vec![tool_result(builder, message)?]),
            other => return Err(builder.unsupported(format!("messages with the role {other:?} are not supported"))),
        };
        if content.is_empty() {
            // Some providers reject messages without content.
            continue;
        }
        match messages.last_mut() {
            // The tool results of one turn belong in one message for providers without a tool role.
            Some(last) if last.role == ChatRole::Tool && role == ChatRole::Tool => {
                last.content.extend(MessageContent::from_parts(content));
            }
            _ => messages.push(ChatMessage::new(role, MessageContent::from_parts(content))),
        }
    }
    Ok(messages)
}

/// Converts a system or user message.
fn user_parts(builder: &RequestBuilder<'_>, message: &Message) -> Result<Vec<genai::chat::ContentPart>> {
    match &message.content {
        // Some providers reject empty texts.
        Content::Text(text) if text.is_empty() => Ok(Vec::new()),
        Content::Text(text) => Ok(vec![genai::chat::ContentPart::from_text(text)]),
        Content::Parts(parts) if message.role == Role::System => {
            let texts = parts.iter().map(|part| match part {
                ContentPart::Text { text, .. } => Ok(text.as_str()),
                _ => Err(builder.unsupported("a system message can contain only text")),
            });
            Ok(vec![genai::chat::ContentPart::from_text(texts.collect::<Result<String>>()?)])
        }
        Content::Parts(parts) => parts.iter().filter(is_not_empty).map(|part| to_genai_part(builder, part)).collect(),
    }
}

fn is_not_empty(part: &&ContentPart) -> bool {
    !matches!(part, ContentPart::Text { text, .. } if text.is_empty())
}

fn to_genai_part(builder: &RequestBuilder<'_>, part: &ContentPart) -> Result<genai::chat::ContentPart> {
    match part {
        ContentPart::Text { text, .. } => Ok(genai::chat::ContentPart::from_text(text)),
        ContentPart::Image(media) => image_part(builder, media),
        other => Err(builder.unsupported(format!("content parts of type `{}` are not supported", kind(other)))),
    }
}

fn kind(part: &ContentPart) -> &str {
    match part {
        ContentPart::Text { .. } => "text",
        ContentPart::Image(_) => "image",
        ContentPart::Audio(_) => "audio",
        ContentPart::File(_) => "file",
        ContentPart::Other(value) => value.get("type").and_then(Value::as_str).unwrap_or("unknown"),
        _ => "unknown",
    }
}

fn image_part(builder: &RequestBuilder<'_>, media: &Media) -> Result<genai::chat::ContentPart> {
    let (kind, data) = match &media.source {
        MediaSource::Base64(data) => (media.mime_type.as_deref(), data.as_str()),
        MediaSource::Url(url) => match parse_data_url(url) {
            Some((kind, data)) => (Some(kind), data),
            None => return remote_image(builder, url, media.mime_type.as_deref()),
        },
    };
    match kind {
        Some(kind) if kind.starts_with("image/") => {
            Ok(genai::chat::ContentPart::Binary(Binary::from_base64(kind, data.to_owned(), None)))
        }
        _ => {
            Err(builder.unsupported("an image has no MIME type").with_help("set its `mime_type`, such as `image/png`"))
        }
    }
}

/// Returns the MIME type and the base64 text of a data URL.
fn parse_data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

fn remote_image(builder: &RequestBuilder<'_>, url: &str, kind: Option<&str>) -> Result<genai::chat::ContentPart> {
    match builder.service {
        ProviderApi::Ollama => {
            Err(builder.unsupported("Ollama does not support image URLs").with_help("send the image as base64"))
        }
        // The library would omit the image.
        ProviderApi::Anthropic => Ok(custom(json!({"type": "image", "source": {"type": "url", "url": url}}))),
        _ => Ok(genai::chat::ContentPart::Binary(Binary::from_url(
            kind.unwrap_or_else(|| guess_mime_type(url)),
            url,
            None,
        ))),
    }
}

/// Returns the MIME type of an image by the file extension of its URL. Providers detect the type themselves but
/// require a value.
fn guess_mime_type(url: &str) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let has_extension = |extension: &str| path.ends_with(extension);
    match () {
        () if has_extension(".png") => "image/png",
        () if has_extension(".gif") => "image/gif",
        () if has_extension(".webp") => "image/webp",
        () => "image/jpeg",
    }
}

fn custom(block: Value) -> genai::chat::ContentPart {
    genai::chat::ContentPart::from_custom(block, None)
}

/// Converts an assistant message.
fn assistant_parts(builder: &RequestBuilder<'_>, message: &Message) -> Result<Vec<genai::chat::ContentPart>> {
    let mut parts = Vec::new();
    if let Content::Parts(all) = &message.content
        && let Some(other) = all.iter().find(|part| !matches!(part, ContentPart::Text { .. }))
    {
        let reason = format!("content parts of type `{}` are not supported in assistant messages", kind(other));
        return Err(builder.unsupported(reason));
    }
    if builder.service.dialect() == ApiDialect::Anthropic {
        let thinking_blocks = message.metadata.get(THINKING_KEY).and_then(Value::as_array);
        parts.extend(thinking_blocks.into_iter().flatten().cloned().map(custom));
    }
    let text = message.text();
    if !text.is_empty() {
        parts.push(genai::chat::ContentPart::from_text(text));
    }
    let signed = builder.service.dialect() == ApiDialect::Google;
    parts.extend(message.tool_calls.iter().map(|call| genai::chat::ContentPart::ToolCall(to_genai_call(call, signed))));
    Ok(parts)
}

/// Returns a tool call id that every provider accepts: the conversation may come from a provider with longer ids or
/// other characters.
fn provider_call_id(id: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match (1..=MAX_ID_LENGTH).contains(&id.len()) && id.chars().all(is_plain) {
        true => Cow::Borrowed(id),
        false => Cow::Owned(format!("call_{:032x}", hash_id(&[id.as_bytes()]))),
    }
}

fn to_genai_call(call: &ToolCall, signed: bool) -> GenaiCall {
    let signatures = call.extra.get(SIGNATURES_KEY).and_then(Value::as_array);
    let signatures = signatures.map(|all| all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect());
    GenaiCall {
        call_id: provider_call_id(&call.id).into_owned(),
        fn_name: call.name.clone(),
        // Every provider requires an object, even if the model produced none.
        fn_arguments: match &call.args {
            Value::Object(_) => call.args.clone(),
            Value::Null => json!({}),
            other => json!({ "unparsed": other }),
        },
        thought_signatures: signatures.filter(|_| signed),
    }
}

/// Converts a tool result.
fn tool_result(builder: &RequestBuilder<'_>, message: &Message) -> Result<genai::chat::ContentPart> {
    let Some(id) = &message.tool_call_id else {
        return Err(builder
            .unsupported("a tool message has no `tool_call_id`")
            .with_help("set it to the id of the tool call"));
    };
    if builder.service.dialect() == ApiDialect::Anthropic {
        let failed = message.status == ToolStatus::Error;
        let content = blocks(builder, &message.content)?;
        let mut block = json!({"type": "tool_result", "tool_use_id": provider_call_id(id), "content": content});
        if failed {
            block["is_error"] = true.into();
        }
        return Ok(custom(block));
    }
    if let Content::Parts(parts) = &message.content
        && let Some(other) = parts.iter().find(|part| !matches!(part, ContentPart::Text { .. }))
    {
        let reason = format!("content parts of type `{}` are not supported in tool results", kind(other));
        return Err(builder.unsupported(reason).with_help("return text from the tool"));
    }
    // The library takes the name from the call; the name of the message may differ.
    Ok(genai::chat::ContentPart::ToolResponse(ToolResponse::new(provider_call_id(id), message.text())))
}

/// Converts content to Anthropic's form, which may contain images.
fn blocks(builder: &RequestBuilder<'_>, content: &Content) -> Result<Value> {
    let parts = match content {
        Content::Text(text) => return Ok(text.as_str().into()),
        Content::Parts(parts) => parts,
    };
    parts
        .iter()
        .filter(is_not_empty)
        .map(|part| match to_genai_part(builder, part)? {
            genai::chat::ContentPart::Text(text) => Ok(json!({"type": "text", "text": text})),
            genai::chat::ContentPart::Custom(block) => Ok(block.data),
            genai::chat::ContentPart::Binary(Binary {
                content_type,
                source: genai::chat::BinarySource::Base64(data),
                ..
            }) => {
                Ok(json!({"type": "image", "source": {"type": "base64", "media_type": content_type, "data": &*data}}))
            }
            _ => Err(builder.unsupported("a content part of a tool result is not supported")),
        })
        .collect()
}
