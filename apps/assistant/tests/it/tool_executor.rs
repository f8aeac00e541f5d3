//! Tool executor: parallel calls, timeouts, failures and dependencies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::ToolError;
use superstep::core::message::ToolStatus;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep_assistant::TurnLimits;
use superstep_assistant::prompt::ModelTask;
use superstep_assistant::verdict::VerdictStatus;
use tokio::time::{Instant, sleep};

use crate::support::{Fake, Provider, TestHarness, last, of_kind, passage, plan, prompts_for, rows, test_context};

fn slow(name: &'static str) -> Fake {
    Fake::with_future(name, move |_| {
        Box::pin(async move {
            sleep(Duration::from_millis(200)).await;
            Ok(json!({ "result": name }))
        })
    })
}

/// R-PLN-33: three parallel calls of 200 ms take 200 ms, and a dependent fourth call takes 200 ms more.
#[tokio::test(start_paused = true)]
async fn independent_calls_run_at_once() {
    let harness = TestHarness::new();
    let names = ["now", "calculate", "search_docs"];
    let three: Vec<(&str, &str, Value, &[&str])> =
        names.iter().map(|name| (*name, *name, json!({}), &[][..])).collect();
    let start = Instant::now();
    let script = ScriptedModel::new([plan(&three), ScriptedReply::text("Done.")]);
    let state = harness.send(&test_context(script, names.map(slow)), "Do it").await.unwrap().state;
    assert_eq!(start.elapsed(), Duration::from_millis(200));
    let order: Vec<&str> = state.tool_outputs.iter().map(|message| message.name.as_deref().unwrap()).collect();
    assert_eq!(order, names);

    let mut four = three.clone();
    four.push((
        "after",
        "bq_query",
        json!({ "sql": "select {{calculate}} as {{now}}", "whole": "{{calculate}}" }),
        &["calculate", "now"],
    ));
    let (start, query) = (Instant::now(), slow("bq_query"));
    let tools = names.map(slow).into_iter().chain([query.clone()]);
    let script = ScriptedModel::new([plan(&four), ScriptedReply::text("Done.")]);
    TestHarness::new().send(&test_context(script, tools), "Do it").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(400));
    assert_eq!(query.calls(), [json!({ "sql": "select calculate as now", "whole": "calculate" })]);
}

/// R-PLN-38, R-PLN-31: a call that depends on a failed call is skipped; the others run.
#[tokio::test]
async fn a_call_that_depends_on_a_failed_call_is_skipped() {
    let harness = TestHarness::new();
    let calls = [
        ("a", "calculate", json!({}), &[][..]),
        ("b", "search_docs", json!({ "query": "{{a}}" }), &["a"][..]),
        ("c", "now", json!({}), &[][..]),
    ];
    let fails = Fake::new("calculate", |_| Err(ToolError::new("invalid: no expression")));
    let (docs, now) =
        (Fake::returning("search_docs", passage("x")), Fake::returning("now", json!({ "utc": "2026-11-02" })));
    let script = ScriptedModel::new([plan(&calls), ScriptedReply::text("It is Monday [1].")]);
    let state = harness.send(&test_context(script, [fails, docs.clone(), now]), "Which day?").await.unwrap().state;
    let texts: Vec<_> = state.tool_outputs.iter().map(|message| message.text()).collect();
    assert!(texts[0].contains("invalid: no expression"), "{texts:?}");
    assert!(texts[1].contains("it needs the result of `a`, which failed") && docs.calls().is_empty());
    assert_eq!(state.tool_outputs[2].status, ToolStatus::Success);
}

/// R-PLN-34, R-PLN-37, R-PLN-63: a hanging tool times out after 10 s and is retried; then the planner makes another
/// plan. The answer uses the other results and names what is missing.
#[tokio::test(start_paused = true)]
async fn a_hanging_tool_times_out_and_is_replanned() {
    let harness = TestHarness::new();
    let hangs = Fake::with_future("bq_query", |_| Box::pin(std::future::pending()));
    let docs = Fake::returning("search_docs", passage("Orders are late when they ship after 1 day."));
    let sql = |number: u32| json!({ "sql": format!("select {number}") });
    let script = ScriptedModel::new([
        plan(&[("q", "bq_query", sql(1), &[]), ("d", "search_docs", json!({ "query": "late" }), &[])]),
        plan(&[("q", "bq_query", sql(2), &[])]),
        plan(&[("q", "bq_query", sql(3), &[])]),
        ScriptedReply::text("Late means after 1 day [1]; how many there are is not known."),
        ScriptedReply::text(r#"{"summary": "Late orders."}"#),
    ]);
    let start = Instant::now();
    let (events, done) =
        harness.watch(&test_context(Provider(script.clone()), [hangs.clone(), docs]), "How many are late?").await;
    let state = done.unwrap().state;
    // Three attempts for each of three plans, with backoff delays of 0.5 s and 1 s.
    assert_eq!((hangs.calls().len(), start.elapsed()), (9, Duration::from_millis(3 * 31_500)));
    let errors = of_kind(&events, "on_tool_error");
    assert_eq!((errors.len(), errors[0].0), (9, "tool_executor"));
    assert_eq!((&errors[0].1["will_retry"], &errors[2].1["will_retry"]), (&json!(true), &json!(false)));
    let statuses: Vec<&Value> =
        of_kind(&events, "on_custom_event").into_iter().map(|(_, data)| &data["status"]).collect();
    assert_eq!(statuses, [&json!("planning_retry"), &json!("planning_retry"), &json!("giving_up")]);
    assert_eq!((state.retry_count, state.verdict.as_ref().unwrap().status), (2, VerdictStatus::GivingUp));
    let answer = &prompts_for(&script, ModelTask::Answer)[0];
    assert!(answer.outputs[0].is_success() && answer.outputs[0].tool == "search_docs", "{:?}", answer.outputs);
    let text = last(&state);
    assert!(text.starts_with("I could not find everything: `bq_query`"), "{text}");
    assert!(text.contains("Late means after 1 day [1]"));
    let chunks: String =
        of_kind(&events, "on_chat_model_stream").iter().filter_map(|(_, data)| data["chunk"].as_str()).collect();
    assert_eq!(chunks, text, "what was not the model's is streamed too");
}

/// R-PLN-34: only safe tools are retried, and only after transient errors.
#[tokio::test(start_paused = true)]
async fn only_safe_tools_are_retried_after_transient_errors() {
    for (is_safe, may_pass, expected) in [(true, true, 3), (true, false, 1), (false, true, 1)] {
        let harness = TestHarness::new();
        let tool = Fake::new("calculate", move |_| {
            let error = ToolError::new("unavailable: busy");
            Err(if may_pass { error.retryable() } else { error })
        });
        let tool = tool.spec(|mut spec| {
            spec.annotations.read_only = is_safe;
            spec.retries(7)
        });
        let script = (0..3).fold(ScriptedModel::default(), |script, number| {
            script.then(plan(&[("c1", "calculate", json!({ "expression": number }), &[])]))
        });
        harness.send(&test_context(script.then("Sorry."), [tool.clone()]), "Calculate").await.unwrap();
        assert_eq!(tool.calls().len(), 3 * expected, "safe {is_safe}, may pass {may_pass}");
    }
}

/// R-PLN-34: a call that succeeds at the second attempt is not a failure.
#[tokio::test(start_paused = true)]
async fn a_second_attempt_may_succeed() {
    let (harness, attempts) = (TestHarness::new(), Arc::new(AtomicU32::new(0)));
    let tool = Fake::new("calculate", move |_| match attempts.fetch_add(1, Ordering::SeqCst) {
        0 => Err(ToolError::new("unavailable: busy").retryable()),
        _ => Ok(json!({ "expression": "2+2", "result": "4" })),
    });
    let script = ScriptedModel::new([plan(&[("c1", "calculate", json!({}), &[])]), ScriptedReply::text("4 [1]")]);
    let (events, done) = harness.watch(&test_context(script, [tool]), "2+2?").await;
    assert_eq!(last(&done.unwrap().state), "4 [1]");
    let kinds = ["on_tool_start", "on_tool_error", "on_tool_end"].map(|kind| of_kind(&events, kind).len());
    assert_eq!(kinds, [1, 1, 1]);
}

/// R-PLN-36: a result that is too long is cut, with the number of missing bytes, and the full text is saved in the
/// store; the event is limited in size as well.
#[tokio::test]
async fn a_long_result_is_cut_and_saved_in_full() {
    let harness = TestHarness::new();
    let long = "word ".repeat(100_000);
    let script = ScriptedModel::new([
        plan(&[("c1", "read_file", json!({ "path": "a" }), &[])]),
        ScriptedReply::text("Words [1]."),
    ]);
    let text = long.clone();
    let context = test_context(script, [Fake::new("read_file", move |_| Ok(Value::from(text.clone())))])
        .limits(TurnLimits::default());
    let (events, done) = harness.watch(&context, "Read it").await;
    let state = done.unwrap().state;
    let event_output = of_kind(&events, "on_tool_end")[0].1["output"].to_string();
    assert!((250_000..263_000).contains(&event_output.len()), "an event of {} bytes", event_output.len());
    let output = &state.tool_outputs[0];
    assert!(output.text().len() < 66 * 1024 && output.text().ends_with("[truncated: 434464 of 500000 bytes omitted]"));
    let (path, key) = output.metadata["whole"].as_str().unwrap().rsplit_once('/').unwrap();
    let namespace: Vec<&str> = path.split('/').collect();
    let store = superstep::store::SharedStore::from(harness.store.clone());
    let item = store.get(namespace, key).await.unwrap().unwrap();
    assert_eq!(item.value.as_str(), Some(long.as_str()));
}

/// R-PLN-36: a long result with rows stays valid JSON: complete rows are removed from the end, and the original
/// number is stated.
#[tokio::test]
async fn a_long_result_of_rows_stays_json() {
    let harness = TestHarness::new();
    let all: Vec<Value> = (0..4_000).map(|row| json!([row, "a name with \"quotes\" and more"])).collect();
    let script = ScriptedModel::new([
        plan(&[("c1", "bq_query", json!({ "sql": "select" }), &[])]),
        ScriptedReply::text("Rows [1]."),
    ]);
    let context = test_context(script.clone(), [Fake::returning("bq_query", rows(&["n", "name"], json!(all)))]);
    let state = harness.send(&context, "Show all").await.unwrap().state;
    let output = &state.tool_outputs[0];
    assert!(output.text().len() <= 64 * 1024 && output.text().len() > 60 * 1024, "{}", output.text().len());
    let read: Value = serde_json::from_str(&output.text()).unwrap();
    let remaining = read["rows"].as_array().unwrap();
    assert_eq!(remaining[..], all[..remaining.len()]);
    assert_eq!((&read["truncated"], &read["count"]), (&json!(true), &json!(4_000)));
    assert_eq!(read["cut"], json!({ "/rows": { "kept": remaining.len(), "of": 4_000 } }));
    assert_eq!(
        prompts_for(&script, ModelTask::Answer)[0].outputs[0].value(),
        read,
        "the model receives the same result"
    );
    let (path, key) = output.metadata["whole"].as_str().unwrap().rsplit_once('/').unwrap();
    let store = superstep::store::SharedStore::from(harness.store.clone());
    let item = store.get(path.split('/').collect::<Vec<_>>(), key).await.unwrap().unwrap();
    let full: Value = serde_json::from_str(item.value.as_str().unwrap()).unwrap();
    assert_eq!(full["rows"].as_array().map(Vec::len), Some(4_000));
}

/// R-PLN-36: the note that the full result is stored is true for every result of the tools, and the stated length is
/// that of the original. A result over the storage limit does not claim to be saved in full.
#[tokio::test]
async fn a_result_saved_in_full_is_complete() {
    for (max_stored_result_bytes, is_saved) in [(TurnLimits::default().max_stored_result_bytes, true), (100_000, false)]
    {
        let count = 10_000;
        let harness = TestHarness::new();
        let all: Vec<Value> = (0..count).map(|row| json!([row, "a name that has some length"])).collect();
        let result = rows(&["n", "name"], json!(all));
        let full_text = result.to_string();
        let script = ScriptedModel::new([
            plan(&[("c1", "bq_query", json!({ "sql": "select" }), &[])]),
            ScriptedReply::text("Rows [1]."),
        ]);
        let context = test_context(script, [Fake::returning("bq_query", result)])
            .limits(TurnLimits { max_stored_result_bytes, ..TurnLimits::default() });
        let state = harness.send(&context, "Show all").await.unwrap().state;
        let output = &state.tool_outputs[0];
        assert_eq!(output.metadata["cut_bytes"], full_text.len() - output.text().len(), "{max_stored_result_bytes}");
        let store = superstep::store::SharedStore::from(harness.store.clone());
        let hits = store.search(superstep::store::SearchOp::new(["belongings", "t"])).await.unwrap();
        let stored_texts: Vec<&str> = hits.iter().map(|hit| hit.item.value.as_str().unwrap()).collect();
        assert_eq!((output.metadata.contains_key("whole"), stored_texts.len()), (is_saved, usize::from(is_saved)));
        assert!(stored_texts.iter().all(|stored| *stored == full_text), "not the full text");
        let read: Value = serde_json::from_str(&output.text()).unwrap();
        assert_eq!(read["cut"]["/rows"]["of"], count, "{max_stored_result_bytes}");
    }
}

/// R-PLN-42, R-PLN-22, R-PLN-15: after three empty results the verifier gives up, and the answer says so.
#[tokio::test]
async fn the_verifier_gives_up_after_three_empty_results() {
    let harness = TestHarness::new();
    let script = (0..3).fold(ScriptedModel::default(), |script, number| {
        script.then(plan(&[("c1", "bq_query", json!({ "sql": format!("select {number}") }), &[])]))
    });
    let context =
        test_context(script.clone().then("I do not know."), [Fake::returning("bq_query", rows(&["n"], json!([])))]);
    let state = harness.send(&context, "How many?").await.unwrap().state;
    let verdict = state.verdict.as_ref().unwrap();
    assert_eq!((state.retry_count, verdict.status), (2, VerdictStatus::GivingUp));
    let missing = ["`bq_query` found nothing"];
    assert_eq!(json!(verdict), json!({ "status": "giving_up", "reason": "empty", "missing": missing }));
    assert_eq!(prompts_for(&script, ModelTask::Plan).len(), 3);
}
