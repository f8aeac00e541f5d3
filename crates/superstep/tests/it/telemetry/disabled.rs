//! Runs without telemetry have no additional cost.

use superstep::prelude::*;
use superstep::telemetry::Metrics;
use tracing::level_filters::LevelFilter;

use super::{Chat, RecordingSubscriber};

/// Returns the number of allocations of a run of this many supersteps.
fn allocations(supersteps: usize, metrics: Option<&Metrics>) -> u64 {
    let mut graph = StateGraph::<Chat>::new("count");
    let write = graph.add_node("say", || Chat::update().log(String::new()));
    graph.add_edge(START, write).recursion_limit(200);
    graph.add_conditional_edges(
        write,
        move |chat: &Chat| if chat.log.len() < supersteps { Goto::node(write) } else { Goto::end() },
        [write.into(), END],
    );
    let graph = graph.compile().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let input = Chat::input().log(Vec::<String>::with_capacity(200));
    let run = graph.invoke(input);
    let run = metrics.into_iter().fold(run, |run, metrics| run.metrics(metrics));
    allocation_counter::measure(|| drop(runtime.block_on(run.into_future()).unwrap())).count_total
}

/// R-FWK-88, R-FWK-89: without an observer nothing is created.
#[test]
fn a_run_without_a_subscriber_creates_no_events() {
    let each = |metrics: Option<&Metrics>| (allocations(101, metrics) - allocations(1, metrics)) / 100;
    let unwatched = each(None);
    assert!(unwatched <= 8, "a superstep nobody listens to allocated {unwatched} times");
    assert!(each(Some(&Metrics::new())) > unwatched, "somebody measures");
    assert_eq!(each(None), unwatched, "nobody measures any more");
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::INFO);
    assert!(each(None) > unwatched, "somebody listens, and is told");
    assert!(!listening.spans().is_empty());
}
