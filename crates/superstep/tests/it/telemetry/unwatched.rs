//! What a run costs that nobody listens to: nothing more.

use superstep::prelude::*;
use superstep::telemetry::Metrics;
use tracing::level_filters::LevelFilter;

use super::{Chat, Listening};

/// Allocations of a run of this many supersteps.
fn allocations(supersteps: usize, metrics: Option<&Metrics>) -> u64 {
    let mut graph = Graph::<Chat>::new("count");
    let say = graph.node("say", || Chat::update().log(String::new()));
    graph.edge(START, say).recursion_limit(200);
    graph.route(
        say,
        move |chat: &Chat| if chat.log.len() < supersteps { Go::to(say) } else { Go::end() },
        [say.into(), END],
    );
    let graph = graph.compile().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let input = Chat::input().log(Vec::<String>::with_capacity(200));
    let run = graph.run(input);
    let run = metrics.into_iter().fold(run, |run, metrics| run.metrics(metrics));
    allocation_counter::measure(|| drop(runtime.block_on(run.into_future()).unwrap())).count_total
}

/// R-FWK-88, R-FWK-89: for observers who are not there nothing is made.
#[test]
fn a_run_that_nobody_listens_to_makes_nothing_to_tell() {
    let each = |metrics: Option<&Metrics>| (allocations(101, metrics) - allocations(1, metrics)) / 100;
    let unwatched = each(None);
    assert!(unwatched <= 8, "a superstep nobody listens to allocated {unwatched} times");
    assert!(each(Some(&Metrics::new())) > unwatched, "somebody measures");
    assert_eq!(each(None), unwatched, "nobody measures any more");
    let (listening, _guard) = Listening::at(LevelFilter::INFO);
    assert!(each(None) > unwatched, "somebody listens, and is told");
    assert!(!listening.spans().is_empty());
}
