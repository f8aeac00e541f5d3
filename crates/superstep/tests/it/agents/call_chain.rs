//! Middleware around model and tool calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use superstep::RetryPolicy;
use superstep::agents::{ModelFallback, ModelRetry, ToolRetry, ToolSelector, react_agent};
use superstep::models::{ChatRequest, ModelErrorKind};
use superstep::tools::{SharedTool, ToolOutput, ToolSet, ToolSpec, tool_fn};

use super::*;

/// R-FWK-72: another model responds if the agent's model fails, and a transient error is retried.
#[tokio::test(start_paused = true)]
async fn models_are_retried_and_replaced() {
    let broken =
        ScriptedModel::new([ModelErrorKind::Overloaded, ModelErrorKind::Overloaded, ModelErrorKind::Connection]);
    let spare = ScriptedModel::new(["Noon."]).with_name("spare");
    let agent = react_agent(broken.clone(), ToolSet::default())
        .middleware(ModelRetry::new(RetryPolicy::exponential(2)))
        .middleware(ModelFallback::new(spare))
        .compile()
        .unwrap();
    let done = agent.invoke("How late is it?").await.unwrap();
    let answer = done.state.messages.last().unwrap();
    assert_eq!((answer.text(), &answer.metadata["model"]["name"]), ("Noon.".into(), &json!("spare")));
    assert_eq!(broken.remaining(), 1, "it was asked twice before the other was");
}

fn flaky(spec: ToolSpec, failures: u32) -> (Arc<AtomicU32>, SharedTool) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let tool = tool_fn(spec, move |_: (), _| {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        async move { if call < failures { Err(ToolError::new("busy")) } else { Ok("fine") } }
    });
    (calls, tool)
}

/// R-FWK-78: a tool call is retried if this is safe, up to the maximum number of attempts.
#[tokio::test(start_paused = true)]
async fn harmless_tools_are_called_again() {
    let spec = || ToolSpec::new("flaky", "Fails at first.");
    for (spec, failures, also, calls, result) in [
        (spec().read_only(), 2, vec![], 3, "fine"),
        (spec().idempotent(), 3, vec![], 3, "`flaky` failed: busy"),
        (spec(), 1, vec![], 1, "`flaky` failed: busy"),
        (spec(), 1, vec!["flaky"], 2, "fine"),
    ] {
        let (call_count, tool) = flaky(spec, failures);
        let retry = ToolRetry::new(3).initial_interval(Duration::from_millis(10)).always_retry(also);
        let model = ScriptedModel::new([ScriptedReply::tool_call("flaky", json!({})), ScriptedReply::from("Done.")]);
        let agent = react_agent(model, [tool]).middleware(retry).compile().unwrap();
        let done = agent.invoke("Try").await.unwrap();
        assert_eq!(
            (call_count.load(Ordering::Relaxed), done.state.messages.get(2).unwrap().text()),
            (calls, result.into())
        );
    }
}

/// R-FWK-78: a function or a model selects the tools of a request; tools that are always included stay.
#[tokio::test]
async fn a_selector_limits_the_tools_of_a_request() {
    let tools = || -> ToolSet {
        let named =
            |name: &str| -> SharedTool { tool_fn(ToolSpec::new(name, "Does something."), async |_: (), _| "done") };
        ToolSet::new(["a", "b", "c", "d"].map(named)).unwrap()
    };
    let tool_names = |request: &ChatRequest| request.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let picker = ScriptedModel::new([r#"{"tools": ["c", "nothing", "b", "a"]}"#]);
    for (select, names) in [
        (ToolSelector::from_fn(|_| vec!["b".to_owned()]), vec!["b"]),
        (ToolSelector::with_model(picker.clone(), 2).always_include(["d"]), vec!["b", "c", "d"]),
        (ToolSelector::with_model(ScriptedModel::default(), 4), vec!["a", "b", "c", "d"]),
    ] {
        let model = ScriptedModel::new(["Fine."]);
        let agent = react_agent(model.clone(), tools()).middleware(select).compile().unwrap();
        agent.invoke("Which?").await.unwrap();
        assert_eq!(tool_names(&model.requests()[0]), names);
    }
    assert_eq!(picker.requests()[0].messages[1].text(), "Which?");
}

/// R-FWK-78: a tool that was excluded does not run even if the model calls it; the others run.
#[tokio::test]
async fn excluded_tools_are_not_called() {
    let both =
        ScriptedReply::tool_call("delete", json!({ "path": "a" })).and_tool_call("weather", json!({ "city": "Rome" }));
    let model = ScriptedModel::new([both, ScriptedReply::from("Fine.")]);
    let tools = ToolSet::new([weather(), delete()]).unwrap();
    let agent = react_agent(model, tools).middleware(ToolSelector::from_fn(|_| vec!["weather".to_owned()]));
    let agent = agent.tool_node(|node| node.policy(superstep::tools::ToolPolicy::allow(["*"]))).compile().unwrap();
    let done = agent.invoke("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        ["tool: not executed: tool `delete` is not available in this turn", "tool: 18 degrees in Rome", "model: Fine."]
    );
}

/// R-FWK-78: a result that is marked as an error is a failure; the last one is reported when no attempts are left.
#[tokio::test(start_paused = true)]
async fn results_that_are_failures_are_tried_again() {
    let spec = || ToolSpec::new("flaky", "Fails at first.");
    for (spec, failures, calls, result) in
        [(spec().read_only(), 2, 3, "call 3"), (spec().idempotent(), 9, 3, "failed 3"), (spec(), 1, 1, "failed 1")]
    {
        let call_count = Arc::new(AtomicU32::new(0));
        let counted = call_count.clone();
        let tool = tool_fn(spec, move |_: (), _| {
            let call = counted.fetch_add(1, Ordering::Relaxed) + 1;
            async move {
                if call > failures {
                    return ToolOutput::new(format!("call {call}"));
                }
                ToolOutput::error(format!("failed {call}"))
            }
        });
        let model = ScriptedModel::new([ScriptedReply::tool_call("flaky", json!({})), ScriptedReply::from("Done.")]);
        let agent = react_agent(model, [tool]).middleware(ToolRetry::new(3)).compile().unwrap();
        let done = agent.invoke("Try").await.unwrap();
        assert_eq!(
            (call_count.load(Ordering::Relaxed), done.state.messages.get(2).unwrap().text()),
            (calls, result.into())
        );
    }
}
