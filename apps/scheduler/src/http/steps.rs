//! Which nodes have worked on a request, out of its audit log.
//!
//! Every node that did its work notes the step from one to the next; two of them lead to the same step and are told apart
//! by where they come from. Conversations keep the log of all their requests: the last one begins with the last start.

use serde_json::{Map, Value};

use crate::route::Next;
use crate::state::{Scheduler, Step};

/// The nodes of the last request, in their order.
pub(super) fn steps(state: &Scheduler) -> Vec<&'static str> {
    if state.current_step == Step::Start {
        return Vec::new();
    }
    let taken: Vec<(Step, Step)> = state.audit_log.iter().filter_map(step).collect();
    let begun = taken.iter().rposition(|(from, _)| *from == Step::Start).unwrap_or(0);
    taken[begun..].iter().filter_map(|(from, to)| node(*from, *to)).map(Next::node).collect()
}

fn step(entry: &Map<String, Value>) -> Option<(Step, Step)> {
    let read = |key: &str| serde_json::from_value(entry.get(key)?.clone()).ok();
    Some((read("from")?, read("to")?))
}

/// The node that makes a step.
fn node(from: Step, to: Step) -> Option<Next> {
    Some(match to {
        Step::NlParsing => Next::NlParser,
        Step::Scheduling => Next::Scheduling,
        Step::ResourceCheck if from == Step::Resolution => Next::ApplyResolution,
        // Somebody was quicker: what stands in the way is looked at anew.
        Step::ResourceCheck if from == Step::ConflictDetection => Next::ConfirmEvent,
        Step::ResourceCheck => Next::ResourceManager,
        Step::ConflictDetection => Next::ConflictDetection,
        Step::Resolution => Next::Resolution,
        Step::Query => Next::Query,
        Step::Clarification => Next::RequestClarification,
        Step::Confirmation => Next::ConfirmEvent,
        Step::Start | Step::Done => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log(steps: &[(&str, &str)]) -> Scheduler {
        let entry = |(from, to): &(&str, &str)| {
            let entry = json!({ "action": "transition", "from": from, "to": to, "timestamp": "2026-01-08T20:30:00Z" });
            entry.as_object().cloned().unwrap()
        };
        let of_agents = json!({ "step": "nl_parser" }).as_object().cloned().unwrap();
        let audit_log = std::iter::once(of_agents).chain(steps.iter().map(entry)).collect();
        Scheduler { audit_log, current_step: Step::Confirmation, ..Scheduler::default() }
    }

    /// R-FAM-111, R-FAM-115: the nodes of a request are told in their order, and only those of the last request.
    #[test]
    fn steps_are_told_as_nodes() {
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
        assert!(steps(&Scheduler { current_step: Step::Start, ..log(&first) }).is_empty(), "nothing was done yet");
    }
}
