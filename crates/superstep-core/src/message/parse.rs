//! Parses a message or a removal from JSON, in any of the supported forms.
//!
//! Supported are `{role, content}`, the class name form `{type: "HumanMessage", content}`, LangChain's
//! `{type: "human", content}` and its constructor form (parsed as plain data, nothing is constructed), a text and a
//! `[role, text]` pair. A key without a field is kept; an unknown role is rejected. Serialization is in `serialize`.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::{Map, Value};

use super::content::kind;
use super::{Content, Message, MessageId, MessageUpdate, RemoveMessage, Role, TokenUsage, ToolCall, ToolStatus};
use crate::validation_error::ValidationError;

type Object = Map<String, Value>;

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl TryFrom<Value> for Message {
    type Error = ValidationError;

    /// Parses a message from any of the supported forms.
    ///
    /// # Errors
    /// Returns an error if the value has none of the forms; the error points at the invalid part.
    fn try_from(value: Value) -> Result<Self, ValidationError> {
        match MessageUpdate::try_from(value)? {
            MessageUpdate::Put(message) => Ok(message),
            _ => Err(ValidationError::new("a removal is not a message")
                .with_help("use removals only in an update of a message list")),
        }
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_id(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl TryFrom<Value> for MessageUpdate {
    type Error = ValidationError;

    /// Parses one element of an update from any of the supported forms.
    ///
    /// # Errors
    /// Returns an error if the value is neither a message nor a removal; the error points at the invalid part.
    fn try_from(value: Value) -> Result<Self, ValidationError> {
        match value {
            Value::String(text) => Ok(Message::user(text).into()),
            Value::Array(pair) => read_pair(pair).map(Self::Put),
            Value::Object(object) if object.contains_key("lc") => {
                read_object(unwrap_constructor(object)?).map_err(under("kwargs"))
            }
            Value::Object(object) => read_object(object),
            other => Err(ValidationError::new(format!(
                "a message must be an object, a string or a pair, not {}",
                kind(&other)
            ))),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum MessageKind {
    Role(Role),
    Removal,
}

impl MessageKind {
    fn named(name: &str) -> Option<Self> {
        // LangChain streams name even a complete message a chunk.
        Some(match name.strip_suffix("Chunk").unwrap_or(name) {
            "user" | "human" | "HumanMessage" => Self::Role(Role::User),
            "assistant" | "ai" | "AIMessage" => Self::Role(Role::Assistant),
            "system" | "developer" | "SystemMessage" => Self::Role(Role::System),
            "tool" | "ToolMessage" => Self::Role(Role::Tool),
            "remove" | "RemoveMessage" => Self::Removal,
            _ => return None,
        })
    }

    fn from_name(name: &str) -> Result<Self, ValidationError> {
        Self::named(name).ok_or_else(|| {
            ValidationError::new(format!(
                "unknown message role `{name}`; known: `user` (or `human`), `assistant` (or `ai`), `system` \
                     (or `developer`), `tool`"
            ))
        })
    }
}

fn read_pair(pair: Vec<Value>) -> Result<Message, ValidationError> {
    let pair: Result<[Value; 2], _> = pair.try_into();
    let Ok([Value::String(role), content]) = pair else {
        return Err(ValidationError::new("a message in list form must be a `[role, content]` pair"));
    };
    match MessageKind::from_name(&role).map_err(|error| error.with_pointer("/0"))? {
        MessageKind::Role(role) => Ok(Message::new(role, Content::try_from(content).map_err(under("1"))?)),
        MessageKind::Removal => Err(ValidationError::new("a removal must be an object with `id`, not a pair")),
    }
}

fn read_object(mut object: Object) -> Result<MessageUpdate, ValidationError> {
    match take_kind(&mut object)? {
        MessageKind::Role(role) => read_message(role, object).map(MessageUpdate::Put),
        MessageKind::Removal => read_removal(object).map(|id| RemoveMessage(id).into()),
    }
}

/// Converts `{lc, type: "constructor", id: [.., class], kwargs}` into `{type: class, ..kwargs}`.
fn unwrap_constructor(mut object: Object) -> Result<Object, ValidationError> {
    let class = object.get("id").and_then(Value::as_array).and_then(|path| path.last()).cloned();
    match (class, object.remove("kwargs")) {
        (Some(class @ Value::String(_)), Some(Value::Object(mut kwargs))) => {
            kwargs.insert("type".into(), class);
            Ok(kwargs)
        }
        _ => Err(ValidationError::new("a value with `lc` requires `kwargs` and an `id` that ends with the class")),
    }
}

fn take_kind(object: &mut Object) -> Result<MessageKind, ValidationError> {
    let role = optional_text(object, "role")?;
    let class = optional_text(object, "type")?;
    let kind = match (role, class) {
        (None, None) => return Err(ValidationError::new("a message requires `role` or `type`")),
        (None, Some(class)) => MessageKind::from_name(class).map_err(|error| error.with_pointer("/type"))?,
        (Some(role), class) => {
            let kind = MessageKind::from_name(role).map_err(|error| error.with_pointer("/role"))?;
            match class.and_then(|class| MessageKind::named(class).map(|other| (class, other))) {
                Some((class, other)) if other != kind => {
                    return Err(ValidationError::new(format!("role `{role}` and type `{class}` do not match"))
                        .with_pointer("/type"));
                }
                Some(_) => {}
                // The type is not a role, e.g. `message`, and is kept as an extra key.
                None => {
                    object.remove("role");
                    return Ok(kind);
                }
            }
            kind
        }
    };
    object.remove("role");
    object.remove("type");
    Ok(kind)
}

fn optional_text<'a>(object: &'a Object, key: &str) -> Result<Option<&'a str>, ValidationError> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(name)),
        Some(other) => Err(ValidationError::new(format!("`{key}` must be a string, not {}", kind(other)))
            .with_pointer(format!("/{key}"))),
    }
}

fn read_removal(mut object: Object) -> Result<MessageId, ValidationError> {
    take_id(&mut object)?.ok_or_else(|| ValidationError::new("a removal requires `id`"))
}

fn read_message(role: Role, mut object: Object) -> Result<Message, ValidationError> {
    let mut message = Message::new(role, take_content(role, &mut object)?);
    message.id = take_id(&mut object)?;
    message.name = take(&mut object, "name", read_text)?;
    message.tool_calls = take(&mut object, "tool_calls", read_tool_calls)?.unwrap_or_default();
    message.tool_call_id = take(&mut object, "tool_call_id", read_label)?;
    if role == Role::Tool {
        message.status = take(&mut object, "status", read_status)?.unwrap_or_default();
    }
    message.time = take(&mut object, "time", read_time)?;
    message.usage = take(&mut object, "usage", read_usage)?;
    message.metadata = take(&mut object, "metadata", read_map)?.unwrap_or_default();
    // LangChain's names for the same two; if both are present, LangChain's stays an extra key, so neither is lost.
    if message.usage.is_none() {
        message.usage = take(&mut object, "usage_metadata", read_usage)?;
    }
    if message.metadata.is_empty() {
        message.metadata = take(&mut object, "response_metadata", read_map)?.unwrap_or_default();
    }
    // LangChain writes these on every message, most often empty.
    for key in ["additional_kwargs", "response_metadata"] {
        if object.get(key).and_then(Value::as_object).is_some_and(Map::is_empty) {
            object.remove(key);
        }
    }
    message.extra = object.into_iter().collect();
    Ok(message)
}

fn take_content(role: Role, object: &mut Object) -> Result<Content, ValidationError> {
    match object.remove("content") {
        Some(content) => Content::try_from(content).map_err(under("content")),
        None if role == Role::Assistant => Ok(Content::Text(String::new())),
        None => Err(ValidationError::new("a message requires `content`")),
    }
}

fn take_id(object: &mut Object) -> Result<Option<MessageId>, ValidationError> {
    take(object, "id", read_id)
}

/// Removes a key and parses its value; null counts as absent.
fn take<T>(
    object: &mut Object,
    key: &str,
    read: fn(Value) -> Result<T, ValidationError>,
) -> Result<Option<T>, ValidationError> {
    match object.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).map_err(under(key)),
    }
}

/// Prepends a segment to the pointer of an error.
pub(super) fn under(segment: impl std::fmt::Display) -> impl FnOnce(ValidationError) -> ValidationError {
    move |error| {
        let pointer = format!("/{segment}{}", error.pointer);
        error.with_pointer(pointer)
    }
}

fn read_id(value: Value) -> Result<MessageId, ValidationError> {
    let id = read_label(value)?;
    // An empty id would make all such messages one.
    if id.is_empty() {
        return Err(ValidationError::new("the message id is empty").with_help("omit `id` to generate one"));
    }
    Ok(id.into())
}

/// Parses a text or a number as text; other languages often use numbers as ids.
fn read_label(value: Value) -> Result<String, ValidationError> {
    match value {
        Value::Number(number) => Ok(number.to_string()),
        other => read_text(other),
    }
}

fn read_text(value: Value) -> Result<String, ValidationError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(ValidationError::new(format!("expected a string, found {}", kind(&other)))),
    }
}

fn read_map<T: FromIterator<(String, Value)>>(value: Value) -> Result<T, ValidationError> {
    match value {
        Value::Object(object) => Ok(object.into_iter().collect()),
        other => Err(ValidationError::new(format!("expected an object, found {}", kind(&other)))),
    }
}

fn read_status(value: Value) -> Result<ToolStatus, ValidationError> {
    match read_text(value)?.as_str() {
        "success" => Ok(ToolStatus::Success),
        "error" => Ok(ToolStatus::Error),
        other => Err(ValidationError::new(format!("unknown tool status `{other}`; known: `success`, `error`"))),
    }
}

fn read_time(value: Value) -> Result<jiff::Timestamp, ValidationError> {
    let text = read_text(value)?;
    text.parse().map_err(|error| {
        ValidationError::new(format!("`{text}` is not a valid time: {error}"))
            .with_help("use RFC 3339, for example `2026-01-11T14:00:00Z`")
    })
}

fn read_usage(value: Value) -> Result<TokenUsage, ValidationError> {
    let has_total = value.get("total_tokens").is_some();
    let mut usage: TokenUsage =
        serde_json::from_value(value).map_err(|error| ValidationError::new(format!("invalid usage: {error}")))?;
    if !has_total {
        usage.total_tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    }
    Ok(usage)
}

fn read_tool_calls(value: Value) -> Result<Vec<ToolCall>, ValidationError> {
    match value {
        Value::Array(calls) => {
            calls.into_iter().enumerate().map(|(i, call)| read_tool_call(call).map_err(under(i))).collect()
        }
        other => Err(ValidationError::new(format!("expected a list of tool calls, found {}", kind(&other)))),
    }
}

/// Parses `{id, name, args}` and OpenAI's `{id, function: {name, arguments}}`.
fn read_tool_call(value: Value) -> Result<ToolCall, ValidationError> {
    let mut call: Object = read_map(value)?;
    if matches!(call.get("type").and_then(Value::as_str), Some("tool_call" | "function")) {
        call.remove("type");
    }
    let id = take(&mut call, "id", read_label)?;
    let (name, args) = match call.get_mut("function").and_then(Value::as_object_mut) {
        Some(function) if function.contains_key("name") => {
            let name_and_args = (take(function, "name", read_text)?, function.remove("arguments").map(read_arguments));
            if function.is_empty() {
                call.remove("function");
            }
            name_and_args
        }
        _ => (take(&mut call, "name", read_text)?, call.remove("args")),
    };
    let name = name.ok_or_else(|| ValidationError::new("a tool call requires `name`"))?;
    let id = id.ok_or_else(|| ValidationError::new(format!("the call of tool `{name}` requires `id`")))?;
    let args = args.unwrap_or_else(|| Value::Object(Map::new()));
    Ok(ToolCall { id, name, args, extra: call.into_iter().collect() })
}

/// Parses arguments from JSON text. Invalid JSON stays text; the tool rejects it with an error that the model sees.
fn read_arguments(value: Value) -> Value {
    match value {
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    }
}
