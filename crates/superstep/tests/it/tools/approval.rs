//! Human approval of destructive tools.

use serde_json::{Value, json};
use superstep::core::checkpoint::Interrupt;
use superstep::core::machine::ResumeValues;
use superstep::prelude::*;
use superstep::tools::{Approval, SharedTool, ToolPolicy, ToolSpec, tool_fn};
use superstep::{CompiledGraph, ErrorCode};

use super::{Chat, ChatUpdate, Runs, Text, answers, call_message, echo, graph, graph_in, text};
use crate::support::{expect_error, only_question};

/// A destructive tool that counts its calls.
fn delete(runs: &Runs) -> SharedTool {
    let runs = runs.clone();
    tool_fn(ToolSpec::new("delete", "Deletes a file.").destructive(), move |args: Text, _cx| {
        runs.note("delete");
        async move { format!("deleted {}", args.text) }
    })
}

fn deletes(runs: &Runs, policy: ToolPolicy) -> CompiledGraph<Chat> {
    graph(ToolNode::new([delete(runs), echo(runs)]).policy(policy))
}

fn calls(calls: &[(&str, &str)]) -> ChatUpdate {
    let calls: Vec<(&str, Value)> = calls.iter().map(|(tool, argument)| (*tool, text(argument))).collect();
    Chat::input().messages(call_message(&calls))
}

fn texts(messages: &Messages) -> Vec<String> {
    answers(messages).into_iter().map(|(_, text, _)| text).collect()
}

fn approve(question: &Interrupt) -> Value {
    json!(Approval::approve(question).unwrap())
}

/// R-FWK-86: a destructive tool does not run before it is approved; the interrupt contains the tool, its arguments
/// and their hash, and other calls run meanwhile, once.
#[tokio::test]
async fn a_destructive_tool_waits_for_a_person() {
    let runs = Runs::default();
    let graph = deletes(&runs, ToolPolicy::default());
    let paused = graph.invoke(calls(&[("delete", "a.txt"), ("echo", "hi")])).thread("t").await.unwrap();
    let question = only_question(&paused);
    assert_eq!(
        (&question.value["tool"], &question.value["arguments"]),
        (&json!("delete"), &json!({ "text": "a.txt" }))
    );
    assert_eq!(question.value["hash"].as_str().unwrap().len(), 32);
    assert_eq!(question.prompt.as_deref(), Some("Approve this call of `delete`?"));
    assert_eq!((runs.count("delete"), runs.count("echo"), paused.state.messages.len()), (0, 1, 1));
    let done = graph.resume("t", approve(&question)).await.unwrap();
    assert_eq!(texts(&done.state.messages), ["deleted a.txt", "hi"]);
    assert_eq!((runs.count("delete"), runs.count("echo")), (1, 1));
}

/// R-FWK-86: an approval is bound to the displayed call: with the hash of other arguments, without a hash, or as a
/// plain `true` it is rejected, and the interrupt stays open.
#[tokio::test]
async fn an_approval_of_another_call_is_rejected() {
    let runs = Runs::default();
    let graph = deletes(&runs, ToolPolicy::default());
    let other = only_question(&graph.invoke(calls(&[("delete", "b.txt")])).thread("other").await.unwrap());
    let question = only_question(&graph.invoke(calls(&[("delete", "a.txt")])).thread("t").await.unwrap());
    assert_ne!(question.value["hash"], other.value["hash"]);
    for answer in [
        approve(&other),
        json!({ "decision": "approve" }),
        json!(true),
        json!("approve"),
        json!({ "decision": "edit", "hash": other.value["hash"], "args": {} }),
    ] {
        let error = expect_error(graph.resume("t", &answer).await);
        assert_eq!(error.code(), ErrorCode::InvalidResume, "{answer}");
    }
    assert_eq!(runs.count("delete"), 0);
    assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts(), [&question]);
    graph.resume("t", approve(&question)).await.unwrap();
    assert_eq!(runs.count("delete"), 1);
}

/// R-FWK-86: equal arguments have one hash, in any order.
#[tokio::test]
async fn the_hash_is_of_the_arguments_and_not_of_their_order() {
    let runs = Runs::default();
    let tool = || {
        tool_fn(ToolSpec::new("move", "Moves.").destructive(), async |args: serde_json::Map<String, Value>, _cx| {
            args.len()
        })
    };
    let mut hashes = Vec::new();
    for args in [
        r#"{"a": 1, "b": {"c": [1, "x"], "d": null}}"#,
        r#"{"b": {"d": null, "c": [1, "x"]}, "a": 1}"#,
        r#"{"a": 1, "b": {"c": ["x", 1], "d": null}}"#,
    ] {
        let input = Chat::input().messages(call_message(&[("move", serde_json::from_str(args).unwrap())]));
        let paused = graph(ToolNode::new([tool(), echo(&runs)])).invoke(input).thread("t").await.unwrap();
        hashes.push(only_question(&paused).value["hash"].clone());
    }
    assert!(hashes[0] == hashes[1] && hashes[1] != hashes[2], "{hashes:?}");
}

/// R-FWK-86: a human may change the arguments, which are validated with the schema, or reject the call with a reason
/// for the model; there is one interrupt per call, all at once.
#[tokio::test]
async fn a_person_may_edit_or_reject() {
    let runs = Runs::default();
    let graph = deletes(&runs, ToolPolicy::default());
    let paused = graph
        .invoke(calls(&[("delete", "1"), ("delete", "2"), ("delete", "3"), ("delete", "4")]))
        .thread("t")
        .await
        .unwrap();
    let questions = paused.interrupts();
    let arguments: Vec<_> = questions.iter().map(|question| &question.value["arguments"]["text"]).collect();
    assert_eq!(arguments, ["1", "2", "3", "4"]);
    let edit =
        |question: &Interrupt, args: Value| json!(Approval::edit(question, args.as_object().unwrap().clone()).unwrap());
    let first = ResumeValues::from([
        (questions[1].id, edit(&questions[1], json!({ "text": "2b" }))),
        (questions[2].id, edit(&questions[2], json!({ "path": "s3cret" }))),
    ]);
    let half = graph.resume_with("t", first).await.unwrap();
    assert_eq!((half.interrupts().len(), runs.count("delete")), (2, 0));
    let rest = ResumeValues::from([
        (questions[0].id, json!(Approval::reject("we need it"))),
        (questions[3].id, json!({ "decision": "reject" })),
    ]);
    let done = graph.resume_with("t", rest).await.unwrap();
    assert_eq!(
        texts(&done.state.messages),
        [
            "not executed: we need it",
            "deleted 2b",
            "invalid arguments for `delete`: unknown argument `path`; known: `text`; `text` is missing: expected string",
            "not executed: the call was rejected",
        ]
    );
    assert_eq!(runs.count("delete"), 1);
    assert!(!answers(&done.state.messages)[0].2);
}

/// R-FWK-86: a policy lets a destructive tool run without approval, requires approval for a harmless one, and denies
/// one.
#[tokio::test]
async fn a_policy_allows_asks_and_denies() {
    let rows = [
        (ToolPolicy::allow(["delete"]), 0, vec!["deleted a", "b"]),
        (ToolPolicy::allow(["*"]), 0, vec!["deleted a", "b"]),
        (ToolPolicy::allow(["*"]).and_require_approval(["echo"]), 1, vec!["deleted a", "b"]),
        (ToolPolicy::require_approval(["echo"]), 2, vec!["deleted a", "b"]),
        (ToolPolicy::deny(["delete"]), 0, vec!["not executed: the policy denies `delete`", "b"]),
        (ToolPolicy::deny(["*"]).and_allow(["echo"]), 0, vec!["not executed: the policy denies `delete`", "b"]),
    ];
    for (policy, interrupt_count, expected) in rows {
        let label = format!("{policy:?}");
        let graph = deletes(&Runs::default(), policy);
        let mut outcome = graph.invoke(calls(&[("delete", "a"), ("echo", "b")])).thread("t").await.unwrap();
        assert_eq!(outcome.interrupts().len(), interrupt_count, "{label}");
        if interrupt_count > 0 {
            let yes = outcome.interrupts().iter().map(|question| (question.id, approve(question))).collect();
            outcome = graph.resume_with("t", yes).await.unwrap();
        }
        assert_eq!(texts(&outcome.state.messages), expected, "{label}");
    }
}

/// R-FWK-86, R-FWK-81: an invalid call requires no approval.
#[tokio::test]
async fn no_approval_is_requested_for_an_invalid_call() {
    let input = Chat::input().messages(call_message(&[("delete", json!({ "text": 7 }))]));
    let done = deletes(&Runs::default(), ToolPolicy::default()).invoke(input).thread("t").await.unwrap();
    assert_eq!(texts(&done.state.messages), ["invalid arguments for `delete`: `text`: expected string, found integer"]);
}

/// R-FWK-86: one interrupt may cover all calls of a message; its resume value is a list, each entry bound to its
/// call.
#[tokio::test]
async fn calls_may_be_approved_together() {
    let runs = Runs::default();
    let graph = graph(ToolNode::new([delete(&runs), echo(&runs)]).batch_approvals());
    let paused = graph.invoke(calls(&[("delete", "1"), ("echo", "hi"), ("delete", "2")])).thread("t").await.unwrap();
    let question = only_question(&paused);
    let hashes = [0, 1].map(|index| question.value[index]["hash"].clone());
    let yes = |index: usize| json!({ "decision": "approve", "hash": hashes[index] });
    for answer in [json!([yes(0)]), json!([yes(1), yes(0)]), yes(0), json!([yes(0), yes(1), yes(1)])] {
        assert_eq!(expect_error(graph.resume("t", &answer).await).code(), ErrorCode::InvalidResume, "{answer}");
    }
    let done = graph.resume("t", json!([Approval::reject("keep it"), yes(1)])).await.unwrap();
    assert_eq!(texts(&done.state.messages), ["not executed: keep it", "hi", "deleted 2"]);
    assert_eq!((runs.count("delete"), runs.count("echo")), (1, 1));
}

/// R-FWK-86: a decision stays with its call, also if the tools have changed since: a rejected call does not run, and
/// an approved one does.
#[tokio::test]
async fn an_answer_stays_with_its_call() {
    let (runs, store) = (Runs::default(), MemoryCheckpointer::new());
    let node = |is_destructive: bool| {
        let seen = runs.clone();
        let spec = ToolSpec::new("wipe", "Wipes a disk.");
        let spec = if is_destructive { spec.destructive() } else { spec.read_only() };
        let wipe = tool_fn(spec, move |_args: Text, _cx| {
            seen.note("wipe");
            async move { "wiped" }
        });
        ToolNode::new([wipe, delete(&runs)])
    };
    let paused =
        graph_in(store.clone(), node(true)).invoke(calls(&[("wipe", "a"), ("delete", "b")])).thread("t").await.unwrap();
    let interrupts = paused.interrupts();
    assert_eq!(interrupts.len(), 2);
    let decisions = [(interrupts[0].id, json!(Approval::reject("never"))), (interrupts[1].id, approve(&interrupts[1]))];
    let changed = graph_in(store, node(false));
    let done = changed.resume_with("t", decisions.into_iter().collect::<ResumeValues>()).await.unwrap();
    assert_eq!((runs.count("wipe"), runs.count("delete")), (0, 1));
    assert_eq!(texts(&done.state.messages), ["not executed: never", "deleted b"]);
}
