//! The functions that agents and the router share.
//!
//! They change nothing themselves: what looks at a state takes it by reference, what changes one gives an update.
//!
//! ```
//! use superstep_scheduler::workflow::{initialize_state, validate_state_transition};
//! use superstep_scheduler::state::Step;
//!
//! let state = initialize_state("Schedule soccer Saturday at 2pm", "mom");
//! assert!(state.conversation_id.starts_with("conv_"));
//! assert_eq!(state.current_step, Step::Start);
//! let refused = validate_state_transition(&state, "scheduling").unwrap_err();
//! assert_eq!(refused, "NL Parser output required for scheduling");
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use superstep::core::time::Time;
use superstep::{Overwrite, RemoveMessage};

use crate::models::{AgentOutput, Confidence, ErrorInfo, Role, Said};
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step, WorkflowStatus};

/// Below this, what was read is not worked with.
pub const LEAST_CONFIDENCE: f64 = 0.5;
/// From this on, what was read is worked with unasked.
pub const SURE: f64 = 0.7;
/// How many messages pruning keeps unless told.
pub const KEPT_MESSAGES: usize = 10;
/// How often a step is tried again unless told.
pub const MOST_RETRIES: u32 = 3;

/// The state of a new conversation, with an id that no other has.
#[must_use]
pub fn initialize_state(user_input: &str, user_id: &str) -> Scheduler {
    let now = jiff::Timestamp::now().as_microsecond();
    let now = Time::from_unix_micros(now).ok();
    Scheduler {
        user_input: user_input.to_owned(),
        user_id: user_id.to_owned(),
        conversation_id: new_conversation_id(),
        next_action: Some(Agent::NlParser.name().to_owned()),
        created_at: now,
        updated_at: now,
        ..Scheduler::default()
    }
}

/// `conv_` and sixteen hexadecimal digits, drawn at random.
#[must_use]
pub fn new_conversation_id() -> String {
    // A system that cannot draw numbers has at least a clock.
    let drawn = getrandom::u64().unwrap_or_else(|_| jiff::Timestamp::now().as_microsecond().unsigned_abs());
    format!("conv_{drawn:016x}")
}

/// The input that begins a request: the first one of a conversation or a further one.
///
/// Kept are the conversation, when it began, what was said, what went wrong and who did what; the rest begins anew.
pub fn new_turn(user_input: &str, user_id: &str, conversation_id: &str, now: Time) -> SchedulerUpdate {
    Scheduler::input()
        .user_input(user_input)
        .user_id(user_id)
        .conversation_id(conversation_id)
        .current_step(Step::Start)
        .workflow_status(Overwrite(WorkflowStatus::InProgress))
        .next_action(Some(Agent::NlParser.name().to_owned()))
        .messages(Said::new(Role::User, user_input, now).to_message())
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

/// What an agent found, under its name, and a line of the audit log about it.
pub fn update_state_with_agent_output(agent: &str, output: AgentOutput) -> SchedulerUpdate {
    let entry = json!({
        "step": agent, "timestamp": output.timestamp, "confidence": output.confidence, "explanation": output.explanation,
    });
    let now = output.timestamp;
    Scheduler::update().agent_outputs((agent.to_owned(), output)).updated_at(Some(now)).audit_log(object(entry))
}

/// The step from one to the next, and a line of the audit log about it.
///
/// # Errors
/// When the request is in another step than `from`.
pub fn transition_workflow_step(state: &Scheduler, from: Step, to: Step, now: Time) -> Result<SchedulerUpdate, String> {
    if state.current_step != from {
        let (from, current) = (from.name(), state.current_step.name());
        return Err(format!("The current step is {current}, not {from}"));
    }
    Ok(stepped(Scheduler::update(), from, to, now))
}

/// An update with the step from one to the next, and a line of the audit log about it.
pub(crate) fn stepped(update: SchedulerUpdate, from: Step, to: Step, now: Time) -> SchedulerUpdate {
    let entry = json!({ "action": "transition", "from": from, "to": to, "timestamp": now });
    update.current_step(to).updated_at(Some(now)).audit_log(object(entry))
}

/// Whether a step may come next: the name of a step, an agent or a node.
///
/// # Errors
/// With what is missing.
pub fn validate_state_transition(state: &Scheduler, next_step: &str) -> Result<(), String> {
    match next_step {
        "scheduling" => {
            let confidence = get_agent_confidence(state, Agent::NlParser.name());
            let confidence = confidence.ok_or("NL Parser output required for scheduling")?;
            match confidence < LEAST_CONFIDENCE {
                true => Err(format!("NL Parser confidence too low: {confidence}")),
                false => Ok(()),
            }
        }
        "conflict_detection" => {
            let needed = [Agent::NlParser, Agent::Scheduling, Agent::ResourceManager].map(Agent::name);
            let missing: Vec<&str> =
                needed.into_iter().filter(|agent| !state.agent_outputs.contains_key(*agent)).collect();
            match missing.is_empty() {
                true => Ok(()),
                false => Err(format!("Missing required agents: {}", json!(missing))),
            }
        }
        "resolution" => {
            let found = state.agent_outputs.contains_key(Agent::ConflictDetection.name());
            let any = state.detected_conflicts.as_ref().is_some_and(|data| data.has_conflicts);
            match (found, any) {
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

/// What can be forgotten: all but the last messages, and what agents gave that has been chosen from.
///
/// Requests do so to what was said before them, when they begin: at their end it would take away what is told of them.
pub fn prune_state(state: &Scheduler, keep_messages: usize) -> SchedulerUpdate {
    pruned(Scheduler::update(), state, keep_messages)
}

/// An update that forgets the same.
pub(crate) fn pruned(mut update: SchedulerUpdate, state: &Scheduler, keep_messages: usize) -> SchedulerUpdate {
    let too_many = state.messages.len().saturating_sub(keep_messages);
    for id in state.messages.iter().take(too_many).filter_map(|message| message.id.clone()) {
        update = update.messages(RemoveMessage(id));
    }
    let is_chosen = [
        (Agent::NlParser, state.parsed_event_data.is_some()),
        (Agent::Scheduling, state.selected_time_slot.is_some()),
        (Agent::Resolution, state.selected_resolution.is_some()),
    ];
    for (agent, _) in is_chosen.into_iter().filter(|(_, is_chosen)| *is_chosen) {
        if let Some(output) = get_agent_output(state, agent.name()).filter(|output| !output.data.is_empty()) {
            let pruned = AgentOutput { data: Map::new(), ..output.clone() };
            update = update.agent_outputs((agent.name().to_owned(), pruned));
        }
    }
    update
}

/// What an agent found.
#[must_use]
pub fn get_agent_output<'a>(state: &'a Scheduler, agent: &str) -> Option<&'a AgentOutput> {
    state.agent_outputs.get(agent)
}

/// How sure an agent is.
#[must_use]
pub fn get_agent_confidence(state: &Scheduler, agent: &str) -> Option<f64> {
    get_agent_output(state, agent).map(|output| output.confidence).map(Confidence::value)
}

/// Whether something stands in the way that blocks.
#[must_use]
pub fn has_blocking_conflicts(state: &Scheduler) -> bool {
    state.detected_conflicts.as_ref().is_some_and(|data| !data.blocking_conflicts.is_empty())
}

/// Whether the request is over, well or badly.
#[must_use]
pub fn is_workflow_complete(state: &Scheduler) -> bool {
    matches!(state.workflow_status, WorkflowStatus::Completed | WorkflowStatus::Failed)
}

/// Whether the request waits for the user.
#[must_use]
pub fn is_waiting(state: &Scheduler) -> bool {
    state.workflow_status == WorkflowStatus::AwaitingUser
}

/// Something that went wrong.
pub fn add_error(step: &str, error_type: &str, message: &str, retryable: bool, now: Time) -> SchedulerUpdate {
    let error = ErrorInfo {
        step: step.to_owned(),
        error_type: error_type.to_owned(),
        message: message.to_owned(),
        timestamp: now,
        retryable,
    };
    Scheduler::update().errors(error).updated_at(Some(now))
}

/// Whether the step that went wrong is tried again.
#[must_use]
pub fn should_retry(state: &Scheduler, max_retries: u32) -> bool {
    state.errors.last().is_some_and(|error| error.retryable) && state.retry_count < max_retries
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
