//! Metrics: their values, and their text format.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep::core::message::ToolCall;
use superstep::models::{ModelErrorKind, Price, Prices, ScriptedModel, ScriptedReply};
use superstep::prelude::*;
use superstep::redaction::Redaction;
use superstep::telemetry::Metrics;
use superstep::testing::ManualClock;
use tokio::sync::Semaphore;

use super::{Chat, ChatUpdate, SECRET, agent, run_agent};

/// Parses the values of a text, by name with labels; every line is checked for the format.
fn parsed(text: &str) -> BTreeMap<String, f64> {
    let (mut values, mut family) = (BTreeMap::new(), (String::new(), String::new()));
    assert!(text.is_empty() || text.ends_with('\n'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            assert!(rest.split_once(' ').is_some_and(|(_, help)| !help.is_empty()), "{line}");
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            family = (name.to_owned(), kind.to_owned());
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        let bare = name.split('{').next().unwrap();
        let parts = ["_bucket", "_sum", "_count"].map(|end| format!("{}{end}", family.0));
        let is_of_family =
            if family.1 == "histogram" { parts.iter().any(|part| part == bare) } else { bare == family.0 };
        assert!(is_of_family && bare.starts_with("superstep_"), "{line} of {family:?}");
        assert!(values.insert(name.to_owned(), value.parse::<f64>().unwrap()).is_none(), "twice: {line}");
    }
    values
}

/// R-FWK-89: runs, nodes, models, tools, tokens, cost and commits are measured.
#[tokio::test]
async fn a_run_is_measured() {
    let metrics = Metrics::new();
    let mut agent = agent();
    agent.metrics(&metrics).prices(Prices::new().with_price("scripted/fast", Price::new(100.0, 500.0)));
    let agent = agent.compile().unwrap();
    assert_eq!(metrics.render(), "");
    run_agent(&agent).await;
    run_agent(&agent).await;
    let values = parsed(&metrics.render());
    let check = |name: &str, value: f64| assert_eq!(values.get(name), Some(&value), "{name}:\n{}", metrics.render());
    check("superstep_runs_total{graph=\"agent\",outcome=\"finished\"}", 2.0);
    check("superstep_run_seconds_count{graph=\"agent\"}", 2.0);
    check("superstep_waiting_runs{graph=\"agent\"}", 0.0);
    check("superstep_node_seconds_count{graph=\"agent\",node=\"think\"}", 4.0);
    check("superstep_node_seconds_bucket{graph=\"agent\",node=\"tools\",le=\"+Inf\"}", 2.0);
    check("superstep_model_seconds_count{provider=\"scripted\",model=\"fast\"}", 4.0);
    check("superstep_tokens_total{provider=\"scripted\",model=\"fast\",direction=\"input\"}", 600.0);
    check("superstep_tokens_total{provider=\"scripted\",model=\"fast\",direction=\"output\"}", 60.0);
    check("superstep_cost_cents_total{provider=\"scripted\",model=\"fast\"}", 9.0);
    check("superstep_tool_seconds_count{tool=\"look_up\"}", 2.0);
    check("superstep_commit_seconds_count{graph=\"agent\"}", 8.0);
    assert!(values["superstep_checkpoint_bytes_total{graph=\"agent\"}"] > 1_000.0);
    assert!(!metrics.render().contains("failures"));
    assert!(!metrics.render().contains(SECRET) && !metrics.render().contains("t1"));
}

/// R-FWK-89: failures are counted by code, and a name that a model invented is not a label.
#[tokio::test]
async fn failures_are_measured() {
    let metrics = Metrics::new();
    let agent = agent().metrics(&metrics).compile().unwrap();
    let run = |script: ScriptedModel| agent.invoke(Chat::input().messages("Hi")).context(script.into());
    let error = run(ScriptedModel::new([ModelErrorKind::Connection])).await.unwrap_err();
    let code = error.code();
    run(ScriptedModel::new([ScriptedReply::tool_call(SECRET, json!({})), ScriptedReply::text("No.")])).await.unwrap();
    let values = parsed(&metrics.render());
    let check = |name: String| assert_eq!(values.get(&name), Some(&1.0), "{name}:\n{}", metrics.render());
    check("superstep_runs_total{graph=\"agent\",outcome=\"failed\"}".to_owned());
    check(format!("superstep_failures_total{{graph=\"agent\",code=\"{code}\"}}"));
    check(format!("superstep_node_failures_total{{graph=\"agent\",node=\"think\",code=\"{code}\"}}"));
    check(format!("superstep_model_failures_total{{provider=\"scripted\",model=\"script\",code=\"{code}\"}}"));
    check("superstep_tool_failures_total{tool=\"unknown\",reason=\"unknown_tool\"}".to_owned());
    assert!(!metrics.render().contains(SECRET));
}

/// R-FWK-89: runs that wait for their thread are counted while they wait.
#[tokio::test]
async fn the_length_of_the_queue_is_measured() {
    let (metrics, gate) = (Metrics::new(), Arc::new(Semaphore::new(0)));
    let mut graph = StateGraph::<Chat>::new("slow");
    let passed = gate.clone();
    let wait = graph.add_node("wait", move || {
        let passed = passed.clone();
        async move {
            passed.acquire().await.unwrap().forget();
            Chat::update().log("passed")
        }
    });
    graph.add_edge(START, wait).add_edge(wait, END).checkpointer(MemoryCheckpointer::new()).metrics(&metrics);
    let graph = graph.compile().unwrap();
    let runs: Vec<_> = (0..3).map(|_| graph.invoke(Chat::input().log("in")).thread("t1").spawn()).collect();
    let waiting = || parsed(&metrics.render()).get("superstep_waiting_runs{graph=\"slow\"}").copied();
    while waiting() != Some(2.0) {
        tokio::task::yield_now().await;
    }
    gate.add_permits(3);
    for run in runs {
        run.await.unwrap();
    }
    assert_eq!(waiting(), Some(0.0));
}

/// R-FWK-89: durations are measured by the clock of the run.
#[tokio::test]
async fn latencies_are_in_buckets() {
    let (metrics, clock) = (Metrics::new(), ManualClock::new());
    let mut graph = StateGraph::<Chat>::new("slow");
    let node_clock = clock.clone();
    let slow = graph.add_node("slow", move || {
        node_clock.advance(Duration::from_millis(2_500));
        Chat::update().log("done")
    });
    graph.add_edge(START, slow).add_edge(slow, END).metrics(&metrics);
    graph.compile().unwrap().invoke(Chat::input().log("in")).clock(clock).await.unwrap();
    let values = parsed(&metrics.render());
    for (name, labels) in [("run", ""), ("node", ",node=\"slow\"")] {
        let bucket =
            |le: &str| values[&format!("superstep_{name}_seconds_bucket{{graph=\"slow\"{labels},le=\"{le}\"}}")];
        assert_eq!((bucket("1"), bucket("5"), bucket("+Inf")), (0.0, 1.0, 1.0));
        assert_eq!(values[&format!("superstep_{name}_seconds_sum{{graph=\"slow\"{labels}}}")], 2.5);
    }
}

/// R-FWK-89: redactions are counted: by the engine, and by other callers.
#[tokio::test]
async fn redactions_are_counted() {
    /// Gives a mail address.
    #[tool(read_only)]
    async fn leaky() -> String {
        "ask ada@example.com or bob@example.com".to_owned()
    }
    let metrics = Metrics::new();
    metrics.record_redactions("mail", 2);
    let counted =
        |kind: &str| parsed(&metrics.render()).get(&format!("superstep_redactions_total{{kind=\"{kind}\"}}")).copied();
    let call_message = Message::assistant("").with_tool_calls([ToolCall::new("c1", "leaky", json!({}))]);
    let mut graph = StateGraph::<Chat>::new("tools");
    let tools = graph.add_node("tools", ToolNode::new([leaky()]));
    graph.add_edge(START, tools).add_edge(tools, END).metrics(&metrics);
    graph.compile().unwrap().invoke(Chat::input().messages(call_message)).await.unwrap();
    assert_eq!(counted("mail"), Some(4.0));

    let mut graph = StateGraph::<Chat>::new("graph");
    let card = graph.add_node("card", async |cx: TaskContext| {
        let recorded =
            cx.once("kept", async { Ok::<_, NodeError>("Bearer abcdef0123456789abcdef".to_owned()) }).await?;
        Ok::<_, NodeError>(Chat::update().log([recorded, "card 4111 1111 1111 1111".to_owned()]))
    });
    graph.add_edge(START, card).add_edge(card, END).metrics(&metrics).redact(Redaction::default());
    graph.compile().unwrap().invoke(Chat::input().messages("I am ada@example.com")).await.unwrap();
    assert_eq!([counted("mail"), counted("card"), counted("bearer")], [Some(5.0), Some(1.0), Some(1.0)]);
}

/// R-FWK-89: a run that is dropped before its end is counted as cancelled.
#[tokio::test]
async fn a_dropped_run_is_measured() {
    let (metrics, started) = (Metrics::new(), Arc::new(Semaphore::new(0)));
    let mut graph = StateGraph::<Chat>::new("slow");
    let signal = started.clone();
    let wait = graph.add_node("wait", move || {
        signal.add_permits(1);
        std::future::pending::<ChatUpdate>()
    });
    graph.add_edge(START, wait).add_edge(wait, END).metrics(&metrics);
    let graph = graph.compile().unwrap();
    tokio::select! {
        _ = graph.invoke(Chat::input().log("in")).into_future() => panic!("it has no end"),
        _ = started.acquire() => {}
    }
    let values = parsed(&metrics.render());
    assert_eq!(values.get("superstep_runs_total{graph=\"slow\",outcome=\"cancelled\"}"), Some(&1.0));
    assert_eq!(values.get("superstep_run_seconds_count{graph=\"slow\"}"), Some(&1.0));
}
