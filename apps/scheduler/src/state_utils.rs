//! Functions shared by agents and the router.
//!
//! All functions are pure: they take the state by reference, and changes are returned as updates.
//!
//! ```
//! use superstep_scheduler::state_utils::{initialize_state, validate_state_transition};
//! use superstep_scheduler::state::WorkflowStep;
//!
//! let state = initialize_state("Schedule soccer Saturday at 2pm", "mom");
//! assert!(state.conversation_id.starts_with("conv_"));
//! assert_eq!(state.current_step, WorkflowStep::Start);
//! let error = validate_state_transition(&state, "scheduling").unwrap_err();
//! assert_eq!(error, "NL Parser output required for scheduling");
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use superstep::core::time::Time;
use superstep::{Overwrite, RemoveMessage};

use crate::models::{AgentOutput, Confidence, ErrorInfo, Message, MessageRole};
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};

/// Confidence below which a parsed request is never used.
pub const MIN_CONFIDENCE: f64 = 0.5;
/// Confidence from which a parsed request is used without confirmation.
pub const CONFIDENCE_THRESHOLD: f64 = 0.7;
/// Default number of messages that pruning keeps.
pub const RETAINED_MESSAGES: usize = 10;
/// Default number of retries of a step.
pub const MAX_RETRIES: u32 = 3;

/// Returns the state of a new conversation with a random id.
#[must_use]
pub fn initialize_state(user_input: &str, user_id: &str) -> FamilySchedulerState {
    let now = jiff::Timestamp::now().as_microsecond();
    let now = Time::from_unix_micros(now).ok();
    FamilySchedulerState {
        user_input: user_input.to_owned(),
        user_id: user_id.to_owned(),
        conversation_id: new_conversation_id(),
        next_action: Some(AgentName::NlParser.name().to_owned()),
        created_at: now,
        updated_at: now,
        ..FamilySchedulerState::default()
    }
}

/// Returns a random conversation id: `conv_` and 16 hexadecimal digits.
#[must_use]
pub fn new_conversation_id() -> String {
    // Falls back to the clock if the system has no source of randomness.
    let random = getrandom::u64().unwrap_or_else(|_| jiff::Timestamp::now().as_microsecond().unsigned_abs());
    format!("conv_{random:016x}")
}

/// Returns the input that starts a request, the first one of a conversation or a later one.
///
/// The conversation id, its start, messages, errors and the audit log are kept; all other fields are reset.
pub fn new_turn(user_input: &str, user_id: &str, conversation_id: &str, now: Time) -> FamilySchedulerStateUpdate {
    FamilySchedulerState::input()
        .user_input(user_input)
        .user_id(user_id)
        .conversation_id(conversation_id)
        .current_step(WorkflowStep::Start)
        .workflow_status(Overwrite(WorkflowStatus::InProgress))
        .next_action(Some(AgentName::NlParser.name().to_owned()))
        .messages(Message::new(MessageRole::User, user_input, now).to_chat_message())
        .agent_outputs(Overwrite(BTreeMap::new()))
        .proposed_event(None)
        .validation_results(Overwrite(Vec::new()))
        .parsed_event_data(None)
        .selected_time_slot(None)
        .detected_conflicts(None)
        .selected_resolution(None)
        .retry_count(0_u32)
        .created_at(Some(now))
        .updated_at(Some(now))
        .notes(Overwrite(BTreeMap::new()))
}

/// Returns an update with the output of an agent and an entry in the audit log.
pub fn update_state_with_agent_output(agent: &str, output: AgentOutput) -> FamilySchedulerStateUpdate {
    let entry = json!({
        "step": agent, "timestamp": output.timestamp, "confidence": output.confidence, "explanation": output.explanation,
    });
    let now = output.timestamp;
    FamilySchedulerState::update()
        .agent_outputs((agent.to_owned(), output))
        .updated_at(Some(now))
        .audit_log(object(entry))
}

/// Returns an update with a step transition and an entry in the audit log.
///
/// # Errors
/// Returns an error if the current step of the request is not `from`.
pub fn transition_workflow_step(
    state: &FamilySchedulerState,
    from: WorkflowStep,
    to: WorkflowStep,
    now: Time,
) -> Result<FamilySchedulerStateUpdate, String> {
    if state.current_step != from {
        let (from, current) = (from.name(), state.current_step.name());
        return Err(format!("The current step is {current}, not {from}"));
    }
    Ok(with_transition(FamilySchedulerState::update(), from, to, now))
}

/// Adds a step transition and an entry in the audit log to an update.
pub(crate) fn with_transition(
    update: FamilySchedulerStateUpdate,
    from: WorkflowStep,
    to: WorkflowStep,
    now: Time,
) -> FamilySchedulerStateUpdate {
    let entry = json!({ "action": "transition", "from": from, "to": to, "timestamp": now });
    update.current_step(to).updated_at(Some(now)).audit_log(object(entry))
}

/// Checks whether a step can come next. `next_step` is the name of a step, an agent or a node.
///
/// # Errors
/// Returns the missing precondition.
pub fn validate_state_transition(state: &FamilySchedulerState, next_step: &str) -> Result<(), String> {
    match next_step {
        "scheduling" => {
            let confidence = get_agent_confidence(state, AgentName::NlParser.name());
            let confidence = confidence.ok_or("NL Parser output required for scheduling")?;
            match confidence < MIN_CONFIDENCE {
                true => Err(format!("NL Parser confidence too low: {confidence}")),
                false => Ok(()),
            }
        }
        "conflict_detection" => {
            let required =
                [AgentName::NlParser, AgentName::Scheduling, AgentName::ResourceManager].map(AgentName::name);
            let missing: Vec<&str> =
                required.into_iter().filter(|agent| !state.agent_outputs.contains_key(*agent)).collect();
            match missing.is_empty() {
                true => Ok(()),
                false => Err(format!("Missing required agents: {}", json!(missing))),
            }
        }
        "resolution" => {
            let has_detection = state.agent_outputs.contains_key(AgentName::ConflictDetection.name());
            let has_conflicts = state.detected_conflicts.as_ref().is_some_and(|data| data.has_conflicts);
            match (has_detection, has_conflicts) {
                (false, _) => Err("Conflict detection output required for resolution".to_owned()),
                (true, false) => Err("No conflicts to resolve".to_owned()),
                (true, true) => Ok(()),
            }
        }
        "confirm_event" | "confirmation" => match has_blocking_conflicts(state) {
            true => Err("Blocking conflicts must be resolved before confirmation".to_owned()),
            false => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Returns an update that prunes the state: all but the last messages, and the data of agents whose result was
/// already chosen.
///
/// A request prunes when it starts, not when it ends, because responses after its end still show that data.
pub fn prune_state(state: &FamilySchedulerState, keep_messages: usize) -> FamilySchedulerStateUpdate {
    with_pruning(FamilySchedulerState::update(), state, keep_messages)
}

/// Adds the same pruning to an update.
pub(crate) fn with_pruning(
    mut update: FamilySchedulerStateUpdate,
    state: &FamilySchedulerState,
    keep_messages: usize,
) -> FamilySchedulerStateUpdate {
    let too_many = state.messages.len().saturating_sub(keep_messages);
    for id in state.messages.iter().take(too_many).filter_map(|message| message.id.clone()) {
        update = update.messages(RemoveMessage(id));
    }
    let is_chosen = [
        (AgentName::NlParser, state.parsed_event_data.is_some()),
        (AgentName::Scheduling, state.selected_time_slot.is_some()),
        (AgentName::Resolution, state.selected_resolution.is_some()),
    ];
    for (agent, _) in is_chosen.into_iter().filter(|(_, is_chosen)| *is_chosen) {
        if let Some(output) = get_agent_output(state, agent.name()).filter(|output| !output.data.is_empty()) {
            let pruned = AgentOutput { data: Map::new(), ..output.clone() };
            update = update.agent_outputs((agent.name().to_owned(), pruned));
        }
    }
    update
}

/// Returns the output of an agent.
#[must_use]
pub fn get_agent_output<'a>(state: &'a FamilySchedulerState, agent: &str) -> Option<&'a AgentOutput> {
    state.agent_outputs.get(agent)
}

/// Returns the confidence of an agent.
#[must_use]
pub fn get_agent_confidence(state: &FamilySchedulerState, agent: &str) -> Option<f64> {
    get_agent_output(state, agent).map(|output| output.confidence).map(Confidence::value)
}

/// Returns true if a detected conflict blocks the confirmation.
#[must_use]
pub fn has_blocking_conflicts(state: &FamilySchedulerState) -> bool {
    state.detected_conflicts.as_ref().is_some_and(|data| !data.blocking_conflicts.is_empty())
}

/// Returns true if the request has completed or failed.
#[must_use]
pub fn is_workflow_complete(state: &FamilySchedulerState) -> bool {
    matches!(state.workflow_status, WorkflowStatus::Completed | WorkflowStatus::Failed)
}

/// Returns true if the request waits for the user.
#[must_use]
pub fn is_waiting(state: &FamilySchedulerState) -> bool {
    state.workflow_status == WorkflowStatus::AwaitingUser
}

/// Returns an update that records an error.
pub fn add_error(
    step: &str,
    error_type: &str,
    message: &str,
    retryable: bool,
    now: Time,
) -> FamilySchedulerStateUpdate {
    let error = ErrorInfo {
        step: step.to_owned(),
        error_type: error_type.to_owned(),
        message: message.to_owned(),
        timestamp: now,
        retryable,
    };
    FamilySchedulerState::update().errors(error).updated_at(Some(now))
}

/// Returns true if the last error is retryable and the retry limit is not reached.
#[must_use]
pub fn should_retry(state: &FamilySchedulerState, max_retries: u32) -> bool {
    state.errors.last().is_some_and(|error| error.retryable) && state.retry_count < max_retries
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
