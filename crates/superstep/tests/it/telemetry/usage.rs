//! Model usage of a run: tokens, calls, cost.

use std::io::Write;

use superstep::core::message::TokenUsage;
use superstep::models::{Price, Prices, ScriptedModel, ScriptedReply, SharedModel};
use superstep::prelude::*;
use superstep::telemetry::Metrics;
use tracing::level_filters::LevelFilter;

use super::{Chat, RecordingSubscriber, agent, run_agent, think};
use crate::models::RemoteScriptedModel;

fn chat(name: &str) -> StateGraph<Chat, SharedModel> {
    let mut graph = StateGraph::<Chat, SharedModel>::new(name);
    let think = graph.add_node("think", think);
    graph.add_edge(START, think).add_edge(think, END);
    graph
}

fn remote(name: &'static str) -> SharedModel {
    RemoteScriptedModel(
        name,
        ScriptedModel::new([ScriptedReply::text("Hello.").with_usage(TokenUsage::new(1_000_000, 100_000))]),
    )
    .into()
}

/// R-FWK-90: a run reports the usage of its models, by node and model, and its cost.
#[tokio::test]
async fn a_run_reports_usage_and_cost() {
    let mut agent = agent();
    let agent = agent.prices(Prices::new().with_price("scripted/fast", Price::new(10.0, 50.0))).compile().unwrap();
    let run = run_agent(&agent).await;
    let usage = run.usage();
    let [row] = usage.rows() else { panic!("{usage:?}") };
    assert_eq!((&*row.graph, &*row.node, &*row.model.name), ("agent", "think", "fast"));
    assert_eq!((row.calls, row.input_tokens, row.output_tokens, row.is_estimated), (2, 300, 30, false));
    // 300 · $10 and 30 · $50 per million.
    assert!((usage.cost_cents().unwrap() - 0.45).abs() < 1e-9, "{usage:?}");
    assert!(usage.models_without_price().is_empty());
    assert_eq!(usage.to_string(), "scripted/fast (rules): 2 calls, 300 input tokens, 30 output tokens, 0.4500 cents\n");
}

/// R-FWK-90: prices come from a file that a user edits; the run may set others.
#[tokio::test]
async fn prices_are_loaded_from_a_file() {
    let folder = std::env::temp_dir().join(format!("superstep-prices-{}", std::process::id()));
    // Process ids repeat, and a process that died may have left its folder.
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("prices.toml");
    writeln!(std::fs::File::create(&path).unwrap(), "[\"test/big\"]\ninput = 3\noutput = 15").unwrap();
    let mut graph = chat("chat");
    let graph = graph.prices(Prices::load(&path).unwrap()).compile().unwrap();
    let run = graph.invoke(Chat::input().messages("Hi")).context(remote("big")).await.unwrap();
    assert_eq!(run.usage().cost_cents(), Some(450.0));
    let cheaper = Prices::new().with_price("test/big", Price::new(1.0, 1.0));
    let run = graph.invoke(Chat::input().messages("Hi")).prices(cheaper).context(remote("big")).await.unwrap();
    assert!((run.usage().cost_cents().unwrap() - 110.0).abs() < 1e-9);
    std::fs::remove_dir_all(folder).unwrap();
}

/// R-FWK-90: for a model without a price only tokens are reported: in the run, in spans, in metrics.
#[tokio::test]
async fn a_model_without_a_price_shows_tokens_only() {
    let metrics = Metrics::new();
    let mut graph = chat("chat");
    graph.prices(Prices::new().with_price("test/known", Price::new(3.0, 15.0))).metrics(&metrics);
    let graph = graph.compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::INFO);
    let run = graph.invoke(Chat::input().messages("Hi")).context(remote("unknown")).await.unwrap();
    assert_eq!((run.usage().input_tokens(), run.usage().output_tokens()), (1_000_000, 100_000));
    assert_eq!(run.usage().cost_cents(), None);
    assert_eq!(run.usage().models_without_price()[0].name.as_ref(), "unknown");
    assert!(run.usage().to_string().ends_with("1000000 input tokens, 100000 output tokens\n"), "{}", run.usage());
    assert!(!listening.span("chat").fields.contains_key("superstep.cost.cents"));
    assert!(
        metrics
            .render()
            .contains("superstep_tokens_total{provider=\"test\",model=\"unknown\",direction=\"input\"} 1000000\n")
    );
    assert!(!metrics.render().contains("superstep_cost_cents_total"));
    graph.invoke(Chat::input().messages("Hi")).context(remote("known")).await.unwrap();
    assert!(metrics.render().contains("superstep_cost_cents_total{provider=\"test\",model=\"known\"} 450\n"));
    let chats: Vec<_> = listening.spans().into_iter().filter(|span| span.name == "chat").collect();
    assert_eq!(chats[1].fields["superstep.cost.cents"], "450.0");
}

/// R-FWK-90: usage of subgraphs is counted under their name, with the prices of the root graph.
#[tokio::test]
async fn subgraph_usage_is_counted() {
    let mut outer = StateGraph::<Chat, SharedModel>::new("outer");
    let inner = outer.add_node("inner", chat("inner").compile().unwrap());
    let after = outer.add_node("after", think);
    outer.add_sequence([START, inner.into(), after.into(), END]);
    let outer = outer.prices(Prices::new().with_price("scripted/script", Price::new(1.0, 1.0))).compile().unwrap();
    let script = ScriptedModel::new(["One.", "Two."]);
    let run = outer.invoke(Chat::input().messages("Hi")).context(script.into()).await.unwrap();
    let usage_rows: Vec<_> = run.usage().rows().iter().map(|row| (&*row.graph, &*row.node, row.calls)).collect();
    assert_eq!(usage_rows, [("inner", "think", 1), ("outer", "after", 1)]);
    assert!(run.usage().rows().iter().all(|row| row.is_estimated && row.cost_cents.is_some()));
    assert_eq!(run.usage().by_model().len(), 1);
    assert_eq!(run.usage().by_model()[0].calls, 2);
}
