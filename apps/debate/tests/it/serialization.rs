//! Tests of serialized debates, and of debates in a key-value backend.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use superstep::core::message::{Role, TokenUsage};
use superstep::core::port::{KeyValue, PutOptions};
use superstep::core::time::Time;
use superstep::key_value::{FileKeyValue, KeyValueCheckpointer};
use superstep::{MemoryCheckpointer, Message};
use superstep_debate::fact_check::result::{FactCheckResult, Verdict};
use superstep_debate::serialization::{deserialize_state, load_state, save_state, serialize_state};
use superstep_debate::{ApprovalMode, DebateContext, DebateState, DebateStatus, FactCheckMode};

use crate::support::{Folder, Speaker, TOPIC, debates, history, opening};

/// R-DEB-38, R-DEB-37: every state of debates of every kind survives a round trip unchanged, to the byte.
#[tokio::test]
async fn every_saved_state_is_read_back() {
    let contexts = [
        DebateContext::new(Speaker::default()),
        DebateContext::new(Speaker::default())
            .fact_check(FactCheckMode::EachRound)
            .approval(ApprovalMode::BeforeSummary),
    ];
    for context in contexts {
        let graph = debates(MemoryCheckpointer::new());
        graph.invoke(opening(2)).thread("t").context(context.clone()).await.unwrap();
        graph.invoke(DebateState::input().round(0_u32)).thread("none").context(context).await.unwrap();
        for thread in ["t", "none"] {
            for saved in history(&graph, thread).await {
                let text = serialize_state(&saved.state).unwrap();
                let read = deserialize_state(&text).unwrap();
                assert_eq!((&read, serialize_state(&read).unwrap()), (&*saved.state, text));
            }
        }
    }
}

fn message() -> impl Strategy<Value = Message> {
    let name = prop::option::of(prop::sample::select(vec!["optimist", "skeptic", "moderator"]));
    let usage = prop::option::of((0_u64..1_000, 0_u64..1_000, any::<bool>()));
    (0..4_u8, "\\PC{0,20}", prop::option::of("[a-z]{1,8}"), name, usage, 0..11_u32).prop_map(
        |(role, text, id, name, usage, round)| {
            let mut message = match role {
                0 => Message::user(text),
                1 => Message::system(text),
                2 => Message::tool("call_1", text),
                _ => Message::assistant(text),
            };
            message.id = id.map(Into::into);
            message.name = name.map(str::to_owned);
            message.usage =
                usage.map(|(input, output, estimated)| TokenUsage { estimated, ..TokenUsage::new(input, output) });
            message.with_metadata("round", round)
        },
    )
}

fn result() -> impl Strategy<Value = FactCheckResult> {
    let verdict = prop::sample::select(vec![Verdict::True, Verdict::False, Verdict::Unverifiable]);
    ("\\PC{0,20}", verdict, prop::collection::vec("[a-z]{1,5}\\.md#[a-z]{1,5}", 0..3))
        .prop_map(|(claim, verdict, sources)| FactCheckResult { claim, verdict, sources })
}

prop_compose! {
    fn debate()(
        messages in prop::collection::vec(message(), 0..6),
        (round, topic, max_rounds) in (0..11_u32, "[a-z\\PC]{0,20}", 1..11_u32),
        status in prop::sample::select(vec![DebateStatus::Running, DebateStatus::Completed, DebateStatus::Error]),
        (awaiting_approval, user_approved) in (any::<bool>(), any::<Option<bool>>()),
        fact_check_results in prop::collection::vec(result(), 0..3),
        (token_usage, start, end) in (any::<u64>(), 0_i64..4_000_000_000_000_000, any::<bool>()),
    ) -> DebateState {
        let start = Time::from_unix_micros(start).unwrap();
        DebateState {
            messages: messages.into_iter().collect(), round, topic: format!("x{topic}"), max_rounds, status, awaiting_approval,
            user_approved, fact_check_results, token_usage, start_time: Some(start), end_time: end.then_some(start),
        }
    }
}

proptest! {
    /// R-DEB-38: any debate survives a round trip, and equal debates have equal text.
    #[test]
    fn any_debate_is_read_back(debate in debate()) {
        let text = serialize_state(&debate).unwrap();
        let read = deserialize_state(&text).unwrap();
        prop_assert_eq!(&read, &debate);
        prop_assert_eq!(serialize_state(&read).unwrap(), text);
    }
}

/// R-DEB-37: the old short form is read, and every message keeps its role.
#[test]
fn the_short_form_is_read() {
    let entries =
        [("HumanMessage", "Hi"), ("AIMessage", "Yes."), ("SystemMessage", "Be brief."), ("ToolMessage", "42")];
    let messages: Vec<_> = entries.iter().map(|(kind, text)| json!({ "type": kind, "content": text })).collect();
    let short = json!({ "messages": messages, "round": 1, "topic": TOPIC, "maxRounds": 2, "status": "running" });
    let debate = deserialize_state(&short.to_string()).unwrap();
    let roles: Vec<_> = debate.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::System, Role::Tool]);
    let texts: Vec<_> = debate.messages.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, entries.map(|(_, text)| text));
    assert_eq!((debate.round, debate.max_rounds, debate.status), (1, 2, DebateStatus::Running));
    assert_eq!((debate.token_usage, debate.user_approved, debate.start_time), (0, None, None));
}

/// R-DEB-38: objects inside messages are equal in any order of their keys, and so are their texts.
#[test]
fn the_same_debate_is_the_same_text() {
    let debate_with_metadata = |object: &str| {
        let object: Value = serde_json::from_str(object).unwrap();
        let messages = [Message::user("Hi").with_id("1").with_metadata("noted", object)];
        DebateState { messages: messages.into_iter().collect(), ..deserialize_state("{}").unwrap() }
    };
    let (one, other) = (
        debate_with_metadata(r#"{"b": 1, "a": {"d": 2, "c": 3}}"#),
        debate_with_metadata(r#"{"a": {"c": 3, "d": 2}, "b": 1}"#),
    );
    assert_eq!(one, other);
    assert_eq!(serialize_state(&one).unwrap(), serialize_state(&other).unwrap());
}

/// R-DEB-37: the full form keeps ids, names, roles and tool calls.
#[test]
fn the_full_form_contains_complete_messages() {
    let call = superstep::core::message::ToolCall::new("call_1", "search", json!({ "q": "AI" }));
    let messages = [
        Message::system("Be brief.").with_id("1"),
        Message::assistant("").with_id("2").with_name("optimist").with_tool_calls([call]),
        Message::tool("call_1", "42").with_id("3"),
    ];
    let debate = DebateState { messages: messages.iter().cloned().collect(), ..deserialize_state("{}").unwrap() };
    let debate = DebateState { topic: TOPIC.to_owned(), ..debate };
    let read = deserialize_state(&serialize_state(&debate).unwrap()).unwrap();
    assert_eq!(read.messages.iter().cloned().collect::<Vec<_>>(), messages);
}

/// R-DEB-19a, R-DEB-37, R-DEB-15: invalid text is rejected, with all errors.
#[test]
fn an_invalid_debate_is_rejected() {
    assert!(deserialize_state("[1]").is_err() && deserialize_state("{").is_err());
    let invalid =
        json!({ "status": "paused", "round": -1, "messages": [{ "type": "Robot", "content": "" }], "extra": 1 });
    let error = deserialize_state(&invalid.to_string()).unwrap_err();
    let pointers: Vec<_> = error.diagnostics().iter().map(|problem| problem.pointer.as_str()).collect();
    assert_eq!(pointers.len(), 4, "{:?}", error.diagnostics());
    assert!(error.diagnostics().iter().any(|problem| problem.message.contains("Invalid status: paused")));
    let messages = json!([{ "role": "assistant", "name": "optimist", "content": "Yes." }]);
    let count_errors = |more: Value| {
        let mut debate = json!({ "messages": messages, "topic": "x", "maxRounds": 3 });
        debate.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        deserialize_state(&debate.to_string()).map_or_else(|error| error.diagnostics().len(), |_| 0)
    };
    assert_eq!(count_errors(json!({})), 0);
    assert_eq!(count_errors(json!({ "topic": "", "maxRounds": 11 })), 2);
    assert_eq!(count_errors(json!({ "topic": "x".repeat(501), "maxRounds": 0 })), 2);
}

/// R-DEB-19a: a stored debate with invalid values is rejected when it is loaded, with all errors; values out of range are
/// found once all values have the right type.
#[tokio::test]
async fn a_stored_debate_with_invalid_values_is_not_loaded() {
    let folder = Folder::new("invalid");
    let keys = FileKeyValue::open(folder.path()).unwrap();
    let message = json!({ "role": "assistant", "name": "optimist", "content": "Yes." });
    let rows = [
        (json!({ "messages": [], "round": -1, "topic": "", "status": "paused" }), ["/round", "/status"]),
        (json!({ "messages": [message], "round": 1, "topic": "", "maxRounds": 11 }), ["/maxRounds", "/topic"]),
    ];
    for (invalid, expected) in rows {
        keys.put("debate/d1", invalid.to_string().as_bytes(), PutOptions::default()).await.unwrap();
        let error = load_state(&keys, "d1").await.unwrap_err();
        let mut pointers: Vec<_> = error.diagnostics().iter().map(|diagnostic| diagnostic.pointer.as_str()).collect();
        pointers.sort_unstable();
        assert_eq!(pointers, expected);
    }
}

/// R-DEB-39: a debate is stored under its id for its time to live, and then removed.
#[tokio::test]
async fn a_debate_is_stored_for_its_time_to_live() {
    let folder = Folder::new("kept");
    let keys = FileKeyValue::open(folder.path()).unwrap();
    let graph = debates(MemoryCheckpointer::new());
    let done = graph.invoke(opening(1)).context(DebateContext::new(Speaker::default())).await.unwrap();
    save_state(&keys, "d1", &done.state, None).await.unwrap();
    save_state(&keys, "d2", &done.state, Some(Duration::from_millis(1))).await.unwrap();
    while load_state(&keys, "d2").await.unwrap().is_some() {
        tokio::task::yield_now().await;
    }
    assert_eq!(load_state(&keys, "d1").await.unwrap().as_ref(), Some(&*done.state));
    assert_eq!(load_state(&keys, "d3").await.unwrap(), None);
    assert!(save_state(&keys, "not a key", &done.state, None).await.is_err());
}

/// R-DEB-39: a key-value backend also holds complete threads, which can be resumed, and which expire without
/// writes.
#[tokio::test]
async fn a_key_value_backend_holds_complete_threads() {
    let folder = Folder::new("thread");
    let keys = FileKeyValue::open(folder.path()).unwrap();
    let speaker = Speaker::default().failing("skeptic 1", superstep::models::ModelErrorKind::Connection);
    let store = |ttl| KeyValueCheckpointer::options().time_to_live(ttl).open(keys.clone()).unwrap();
    let graph = debates(store(Duration::from_secs(3_600)));
    graph.invoke(opening(1)).thread("t").context(DebateContext::new(speaker.clone())).await.unwrap_err();
    let other = debates(store(Duration::from_millis(20)));
    let done = other.continue_thread("t").context(DebateContext::new(speaker)).await.unwrap();
    assert_eq!((done.state.status, done.state.messages.len()), (DebateStatus::Completed, 4));
    while other.threads().get_state("t").await.is_ok() {
        tokio::task::yield_now().await;
    }
}
