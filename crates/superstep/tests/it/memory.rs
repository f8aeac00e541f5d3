//! The long-term store, as nodes have it.

use serde_json::json;
use superstep::prelude::*;
use superstep::store::{MemoryStore, Search, SharedStore, Store};
use superstep::{Code, Compiled};

#[derive(State, Clone, Serialize, Deserialize)]
struct Talk {
    user: String,
    #[reduce(append)]
    said: Vec<String>,
}

fn talk(user: &str, said: &str) -> impl superstep::core::state::IntoDraft + use<> {
    Talk::input().user(user.to_owned()).said(said.to_owned())
}

/// Keeps what was said last and answers with all that was ever said about the first word of it.
async fn recall(talk: View<Talk>, cx: Cx) -> Result<impl superstep::IntoOutput<Talk>, NodeError> {
    let said = talk.said.last().cloned().unwrap_or_default();
    let store = cx.store()?;
    let word = said.split(' ').next().unwrap_or_default();
    let known = store.search(Search::new(["users", talk.user.as_str()]).query(word)).await?;
    store.put(["users", talk.user.as_str()], said.as_str(), json!({ "said": said })).await?;
    Ok(Talk::update().said(format!("{} known", known.len())))
}

fn graph(name: &str, store: Option<SharedStore>) -> Compiled<Talk> {
    let mut graph = Graph::<Talk>::new(name);
    let recall = graph.node("recall", recall);
    graph.edge(START, recall).edge(recall, END).checkpointer(Memory::new());
    if let Some(store) = store {
        graph.store(store);
    }
    graph.compile().unwrap()
}

/// R-FWK-87: what a node keeps on one thread another finds, and a user has what is theirs.
#[tokio::test]
async fn what_is_kept_outlives_threads() {
    let graph = graph("talk", Some(MemoryStore::new().into()));
    let cases = [("a", "mia", "0 known"), ("b", "mia", "1 known"), ("c", "leo", "0 known")];
    for (thread, user, expected) in cases {
        let done = graph.run(talk(user, &format!("cats are fine {thread}"))).thread(thread).await.unwrap();
        assert_eq!(done.state.said.last().unwrap(), expected, "{thread}");
    }
}

/// R-FWK-87: a node that wants a store where there is none is told which node, and what to do.
#[tokio::test]
async fn a_missing_store_is_told() {
    let error = graph("talk", None).run(talk("mia", "cats")).thread("t").await.err().unwrap();
    assert_eq!(error.code(), Code::ConfigInvalid);
    let text = error.to_string();
    assert!(text.contains("node `recall`") && text.contains("graph.store("), "{text}");
}

/// R-FWK-87: a graph inside another has the store of the one around it; where that has none, its own.
#[tokio::test]
async fn graphs_inside_have_the_store_around_them() {
    let outer = |inner: Compiled<Talk>, store: Option<SharedStore>| {
        let mut graph = Graph::<Talk>::new("outer");
        let inner = graph.node("inner", inner);
        graph.edge(START, inner).edge(inner, END).checkpointer(Memory::new());
        if let Some(store) = store {
            graph.store(store);
        }
        graph.compile().unwrap()
    };
    let (around, own) = (MemoryStore::new(), MemoryStore::new());
    let count = async |store: &MemoryStore| store.search(Search::everywhere()).await.unwrap().len();
    let inner = || graph("inner", Some(own.clone().into()));
    outer(inner(), Some(around.clone().into())).run(talk("mia", "cats")).thread("t").await.unwrap();
    assert_eq!((count(&around).await, count(&own).await), (1, 0));
    outer(inner(), None).run(talk("mia", "cats")).thread("t").await.unwrap();
    assert_eq!((count(&around).await, count(&own).await), (1, 1));
}

/// R-FWK-87: a run may bring a store of its own.
#[tokio::test]
async fn a_run_may_bring_its_own_store() {
    let (usual, other) = (MemoryStore::new(), MemoryStore::new());
    let graph = graph("talk", Some(usual.clone().into()));
    graph.run(talk("mia", "cats")).thread("t").store(other.clone()).await.unwrap();
    assert!(usual.search(Search::everywhere()).await.unwrap().is_empty());
    assert_eq!(other.get(["users", "mia"], "cats").await.unwrap().unwrap().value, json!({ "said": "cats" }));
}
