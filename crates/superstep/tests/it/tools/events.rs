//! Events of tool calls.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::tools::{ToolProgress, ToolSpec, tool_fn};
use superstep::{EventKind, RunStream, ToolEvent};

use super::{Chat, call_message, graph};

/// Counts to two, slowly.
#[tool]
async fn count(progress: ToolProgress) -> String {
    progress.send(1).await;
    progress.send(2).await;
    "two".to_owned()
}

/// Asks before it does anything.
#[tool]
async fn ask_user(interrupts: Interrupts) -> Result<String, ToolError> {
    Ok(interrupts.raise::<String>("what?", Value::Null).await?)
}

async fn tool_events<T: Unpin>(mut stream: RunStream<T>) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        let EventKind::Tool { call, event } = event.kind else { continue };
        let description = match event {
            ToolEvent::Started { input } => format!("started {input}"),
            ToolEvent::Progress { value } => format!("progress {value}"),
            ToolEvent::Ended { output, .. } => format!("ended {output}"),
            ToolEvent::Failed { error, attempt, will_retry } => format!("failed {attempt} {will_retry} {error}"),
            _ => "something new".to_owned(),
        };
        lines.push(format!("{} {} {} {description}", call.call, call.tool, call.node));
    }
    lines
}

/// R-FWK-79: a run with a subscriber publishes start, progress and end of tool calls; an interrupted tool publishes
/// nothing more, and no failure, until it is resumed.
#[tokio::test]
async fn a_run_with_a_subscriber_publishes_tool_events() {
    let fails = tool_fn(ToolSpec::new("fails", "Fails."), async |(): (), _cx| Err::<(), _>(ToolError::new("no")));
    let graph = graph(ToolNode::new([count(), ask_user(), fails]));
    let calls = [("count", json!({})), ("ask_user", json!({})), ("fails", json!({})), ("gone", json!({}))];
    let mut first = tool_events(graph.invoke(Chat::input().messages(call_message(&calls))).thread("t").stream()).await;
    first.sort_by_key(|line| line[..2].to_owned());
    assert_eq!(
        first,
        [
            "c0 count tools started {}",
            "c0 count tools progress 1",
            "c0 count tools progress 2",
            "c0 count tools ended \"two\"",
            "c1 ask_user tools started {}",
            "c2 fails tools started {}",
            "c2 fails tools failed 1 false `fails` failed: no",
            "c3 gone tools started {}",
            "c3 gone tools failed 1 false unknown tool `gone`; known: `ask_user`, `count`, `fails`",
        ]
    );
    let second = tool_events(graph.resume("t", "well").stream()).await;
    assert_eq!(second, ["c1 ask_user tools started {}", "c1 ask_user tools ended \"well\""]);
}
