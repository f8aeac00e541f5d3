//! Tool router: validation and approval of calls.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::Outcome;
use superstep::core::message::ToolStatus;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::tools::SharedTool;
use superstep_assistant::policy::Policy;
use superstep_assistant::prompt::ModelTask;
use superstep_assistant::{AgentState, AssistantContext};

use crate::support::{Fake, TestHarness, no_tools, plan, profiles, prompts_for, rows, test_context};

/// R-PLN-31, R-PLN-68, R-PLN-38: an invalid call becomes an error output, the others run.
#[tokio::test]
async fn an_invalid_call_becomes_an_error_output() {
    let schema = json!({ "type": "object", "properties": { "sql": { "type": "string" } }, "required": ["sql"], "additionalProperties": false });
    let query = Fake::returning("bq_query", rows(&["n"], json!([[1]]))).spec(|spec| spec.with_input_schema(schema));
    let fetch = Fake::returning("fetch_url", json!("never"));
    let cases = [
        ("bq_quer", json!({ "sql": "select 1" }), "invalid: no tool `bq_quer`; did you mean `bq_query`?"),
        ("fetch_url", json!({ "url": "x" }), "refused: this user may not use `fetch_url` (rule `tools`)"),
        ("bq_query", json!({ "sql": 1 }), "invalid: invalid arguments for `bq_query`: `sql`: expected string"),
    ];
    for (tool, args, expected) in cases {
        let harness = TestHarness::new();
        let good = json!({ "sql": "select n" });
        let script = ScriptedModel::new([
            plan(&[("c1", tool, args, &[]), ("c2", "bq_query", good, &[])]),
            ScriptedReply::text("1 [1]"),
        ]);
        let state =
            harness.send(&test_context(script, [query.clone(), fetch.clone()]), "How many?").await.unwrap().state;
        let outputs: Vec<_> = state.tool_outputs.iter().map(|message| (message.status, message.text())).collect();
        assert!(outputs[0].0 == ToolStatus::Error && outputs[0].1.starts_with(expected), "{outputs:?}");
        assert_eq!(outputs[1].0, ToolStatus::Success);
        assert_eq!(state.verdict.as_ref().unwrap().missing.len(), 1, "the verifier sees it");
    }
    assert!(fetch.calls().is_empty());
}

/// R-PLN-68, R-PLN-39: an unknown tool causes a new plan, with the list of tools.
#[tokio::test]
async fn an_unknown_tool_is_planned_again() {
    let harness = TestHarness::new();
    let script = ScriptedModel::new([
        plan(&[("c1", "sql", json!({}), &[])]),
        plan(&[("c1", "bq_query", json!({ "sql": "select 1" }), &[])]),
        ScriptedReply::text("1 [1]"),
    ]);
    let context = test_context(
        script.clone(),
        [Fake::returning("bq_query", rows(&["n"], json!([[1]]))), Fake::returning("fetch_url", json!(1))],
    );
    let state = harness.send(&context, "How many?").await.unwrap().state;
    assert_eq!(state.retry_count, 1);
    let second = &prompts_for(&script, ModelTask::Plan)[1];
    assert_eq!(second.tools, ["bq_query"], "only what the user may use");
    assert!(second.previous_calls[0].outcome.contains("no tool `sql`"));
}

/// R-PLN-31: a plan has at most eight calls.
#[tokio::test]
async fn more_than_eight_calls_are_rejected() {
    let harness = TestHarness::new();
    let ids: Vec<String> = (0..10).map(|number| format!("c{number}")).collect();
    let calls: Vec<(&str, &str, Value, &[&str])> =
        ids.iter().map(|id| (id.as_str(), "calculate", json!({ "expression": id }), &[][..])).collect();
    let calculate = Fake::returning("calculate", json!({ "expression": "x", "result": "4" }));
    let script = ScriptedModel::new([plan(&calls), ScriptedReply::text("4 [1]")]);
    let state = harness.send(&test_context(script, [calculate.clone()]), "Calculate").await.unwrap().state;
    assert_eq!((calculate.calls().len(), state.tool_outputs.len()), (8, 10));
    assert!(state.tool_outputs[9].text().contains("at most 8 calls"));
}

struct DeletionCase {
    harness: TestHarness,
    context: AssistantContext,
    tool: Fake,
}

impl DeletionCase {
    fn new(turns: usize) -> Self {
        let tool = Fake::returning("forget_memory", json!({ "forgotten": ["x"] })).spec(|mut spec| {
            spec.annotations.read_only = false;
            spec.destructive()
        });
        let script = (0..turns).fold(ScriptedModel::default(), |script, turn| {
            script.then(plan(&[("c1", "forget_memory", json!({ "key": format!("k{turn}") }), &[])])).then("Done.")
        });
        Self { harness: TestHarness::new(), context: test_context(script, [tool.clone()]), tool }
    }

    async fn send(&self) -> Outcome<AgentState> {
        self.harness.send(&self.context, "Forget it").await.unwrap()
    }
}

/// R-PLN-32: a destructive tool needs approval: tool, arguments, effect, and four possible decisions.
#[tokio::test]
async fn a_destructive_tool_requires_approval() {
    let case = DeletionCase::new(4);
    let paused = case.send().await;
    let payload = &paused.interrupts()[0].value;
    assert_eq!((&payload["tool"], &payload["arguments"]), (&json!("forget_memory"), &json!({ "key": "k0" })));
    assert_eq!((&payload["kind"], &payload["effect"]), (&json!("approval"), &json!("Does forget_memory.")));
    assert!(case.tool.calls().is_empty());
    case.harness.answer(&case.context, json!({ "decision": "allow_once" })).await.unwrap();
    assert_eq!(case.tool.calls(), [json!({ "key": "k0" })]);

    assert_eq!(case.send().await.interrupts().len(), 1, "once is once");
    case.harness.answer(&case.context, json!({ "decision": "edit", "args": { "key": "other" } })).await.unwrap();
    assert_eq!(case.tool.calls()[1], json!({ "key": "other" }));

    case.send().await;
    case.harness.answer(&case.context, json!({ "decision": "allow_session" })).await.unwrap();
    let without_interrupt = case.send().await;
    assert!(without_interrupt.is_finished(), "allowed for the session");
    assert_eq!(case.tool.calls().len(), 4);
}

/// R-PLN-32, R-PLN-31: edited arguments are validated like planned ones.
#[tokio::test]
async fn edited_arguments_are_validated() {
    let schema =
        json!({ "type": "object", "properties": { "key": { "type": "string" } }, "additionalProperties": false });
    let tool = Fake::returning("forget_memory", json!({ "forgotten": [] })).spec(|spec| spec.with_input_schema(schema));
    let planned = plan(&[("c1", "forget_memory", json!({ "key": "k" }), &[])]);
    let script = ScriptedModel::new([planned, no_tools(), ScriptedReply::text("Sorry.")]);
    let (harness, context) = (TestHarness::new(), test_context(script, [tool.clone()]));
    assert_eq!(harness.send(&context, "Forget it").await.unwrap().interrupts().len(), 1, "the policy asks about it");
    let state = harness.answer(&context, json!({ "decision": "edit", "args": { "key": 7 } })).await.unwrap().state;
    assert!(tool.calls().is_empty());
    let output = state.messages.iter().find(|message| message.tool_call_id.is_some()).unwrap().text().into_owned();
    assert!(output.starts_with("invalid: invalid arguments for `forget_memory`"), "{output}");
}

/// R-PLN-32: an approved call runs exactly as approved: arguments with references are rejected in a plan, under an
/// approval for the session, and when a person enters them; the planner receives an instruction instead.
#[tokio::test]
async fn an_approved_call_runs_as_displayed() {
    let delete_tool = Fake::returning("forget_memory", json!({ "forgotten": ["x"] }));
    let search = Fake::returning("search_memory", json!({ "facts": [{ "key": "k9", "text": "tents" }] }));
    let plan_with_reference = |args: serde_json::Value| {
        plan(&[("a", "search_memory", json!({ "query": "tents" }), &[]), ("b", "forget_memory", args, &["a"])])
    };
    let literal_plan = plan(&[("c", "forget_memory", json!({ "key": "k9" }), &[])]);
    for args in [json!({ "key": "{{a}}" }), json!({ "keys": [{ "deep": "the {{a}} one" }] })] {
        let script = ScriptedModel::new([
            plan_with_reference(args.clone()),
            ScriptedReply::text("Not yet."),
            literal_plan.clone(),
            ScriptedReply::text("Done."),
        ]);
        let (harness, context) =
            (TestHarness::new(), test_context(script.clone(), [delete_tool.clone(), search.clone()]));
        let done = harness.send(&context, "Forget the tents").await.unwrap();
        assert!(done.is_finished(), "no approval is requested");
        let rejection = done.state.tool_outputs[1].text().into_owned();
        assert!(
            rejection.starts_with("refused: `forget_memory` requires approval") && rejection.contains("literal values"),
            "{rejection}"
        );
        assert_eq!(done.state.verdict.as_ref().unwrap().missing.len(), 1);
        // The call is still rejected under an approval for the session.
        harness.send(&context, "Forget k9").await.unwrap();
        harness.answer(&context, json!({ "decision": "allow_session" })).await.unwrap();
        let context = context.with_model(ScriptedModel::new([plan_with_reference(args), ScriptedReply::text("No.")]));
        let repeated = harness.send(&context, "Forget the tents").await.unwrap().state;
        assert!(repeated.tool_outputs[1].text().starts_with("refused: `forget_memory` requires approval"));
    }
    assert_eq!(delete_tool.calls(), [json!({ "key": "k9" }), json!({ "key": "k9" })]);

    // A dependency alone is no reason for rejection, and braces that refer to no call are text.
    let ordered =
        plan(&[("a", "search_memory", json!({}), &[]), ("b", "forget_memory", json!({ "key": "{{z}}" }), &["a"])]);
    let script = ScriptedModel::new([ordered, ScriptedReply::text("Done.")]);
    let (harness, context) = (TestHarness::new(), test_context(script, [delete_tool.clone(), search]));
    let paused = harness.send(&context, "Forget it").await.unwrap();
    assert_eq!(paused.interrupts()[0].value["arguments"], json!({ "key": "{{z}}" }));
    let edited = json!({ "decision": "edit", "args": { "key": "{{a}}" } });
    let state = harness.answer(&context, edited).await.unwrap().state;
    assert!(
        state.tool_outputs[1].text().starts_with("refused: `forget_memory` requires approval"),
        "{:?}",
        state.tool_outputs
    );
    assert_eq!(delete_tool.calls().len(), 2);
}

/// R-PLN-32: a tool that is approved for the session needs a new approval if the same call would run twice in a
/// turn.
#[tokio::test]
async fn repeated_calls_require_a_new_approval() {
    let tool = Fake::new("forget_memory", |_| Err(superstep::ToolError::new("unavailable: the store is away")));
    let call = |id: &'static str, key: &str| (id, "forget_memory", json!({ "key": key }), &[][..]);
    let script = ScriptedModel::new([
        plan(&[call("c1", "a")]),
        plan(&[call("c1", "a"), call("c2", "b")]),
        no_tools(),
        ScriptedReply::text("It did not work."),
    ]);
    let (harness, context) = (TestHarness::new(), test_context(script, [tool.clone()]));
    harness.send(&context, "Forget it").await.unwrap();
    let paused = harness.answer(&context, json!({ "decision": "allow_session" })).await.unwrap();
    assert_eq!(paused.interrupts().len(), 1);
    assert_eq!(paused.interrupts()[0].value["arguments"], json!({ "key": "a" }), "the new one is allowed");
    harness.answer(&context, json!({ "decision": "deny" })).await.unwrap();
    assert_eq!(tool.calls(), [json!({ "key": "a" }), json!({ "key": "b" })]);
}

/// R-PLN-32: the same holds for a repeated call within one plan, whatever the format of its arguments.
#[tokio::test]
async fn a_repeated_call_runs_once_in_a_plan() {
    let tool = Fake::returning("forget_memory", json!("gone"));
    let twice = plan(&[
        ("c1", "forget_memory", json!({ "key": "a" }), &[]),
        ("c2", "forget_memory", json!({ "key": "a", "note": null }), &[]),
        ("c3", "forget_memory", json!({ "key": "b" }), &[]),
    ]);
    let (harness, context) =
        (TestHarness::new(), test_context(ScriptedModel::new([twice, ScriptedReply::text("Done.")]), [tool.clone()]));
    harness.send(&context, "Forget it").await.unwrap();
    let paused = harness.answer(&context, json!({ "decision": "allow_session" })).await.unwrap();
    assert_eq!(paused.interrupts().len(), 1, "the second is asked about, the third is another call");
    harness.answer(&context, json!({ "decision": "deny" })).await.unwrap();
    assert_eq!(tool.calls(), [json!({ "key": "a" }), json!({ "key": "b" })]);
}

/// R-PLN-32, R-PLN-25: the row limit of the role is applied before a person is asked, not after.
#[tokio::test]
async fn the_row_limit_is_applied_before_approval() {
    let schema =
        json!({ "type": "object", "properties": { "sql": { "type": "string" }, "max_rows": { "type": "integer" } } });
    let query = Fake::returning("bq_query", rows(&["n"], json!([[1]])))
        .spec(|spec| spec.with_input_schema(schema).destructive());
    let planned = plan(&[("c1", "bq_query", json!({ "sql": "select 1", "max_rows": 9_999 }), &[])]);
    let (harness, context) = (
        TestHarness::new(),
        test_context(ScriptedModel::new([planned, ScriptedReply::text("1 [1]")]), [query.clone()]),
    );
    let paused = harness.send(&context, "How many?").await.unwrap();
    let arguments = paused.interrupts()[0].value["arguments"].clone();
    assert_eq!(arguments["max_rows"], 1_000);
    harness.answer(&context, json!({ "decision": "allow_once" })).await.unwrap();
    assert_eq!(query.calls(), [arguments]);
}

/// R-PLN-32: an approval of one call never applies to another: if the conversation continues under a policy that
/// requires approval for an earlier call as well, that call gets its own interrupt, and the existing decision stays
/// with its call.
#[tokio::test]
async fn a_decision_applies_only_to_its_call() {
    let search = Fake::returning("search_memory", json!({ "facts": [{ "key": "k", "text": "tents" }] }));
    let delete_tool = Fake::returning("forget_memory", json!({ "forgotten": ["k"] }));
    let both = plan(&[
        ("c1", "search_memory", json!({ "query": "tents" }), &[]),
        ("c2", "forget_memory", json!({ "key": "k" }), &[]),
    ]);
    let script = ScriptedModel::new([both, ScriptedReply::text("Done [1].")]);
    let harness = TestHarness::new();
    let loose = test_context(script.clone(), [search.clone(), delete_tool.clone()]);
    let rules = include_str!("../../sample/policy.toml");
    let strict = rules.replace("destructive = [", "destructive = [\"search_memory\", ");
    assert_ne!(rules, strict);
    let tools: Vec<SharedTool> = vec![search.clone().into(), delete_tool.clone().into()];
    let strict = AssistantContext::new(script, tools, Policy::parse(&strict).unwrap(), profiles());

    let paused = harness.send(&loose, "Forget the tents").await.unwrap();
    assert_eq!(paused.interrupts()[0].value["tool"], "forget_memory");
    let paused = harness.answer(&strict, json!({ "decision": "allow_once" })).await.unwrap();
    let open: Vec<&Value> = paused.interrupts().iter().map(|question| &question.value["tool"]).collect();
    assert_eq!(open, ["search_memory"], "there is no decision on this call yet");
    assert!(search.calls().is_empty() && delete_tool.calls().is_empty());
    let done = harness.answer(&strict, json!({ "decision": "deny" })).await.unwrap();
    assert!(done.is_finished());
    assert_eq!((search.calls(), delete_tool.calls()), (vec![], vec![json!({ "key": "k" })]));
    assert!(done.state.tool_outputs[0].text().starts_with("refused: the user denied the call"));
}

/// R-PLN-32: a decision applies to the displayed arguments: if other arguments would run now, they need a new
/// approval.
#[tokio::test]
async fn a_decision_applies_only_to_the_displayed_arguments() {
    let query = Fake::returning("bq_query", rows(&["n"], json!([[1]]))).spec(superstep::tools::ToolSpec::destructive);
    let schema = json!({ "type": "object", "properties": { "sql": {}, "max_rows": { "type": "integer" } } });
    let limited = query.clone().spec(|spec| spec.with_input_schema(schema));
    let script = ScriptedModel::new([
        plan(&[("c1", "bq_query", json!({ "sql": "select 1" }), &[])]),
        ScriptedReply::text("1 [1]"),
    ]);
    let (harness, old) = (TestHarness::new(), test_context(script.clone(), [query.clone()]));
    let new = test_context(script, [limited]);
    let first = harness.send(&old, "How many?").await.unwrap().interrupts()[0].value["arguments"].clone();
    assert_eq!(first, json!({ "sql": "select 1" }));
    let paused = harness.answer(&new, json!({ "decision": "allow_once" })).await.unwrap();
    let second = paused.interrupts()[0].value["arguments"].clone();
    assert_eq!(second, json!({ "sql": "select 1", "max_rows": 1_000 }));
    assert!(query.calls().is_empty());
    harness.answer(&new, json!({ "decision": "allow_once" })).await.unwrap();
    assert_eq!(query.calls(), [second]);
}

/// R-PLN-31: calls are grouped by dependencies, each has its timeout, and a call that depends on a rejected one is
/// skipped.
#[tokio::test(start_paused = true)]
async fn calls_are_ordered_and_timed() {
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let slow = |name: &'static str| {
        let order = order.clone();
        Fake::with_future(name, move |args| {
            order.lock().unwrap().push(args["step"].as_str().unwrap().to_owned());
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(args_seconds(&args))).await;
                Ok(json!({ "result": 1 }))
            })
        })
    };
    let step = |name: &str, seconds: u64| json!({ "step": name, "seconds": seconds });
    let calls = [
        ("last", "calculate", step("last", 1), &["left", "right"][..]),
        ("left", "now", step("left", 2), &["first"][..]),
        ("first", "calculate", step("first", 1), &[][..]),
        ("right", "now", step("right", 3), &["first"][..]),
        ("stuck", "read_file", step("stuck", 60), &["first"][..]),
        ("lost", "no_such", json!({}), &[][..]),
        ("after_lost", "now", step("after lost", 1), &["lost"][..]),
    ];
    let quick = slow("read_file").spec(|mut spec| {
        spec.annotations.read_only = false;
        spec.timeout(Duration::from_secs(4))
    });
    let script = ScriptedModel::new([plan(&calls), ScriptedReply::text("1 [1]")]);
    let start = tokio::time::Instant::now();
    let harness = TestHarness::new();
    let state = harness.send(&test_context(script, [slow("calculate"), slow("now"), quick]), "Go").await.unwrap().state;
    assert_eq!(*order.lock().unwrap(), ["first", "left", "right", "stuck", "last"]);
    assert_eq!(start.elapsed(), Duration::from_secs(1 + 4 + 1));
    let outputs: Vec<(bool, String)> = state
        .tool_outputs
        .iter()
        .map(|message| (message.status == ToolStatus::Success, message.text().into_owned()))
        .collect();
    assert_eq!(
        outputs.iter().map(|(is_success, _)| *is_success).collect::<Vec<_>>(),
        [true, true, true, true, false, false, false]
    );
    assert!(
        outputs[4].1.contains("exceeded its timeout of 4s") && outputs[6].1.contains("it needs the result of `lost`"),
        "{outputs:?}"
    );
}

fn args_seconds(args: &serde_json::Map<String, Value>) -> u64 {
    args["seconds"].as_u64().unwrap()
}

/// R-PLN-32: a denied call does not run, and the verifier receives the reason.
#[tokio::test]
async fn a_denied_call_does_not_run() {
    let case = DeletionCase::new(1);
    let script = ScriptedModel::new([
        plan(&[("c1", "forget_memory", json!({ "key": "k" }), &[])]),
        no_tools(),
        ScriptedReply::text("As you like."),
    ]);
    let denying = case.context.clone().with_model(script.clone());
    case.harness.send(&denying, "Forget it").await.unwrap();
    let answer = json!({ "decision": "deny", "reason": "not that one" });
    let done = case.harness.answer(&denying, answer).await.unwrap();
    assert!(case.tool.calls().is_empty());
    assert!(prompts_for(&script, ModelTask::Plan)[1].previous_calls[0].outcome.contains("not that one"));
    assert_eq!(done.state.retry_count, 1);
}
