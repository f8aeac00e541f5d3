//! A finished call is not repeated: after an interrupt, an error, a crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::tools::{SharedTool, ToolSpec, tool_fn};
use superstep::{CompiledGraph, Error, Outcome};

use super::{Chat, Runs, Text, answers, call_message, echo, graph, graph_in, text};
use crate::support::only_question;

/// Sends a mail once a person says so.
#[tool]
async fn send(to: String, interrupts: Interrupts) -> Result<String, ToolError> {
    let yes: bool = interrupts.raise("send it?", &to).await?;
    Ok(format!("{to}: {yes}"))
}

/// R-FWK-80: an interrupt of a tool is reported by the node; results of other calls are kept, and each interrupt is
/// resumed separately.
#[tokio::test]
async fn a_tool_may_ask_a_person() {
    let runs = Runs::default();
    let graph = graph(ToolNode::new([send(), echo(&runs)]));
    let calls = [("send", json!({ "to": "ann" })), ("echo", text("hi")), ("send", json!({ "to": "bob" }))];
    let paused = graph.invoke(Chat::input().messages(call_message(&calls))).thread("t").await.unwrap();
    let values: Vec<_> = paused.interrupts().iter().map(|question| question.value.clone()).collect();
    assert_eq!(values, [json!("ann"), json!("bob")]);
    let [first, second] = [0, 1].map(|index| paused.interrupts()[index].id);
    let half = graph.resume_with("t", [(second, json!(false))].into()).await.unwrap();
    assert_eq!(only_question(&half).id, first);
    let done = graph.resume("t", true).await.unwrap();
    let texts: Vec<_> = answers(&done.state.messages).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!((texts, runs.count("echo")), (vec!["ann: true".to_owned(), "hi".into(), "bob: false".into()], 1));
}

/// R-FWK-80: each call has separate recorded results and idempotency keys: two calls of one tool do not share them.
#[tokio::test]
async fn two_calls_of_one_tool_do_not_share_recorded_results() {
    let pay = tool_fn(ToolSpec::new("pay", "Pays."), async |args: Text, cx: superstep::tools::ToolContext| {
        let cx: TaskContext = cx.get()?;
        let paid = cx.once("pay", async { Ok::<_, NodeError>(args.text) }).await?;
        let noted = cx.task("note", async { Ok::<_, NodeError>(format!("noted {paid}")) }).await?;
        Ok::<_, ToolError>(format!("{noted} {}", cx.idempotency_key()))
    });
    let calls = [("pay", text("1")), ("pay", text("2"))];
    let done =
        graph(ToolNode::new([pay])).invoke(Chat::input().messages(call_message(&calls))).thread("t").await.unwrap();
    let texts: Vec<_> = answers(&done.state.messages).into_iter().map(|(_, text, _)| text).collect();
    assert!(texts[0].starts_with("noted 1 ") && texts[1].starts_with("noted 2 "), "{texts:?}");
    assert_ne!(texts[0].split_at(8).1, texts[1].split_at(8).1);
}

/// A tool that counts its calls, unless the process is already dead.
fn counted(name: &str, runs: &Runs, dead: &Arc<AtomicBool>) -> SharedTool {
    let (tool, runs, dead) = (name.to_owned(), runs.clone(), dead.clone());
    tool_fn(ToolSpec::new(name, "Counts."), move |args: Text, _| {
        let is_dead = dead.load(Ordering::SeqCst);
        if !is_dead {
            runs.note(&tool);
        }
        async move { args.text }
    })
}

async fn live(
    graph: &CompiledGraph<Chat>,
    store: impl Into<SharedCheckpointer>,
    continues: bool,
) -> Result<Outcome<Chat>, Error> {
    let store = store.into();
    let has_thread = continues && graph.threads().checkpointer(store.clone()).get_state("t").await.is_ok();
    if has_thread {
        return graph.continue_thread("t").checkpointer(store).await;
    }
    let calls = [("first", text("1")), ("second", text("2"))];
    graph.invoke(Chat::input().messages(call_message(&calls))).thread("t").checkpointer(store).await
}

/// R-FWK-79, R-FWK-28: a process that dies between two calls of one message does not repeat the first; only a call
/// whose result was not saved runs again.
#[tokio::test]
async fn a_crash_between_two_calls_repeats_none_that_is_recorded() {
    for last in [CrashedWrite::Persisted, CrashedWrite::Lost] {
        for at in 0.. {
            let (runs, disk, dead) = (Runs::default(), MemoryCheckpointer::new(), Arc::new(AtomicBool::new(false)));
            let store = CrashingCheckpointer::new(disk.clone(), at, last);
            let watch = Watch(store.clone(), dead.clone());
            let node = ToolNode::new([counted("first", &runs, &dead), counted("second", &runs, &dead)]);
            let graph = graph_in(disk.clone(), node.max_concurrency(1));
            let survived = live(&graph, watch, false).await.is_ok();
            dead.store(false, Ordering::SeqCst);
            let done = live(&graph, disk, true).await.unwrap();
            let texts: Vec<_> = answers(&done.state.messages).into_iter().map(|(_, text, _)| text).collect();
            assert_eq!(texts, ["1", "2"], "crash at {at}, {last:?}");
            let extra = runs.count("first") + runs.count("second") - 2;
            assert!(extra <= usize::from(last == CrashedWrite::Lost), "crash at {at}, {last:?}: {extra} calls again");
            if survived {
                assert!(at >= 4, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}

/// R-FWK-79, R-FWK-28: with `at_most_once` no call with side effects runs twice, at whatever write the process dies;
/// one with an unknown outcome reports it. Read-only calls run again.
#[tokio::test]
async fn a_call_that_changes_something_is_made_at_most_once() {
    let mut unknown = 0;
    for last in [CrashedWrite::Persisted, CrashedWrite::Lost] {
        for at in 0.. {
            let (runs, disk, dead) = (Runs::default(), MemoryCheckpointer::new(), Arc::new(AtomicBool::new(false)));
            let watch = Watch(CrashingCheckpointer::new(disk.clone(), at, last), dead.clone());
            let reads = counted("second", &runs, &dead);
            let mut spec = (**reads.spec()).clone();
            spec.annotations.read_only = true;
            let node = ToolNode::new([counted("first", &runs, &dead), reads.with_spec(spec)]);
            let graph = graph_in(disk.clone(), node.max_concurrency(1).at_most_once());
            let survived = live(&graph, watch, false).await.is_ok();
            dead.store(false, Ordering::SeqCst);
            let done = live(&graph, disk, true).await.unwrap();
            let results = answers(&done.state.messages);
            assert!(runs.count("first") <= 1, "crash at {at}, {last:?}: {} calls", runs.count("first"));
            assert_eq!((results[1].1.as_str(), results[1].2), ("2", true), "crash at {at}, {last:?}");
            match results[0].2 {
                true => assert_eq!((results[0].1.as_str(), runs.count("first")), ("1", 1)),
                false => {
                    unknown += 1;
                    assert!(results[0].1.starts_with("outcome of `first` is unknown"), "{results:?}");
                    let message = done.state.messages.iter().find(|message| message.tool_call_id.is_some()).unwrap();
                    assert_eq!(message.metadata["error"], "outcome_unknown");
                }
            }
            if survived {
                assert!(results[0].2 && at >= 5, "the sweep ended after {at} writes");
                break;
            }
        }
    }
    // The marker was kept and the call not executed; the call was executed and its result lost.
    assert_eq!(unknown, 2);
}

/// R-FWK-79, R-FWK-28: with `at_most_once` a failed call is not retried, whatever retries the tool requests.
#[tokio::test]
async fn a_call_that_fails_is_not_made_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = calls.clone();
    let charge = tool_fn(ToolSpec::new("first", "Charges."), move |_: Text, _| {
        seen.fetch_add(1, Ordering::SeqCst);
        async { Err::<String, _>(ToolError::new("away").retryable()) }
    });
    let mut spec = (**charge.spec()).clone();
    spec.retries = 2;
    let (runs, dead) = (Runs::default(), Arc::new(AtomicBool::new(false)));
    for (is_once, expected) in [(false, 3), (true, 1)] {
        calls.store(0, Ordering::SeqCst);
        let node = ToolNode::new([charge.clone().with_spec(spec.clone()), counted("second", &runs, &dead)]);
        let graph = graph_in(MemoryCheckpointer::new(), if is_once { node.at_most_once() } else { node });
        drop(live(&graph, MemoryCheckpointer::new(), false).await);
        assert_eq!(calls.load(Ordering::SeqCst), expected);
    }
}

/// R-FWK-80, R-FWK-79: an at-most-once call may interrupt, and continues with the resume value.
#[tokio::test]
async fn a_call_at_most_once_may_ask_a_person() {
    for others in [0, 1] {
        let runs = Runs::default();
        let graph = graph(ToolNode::new([send(), echo(&runs)]).at_most_once());
        let mut calls = vec![("send", json!({ "to": "ann" }))];
        calls.extend((0..others).map(|_| ("echo", text("hi"))));
        let paused = graph.invoke(Chat::input().messages(call_message(&calls))).thread("t").await.unwrap();
        assert_eq!(only_question(&paused).value, json!("ann"));
        let done = graph.resume("t", true).await.unwrap();
        assert_eq!(answers(&done.state.messages)[0].1, "ann: true");
        assert_eq!(runs.count("echo"), others);
    }
}

/// A checkpointer that reports its crash.
struct Watch(CrashingCheckpointer, Arc<AtomicBool>);

impl superstep::core::port::Checkpointer for Watch {
    superstep::core::delegate_checkpointer!(this => this.0; acquire, release, load, history, threads, status, namespaces);
    superstep::core::delegate_checkpointer!(this => this.0; delete_thread, copy_thread, prune, stats, events, last_event_number, delete_events);

    async fn commit(&self, commit: &superstep::core::port::Commit) -> superstep::Result<()> {
        let result = self.0.commit(commit).await;
        self.1.store(self.0.has_crashed(), Ordering::SeqCst);
        result
    }
}

/// R-FWK-80: an interrupted call does not time out, and gets the same resume value when it fails and is retried.
#[tokio::test]
async fn a_retried_call_gets_the_same_resume_value() {
    let attempts = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = attempts.clone();
    let fragile = tool_fn(
        ToolSpec::new("fragile", "Asks, then fails once.").retries(1),
        move |(): (), cx: superstep::tools::ToolContext| {
            let attempts = seen.clone();
            async move {
                let interrupts: Interrupts = cx.get()?;
                let name: String = interrupts.raise("name?", Value::Null).await?;
                match attempts.fetch_add(1, Ordering::SeqCst) {
                    0 => Err(ToolError::new("not yet")),
                    _ => Ok(name),
                }
            }
        },
    );
    let graph = graph(ToolNode::new([fragile]));
    let paused =
        graph.invoke(Chat::input().messages(call_message(&[("fragile", Value::Null)]))).thread("t").await.unwrap();
    only_question(&paused);
    let clock = superstep::testing::ManualClock::new();
    let run = tokio::spawn(graph.resume("t", "ann").clock(clock.clone()).into_future());
    super::until(|| attempts.load(Ordering::SeqCst) == 1 && clock.sleepers() == 1).await;
    clock.advance(std::time::Duration::from_secs(1));
    let done = run.await.unwrap().unwrap();
    assert_eq!((done.state.messages.last().unwrap().text().as_ref(), done.is_finished()), ("ann", true));
}
