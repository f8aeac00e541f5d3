//! Shared by all nodes: converts results into state updates, and records errors.

use serde::Serialize;
use serde_json::{Map, Value};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, NodeError, Result, TaskContext};

use crate::calendar::{CalendarChange, Event};
use crate::context::SchedulerContext;
use crate::models::{
    AgentOutput, Confidence, EventStatus, Message, MessageRole, ProposedEvent, ValidationResult, ValidationStep,
};
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};
use crate::state_utils::{MAX_RETRIES, add_error, update_state_with_agent_output, with_transition};

/// Result of an agent.
pub(crate) struct AgentFinding {
    pub(crate) agent: AgentName,
    /// Workflow step that the result completes.
    pub(crate) step: WorkflowStep,
    pub(crate) data: Value,
    pub(crate) explanation: String,
    pub(crate) confidence: Confidence,
    pub(crate) reasoning: String,
}

impl AgentFinding {
    /// Converts the result into an update: the agent output and the workflow transition.
    pub(crate) fn into_update(self, state: &FamilySchedulerState, now: Time) -> FamilySchedulerStateUpdate {
        let output = AgentOutput {
            data: object(self.data),
            explanation: self.explanation,
            confidence: self.confidence,
            reasoning: self.reasoning,
            timestamp: now,
        };
        let update = update_state_with_agent_output(self.agent.name(), output);
        with_transition(update, state.current_step, self.step, now).retry_count(0_u32)
    }
}

/// Full confidence.
pub(crate) const CERTAIN: f64 = 1.0;

pub(crate) fn confidence(value: f64) -> Confidence {
    Confidence::clamped(value)
}

pub(crate) fn json(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| Error::internal(error.to_string()))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

pub(crate) fn validated(step: ValidationStep, now: Time, issues: Vec<String>) -> ValidationResult {
    ValidationResult { step, passed: issues.is_empty(), timestamp: now, issues }
}

pub(crate) fn proposed(event: &Event, status: EventStatus) -> ProposedEvent {
    ProposedEvent {
        event_id: event.id.clone(),
        title: event.title.clone(),
        start_time: event.span.start,
        end_time: event.span.end,
        participants: event.participants.iter().map(|participant| participant.member.clone()).collect(),
        resources: event.resources.clone(),
        status,
        created_at: event.created_at,
    }
}

/// Ends the request with an answer to the user.
pub(crate) fn with_final_answer(
    update: FamilySchedulerStateUpdate,
    status: WorkflowStatus,
    answer: &str,
    now: Time,
) -> FamilySchedulerStateUpdate {
    let message = Message::new(MessageRole::Assistant, answer, now);
    update.workflow_status(status).next_action(None).messages(message.to_chat_message()).updated_at(Some(now))
}

/// Returns the update of a node, or records its error. Retryable errors are retried until the limit; then the
/// request fails and its proposal is rejected.
pub(crate) async fn or_record_error(
    result: Result<FamilySchedulerStateUpdate>,
    (state, agent): (&FamilySchedulerState, &str),
    context: &SchedulerContext,
    cx: &TaskContext,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let error = match result {
        Ok(update) => return Ok(update),
        Err(error) => error,
    };
    let now = context.now(cx)?;
    let is_final = matches!(
        error.code(),
        ErrorCode::PolicyRefused | ErrorCode::InputInvalid | ErrorCode::InvalidResume | ErrorCode::NotFound
    );
    let retryable = !is_final;
    let update = add_error(agent, error.code().name(), error.message(), retryable, now);
    if retryable && state.retry_count < MAX_RETRIES {
        return Ok(update.retry_count(state.retry_count + 1));
    }
    let answer = format!("Sorry, the request failed: {}.", error.message().trim_end_matches('.'));
    let event = state.proposed_event.clone().map(|event| ProposedEvent { status: EventStatus::Rejected, ..event });
    if let Some(event) = &event {
        // If the store is unavailable now, a later clean-up expires the proposal.
        let _ = reject_proposal(context, &state.user_id, &event.event_id).await;
    }
    Ok(with_final_answer(update.proposed_event(event), WorkflowStatus::Failed, &answer, now))
}

/// Rejects a proposed event; a confirmed event is not changed.
pub(crate) async fn reject_proposal(context: &SchedulerContext, user_id: &str, event: &str) -> Result<()> {
    let id = event.to_owned();
    let decide = move |snapshot: &crate::calendar::CalendarSnapshot| {
        let proposed = snapshot.events.get(&id).filter(|event| event.status < EventStatus::Confirmed);
        let rejected = proposed.map(|event| Event { status: EventStatus::Rejected, ..(**event).clone() });
        Ok(rejected.into_iter().map(|event| CalendarChange::Event(Box::new(event))).collect())
    };
    context.store.change(&context.family_id, user_id, "reject", decide).await.map(drop)
}
