//! The long-term store, as used by nodes.

use serde_json::json;
use superstep::prelude::*;
use superstep::store::{MemoryStore, SearchOp, SharedStore, Store};
use superstep::{CompiledGraph, ErrorCode};

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Talk {
    user: String,
    #[reduce(append)]
    lines: Vec<String>,
}

fn talk(user: &str, text: &str) -> impl superstep::core::state::IntoUpdate + use<> {
    Talk::input().user(user.to_owned()).lines(text.to_owned())
}

/// Stores the last message and returns the number of stored messages that match its first word.
async fn recall(talk: View<Talk>, cx: TaskContext) -> Result<impl superstep::IntoOutput<Talk>, NodeError> {
    let text = talk.lines.last().cloned().unwrap_or_default();
    let store = cx.store()?;
    let word = text.split(' ').next().unwrap_or_default();
    let hits = store.search(SearchOp::new(["users", talk.user.as_str()]).query(word)).await?;
    store.put(["users", talk.user.as_str()], text.as_str(), json!({ "said": text })).await?;
    Ok(Talk::update().lines(format!("{} known", hits.len())))
}

fn graph(name: &str, store: Option<SharedStore>) -> CompiledGraph<Talk> {
    let mut graph = StateGraph::<Talk>::new(name);
    let recall = graph.add_node("recall", recall);
    graph.add_edge(START, recall).add_edge(recall, END).checkpointer(MemoryCheckpointer::new());
    if let Some(store) = store {
        graph.store(store);
    }
    graph.compile().unwrap()
}

/// R-FWK-87: an item that a node stores on one thread is found on another, and each user has separate items.
#[tokio::test]
async fn stored_items_outlive_threads() {
    let graph = graph("talk", Some(MemoryStore::new().into()));
    let cases = [("a", "mia", "0 known"), ("b", "mia", "1 known"), ("c", "leo", "0 known")];
    for (thread, user, expected) in cases {
        let done = graph.invoke(talk(user, &format!("cats are fine {thread}"))).thread(thread).await.unwrap();
        assert_eq!(done.state.lines.last().unwrap(), expected, "{thread}");
    }
}

/// R-FWK-87: a node that requires a store fails without one, with the name of the node and help.
#[tokio::test]
async fn a_missing_store_is_reported() {
    let error = graph("talk", None).invoke(talk("mia", "cats")).thread("t").await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid);
    let text = error.to_string();
    assert!(text.contains("node `recall`") && text.contains("graph.store("), "{text}");
}

/// R-FWK-87: a subgraph uses the store of its parent graph; if the parent has none, its own.
#[tokio::test]
async fn subgraphs_use_the_store_of_their_parent() {
    let outer = |inner: CompiledGraph<Talk>, store: Option<SharedStore>| {
        let mut graph = StateGraph::<Talk>::new("outer");
        let inner = graph.add_node("inner", inner);
        graph.add_edge(START, inner).add_edge(inner, END).checkpointer(MemoryCheckpointer::new());
        if let Some(store) = store {
            graph.store(store);
        }
        graph.compile().unwrap()
    };
    let (parent_store, own) = (MemoryStore::new(), MemoryStore::new());
    let count = async |store: &MemoryStore| store.search(SearchOp::all_namespaces()).await.unwrap().len();
    let inner = || graph("inner", Some(own.clone().into()));
    outer(inner(), Some(parent_store.clone().into())).invoke(talk("mia", "cats")).thread("t").await.unwrap();
    assert_eq!((count(&parent_store).await, count(&own).await), (1, 0));
    outer(inner(), None).invoke(talk("mia", "cats")).thread("t").await.unwrap();
    assert_eq!((count(&parent_store).await, count(&own).await), (1, 1));
}

/// R-FWK-87: a run may set its own store.
#[tokio::test]
async fn a_run_may_bring_its_own_store() {
    let (usual, other) = (MemoryStore::new(), MemoryStore::new());
    let graph = graph("talk", Some(usual.clone().into()));
    graph.invoke(talk("mia", "cats")).thread("t").store(other.clone()).await.unwrap();
    assert!(usual.search(SearchOp::all_namespaces()).await.unwrap().is_empty());
    assert_eq!(other.get(["users", "mia"], "cats").await.unwrap().unwrap().value, json!({ "said": "cats" }));
}
