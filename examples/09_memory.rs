//! Long-term memory across threads: items in a store, found by text, by filter and by time.

use std::time::Duration;

use superstep::prelude::*;
use superstep::store::{Filter, MemoryStore, PutOp, SearchOp, Store};

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    user: String,
    message: String,
    answer: String,
}

/// Stores the user's message, and answers with the most similar message of earlier threads.
async fn answer(chat: View<Chat>, cx: TaskContext) -> Result<impl superstep::IntoOutput<Chat>, NodeError> {
    let (store, namespace) = (cx.store()?, ["users", chat.user.as_str()]);
    let matches = store.search(SearchOp::new(namespace).query(chat.message.as_str()).limit(1)).await?;
    let value = serde_json::json!({ "text": chat.message, "words": chat.message.split(' ').count() });
    let a_year = Duration::from_secs(365 * 24 * 3_600);
    store.put_with(PutOp::new(namespace, cx.new_id(), value).ttl(a_year)).await?;
    Ok(Chat::update().answer(match matches.first() {
        Some(hit) => format!("you once said: {}", hit.item.value["text"].as_str().unwrap_or_default()),
        None => "tell me more".to_owned(),
    }))
}

async fn run_chats() -> superstep::Result<Vec<String>> {
    let store = MemoryStore::new();
    let mut graph = StateGraph::<Chat>::new("talk");
    let answer = graph.add_node("answer", answer);
    graph.add_edge(START, answer).add_edge(answer, END).checkpointer(MemoryCheckpointer::new()).store(store.clone());
    let graph = graph.compile()?;
    let mut lines = Vec::new();
    let inputs =
        [("monday", "mia", "I like green curry"), ("friday", "mia", "which curry?"), ("friday-2", "leo", "curry?")];
    for (thread, user, message) in inputs {
        let input = Chat::input().user(user.to_owned()).message(message.to_owned()).answer(String::new());
        lines.push(format!("{user}: {}", graph.invoke(input).thread(thread).await?.state.answer));
    }
    let long = store.search(SearchOp::new("users").filter(Filter::gt("words", 2))).await?;
    lines.extend(long.iter().map(|hit| format!("{}: {}", hit.item.namespace, hit.item.value["text"])));
    Ok(lines)
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    run_chats().await?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
