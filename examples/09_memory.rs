//! Remembering people across threads: items in a long-term store, found again by text, by filter and by time.

use std::time::Duration;

use superstep::prelude::*;
use superstep::store::{Filter, MemoryStore, Put, Search, Store};

#[derive(State, Clone, Serialize, Deserialize)]
struct Talk {
    user: String,
    said: String,
    answer: String,
}

/// Keeps what the user said and answers with what fits it best of all they ever said, on any thread.
async fn answer(talk: View<Talk>, cx: Cx) -> Result<impl superstep::IntoOutput<Talk>, NodeError> {
    let (store, place) = (cx.store()?, ["users", talk.user.as_str()]);
    let known = store.search(Search::new(place).query(talk.said.as_str()).limit(1)).await?;
    let value = serde_json::json!({ "text": talk.said, "words": talk.said.split(' ').count() });
    let a_year = Duration::from_secs(365 * 24 * 3_600);
    store.put_with(Put::new(place, cx.fresh_id(), value).lasts(a_year)).await?;
    Ok(Talk::update().answer(match known.first() {
        Some(hit) => format!("you once said: {}", hit.item.value["text"].as_str().unwrap_or_default()),
        None => "tell me more".to_owned(),
    }))
}

async fn talk() -> superstep::Result<Vec<String>> {
    let store = MemoryStore::new();
    let mut graph = Graph::<Talk>::new("talk");
    let answer = graph.node("answer", answer);
    graph.edge(START, answer).edge(answer, END).checkpointer(Memory::new()).store(store.clone());
    let graph = graph.compile()?;
    let mut lines = Vec::new();
    let said =
        [("monday", "mia", "I like green curry"), ("friday", "mia", "which curry?"), ("friday-2", "leo", "curry?")];
    for (thread, user, said) in said {
        let input = Talk::input().user(user.to_owned()).said(said.to_owned()).answer(String::new());
        lines.push(format!("{user}: {}", graph.run(input).thread(thread).await?.state.answer));
    }
    let long = store.search(Search::new("users").filter(Filter::greater("words", 2))).await?;
    lines.extend(long.iter().map(|hit| format!("{}: {}", hit.item.namespace, hit.item.value["text"])));
    Ok(lines)
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    talk().await?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
