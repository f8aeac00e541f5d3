//! Functions shared by agents and router.

use proptest::prelude::*;
use serde_json::json;
use superstep_scheduler::models::{Conflict, ConflictDetectionData, Message, MessageRole, Severity, from_json};
use superstep_scheduler::state::{FamilySchedulerState, WorkflowStatus, WorkflowStep};
use superstep_scheduler::state_utils::{
    RETAINED_MESSAGES, add_error, get_agent_confidence, get_agent_output, has_blocking_conflicts, initialize_state,
    is_waiting, is_workflow_complete, new_conversation_id, prune_state, should_retry, transition_workflow_step,
    update_state_with_agent_output, validate_state_transition,
};

use crate::fixtures::{after, folded, now, object, output, time};

fn state() -> FamilySchedulerState {
    initialize_state("Schedule soccer Saturday at 2pm", "mom")
}

fn conflicts(severities: &[Severity]) -> ConflictDetectionData {
    let one = |(index, severity): (usize, &Severity)| -> Conflict {
        let severity = serde_json::to_value(severity).unwrap();
        from_json(json!({ "id": format!("c{index}"), "type": "time_conflict", "severity": severity, "details": "d" }))
            .unwrap()
    };
    severities.iter().enumerate().map(one).collect::<Vec<_>>().into()
}

/// R-FAM-70, R-FAM-80: the initial state, with a unique conversation id.
#[test]
fn the_initial_state_has_a_unique_id() {
    let (one, other) = (state(), state());
    assert_eq!((one.user_input.as_str(), one.user_id.as_str()), ("Schedule soccer Saturday at 2pm", "mom"));
    assert_ne!(one.conversation_id, other.conversation_id);
    assert!(one.created_at.is_some() && one.created_at == one.updated_at);
    assert_eq!((one.current_step, one.workflow_status), (WorkflowStep::Start, WorkflowStatus::InProgress));
    assert_eq!(one.next_action.as_deref(), Some("nl_parser"));
}

/// R-FAM-24: conversation ids have sixteen digits; ten thousand of them are distinct.
#[test]
fn conversation_ids_are_distinct() {
    let ids: std::collections::BTreeSet<String> = (0..10_000).map(|_| new_conversation_id()).collect();
    assert_eq!(ids.len(), 10_000);
    for id in ids {
        let digits = id.strip_prefix("conv_").unwrap();
        assert!(digits.len() == 16 && digits.chars().all(|digit| digit.is_ascii_hexdigit()), "{id}");
    }
}

/// R-FAM-71, R-FAM-80: an agent output is stored under its agent's name with the time and one audit entry; others do
/// not change.
#[test]
fn outputs_of_agents() {
    let first = after(&state(), &[("nl_parser", 0.95)]);
    let second = after(&first, &[("scheduling", 0.88)]);
    assert_eq!(second.agent_outputs["nl_parser"], first.agent_outputs["nl_parser"]);
    let entry = json!({
        "step": "scheduling", "timestamp": "2026-01-08T20:30:00Z", "confidence": 0.88, "explanation": "Because.",
    });
    assert_eq!(second.audit_log.last(), Some(&object(entry)));
    assert_eq!(second.audit_log.len(), 2);
    let late = update_state_with_agent_output("query", {
        let mut late = output(0.5, json!({}));
        late.timestamp = time("2036-01-01T00:00:00Z");
        late
    });
    assert_eq!(folded(&second, [late]).updated_at, Some(time("2036-01-01T00:00:00Z")));
}

/// R-FAM-72, R-FAM-80: a transition to the next step is logged; from any other step it is rejected.
#[test]
fn only_transitions_to_the_next_step_are_accepted() {
    let start = state();
    let update = transition_workflow_step(&start, WorkflowStep::Start, WorkflowStep::NlParsing, now()).unwrap();
    let next = folded(&start, [update]);
    assert_eq!(next.current_step, WorkflowStep::NlParsing);
    let entry =
        json!({ "action": "transition", "from": "start", "to": "nl_parsing", "timestamp": "2026-01-08T20:30:00Z" });
    assert_eq!(next.audit_log, [object(entry)]);
    let error = transition_workflow_step(&next, WorkflowStep::Start, WorkflowStep::Scheduling, now()).unwrap_err();
    assert_eq!(error, "The current step is nl_parsing, not start");
}

/// R-FAM-73, R-FAM-80: preconditions of each step.
#[test]
fn each_step_has_preconditions() {
    let start = state();
    let may =
        |state: &FamilySchedulerState, next: &str| validate_state_transition(state, next).err().unwrap_or_default();
    assert_eq!(may(&start, "scheduling"), "NL Parser output required for scheduling");
    assert_eq!(may(&after(&start, &[("nl_parser", 0.3)]), "scheduling"), "NL Parser confidence too low: 0.3");
    assert_eq!(may(&after(&start, &[("nl_parser", 0.5)]), "scheduling"), "");
    assert_eq!(
        may(&start, "conflict_detection"),
        r#"Missing required agents: ["nl_parser","scheduling","resource_manager"]"#
    );
    let half = after(&start, &[("scheduling", 0.9)]);
    assert_eq!(may(&half, "conflict_detection"), r#"Missing required agents: ["nl_parser","resource_manager"]"#);
    let all = after(&start, &[("nl_parser", 0.9), ("scheduling", 0.9), ("resource_manager", 0.9)]);
    assert_eq!(may(&all, "conflict_detection"), "");
    assert_eq!(may(&all, "resolution"), "Conflict detection output required for resolution");
    let detected = |severities: &[Severity]| {
        let data = FamilySchedulerState::update().detected_conflicts(Some(conflicts(severities)));
        folded(&after(&all, &[("conflict_detection", 0.9)]), [data])
    };
    assert_eq!(may(&detected(&[]), "resolution"), "No conflicts to resolve");
    assert_eq!(may(&detected(&[Severity::Low]), "resolution"), "");
    assert_eq!(may(&detected(&[Severity::Low, Severity::Medium]), "confirm_event"), "");
    assert_eq!(
        may(&detected(&[Severity::High]), "confirm_event"),
        "Blocking conflicts must be resolved before confirmation"
    );
    assert_eq!(may(&start, "anything else"), "");
}

/// R-FAM-75, R-FAM-80: accessors return an agent's output, or nothing.
#[test]
fn accessors_return_outputs_or_none() {
    let state = after(&state(), &[("nl_parser", 0.95)]);
    assert_eq!(get_agent_output(&state, "nl_parser").unwrap().explanation, "Because.");
    assert_eq!(get_agent_confidence(&state, "nl_parser"), Some(0.95));
    assert_eq!(get_agent_output(&state, "query"), None);
    assert_eq!(get_agent_confidence(&state, "query"), None);
}

/// R-FAM-76, R-FAM-80: only conflicts with a blocking severity block.
#[test]
fn only_blocking_severities_block() {
    let with = |data| folded(&state(), [FamilySchedulerState::update().detected_conflicts(data)]);
    assert!(!has_blocking_conflicts(&state()));
    assert!(!has_blocking_conflicts(&with(Some(conflicts(&[Severity::Low, Severity::Medium])))));
    assert!(has_blocking_conflicts(&with(Some(conflicts(&[Severity::Low, Severity::High])))));
    assert!(has_blocking_conflicts(&with(Some(conflicts(&[Severity::Critical])))));
}

/// R-FAM-77: completed and failed requests have ended; one that awaits the user has not.
#[test]
fn completed_and_awaiting_status_are_distinguished() {
    let with = |status| folded(&state(), [FamilySchedulerState::update().workflow_status(status)]);
    let statuses =
        [WorkflowStatus::InProgress, WorkflowStatus::AwaitingUser, WorkflowStatus::Completed, WorkflowStatus::Failed]
            .map(|status| (is_workflow_complete(&with(status)), is_waiting(&with(status))));
    assert_eq!(statuses, [(false, false), (false, true), (true, false), (true, false)]);
}

/// R-FAM-78, R-FAM-79, R-FAM-80: errors accumulate; the last one decides whether to retry, the retry count when to
/// stop.
#[test]
fn errors_and_retries() {
    let start = state();
    assert!(!should_retry(&start, 3), "nothing went wrong");
    let failed = |state: &FamilySchedulerState, retryable| {
        folded(state, [add_error("scheduling", "Timeout", "slow", retryable, now())])
    };
    let once = failed(&start, true);
    assert_eq!(once.errors.last().unwrap().message, "slow");
    assert!(should_retry(&once, 3));
    let at = |count: u32| folded(&once, [FamilySchedulerState::update().retry_count(count)]);
    assert_eq!([0, 2, 3, 4].map(|count| should_retry(&at(count), 3)), [true, true, false, false]);
    assert!(!should_retry(&failed(&once, false), 3), "the last one counts");
    assert!(should_retry(&failed(&failed(&start, false), true), 3));
}

fn conversation(count: usize) -> FamilySchedulerState {
    let messages =
        (0..count).map(|message| Message::new(MessageRole::User, &format!("line {message}"), now()).to_chat_message());
    let mut state = state();
    for (index, message) in messages.enumerate() {
        state = folded(&state, [FamilySchedulerState::update().messages(message.with_id(format!("m{index}")))]);
    }
    state
}

/// R-FAM-74, R-FAM-80: only the last messages stay, and agent outputs whose result has been selected lose their
/// data.
#[test]
fn pruning_keeps_the_last_messages() {
    let slot = json!({
        "start_time": "2026-01-10T14:00:00Z", "end_time": "2026-01-10T15:00:00Z", "score": 1.0,
        "available_participants": [], "constraint_violations": [],
    });
    let mut state = conversation(15);
    for agent in ["nl_parser", "scheduling", "resolution", "query"] {
        state = folded(&state, [update_state_with_agent_output(agent, output(0.9, json!({ "much": true })))]);
    }
    let chosen = FamilySchedulerState::update()
        .parsed_event_data(Some(from_json(json!({ "event_type": "create" })).unwrap()))
        .selected_time_slot(Some(from_json(slot).unwrap()));
    state = folded(&state, [chosen]);
    let pruned = folded(&state, [prune_state(&state, RETAINED_MESSAGES)]);
    let texts: Vec<String> = pruned.messages.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!((texts.len(), texts[0].as_str(), texts[9].as_str()), (10, "line 5", "line 14"));
    let empty = |agent: &str| pruned.agent_outputs[agent].data.is_empty();
    assert_eq!(["nl_parser", "scheduling", "resolution", "query"].map(empty), [true, true, false, false]);
    let pruned_output = &pruned.agent_outputs["nl_parser"];
    assert_eq!(
        (pruned_output.explanation.as_str(), pruned_output.reasoning.as_str(), pruned_output.timestamp),
        ("Because.", "by hand", now())
    );
    assert_eq!(folded(&pruned, [prune_state(&pruned, RETAINED_MESSAGES)]), pruned);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// R-FAM-74, R-FAM-80: for any number of messages and any limit the last ones stay, and pruning is idempotent.
    #[test]
    fn pruning_is_idempotent(count in 0_usize..30, retained in 0_usize..12) {
        let state = conversation(count);
        let pruned = folded(&state, [prune_state(&state, retained)]);
        let expected: Vec<_> = state.messages.iter().skip(count.saturating_sub(retained)).cloned().collect();
        prop_assert_eq!(pruned.messages.iter().cloned().collect::<Vec<_>>(), expected);
        let pruned_again = folded(&pruned, [prune_state(&pruned, retained)]);
        prop_assert_eq!(pruned_again, pruned);
    }

    /// R-FAM-79, R-FAM-80: a retry happens only after a retryable error, and up to the maximum.
    #[test]
    fn only_retryable_errors_are_retried(
        errors in prop::collection::vec(any::<bool>(), 0..5),
        count in 0_u32..6,
        max in 0_u32..6,
    ) {
        let mut state = folded(&state(), [FamilySchedulerState::update().retry_count(count)]);
        for retryable in &errors {
            state = folded(&state, [add_error("s", "t", "m", *retryable, now())]);
        }
        prop_assert_eq!(should_retry(&state, max), errors.last() == Some(&true) && count < max);
    }

    /// R-FAM-72, R-FAM-80: a transition succeeds only from the current step.
    #[test]
    fn transitions_succeed_only_from_the_current_step(
        current in prop::sample::select(&WorkflowStep::ALL[..]),
        from in prop::sample::select(&WorkflowStep::ALL[..]),
    ) {
        let state = folded(&state(), [FamilySchedulerState::update().current_step(current)]);
        prop_assert_eq!(transition_workflow_step(&state, from, WorkflowStep::Done, now()).is_ok(), current == from);
    }
}
