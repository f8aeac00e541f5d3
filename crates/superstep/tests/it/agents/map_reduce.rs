//! Map-reduce graphs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use superstep::agents::{MapReduce, map_reduce};
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{ErrorCode, RetryPolicy};
use tokio::sync::Notify;

use super::*;
use crate::support::expect_error;

fn numbers() -> impl Fn(u64, TaskContext) -> std::future::Ready<Result<Vec<u64>, NodeError>> {
    |n, _| std::future::ready(Ok((1..=n).collect()))
}

fn joined() -> impl Fn(Vec<String>, TaskContext) -> std::future::Ready<Result<String, NodeError>> {
    |all, _| std::future::ready(Ok(all.join(" ")))
}

/// R-FWK-11: results are in the order of the items, whichever task ends first; without items there are no tasks.
#[tokio::test]
async fn results_are_in_the_order_of_the_items() {
    let gates: Arc<Vec<Notify>> = Arc::new((0..=4).map(|_| Notify::new()).collect());
    gates[4].notify_one();
    let map = move |n: u64, _: TaskContext| {
        let gates = gates.clone();
        async move {
            // Each item waits for the next one.
            let at = usize::try_from(n).unwrap();
            gates[at].notified().await;
            gates[at - 1].notify_one();
            Ok(format!("n{n}"))
        }
    };
    let graph = map_reduce(numbers(), map, joined()).checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let done = graph.invoke(&4).unwrap().thread("t").await.unwrap();
    assert_eq!((graph.output(&done).unwrap().as_deref(), done.supersteps), (Some("n1 n2 n3 n4"), 3));
    assert_eq!(done.to_json().unwrap(), json!({ "output": "n1 n2 n3 n4" }));
    let none = graph.invoke(&0).unwrap().thread("t").await.unwrap();
    assert_eq!(graph.output(&none).unwrap().as_deref(), Some(""));
}

/// R-FWK-11, R-FWK-13: at most the configured number of items runs concurrently.
#[tokio::test]
async fn items_at_once_are_bounded() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let map = move |n: u64, _: TaskContext| {
        let (now, most) = (now.clone(), most.clone());
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(n.to_string())
        }
    };
    let graph = map_reduce(numbers(), map, joined()).map_node(|node| node.max_concurrency(3)).compile().unwrap();
    let done = graph.invoke(&9).unwrap().await.unwrap();
    assert_eq!(graph.output(&done).unwrap().as_deref(), Some("1 2 3 4 5 6 7 8 9"));
    assert_eq!(seen.load(Ordering::SeqCst), 3);
}

type Runs = Arc<Mutex<Vec<u64>>>;

/// Records each item; item 2 fails `times` times.
fn failing(runs: &Runs, times: usize) -> MapReduce<u64, String> {
    let (runs, left) = (runs.clone(), AtomicUsize::new(times));
    let map = move |n: u64, _: TaskContext| {
        runs.lock().unwrap().push(n);
        let fails = n == 2 && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        std::future::ready(if fails { Err(NodeError::new("no").retryable()) } else { Ok(n.to_string()) })
    };
    let retry = RetryPolicy::exponential(2).initial_interval(std::time::Duration::ZERO);
    map_reduce(numbers(), map, joined()).map_node(move |node| node.retry(retry)).compile().unwrap()
}

/// R-FWK-11: an item is retried separately; an item that fails after its last attempt fails the run, which continues
/// with this item only.
#[tokio::test]
async fn a_failed_item_is_retried_separately() {
    let runs = Runs::default();
    let graph = failing(&runs, 1);
    let done = graph.invoke(&3).unwrap().await.unwrap();
    assert_eq!(graph.output(&done).unwrap().as_deref(), Some("1 2 3"));
    assert_eq!(runs.lock().unwrap().iter().filter(|n| **n == 2).count(), 2);

    let (runs, disk) = (Runs::default(), MemoryCheckpointer::new());
    let graph = failing(&runs, 2);
    let error = expect_error(graph.invoke(&3).unwrap().thread("t").checkpointer(disk.clone()).await);
    assert_eq!(error.code(), ErrorCode::NodeFailed);
    runs.lock().unwrap().clear();
    let done = graph.graph().continue_thread("t").checkpointer(disk).await.unwrap();
    assert_eq!(graph.output(&done).unwrap().as_deref(), Some("1 2 3"));
    assert_eq!(*runs.lock().unwrap(), [2]);
}

/// R-FWK-11, R-GRA-45: at whatever write the process dies, the outcome is the same, and no saved item is processed
/// again.
#[tokio::test]
async fn a_crash_at_any_write_loses_no_item() {
    for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
        for at in 0.. {
            let (runs, disk) = (Runs::default(), MemoryCheckpointer::new());
            let graph = failing(&runs, 0);
            let store = CrashingCheckpointer::new(disk.clone(), at, last);
            let survived = graph.invoke(&4).unwrap().thread("t").checkpointer(store).await.is_ok();
            let has_started = graph.graph().threads().checkpointer(disk.clone()).get_state("t").await.is_ok();
            let rerun =
                if has_started { graph.graph().continue_thread("t") } else { graph.invoke(&4).unwrap().thread("t") };
            let done = rerun.checkpointer(disk).await.unwrap();
            assert_eq!(graph.output(&done).unwrap().as_deref(), Some("1 2 3 4"), "crash at write {at}, {last:?}");
            // Concurrent tasks are saved one by one: only those that were not saved yet may run again.
            let most = if last == CrashedWrite::Lost { 8 } else { 7 };
            assert!(runs.lock().unwrap().len() <= most, "crash at write {at}, {last:?}: {runs:?}");
            if survived {
                assert!(at > 5, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Page {
    #[state(required)]
    text: String,
    words: u64,
    approved: bool,
}

/// R-FWK-11: a graph may process an item; its interrupts are resumed separately.
#[tokio::test]
async fn a_graph_works_on_items() {
    let mut graph = StateGraph::<Page>::new("page");
    let count = graph.add_node("count", |page: View<Page>| Page::update().words(page.text.split(' ').count() as u64));
    let approve = graph.add_node("approve", |page: View<Page>, interrupts: Interrupts| async move {
        let yes: bool = interrupts.raise("good?", page.text.clone()).await?;
        Ok::<_, NodeError>(Page::update().approved(yes))
    });
    graph.add_sequence([START, count.into(), approve.into(), END]);
    let pages = map_reduce(
        async |texts: Vec<String>, _| Ok(texts.into_iter().map(|text| json!({ "text": text })).collect()),
        graph.compile().unwrap(),
        async |pages: Vec<Page>, _| Ok(pages.into_iter().filter(|page| page.approved).map(|page| page.words).collect()),
    );
    let pages: MapReduce<Vec<String>, Vec<u64>> =
        pages.name("pages").checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let texts = ["a", "b b", "c c c"].map(str::to_owned).to_vec();
    let paused = pages.invoke(&texts).unwrap().thread("t").await.unwrap();
    assert_eq!(pages.output(&paused).unwrap(), None);
    let answers = paused.interrupts().iter().map(|question| (question.id, json!(question.value != "b b"))).collect();
    let done = pages.graph().resume_with("t", answers).await.unwrap();
    assert_eq!(pages.output(&done).unwrap(), Some(vec![1, 3]));
}

/// R-FWK-11: an input that is not valid is rejected with the reason.
#[tokio::test]
async fn an_invalid_input_is_rejected() {
    let graph = failing(&Runs::default(), 0);
    let error = expect_error(graph.graph().invoke(json!({ "input": "many" })).await);
    assert_eq!(error.code(), ErrorCode::InputInvalid, "{error:?}");
    assert!(error.message().contains("the input does not match its type"), "{error}");
}

/// R-FWK-11: the diagram shows the nodes and edges that run.
#[test]
fn a_map_reduce_graph_is_drawn() {
    insta::assert_snapshot!(failing(&Runs::default(), 0).graph().diagram().to_text(), @r"
    ╭───────────╮
    │ __start__ │
    ╰─────┬─────╯
          │
          ▼
      ┌───────┐
      │ split │
      └───┬───┘
          ┆
          ▼
       ┌─────┐
       │ map │
       └──┬──┘
          │
          ▼
     ┌─────────┐
     │ reduce  │
     └────┬────┘
          │
          ▼
     ╭─────────╮
     │ __end__ │
     ╰─────────╯

    __start__ ─► split
    split ┄► map  (goto)
    split ┄► reduce  (goto)
    map ─► reduce
    reduce ─► __end__
    ");
}
