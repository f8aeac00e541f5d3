//! Interrupts: raised inside a node, resumed once, by value or by id.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::delegate_checkpointer;
use superstep::core::id::ThreadId;
use superstep::core::machine::ResumeValues;
use superstep::core::port::{CheckpointTuple, Checkpointer, HistoryQuery, SharedCheckpointer, ThreadStatus};
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, ErrorCode, RunEnd};

use crate::support::{Calls, dynamic, expect_error, history, log, log_field, only_question};

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Mail {
    text: String,
    sent: Option<bool>,
    #[reduce(append)]
    log: Vec<String>,
}

/// write → approve, where `approve` interrupts for a boolean.
fn mail(calls: &Calls) -> CompiledGraph<Mail> {
    mail_in(MemoryCheckpointer::new(), calls)
}

fn mail_in(store: impl Into<SharedCheckpointer>, calls: &Calls) -> CompiledGraph<Mail> {
    let mut graph = StateGraph::<Mail>::new("mail");
    let node_calls = calls.clone();
    let write = graph.add_node("write", move || {
        node_calls.note("write");
        Mail::update().text("hello").log("written")
    });
    let node_calls = calls.clone();
    let approve = graph.add_node("approve", move |mail: View<Mail>, interrupts: Interrupts| {
        node_calls.note("approve");
        async move {
            let schema = json!({ "type": "boolean" });
            let yes = interrupts.raise_with_schema("approve", &mail.text, "Send this mail?", Some(schema)).await?;
            Ok::<_, NodeError>(Mail::update().sent(yes == json!(true)))
        }
    });
    graph.add_sequence([START, write.into(), approve.into(), END]).checkpointer(store);
    graph.compile().unwrap()
}

/// START → left, right, plain; `left` and `right` interrupt, `plain` does not.
fn three(calls: &Calls) -> CompiledGraph<DynamicState> {
    let mut graph = dynamic(json!({ "log": log_field() }));
    for name in ["left", "right"] {
        let calls = calls.clone();
        let node =
            graph.add_node(name, move |interrupts: Interrupts| {
                calls.note(name);
                async move {
                    Ok::<_, NodeError>(json!({ "log": interrupts.raise_with_schema(name, null(), "", None).await? }))
                }
            });
        graph.add_edge(START, node).add_edge(node, END);
    }
    let plain = graph.add_node("plain", calls.step("plain"));
    graph.add_edge(START, plain).add_edge(plain, END);
    graph.compile().unwrap()
}

fn null() -> Value {
    Value::Null
}

/// R-FWK-25: an interrupt carries a payload, a text and a schema; the run ends as interrupted, without an error.
#[tokio::test]
async fn a_question_stops_the_run_without_an_error() {
    let graph = mail(&Calls::default());
    let stopped = graph.invoke(Mail::input().text("")).thread("t").await.unwrap();
    let question = only_question(&stopped);
    assert_eq!((question.name.as_str(), &*question.node), ("approve", "approve"));
    assert_eq!((&question.value, question.prompt.as_deref()), (&json!("hello"), Some("Send this mail?")));
    assert_eq!(question.resume_schema, Some(json!({ "type": "boolean" })));
    assert_eq!(stopped.next, ["approve"]);
    assert_eq!(stopped.state.log, ["written"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
    let seen = graph.threads().get_state("t").await.unwrap();
    assert_eq!(seen.interrupts(), [&question]);
}

/// R-FWK-25: an interrupt contains the schema of a typed resume value; an untyped value needs none.
#[tokio::test]
async fn the_type_of_an_answer_is_published_as_a_schema() {
    let mut graph = dynamic(json!({ "n": null }));
    let node = graph.add_node("ask", |interrupts: Interrupts| async move {
        let (n, any): (Result<u8, _>, Result<Value, _>) =
            tokio::join!(interrupts.raise("n", 1), interrupts.raise("any", 2));
        any?;
        Ok::<_, NodeError>(json!({ "n": n? }))
    });
    graph.add_edge(START, node).add_edge(node, END);
    let stopped = graph.compile().unwrap().invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    let schemas: Vec<_> = stopped.interrupts().iter().map(|question| question.resume_schema.clone()).collect();
    assert_eq!(schemas[0].as_ref().unwrap()["type"], "integer");
    assert_eq!(schemas[0].as_ref().unwrap()["maximum"], 255);
    assert_eq!(schemas[1], None);
}

/// R-FWK-26, R-FWK-27, R-FWK-28, R-REF-72: a single resume value goes to the only open interrupt; only the
/// interrupted node runs again.
#[tokio::test]
async fn one_answer_resumes_the_interrupted_node() {
    let calls = Calls::default();
    let graph = mail(&calls);
    graph.invoke(Mail::input().text("")).thread("t").await.unwrap();
    assert_eq!(calls.take(), ["write", "approve"]);
    let ended = graph.resume("t", true).await.unwrap();
    assert_eq!((ended.end, ended.state.sent), (RunEnd::Finished, Some(true)));
    assert_eq!(calls.take(), ["approve"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
}

/// R-FWK-26, R-REF-78: a resume value may name its interrupt by id; the id is the same on every read.
#[tokio::test]
async fn an_answer_may_name_its_question() {
    let graph = mail(&Calls::default());
    let question = only_question(&graph.invoke(Mail::input().text("")).thread("t").await.unwrap());
    let repeated = only_question(&graph.continue_thread("t").await.unwrap());
    assert_eq!(repeated.id, question.id);
    assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts()[0].id, question.id);
    let ended = graph.resume_with("t", ResumeValues::from([(question.id, json!(false))])).await.unwrap();
    assert_eq!(ended.state.sent, Some(false));
}

/// R-FWK-26, R-REF-75: with several open interrupts a single value is rejected with their names; nothing changes.
#[tokio::test]
async fn a_bare_value_is_rejected_when_several_questions_are_open() {
    let calls = Calls::default();
    let graph = three(&calls);
    let stopped = graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    let ids: Vec<String> = stopped.interrupts().iter().map(|question| question.id.to_string()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1]);
    calls.take();
    let error = expect_error(graph.resume("t", "which?").await);
    assert_eq!((error.code(), error.http_status()), (ErrorCode::InvalidResume, 422));
    assert!(ids.iter().all(|id| error.help().unwrap().contains(id)), "{error}");
    assert!(calls.take().is_empty());
    assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts().len(), 2);
}

/// R-FWK-26, R-FWK-27, D9, R-REF-75, R-REF-76: a subset of resume values leaves the other interrupts open; finished
/// tasks never run again.
#[tokio::test]
async fn a_subset_of_answers_leaves_the_other_questions_open() {
    let calls = Calls::default();
    let graph = three(&calls);
    let stopped = graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    assert_eq!(calls.take().len(), 3);
    let id = |name: &str| stopped.interrupts().iter().find(|question| question.name == name).unwrap().id;
    let half = graph.resume_with("t", ResumeValues::from([(id("right"), json!("R"))])).await.unwrap();
    assert_eq!((only_question(&half).id, calls.take()), (id("left"), vec!["right".to_owned()]));
    assert_eq!(log(&half.state), ["in"]);
    let seen = graph.threads().get_state("t").await.unwrap();
    let mut done: Vec<&str> =
        seen.tasks.iter().filter(|task| task.is_finished).map(|task| task.node.as_str()).collect();
    done.sort_unstable();
    assert_eq!((done, seen.interrupts().len()), (vec!["plain", "right"], 1));
    let ended = graph.resume("t", "L").await.unwrap();
    assert_eq!(calls.take(), ["left"]);
    assert_eq!(log(&ended.state), ["in", "L", "R", "plain"]);
}

/// R-FWK-26, R-REF-79: a resume value that is not valid is rejected, the interrupt stays open, and a valid one is
/// accepted then.
#[tokio::test]
async fn a_bad_answer_leaves_the_question_open() {
    let calls = Calls::default();
    let graph = mail(&calls);
    let question = only_question(&graph.invoke(Mail::input().text("")).thread("t").await.unwrap());
    calls.take();
    let before = history(&graph, "t").await.len();
    for run in [graph.resume("t", "maybe"), graph.resume_with("t", ResumeValues::from([(question.id, json!(1))]))] {
        let error = expect_error(run.await);
        assert_eq!((error.code(), error.http_status(), error.diagnostics().len()), (ErrorCode::InvalidResume, 422, 1));
        assert!(error.message().contains("`approve`") && error.help().unwrap().contains("stays open"), "{error}");
        assert_eq!(error.location().thread, Some("t".into()));
    }
    assert!(calls.take().is_empty());
    assert_eq!(history(&graph, "t").await.len(), before);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
    assert_eq!(graph.resume("t", true).await.unwrap().state.sent, Some(true));
}

/// R-FWK-26: one invalid resume value among several rejects all of them.
#[tokio::test]
async fn resume_values_are_accepted_all_or_none() {
    let graph = three(&Calls::default());
    let stopped = graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    let stranger = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    let answers = ResumeValues::from([(stopped.interrupts()[0].id, json!("L")), (stranger, json!("?"))]);
    assert_eq!(expect_error(graph.resume_with("t", answers).await).code(), ErrorCode::InvalidResume);
    assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts().len(), 2);
    let error = expect_error(graph.resume_with("t", ResumeValues::new()).await);
    assert!(error.code() == ErrorCode::InvalidResume && error.message().contains("no resume values"), "{error}");
}

/// R-FWK-26, R-REF-90, R-DEF-5: null is a valid resume value.
#[tokio::test]
async fn null_is_an_answer() {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node = graph.add_node("ask", |interrupts: Interrupts| async move {
        let plain = interrupts.raise_with_schema("plain", null(), "", None).await?;
        let typed: Option<bool> = interrupts.raise("typed", null()).await?;
        Ok::<_, NodeError>(json!({ "log": format!("{plain} {typed:?}") }))
    });
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "log": [] })).thread("t").await.unwrap();
    assert_eq!(only_question(&graph.resume("t", null()).await.unwrap()).name, "typed");
    assert_eq!(log(&graph.resume("t", null()).await.unwrap().state), ["null None"]);
}

/// R-FWK-28, D9, R-REF-73, R-PRB-7: the node runs again from its start, but results of `once` are not computed again.
#[tokio::test]
async fn once_keeps_effects_from_repeating() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node_calls = calls.clone();
    let node = graph.add_node("book", move |cx: TaskContext| {
        let calls = node_calls.clone();
        calls.note("start");
        async move {
            let sent = calls.clone();
            let ticket: u32 = cx
                .once("mail", async move {
                    sent.note("mail");
                    Ok::<_, NodeError>(7)
                })
                .await?;
            let first: String = cx.interrupts().raise("first", ticket).await?;
            let second: String = cx.interrupts().raise("second", ticket).await?;
            Ok::<_, NodeError>(json!({ "log": format!("{ticket} {first} {second}") }))
        }
    });
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "log": [] })).thread("t").await.unwrap();
    assert_eq!(calls.take(), ["start", "mail"]);
    assert_eq!(only_question(&graph.resume("t", "a").await.unwrap()).name, "second");
    let ended = graph.resume("t", "b").await.unwrap();
    assert_eq!((log(&ended.state), calls.take()), (vec!["7 a b".to_owned()], vec!["start".to_owned(); 2]));
}

/// R-FWK-28: concurrent interrupts of a node are open together; the node runs again once, when all are resumed.
#[tokio::test]
async fn questions_raised_together_are_answered_together() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node_calls = calls.clone();
    let node = graph.add_node("ask", move |interrupts: Interrupts| {
        node_calls.note("ask");
        async move {
            let (name, when) =
                tokio::join!(interrupts.raise::<String>("who", 1), interrupts.raise::<String>("when", 2));
            Ok::<_, NodeError>(json!({ "log": format!("{} {}", name?, when?) }))
        }
    });
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    let stopped = graph.invoke(json!({ "log": [] })).thread("t").await.unwrap();
    let ids: Vec<_> = stopped.interrupts().iter().map(|question| question.id).collect();
    assert_eq!((ids.len(), calls.take().len()), (2, 1));
    let half = graph.resume_with("t", ResumeValues::from([(ids[1], json!("now"))])).await.unwrap();
    assert_eq!((only_question(&half).id, calls.take().len()), (ids[0], 0));
    let ended = graph.resume_with("t", ResumeValues::from([(ids[0], json!("Ann"))])).await.unwrap();
    assert_eq!((log(&ended.state), calls.take().len()), (vec!["Ann now".to_owned()], 1));
}

/// R-FWK-28, R-REF-74: interrupts in a loop are matched by their order; resumed ones are not raised again.
#[tokio::test]
async fn a_loop_of_questions_is_matched_by_order() {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node = graph.add_node("ask", |interrupts: Interrupts| async move {
        let mut answers = Vec::new();
        loop {
            let answer: String = interrupts.raise("next", answers.len()).await?;
            if answer.is_empty() {
                return Ok::<_, NodeError>(json!({ "log": answers }));
            }
            answers.push(answer);
        }
    });
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    let mut outcome = graph.invoke(json!({ "log": [] })).thread("t").await.unwrap();
    let mut ids = Vec::new();
    for (index, answer) in ["a", "b", "c", ""].into_iter().enumerate() {
        let question = only_question(&outcome);
        assert_eq!(question.value, json!(index));
        assert!(!ids.contains(&question.id));
        ids.push(question.id);
        outcome = graph.resume("t", answer).await.unwrap();
    }
    assert_eq!(log(&outcome.state), ["a", "b", "c"]);
}

/// R-FWK-28, R-REF-84: a retry after a resume uses the resume value again.
#[tokio::test]
async fn a_retry_reuses_the_answers() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node_calls = calls.clone();
    let work = move |interrupts: Interrupts, cx: TaskContext| {
        let calls = node_calls.clone();
        async move {
            let answer: String = interrupts.raise("name", null()).await?;
            calls.note(format!("{answer} {}", cx.attempt()));
            if cx.attempt() == 1 { Err(NodeError::new("busy").retryable()) } else { Ok(json!({ "log": answer })) }
        }
    };
    let retry = RetryPolicy::exponential(3).initial_interval(std::time::Duration::ZERO);
    let node = graph.add_node("work", node(work).retry(retry));
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "log": [] })).thread("t").await.unwrap();
    assert!(graph.resume("t", "Ann").await.unwrap().is_finished());
    assert_eq!(calls.take(), ["Ann 1", "Ann 2"]);
}

/// R-FWK-29: a second resume value is rejected with the time of the first, while other interrupts are open.
#[tokio::test]
async fn a_second_answer_is_rejected_while_others_are_open() {
    let graph = three(&Calls::default());
    let stopped = graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    let answers = ResumeValues::from([(stopped.interrupts()[0].id, json!("L"))]);
    graph.resume_with("t", answers.clone()).await.unwrap();
    let error = expect_error(graph.resume_with("t", answers).await);
    assert_eq!(error.code(), ErrorCode::InvalidResume);
    assert!(error.message().contains("already resumed at 20"), "{error}");
    assert!(error.help().unwrap().contains("fork"), "{error}");
}

/// R-FWK-29: a second resume value is rejected with the time of the first, also if the thread has continued.
#[tokio::test]
async fn a_second_answer_is_rejected_after_the_thread_has_continued() {
    let calls = Calls::default();
    let graph = mail(&calls);
    let question = only_question(&graph.invoke(Mail::input().text("")).thread("t").await.unwrap());
    graph.resume("t", true).await.unwrap();
    calls.take();
    let by_id = || graph.resume_with("t", ResumeValues::from([(question.id, json!(false))]));
    for run in [by_id(), graph.resume("t", false)] {
        let error = expect_error(run.await);
        assert_eq!(error.code(), ErrorCode::InvalidResume);
        assert!(error.message().contains(&format!("{} was already resumed at 20", question.id)), "{error}");
        assert_eq!(error.location().thread, Some("t".into()));
    }
    assert_eq!(graph.threads().get_state("t").await.unwrap().state.sent, Some(true));
    // A new interrupt of the thread does not reopen the old one.
    graph.invoke(Mail::input().text("again")).thread("t").await.unwrap();
    assert!(expect_error(by_id().await).message().contains("already resumed at 20"));
    assert!(calls.take() == ["write", "approve"]);
}

/// A checkpointer that counts the listed checkpoints.
#[derive(Clone, Default)]
struct CountingCheckpointer(MemoryCheckpointer, Arc<AtomicUsize>);

impl Checkpointer for CountingCheckpointer {
    delegate_checkpointer!(this => this.0; acquire, release, commit, load, threads, status, namespaces);
    delegate_checkpointer!(this => this.0; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.0; events, last_event_number, delete_events);

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> superstep::Result<Vec<CheckpointTuple>> {
        let listed = self.0.history(thread, namespace, query).await?;
        self.1.fetch_add(listed.len(), Ordering::Relaxed);
        Ok(listed)
    }
}

/// R-FWK-29: the cost of rejecting a resume value does not grow with the thread: a recent one is found at once, an
/// older one after a few pages, and the search is limited.
#[tokio::test]
async fn a_rejected_answer_does_not_cost_the_length_of_the_thread() {
    let store = CountingCheckpointer::default();
    let graph = mail_in(store.clone(), &Calls::default());
    let question = only_question(&graph.invoke(Mail::input().text("")).thread("t").await.unwrap());
    graph.resume("t", true).await.unwrap();
    let answers = [question.id, "00000000-0000-0000-0000-000000000001".parse().unwrap()];
    // Checkpoints after the resume value; checkpoints that are listed to find it, and to find an unknown interrupt.
    for (more, is_found, at_most) in [(0, true, [16, 16]), (100, true, [128, 128]), (900, false, [256, 256])] {
        for _ in 0..more {
            graph.threads().update_state("t", Mail::update().log("x")).await.unwrap();
        }
        for (id, at_most) in answers.into_iter().zip(at_most) {
            store.1.store(0, Ordering::Relaxed);
            let error = expect_error(graph.resume_with("t", ResumeValues::from([(id, json!(false))])).await);
            let listed = store.1.load(Ordering::Relaxed);
            assert!(error.code() == ErrorCode::InvalidResume && listed <= at_most, "{listed} after {more}: {error}");
            let is_reported = error.message().contains("already resumed at 20");
            assert_eq!(is_reported, is_found && id == question.id, "after {more}: {error}");
        }
    }
    assert_eq!(graph.threads().get_state("t").await.unwrap().state.log.len(), 1_001);
}

/// R-FWK-29, R-FWK-31: resuming at the checkpoint of the interrupt forks, and uses the new value.
#[tokio::test]
async fn a_fork_resumes_an_interrupt_with_a_new_value() {
    let calls = Calls::default();
    let graph = mail(&calls);
    let stopped = graph.invoke(Mail::input().text("")).thread("t").await.unwrap();
    let (question, checkpoint) = (only_question(&stopped), stopped.checkpoint.unwrap());
    let first = graph.resume("t", true).await.unwrap();
    for (run, sent) in [
        (graph.resume("t", false).from_checkpoint(checkpoint), false),
        (graph.resume_with("t", ResumeValues::from([(question.id, json!(true))])).from_checkpoint(checkpoint), true),
    ] {
        calls.take();
        let ended = run.await.unwrap();
        assert_eq!(
            (ended.end, ended.state.sent, calls.take()),
            (RunEnd::Finished, Some(sent), vec!["approve".to_owned()])
        );
    }
    let old = graph.threads().get_state_at("t", first.checkpoint.unwrap()).await.unwrap();
    assert_eq!(old.state.sent, Some(true));
    assert_eq!(
        expect_error(graph.resume("t", "no").from_checkpoint(checkpoint).await).code(),
        ErrorCode::InvalidResume
    );
}

/// R-FWK-26: resume values for a thread without an interrupt, or without a thread, are rejected.
#[tokio::test]
async fn an_answer_without_an_open_question_is_rejected() {
    let graph = mail(&Calls::default());
    let error = expect_error(graph.resume("nowhere", true).await);
    assert!(error.code() == ErrorCode::InvalidResume && error.help().is_some(), "{error}");
    graph.invoke(Mail::input().text("")).thread("t").await.unwrap();
    let stranger = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    let error = expect_error(graph.resume_with("t", ResumeValues::from([(stranger, json!(true))])).await);
    assert!(error.message().contains("no open interrupt") && error.help().unwrap().contains("`approve`"), "{error}");
}

/// R-FWK-25, R-REF-87: without a checkpointer an interrupt also ends the run without an error; resuming requires a
/// checkpointer.
#[tokio::test]
async fn without_a_store_a_question_can_be_raised_but_not_answered() {
    let mut graph = StateGraph::<Mail>::new("mail");
    let node = graph.add_node("ask", |interrupts: Interrupts| async move {
        Ok::<_, NodeError>(Mail::update().sent(interrupts.raise::<bool>("send?", "x").await?))
    });
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    assert_eq!(graph.invoke(Mail::input().text("x")).await.unwrap().interrupts().len(), 1);
    assert_eq!(expect_error(graph.resume("t", true).await).code(), ErrorCode::NoCheckpointer);
}

/// R-FWK-25, R-FWK-29, R-REF-89: the latest state contains open interrupts only; the history contains all of them.
#[tokio::test]
async fn the_history_contains_all_interrupts() {
    let graph = mail(&Calls::default());
    let stopped = graph.invoke(Mail::input().text("")).thread("t").await.unwrap();
    graph.resume("t", true).await.unwrap();
    assert!(graph.threads().get_state("t").await.unwrap().interrupts().is_empty());
    let seen = graph.threads().get_state_at("t", stopped.checkpoint.unwrap()).await.unwrap();
    assert_eq!(seen.interrupts(), [&only_question(&stopped)]);
}

/// R-FWK-26, R-FWK-27: an interrupt of a subgraph is reported to the caller with its namespace, and is resumed there.
#[tokio::test]
async fn an_interrupt_of_a_subgraph_is_resumed_from_outside() {
    let calls = Calls::default();
    let mut inner = StateGraph::with_schema(
        "inner",
        superstep::Schema::from_json("state", &json!({ "log": log_field() })).unwrap(),
    );
    let before = inner.add_node("before", calls.step("before"));
    let interrupt = inner.add_node("ask", |interrupt: Interrupts| async move {
        Ok::<_, NodeError>(json!({ "log": interrupt.raise::<String>("name", 1).await? }))
    });
    inner.add_sequence([START, before.into(), interrupt.into(), END]);
    let inner: CompiledGraph<DynamicState> = inner.compile().unwrap();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let inner = graph.add_node("inner", inner);
    graph.add_edge(START, inner).add_edge(inner, END);
    let graph = graph.compile().unwrap();
    let question = only_question(&graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap());
    assert!(question.namespace.as_str().starts_with("inner") && &*question.node == "ask");
    let ended = graph.resume_with("t", ResumeValues::from([(question.id, json!("Ann"))])).await.unwrap();
    assert_eq!(
        (log(&ended.state), calls.take()),
        (vec!["in".to_owned(), "before".into(), "Ann".into()], vec!["before".to_owned()])
    );
    let error = expect_error(graph.resume_with("t", ResumeValues::from([(question.id, json!("Bob"))])).await);
    assert!(error.message().contains("already resumed at 20"), "{error}");
}
