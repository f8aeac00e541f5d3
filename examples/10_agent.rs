//! An agent: a model asks for a tool, the tool runs, the model answers; words are printed as they come. Offline: the model
//! is a script, and any other model takes its place.

use std::io::Write;

use superstep::core::message::ToolCall;
use superstep::model::{Piece, Reply, Scripted, SharedModel};
use superstep::prelude::*;
use superstep::tool::{Tools, wants_tools};
use superstep::{PartData, StreamMode};

#[derive(State, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
}

/// How warm it is in a city.
#[tool(read_only)]
async fn weather(city: String) -> String {
    format!("18 degrees in {city}")
}

async fn think(chat: View<Chat>, model: Ctx<SharedModel>, cx: Cx) -> Result<ChatUpdate, NodeError> {
    let tools = Tools::new([weather()])?;
    let answer = cx.model(&model).messages(&chat.messages).tools(tools.specs().await?).await?;
    Ok(Chat::update().messages(answer.message))
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let mut graph = Graph::<Chat, SharedModel>::new("agent");
    let think = graph.node("think", think);
    let tools = graph.node("tools", ToolNode::new([weather()]));
    let decide = move |chat: &Chat| if wants_tools(&chat.messages) { Go::to(tools) } else { Go::end() };
    graph.edge(START, think).edge(tools, think).route(think, decide, [tools.into(), END]);
    let agent = graph.compile()?;

    let call = ToolCall::new("c1", "weather", serde_json::json!({ "city": "Paris" }));
    let asks = Message::assistant("").with_tool_calls([call]);
    let model = Scripted::new([Reply::from(asks), Reply::from("It is 18 degrees in Paris.")]);

    let run = agent.run(Chat::input().messages("How is it in Paris?")).context(model.into());
    let mut parts = run.stream_mode([StreamMode::Messages]);
    while let Some(part) = parts.next().await {
        // What a model says comes in pieces; the answer of the tool comes whole, and is for the model.
        if let PartData::Piece { piece: Piece::Text(text), .. } = &part.data {
            print!("{text}");
            std::io::stdout().flush().expect("the terminal can be written to");
        }
    }
    println!();
    Ok(())
}
