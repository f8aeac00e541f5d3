//! What every node does with what it found, and with what went wrong.

use serde::Serialize;
use serde_json::{Map, Value};
use superstep::core::time::Time;
use superstep::{Code, Cx, Error, NodeError, Result};

use crate::calendar::{Change, Event};
use crate::home::{self, Home};
use crate::models::{
    AgentOutput, Confidence, EventStatus, ProposedEvent, Role, Said, ValidationResult, ValidationStep,
};
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step, WorkflowStatus};
use crate::workflow::{MOST_RETRIES, add_error, stepped, update_state_with_agent_output};

/// What an agent found.
pub(super) struct Finding {
    pub(super) agent: Agent,
    /// The step that is done with it.
    pub(super) step: Step,
    pub(super) data: Value,
    pub(super) explanation: String,
    pub(super) confidence: Confidence,
    pub(super) reasoning: String,
}

impl Finding {
    /// Under the agent's name, with the step that it makes.
    pub(super) fn told(self, state: &Scheduler, now: Time) -> SchedulerUpdate {
        let output = AgentOutput {
            data: object(self.data),
            explanation: self.explanation,
            confidence: self.confidence,
            reasoning: self.reasoning,
            timestamp: now,
        };
        let update = update_state_with_agent_output(self.agent.name(), output);
        stepped(update, state.current_step, self.step, now).retry_count(0_u32)
    }
}

/// The whole of a confidence.
pub(super) const CERTAIN: f64 = 1.0;

pub(super) fn sure(value: f64) -> Confidence {
    Confidence::near(value)
}

pub(super) fn json(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| Error::internal(error.to_string()))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

pub(super) fn validated(step: ValidationStep, now: Time, issues: Vec<String>) -> ValidationResult {
    ValidationResult { step, passed: issues.is_empty(), timestamp: now, issues }
}

pub(super) fn proposed(event: &Event, status: EventStatus) -> ProposedEvent {
    ProposedEvent {
        event_id: event.id.clone(),
        title: event.title.clone(),
        start_time: event.span.start,
        end_time: event.span.end,
        participants: event.participants.iter().map(|one| one.member.clone()).collect(),
        resources: event.resources.clone(),
        status,
        created_at: event.created_at,
    }
}

/// The end of a request, with the answer to the user.
pub(super) fn ended(update: SchedulerUpdate, status: WorkflowStatus, answer: &str, now: Time) -> SchedulerUpdate {
    let said = Said::new(Role::Assistant, answer, now);
    update.workflow_status(status).next_action(None).messages(said.to_message()).updated_at(Some(now))
}

/// What a node found, or what went wrong: then it is tried again, and in the end the request fails and leaves nothing.
pub(super) async fn or_failed(
    worked: Result<SchedulerUpdate>,
    (state, agent): (&Scheduler, &str),
    home: &Home,
    cx: &Cx,
) -> Result<SchedulerUpdate, NodeError> {
    let error = match worked {
        Ok(update) => return Ok(update),
        Err(error) => error,
    };
    let now = home::now(cx)?;
    let is_final =
        matches!(error.code(), Code::PolicyRefused | Code::InputInvalid | Code::InvalidResume | Code::NotFound);
    let retryable = !is_final;
    let update = add_error(agent, error.code().name(), error.message(), retryable, now);
    if retryable && state.retry_count < MOST_RETRIES {
        return Ok(update.retry_count(state.retry_count + 1));
    }
    let answer = format!("Sorry, that did not work: {}.", error.message().trim_end_matches('.'));
    let event = state.proposed_event.clone().map(|event| ProposedEvent { status: EventStatus::Rejected, ..event });
    if let Some(event) = &event {
        // A calendar that cannot be reached now is cleaned up of old proposals later.
        let _ = reject(home, &state.user_id, &event.event_id).await;
    }
    Ok(ended(update.proposed_event(event), WorkflowStatus::Failed, &answer, now))
}

/// Takes a proposal off the calendar; what is confirmed stays.
pub(crate) async fn reject(home: &Home, who: &str, event: &str) -> Result<()> {
    let id = event.to_owned();
    let decide = move |board: &crate::calendar::Board| {
        let proposed = board.events.get(&id).filter(|event| event.status < EventStatus::Confirmed);
        let rejected = proposed.map(|event| Event { status: EventStatus::Rejected, ..(**event).clone() });
        Ok(rejected.into_iter().map(|event| Change::Event(Box::new(event))).collect())
    };
    home.calendars.change(&home.family, who, "reject", decide).await.map(drop)
}
