//! R-FWK-76: a run that was recorded once happens again, to the word, with nothing of the outside.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use superstep::core::message::ToolCall;
use superstep::model::SharedModel;
use superstep::prelude::*;
use superstep::testing::{Reply, Scripted, Tape};
use superstep::tool::{ToolSpec, tool_fn, wants_tools};
use superstep::{Code, JsonSchema};

#[derive(State, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

/// A tool that is not there every second time, and says how often it was asked.
fn weather(asked: &Arc<AtomicUsize>) -> superstep::core::port::SharedTool {
    let asked = asked.clone();
    tool_fn(ToolSpec::new("weather", "How warm it is.").read_only(), move |place: Place, _cx| {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        async move {
            match number % 2 {
                0 => Err(ToolError::new("the station is asleep")),
                _ => Ok(ToolOutput::new(format!("{number} degrees in {}", place.city)).with_artifact(json!(number))),
            }
        }
    })
}

async fn think(chat: View<Chat>, model: Ctx<SharedModel>, cx: Cx) -> Result<ChatUpdate, NodeError> {
    Ok(Chat::update().messages(cx.model(&model).messages(&chat.messages).await?.message))
}

/// A conversation with a model and a tool, both on this tape.
async fn talk(tape: &Tape, model: &Scripted, asked: &Arc<AtomicUsize>) -> superstep::Result<Messages> {
    let mut graph = Graph::<Chat, SharedModel>::new("talk");
    let think = graph.node("think", think);
    let tools = graph.node("tools", ToolNode::new([tape.tool(weather(asked))]));
    let decide = move |chat: &Chat| if wants_tools(&chat.messages) { Go::to(tools) } else { Go::end() };
    graph.edge(START, think).edge(tools, think).route(think, decide, [tools.into(), END]);
    let input = Chat::input().messages(Message::user("How is it in Oslo?").with_id("m1"));
    let run = graph.compile()?.run(input).context(tape.model(model.clone())?);
    Ok(run.await?.state.messages.clone())
}

fn model() -> Scripted {
    let asks = |id: &str, city: &str| {
        Reply::from(Message::assistant("").with_tool_calls([ToolCall::new(id, "weather", json!({ "city": city }))]))
    };
    Scripted::new([asks("a", "Oslo"), asks("b", "Oslo"), Reply::from("Fine.")])
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tape-{name}"))
}

/// What was said, without ids.
fn said(messages: &Messages) -> Vec<(String, Option<serde_json::Value>)> {
    let message = |message: &Message| (message.text().into_owned(), message.metadata.get("artifact").cloned());
    messages.iter().map(message).collect()
}

/// R-FWK-76: models and tools are asked once, when the run is recorded; answers come in their order, failures too.
#[tokio::test]
async fn a_recorded_run_happens_again() {
    let (folder, asked) = (folder("again"), Arc::new(AtomicUsize::new(0)));
    let recorded = talk(&Tape::record(&folder).unwrap(), &model(), &asked).await.unwrap();
    assert_eq!((recorded.len(), asked.load(Ordering::Relaxed)), (6, 2));
    let silent = Scripted::new(Vec::<Reply>::new());
    for _ in 0..2 {
        let again = talk(&Tape::replay(&folder).unwrap(), &silent, &asked).await.unwrap();
        assert_eq!(said(&again), said(&recorded));
    }
    assert_eq!((silent.requests().len(), asked.load(Ordering::Relaxed)), (0, 2));
    assert_eq!(said(&recorded)[4], ("1 degrees in Oslo".to_owned(), Some(json!(1))));
}

/// R-FWK-76: what was not recorded is refused, and stops the run: a model must not be told that its test is wrong.
#[tokio::test]
async fn what_is_not_on_the_tape_is_refused() {
    let (folder, asked) = (folder("refused"), Arc::new(AtomicUsize::new(0)));
    let missing = Tape::replay(folder.join("nowhere")).unwrap_err();
    assert_eq!(missing.code(), Code::ConfigInvalid);
    assert!(missing.to_string().contains("SUPERSTEP_RECORD=1"), "{missing}");
    talk(&Tape::record(&folder).unwrap(), &model(), &asked).await.unwrap();
    std::fs::write(folder.join("tools.jsonl"), "").unwrap();
    let error = talk(&Tape::replay(&folder).unwrap(), &model(), &asked).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains(r#"the call weather({"city":"Oslo"}) was not recorded"#), "{error}");
    std::fs::write(folder.join("tools.jsonl"), "{\n").unwrap();
    assert!(Tape::replay(&folder).unwrap_err().to_string().contains("line 1 of tools.jsonl"));
}

/// R-FWK-76: two who ask for one model share its place, and one that was never asked refuses only when it is.
#[tokio::test]
async fn handles_of_a_model_share_their_place() {
    use superstep::model::ModelExt;
    let folder = folder("shared");
    let spare = || Scripted::new(["never"]).named("spare");
    let recording = Tape::record(&folder).unwrap();
    let (model, _) = (recording.model(Scripted::new(["one", "two"])).unwrap(), recording.model(spare()).unwrap());
    for said in ["one", "two"] {
        assert_eq!(ModelExt::complete(&model, "?").await.unwrap().message.text(), said);
    }
    let tape = Tape::replay(&folder).unwrap();
    for said in ["one", "two"] {
        let model = tape.model(Scripted::new(["other"])).unwrap();
        assert_eq!(ModelExt::complete(&model, "?").await.unwrap().message.text(), said);
    }
    let refused = ModelExt::complete(&tape.model(spare()).unwrap(), "?").await.map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("was not asked anything"), "{refused}");
}
