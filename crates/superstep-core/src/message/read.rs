//! Reads a message or a removal from JSON, in whichever of the known forms it comes.
//!
//! Known are `{role, content}`, the seed's `{type: "HumanMessage", content}`, LangChain's `{type: "human", content}`
//! and its constructor form (read as plain data, nothing is constructed), a text and a `[role, text]` pair.
//! A key without a field is kept; a role that is not known is refused. How it is written again is in `write`.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::{Map, Value};

use super::content::kind;
use super::{Content, Message, MessageEdit, MessageId, RemoveMessage, Role, ToolCall, ToolStatus, Usage};
use crate::fault::Fault;

type Object = Map<String, Value>;

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl TryFrom<Value> for Message {
    type Error = Fault;

    /// Reads a message from any of the known forms.
    ///
    /// # Errors
    /// Fails if the value is in none of them; the fault points at the part that is wrong.
    fn try_from(value: Value) -> Result<Self, Fault> {
        match MessageEdit::try_from(value)? {
            MessageEdit::Put(message) => Ok(message),
            _ => Err(Fault::new("a removal is not a message").help("removals belong in an update of a message list")),
        }
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_id(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl TryFrom<Value> for MessageEdit {
    type Error = Fault;

    /// Reads one element of an update from any of the known forms.
    ///
    /// # Errors
    /// Fails if the value is neither a message nor a removal; the fault points at the part that is wrong.
    fn try_from(value: Value) -> Result<Self, Fault> {
        match value {
            Value::String(text) => Ok(Message::user(text).into()),
            Value::Array(pair) => read_pair(pair).map(Self::Put),
            Value::Object(object) if object.contains_key("lc") => {
                read_object(unwrap_constructor(object)?).map_err(under("kwargs"))
            }
            Value::Object(object) => read_object(object),
            other => Err(Fault::new(format!("a message is an object, a text or a pair, not {}", kind(&other)))),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Role(Role),
    Removal,
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        // Streams of LangChain call a message that is complete a chunk all the same.
        Some(match name.strip_suffix("Chunk").unwrap_or(name) {
            "user" | "human" | "HumanMessage" => Self::Role(Role::User),
            "assistant" | "ai" | "AIMessage" => Self::Role(Role::Assistant),
            "system" | "developer" | "SystemMessage" => Self::Role(Role::System),
            "tool" | "ToolMessage" => Self::Role(Role::Tool),
            "remove" | "RemoveMessage" => Self::Removal,
            _ => return None,
        })
    }

    fn known(name: &str) -> Result<Self, Fault> {
        Self::named(name).ok_or_else(|| {
            Fault::new(format!(
                "unknown message role `{name}`: known are `user` (or `human`), `assistant` (or `ai`), \
                 `system` (or `developer`), `tool`"
            ))
        })
    }
}

fn read_pair(pair: Vec<Value>) -> Result<Message, Fault> {
    let pair: Result<[Value; 2], _> = pair.try_into();
    let Ok([Value::String(role), content]) = pair else {
        return Err(Fault::new("a message in a list is a `[role, content]` pair"));
    };
    match Kind::known(&role).map_err(|fault| fault.at("/0"))? {
        Kind::Role(role) => Ok(Message::new(role, Content::try_from(content).map_err(under("1"))?)),
        Kind::Removal => Err(Fault::new("a removal is an object with `id`, not a pair")),
    }
}

fn read_object(mut object: Object) -> Result<MessageEdit, Fault> {
    match take_kind(&mut object)? {
        Kind::Role(role) => read_message(role, object).map(MessageEdit::Put),
        Kind::Removal => read_removal(object).map(|id| RemoveMessage(id).into()),
    }
}

/// Turns `{lc, type: "constructor", id: [.., class], kwargs}` into `{type: class, ..kwargs}`.
fn unwrap_constructor(mut object: Object) -> Result<Object, Fault> {
    let class = object.get("id").and_then(Value::as_array).and_then(|path| path.last()).cloned();
    match (class, object.remove("kwargs")) {
        (Some(class @ Value::String(_)), Some(Value::Object(mut kwargs))) => {
            kwargs.insert("type".into(), class);
            Ok(kwargs)
        }
        _ => Err(Fault::new("a value with `lc` needs `id` with the class at its end, and `kwargs`")),
    }
}

fn take_kind(object: &mut Object) -> Result<Kind, Fault> {
    let role = named(object, "role")?;
    let class = named(object, "type")?;
    let found = match (role, class) {
        (None, None) => return Err(Fault::new("a message needs `role` or `type`")),
        (None, Some(class)) => Kind::known(class).map_err(|fault| fault.at("/type"))?,
        (Some(role), class) => {
            let found = Kind::known(role).map_err(|fault| fault.at("/role"))?;
            match class.and_then(|class| Kind::named(class).map(|other| (class, other))) {
                Some((class, other)) if other != found => {
                    return Err(Fault::new(format!("role `{role}` and type `{class}` disagree")).at("/type"));
                }
                Some(_) => {}
                // The type says something else, e.g. `message`, and is kept.
                None => {
                    object.remove("role");
                    return Ok(found);
                }
            }
            found
        }
    };
    object.remove("role");
    object.remove("type");
    Ok(found)
}

fn named<'a>(object: &'a Object, key: &str) -> Result<Option<&'a str>, Fault> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(name)),
        Some(other) => Err(Fault::new(format!("`{key}` is {}, not a text", kind(other))).at(format!("/{key}"))),
    }
}

fn read_removal(mut object: Object) -> Result<MessageId, Fault> {
    take_id(&mut object)?.ok_or_else(|| Fault::new("a removal needs `id`"))
}

fn read_message(role: Role, mut object: Object) -> Result<Message, Fault> {
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
    // LangChain's names for the same two; with both present neither is lost, LangChain's stays an extra key.
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

fn take_content(role: Role, object: &mut Object) -> Result<Content, Fault> {
    match object.remove("content") {
        Some(content) => Content::try_from(content).map_err(under("content")),
        None if role == Role::Assistant => Ok(Content::Text(String::new())),
        None => Err(Fault::new("a message needs `content`")),
    }
}

fn take_id(object: &mut Object) -> Result<Option<MessageId>, Fault> {
    take(object, "id", read_id)
}

/// Takes a key and reads its value; null counts as absent.
fn take<T>(object: &mut Object, key: &str, read: fn(Value) -> Result<T, Fault>) -> Result<Option<T>, Fault> {
    match object.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).map_err(under(key)),
    }
}

/// Puts a segment before the pointer of a fault.
pub(super) fn under(segment: impl std::fmt::Display) -> impl FnOnce(Fault) -> Fault {
    move |fault| {
        let pointer = format!("/{segment}{}", fault.pointer);
        fault.at(pointer)
    }
}

fn read_id(value: Value) -> Result<MessageId, Fault> {
    let id = read_label(value)?;
    // Taken as an id it would make all such messages one.
    if id.is_empty() {
        return Err(Fault::new("the id of a message is empty").help("leave `id` out to get a new one"));
    }
    Ok(id.into())
}

/// Reads a text or a number, which other languages like to use as ids, as text.
fn read_label(value: Value) -> Result<String, Fault> {
    match value {
        Value::Number(number) => Ok(number.to_string()),
        other => read_text(other),
    }
}

fn read_text(value: Value) -> Result<String, Fault> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(Fault::new(format!("expected a text, found {}", kind(&other)))),
    }
}

fn read_map<T: FromIterator<(String, Value)>>(value: Value) -> Result<T, Fault> {
    match value {
        Value::Object(object) => Ok(object.into_iter().collect()),
        other => Err(Fault::new(format!("expected an object, found {}", kind(&other)))),
    }
}

fn read_status(value: Value) -> Result<ToolStatus, Fault> {
    match read_text(value)?.as_str() {
        "success" => Ok(ToolStatus::Success),
        "error" => Ok(ToolStatus::Error),
        other => Err(Fault::new(format!("unknown tool status `{other}`: known are `success`, `error`"))),
    }
}

fn read_time(value: Value) -> Result<jiff::Timestamp, Fault> {
    let text = read_text(value)?;
    text.parse().map_err(|error| {
        Fault::new(format!("`{text}` is not a time: {error}")).help("write it as in `2026-01-11T14:00:00Z`")
    })
}

fn read_usage(value: Value) -> Result<Usage, Fault> {
    let has_total = value.get("total_tokens").is_some();
    let mut usage: Usage =
        serde_json::from_value(value).map_err(|error| Fault::new(format!("usage does not read: {error}")))?;
    if !has_total {
        usage.total_tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    }
    Ok(usage)
}

fn read_tool_calls(value: Value) -> Result<Vec<ToolCall>, Fault> {
    match value {
        Value::Array(calls) => {
            calls.into_iter().enumerate().map(|(i, call)| read_tool_call(call).map_err(under(i))).collect()
        }
        other => Err(Fault::new(format!("expected a list of tool calls, found {}", kind(&other)))),
    }
}

/// Reads `{id, name, args}` and OpenAI's `{id, function: {name, arguments}}`.
fn read_tool_call(value: Value) -> Result<ToolCall, Fault> {
    let mut call: Object = read_map(value)?;
    if matches!(call.get("type").and_then(Value::as_str), Some("tool_call" | "function")) {
        call.remove("type");
    }
    let id = take(&mut call, "id", read_label)?;
    let (name, args) = match call.get_mut("function").and_then(Value::as_object_mut) {
        Some(function) if function.contains_key("name") => {
            let read = (take(function, "name", read_text)?, function.remove("arguments").map(read_arguments));
            if function.is_empty() {
                call.remove("function");
            }
            read
        }
        _ => (take(&mut call, "name", read_text)?, call.remove("args")),
    };
    let name = name.ok_or_else(|| Fault::new("a tool call needs `name`"))?;
    let id = id.ok_or_else(|| Fault::new(format!("call of tool `{name}` needs `id`")))?;
    let args = args.unwrap_or_else(|| Value::Object(Map::new()));
    Ok(ToolCall { id, name, args, extra: call.into_iter().collect() })
}

/// Reads arguments that are JSON in a text. What does not parse stays text; the tool refuses it where the model sees.
fn read_arguments(value: Value) -> Value {
    match value {
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    }
}
