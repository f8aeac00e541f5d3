//! Agents as parts of other graphs.

use superstep::agent::react_agent;
use superstep::tool::CallId;
use superstep::{MemoryStore, SharedStore};

use super::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Desk {
    #[reduce(messages)]
    messages: Messages,
    structured: Option<String>,
    seen: usize,
}

/// R-FWK-11: an agent is a node of another graph, shares its messages and nothing else that is its own.
#[tokio::test]
async fn an_agent_is_a_node() {
    let mut graph = Graph::<Desk>::new("desk");
    let agent = graph.node("agent", react_agent(one_call(), [weather()]).compile().unwrap());
    let look = graph.node("look", |desk: View<Desk>| Desk::update().seen(desk.messages.len()));
    graph.sequence([START, agent.into(), look.into(), END]);
    let done = graph.compile().unwrap().run("How is it in Paris?").await.unwrap();
    assert_eq!((done.state.messages.len(), done.state.seen), (4, 4));
    assert_eq!(done.state.messages.last().unwrap().text(), "It is 18 degrees.");
}

/// R-FWK-11: twice in one graph, each agent counts its own rounds, and both read the whole conversation.
#[tokio::test]
async fn two_agents_share_a_conversation() {
    let (first, second) = (one_call(), Scripted::new(["So take a coat."]));
    let mut graph = Graph::<Desk>::new("desk");
    let one = graph.node("one", react_agent(first, [weather()]).name("one").compile().unwrap());
    let two = graph.node("two", react_agent(second.clone(), [weather()]).name("two").max_rounds(1).compile().unwrap());
    graph.sequence([START, one.into(), two.into(), END]);
    graph.checkpointer(Memory::new());
    let done = graph.compile().unwrap().run("How is it?").thread("t").await.unwrap();
    let names: Vec<_> = done.state.messages.iter().filter_map(|message| message.name.clone()).collect();
    assert_eq!(names, ["one", "weather", "one", "two"]);
    assert_eq!(second.requests()[0].messages.len(), 4);
}

/// Hands over to the expert.
#[tool]
async fn to_expert(id: CallId) -> Command<Desk> {
    let answer = Message::tool(&*id, "handed over");
    Command::goto("expert").in_parent().update(Desk::update().messages(answer))
}

/// R-FWK-11: a tool hands over to a node of the graph around, with the conversation.
#[tokio::test]
async fn a_tool_hands_over_to_the_graph_around() {
    let front = Scripted::new([Reply::call("to_expert", json!({}))]);
    let expert = Scripted::new(["It depends."]);
    let mut graph = Graph::<Desk>::new("desk");
    let front = react_agent(front, [to_expert()]).name("front").compile().unwrap();
    let front = graph.node("front", node(front).goto(["expert"]));
    let expert = graph.node("expert", react_agent(expert, [weather()]).name("expert").compile().unwrap());
    graph.edge(START, front).edge(front, END).edge(expert, END);
    let done = graph.compile().unwrap().run("What about Rust?").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        ["user: What about Rust?", "model:  to_expert{}", "tool: handed over", "model: It depends."]
    );
}

/// R-FWK-11: tools of an agent take the context of the graph they run in.
#[tokio::test]
async fn tools_of_an_agent_have_a_context() {
    /// Greets the customer.
    #[tool(read_only)]
    async fn greet(customer: Ctx<String>) -> String {
        format!("Hello, {}", customer.as_str())
    }
    let model = Scripted::new([Reply::call("greet", json!({})), Reply::from("Done.")]);
    let agent = react_agent(model, [greet()]).compile_for::<String>().unwrap();
    let done = agent.run("Greet").context("Ada".to_owned()).await.unwrap();
    assert_eq!(transcript(&done.state.messages)[2], "tool: Hello, Ada");
}

/// R-FWK-11: tools of an agent have its long-term store.
#[tokio::test]
async fn tools_of_an_agent_have_a_store() {
    /// Notes something.
    #[tool]
    async fn note(text: String, store: SharedStore) -> Result<(), NodeError> {
        Ok(store.put(["notes"], "one", json!({ "text": text })).await?)
    }
    let (model, store) =
        (Scripted::new([Reply::call("note", json!({ "text": "tea" })), Reply::from("Noted.")]), MemoryStore::new());
    let agent = react_agent(model, [note()]).store(store.clone()).compile().unwrap();
    agent.run("Remember tea").await.unwrap();
    let kept = SharedStore::from(store).get(["notes"], "one").await.unwrap().unwrap();
    assert_eq!(kept.value, json!({ "text": "tea" }));
}
