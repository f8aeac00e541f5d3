//! The process dies at every write of a turn, once with the write lost and once kept.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::model::{Reply, Rules};
use superstep::sqlite::Sqlite;
use superstep::store::MemoryStore;
use superstep::testing::{CrashAt, LastWrite};
use superstep::transfer::{self, Name};
use superstep::{Compiled, Error, Memory, Outcome};
use superstep_assistant::prompt::{Ask, Task};
use superstep_assistant::{Assistant, Desk};

use crate::support::{Fake, assistant, desk, passage, plan, rows};

/// A model that answers by what it is asked, as a script that is asked twice could not.
fn planner() -> Rules {
    Rules::with(|request, _| {
        let ask = Ask::read(request).unwrap();
        let sql = |sql: &str| json!({ "sql": sql });
        match (ask.task, ask.tried.len(), ask.clarified.len()) {
            (Task::Answer, ..) => Reply::text(format!("{} outputs [1].", ask.outputs.len())),
            (_, 0, 0) => plan(&[
                ("c1", "search_docs", json!({ "query": "late" }), &[]),
                ("c2", "bq_query", sql("select nothing"), &["c1"]),
            ]),
            (_, _, 0) => plan(&[("c1", "bq_query", sql("select names"), &[])]),
            _ => plan(&[("c1", "bq_query", sql("select one"), &[])]),
        }
    })
}

fn tools() -> [Fake; 2] {
    let query = Fake::new("bq_query", |args| {
        Ok(match args["sql"].as_str().unwrap() {
            "select nothing" => rows(&["n"], json!([])),
            "select names" => rows(&["name"], json!([["Anna Miller"], ["Ben Miller"]])),
            _ => rows(&["n"], json!([[1]])),
        })
    });
    [query, Fake::giving("search_docs", passage("Late is late."))]
}

async fn live(
    graph: &Compiled<Assistant, Desk>,
    desk: &Desk,
    disk: impl Into<SharedCheckpointer>,
    has_begun: bool,
) -> Result<Outcome<Assistant>, Error> {
    let disk = disk.into();
    let has_thread = has_begun && graph.threads().checkpointer(disk.clone()).state("t").await.is_ok();
    let begun = match has_thread {
        true => graph.go_on("t"),
        false => graph.run(Assistant::open(desk, "ana", "Orders of Miller").unwrap()).thread("t"),
    };
    let mut outcome = begun.context(desk.clone()).checkpointer(disk.clone()).await?;
    while !outcome.questions().is_empty() {
        outcome = graph.resume("t", "Ben Miller").context(desk.clone()).checkpointer(disk.clone()).await?;
    }
    Ok(outcome)
}

/// What must be equal; ids of messages name the task, and tasks have other ids on another thread.
fn told(state: &Assistant) -> Value {
    let messages: Vec<_> = state
        .messages
        .iter()
        .map(|message| {
            (format!("{:?}", message.role), message.text(), message.tool_calls.len(), message.tool_call_id.clone())
        })
        .collect();
    json!([messages, state.phase, state.retry_count, state.tokens_used, state.verdict, state.summary, state.scratchpad])
}

/// R-PLN-49, R-PLN-51: a turn with a retry and a question ends the same, whatever write the process dies at; no call whose
/// end was kept is made again.
#[tokio::test]
async fn a_turn_survives_a_crash_at_any_write() {
    let graph = assistant(Memory::new(), MemoryStore::new());
    let calm = tools();
    let expected = told(&live(&graph, &desk(planner(), calm.clone()), Memory::new(), false).await.unwrap().state);
    assert_eq!(expected[2], json!(1), "one retry");
    let made = |tools: &[Fake; 2]| tools.iter().map(|tool| tool.calls().len()).sum::<usize>();
    for last in [LastWrite::Lost, LastWrite::Kept] {
        for at in 0.. {
            let (disk, tools) = (Memory::new(), tools());
            let desk = desk(planner(), tools.clone());
            let survived = live(&graph, &desk, CrashAt::new(disk.clone(), at, last), false).await.is_ok();
            let outcome = live(&graph, &desk, disk, true).await.unwrap();
            assert_eq!(told(&outcome.state), expected, "crash at write {at}, {last:?}");
            let repeated = made(&tools) - made(&calm);
            let allowed = usize::from(last == LastWrite::Lost && !survived);
            assert!(repeated <= allowed, "crash at write {at}, {last:?}: {repeated} calls again");
            if survived {
                assert!(at >= 15, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}

/// A model that forgets something once and then answers.
fn forgetful() -> Rules {
    Rules::with(|request, _| {
        let ask = Ask::read(request).unwrap();
        match (ask.task, ask.tried.is_empty()) {
            (Task::Answer, _) => Reply::text("Done [1]."),
            (_, true) => plan(&[("c1", "forget_memory", json!({ "key": "k" }), &[])]),
            (_, false) => Reply::text(r#"{"next_step": "generate"}"#),
        }
    })
}

/// R-PLN-32, R-PLN-49: a destructive call is never made a second time by itself, whatever write the process dies at. Where
/// nobody knows whether it was made, a person is asked, and their word counts.
#[tokio::test]
async fn a_destructive_call_is_never_repeated_by_itself() {
    let graph = assistant(Memory::new(), MemoryStore::new());
    for (last, again) in [LastWrite::Lost, LastWrite::Kept].into_iter().flat_map(|last| [(last, true), (last, false)]) {
        let mut unknown = 0;
        for at in 0.. {
            let (disk, tool) = (Memory::new(), Fake::giving("forget_memory", json!({ "forgotten": ["k"] })));
            let desk = desk(forgetful(), [tool.clone()]);
            let survived = allowing(&graph, &desk, CrashAt::new(disk.clone(), at, last), None).await.is_ok();
            let before = tool.calls().len();
            let (state, asked) = allowing(&graph, &desk, disk, Some(again)).await.unwrap();
            let after = tool.calls().len();
            assert!(before <= 1 && after <= before + 1, "crash at write {at}, {last:?}");
            match asked {
                true => {
                    unknown += 1;
                    assert_eq!(after, before + usize::from(again), "crash at write {at}, {last:?}");
                }
                false => assert_eq!(after, 1, "crash at write {at}, {last:?}"),
            }
            let output = state.messages.iter().find(|message| message.tool_call_id.is_some()).unwrap();
            assert_eq!(output.tool_call_id.as_deref(), Some("c1"));
            assert_eq!(output.text().starts_with("unknown: whether `forget_memory`"), asked && !again, "{at}");
            if survived {
                break;
            }
        }
        // After the mark and before the record of what came of it.
        assert!((1..=2).contains(&unknown), "{last:?}: {unknown}");
    }
}

/// Runs to the end, and says yes; `again` to a call of which nobody knows. Gives whether there was one.
async fn allowing(
    graph: &Compiled<Assistant, Desk>,
    desk: &Desk,
    disk: impl Into<SharedCheckpointer>,
    again: Option<bool>,
) -> Result<(Assistant, bool), Error> {
    let disk = disk.into();
    let has_thread = again.is_some() && graph.threads().checkpointer(disk.clone()).state("t").await.is_ok();
    let begun = match has_thread {
        true => graph.go_on("t"),
        false => graph.run(Assistant::open(desk, "ana", "Forget it").unwrap()).thread("t"),
    };
    let mut outcome = begun.context(desk.clone()).checkpointer(disk.clone()).await?;
    let mut asked = false;
    while let Some(question) = outcome.questions().first() {
        let is_unknown = question.value["outcome"] == "unknown";
        asked |= is_unknown;
        let decision = if is_unknown && again == Some(false) { "deny" } else { "allow_once" };
        let answer = json!({ "decision": decision });
        outcome = graph.resume("t", answer).context(desk.clone()).checkpointer(disk.clone()).await?;
    }
    Ok(((*outcome.state).clone(), asked))
}

/// R-PLN-51: a session that waits for its user moves from memory to SQLite, and ends there as it would have here.
#[tokio::test]
async fn a_session_moves_to_another_store() {
    let (here, there, desk) = (Memory::new(), Sqlite::open(":memory:").unwrap(), desk(planner(), tools()));
    let graph = assistant(here.clone(), MemoryStore::new());
    let input = Assistant::open(&desk, "ana", "Orders of Miller").unwrap();
    let paused = graph.run(input).thread("t").context(desk.clone()).await.unwrap();
    assert_eq!(paused.questions().len(), 1);
    let mut file = Vec::new();
    transfer::export(here, "t", &mut file).await.unwrap();
    transfer::import(there.clone(), &file[..], Name::Same).await.unwrap();

    let moved = assistant(there, MemoryStore::new());
    let there = moved.resume("t", "Ben Miller").context(desk.clone()).await.unwrap();
    let here = graph.resume("t", "Ben Miller").context(desk).await.unwrap();
    assert!(there.is_finished());
    assert_eq!(told(&there.state), told(&here.state));
}
