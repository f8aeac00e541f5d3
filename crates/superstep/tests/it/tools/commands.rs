//! Tools that return commands: goto and updates of the state.

use serde_json::{Value, json};
use superstep::core::message::RemoveAll;
use superstep::prelude::*;
use superstep::tools::{ToolCallId, ToolErrorHandling, ToolSpec, tool_fn};
use superstep::{CompiledGraph, DynamicState, ErrorCode};

use super::{Chat, Runs, add, answers, call_message, called, echo, text};
use crate::support::expect_error;

/// Sets the topic and continues at `rust`.
#[tool]
async fn talk_about(topic: String) -> Command<Chat> {
    Command::goto("rust").update(Chat::update().log("moved").topic(topic).log("on"))
}

/// Goes on at `go`, and answers in its own words.
#[tool]
async fn ask_go(id: ToolCallId) -> Command<Chat> {
    Command::goto("go").update(Chat::update().log("asked").messages(Message::tool(&*id, "go knows")))
}

/// START → tools → plain, with `rust` and `go` as goto targets.
fn agents() -> CompiledGraph<Chat> {
    let mut g = StateGraph::<Chat>::new("agents");
    let tools = ToolNode::new([talk_about(), ask_go(), add()]);
    let tools = g.add_node("tools", superstep::node(tools).goto_targets(["rust", "go"]));
    g.add_edge(START, tools);
    for name in ["plain", "rust", "go"] {
        let node = g.add_node(name, move || Chat::update().log(name));
        g.add_edge(node, END);
    }
    g.add_edge("tools", "plain");
    g.compile().unwrap()
}

fn texts(messages: &Messages) -> Vec<String> {
    answers(messages).into_iter().map(|(call, text, _)| format!("{call} {text}")).collect()
}

/// R-REF-149 (case 149): a command has exactly one result for its call, with its own message or a generated one; a
/// result for another call is rejected.
#[tokio::test]
async fn a_command_answers_its_call_exactly_once() {
    let run = async |calls: &[(&str, Value)]| {
        agents().invoke(Chat::input().messages(call_message(calls))).await.unwrap().state
    };
    let state = run(&[("talk_about", json!({ "topic": "async" }))]).await;
    assert_eq!(
        (texts(&state.messages), &*state.topic, &state.log[..]),
        (vec!["c0 done".into()], "async", &["moved".into(), "on".into(), "rust".into()][..])
    );
    let state = run(&[("ask_go", json!({}))]).await;
    assert_eq!(
        (texts(&state.messages), &state.log[..]),
        (vec!["c0 go knows".into()], &["asked".into(), "go".into()][..])
    );
    for (ids, text) in [
        (["c0", "c0"], "tool `twice` returned 2 results for its call"),
        (["c0", "c1"], "tool `twice` returned a result for another call"),
    ] {
        let twice = tool_fn(ToolSpec::new("twice", "Answers twice."), move |(): (), _cx| async move {
            Command::<Chat>::new().update(Chat::update().messages(ids.map(|id| Message::tool(id, "x")).to_vec()))
        });
        let calls = [("twice", Value::Null), ("add", json!({ "a": 1, "b": 1 }))];
        let done = called(ToolNode::new([twice.clone(), add()]), &calls).await.unwrap();
        assert_eq!(texts(&done.state.messages), [format!("c0 {text}"), "c1 2".into()]);
        let error = expect_error(
            called(ToolNode::new([twice, add()]).error_handling(ToolErrorHandling::Propagate), &calls).await,
        );
        assert_eq!((error.code(), error.message()), (ErrorCode::ToolFailed, text));
    }
}

/// R-REF-151 (case 151): commands of several tools are combined: updates in the order of the calls, every goto target
/// once, and the results of other calls in the same message.
#[tokio::test]
async fn a_handoff_keeps_the_results_of_other_calls() {
    let calls = [
        ("add", json!({ "a": 1, "b": 2 })),
        ("talk_about", json!({ "topic": "async" })),
        ("ask_go", json!({})),
        ("ask_go", json!({})),
        ("add", json!({ "a": 2, "b": 2 })),
    ];
    let state = agents().invoke(Chat::input().messages(call_message(&calls))).await.unwrap().state;
    assert_eq!(texts(&state.messages), ["c0 3", "c1 done", "c2 go knows", "c3 go knows", "c4 4"]);
    assert_eq!(
        (&*state.topic, &state.log[..]),
        ("async", &["moved", "on", "asked", "asked", "rust", "go"].map(String::from)[..])
    );
}

/// Hands over to the agent `rust` of the graph around.
#[tool]
async fn to_rust(with_answer: bool, id: ToolCallId) -> Command<Chat> {
    let command = Command::goto("rust").to_parent();
    match with_answer {
        true => command.update(Chat::update().topic("handed").messages(Message::tool(&*id, "over to rust"))),
        false => command.update(Chat::update().topic("handed").log("bye").log("bye bye")),
    }
}

/// R-REF-151: a command for the parent graph is passed on together with the turn that it ends: the model message and
/// the results of all calls.
#[tokio::test]
async fn a_handoff_to_the_graph_around_takes_the_turn_along() {
    for with_answer in [true, false] {
        let mut inner = StateGraph::<Chat>::new("first");
        let calls = [("add", json!({ "a": 1, "b": 2 })), ("to_rust", json!({ "with_answer": with_answer }))];
        let model = inner.add_node("model", move || Chat::update().messages(call_message(&calls)));
        let tools = inner.add_node("tools", ToolNode::new([add(), to_rust()]));
        inner.add_sequence([START, model.into(), tools.into(), END]);
        let mut outer = StateGraph::<Chat>::new("agents");
        let first = outer.add_node("first", superstep::node(inner.compile().unwrap()).goto_targets(["rust", "last"]));
        let rust = outer.add_node("rust", |chat: View<Chat>| {
            superstep::tools::ensure_tool_results(&chat.messages)?;
            Ok::<_, NodeError>(Chat::update().log("rust"))
        });
        let last = outer.add_node("last", || Chat::update().log("last"));
        outer.add_edge(START, first).add_edge(first, last).add_edge(last, END).add_edge(rust, END);
        let done = outer.compile().unwrap().invoke(Chat::input().messages("hi")).await.unwrap().state;
        let (answer, roles) = (if with_answer { "over to rust" } else { "done" }, done.messages.len());
        assert_eq!(texts(&done.messages), ["c0 3".to_owned(), format!("c1 {answer}")]);
        let log = if with_answer { &["rust"][..] } else { &["bye", "bye bye", "rust"] };
        assert_eq!((roles, &*done.topic, done.log.iter().map(String::as_str).collect()), (4, "handed", log.to_vec()));
        assert_eq!(done.messages.get(1).unwrap().tool_calls.len(), 2);
    }
}

/// R-REF-149: a command may remove the history including its own call; a result for a removed call is not added.
#[tokio::test]
async fn a_command_may_remove_the_history() {
    let clear = tool_fn(ToolSpec::new("clear", "Forgets."), async |(): (), _cx| {
        Command::<Chat>::new().update(Chat::update().messages(RemoveAll).log("cleared"))
    });
    let done = called(ToolNode::new([clear]), &[("clear", Value::Null)]).await.unwrap();
    assert_eq!((done.state.messages.len(), &done.state.log[..]), (0, &["cleared".to_owned()][..]));
}

/// R-REF-149: a command of a tool for another state is rejected with the name of the unknown field, and never writes
/// a field that only has the same number.
#[tokio::test]
async fn a_command_for_another_state_is_rejected_by_name() {
    let mut g = StateGraph::<DynamicState>::with_schema(
        "other",
        superstep::Schema::from_json(
            "other",
            &json!({ "secret": "string?", "messages": { "type": "messages", "reducer": "add_messages" } }),
        )
        .unwrap(),
    );
    let tools = g.add_node("tools", superstep::node(ToolNode::new([talk_about()])).goto_targets(["rust"]));
    let rust = g.add_node("rust", || json!({}));
    g.add_edge(START, tools).add_edge(tools, END).add_edge(rust, END);
    let input = json!({ "messages": call_message(&[("talk_about", json!({ "topic": "x" }))]) });
    let error = expect_error(g.compile().unwrap().invoke(input).await);
    assert_eq!(error.code(), ErrorCode::UnknownField, "{error}");
    assert!(format!("{error:?}").contains("topic"), "{error:?}");
}

/// R-FWK-79: after a command without a goto the edges of the node are followed.
#[tokio::test]
async fn a_command_without_a_goal_follows_the_edges() {
    let note = tool_fn(ToolSpec::new("note", "Notes."), async |args: super::Text, _cx| {
        Command::<Chat>::new().update(Chat::update().log(args.text))
    });
    let mut g = StateGraph::<Chat>::new("notes");
    let tools = g.add_node("tools", ToolNode::new([note, echo(&Runs::default())]));
    let next = g.add_node("next", || Chat::update().log("next"));
    g.add_sequence([START, tools.into(), next.into(), END]);
    let input = Chat::input().messages(call_message(&[("note", text("noted")), ("echo", text("hi"))]));
    let state = g.compile().unwrap().invoke(input).await.unwrap().state;
    assert_eq!(
        (texts(&state.messages), &state.log[..]),
        (vec!["c0 done".into(), "c1 hi".into()], &["noted".into(), "next".into()][..])
    );
}
