//! Fingerprints of requests: a canonical form of a request, and the hash of that form.
//!
//! Only data that reaches the model counts. Ids, times, usage and metadata of messages, and the version of a
//! prompt, do not: two runs with the same request have the same fingerprint. Recordings are looked up by it, so the
//! form never changes silently.

use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::{ChatRequest, ModelInfo};
use crate::canonical::sort_keys;
use crate::message::{Message, Role, ToolStatus};
use crate::tool::ToolSpec;

impl ChatRequest {
    /// Returns the request to this model in its canonical form: sorted keys, nothing that the model does not
    /// receive.
    #[must_use]
    pub fn canonical_json(&self, model: &ModelInfo) -> Value {
        let mut form = Map::new();
        let mut put = |name: &str, value: Option<Value>| drop(value.map(|value| form.insert(name.to_owned(), value)));
        put("model", Some(format!("{}/{}", model.provider, model.name).into()));
        put("messages", Some(self.messages.iter().map(|message| canonical_message(message)).collect()));
        put("tools", (!self.tools.is_empty()).then(|| self.tools.iter().map(|tool| canonical_tool(tool)).collect()));
        put("tool_choice", (!self.tools.is_empty()).then(|| json!(self.tool_choice)));
        put("format", self.format.as_ref().map(|format| json!(format)));
        put("temperature", self.temperature.map(Value::from));
        put("top_p", self.top_p.map(Value::from));
        put("max_tokens", self.max_tokens.map(Value::from));
        put("stop", (!self.stop.is_empty()).then(|| json!(self.stop)));
        put("seed", self.seed.map(Value::from));
        sort_keys(Value::Object(form))
    }

    /// Returns the fingerprint of the request to this model: equal for equal requests, on every machine and in
    /// every process.
    ///
    /// ```
    /// use superstep_core::message::Message;
    /// use superstep_core::model::{ModelInfo, ModelKind, ChatRequest};
    ///
    /// let model = ModelInfo::new("local", "rules", ModelKind::Rules);
    /// let fingerprint = |id| ChatRequest::new([Message::user("hi").with_id(id)]).fingerprint(&model);
    /// assert_eq!(fingerprint("1"), fingerprint("2"));
    /// ```
    #[must_use]
    pub fn fingerprint(&self, model: &ModelInfo) -> u128 {
        fingerprint_of(&self.canonical_json(model))
    }
}

/// Returns the fingerprint of a canonical form; see [`ChatRequest::canonical_json`].
#[must_use]
pub fn fingerprint_of(canonical: &Value) -> u128 {
    xxh3_128(canonical.to_string().as_bytes())
}

fn canonical_message(message: &Message) -> Value {
    let mut form =
        Map::from_iter([("role".to_owned(), json!(message.role)), ("content".to_owned(), json!(message.content))]);
    if let Some(name) = &message.name {
        form.insert("name".to_owned(), json!(name));
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| json!({"id": call.id, "name": call.name, "args": call.args}));
        form.insert("tool_calls".to_owned(), calls.collect());
    }
    if let Some(id) = &message.tool_call_id {
        form.insert("tool_call_id".to_owned(), json!(id));
    }
    if message.role == Role::Tool && message.status == ToolStatus::Error {
        form.insert("status".to_owned(), json!(message.status));
    }
    Value::Object(form)
}

fn canonical_tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::message::{TokenUsage, ToolCall};
    use crate::model::ModelKind;

    fn model(name: &str) -> ModelInfo {
        ModelInfo::new("test", name, ModelKind::Remote)
    }

    fn fingerprint(request: &ChatRequest) -> u128 {
        request.fingerprint(&model("a"))
    }

    /// R-FWK-76: ids, times, usage, metadata and the version of a prompt are not part of the fingerprint.
    #[test]
    fn the_fingerprint_excludes_data_not_sent_to_the_model() {
        let plain = ChatRequest::new([Message::user("hi")]);
        let mut annotated = Message::user("hi").with_id("7").with_metadata("seen", true);
        annotated.time = Some(jiff::Timestamp::UNIX_EPOCH);
        annotated.usage = Some(TokenUsage::new(1, 2));
        let mut same = ChatRequest::new([annotated]);
        same.prompt = Some("greet@1".into());
        assert_eq!(fingerprint(&plain), fingerprint(&same));
    }

    /// R-FWK-76: everything that the model receives is part of the fingerprint.
    #[test]
    fn the_fingerprint_includes_all_data_sent_to_the_model() {
        let plain = ChatRequest::new([Message::user("hi")]);
        let tool = Arc::new(ToolSpec::new("look", "Looks."));
        let call = ToolCall::new("1", "look", json!({}));
        let mut seeded = plain.clone();
        seeded.seed = Some(1);
        let others = [
            ChatRequest::new([Message::user("ho")]),
            ChatRequest::new([Message::system("hi")]),
            ChatRequest::new([Message::user("hi").with_name("ada")]),
            ChatRequest::new([Message::user("hi").with_tool_calls([call])]),
            plain.clone().tools([tool]),
            plain.clone().temperature(0.1),
            plain.clone().max_tokens(5),
            plain.clone().stop("."),
            seeded,
        ];
        let mut fingerprints: Vec<u128> = others.iter().chain([&plain]).map(fingerprint).collect();
        fingerprints.push(plain.fingerprint(&model("b")));
        let count = fingerprints.len();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        assert_eq!(fingerprints.len(), count);
    }

    /// R-FWK-76: the canonical form is part of recorded files: a change of it requires a new version of the files.
    #[test]
    fn the_canonical_form_is_stable() {
        let request = ChatRequest::new([Message::user("hi")]).temperature(0.5);
        let form = request.canonical_json(&model("a"));
        assert_eq!(
            form.to_string(),
            r#"{"messages":[{"content":"hi","role":"user"}],"model":"test/a","temperature":0.5}"#
        );
        assert_eq!(format!("{:032x}", fingerprint_of(&form)), "019686b2aee90f97206d5d03ca09fd24");
    }
}
