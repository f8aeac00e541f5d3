//! Questions and breakpoints: cases 71 to 90 of the reference that no other test asserts whole.

use std::collections::BTreeSet;

use serde_json::json;
use superstep::core::machine::Answers;
use superstep::prelude::*;
use superstep::{Code, Compat, Compiled, Outcome, Record, Status, entrypoint};

use super::PROFILES;
use crate::engine::{Count, field, graph, says, transcript};
use crate::support::{Calls, line, only_question, refused, stored};

/// `number` asks for a small number, `word` for a text, `plain` does not ask; all three in one superstep.
fn three(compat: Compat, memory: &Memory, runs: &Calls) -> Compiled<Record> {
    let mut g = graph("three");
    let noted = runs.clone();
    let number = g.node("number", move |ask: Ask| {
        noted.note("number");
        async move { Ok::<_, NodeError>(json!({ "log": [ask.person::<u8>("number", "how many?").await?] })) }
    });
    let noted = runs.clone();
    let plain = g.node("plain", move || {
        noted.note("plain");
        json!({ "log": ["plain"] })
    });
    let noted = runs.clone();
    let word = g.node("word", move |ask: Ask| {
        noted.note("word");
        async move { Ok::<_, NodeError>(json!({ "log": [ask.person::<String>("word", "which?").await?] })) }
    });
    for node in [number, plain, word] {
        g.edge(START, node).edge(node, END);
    }
    g.compat(compat).checkpointer(memory.clone());
    g.compile().unwrap()
}

/// An answer to the question of that name.
fn to(asked: &Outcome<Record>, name: &str, answer: serde_json::Value) -> Answers {
    let question = asked.questions().iter().find(|question| question.name == name).unwrap();
    Answers::from([(question.id, answer)])
}

/// R-REF-71: a question pauses the run and comes with its value and an id; what else its superstep did is not lost.
#[tokio::test]
async fn a_question_pauses_and_the_rest_of_its_superstep_is_kept() {
    for compat in PROFILES {
        let (mut g, runs) = (graph("g"), Count::default());
        let counted = runs.clone();
        let ask = g.node("ask", async |ask: Ask| {
            Ok::<_, NodeError>(json!({ "log": [ask.person::<String>("which", "which one?").await?] }))
        });
        let plain = g.node("plain", move || json!({ "log": ["plain"], "n": counted.up() }));
        g.edge(START, ask).edge(START, plain).edge(ask, END).edge(plain, END);
        g.compat(compat).checkpointer(Memory::new());
        let graph = g.compile().unwrap();
        let paused = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
        let question = only_question(&paused);
        assert_eq!((question.value, question.name.as_str(), &*question.node), (json!("which one?"), "which", "ask"));
        let live = graph.threads().state("t").await.unwrap();
        let done: Vec<&str> = live.tasks.iter().filter(|task| task.is_done).map(|task| &*task.node).collect();
        assert_eq!((done, live.questions().len()), (vec!["plain"], 1), "{compat:?}");
        let ended = graph.resume_with("t", Answers::from([(question.id, json!("this"))])).await.unwrap();
        assert_eq!((field(&ended, "log"), field(&ended, "n")), (json!(["this", "plain"]), json!(1)), "{compat:?}");
        assert_eq!(runs.get(), 1, "{compat:?}");
    }
}

/// R-REF-77, R-DEF-4: an unknown id, one that has its answer, no answer at all and a bare value that could mean two
/// questions are refused by code, and nothing is written or run. The reference lets a wrong id pass in silence.
#[tokio::test]
async fn answers_that_fit_no_open_question_are_refused_before_anything_is_written() {
    for compat in PROFILES {
        let (memory, runs) = (Memory::new(), Calls::default());
        let graph = three(compat, &memory, &runs);
        let asked = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
        let stranger = Answers::from([("00000000-0000-0000-0000-000000000001".parse().unwrap(), json!("x"))]);
        let mut half_known = to(&asked, "word", json!("x"));
        half_known.extend(stranger.clone());
        let word = to(&asked, "word", json!("W"));
        let before = [
            ("no open question", graph.resume_with("t", stranger)),
            ("no open question", graph.resume_with("t", half_known)),
            ("no answers", graph.resume_with("t", Answers::new())),
            ("2 questions are open", graph.resume("t", "x")),
        ];
        runs.take();
        let known = stored(&memory, "t").await;
        for (words, run) in before {
            let error = refused(run.await);
            assert_eq!(error.code(), Code::InvalidResume, "{compat:?}: {error}");
            assert!(error.message().contains(words), "{compat:?}: {error}");
            assert_eq!((stored(&memory, "t").await, runs.take().len()), (known.clone(), 0), "{compat:?}: {words}");
        }
        graph.resume_with("t", word.clone()).await.unwrap();
        assert_eq!(runs.take(), ["word"]);
        let known = stored(&memory, "t").await;
        let error = refused(graph.resume_with("t", word).await);
        assert!(error.code() == Code::InvalidResume && error.message().contains("already answered"), "{error}");
        assert_eq!((stored(&memory, "t").await, runs.take().len()), (known, 0), "{compat:?}");
    }
}

/// `a` asks two questions at once and then a third; `b` asks one.
fn many(compat: Compat, memory: &Memory) -> Compiled<Record> {
    let mut g = graph("many");
    let a = g.node("a", async |ask: Ask| {
        let (one, two) = tokio::join!(ask.person::<u8>("one", ()), ask.person::<u8>("two", ()));
        let three: u8 = ask.person("three", ()).await?;
        Ok::<_, NodeError>(json!({ "log": [one?, two?, three] }))
    });
    let b = g.node("b", async |ask: Ask| Ok::<_, NodeError>(json!({ "log": [ask.person::<u8>("one", ()).await?] })));
    g.edge(START, a).edge(START, b).edge(a, END).edge(b, END).compat(compat).checkpointer(memory.clone());
    g.compile().unwrap()
}

/// R-REF-78: a question has the same id whoever reads it and whenever; no two questions of a thread share one.
#[tokio::test]
async fn every_question_has_an_id_of_its_own_that_stays() {
    for compat in PROFILES {
        let memory = Memory::new();
        let asked = many(compat, &memory).run(json!({ "n": 0 })).thread("t").await.unwrap();
        let mut ids: BTreeSet<_> = asked.questions().iter().map(|question| question.id).collect();
        assert_eq!(ids.len(), 3, "{compat:?}");
        // Another process shares nothing with this one but the store.
        let reloaded = many(compat, &memory).threads().state("t").await.unwrap();
        assert_eq!(reloaded.questions().iter().map(|question| question.id).collect::<BTreeSet<_>>(), ids);
        let of_a = asked.questions().iter().filter(|question| &*question.node == "a");
        let answers: Answers = of_a.map(|question| (question.id, json!(1))).collect();
        let third = many(compat, &memory).resume_with("t", answers).await.unwrap();
        let fresh: Vec<_> = third.questions().iter().filter(|question| ids.insert(question.id)).collect();
        assert_eq!((third.questions().len(), fresh.len(), fresh[0].name.as_str()), (2, 1, "three"), "{compat:?}");
        let rest: Answers = third.questions().iter().map(|question| (question.id, json!(2))).collect();
        let ended = many(compat, &memory).resume_with("t", rest).await.unwrap();
        assert_eq!(field(&ended, "log"), json!([1, 1, 2, 2]), "{compat:?}");
    }
}

/// R-REF-79: an answer of a wrong type is refused and can be given again; those beside it complete without it.
#[tokio::test]
async fn a_bad_answer_does_not_hold_up_the_good_ones() {
    for compat in PROFILES {
        let (memory, runs) = (Memory::new(), Calls::default());
        let graph = three(compat, &memory, &runs);
        let asked = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(runs.take().len(), 3);
        let mut both = to(&asked, "word", json!("W"));
        both.extend(to(&asked, "number", json!(300)));
        let error = refused(graph.resume_with("t", both).await);
        assert_eq!((error.code(), error.problems().len()), (Code::InvalidResume, 1), "{error}");
        assert_eq!(graph.threads().state("t").await.unwrap().questions().len(), 2, "{compat:?}");
        let half = graph.resume_with("t", to(&asked, "word", json!("W"))).await.unwrap();
        assert_eq!((only_question(&half).name.as_str(), runs.take()), ("number", vec!["word".to_owned()]));
        assert_eq!(refused(graph.resume("t", "many").await).code(), Code::InvalidResume);
        assert_eq!(runs.take().len(), 0);
        let ended = graph.resume("t", 7).await.unwrap();
        assert_eq!((field(&ended, "log"), runs.take()), (json!([7, "plain", "W"]), vec!["number".to_owned()]));
    }
}

/// A graph of one node that asks.
fn asks(name: &str) -> Graph<Record> {
    let mut g = graph(name);
    let ask = g.node("ask", async |ask: Ask| {
        Ok::<_, NodeError>(json!({ "log": [ask.person::<String>("who", "who?").await?] }))
    });
    g.edge(START, ask).edge(ask, END);
    g
}

/// R-REF-81: graphs one and two deep that ask in parallel branches are answered in any order, each inside itself.
#[tokio::test]
async fn a_child_and_a_grandchild_that_ask_in_parallel_are_answered_apart() {
    for (compat, expected) in [(Compat::Strict, json!(["N", "F"])), (Compat::LangGraph, json!(["F", "N"]))] {
        let mut middle = graph("middle");
        let deep = middle.node("deep", asks("deep").compile().unwrap());
        middle.edge(START, deep).edge(deep, END);
        let mut g = graph("outer");
        let near = g.node("near", asks("near").compile().unwrap());
        let far = g.node("far", middle.compile().unwrap());
        g.edge(START, near).edge(START, far).edge(near, END).edge(far, END);
        g.compat(compat).checkpointer(Memory::new());
        let graph = g.compile().unwrap();
        let asked = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
        let of = |depth: usize| {
            let deep = |question: &&_| depth_of(question) == depth;
            asked.questions().iter().find(deep).unwrap().id
        };
        assert_eq!((asked.questions().len(), of(1) == of(2)), (2, false));
        assert_eq!(refused(graph.resume("t", "?").await).code(), Code::InvalidResume);
        let half = graph.resume_with("t", Answers::from([(of(2), json!("F"))])).await.unwrap();
        assert_eq!(only_question(&half).id, of(1), "{compat:?}");
        let ended = graph.resume_with("t", Answers::from([(of(1), json!("N"))])).await.unwrap();
        assert_eq!((ended.status.clone(), field(&ended, "log")), (Status::Finished, expected), "{compat:?}");
    }
}

/// How many graphs a question was asked inside of.
fn depth_of(question: &superstep::core::checkpoint::Question) -> usize {
    question.namespace.as_str().split('|').count()
}

/// R-REF-82: a question inside a recorded task surfaces once; with its answer the task is recorded like any other.
#[tokio::test]
async fn a_question_inside_a_task_surfaces_once() {
    let (before, inside) = (Count::default(), Count::default());
    let (befores, insides) = (before.clone(), inside.clone());
    let ask = entrypoint("ask", move |n: u64, cx: Cx| {
        let (before, inside) = (befores.clone(), insides.clone());
        async move {
            let one = cx.task("before", async { Ok::<_, NodeError>(before.up()) }).await?;
            let who = async {
                inside.up();
                cx.ask().person::<String>("who", n).await
            };
            let who = cx.task("who", who).await?;
            let sure: bool = cx.ask().person("sure", &who).await?;
            Ok(format!("{one} {who} {sure}"))
        }
    });
    let ask = ask.checkpointer(Memory::new()).compile().unwrap();
    let (lines, paused) = transcript(ask.run(&7).thread("t")).await;
    assert_eq!((only_question(&paused.unwrap()).value, before.get(), inside.get()), (json!(7), 1, 1));
    assert_eq!(lines.iter().filter(|line| line.starts_with("asks")).collect::<Vec<_>>(), ["asks 1"]);
    let second = ask.graph().resume("t", "Ann").await.unwrap();
    assert_eq!((only_question(&second).value, inside.get()), (json!("Ann"), 2));
    let done = ask.graph().resume("t", true).await.unwrap();
    assert_eq!(ask.output(&done).unwrap().as_deref(), Some("1 Ann true"));
    assert_eq!((before.get(), inside.get()), (1, 2));
}

/// R-REF-88: two breakpoints with nothing happening between them stop a run once, and one that was passed stays passed.
#[tokio::test]
async fn a_breakpoint_is_not_hit_again_before_something_has_happened() {
    for compat in PROFILES {
        let calls = Calls::default();
        let mut g = line(&calls, &["a", "b", "c"]);
        g.compat(compat).interrupt_after(["a"]).interrupt_before(["b", "c"]);
        let graph = g.compile().unwrap();
        let paused = |name: &str| Status::Paused(vec![name.to_owned()]);
        let first = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
        assert_eq!((first.status, calls.take()), (paused("a"), vec!["a".to_owned()]), "{compat:?}");
        let second = graph.go_on("t").await.unwrap();
        assert_eq!((second.status, calls.take()), (paused("c"), vec!["b".to_owned()]), "{compat:?}");
        let third = graph.go_on("t").await.unwrap();
        assert_eq!((third.status, calls.take()), (Status::Finished, vec!["c".to_owned()]), "{compat:?}");
    }
}

/// R-REF-85, R-REF-86: in the reference's profile a run stops at its breakpoints as in the strict one, and goes on with
/// what was edited there.
#[tokio::test]
async fn breakpoints_are_the_same_in_both_profiles() {
    for compat in PROFILES {
        let mut g = graph("g");
        let (write, send) = (g.node("write", || json!({ "title": "helo" })), g.reserve("send"));
        g.define(send, |state: View<Record>| json!({ "log": [state.get("title")] }));
        let last = g.node("last", says("last"));
        g.sequence([START, write.into(), send.into(), last.into(), END]);
        g.compat(compat).checkpointer(Memory::new()).interrupt_before(["*"]);
        let graph = g.compile().unwrap();
        let mut outcome = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
        for name in ["write", "send", "last"] {
            assert_eq!(outcome.status, Status::Paused(vec![name.to_owned()]), "{compat:?}");
            if name == "send" {
                graph.threads().update("t", json!({ "title": "hello" })).await.unwrap();
            }
            outcome = graph.go_on("t").await.unwrap();
        }
        assert_eq!((outcome.status.clone(), field(&outcome, "log")), (Status::Finished, json!(["hello", "last"])));
    }
}
