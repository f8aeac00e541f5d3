//! Serializes a message as JSON: `{role, content, id, ..}`, and on request in the class name form and in
//! LangChain's form.
//!
//! Empty values are left out, and keys have one order, so the same message always gives the same bytes. All three forms
//! contain the complete message, and `parse` restores it; only a foreign `type` key is lost in the two forms that use
//! that key themselves.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::content::serialize_extra;
use super::{Message, Role, ToolCall};

/// Keys that fields write, and that extra keys must not repeat.
const WRITTEN: [&str; 9] = ["role", "content", "id", "name", "tool_calls", "tool_call_id", "metadata", "time", "usage"];

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &self.role)?;
        self.serialize_rest(&mut map)?;
        map.end()
    }
}

impl Message {
    /// Returns the class name form, `{type: "HumanMessage", content, ..}`.
    pub fn to_class_json(&self) -> Value {
        let mut object = self.to_object();
        object.remove("role");
        object.insert("type".into(), class(self.role).into());
        Value::Object(object)
    }

    /// Returns LangChain's form, `{type: "human", content, additional_kwargs, response_metadata, ..}`.
    pub fn to_langchain(&self) -> Value {
        let mut object = self.to_object();
        object.remove("role");
        object.insert("type".into(), langchain_type(self.role).into());
        object.entry("additional_kwargs").or_insert_with(|| json!({}));
        if !object.contains_key("response_metadata") {
            let metadata = object.remove("metadata").unwrap_or_else(|| json!({}));
            object.insert("response_metadata".into(), metadata);
        }
        if !object.contains_key("usage_metadata")
            && let Some(usage) = object.remove("usage")
        {
            object.insert("usage_metadata".into(), usage);
        }
        if self.role == Role::Assistant {
            let calls = object.entry("tool_calls").or_insert_with(|| json!([]));
            for call in calls.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                call.entry("type").or_insert_with(|| "tool_call".into());
            }
        }
        Value::Object(object)
    }

    fn to_object(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            _ => unreachable!("a message always serializes to an object"),
        }
    }

    fn serialize_rest<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("content", &self.content)?;
        if let Some(id) = &self.id {
            map.serialize_entry("id", id)?;
        }
        if let Some(name) = &self.name {
            map.serialize_entry("name", name)?;
        }
        if !self.tool_calls.is_empty() {
            map.serialize_entry("tool_calls", &self.tool_calls)?;
        }
        if let Some(id) = &self.tool_call_id {
            map.serialize_entry("tool_call_id", id)?;
        }
        let is_tool = self.role == Role::Tool;
        if is_tool {
            map.serialize_entry("status", &self.status)?;
        }
        if !self.metadata.is_empty() {
            map.serialize_entry("metadata", &self.metadata)?;
        }
        if let Some(time) = &self.time {
            map.serialize_entry("time", time)?;
        }
        if let Some(usage) = &self.usage {
            map.serialize_entry("usage", usage)?;
        }
        let entries = self.extra.iter().filter(|(key, _)| !(is_tool && key.as_str() == "status"));
        serialize_extra(map, entries, &WRITTEN)
    }
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("args", &self.args)?;
        serialize_extra(&mut map, &self.extra, &["id", "name", "args"])?;
        map.end()
    }
}

fn class(role: Role) -> &'static str {
    match role {
        Role::System => "SystemMessage",
        Role::User => "HumanMessage",
        Role::Assistant => "AIMessage",
        Role::Tool => "ToolMessage",
    }
}

fn langchain_type(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "human",
        Role::Assistant => "ai",
        Role::Tool => "tool",
    }
}
