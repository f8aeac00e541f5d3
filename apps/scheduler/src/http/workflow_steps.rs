//! Derives from the audit log which nodes processed a request.
//!
//! Every completed node logs its step transition. Two nodes lead to the same step and are distinguished by the step
//! before. A conversation keeps the log of all its requests; the last request begins with the last `start`.

use serde_json::{Map, Value};

use crate::orchestrator::route::NextNode;
use crate::state::{FamilySchedulerState, WorkflowStep};

/// Returns the nodes of the last request, in order.
pub(super) fn steps(state: &FamilySchedulerState) -> Vec<&'static str> {
    if state.current_step == WorkflowStep::Start {
        return Vec::new();
    }
    let transitions: Vec<(WorkflowStep, WorkflowStep)> = state.audit_log.iter().filter_map(transition).collect();
    let start = transitions.iter().rposition(|(from, _)| *from == WorkflowStep::Start).unwrap_or(0);
    transitions[start..].iter().filter_map(|(from, to)| node(*from, *to)).map(NextNode::node).collect()
}

fn transition(entry: &Map<String, Value>) -> Option<(WorkflowStep, WorkflowStep)> {
    let read = |key: &str| serde_json::from_value(entry.get(key)?.clone()).ok();
    Some((read("from")?, read("to")?))
}

/// Returns the node that makes a transition.
fn node(from: WorkflowStep, to: WorkflowStep) -> Option<NextNode> {
    Some(match to {
        WorkflowStep::NlParsing => NextNode::NlParser,
        WorkflowStep::Scheduling => NextNode::Scheduling,
        WorkflowStep::ResourceCheck if from == WorkflowStep::Resolution => NextNode::ApplyResolution,
        // Another change was written first, so that conflicts are detected again.
        WorkflowStep::ResourceCheck if from == WorkflowStep::ConflictDetection => NextNode::ConfirmEvent,
        WorkflowStep::ResourceCheck => NextNode::ResourceManager,
        WorkflowStep::ConflictDetection => NextNode::ConflictDetection,
        WorkflowStep::Resolution => NextNode::Resolution,
        WorkflowStep::Query => NextNode::Query,
        WorkflowStep::Clarification => NextNode::RequestClarification,
        WorkflowStep::Confirmation => NextNode::ConfirmEvent,
        WorkflowStep::Start | WorkflowStep::Done => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log(steps: &[(&str, &str)]) -> FamilySchedulerState {
        let entry = |(from, to): &(&str, &str)| {
            let entry = json!({ "action": "transition", "from": from, "to": to, "timestamp": "2026-01-08T20:30:00Z" });
            entry.as_object().cloned().unwrap()
        };
        let agent_entry = json!({ "step": "nl_parser" }).as_object().cloned().unwrap();
        let audit_log = std::iter::once(agent_entry).chain(steps.iter().map(entry)).collect();
        FamilySchedulerState { audit_log, current_step: WorkflowStep::Confirmation, ..FamilySchedulerState::default() }
    }

    /// R-FAM-111, R-FAM-115: reports the nodes of the last request only, in order.
    #[test]
    fn steps_are_reported_as_nodes() {
        let first = [("start", "nl_parsing"), ("nl_parsing", "query")];
        let second = [
            ("start", "nl_parsing"),
            ("nl_parsing", "scheduling"),
            ("scheduling", "resource_check"),
            ("resource_check", "conflict_detection"),
            ("conflict_detection", "resolution"),
            ("resolution", "resource_check"),
            ("resource_check", "conflict_detection"),
            ("conflict_detection", "confirmation"),
        ];
        assert_eq!(steps(&log(&first)), ["nl_parser", "query"]);
        let expected = [
            "nl_parser",
            "scheduling",
            "resource_manager",
            "conflict_detection",
            "resolution",
            "apply_resolution",
            "conflict_detection",
            "confirm_event",
        ];
        assert_eq!(steps(&log(&[&first[..], &second[..]].concat())), expected);
        assert!(
            steps(&FamilySchedulerState { current_step: WorkflowStep::Start, ..log(&first) }).is_empty(),
            "no step is completed yet"
        );
    }
}
