//! What stands around calls of models and tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use superstep::Retry;
use superstep::agent::{FallbackModel, RetryModel, RetryTools, SelectTools, react_agent};
use superstep::model::{Request, Trouble};
use superstep::tool::{SharedTool, ToolOutput, ToolSpec, Tools, tool_fn};

use super::*;

/// R-FWK-72: another model answers where the agent's cannot, and one that may recover is asked again.
#[tokio::test(start_paused = true)]
async fn models_are_asked_again_and_replaced() {
    let broken = Scripted::new([Trouble::Overloaded, Trouble::Overloaded, Trouble::NoNetwork]);
    let spare = Scripted::new(["Noon."]).named("spare");
    let agent = react_agent(broken.clone(), Tools::default())
        .middleware(RetryModel::new(Retry::exponential(2)))
        .middleware(FallbackModel::to(spare))
        .compile()
        .unwrap();
    let done = agent.run("How late is it?").await.unwrap();
    let answer = done.state.messages.last().unwrap();
    assert_eq!((answer.text(), &answer.metadata["model"]["name"]), ("Noon.".into(), &json!("spare")));
    assert_eq!(broken.left(), 1, "it was asked twice before the other was");
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

/// R-FWK-78: a tool is called again where that does no harm, and no more often than it may be.
#[tokio::test(start_paused = true)]
async fn harmless_tools_are_called_again() {
    let spec = || ToolSpec::new("flaky", "Fails at first.");
    for (spec, failures, also, calls, result) in [
        (spec().read_only(), 2, vec![], 3, "fine"),
        (spec().idempotent(), 3, vec![], 3, "`flaky` failed: busy"),
        (spec(), 1, vec![], 1, "`flaky` failed: busy"),
        (spec(), 1, vec!["flaky"], 2, "fine"),
    ] {
        let (made, tool) = flaky(spec, failures);
        let retry = RetryTools::new(3).first_wait(Duration::from_millis(10)).also(also);
        let model = Scripted::new([Reply::call("flaky", json!({})), Reply::from("Done.")]);
        let agent = react_agent(model, [tool]).middleware(retry).compile().unwrap();
        let done = agent.run("Try").await.unwrap();
        assert_eq!((made.load(Ordering::Relaxed), done.state.messages.get(2).unwrap().text()), (calls, result.into()));
    }
}

/// R-FWK-78: a function or a model picks the tools that are shown; those that are always shown stay.
#[tokio::test]
async fn few_tools_are_shown() {
    let tools = || -> Tools {
        let named =
            |name: &str| -> SharedTool { tool_fn(ToolSpec::new(name, "Does something."), async |_: (), _| "done") };
        Tools::new(["a", "b", "c", "d"].map(named)).unwrap()
    };
    let shown = |request: &Request| request.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let picker = Scripted::new([r#"{"tools": ["c", "nothing", "b", "a"]}"#]);
    for (select, names) in [
        (SelectTools::with(|_| vec!["b".to_owned()]), vec!["b"]),
        (SelectTools::by(picker.clone(), 2).always(["d"]), vec!["b", "c", "d"]),
        (SelectTools::by(Scripted::default(), 4), vec!["a", "b", "c", "d"]),
    ] {
        let model = Scripted::new(["Fine."]);
        let agent = react_agent(model.clone(), tools()).middleware(select).compile().unwrap();
        agent.run("Which?").await.unwrap();
        assert_eq!(shown(&model.requests()[0]), names);
    }
    assert_eq!(picker.requests()[0].messages[1].text(), "Which?");
}

/// R-FWK-78: a tool that was held back is not called, though the model asks for it; the others are.
#[tokio::test]
async fn tools_that_are_not_shown_are_not_called() {
    let both = Reply::call("delete", json!({ "path": "a" })).and_call("weather", json!({ "city": "Rome" }));
    let model = Scripted::new([both, Reply::from("Fine.")]);
    let tools = Tools::new([weather(), delete()]).unwrap();
    let agent = react_agent(model, tools).middleware(SelectTools::with(|_| vec!["weather".to_owned()]));
    let agent = agent.tool_node(|node| node.policy(superstep::tool::Policy::allow(["*"]))).compile().unwrap();
    let done = agent.run("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        ["tool: not executed: `delete` is not offered now", "tool: 18 degrees in Rome", "model: Fine."]
    );
}

/// R-FWK-78: a result that says itself that it failed is a failure; the last one is told when attempts are used up.
#[tokio::test(start_paused = true)]
async fn results_that_are_failures_are_tried_again() {
    let spec = || ToolSpec::new("flaky", "Fails at first.");
    for (spec, failures, calls, result) in
        [(spec().read_only(), 2, 3, "call 3"), (spec().idempotent(), 9, 3, "failed 3"), (spec(), 1, 1, "failed 1")]
    {
        let made = Arc::new(AtomicU32::new(0));
        let counted = made.clone();
        let tool = tool_fn(spec, move |_: (), _| {
            let call = counted.fetch_add(1, Ordering::Relaxed) + 1;
            async move {
                if call > failures {
                    return ToolOutput::new(format!("call {call}"));
                }
                ToolOutput::error(format!("failed {call}"))
            }
        });
        let model = Scripted::new([Reply::call("flaky", json!({})), Reply::from("Done.")]);
        let agent = react_agent(model, [tool]).middleware(RetryTools::new(3)).compile().unwrap();
        let done = agent.run("Try").await.unwrap();
        assert_eq!((made.load(Ordering::Relaxed), done.state.messages.get(2).unwrap().text()), (calls, result.into()));
    }
}
