//! Interrupts and breakpoints: LangGraph cases 71 to 90 that no other test covers completely.

use std::collections::BTreeSet;

use serde_json::json;
use superstep::core::machine::ResumeValues;
use superstep::prelude::*;
use superstep::{Compat, CompiledGraph, DynamicState, ErrorCode, Outcome, RunEnd, entrypoint};

use super::COMPAT_MODES;
use crate::fixtures::{CallCounter, field, graph, log_word, transcript};
use crate::support::{Calls, expect_error, line, only_question, stored};

/// `number` interrupts for a small number, `word` for a text, `plain` does not interrupt; all three in one superstep.
fn three(compat: Compat, memory: &MemoryCheckpointer, runs: &Calls) -> CompiledGraph<DynamicState> {
    let mut g = graph("three");
    let node_calls = runs.clone();
    let number = g.add_node("number", move |interrupts: Interrupts| {
        node_calls.note("number");
        async move { Ok::<_, NodeError>(json!({ "log": [interrupts.raise::<u8>("number", "how many?").await?] })) }
    });
    let node_calls = runs.clone();
    let plain = g.add_node("plain", move || {
        node_calls.note("plain");
        json!({ "log": ["plain"] })
    });
    let node_calls = runs.clone();
    let word = g.add_node("word", move |interrupts: Interrupts| {
        node_calls.note("word");
        async move { Ok::<_, NodeError>(json!({ "log": [interrupts.raise::<String>("word", "which?").await?] })) }
    });
    for node in [number, plain, word] {
        g.add_edge(START, node).add_edge(node, END);
    }
    g.compat(compat).checkpointer(memory.clone());
    g.compile().unwrap()
}

/// Creates a resume value for the interrupt with this name.
fn resume_value(outcome: &Outcome<DynamicState>, name: &str, answer: serde_json::Value) -> ResumeValues {
    let question = outcome.interrupts().iter().find(|question| question.name == name).unwrap();
    ResumeValues::from([(question.id, answer)])
}

/// R-REF-71: an interrupt pauses the run and contains its value and an id; other results of its superstep are kept.
#[tokio::test]
async fn a_question_pauses_and_the_rest_of_its_superstep_is_saved() {
    for compat in COMPAT_MODES {
        let (mut g, runs) = (graph("g"), CallCounter::default());
        let counted = runs.clone();
        let interrupt = g.add_node("ask", async |interrupt: Interrupts| {
            Ok::<_, NodeError>(json!({ "log": [interrupt.raise::<String>("which", "which one?").await?] }))
        });
        let plain = g.add_node("plain", move || json!({ "log": ["plain"], "n": counted.up() }));
        g.add_edge(START, interrupt).add_edge(START, plain).add_edge(interrupt, END).add_edge(plain, END);
        g.compat(compat).checkpointer(MemoryCheckpointer::new());
        let graph = g.compile().unwrap();
        let paused = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        let question = only_question(&paused);
        assert_eq!((question.value, question.name.as_str(), &*question.node), (json!("which one?"), "which", "ask"));
        let live = graph.threads().get_state("t").await.unwrap();
        let done: Vec<&str> = live.tasks.iter().filter(|task| task.is_finished).map(|task| &*task.node).collect();
        assert_eq!((done, live.interrupts().len()), (vec!["plain"], 1), "{compat:?}");
        let ended = graph.resume_with("t", ResumeValues::from([(question.id, json!("this"))])).await.unwrap();
        assert_eq!((field(&ended, "log"), field(&ended, "n")), (json!(["this", "plain"]), json!(1)), "{compat:?}");
        assert_eq!(runs.get(), 1, "{compat:?}");
    }
}

/// R-REF-77, R-DEF-4: an unknown id, one that is already resumed, no resume value at all, and a single value for two
/// interrupts are rejected by code, and nothing is written or run. LangGraph ignores an unknown id silently.
#[tokio::test]
async fn unmatched_answers_are_rejected_before_anything_is_written() {
    for compat in COMPAT_MODES {
        let (memory, runs) = (MemoryCheckpointer::new(), Calls::default());
        let graph = three(compat, &memory, &runs);
        let paused = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        let stranger = ResumeValues::from([("00000000-0000-0000-0000-000000000001".parse().unwrap(), json!("x"))]);
        let mut half_known = resume_value(&paused, "word", json!("x"));
        half_known.extend(stranger.clone());
        let word = resume_value(&paused, "word", json!("W"));
        let before = [
            ("no open interrupt with id", graph.resume_with("t", stranger)),
            ("no open interrupt with id", graph.resume_with("t", half_known)),
            ("no resume values", graph.resume_with("t", ResumeValues::new())),
            ("2 interrupts are open", graph.resume("t", "x")),
        ];
        runs.take();
        let saved = stored(&memory, "t").await;
        for (words, run) in before {
            let error = expect_error(run.await);
            assert_eq!(error.code(), ErrorCode::InvalidResume, "{compat:?}: {error}");
            assert!(error.message().contains(words), "{compat:?}: {error}");
            assert_eq!((stored(&memory, "t").await, runs.take().len()), (saved.clone(), 0), "{compat:?}: {words}");
        }
        graph.resume_with("t", word.clone()).await.unwrap();
        assert_eq!(runs.take(), ["word"]);
        let saved = stored(&memory, "t").await;
        let error = expect_error(graph.resume_with("t", word).await);
        assert!(error.code() == ErrorCode::InvalidResume && error.message().contains("already resumed"), "{error}");
        assert_eq!((stored(&memory, "t").await, runs.take().len()), (saved, 0), "{compat:?}");
    }
}

/// `a` raises two interrupts concurrently and then a third; `b` raises one.
fn many(compat: Compat, memory: &MemoryCheckpointer) -> CompiledGraph<DynamicState> {
    let mut g = graph("many");
    let a = g.add_node("a", async |interrupts: Interrupts| {
        let (one, two) = tokio::join!(interrupts.raise::<u8>("one", ()), interrupts.raise::<u8>("two", ()));
        let three: u8 = interrupts.raise("three", ()).await?;
        Ok::<_, NodeError>(json!({ "log": [one?, two?, three] }))
    });
    let b = g.add_node("b", async |interrupts: Interrupts| {
        Ok::<_, NodeError>(json!({ "log": [interrupts.raise::<u8>("one", ()).await?] }))
    });
    g.add_edge(START, a)
        .add_edge(START, b)
        .add_edge(a, END)
        .add_edge(b, END)
        .compat(compat)
        .checkpointer(memory.clone());
    g.compile().unwrap()
}

/// R-REF-78: an interrupt has the same id on every read; no two interrupts of a thread share one.
#[tokio::test]
async fn every_question_has_an_id_of_its_own_that_stays() {
    for compat in COMPAT_MODES {
        let memory = MemoryCheckpointer::new();
        let paused = many(compat, &memory).invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        let mut ids: BTreeSet<_> = paused.interrupts().iter().map(|question| question.id).collect();
        assert_eq!(ids.len(), 3, "{compat:?}");
        // Another process shares only the checkpointer with this one.
        let reloaded = many(compat, &memory).threads().get_state("t").await.unwrap();
        assert_eq!(reloaded.interrupts().iter().map(|question| question.id).collect::<BTreeSet<_>>(), ids);
        let of_a = paused.interrupts().iter().filter(|question| &*question.node == "a");
        let answers: ResumeValues = of_a.map(|question| (question.id, json!(1))).collect();
        let third = many(compat, &memory).resume_with("t", answers).await.unwrap();
        let new_interrupts: Vec<_> = third.interrupts().iter().filter(|question| ids.insert(question.id)).collect();
        assert_eq!(
            (third.interrupts().len(), new_interrupts.len(), new_interrupts[0].name.as_str()),
            (2, 1, "three"),
            "{compat:?}"
        );
        let rest: ResumeValues = third.interrupts().iter().map(|question| (question.id, json!(2))).collect();
        let ended = many(compat, &memory).resume_with("t", rest).await.unwrap();
        assert_eq!(field(&ended, "log"), json!([1, 1, 2, 2]), "{compat:?}");
    }
}

/// R-REF-79: a resume value of a wrong type is rejected and can be sent again; the others complete without it.
#[tokio::test]
async fn an_invalid_resume_value_does_not_block_valid_ones() {
    for compat in COMPAT_MODES {
        let (memory, runs) = (MemoryCheckpointer::new(), Calls::default());
        let graph = three(compat, &memory, &runs);
        let paused = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(runs.take().len(), 3);
        let mut both = resume_value(&paused, "word", json!("W"));
        both.extend(resume_value(&paused, "number", json!(300)));
        let error = expect_error(graph.resume_with("t", both).await);
        assert_eq!((error.code(), error.diagnostics().len()), (ErrorCode::InvalidResume, 1), "{error}");
        assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts().len(), 2, "{compat:?}");
        let half = graph.resume_with("t", resume_value(&paused, "word", json!("W"))).await.unwrap();
        assert_eq!((only_question(&half).name.as_str(), runs.take()), ("number", vec!["word".to_owned()]));
        assert_eq!(expect_error(graph.resume("t", "many").await).code(), ErrorCode::InvalidResume);
        assert_eq!(runs.take().len(), 0);
        let ended = graph.resume("t", 7).await.unwrap();
        assert_eq!((field(&ended, "log"), runs.take()), (json!([7, "plain", "W"]), vec!["number".to_owned()]));
    }
}

/// A graph of one node that interrupts.
fn interrupting_graph(name: &str) -> StateGraph<DynamicState> {
    let mut g = graph(name);
    let interrupt = g.add_node("ask", async |interrupt: Interrupts| {
        Ok::<_, NodeError>(json!({ "log": [interrupt.raise::<String>("who", "who?").await?] }))
    });
    g.add_edge(START, interrupt).add_edge(interrupt, END);
    g
}

/// R-REF-81: a subgraph and a nested subgraph that interrupt in parallel branches are resumed in any order.
#[tokio::test]
async fn a_child_and_a_grandchild_that_ask_in_parallel_are_answered_apart() {
    for (compat, expected) in [(Compat::Strict, json!(["N", "F"])), (Compat::LangGraph, json!(["F", "N"]))] {
        let mut middle = graph("middle");
        let deep = middle.add_node("deep", interrupting_graph("deep").compile().unwrap());
        middle.add_edge(START, deep).add_edge(deep, END);
        let mut g = graph("outer");
        let near = g.add_node("near", interrupting_graph("near").compile().unwrap());
        let far = g.add_node("far", middle.compile().unwrap());
        g.add_edge(START, near).add_edge(START, far).add_edge(near, END).add_edge(far, END);
        g.compat(compat).checkpointer(MemoryCheckpointer::new());
        let graph = g.compile().unwrap();
        let paused = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        let of = |depth: usize| {
            let deep = |question: &&_| depth_of(question) == depth;
            paused.interrupts().iter().find(deep).unwrap().id
        };
        assert_eq!((paused.interrupts().len(), of(1) == of(2)), (2, false));
        assert_eq!(expect_error(graph.resume("t", "?").await).code(), ErrorCode::InvalidResume);
        let half = graph.resume_with("t", ResumeValues::from([(of(2), json!("F"))])).await.unwrap();
        assert_eq!(only_question(&half).id, of(1), "{compat:?}");
        let ended = graph.resume_with("t", ResumeValues::from([(of(1), json!("N"))])).await.unwrap();
        assert_eq!((ended.end.clone(), field(&ended, "log")), (RunEnd::Finished, expected), "{compat:?}");
    }
}

/// Returns the nesting depth of an interrupt.
fn depth_of(question: &superstep::core::checkpoint::Interrupt) -> usize {
    question.namespace.as_str().split('|').count()
}

/// R-REF-82: an interrupt inside a recorded task is reported once; once it is resumed, the task is recorded like any
/// other.
#[tokio::test]
async fn an_interrupt_in_a_recorded_task_is_reported_once() {
    let (before, inner) = (CallCounter::default(), CallCounter::default());
    let (befores, insides) = (before.clone(), inner.clone());
    let entry = entrypoint("ask", move |n: u64, cx: TaskContext| {
        let (before, inner) = (befores.clone(), insides.clone());
        async move {
            let one = cx.task("before", async { Ok::<_, NodeError>(before.up()) }).await?;
            let name = async {
                inner.up();
                cx.interrupts().raise::<String>("who", n).await
            };
            let name = cx.task("who", name).await?;
            let sure: bool = cx.interrupts().raise("sure", &name).await?;
            Ok(format!("{one} {name} {sure}"))
        }
    });
    let entry = entry.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let (lines, paused) = transcript(entry.invoke(&7).thread("t")).await;
    assert_eq!((only_question(&paused.unwrap()).value, before.get(), inner.get()), (json!(7), 1, 1));
    assert_eq!(lines.iter().filter(|line| line.starts_with("asks")).collect::<Vec<_>>(), ["asks 1"]);
    let second = entry.graph().resume("t", "Ann").await.unwrap();
    assert_eq!((only_question(&second).value, inner.get()), (json!("Ann"), 2));
    let done = entry.graph().resume("t", true).await.unwrap();
    assert_eq!(entry.output(&done).unwrap().as_deref(), Some("1 Ann true"));
    assert_eq!((before.get(), inner.get()), (1, 2));
}

/// R-REF-88: two consecutive breakpoints without a superstep in between stop a run once, and one that was passed
/// stays passed.
#[tokio::test]
async fn a_breakpoint_is_not_hit_again_before_something_has_happened() {
    for compat in COMPAT_MODES {
        let calls = Calls::default();
        let mut g = line(&calls, &["a", "b", "c"]);
        g.compat(compat).interrupt_after(["a"]).interrupt_before(["b", "c"]);
        let graph = g.compile().unwrap();
        let paused = |name: &str| RunEnd::Paused(vec![name.to_owned()]);
        let first = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
        assert_eq!((first.end, calls.take()), (paused("a"), vec!["a".to_owned()]), "{compat:?}");
        let second = graph.continue_thread("t").await.unwrap();
        assert_eq!((second.end, calls.take()), (paused("c"), vec!["b".to_owned()]), "{compat:?}");
        let third = graph.continue_thread("t").await.unwrap();
        assert_eq!((third.end, calls.take()), (RunEnd::Finished, vec!["c".to_owned()]), "{compat:?}");
    }
}

/// R-REF-85, R-REF-86: in compatibility mode a run stops at its breakpoints as without it, and continues
/// with the edited state.
#[tokio::test]
async fn breakpoints_are_the_same_in_both_modes() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let (write, send) = (g.add_node("write", || json!({ "title": "helo" })), g.reserve_node("send"));
        g.define_node(send, |state: View<DynamicState>| json!({ "log": [state.get("title")] }));
        let last = g.add_node("last", log_word("last"));
        g.add_sequence([START, write.into(), send.into(), last.into(), END]);
        g.compat(compat).checkpointer(MemoryCheckpointer::new()).interrupt_before(["*"]);
        let graph = g.compile().unwrap();
        let mut outcome = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        for name in ["write", "send", "last"] {
            assert_eq!(outcome.end, RunEnd::Paused(vec![name.to_owned()]), "{compat:?}");
            if name == "send" {
                graph.threads().update_state("t", json!({ "title": "hello" })).await.unwrap();
            }
            outcome = graph.continue_thread("t").await.unwrap();
        }
        assert_eq!((outcome.end.clone(), field(&outcome, "log")), (RunEnd::Finished, json!(["hello", "last"])));
    }
}
