//! Questions to a person: asked inside a node, answered once, by value or by id.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use superstep::core::checkpoint::Namespace;
use superstep::core::forward_checkpointer;
use superstep::core::id::ThreadId;
use superstep::core::machine::Answers;
use superstep::core::port::{Checkpointer, HistoryQuery, Loaded, SharedCheckpointer, ThreadStatus};
use superstep::prelude::*;
use superstep::{Code, Compiled, Record, Status};

use crate::support::{Calls, dynamic, history, log, log_field, only_question, refused};

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Mail {
    text: String,
    sent: Option<bool>,
    #[reduce(append)]
    log: Vec<String>,
}

/// write → approve, where `approve` asks for a boolean.
fn mail(calls: &Calls) -> Compiled<Mail> {
    mail_in(Memory::new(), calls)
}

fn mail_in(store: impl Into<SharedCheckpointer>, calls: &Calls) -> Compiled<Mail> {
    let mut graph = Graph::<Mail>::new("mail");
    let noted = calls.clone();
    let write = graph.node("write", move || {
        noted.note("write");
        Mail::update().text("hello").log("written")
    });
    let noted = calls.clone();
    let approve = graph.node("approve", move |mail: View<Mail>, ask: Ask| {
        noted.note("approve");
        async move {
            let schema = json!({ "type": "boolean" });
            let yes = ask.with("approve", &mail.text, "Send this mail?", Some(schema)).await?;
            Ok::<_, NodeError>(Mail::update().sent(yes == json!(true)))
        }
    });
    graph.sequence([START, write.into(), approve.into(), END]).checkpointer(store);
    graph.compile().unwrap()
}

/// START → left, right, plain; `left` and `right` ask, `plain` does not.
fn three(calls: &Calls) -> Compiled<Record> {
    let mut graph = dynamic(json!({ "log": log_field() }));
    for name in ["left", "right"] {
        let calls = calls.clone();
        let node = graph.node(name, move |ask: Ask| {
            calls.note(name);
            async move { Ok::<_, NodeError>(json!({ "log": ask.with(name, null(), "", None).await? })) }
        });
        graph.edge(START, node).edge(node, END);
    }
    let plain = graph.node("plain", calls.step("plain"));
    graph.edge(START, plain).edge(plain, END);
    graph.compile().unwrap()
}

fn null() -> Value {
    Value::Null
}

/// R-FWK-25: a question carries what to show, a text and a schema; the run ends well, as interrupted.
#[tokio::test]
async fn a_question_stops_the_run_without_an_error() {
    let graph = mail(&Calls::default());
    let stopped = graph.run(Mail::input().text("")).thread("t").await.unwrap();
    let question = only_question(&stopped);
    assert_eq!((question.name.as_str(), &*question.node), ("approve", "approve"));
    assert_eq!((&question.value, question.text.as_deref()), (&json!("hello"), Some("Send this mail?")));
    assert_eq!(question.schema, Some(json!({ "type": "boolean" })));
    assert_eq!(stopped.next, ["approve"]);
    assert_eq!(stopped.state.log, ["written"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
    let seen = graph.threads().state("t").await.unwrap();
    assert_eq!(seen.questions(), [&question]);
}

/// R-FWK-25: the schema of a typed answer goes with the question; a plain value needs none.
#[tokio::test]
async fn the_type_of_an_answer_is_published_as_a_schema() {
    let mut graph = dynamic(json!({ "n": null }));
    let node = graph.node("ask", |ask: Ask| async move {
        let (n, any): (Result<u8, _>, Result<Value, _>) = tokio::join!(ask.person("n", 1), ask.person("any", 2));
        any?;
        Ok::<_, NodeError>(json!({ "n": n? }))
    });
    graph.edge(START, node).edge(node, END);
    let stopped = graph.compile().unwrap().run(json!({ "n": 0 })).thread("t").await.unwrap();
    let schemas: Vec<_> = stopped.questions().iter().map(|question| question.schema.clone()).collect();
    assert_eq!(schemas[0].as_ref().unwrap()["type"], "integer");
    assert_eq!(schemas[0].as_ref().unwrap()["maximum"], 255);
    assert_eq!(schemas[1], None);
}

/// R-FWK-26, R-FWK-27, R-FWK-28, R-REF-72: one answer goes to the one open question; only the node that asked runs
/// again.
#[tokio::test]
async fn one_answer_resumes_the_node_that_asked() {
    let calls = Calls::default();
    let graph = mail(&calls);
    graph.run(Mail::input().text("")).thread("t").await.unwrap();
    assert_eq!(calls.take(), ["write", "approve"]);
    let ended = graph.resume("t", true).await.unwrap();
    assert_eq!((ended.status, ended.state.sent), (Status::Finished, Some(true)));
    assert_eq!(calls.take(), ["approve"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
}

/// R-FWK-26, R-REF-78: an answer may name the question by id; the id is the same whenever it is read.
#[tokio::test]
async fn an_answer_may_name_its_question() {
    let graph = mail(&Calls::default());
    let question = only_question(&graph.run(Mail::input().text("")).thread("t").await.unwrap());
    let again = only_question(&graph.go_on("t").await.unwrap());
    assert_eq!(again.id, question.id);
    assert_eq!(graph.threads().state("t").await.unwrap().questions()[0].id, question.id);
    let ended = graph.resume_with("t", Answers::from([(question.id, json!(false))])).await.unwrap();
    assert_eq!(ended.state.sent, Some(false));
}

/// R-FWK-26, R-REF-75: with several open questions a bare value is refused, naming them; nothing has changed.
#[tokio::test]
async fn a_bare_value_is_refused_when_several_questions_are_open() {
    let calls = Calls::default();
    let graph = three(&calls);
    let stopped = graph.run(json!({ "log": "in" })).thread("t").await.unwrap();
    let ids: Vec<String> = stopped.questions().iter().map(|question| question.id.to_string()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1]);
    calls.take();
    let error = refused(graph.resume("t", "which?").await);
    assert_eq!((error.code(), error.http_status()), (Code::InvalidResume, 422));
    assert!(ids.iter().all(|id| error.advice().unwrap().contains(id)), "{error}");
    assert!(calls.take().is_empty());
    assert_eq!(graph.threads().state("t").await.unwrap().questions().len(), 2);
}

/// R-FWK-26, R-FWK-27, D9, R-REF-75, R-REF-76: a subset of answers leaves the others open; finished tasks are never
/// run again.
#[tokio::test]
async fn a_subset_of_answers_leaves_the_other_questions_open() {
    let calls = Calls::default();
    let graph = three(&calls);
    let stopped = graph.run(json!({ "log": "in" })).thread("t").await.unwrap();
    assert_eq!(calls.take().len(), 3);
    let id = |name: &str| stopped.questions().iter().find(|question| question.name == name).unwrap().id;
    let half = graph.resume_with("t", Answers::from([(id("right"), json!("R"))])).await.unwrap();
    assert_eq!((only_question(&half).id, calls.take()), (id("left"), vec!["right".to_owned()]));
    assert_eq!(log(&half.state), ["in"]);
    let seen = graph.threads().state("t").await.unwrap();
    let mut done: Vec<&str> = seen.tasks.iter().filter(|task| task.is_done).map(|task| task.node.as_str()).collect();
    done.sort_unstable();
    assert_eq!((done, seen.questions().len()), (vec!["plain", "right"], 1));
    let ended = graph.resume("t", "L").await.unwrap();
    assert_eq!(calls.take(), ["left"]);
    assert_eq!(log(&ended.state), ["in", "L", "R", "plain"]);
}

/// R-FWK-26, R-REF-79: an answer that does not fit is refused, the question stays open, and a good one works then.
#[tokio::test]
async fn a_bad_answer_leaves_the_question_open() {
    let calls = Calls::default();
    let graph = mail(&calls);
    let question = only_question(&graph.run(Mail::input().text("")).thread("t").await.unwrap());
    calls.take();
    let before = history(&graph, "t").await.len();
    for run in [graph.resume("t", "maybe"), graph.resume_with("t", Answers::from([(question.id, json!(1))]))] {
        let error = refused(run.await);
        assert_eq!((error.code(), error.http_status(), error.problems().len()), (Code::InvalidResume, 422, 1));
        assert!(error.message().contains("`approve`") && error.advice().unwrap().contains("stays open"), "{error}");
        assert_eq!(error.place().thread, Some("t".into()));
    }
    assert!(calls.take().is_empty());
    assert_eq!(history(&graph, "t").await.len(), before);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
    assert_eq!(graph.resume("t", true).await.unwrap().state.sent, Some(true));
}

/// R-FWK-26: among several answers one bad one refuses them all; none counts.
#[tokio::test]
async fn answers_are_taken_all_or_none() {
    let graph = three(&Calls::default());
    let stopped = graph.run(json!({ "log": "in" })).thread("t").await.unwrap();
    let stranger = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    let answers = Answers::from([(stopped.questions()[0].id, json!("L")), (stranger, json!("?"))]);
    assert_eq!(refused(graph.resume_with("t", answers).await).code(), Code::InvalidResume);
    assert_eq!(graph.threads().state("t").await.unwrap().questions().len(), 2);
    let error = refused(graph.resume_with("t", Answers::new()).await);
    assert!(error.code() == Code::InvalidResume && error.message().contains("no answers"), "{error}");
}

/// R-FWK-26, R-REF-90, R-DEF-5: null is an answer like any other.
#[tokio::test]
async fn null_is_an_answer() {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node = graph.node("ask", |ask: Ask| async move {
        let plain = ask.with("plain", null(), "", None).await?;
        let typed: Option<bool> = ask.person("typed", null()).await?;
        Ok::<_, NodeError>(json!({ "log": format!("{plain} {typed:?}") }))
    });
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    graph.run(json!({ "log": [] })).thread("t").await.unwrap();
    assert_eq!(only_question(&graph.resume("t", null()).await.unwrap()).name, "typed");
    assert_eq!(log(&graph.resume("t", null()).await.unwrap().state), ["null None"]);
}

/// R-FWK-28, D9, R-REF-73, R-PRB-7: the node runs again from its start, but what it did `once` is not done again.
#[tokio::test]
async fn once_keeps_effects_from_repeating() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let noted = calls.clone();
    let node = graph.node("book", move |cx: Cx| {
        let calls = noted.clone();
        calls.note("start");
        async move {
            let sent = calls.clone();
            let ticket: u32 = cx
                .once("mail", async move {
                    sent.note("mail");
                    Ok::<_, NodeError>(7)
                })
                .await?;
            let first: String = cx.ask().person("first", ticket).await?;
            let second: String = cx.ask().person("second", ticket).await?;
            Ok::<_, NodeError>(json!({ "log": format!("{ticket} {first} {second}") }))
        }
    });
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    graph.run(json!({ "log": [] })).thread("t").await.unwrap();
    assert_eq!(calls.take(), ["start", "mail"]);
    assert_eq!(only_question(&graph.resume("t", "a").await.unwrap()).name, "second");
    let ended = graph.resume("t", "b").await.unwrap();
    assert_eq!((log(&ended.state), calls.take()), (vec!["7 a b".to_owned()], vec!["start".to_owned(); 2]));
}

/// R-FWK-28: questions asked at the same time wait together; the node is run again once, when all are answered.
#[tokio::test]
async fn questions_asked_together_are_answered_together() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let noted = calls.clone();
    let node = graph.node("ask", move |ask: Ask| {
        noted.note("ask");
        async move {
            let (who, when) = tokio::join!(ask.person::<String>("who", 1), ask.person::<String>("when", 2));
            Ok::<_, NodeError>(json!({ "log": format!("{} {}", who?, when?) }))
        }
    });
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    let stopped = graph.run(json!({ "log": [] })).thread("t").await.unwrap();
    let ids: Vec<_> = stopped.questions().iter().map(|question| question.id).collect();
    assert_eq!((ids.len(), calls.take().len()), (2, 1));
    let half = graph.resume_with("t", Answers::from([(ids[1], json!("now"))])).await.unwrap();
    assert_eq!((only_question(&half).id, calls.take().len()), (ids[0], 0));
    let ended = graph.resume_with("t", Answers::from([(ids[0], json!("Ann"))])).await.unwrap();
    assert_eq!((log(&ended.state), calls.take().len()), (vec!["Ann now".to_owned()], 1));
}

/// R-FWK-28, R-REF-74: questions in a loop are matched by their order; answered ones are not asked again.
#[tokio::test]
async fn a_loop_of_questions_is_matched_by_order() {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node = graph.node("ask", |ask: Ask| async move {
        let mut heard = Vec::new();
        loop {
            let answer: String = ask.person("next", heard.len()).await?;
            if answer.is_empty() {
                return Ok::<_, NodeError>(json!({ "log": heard }));
            }
            heard.push(answer);
        }
    });
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    let mut outcome = graph.run(json!({ "log": [] })).thread("t").await.unwrap();
    let mut ids = Vec::new();
    for (place, answer) in ["a", "b", "c", ""].into_iter().enumerate() {
        let question = only_question(&outcome);
        assert_eq!(question.value, json!(place));
        assert!(!ids.contains(&question.id));
        ids.push(question.id);
        outcome = graph.resume("t", answer).await.unwrap();
    }
    assert_eq!(log(&outcome.state), ["a", "b", "c"]);
}

/// R-FWK-28, R-REF-84: a retry after an answer uses the answer again.
#[tokio::test]
async fn a_retry_reuses_the_answers() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let noted = calls.clone();
    let work = move |ask: Ask, cx: Cx| {
        let calls = noted.clone();
        async move {
            let answer: String = ask.person("name", null()).await?;
            calls.note(format!("{answer} {}", cx.attempt()));
            if cx.attempt() == 1 { Err(NodeError::new("busy").retryable()) } else { Ok(json!({ "log": answer })) }
        }
    };
    let retry = Retry::exponential(3).initial_interval(std::time::Duration::ZERO);
    let node = graph.node("work", node(work).retry(retry));
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    graph.run(json!({ "log": [] })).thread("t").await.unwrap();
    assert!(graph.resume("t", "Ann").await.unwrap().is_finished());
    assert_eq!(calls.take(), ["Ann 1", "Ann 2"]);
}

/// R-FWK-29: a second answer is refused with the time of the first, while the thread still waits for others.
#[tokio::test]
async fn a_second_answer_is_refused_while_others_are_open() {
    let graph = three(&Calls::default());
    let stopped = graph.run(json!({ "log": "in" })).thread("t").await.unwrap();
    let answers = Answers::from([(stopped.questions()[0].id, json!("L"))]);
    graph.resume_with("t", answers.clone()).await.unwrap();
    let error = refused(graph.resume_with("t", answers).await);
    assert_eq!(error.code(), Code::InvalidResume);
    assert!(error.message().contains("already answered at 20"), "{error}");
    assert!(error.advice().unwrap().contains("fork"), "{error}");
}

/// R-FWK-29: a second answer is refused with the time of the first, also when the thread has moved on.
#[tokio::test]
async fn a_second_answer_is_refused_after_the_thread_has_moved_on() {
    let calls = Calls::default();
    let graph = mail(&calls);
    let question = only_question(&graph.run(Mail::input().text("")).thread("t").await.unwrap());
    graph.resume("t", true).await.unwrap();
    calls.take();
    let by_id = || graph.resume_with("t", Answers::from([(question.id, json!(false))]));
    for run in [by_id(), graph.resume("t", false)] {
        let error = refused(run.await);
        assert_eq!(error.code(), Code::InvalidResume);
        assert!(error.message().contains(&format!("{} was already answered at 20", question.id)), "{error}");
        assert_eq!(error.place().thread, Some("t".into()));
    }
    assert_eq!(graph.threads().state("t").await.unwrap().state.sent, Some(true));
    // A new question of the thread does not make the old one answerable.
    graph.run(Mail::input().text("again")).thread("t").await.unwrap();
    assert!(refused(by_id().await).message().contains("already answered at 20"));
    assert!(calls.take() == ["write", "approve"]);
}

/// A store that counts the checkpoints it is made to list.
#[derive(Clone, Default)]
struct Listed(Memory, Arc<AtomicUsize>);

impl Checkpointer for Listed {
    forward_checkpointer!(this => this.0; acquire, release, commit, load, threads, status, namespaces);
    forward_checkpointer!(this => this.0; delete_thread, copy_thread, prune, stats);
    forward_checkpointer!(this => this.0; events, last_event, forget_events);

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &Namespace,
        query: &HistoryQuery,
    ) -> superstep::Result<Vec<Loaded>> {
        let listed = self.0.history(thread, namespace, query).await?;
        self.1.fetch_add(listed.len(), Ordering::Relaxed);
        Ok(listed)
    }
}

/// R-FWK-29: what it costs to refuse an answer does not grow with the thread: an early answer is found at once, an old
/// one a few pages back, and behind that nobody looks.
#[tokio::test]
async fn a_refused_answer_does_not_cost_the_length_of_the_thread() {
    let store = Listed::default();
    let graph = mail_in(store.clone(), &Calls::default());
    let question = only_question(&graph.run(Mail::input().text("")).thread("t").await.unwrap());
    graph.resume("t", true).await.unwrap();
    let answers = [question.id, "00000000-0000-0000-0000-000000000001".parse().unwrap()];
    // How many checkpoints follow the answer; how many are listed for it, and for a question nobody asked.
    for (more, is_found, at_most) in [(0, true, [16, 16]), (100, true, [128, 128]), (900, false, [256, 256])] {
        for _ in 0..more {
            graph.threads().update("t", Mail::update().log("x")).await.unwrap();
        }
        for (id, at_most) in answers.into_iter().zip(at_most) {
            store.1.store(0, Ordering::Relaxed);
            let error = refused(graph.resume_with("t", Answers::from([(id, json!(false))])).await);
            let listed = store.1.load(Ordering::Relaxed);
            assert!(error.code() == Code::InvalidResume && listed <= at_most, "{listed} after {more}: {error}");
            let is_told = error.message().contains("already answered at 20");
            assert_eq!(is_told, is_found && id == question.id, "after {more}: {error}");
        }
    }
    assert_eq!(graph.threads().state("t").await.unwrap().state.log.len(), 1_001);
}

/// R-FWK-29, R-FWK-31: naming the checkpoint at which it was asked forks, and answers anew.
#[tokio::test]
async fn a_question_is_answered_anew_on_a_fork() {
    let calls = Calls::default();
    let graph = mail(&calls);
    let stopped = graph.run(Mail::input().text("")).thread("t").await.unwrap();
    let (question, asked_at) = (only_question(&stopped), stopped.checkpoint.unwrap());
    let first = graph.resume("t", true).await.unwrap();
    for (run, sent) in [
        (graph.resume("t", false).at(asked_at), false),
        (graph.resume_with("t", Answers::from([(question.id, json!(true))])).at(asked_at), true),
    ] {
        calls.take();
        let ended = run.await.unwrap();
        assert_eq!(
            (ended.status, ended.state.sent, calls.take()),
            (Status::Finished, Some(sent), vec!["approve".to_owned()])
        );
    }
    let old = graph.threads().state_at("t", first.checkpoint.unwrap()).await.unwrap();
    assert_eq!(old.state.sent, Some(true));
    assert_eq!(refused(graph.resume("t", "no").at(asked_at).await).code(), Code::InvalidResume);
}

/// R-FWK-26: answers to a thread that waits for none, or does not exist, are refused.
#[tokio::test]
async fn an_answer_nobody_waits_for_is_refused() {
    let graph = mail(&Calls::default());
    let error = refused(graph.resume("nowhere", true).await);
    assert!(error.code() == Code::InvalidResume && error.advice().is_some(), "{error}");
    graph.run(Mail::input().text("")).thread("t").await.unwrap();
    let stranger = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    let error = refused(graph.resume_with("t", Answers::from([(stranger, json!(true))])).await);
    assert!(error.message().contains("no open question") && error.advice().unwrap().contains("`approve`"), "{error}");
}

/// R-FWK-25, R-REF-87: without a store a question still ends the run well; answering it needs a store.
#[tokio::test]
async fn without_a_store_a_question_can_be_asked_but_not_answered() {
    let mut graph = Graph::<Mail>::new("mail");
    let node = graph.node("ask", |ask: Ask| async move {
        Ok::<_, NodeError>(Mail::update().sent(ask.person::<bool>("send?", "x").await?))
    });
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    assert_eq!(graph.run(Mail::input().text("x")).await.unwrap().questions().len(), 1);
    assert_eq!(refused(graph.resume("t", true).await).code(), Code::NoCheckpointer);
}

/// R-FWK-25, R-FWK-29, R-REF-89: a live state shows open questions only; the history shows what was asked.
#[tokio::test]
async fn the_history_shows_what_was_asked() {
    let graph = mail(&Calls::default());
    let stopped = graph.run(Mail::input().text("")).thread("t").await.unwrap();
    graph.resume("t", true).await.unwrap();
    assert!(graph.threads().state("t").await.unwrap().questions().is_empty());
    let seen = graph.threads().state_at("t", stopped.checkpoint.unwrap()).await.unwrap();
    assert_eq!(seen.questions(), [&only_question(&stopped)]);
}

/// R-FWK-26, R-FWK-27: a question of a graph inside reaches the caller with its path, and is answered there.
#[tokio::test]
async fn a_question_inside_a_graph_is_answered_from_outside() {
    let calls = Calls::default();
    let mut inner =
        Graph::with_schema("inner", superstep::Schema::from_json("state", &json!({ "log": log_field() })).unwrap());
    let before = inner.node("before", calls.step("before"));
    let ask = inner.node("ask", |ask: Ask| async move {
        Ok::<_, NodeError>(json!({ "log": ask.person::<String>("name", 1).await? }))
    });
    inner.sequence([START, before.into(), ask.into(), END]);
    let inner: Compiled<Record> = inner.compile().unwrap();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let inner = graph.node("inner", inner);
    graph.edge(START, inner).edge(inner, END);
    let graph = graph.compile().unwrap();
    let question = only_question(&graph.run(json!({ "log": "in" })).thread("t").await.unwrap());
    assert!(question.namespace.as_str().starts_with("inner") && &*question.node == "ask");
    let ended = graph.resume_with("t", Answers::from([(question.id, json!("Ann"))])).await.unwrap();
    assert_eq!(
        (log(&ended.state), calls.take()),
        (vec!["in".to_owned(), "before".into(), "Ann".into()], vec!["before".to_owned()])
    );
    let again = refused(graph.resume_with("t", Answers::from([(question.id, json!("Bob"))])).await);
    assert!(again.message().contains("already answered at 20"), "{again}");
}
