//! R-FWK-76: a recorded run is replayed identically, without access to external systems.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use superstep::core::message::ToolCall;
use superstep::models::SharedModel;
use superstep::prelude::*;
use superstep::testing::{Cassette, ScriptedModel, ScriptedReply};
use superstep::tools::{ToolSpec, has_pending_tool_calls, tool_fn};
use superstep::{ErrorCode, JsonSchema};

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
}

#[derive(Deserialize, JsonSchema)]
struct WeatherArgs {
    city: String,
}

/// A tool that fails every second time, and reports the number of its calls.
fn weather(calls: &Arc<AtomicUsize>) -> superstep::core::port::SharedTool {
    let calls = calls.clone();
    tool_fn(ToolSpec::new("weather", "How warm it is.").read_only(), move |args: WeatherArgs, _cx| {
        let number = calls.fetch_add(1, Ordering::Relaxed);
        async move {
            match number % 2 {
                0 => Err(ToolError::new("the station is asleep")),
                _ => Ok(ToolOutput::new(format!("{number} degrees in {}", args.city)).with_artifact(json!(number))),
            }
        }
    })
}

async fn think(chat: View<Chat>, model: RunContext<SharedModel>, cx: TaskContext) -> Result<ChatUpdate, NodeError> {
    Ok(Chat::update().messages(cx.model(&model).messages(&chat.messages).await?.message))
}

/// Runs a conversation with a model and a tool, both on this cassette.
async fn talk(cassette: &Cassette, model: &ScriptedModel, calls: &Arc<AtomicUsize>) -> superstep::Result<Messages> {
    let mut graph = StateGraph::<Chat, SharedModel>::new("talk");
    let think = graph.add_node("think", think);
    let tools = graph.add_node("tools", ToolNode::new([cassette.tool(weather(calls))]));
    let decide =
        move |chat: &Chat| if has_pending_tool_calls(&chat.messages) { Goto::node(tools) } else { Goto::end() };
    graph.add_edge(START, think).add_edge(tools, think).add_conditional_edges(think, decide, [tools.into(), END]);
    let input = Chat::input().messages(Message::user("How is it in Oslo?").with_id("m1"));
    let run = graph.compile()?.invoke(input).context(cassette.model(model.clone())?);
    Ok(run.await?.state.messages.clone())
}

fn model() -> ScriptedModel {
    let reply = |id: &str, city: &str| {
        ScriptedReply::from(Message::assistant("").with_tool_calls([ToolCall::new(
            id,
            "weather",
            json!({ "city": city }),
        )]))
    };
    ScriptedModel::new([reply("a", "Oslo"), reply("b", "Oslo"), ScriptedReply::from("Fine.")])
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tape-{name}"))
}

/// Returns the messages without ids.
fn contents(messages: &Messages) -> Vec<(String, Option<serde_json::Value>)> {
    let message = |message: &Message| (message.text().into_owned(), message.metadata.get("artifact").cloned());
    messages.iter().map(message).collect()
}

/// R-FWK-76: models and tools are called once, when the run is recorded; their results are replayed in order,
/// including errors.
#[tokio::test]
async fn a_recorded_run_is_replayed() {
    let (folder, calls) = (folder("again"), Arc::new(AtomicUsize::new(0)));
    let recorded = talk(&Cassette::record(&folder).unwrap(), &model(), &calls).await.unwrap();
    assert_eq!((recorded.len(), calls.load(Ordering::Relaxed)), (6, 2));
    let silent = ScriptedModel::new(Vec::<ScriptedReply>::new());
    for _ in 0..2 {
        let replayed = talk(&Cassette::replay(&folder).unwrap(), &silent, &calls).await.unwrap();
        assert_eq!(contents(&replayed), contents(&recorded));
    }
    assert_eq!((silent.requests().len(), calls.load(Ordering::Relaxed)), (0, 2));
    assert_eq!(contents(&recorded)[4], ("1 degrees in Oslo".to_owned(), Some(json!(1))));
}

/// R-FWK-76: a call that was not recorded is rejected and stops the run: the model must not receive an error of the
/// test.
#[tokio::test]
async fn unrecorded_calls_are_rejected() {
    let (folder, calls) = (folder("refused"), Arc::new(AtomicUsize::new(0)));
    let missing = Cassette::replay(folder.join("nowhere")).unwrap_err();
    assert_eq!(missing.code(), ErrorCode::ConfigInvalid);
    assert!(missing.to_string().contains("SUPERSTEP_RECORD=1"), "{missing}");
    talk(&Cassette::record(&folder).unwrap(), &model(), &calls).await.unwrap();
    std::fs::write(folder.join("tools.jsonl"), "").unwrap();
    let error = talk(&Cassette::replay(&folder).unwrap(), &model(), &calls).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains(r#"the call weather({"city":"Oslo"}) was not recorded"#), "{error}");
    std::fs::write(folder.join("tools.jsonl"), "{\n").unwrap();
    assert!(Cassette::replay(&folder).unwrap_err().to_string().contains("line 1 of tools.jsonl"));
}

/// R-FWK-76: two handles of one model share its position, and one without recorded calls fails only when it is
/// called.
#[tokio::test]
async fn cloned_models_share_position() {
    use superstep::models::ModelExt;
    let folder = folder("shared");
    let spare = || ScriptedModel::new(["never"]).with_name("spare");
    let recording = Cassette::record(&folder).unwrap();
    let (model, _) = (recording.model(ScriptedModel::new(["one", "two"])).unwrap(), recording.model(spare()).unwrap());
    for expected in ["one", "two"] {
        assert_eq!(ModelExt::complete(&model, "?").await.unwrap().message.text(), expected);
    }
    let cassette = Cassette::replay(&folder).unwrap();
    for expected in ["one", "two"] {
        let model = cassette.model(ScriptedModel::new(["other"])).unwrap();
        assert_eq!(ModelExt::complete(&model, "?").await.unwrap().message.text(), expected);
    }
    let error = ModelExt::complete(&cassette.model(spare()).unwrap(), "?").await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("`scripted/spare (rules)` received no call"), "{error}");
}
