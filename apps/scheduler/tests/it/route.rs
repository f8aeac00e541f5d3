//! The one router: what comes after what.

use std::collections::BTreeSet;

use serde_json::json;
use superstep_scheduler::models::{ConflictDetectionData, read};
use superstep_scheduler::route::{Next, route_next_step};
use superstep_scheduler::state::{Scheduler, Step, WorkflowStatus};
use superstep_scheduler::workflow::initialize_state;

use crate::examples::routes;
use crate::stage::{after, folded};

fn at(step: Step) -> Scheduler {
    folded(&initialize_state("x", "mom"), [Scheduler::update().current_step(step)])
}

fn parsed(kind: &str, sure: f64) -> Scheduler {
    let data = Scheduler::update().parsed_event_data(Some(read(json!({ "event_type": kind })).unwrap()));
    folded(&after(&at(Step::NlParsing), &[("nl_parser", sure)]), [data])
}

/// R-FAM-83, R-FAM-84: after the words are read.
#[test]
fn after_parsing() {
    assert_eq!(route_next_step(&at(Step::Start)), Next::NlParser);
    let told = [("create", 0.95), ("modify", 0.7), ("query", 0.8), ("cancel", 0.9), ("create", 0.69), ("query", 0.1)]
        .map(|(kind, sure)| route_next_step(&parsed(kind, sure)));
    let expected = [
        Next::Scheduling,
        Next::Scheduling,
        Next::Query,
        Next::ConfirmEvent,
        Next::RequestClarification,
        Next::RequestClarification,
    ];
    assert_eq!(told, expected);
    assert_eq!(route_next_step(&at(Step::NlParsing)), Next::End, "a parser that said nothing is no pass");
}

/// R-FAM-84: what is half understood goes on once it is confirmed; what is less understood never does.
#[test]
fn half_understood() {
    let confirmed = Scheduler::update().notes(("confirmed".to_owned(), json!(true)));
    assert_eq!(route_next_step(&folded(&parsed("create", 0.5), [confirmed.clone()])), Next::Scheduling);
    assert_eq!(route_next_step(&folded(&parsed("create", 0.49), [confirmed])), Next::RequestClarification);
}

/// R-FAM-82, R-FAM-83: after every other step.
#[test]
fn after_the_rest() {
    assert_eq!(route_next_step(&at(Step::Clarification)), Next::NlParser);
    assert_eq!(route_next_step(&at(Step::Scheduling)), Next::RequestClarification, "no time was found");
    let slot = json!({
        "start_time": "2026-01-10T14:00:00Z", "end_time": "2026-01-10T15:00:00Z", "score": 1.0,
        "available_participants": [], "constraint_violations": [],
    });
    let chosen = Scheduler::update().selected_time_slot(Some(read(slot).unwrap()));
    assert_eq!(route_next_step(&folded(&at(Step::Scheduling), [chosen])), Next::ResourceManager);
    assert_eq!(route_next_step(&at(Step::ResourceCheck)), Next::ConflictDetection);
    let found = |data: ConflictDetectionData| {
        folded(&at(Step::ConflictDetection), [Scheduler::update().detected_conflicts(Some(data))])
    };
    assert_eq!(route_next_step(&found(ConflictDetectionData::default())), Next::ConfirmEvent);
    let one = json!({ "id": "c1", "type": "time_conflict", "severity": "low", "details": "d" });
    let some = json!({ "conflicts": [one], "has_conflicts": true, "blocking_conflicts": [] });
    assert_eq!(route_next_step(&found(read(some).unwrap())), Next::Resolution);
    assert_eq!(route_next_step(&at(Step::Resolution)), Next::End, "the user declined");
    let way = json!({
        "resolution_id": "res_1", "strategy": "move_event", "score": 0.9, "description": "d", "changes": [],
        "conflicts_resolved": [], "side_effects": [],
    });
    let taken = Scheduler::update().selected_resolution(Some(read(way).unwrap()));
    assert_eq!(route_next_step(&folded(&at(Step::Resolution), [taken])), Next::ApplyResolution);
    for step in [Step::Query, Step::Confirmation, Step::Done] {
        assert_eq!(route_next_step(&at(step)), Next::End);
    }
}

/// R-FAM-81, R-FAM-82: the graph has the nodes that were decided on, and an arrow for every way that the router can take
/// after each: from the step that a node makes, or, when it did not work, to itself.
#[test]
fn the_graph_has_every_way_that_is_taken() {
    let drawing = superstep_scheduler::draw().compile().unwrap().drawing();
    let nodes: BTreeSet<&str> = drawing.nodes.iter().map(|node| &*node.id).collect();
    let all: BTreeSet<&str> = Next::ALL.into_iter().map(Next::node).chain(["__start__"]).collect();
    assert_eq!(nodes, all);
    let made = [
        (Next::NlParser, Step::NlParsing),
        (Next::Scheduling, Step::Scheduling),
        (Next::ResourceManager, Step::ResourceCheck),
        (Next::ConflictDetection, Step::ConflictDetection),
        (Next::Resolution, Step::Resolution),
        (Next::ApplyResolution, Step::ResourceCheck),
        (Next::Query, Step::Query),
        (Next::RequestClarification, Step::Clarification),
        (Next::ConfirmEvent, Step::Confirmation),
        (Next::ConfirmEvent, Step::ResourceCheck),
    ];
    let ways = routes();
    let mut expected: BTreeSet<(&str, &str)> = BTreeSet::from([("__start__", "nl_parser")]);
    for (node, step) in made {
        expected.extend([(node.node(), node.node()), (node.node(), Next::End.node())]);
        let on = ways.iter().filter(|(from, _)| from == step.name()).map(|(_, to)| (node.node(), to.as_str()));
        expected.extend(on);
    }
    let arrows: BTreeSet<(&str, &str)> = drawing.edges.iter().map(|edge| (&*edge.from, &*edge.to)).collect();
    assert_eq!(arrows, expected);
}

/// R-FAM-83: what is over goes nowhere, whatever the step.
#[test]
fn over_is_over() {
    for status in [WorkflowStatus::Completed, WorkflowStatus::Failed] {
        for step in Step::ALL {
            let state = folded(&at(step), [Scheduler::update().workflow_status(status)]);
            assert_eq!(route_next_step(&state), Next::End, "{step:?}");
        }
    }
}
