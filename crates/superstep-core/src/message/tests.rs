//! Tests of the JSON of messages, lists and updates: parsed forms, written form, and lossless round trips.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn parse(value: Value) -> Message {
    serde_json::from_value(value).unwrap()
}

fn parse_error(value: Value) -> String {
    let error = Message::try_from(value).unwrap_err();
    format!("{} at `{}`", error.message, error.pointer)
}

/// Asserts that the first value, parsed as a message, is written as the second.
fn check(read_from: Value, written: Value) {
    let message = parse(read_from);
    assert_eq!(serde_json::to_value(&message).unwrap(), written);
    assert_eq!(parse(written), message);
}

fn constructor(class: &str, kwargs: Value) -> Value {
    json!({ "lc": 1, "type": "constructor", "id": ["langchain_core", "messages", class], "kwargs": kwargs })
}

/// R-GRA-29, R-FWK-65: all names of a role, in all forms, are parsed and written as one.
#[test]
fn every_name_of_a_role_is_read() {
    for (written, names, class) in [
        ("user", ["user", "human"], "HumanMessage"),
        ("assistant", ["assistant", "ai"], "AIMessage"),
        ("system", ["system", "developer"], "SystemMessage"),
    ] {
        let written = json!({ "role": written, "content": "hi" });
        for name in names {
            check(json!({ "role": name, "content": "hi" }), written.clone());
            check(json!({ "type": name, "content": "hi" }), written.clone());
            check(json!([name, "hi"]), written.clone());
        }
        check(json!({ "type": class, "content": "hi" }), written.clone());
        check(json!({ "type": format!("{class}Chunk"), "content": "hi" }), written.clone());
        check(constructor(class, json!({ "content": "hi" })), written);
    }
    let written = json!({ "role": "tool", "content": "42", "tool_call_id": "c1", "status": "error" });
    check(json!({ "role": "tool", "content": "42", "tool_call_id": "c1", "status": "error" }), written.clone());
    check(json!({ "type": "ToolMessage", "content": "42", "tool_call_id": "c1", "status": "error" }), written.clone());
    let kwargs = json!({ "content": "42", "tool_call_id": "c1", "status": "error", "type": "tool" });
    check(constructor("ToolMessage", kwargs), written);
    check(
        json!({ "type": "ToolMessage", "content": "42" }),
        json!({ "role": "tool", "content": "42", "status": "success" }),
    );
}

/// R-GRA-29: a text is a message of the user.
#[test]
fn a_text_is_a_message_of_the_user() {
    check(json!("hi"), json!({ "role": "user", "content": "hi" }));
}

/// R-GRA-29: an unknown role is an error that names it and the supported roles.
#[test]
fn an_invalid_message_is_rejected_with_its_cause() {
    let unknown = parse_error(json!({ "role": "robot", "content": "hi" }));
    assert!(unknown.contains("unknown message role `robot`"), "{unknown}");
    for role in ["`user`", "`human`", "`assistant`", "`ai`", "`system`", "`tool`"] {
        assert!(unknown.contains(role), "{unknown}");
    }
    for (value, words) in [
        (json!({ "type": "FunctionMessage", "content": "" }), "unknown message role `FunctionMessage`"),
        (json!(["robot", "hi"]), "unknown message role `robot`"),
        (json!({ "role": "user", "type": "system", "content": "hi" }), "role `user` and type `system` do not match"),
        (json!({ "role": "user", "type": "remove", "content": "hi" }), "role `user` and type `remove` do not match"),
        (json!({ "role": 1, "content": "hi" }), "`role` must be a string, not a number"),
        (json!({ "content": "hi" }), "a message requires `role` or `type`"),
        (json!({ "role": "user" }), "a message requires `content`"),
        (json!({ "role": "user", "content": 1 }), "content must be a string or a list of parts, not a number"),
        (json!({ "role": "user", "content": "hi", "id": "" }), "the message id is empty"),
        (json!({ "role": "user", "content": "hi", "id": {} }), "expected a string, found an object at `/id`"),
        (json!({ "role": "user", "content": "hi", "time": "noon" }), "`noon` is not a valid time"),
        (json!({ "role": "tool", "content": "hi", "status": "done" }), "unknown tool status `done`"),
        (json!({ "role": "ai", "tool_calls": [{ "id": "1" }] }), "a tool call requires `name` at `/tool_calls/0`"),
        (json!({ "role": "ai", "tool_calls": [{ "name": "add" }] }), "the call of tool `add` requires `id`"),
        (json!({ "type": "remove", "id": "1" }), "a removal is not a message"),
        (
            json!({ "lc": 1, "type": "not_implemented", "id": ["x"] }),
            "requires `kwargs` and an `id` that ends with the class",
        ),
        (constructor("HumanMessage", json!({ "content": 1 })), "a list of parts, not a number at `/kwargs/content`"),
        (json!(1), "not a number"),
        (json!(["user"]), "`[role, content]` pair"),
    ] {
        let message = parse_error(value.clone());
        assert!(message.contains(words), "{value}: {message}");
    }
}

/// R-FWK-64: tool calls are parsed in the forms of LangChain and of OpenAI; arguments that are not JSON stay text.
#[test]
fn tool_calls_of_all_makers_are_read() {
    let written =
        json!({ "role": "assistant", "content": "", "tool_calls": [{ "id": "1", "name": "add", "args": { "a": 1 } }] });
    let langchain = json!([{ "id": 1, "name": "add", "args": { "a": 1 }, "type": "tool_call" }]);
    check(json!({ "type": "ai", "content": "", "tool_calls": langchain }), written.clone());
    let openai = json!([{ "id": "1", "type": "function", "function": { "name": "add", "arguments": "{\"a\": 1}" } }]);
    check(json!({ "role": "assistant", "content": null, "tool_calls": openai }), written.clone());
    check(json!({ "role": "assistant", "tool_calls": openai }), written);
    for (arguments, args) in
        [(json!(""), json!({})), (json!("{oops"), json!("{oops")), (json!({ "b": 2 }), json!({ "b": 2 }))]
    {
        let call = json!({ "id": "1", "function": { "name": "add", "arguments": arguments } });
        assert_eq!(parse(json!({ "role": "ai", "tool_calls": [call] })).tool_calls, [ToolCall::new("1", "add", args)]);
    }
    let call = json!({ "id": "1", "type": "custom", "index": 0, "function": { "name": "add", "strict": true } });
    let written =
        json!({ "id": "1", "name": "add", "args": {}, "type": "custom", "index": 0, "function": { "strict": true } });
    check(
        json!({ "role": "ai", "content": "", "tool_calls": [call] }),
        json!({ "role": "assistant", "content": "", "tool_calls": [written] }),
    );
}

/// R-FWK-65: a message dumped by LangChain keeps all its data.
#[test]
fn a_dump_of_langchain_keeps_all_data() {
    let dump = json!({
        "type": "ai", "content": "4", "id": "run-1", "name": null, "example": false,
        "additional_kwargs": { "refusal": null }, "response_metadata": { "model_name": "m" },
        "tool_calls": [], "invalid_tool_calls": [],
        "usage_metadata": { "input_tokens": 3, "output_tokens": 1, "total_tokens": 4, "output_token_details": {} }
    });
    let message = parse(dump.clone());
    assert_eq!(message.metadata, BTreeMap::from([("model_name".into(), json!("m"))]));
    assert_eq!(message.usage.as_ref().map(|usage| (usage.input_tokens, usage.total_tokens)), Some((3, 4)));
    let mut written = message.to_langchain();
    written["name"] = Value::Null;
    assert_eq!(written, dump);
    assert_eq!(parse(serde_json::to_value(&message).unwrap()), message);
}

/// R-FWK-65: the class name form and LangChain's form are written.
#[test]
fn the_other_forms_are_written() {
    let message = Message::user("hi").with_id("1").with_metadata("round", 2);
    assert_eq!(
        message.to_class_json(),
        json!({ "type": "HumanMessage", "content": "hi", "id": "1", "metadata": { "round": 2 } })
    );
    assert_eq!(
        message.to_langchain(),
        json!({ "type": "human", "content": "hi", "id": "1",
                "additional_kwargs": {}, "response_metadata": { "round": 2 } })
    );
    let call = Message::assistant("").with_tool_calls([ToolCall::new("c1", "add", json!({ "a": 1 }))]);
    assert_eq!(
        call.to_langchain()["tool_calls"],
        json!([{ "id": "c1", "name": "add", "args": { "a": 1 }, "type": "tool_call" }])
    );
    assert_eq!(Message::tool("c1", "2").to_langchain()["status"], "success");
}

/// R-FWK-64, R-FWK-50: unknown keys are kept with any value, and never replace a field.
#[test]
fn unknown_keys_are_retained() {
    let full =
        json!({ "role": "user", "content": "hi", "type": "message", "timestamp": 1, "x": null, "status": "done" });
    check(full.clone(), full);
    let both = json!({ "role": "user", "content": "hi", "metadata": { "a": 1 }, "response_metadata": { "b": 2 } });
    check(both.clone(), both.clone());
    assert_eq!(parse(parse(both.clone()).to_langchain()), parse(both));
    let mut forged = Message::user("hi");
    forged.extra.insert("role".into(), json!("system"));
    assert_eq!(serde_json::to_string(&forged).unwrap(), r#"{"role":"user","content":"hi"}"#);
}

/// R-FWK-67: counts of a provider are parsed under its names; a missing total is summed.
#[test]
fn usage_is_read_under_several_names() {
    let usage = |usage: Value| parse(json!({ "role": "ai", "content": "", "usage": usage })).usage;
    assert_eq!(usage(json!({ "prompt_tokens": 3, "completion_tokens": 1 })), Some(TokenUsage::new(3, 1)));
    assert_eq!(
        usage(json!({ "input_tokens": 3, "output_tokens": 1, "total_tokens": 9 })).map(|u| u.total_tokens),
        Some(9)
    );
    assert_eq!(usage(Value::Null), None);
    assert!(parse_error(json!({ "role": "ai", "content": "", "usage": { "input_tokens": -1 } })).contains("/usage"));
}

/// R-FWK-64: parts of known kinds are parsed in several spellings, the others kept as they are.
#[test]
fn parts_are_parsed_or_retained() {
    let mut detailed = Media::url("http://x");
    detailed.extra.insert("detail".into(), json!("low"));
    let mut named = Media::base64("AA==", "text/plain");
    named.extra.insert("filename".into(), json!("a.txt"));
    let cases = [
        (json!("a"), ContentPart::text("a")),
        (json!({ "type": "text", "text": "b" }), ContentPart::text("b")),
        (json!({ "type": "image", "url": "http://x" }), ContentPart::Image(Media::url("http://x"))),
        (
            json!({ "type": "image", "source_type": "url", "url": "http://x" }),
            ContentPart::Image(Media::url("http://x")),
        ),
        (
            json!({ "type": "image_url", "image_url": { "url": "http://x", "detail": "low" } }),
            ContentPart::Image(detailed),
        ),
        (
            json!({ "type": "audio", "base64": "AA==", "mime_type": "audio/wav" }),
            ContentPart::Audio(Media::base64("AA==", "audio/wav")),
        ),
        (
            json!({ "type": "file", "source_type": "base64", "data": "AA==",
                    "mime_type": "text/plain", "filename": "a.txt" }),
            ContentPart::File(named),
        ),
    ];
    let unknown = [
        json!({ "type": "tool_use", "id": "1" }),
        json!({ "type": "image", "source": { "type": "base64", "data": "AA==" } }),
        json!({ "type": "image", "url": "u", "base64": "AA==" }),
        json!({ "type": "image", "source_type": "id", "id": "f" }),
        json!({ "type": "image_url", "image_url": { "url": "u" }, "index": 0 }),
        json!({ "text": "no type" }),
        json!(7),
    ];
    let unknown = unknown.into_iter().map(|value| (value.clone(), ContentPart::Other(value)));
    let (values, parts): (Vec<_>, Vec<_>) = cases.into_iter().chain(unknown).unzip();
    let message = parse(json!({ "role": "user", "content": values }));
    assert_eq!(message.content, Content::Parts(parts));
    assert_eq!(message.text(), "ab");
    assert_eq!(parse(serde_json::to_value(&message).unwrap()), message);
}

/// R-FWK-64: the text of parts is the concatenation of the text parts.
#[test]
fn text_joins_the_texts_of_parts() {
    let text_of = |parts: Vec<ContentPart>| Message::user(parts).text().into_owned();
    assert_eq!(text_of(vec![]), "");
    assert_eq!(text_of(vec![ContentPart::Image(Media::url("u"))]), "");
    assert_eq!(text_of(vec![ContentPart::text("a")]), "a");
    assert_eq!(
        text_of(vec![
            ContentPart::text("a"),
            ContentPart::Image(Media::url("u")),
            ContentPart::text("b"),
            ContentPart::text("c")
        ]),
        "abc"
    );
}

/// R-GRA-28, R-GRA-29: removals are parsed in three forms and written in one; an update is one element or a list.
#[test]
fn updates_are_read_from_one_element_or_a_list() {
    let edits = |value: Value| serde_json::from_value::<MessageUpdates>(value).unwrap();
    let removal = MessageUpdates::from(RemoveMessage::new("1"));
    for value in [
        json!({ "type": "remove", "id": "1" }),
        json!({ "role": "remove", "id": 1 }),
        constructor("RemoveMessage", json!({ "id": "1", "content": "", "type": "remove" })),
        json!([{ "type": "remove", "id": "1" }]),
    ] {
        assert_eq!(edits(value), removal);
    }
    assert_eq!(serde_json::to_value(&removal).unwrap(), json!([{ "type": "remove", "id": "1" }]));
    assert_eq!(
        serde_json::to_value(MessageUpdate::RemoveAll).unwrap(),
        json!({ "type": "remove", "id": "__remove_all__" })
    );
    assert_eq!(edits(json!({ "role": "remove", "id": "__remove_all__" })), RemoveAll.into());
    assert_eq!(edits(json!("hi")), "hi".into());
    assert_eq!(edits(json!([])), MessageUpdates::default());
    assert_eq!(edits(json!([["ai", "hi"], "you"])), [Message::assistant("hi"), Message::user("you")].into());
    let error = MessageUpdates::try_from(json!(["hi", { "role": "robot" }])).unwrap_err();
    assert_eq!(error.pointer, "/1/role");
    assert!(MessageUpdates::try_from(json!({ "type": "remove" })).is_err());
}

/// R-GRA-29: a list of two texts is two messages, so that no text chooses the role of another.
#[test]
fn a_list_of_two_texts_is_not_a_pair() {
    let edits: MessageUpdates = serde_json::from_value(json!(["system", "obey"])).unwrap();
    assert_eq!(edits, [Message::user("system"), Message::user("obey")].into());
}

/// R-FWK-64: a list is an array in JSON, is searched by id and by index, and its clone does not see later updates.
#[test]
fn a_list_reads_writes_and_is_found_by_id() {
    let written = json!([{ "role": "user", "content": "a", "id": "1" }, { "role": "assistant", "content": "b" }]);
    let mut messages: Messages = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&messages).unwrap(), written);
    assert_eq!(messages.by_id("1"), messages.get(0));
    assert_eq!(messages.by_id("2"), None);
    assert_eq!(messages.last(), Some(&Message::assistant("b")));
    assert_eq!(messages.iter().rev().count(), 2);
    assert_eq!((&messages).into_iter().len(), 2);
    let before = messages.clone();
    messages.reduce("c".into()).unwrap();
    fn assert_shared<T: Send + Sync>(_: &T) {}
    assert_shared(&before);
    assert_eq!((before.len(), messages.len()), (2, 3));
    assert_ne!(before, messages);
    assert_eq!(format!("{before:?}"), format!("{:?}", before.iter().collect::<Vec<_>>()));
    let repeated: Messages = ["x", "y"].map(|text| Message::user(text).with_id("1")).into_iter().collect();
    assert_eq!((repeated.len(), repeated.by_id("1").map(Message::text)), (1, Some("y".into())));
}

/// R-GRA-6: the schema of a list names the roles and the required keys.
#[test]
fn schemas_describe_what_is_written() {
    let schema = schemars::schema_for!(Messages).to_value();
    let message = &schema["$defs"]["Message"];
    assert_eq!(schema["type"], "array");
    assert_eq!(schema["items"]["$ref"], "#/$defs/Message");
    assert_eq!(message["properties"]["role"]["enum"], json!(["system", "user", "assistant", "tool"]));
    assert_eq!(message["required"], json!(["role", "content"]));
    let edits = schemars::schema_for!(MessageUpdates).to_value();
    assert!(edits["$defs"]["MessageEdit"]["anyOf"].is_array());
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..3).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn any_map() -> impl Strategy<Value = BTreeMap<String, Value>> {
    // The prefix avoids keys with a meaning.
    prop::collection::btree_map("x_[a-z]{1,3}", any_value(), 0..3)
}

fn any_content() -> impl Strategy<Value = Content> {
    let media = (any::<bool>(), "\\PC{0,6}", prop::option::of("[a-z]/[a-z]"), any_map()).prop_map(
        |(url, text, mime_type, extra)| {
            let source = if url { MediaSource::Url(text) } else { MediaSource::Base64(text) };
            Media { source, mime_type, extra }
        },
    );
    let kind = prop::sample::select(vec![
        ContentPart::Image as fn(Media) -> ContentPart,
        ContentPart::Audio,
        ContentPart::File,
    ]);
    let part = prop_oneof![
        ("\\PC{0,6}", any_map()).prop_map(|(text, extra)| ContentPart::Text { text, extra }),
        (kind, media).prop_map(|(kind, media)| kind(media)),
        any_map().prop_map(|map| ContentPart::Other(map.into_iter().collect())),
    ];
    prop_oneof!["\\PC{0,9}".prop_map(Content::Text), prop::collection::vec(part, 0..3).prop_map(Content::Parts)]
}

fn any_message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let call = ("\\PC{0,4}", "\\PC{0,4}", any_value(), any_map()).prop_map(|(id, name, args, extra)| ToolCall {
        id,
        name,
        args,
        extra,
    });
    let usage =
        (any::<u32>(), any::<u32>(), any::<bool>(), any_map()).prop_map(|(input, output, estimated, details)| {
            TokenUsage { estimated, details, ..TokenUsage::new(input.into(), output.into()) }
        });
    let ids = (prop::option::of("\\PC{1,4}"), prop::option::of("\\PC{0,4}"), prop::option::of("\\PC{0,4}"));
    let rest =
        (prop::collection::vec(call, 0..3), any::<bool>(), prop::option::of(any::<i32>()), prop::option::of(usage));
    (role, any_content(), ids, rest, any_map(), any_map()).prop_map(|(role, content, ids, rest, metadata, extra)| {
        let (tool_calls, failed, time, usage) = rest;
        Message {
            id: ids.0.map(MessageId::from),
            name: ids.1,
            tool_call_id: ids.2,
            tool_calls,
            status: if failed && role == Role::Tool { ToolStatus::Error } else { ToolStatus::Success },
            time: time.map(|time| jiff::Timestamp::new(time.into(), 123_456_789).unwrap()),
            usage,
            metadata,
            extra,
            ..Message::new(role, content)
        }
    })
}

proptest! {
    /// R-FWK-50, R-FWK-65, R-DEB-38: every message survives a round trip through each written form, with the same
    /// bytes.
    #[test]
    fn messages_round_trip_through_every_form(message in any_message()) {
        let written = serde_json::to_string(&message).unwrap();
        let reparsed: Message = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(&reparsed, &message);
        prop_assert_eq!(serde_json::to_string(&reparsed).unwrap(), written);
        prop_assert_eq!(&parse(message.to_class_json()), &message);
        prop_assert_eq!(&parse(message.to_langchain()), &message);
    }
}
