//! One thing done with many items.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use superstep::agent::{MapReduce, map_reduce};
use superstep::testing::{CrashAt, LastWrite};
use superstep::{Code, Retry};
use tokio::sync::Notify;

use super::*;
use crate::support::refused;

fn numbers() -> impl Fn(u64, Cx) -> std::future::Ready<Result<Vec<u64>, NodeError>> {
    |n, _| std::future::ready(Ok((1..=n).collect()))
}

fn joined() -> impl Fn(Vec<String>, Cx) -> std::future::Ready<Result<String, NodeError>> {
    |all, _| std::future::ready(Ok(all.join(" ")))
}

/// R-FWK-11: results are in the order of the items, whichever task ends first; no items are no tasks.
#[tokio::test]
async fn results_are_in_the_order_of_the_items() {
    let gates: Arc<Vec<Notify>> = Arc::new((0..=4).map(|_| Notify::new()).collect());
    gates[4].notify_one();
    let map = move |n: u64, _: Cx| {
        let gates = gates.clone();
        async move {
            // Each item waits for the one behind it.
            let at = usize::try_from(n).unwrap();
            gates[at].notified().await;
            gates[at - 1].notify_one();
            Ok(format!("n{n}"))
        }
    };
    let graph = map_reduce(numbers(), map, joined()).checkpointer(Memory::new()).compile().unwrap();
    let done = graph.run(&4).unwrap().thread("t").await.unwrap();
    assert_eq!((graph.output(&done).unwrap().as_deref(), done.supersteps), (Some("n1 n2 n3 n4"), 3));
    assert_eq!(done.to_json().unwrap(), json!({ "output": "n1 n2 n3 n4" }));
    let none = graph.run(&0).unwrap().thread("t").await.unwrap();
    assert_eq!(graph.output(&none).unwrap().as_deref(), Some(""));
}

/// R-FWK-11, R-FWK-13: as many items at once as told.
#[tokio::test]
async fn items_at_once_are_bounded() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let map = move |n: u64, _: Cx| {
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
    let done = graph.run(&9).unwrap().await.unwrap();
    assert_eq!(graph.output(&done).unwrap().as_deref(), Some("1 2 3 4 5 6 7 8 9"));
    assert_eq!(seen.load(Ordering::SeqCst), 3);
}

type Runs = Arc<Mutex<Vec<u64>>>;

/// Notes each item it works on; item 2 fails as often as told.
fn failing(runs: &Runs, times: usize) -> MapReduce<u64, String> {
    let (runs, left) = (runs.clone(), AtomicUsize::new(times));
    let map = move |n: u64, _: Cx| {
        runs.lock().unwrap().push(n);
        let fails = n == 2 && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        std::future::ready(if fails { Err(NodeError::new("no").retryable()) } else { Ok(n.to_string()) })
    };
    let retry = Retry::exponential(2).initial_interval(std::time::Duration::ZERO);
    map_reduce(numbers(), map, joined()).map_node(move |node| node.retry(retry)).compile().unwrap()
}

/// R-FWK-11: an item is tried again by itself; one that fails for good fails the run, which goes on with it alone.
#[tokio::test]
async fn an_item_that_fails_is_tried_again_alone() {
    let runs = Runs::default();
    let graph = failing(&runs, 1);
    let done = graph.run(&3).unwrap().await.unwrap();
    assert_eq!(graph.output(&done).unwrap().as_deref(), Some("1 2 3"));
    assert_eq!(runs.lock().unwrap().iter().filter(|n| **n == 2).count(), 2);

    let (runs, disk) = (Runs::default(), Memory::new());
    let graph = failing(&runs, 2);
    let error = refused(graph.run(&3).unwrap().thread("t").checkpointer(disk.clone()).await);
    assert_eq!(error.code(), Code::NodeFailed);
    runs.lock().unwrap().clear();
    let done = graph.graph().go_on("t").checkpointer(disk).await.unwrap();
    assert_eq!(graph.output(&done).unwrap().as_deref(), Some("1 2 3"));
    assert_eq!(*runs.lock().unwrap(), [2]);
}

/// R-FWK-11, R-GRA-45: whatever write the process dies at, the end is the same, and no kept item is worked on again.
#[tokio::test]
async fn a_crash_at_any_write_loses_no_item() {
    for last in [LastWrite::Lost, LastWrite::Kept] {
        for at in 0.. {
            let (runs, disk) = (Runs::default(), Memory::new());
            let graph = failing(&runs, 0);
            let store = CrashAt::new(disk.clone(), at, last);
            let survived = graph.run(&4).unwrap().thread("t").checkpointer(store).await.is_ok();
            let begun = graph.graph().threads().checkpointer(disk.clone()).state("t").await.is_ok();
            let again = if begun { graph.graph().go_on("t") } else { graph.run(&4).unwrap().thread("t") };
            let done = again.checkpointer(disk).await.unwrap();
            assert_eq!(graph.output(&done).unwrap().as_deref(), Some("1 2 3 4"), "crash at write {at}, {last:?}");
            // What runs side by side is saved one by one: only what was not yet saved may run again.
            let most = if last == LastWrite::Lost { 8 } else { 7 };
            assert!(runs.lock().unwrap().len() <= most, "crash at write {at}, {last:?}: {runs:?}");
            if survived {
                assert!(at > 5, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Page {
    #[state(required)]
    text: String,
    words: u64,
    approved: bool,
}

/// R-FWK-11: an item may be worked on by a graph; questions inside wait for a person, each with its own answer.
#[tokio::test]
async fn a_graph_works_on_items() {
    let mut graph = Graph::<Page>::new("page");
    let count = graph.node("count", |page: View<Page>| Page::update().words(page.text.split(' ').count() as u64));
    let approve = graph.node("approve", |page: View<Page>, ask: Ask| async move {
        let yes: bool = ask.person("good?", page.text.clone()).await?;
        Ok::<_, NodeError>(Page::update().approved(yes))
    });
    graph.sequence([START, count.into(), approve.into(), END]);
    let pages = map_reduce(
        async |texts: Vec<String>, _| Ok(texts.into_iter().map(|text| json!({ "text": text })).collect()),
        graph.compile().unwrap(),
        async |pages: Vec<Page>, _| Ok(pages.into_iter().filter(|page| page.approved).map(|page| page.words).collect()),
    );
    let pages: MapReduce<Vec<String>, Vec<u64>> = pages.name("pages").checkpointer(Memory::new()).compile().unwrap();
    let texts = ["a", "b b", "c c c"].map(str::to_owned).to_vec();
    let paused = pages.run(&texts).unwrap().thread("t").await.unwrap();
    assert_eq!(pages.output(&paused).unwrap(), None);
    let answers = paused.questions().iter().map(|question| (question.id, json!(question.value != "b b"))).collect();
    let done = pages.graph().resume_with("t", answers).await.unwrap();
    assert_eq!(pages.output(&done).unwrap(), Some(vec![1, 3]));
}

/// R-FWK-11: an input that does not fit is refused by what is wrong with it.
#[tokio::test]
async fn an_input_that_does_not_fit_is_refused() {
    let graph = failing(&Runs::default(), 0);
    let error = refused(graph.graph().run(json!({ "input": "many" })).await);
    assert_eq!(error.code(), Code::InputInvalid, "{error:?}");
    assert!(error.message().contains("does not fit"), "{error}");
}

/// R-FWK-11: it is drawn as it runs.
#[test]
fn a_map_reduce_graph_is_drawn() {
    insta::assert_snapshot!(failing(&Runs::default(), 0).graph().drawing().to_text(), @r"
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
