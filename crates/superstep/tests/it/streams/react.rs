//! R-FWK-57, R-REF-134: the transcript of an agent that calls a model, runs tools, and calls the model again; nothing
//! of its context is streamed.

use superstep::MemoryCheckpointer;
use superstep::core::message::ToolCall;
use superstep::core::port::ToolProgress;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::tools::{ToolSet, has_pending_tool_calls};

use super::*;

struct App {
    model: SharedModel,
    tools: ToolSet,
    /// A value that must never be visible outside.
    secret: &'static str,
}

const MARKER: &str = "marker-7f3a9c51";

/// Returns the temperature in a city.
#[tool(read_only)]
async fn weather(city: String, progress: ToolProgress, app: RunContext<App>) -> String {
    progress.send(format!("asking about {city}")).await;
    assert_eq!(app.secret, MARKER);
    format!("18 degrees in {city}")
}

/// Fails on every call.
#[tool]
async fn traffic() -> Result<String, superstep::ToolError> {
    Err(superstep::ToolError::new("no data"))
}

async fn agent(chat: View<Chat>, app: RunContext<App>, cx: TaskContext) -> Result<ChatUpdate, NodeError> {
    let answer = cx.model(&app.model).messages(&chat.messages).tools(app.tools.specs().await?).await?;
    Ok(Chat::update().messages(answer.message))
}

fn react(store: MemoryCheckpointer) -> superstep::CompiledGraph<Chat, App> {
    let mut graph = StateGraph::<Chat, App>::new("react");
    let agent = graph.add_node("agent", agent);
    let tools = graph.add_node("tools", ToolNode::new([weather(), traffic()]));
    graph.add_edge(START, agent).add_edge(tools, agent).checkpointer(store);
    graph.add_conditional_edges(
        agent,
        move |chat: &Chat| if has_pending_tool_calls(&chat.messages) { Goto::node(tools) } else { Goto::end() },
        [tools.into(), END],
    );
    graph.compile().unwrap()
}

fn app() -> App {
    let calls = [ToolCall::new("c1", "weather", json!({"city": "Paris"})), ToolCall::new("c2", "traffic", json!({}))];
    let call_message = Message::assistant("Let me look.").with_tool_calls(calls);
    let model = ScriptedModel::new([ScriptedReply::from(call_message), ScriptedReply::from("It is 18 degrees.")]);
    App { model: model.into(), tools: ToolSet::new([weather(), traffic()]).unwrap(), secret: MARKER }
}

/// Returns the lines of a stream, the joined chunks, and the messages with which models ended.
async fn transcript(
    stream: &mut superstep::EventStream<superstep::Outcome<Chat>>,
) -> (Vec<String>, MessageTexts, MessageTexts) {
    let (mut lines, mut chunks, mut complete) = (Vec::<String>::new(), MessageTexts::new(), MessageTexts::new());
    while let Some(event) = stream.next().await {
        let written = serde_json::to_value(&event).unwrap();
        let data = &written["data"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut keys: Vec<&str> = data.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        let mut line = format!("{} {} {}", event.event, event.name, keys.join(","));
        if event.event == "on_chat_model_stream" {
            let (id, text) = (text(&data["message_id"]), text(&data["chunk"]));
            match chunks.last_mut() {
                Some((last_id, joined)) if *last_id == id => joined.push_str(&text),
                _ => chunks.push((id, text)),
            }
            line = format!("on_chat_model_stream … {}", keys.join(","));
        }
        if event.event == "on_chat_model_end" {
            complete.push((text(&data["output"]["id"]), text(&data["output"]["content"])));
        }
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    (lines, chunks, complete)
}

/// Messages by their ids.
type MessageTexts = Vec<(String, String)>;

/// R-FWK-57, R-FWK-60, R-REF-134: the events of the whole loop in order, with their keys; joined chunks are the
/// messages, and nothing is sent twice.
#[tokio::test]
async fn the_transcript_of_an_agent() {
    let run = react(MemoryCheckpointer::new())
        .invoke(Chat::input().messages("How is it in Paris?"))
        .thread("t")
        .context(app());
    let mut stream = run.max_concurrency(1).stream_events();
    let (lines, chunks, complete) = transcript(&mut stream).await;
    let done = stream.finish().await.unwrap();
    assert_eq!(chunks, complete);
    let texts: Vec<String> = done.state.messages.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(
        texts,
        [
            "How is it in Paris?",
            "Let me look.",
            "18 degrees in Paris",
            "`traffic` failed: no data",
            "It is 18 degrees."
        ]
    );
    insta::assert_snapshot!(lines.join("\n"), @r"
    on_chain_start react input
    on_checkpoint react checkpoint_id,next,source,step
    on_chain_start agent input
    on_chat_model_start script input
    on_chat_model_stream … chunk,index,message_id
    on_chat_model_stream … chunk,index,message_id,tool_call
    on_chat_model_end script output,usage
    on_chain_stream agent chunk
    on_chain_end agent output
    on_chain_stream react chunk
    on_checkpoint react checkpoint_id,next,source,step
    on_chain_start tools input
    on_tool_start weather input,tool,tool_call_id
    on_custom_event on_tool_progress progress,tool,tool_call_id
    on_tool_end weather duration_ms,output
    on_tool_start traffic input,tool,tool_call_id
    on_tool_error traffic attempt,error,tool,will_retry
    on_chain_stream tools chunk
    on_chain_end tools output
    on_chain_stream react chunk
    on_checkpoint react checkpoint_id,next,source,step
    on_chain_start agent input
    on_chat_model_start script input
    on_chat_model_stream … chunk,index,message_id
    on_chat_model_end script output,usage
    on_chain_stream agent chunk
    on_chain_end agent output
    on_chain_stream react chunk
    on_checkpoint react checkpoint_id,next,source,step
    on_chain_end react output
    ");
}

/// R-REF-134: a tool starts, reports progress, and ends; parallel ones do not mix, and a failed one reports its
/// error.
#[tokio::test]
async fn a_tool_reports_start_progress_and_end() {
    let run = react(MemoryCheckpointer::new()).invoke(Chat::input().messages("?")).thread("t").context(app());
    let mut stream = run.stream_mode([StreamMode::Tools]);
    let mut lives: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    while let Some(part) = stream.next().await {
        let data = part.data.to_json();
        let id = data["tool_call_id"].as_str().unwrap().to_owned();
        lives.entry(id).or_default().push(data["event"].as_str().unwrap().to_owned());
    }
    assert_eq!(lives["c1"], ["tool-started", "tool-output-delta", "tool-finished"]);
    assert_eq!(lives["c2"], ["tool-started", "tool-error"]);
}

/// R-FWK-51: nothing of a context is in a checkpoint, a part of any mode, or an event of any format.
#[tokio::test]
async fn a_context_leaves_no_trace() {
    let store = MemoryCheckpointer::new();
    let graph = react(store);
    let modes = [
        StreamMode::Values,
        StreamMode::Updates,
        StreamMode::Messages,
        StreamMode::Custom,
        StreamMode::Tasks,
        StreamMode::Checkpoints,
        StreamMode::Debug,
        StreamMode::Tools,
        StreamMode::Events,
    ];
    let mut seen = String::new();
    let (listening, _guard) = crate::telemetry::RecordingSubscriber::at(tracing::level_filters::LevelFilter::TRACE);
    let mut stream = graph.invoke(Chat::input().messages("?")).thread("t").context(app()).stream_mode(modes);
    while let Some(part) = stream.next().await {
        seen.push_str(&serde_json::to_string(&part).unwrap());
    }
    let mut stream = graph
        .invoke(Chat::input().messages("?"))
        .thread("u")
        .context(app())
        .stream_events()
        .format(EventFormat::LangChain);
    while let Some(event) = stream.next().await {
        seen.push_str(&serde_json::to_string(&event).unwrap());
    }
    for thread in ["t", "u"] {
        for saved in graph.threads().get_state_history(thread, &Default::default()).await.unwrap() {
            seen.push_str(&format!("{saved:?}"));
        }
    }
    assert!(seen.len() > 10_000 && seen.contains("18 degrees"));
    assert!(!seen.contains(MARKER));
    let traced = listening.everything();
    assert!(traced.contains("execute_tool") && !traced.contains(MARKER), "{traced}");
}
