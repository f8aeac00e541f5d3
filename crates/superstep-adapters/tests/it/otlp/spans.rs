//! The spans and metrics that a collector receives.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use superstep::models::{ModelErrorKind, ScriptedModel};
use superstep::telemetry::{Metrics, SCHEMA_URL};
use superstep_adapters::otlp::OtlpExporter;

use super::{Chat, SECRET, Span, agent, attributes, collector, received, script, tree, with_export};

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no `{name}`:\n{}", tree(spans)))
}

/// R-FWK-88: the spans of a run reach a collector as one tree, with the names of the semantic conventions.
#[tokio::test]
async fn spans_of_a_run_are_exported_as_a_tree() {
    let collector = collector();
    let agent = agent().compile().unwrap();
    let exporter = OtlpExporter::new(collector.url()).service("my-agent").include_debug_spans();
    let run = agent.invoke(Chat::input().messages(SECRET)).thread("t1").context(script());
    with_export(exporter, async { run.await.unwrap() }).await;
    let (requests, spans) = received(&collector);
    let expected = "\
invoke_workflow agent
  checkpoint
  superstep
    node think
      chat fast
    checkpoint
  superstep
    node tools
      execute_tool look_up
    checkpoint
  superstep
    node think
      chat fast
    checkpoint
";
    assert_eq!(tree(&spans), expected);
    assert_eq!(spans.iter().map(|span| &span.trace).collect::<BTreeSet<_>>().len(), 1);
    let check = |span: &str, attribute: &str, value: Value| {
        assert_eq!(named(&spans, span).attributes.get(attribute), Some(&value), "{attribute} of {span}");
    };
    check("invoke_workflow agent", "gen_ai.operation.name", json!("invoke_workflow"));
    check("invoke_workflow agent", "gen_ai.conversation.id", json!("t1"));
    check("invoke_workflow agent", "gen_ai.usage.input_tokens", json!("300"));
    check("chat fast", "gen_ai.provider.name", json!("scripted"));
    check("chat fast", "gen_ai.request.model", json!("fast"));
    check("chat fast", "gen_ai.usage.input_tokens", json!("100"));
    check("chat fast", "gen_ai.usage.output_tokens", json!("10"));
    check("execute_tool look_up", "gen_ai.tool.name", json!("look_up"));
    check("node think", "superstep.node", json!("think"));
    assert_eq!(named(&spans, "chat fast").kind, "SPAN_KIND_CLIENT");
    assert_eq!(named(&spans, "invoke_workflow agent").kind, "SPAN_KIND_INTERNAL");
    let resource = &requests[0]["spans"]["resourceSpans"][0];
    assert_eq!(attributes(&resource["resource"])["service.name"], json!("my-agent"));
    assert_eq!(resource["scopeSpans"][0]["schemaUrl"], json!(SCHEMA_URL));
    assert_eq!(resource["scopeSpans"][0]["scope"]["name"], json!("superstep"));
}

/// R-FWK-88: a failed span has an error status and the error code.
#[tokio::test]
async fn failed_spans_have_a_status() {
    let collector = collector();
    let agent = agent().compile().unwrap();
    let run = agent
        .invoke(Chat::input().messages(SECRET))
        .context(ScriptedModel::new([ModelErrorKind::Connection]).with_name("fast").into());
    let error = with_export(OtlpExporter::new(collector.url()), async { run.await.unwrap_err() }).await;
    let (_, spans) = received(&collector);
    for name in ["invoke_workflow agent", "node think", "chat fast"] {
        let span = named(&spans, name);
        assert_eq!(span.status["code"], json!("STATUS_CODE_ERROR"), "{span:?}");
        assert_eq!(span.attributes["error.type"], json!(error.code().to_string()));
    }
    assert_eq!(named(&spans, "invoke_workflow agent").events, ["run failed"]);
    assert!(!spans.iter().any(|span| span.name == "superstep"), "{}", tree(&spans));
}

/// R-FWK-92: no user text is exported, even on errors, unless content tracing is enabled.
#[tokio::test]
async fn no_user_text_is_in_the_bytes() {
    let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
    for traces_content in [false, true] {
        let collector = collector();
        let mut agent = agent();
        if traces_content {
            agent.trace_content();
        }
        let agent = agent.compile().unwrap();
        let run = agent.invoke(Chat::input().messages(SECRET)).thread("t1").context(script());
        let done =
            with_export(OtlpExporter::new(collector.url()).include_debug_spans(), async { run.await.unwrap() }).await;
        assert_eq!(done.state.messages.last().unwrap().text(), SECRET);
        let (_, spans) = received(&collector);
        assert_eq!(named(&spans, "execute_tool look_up").attributes["error.type"], json!("failed"));
        assert_eq!(has(&collector.bytes().unwrap()), traces_content);
    }
}

/// R-FWK-89: the parser of the Prometheus project reads the rendered metrics.
#[tokio::test]
async fn prometheus_reads_the_metrics() {
    let collector = collector();
    let metrics = Metrics::new();
    let agent = agent().metrics(&metrics).compile().unwrap();
    agent.invoke(Chat::input().messages(SECRET)).thread("t1").context(script()).await.unwrap();
    agent.invoke(Chat::input().messages(SECRET)).context(ScriptedModel::default().into()).await.unwrap_err();
    metrics.record_redactions("quote \" backslash \\ line \n", 1);
    let families: Vec<(String, String, usize)> =
        serde_json::from_str(&collector.metrics(&metrics.render()).unwrap()).unwrap();
    let family = |name: &str| families.iter().find(|family| family.0 == name).map(|family| (&*family.1, family.2));
    assert_eq!(family("superstep_runs"), Some(("counter", 2)));
    assert_eq!(family("superstep_failures"), Some(("counter", 1)));
    assert_eq!(family("superstep_run_seconds"), Some(("histogram", 15)));
    assert_eq!(family("superstep_waiting_runs"), Some(("gauge", 1)));
    assert_eq!(family("superstep_redactions"), Some(("counter", 1)));
    assert!(families.iter().all(|family| family.1 != "unknown"), "{families:?}");
    assert!(collector.metrics("superstep_runs_total{graph=\"a\" 1").is_err());
}
