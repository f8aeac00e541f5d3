//! Crashes at every write of a turn, once with the write lost and once with the write persisted.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::models::{RuleBasedModel, ScriptedReply};
use superstep::sqlite::SqliteCheckpointer;
use superstep::store::MemoryStore;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::transfer::{self, ImportName};
use superstep::{CompiledGraph, Error, MemoryCheckpointer, Outcome};
use superstep_assistant::prompt::{ModelTask, TaskPrompt};
use superstep_assistant::{AgentState, AssistantContext};

use crate::support::{Fake, assistant, passage, plan, rows, test_context};

/// Returns a model that derives its response from the request; a script would run out when a request repeats.
fn planner() -> RuleBasedModel {
    RuleBasedModel::from_fn(|request, _| {
        let prompt = TaskPrompt::from_request(request).unwrap();
        let sql = |sql: &str| json!({ "sql": sql });
        match (prompt.task, prompt.previous_calls.len(), prompt.clarified.len()) {
            (ModelTask::Answer, ..) => ScriptedReply::text(format!("{} outputs [1].", prompt.outputs.len())),
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
    [query, Fake::returning("search_docs", passage("Late is late."))]
}

async fn run_turn(
    graph: &CompiledGraph<AgentState, AssistantContext>,
    context: &AssistantContext,
    checkpointer: impl Into<SharedCheckpointer>,
    has_started: bool,
) -> Result<Outcome<AgentState>, Error> {
    let checkpointer = checkpointer.into();
    let has_thread = has_started && graph.threads().checkpointer(checkpointer.clone()).get_state("t").await.is_ok();
    let run = match has_thread {
        true => graph.continue_thread("t"),
        false => graph.invoke(AgentState::turn_input(context, "ana", "Orders of Miller").unwrap()).thread("t"),
    };
    let mut outcome = run.context(context.clone()).checkpointer(checkpointer.clone()).await?;
    while !outcome.interrupts().is_empty() {
        outcome = graph.resume("t", "Ben Miller").context(context.clone()).checkpointer(checkpointer.clone()).await?;
    }
    Ok(outcome)
}

/// Returns the part of the state that must be equal; message ids contain task ids, which differ between threads.
fn comparable(state: &AgentState) -> Value {
    let messages: Vec<_> = state
        .messages
        .iter()
        .map(|message| {
            (format!("{:?}", message.role), message.text(), message.tool_calls.len(), message.tool_call_id.clone())
        })
        .collect();
    json!([messages, state.phase, state.retry_count, state.tokens_used, state.verdict, state.summary, state.scratchpad])
}

/// R-PLN-49, R-PLN-51a: a turn with a retry and an interrupt ends with the same result, whatever write the process
/// crashes at; a call with a persisted result does not run again.
#[tokio::test]
async fn a_turn_survives_a_crash_at_any_write() {
    let graph = assistant(MemoryCheckpointer::new(), MemoryStore::new());
    let baseline_tools = tools();
    let expected = comparable(
        &run_turn(&graph, &test_context(planner(), baseline_tools.clone()), MemoryCheckpointer::new(), false)
            .await
            .unwrap()
            .state,
    );
    assert_eq!(expected[2], json!(1), "one retry");
    let call_count = |tools: &[Fake; 2]| tools.iter().map(|tool| tool.calls().len()).sum::<usize>();
    for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
        for at in 0.. {
            let (checkpointer, tools) = (MemoryCheckpointer::new(), tools());
            let context = test_context(planner(), tools.clone());
            let survived = run_turn(&graph, &context, CrashingCheckpointer::new(checkpointer.clone(), at, last), false)
                .await
                .is_ok();
            let outcome = run_turn(&graph, &context, checkpointer, true).await.unwrap();
            assert_eq!(comparable(&outcome.state), expected, "crash at write {at}, {last:?}");
            let repeated = call_count(&tools) - call_count(&baseline_tools);
            let allowed = usize::from(last == CrashedWrite::Lost && !survived);
            assert!(repeated <= allowed, "crash at write {at}, {last:?}: {repeated} calls again");
            if survived {
                assert!(at >= 15, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}

/// Returns a model that plans one destructive call and then answers.
fn deleting_model() -> RuleBasedModel {
    RuleBasedModel::from_fn(|request, _| {
        let prompt = TaskPrompt::from_request(request).unwrap();
        match (prompt.task, prompt.previous_calls.is_empty()) {
            (ModelTask::Answer, _) => ScriptedReply::text("Done [1]."),
            (_, true) => plan(&[("c1", "forget_memory", json!({ "key": "k" }), &[])]),
            (_, false) => ScriptedReply::text(r#"{"next_step": "generate"}"#),
        }
    })
}

/// R-PLN-32, R-PLN-49: a destructive call never runs a second time without a decision, whatever write the process
/// crashes at. If its outcome is unknown, a person is asked and the decision applies.
#[tokio::test]
async fn a_destructive_call_is_never_repeated_by_itself() {
    let graph = assistant(MemoryCheckpointer::new(), MemoryStore::new());
    for (last, may_repeat) in
        [CrashedWrite::Lost, CrashedWrite::Persisted].into_iter().flat_map(|last| [(last, true), (last, false)])
    {
        let mut unknown = 0;
        for at in 0.. {
            let (checkpointer, tool) =
                (MemoryCheckpointer::new(), Fake::returning("forget_memory", json!({ "forgotten": ["k"] })));
            let context = test_context(deleting_model(), [tool.clone()]);
            let survived =
                run_with_decisions(&graph, &context, CrashingCheckpointer::new(checkpointer.clone(), at, last), None)
                    .await
                    .is_ok();
            let calls_before = tool.calls().len();
            let (state, was_interrupted) =
                run_with_decisions(&graph, &context, checkpointer, Some(may_repeat)).await.unwrap();
            let calls_after = tool.calls().len();
            assert!(calls_before <= 1 && calls_after <= calls_before + 1, "crash at write {at}, {last:?}");
            match was_interrupted {
                true => {
                    unknown += 1;
                    assert_eq!(calls_after, calls_before + usize::from(may_repeat), "crash at write {at}, {last:?}");
                }
                false => assert_eq!(calls_after, 1, "crash at write {at}, {last:?}"),
            }
            let output = state.messages.iter().find(|message| message.tool_call_id.is_some()).unwrap();
            assert_eq!(output.tool_call_id.as_deref(), Some("c1"));
            assert_eq!(
                output.text().starts_with("unknown: outcome of `forget_memory` is unknown"),
                was_interrupted && !may_repeat,
                "{at}"
            );
            if survived {
                break;
            }
        }
        // The crash happened between the start marker and the recorded result.
        assert!((1..=2).contains(&unknown), "{last:?}: {unknown}");
    }
}

/// Runs to the end and approves every call; `may_repeat` is the decision on a call with unknown outcome. Returns true
/// if there was such a call.
async fn run_with_decisions(
    graph: &CompiledGraph<AgentState, AssistantContext>,
    context: &AssistantContext,
    checkpointer: impl Into<SharedCheckpointer>,
    may_repeat: Option<bool>,
) -> Result<(AgentState, bool), Error> {
    let checkpointer = checkpointer.into();
    let has_thread =
        may_repeat.is_some() && graph.threads().checkpointer(checkpointer.clone()).get_state("t").await.is_ok();
    let run = match has_thread {
        true => graph.continue_thread("t"),
        false => graph.invoke(AgentState::turn_input(context, "ana", "Forget it").unwrap()).thread("t"),
    };
    let mut outcome = run.context(context.clone()).checkpointer(checkpointer.clone()).await?;
    let mut was_interrupted = false;
    while let Some(question) = outcome.interrupts().first() {
        let is_unknown = question.value["outcome"] == "unknown";
        was_interrupted |= is_unknown;
        let decision = if is_unknown && may_repeat == Some(false) { "deny" } else { "allow_once" };
        let answer = json!({ "decision": decision });
        outcome = graph.resume("t", answer).context(context.clone()).checkpointer(checkpointer.clone()).await?;
    }
    Ok(((*outcome.state).clone(), was_interrupted))
}

/// R-PLN-51a: a session with an open interrupt moves from memory to SQLite and ends there with the same result.
#[tokio::test]
async fn a_session_moves_to_another_store() {
    let (source, target, context) =
        (MemoryCheckpointer::new(), SqliteCheckpointer::open(":memory:").unwrap(), test_context(planner(), tools()));
    let graph = assistant(source.clone(), MemoryStore::new());
    let input = AgentState::turn_input(&context, "ana", "Orders of Miller").unwrap();
    let paused = graph.invoke(input).thread("t").context(context.clone()).await.unwrap();
    assert_eq!(paused.interrupts().len(), 1);
    let mut file = Vec::new();
    transfer::export(source, "t", &mut file).await.unwrap();
    transfer::import(target.clone(), &file[..], ImportName::Same).await.unwrap();

    let moved = assistant(target, MemoryStore::new());
    let after_import = moved.resume("t", "Ben Miller").context(context.clone()).await.unwrap();
    let without_import = graph.resume("t", "Ben Miller").context(context).await.unwrap();
    assert!(after_import.is_finished());
    assert_eq!(comparable(&after_import.state), comparable(&without_import.state));
}
