//! Plans of the planner: parsing, repair and rejection.

use serde_json::json;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep_assistant::plan::{NextStep, Plan};
use superstep_assistant::prompt::ModelTask;
use superstep_assistant::verdict::VerdictStatus;

use crate::support::{Fake, TestHarness, last, no_tools, plan, prompts_for, rows, test_context};

/// R-PLN-27, R-PLN-29: errors in a model response are repaired if this does not change the meaning.
#[test]
fn a_malformed_plan_is_repaired() {
    let expected =
        Plan::parse(r#"{"next_step":"tool_use","tool_calls":[{"id":"c1","tool":"now","args":{"zone":"UTC"}}]}"#);
    let expected = expected.unwrap();
    for malformed in [
        "Here it is:\n```json\n{\"next_step\": \"tool_use\", \"tool_calls\": [{\"id\": \"c1\", \"tool\": \"now\", \"args\": {\"zone\": \"UTC\"}}]}\n```\nGood luck!",
        r#"{"next_step":"tool_use","tool_calls":[{"id":"c1","tool":"now","args":{"zone":"UTC",},},],}"#,
        r#"{"next_step":"tool_use","tool_calls":[{"id":"c1","tool":"now","args":{"zone":"UTC"#,
        r#"{"tool_calls":[{"name":"now","arguments":"{\"zone\":\"UTC\"}"}]}"#,
        r#"[{"tool":"now","input":{"zone":"UTC"},"depends_on":null}]"#,
        r#"{"next":"tools","calls":[{"id":"c1","tool":"now","args":{"zone":"UTC"}}"#,
    ] {
        assert_eq!(Plan::parse(malformed).as_ref(), Ok(&expected), "{malformed}");
    }
    assert_eq!(Plan::parse("{\"next_step\": \"generate\"}").unwrap().next_step, NextStep::Generate);
}

/// R-PLN-29: an invalid plan is rejected with a reason.
#[test]
fn an_invalid_plan_is_rejected() {
    let rows = [
        ("I would look it up.", "no JSON object"),
        (r#"{"tool_calls": []}"#, "`next_step` is missing"),
        (r#"{"next_step": "tool_use"}"#, "the plan has `tool_use`, but no calls"),
        (r#"{"next_step": "dance"}"#, "not `dance`"),
        (r#"{"tool_calls": [{"args": {}}]}"#, "a call has no `tool`"),
        (r#"{"tool_calls": [{"id": "a", "tool": "x"}, {"id": "a", "tool": "y"}]}"#, "two calls have the id `a`"),
        (
            r#"{"tool_calls": [{"id": "a", "tool": "x", "depends_on": ["b"]}]}"#,
            "depends on `b`, which is not in the plan",
        ),
        (
            r#"{"tool_calls": [{"id": "a", "tool": "x", "depends_on": ["b"]}, {"id": "b", "tool": "y", "depends_on": "a"}]}"#,
            "in a circle: `a`, `b`",
        ),
    ];
    for (text, expected) in rows {
        let error = Plan::parse(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// R-PLN-28: letter case, spaces and the order of keys and calls do not make a different plan; other words do, and
/// so does letter case where it has a meaning.
#[test]
fn equal_plans_are_recognized() {
    let signature_of = |text: &str| Plan::parse(text).unwrap().signature();
    let call_signature =
        |tool: &str, key: &str, text: &str| signature_of(&json!([{ "tool": tool, "args": { key: text } }]).to_string());
    let rows = [
        ("bq_query", "sql", "SELECT a FROM t WHERE b = 'X'", "select a  from t -- all\n where b = 'X' ;", true),
        ("bq_query", "sql", "SELECT a FROM t WHERE b = 'LATE'", "SELECT a FROM t WHERE b = 'late'", false),
        ("bq_query", "sql", "SELECT a FROM t WHERE b = 'a  b'", "SELECT a FROM t WHERE b = 'a b'", false),
        ("bq_query", "sql", "SELECT a FROM `Orders`", "SELECT a FROM `orders`", false),
        ("bq_query", "sql", "SELECT 'open", "select 'open", false),
        ("search_docs", "query", "Late  orders?", "late orders", true),
        ("search_docs", "query", "late orders", "late deliveries", false),
        ("read_file", "path", "Readme.md", "README.md", false),
        ("calculate", "expression", "1 Mm", "1 mm", false),
        ("crm_find", "query", "Ann", "ann", false),
    ];
    for (tool, key, first, second, is_same) in rows {
        assert_eq!(
            call_signature(tool, key, first) == call_signature(tool, key, second),
            is_same,
            "{first} and {second}"
        );
    }
    let nested = |args: serde_json::Value| signature_of(&json!([{ "tool": "x", "args": args }]).to_string());
    assert_eq!(nested(json!({ "a": { "b": 1, "c": [2] } })), nested(json!({ "a": { "c": [2], "b": 1 }, "d": null })));
    let first = signature_of(r#"[{"tool":"bq_query","args":{"sql":"SELECT  1;","max_rows":5}},{"tool":"now"}]"#);
    assert_eq!(
        first,
        signature_of(
            r#"[{"id":"z","tool":"now"},{"tool":"bq_query","args":{"max_rows":5,"sql":"select 1","dataset":null}}]"#
        )
    );
    assert_ne!(first, signature_of(r#"[{"tool":"bq_query","args":{"sql":"SELECT 2","max_rows":5}},{"tool":"now"}]"#));
}

fn empty_query() -> Fake {
    Fake::returning("bq_query", rows(&["n"], json!([])))
}

/// R-PLN-28: a repeated plan is rejected and requested once more; then the turn continues as exhausted.
#[tokio::test]
async fn a_repeated_plan_is_rejected_once_and_then_the_turn_is_exhausted() {
    let harness = TestHarness::new();
    let same = || plan(&[("c1", "bq_query", json!({ "sql": "select 1" }), &[])]);
    let script = ScriptedModel::new([same(), same(), same()]).then("I could not find it.");
    let tool = empty_query();
    let state = harness.send(&test_context(script.clone(), [tool.clone()]), "How many?").await.unwrap().state;
    assert_eq!((tool.calls().len(), script.remaining(), state.retry_count), (1, 0, 1));
    assert_eq!(state.verdict.as_ref().unwrap().status, VerdictStatus::GivingUp);
    assert_eq!(last(&state), "I could not find it.");
    let prompts = prompts_for(&script, ModelTask::Plan);
    assert_eq!(prompts.len(), 3);
    assert!(prompts[1].plan_rejection.is_none() && prompts[2].plan_rejection.as_ref().unwrap().contains("already"));
}

/// R-PLN-28: a different plan at the second request is accepted.
#[tokio::test]
async fn another_plan_at_the_second_request_is_accepted() {
    let harness = TestHarness::new();
    let query_plan = |sql: &str| plan(&[("c1", "bq_query", json!({ "sql": sql }), &[])]);
    let script = ScriptedModel::new([
        query_plan("select 1"),
        query_plan("SELECT 1"),
        query_plan("select 2"),
        no_tools(),
        ScriptedReply::text("No."),
    ]);
    let tool = empty_query();
    harness.send(&test_context(script, [tool.clone()]), "How many?").await.unwrap();
    assert_eq!(tool.calls(), [json!({ "sql": "select 1" }), json!({ "sql": "select 2" })]);
}

/// R-PLN-29, R-PLN-27: a cyclic plan is rejected with the reason, and the next one is used.
#[tokio::test]
async fn a_cyclic_plan_is_rejected() {
    let harness = TestHarness::new();
    let circle = plan(&[("a", "now", json!({}), &["b"]), ("b", "now", json!({}), &["a"])]);
    let script = ScriptedModel::new([circle, no_tools(), ScriptedReply::text("Hello.")]);
    let state = harness.send(&test_context(script.clone(), [empty_query()]), "Hi").await.unwrap().state;
    assert_eq!(last(&state), "Hello.");
    assert!(prompts_for(&script, ModelTask::Plan)[1].plan_rejection.as_ref().unwrap().contains("circle"));
}

/// R-PLN-29, R-PLN-36: ids that occur in earlier messages are replaced, including their references.
#[tokio::test]
async fn ids_are_never_used_twice() {
    let harness = TestHarness::new();
    let calls = |number: u32| {
        plan(&[
            ("c1", "calculate", json!({ "expression": number }), &[]),
            ("c2", "search_docs", json!({ "query": "about {{c1}}" }), &["c1"]),
        ])
    };
    let docs = Fake::returning("search_docs", json!({ "passages": [{ "text": "x", "source": "a", "title": "b" }] }));
    let script = ScriptedModel::new([calls(1), ScriptedReply::text("One."), calls(2), ScriptedReply::text("Two.")]);
    let context = test_context(script, [Fake::returning("calculate", json!({ "result": "4" })), docs.clone()]);
    harness.send(&context, "First").await.unwrap();
    let state = harness.send(&context, "Second").await.unwrap().state;
    let ids: Vec<&str> =
        state.messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["c1", "c2", "c1_2", "c2_2"]);
    assert_eq!(docs.calls()[1], json!({ "query": "about 4" }));
    superstep::tools::ensure_tool_results(&state.messages).unwrap();
}
