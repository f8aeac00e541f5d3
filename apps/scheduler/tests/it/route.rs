//! The router: the next node for each step.

use std::collections::BTreeSet;

use serde_json::json;
use superstep_scheduler::models::{ConflictDetectionData, from_json};
use superstep_scheduler::orchestrator::route::{NextNode, route_next_step};
use superstep_scheduler::state::{FamilySchedulerState, WorkflowStatus, WorkflowStep};
use superstep_scheduler::state_utils::initialize_state;

use crate::examples::routes;
use crate::fixtures::{after, folded};

fn state_at(step: WorkflowStep) -> FamilySchedulerState {
    folded(&initialize_state("x", "mom"), [FamilySchedulerState::update().current_step(step)])
}

fn parsed(kind: &str, confidence: f64) -> FamilySchedulerState {
    let data =
        FamilySchedulerState::update().parsed_event_data(Some(from_json(json!({ "event_type": kind })).unwrap()));
    folded(&after(&state_at(WorkflowStep::NlParsing), &[("nl_parser", confidence)]), [data])
}

/// R-FAM-83, R-FAM-84: routes after parsing.
#[test]
fn parsed_requests_are_routed_by_type_and_confidence() {
    assert_eq!(route_next_step(&state_at(WorkflowStep::Start)), NextNode::NlParser);
    let targets =
        [("create", 0.95), ("modify", 0.7), ("query", 0.8), ("cancel", 0.9), ("create", 0.69), ("query", 0.1)]
            .map(|(kind, confidence)| route_next_step(&parsed(kind, confidence)));
    let expected = [
        NextNode::Scheduling,
        NextNode::Scheduling,
        NextNode::Query,
        NextNode::ConfirmEvent,
        NextNode::RequestClarification,
        NextNode::RequestClarification,
    ];
    assert_eq!(targets, expected);
    assert_eq!(
        route_next_step(&state_at(WorkflowStep::NlParsing)),
        NextNode::End,
        "a parser that said nothing is no pass"
    );
}

/// R-FAM-84: a confidence of one half or more continues after a confirmation; a lower one never does.
#[test]
fn half_confidence_continues_after_confirmation() {
    let confirmed = FamilySchedulerState::update().notes(("confirmed".to_owned(), json!(true)));
    assert_eq!(route_next_step(&folded(&parsed("create", 0.5), [confirmed.clone()])), NextNode::Scheduling);
    assert_eq!(route_next_step(&folded(&parsed("create", 0.49), [confirmed])), NextNode::RequestClarification);
}

/// R-FAM-82, R-FAM-83: routes after every other step.
#[test]
fn all_other_steps_are_routed() {
    assert_eq!(route_next_step(&state_at(WorkflowStep::Clarification)), NextNode::NlParser);
    assert_eq!(
        route_next_step(&state_at(WorkflowStep::Scheduling)),
        NextNode::RequestClarification,
        "no time was found"
    );
    let slot = json!({
        "start_time": "2026-01-10T14:00:00Z", "end_time": "2026-01-10T15:00:00Z", "score": 1.0,
        "available_participants": [], "constraint_violations": [],
    });
    let chosen = FamilySchedulerState::update().selected_time_slot(Some(from_json(slot).unwrap()));
    assert_eq!(route_next_step(&folded(&state_at(WorkflowStep::Scheduling), [chosen])), NextNode::ResourceManager);
    assert_eq!(route_next_step(&state_at(WorkflowStep::ResourceCheck)), NextNode::ConflictDetection);
    let detected = |data: ConflictDetectionData| {
        folded(
            &state_at(WorkflowStep::ConflictDetection),
            [FamilySchedulerState::update().detected_conflicts(Some(data))],
        )
    };
    assert_eq!(route_next_step(&detected(ConflictDetectionData::default())), NextNode::ConfirmEvent);
    let conflict = json!({ "id": "c1", "type": "time_conflict", "severity": "low", "details": "d" });
    let detection = json!({ "conflicts": [conflict], "has_conflicts": true, "blocking_conflicts": [] });
    assert_eq!(route_next_step(&detected(from_json(detection).unwrap())), NextNode::Resolution);
    assert_eq!(route_next_step(&state_at(WorkflowStep::Resolution)), NextNode::End, "the user declined");
    let resolution = json!({
        "resolution_id": "res_1", "strategy": "move_event", "score": 0.9, "description": "d", "changes": [],
        "conflicts_resolved": [], "side_effects": [],
    });
    let chosen_resolution = FamilySchedulerState::update().selected_resolution(Some(from_json(resolution).unwrap()));
    assert_eq!(
        route_next_step(&folded(&state_at(WorkflowStep::Resolution), [chosen_resolution])),
        NextNode::ApplyResolution
    );
    for step in [WorkflowStep::Query, WorkflowStep::Confirmation, WorkflowStep::Done] {
        assert_eq!(route_next_step(&state_at(step)), NextNode::End);
    }
}

/// R-FAM-81, R-FAM-82: the graph has the specified nodes, and an edge for every route from each node: from the step
/// that the node sets, or to itself after a failure.
#[test]
fn the_graph_contains_all_routes() {
    let drawing = superstep_scheduler::state_graph().compile().unwrap().diagram();
    let nodes: BTreeSet<&str> = drawing.nodes.iter().map(|node| &*node.id).collect();
    let all: BTreeSet<&str> = NextNode::ALL.into_iter().map(NextNode::node).chain(["__start__"]).collect();
    assert_eq!(nodes, all);
    let node_steps = [
        (NextNode::NlParser, WorkflowStep::NlParsing),
        (NextNode::Scheduling, WorkflowStep::Scheduling),
        (NextNode::ResourceManager, WorkflowStep::ResourceCheck),
        (NextNode::ConflictDetection, WorkflowStep::ConflictDetection),
        (NextNode::Resolution, WorkflowStep::Resolution),
        (NextNode::ApplyResolution, WorkflowStep::ResourceCheck),
        (NextNode::Query, WorkflowStep::Query),
        (NextNode::RequestClarification, WorkflowStep::Clarification),
        (NextNode::ConfirmEvent, WorkflowStep::Confirmation),
        (NextNode::ConfirmEvent, WorkflowStep::ResourceCheck),
    ];
    let step_routes = routes();
    let mut expected: BTreeSet<(&str, &str)> = BTreeSet::from([("__start__", "nl_parser")]);
    for (node, step) in node_steps {
        expected.extend([(node.node(), node.node()), (node.node(), NextNode::End.node())]);
        let edges =
            step_routes.iter().filter(|(from, _)| from == step.name()).map(|(_, to)| (node.node(), to.as_str()));
        expected.extend(edges);
    }
    let arrows: BTreeSet<(&str, &str)> = drawing.edges.iter().map(|edge| (&*edge.from, &*edge.to)).collect();
    assert_eq!(arrows, expected);
}

/// R-FAM-83: an ended request goes to the end from every step.
#[test]
fn completed_requests_stay_completed() {
    for status in [WorkflowStatus::Completed, WorkflowStatus::Failed] {
        for step in WorkflowStep::ALL {
            let state = folded(&state_at(step), [FamilySchedulerState::update().workflow_status(status)]);
            assert_eq!(route_next_step(&state), NextNode::End, "{step:?}");
        }
    }
}
