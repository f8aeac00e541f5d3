//! Graphs whose state is a conversation and nothing else.

use superstep::agent::{MessagesState, messages_graph, react_agent};

use super::*;

/// R-FWK-11: nodes of a graph of messages return messages, and what they return is added.
#[tokio::test]
async fn nodes_return_what_they_say() {
    let mut graph = messages_graph("chat");
    let one = graph.node("one", || Message::assistant("one"));
    let two = graph.node("two", async |state: View<MessagesState>| -> Result<Vec<Message>, NodeError> {
        Ok(vec![Message::assistant("two"), Message::assistant(format!("after {}", state.messages.len()))])
    });
    graph.sequence([START, one.into(), two.into(), END]);
    let done = graph.compile().unwrap().run("zero").await.unwrap();
    assert_eq!(transcript(&done.state.messages), ["user: zero", "model: one", "model: two", "model: after 2"]);
    assert_eq!(done.to_json().unwrap().as_object().unwrap().keys().collect::<Vec<_>>(), ["messages"]);
}

/// R-FWK-11: it takes agents and tools as nodes, keeps its threads, and replaces messages by id.
#[tokio::test]
async fn a_graph_of_messages_is_a_graph() {
    let model = Scripted::new(["Hello.", "Again?"]);
    let mut graph = messages_graph("chat");
    let agent = graph.node("agent", react_agent(model, [weather()]).compile().unwrap());
    let sign = graph.node("sign", |state: View<MessagesState>| {
        let mut last = state.messages.last().unwrap().clone();
        last.name = Some("signed".into());
        last
    });
    graph.sequence([START, agent.into(), sign.into(), END]);
    graph.checkpointer(Memory::new());
    let chat = graph.compile().unwrap();
    chat.run("hi").thread("t").await.unwrap();
    let done = chat.run("hi").thread("t").await.unwrap();
    assert_eq!(transcript(&done.state.messages), ["user: hi", "model: Hello.", "user: hi", "model: Again?"]);
    assert!(done.state.messages.iter().skip(1).step_by(2).all(|message| message.name.as_deref() == Some("signed")));
}
