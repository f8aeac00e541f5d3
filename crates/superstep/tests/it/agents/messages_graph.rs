//! Graphs whose state is a conversation only.

use superstep::agents::{MessagesState, messages_graph, react_agent};

use super::*;

/// R-FWK-11: nodes of a messages graph return messages, which are added to the conversation.
#[tokio::test]
async fn nodes_return_messages() {
    let mut graph = messages_graph("chat");
    let one = graph.add_node("one", || Message::assistant("one"));
    let two = graph.add_node("two", async |state: View<MessagesState>| -> Result<Vec<Message>, NodeError> {
        Ok(vec![Message::assistant("two"), Message::assistant(format!("after {}", state.messages.len()))])
    });
    graph.add_sequence([START, one.into(), two.into(), END]);
    let done = graph.compile().unwrap().invoke("zero").await.unwrap();
    assert_eq!(transcript(&done.state.messages), ["user: zero", "model: one", "model: two", "model: after 2"]);
    assert_eq!(done.to_json().unwrap().as_object().unwrap().keys().collect::<Vec<_>>(), ["messages"]);
}

/// R-FWK-11: a messages graph has agents and tools as nodes, persists its threads, and replaces messages by id.
#[tokio::test]
async fn a_graph_of_messages_is_a_graph() {
    let model = ScriptedModel::new(["Hello.", "Again?"]);
    let mut graph = messages_graph("chat");
    let agent = graph.add_node("agent", react_agent(model, [weather()]).compile().unwrap());
    let sign = graph.add_node("sign", |state: View<MessagesState>| {
        let mut last = state.messages.last().unwrap().clone();
        last.name = Some("signed".into());
        last
    });
    graph.add_sequence([START, agent.into(), sign.into(), END]);
    graph.checkpointer(MemoryCheckpointer::new());
    let chat = graph.compile().unwrap();
    chat.invoke("hi").thread("t").await.unwrap();
    let done = chat.invoke("hi").thread("t").await.unwrap();
    assert_eq!(transcript(&done.state.messages), ["user: hi", "model: Hello.", "user: hi", "model: Again?"]);
    assert!(done.state.messages.iter().skip(1).step_by(2).all(|message| message.name.as_deref() == Some("signed")));
}
