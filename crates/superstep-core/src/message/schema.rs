//! The JSON schemas of messages, lists and updates.
//!
//! The schema of a message describes the written form; the schema of an update also permits the other parsed forms.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Message, MessageId, MessageUpdate, MessageUpdates, Messages};

impl JsonSchema for Message {
    fn schema_name() -> Cow<'static, str> {
        "Message".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "One message of a conversation.",
            "properties": {
                "role": { "enum": ["system", "user", "assistant", "tool"] },
                "content": {
                    "anyOf": [
                        { "type": "string" },
                        { "type": "array", "description": "Parts: text, image, audio, file or other." }
                    ]
                },
                "id": generator.subschema_for::<MessageId>(),
                "name": { "type": "string" },
                "tool_calls": { "type": "array", "items": tool_call() },
                "tool_call_id": { "type": "string" },
                // On other messages the key belongs to the provider.
                "status": { "description": "Of a tool message: `success` or `error`." },
                "metadata": { "type": "object" },
                "time": { "type": "string", "format": "date-time" },
                "usage": usage()
            },
            "required": ["role", "content"]
        })
    }
}

fn tool_call() -> Schema {
    json_schema!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "name": { "type": "string" }, "args": {} },
        "required": ["id", "name", "args"]
    })
}

fn usage() -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "input_tokens": { "type": "integer", "minimum": 0 },
            "output_tokens": { "type": "integer", "minimum": 0 },
            "total_tokens": { "type": "integer", "minimum": 0 },
            "estimated": { "type": "boolean" }
        },
        "required": ["input_tokens", "output_tokens", "total_tokens"]
    })
}

impl JsonSchema for MessageId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MessageId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}

impl JsonSchema for Messages {
    fn schema_name() -> Cow<'static, str> {
        "Messages".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<Message>() })
    }
}

impl JsonSchema for MessageUpdate {
    fn schema_name() -> Cow<'static, str> {
        "MessageEdit".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                generator.subschema_for::<Message>(),
                {
                    "type": "object",
                    "description": "The removal of a message, or of all with the id `__remove_all__`.",
                    "properties": { "type": { "const": "remove" }, "id": { "type": ["string", "number"] } },
                    "required": ["type", "id"]
                },
                { "type": "string", "description": "A message of the user." },
                {
                    "type": "array",
                    "description": "A role and a content.",
                    "minItems": 2,
                    "maxItems": 2
                },
                {
                    "type": "object",
                    "description": "A message or removal with another role name, in class name form or in LangChain's.",
                    "anyOf": [{ "required": ["role"] }, { "required": ["type"] }]
                }
            ]
        })
    }
}

impl JsonSchema for MessageUpdates {
    fn schema_name() -> Cow<'static, str> {
        "MessageEdits".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let edit = generator.subschema_for::<MessageUpdate>();
        json_schema!({ "anyOf": [{ "type": "array", "items": edit }, edit] })
    }
}
