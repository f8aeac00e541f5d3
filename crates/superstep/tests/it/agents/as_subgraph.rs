//! Agents as nodes of other graphs.

use superstep::agents::react_agent;
use superstep::tools::ToolCallId;
use superstep::{MemoryStore, SharedStore};

use super::*;

#[derive(GraphState, Clone, Debug, Default, Serialize, Deserialize)]
struct ChatState {
    #[reduce(messages)]
    messages: Messages,
    structured: Option<String>,
    seen: usize,
}

/// R-FWK-11: an agent is a node of another graph and shares its messages; all other fields stay private.
#[tokio::test]
async fn an_agent_is_a_node() {
    let mut graph = StateGraph::<ChatState>::new("desk");
    let agent = graph.add_node("agent", react_agent(one_call(), [weather()]).compile().unwrap());
    let count = graph.add_node("look", |state: View<ChatState>| ChatState::update().seen(state.messages.len()));
    graph.add_sequence([START, agent.into(), count.into(), END]);
    let done = graph.compile().unwrap().invoke("How is it in Paris?").await.unwrap();
    assert_eq!((done.state.messages.len(), done.state.seen), (4, 4));
    assert_eq!(done.state.messages.last().unwrap().text(), "It is 18 degrees.");
}

/// R-FWK-11: two agents in one graph count their own iterations, and both read the complete conversation.
#[tokio::test]
async fn two_agents_share_a_conversation() {
    let (first, second) = (one_call(), ScriptedModel::new(["So take a coat."]));
    let mut graph = StateGraph::<ChatState>::new("desk");
    let one = graph.add_node("one", react_agent(first, [weather()]).name("one").compile().unwrap());
    let two = graph
        .add_node("two", react_agent(second.clone(), [weather()]).name("two").max_iterations(1).compile().unwrap());
    graph.add_sequence([START, one.into(), two.into(), END]);
    graph.checkpointer(MemoryCheckpointer::new());
    let done = graph.compile().unwrap().invoke("How is it?").thread("t").await.unwrap();
    let names: Vec<_> = done.state.messages.iter().filter_map(|message| message.name.clone()).collect();
    assert_eq!(names, ["one", "weather", "one", "two"]);
    assert_eq!(second.requests()[0].messages.len(), 4);
}

/// Hands over to the expert.
#[tool]
async fn to_expert(id: ToolCallId) -> Command<ChatState> {
    let answer = Message::tool(&*id, "handed over");
    Command::goto("expert").to_parent().update(ChatState::update().messages(answer))
}

/// R-FWK-11: a tool hands off to a node of the parent graph, with the conversation.
#[tokio::test]
async fn a_tool_hands_off_to_the_parent_graph() {
    let front = ScriptedModel::new([ScriptedReply::tool_call("to_expert", json!({}))]);
    let expert = ScriptedModel::new(["It depends."]);
    let mut graph = StateGraph::<ChatState>::new("desk");
    let front = react_agent(front, [to_expert()]).name("front").compile().unwrap();
    let front = graph.add_node("front", node(front).goto_targets(["expert"]));
    let expert = graph.add_node("expert", react_agent(expert, [weather()]).name("expert").compile().unwrap());
    graph.add_edge(START, front).add_edge(front, END).add_edge(expert, END);
    let done = graph.compile().unwrap().invoke("What about Rust?").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        ["user: What about Rust?", "model:  to_expert{}", "tool: handed over", "model: It depends."]
    );
}

/// R-FWK-11: tools of an agent take the context of the graph in which they run.
#[tokio::test]
async fn tools_of_an_agent_have_a_context() {
    /// Greets the customer.
    #[tool(read_only)]
    async fn greet(customer: RunContext<String>) -> String {
        format!("Hello, {}", customer.as_str())
    }
    let model = ScriptedModel::new([ScriptedReply::tool_call("greet", json!({})), ScriptedReply::from("Done.")]);
    let agent = react_agent(model, [greet()]).compile_with_context::<String>().unwrap();
    let done = agent.invoke("Greet").context("Ada".to_owned()).await.unwrap();
    assert_eq!(transcript(&done.state.messages)[2], "tool: Hello, Ada");
}

/// R-FWK-11: tools of an agent can use its long-term store.
#[tokio::test]
async fn tools_of_an_agent_have_a_store() {
    /// Notes something.
    #[tool]
    async fn note(text: String, store: SharedStore) -> Result<(), NodeError> {
        Ok(store.put(["notes"], "one", json!({ "text": text })).await?)
    }
    let (model, store) = (
        ScriptedModel::new([ScriptedReply::tool_call("note", json!({ "text": "tea" })), ScriptedReply::from("Noted.")]),
        MemoryStore::new(),
    );
    let agent = react_agent(model, [note()]).store(store.clone()).compile().unwrap();
    agent.invoke("Remember tea").await.unwrap();
    let item = SharedStore::from(store).get(["notes"], "one").await.unwrap().unwrap();
    assert_eq!(item.value, json!({ "text": "tea" }));
}
