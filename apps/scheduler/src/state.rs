//! State of a conversation: its fields and their reducers.
//!
//! Nodes return partial updates. Fields that several nodes write have reducers that append or merge. The enums of the
//! state are in `state/enums`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::core::time::Time;
use superstep::{GraphState, Messages};

mod enums;
pub(crate) mod request_state;

pub use enums::{AgentName, WorkflowStatus, WorkflowStep};

use crate::models::{
    AgentOutput, ConflictDetectionData, ErrorInfo, NlParserData, ProposedEvent, ProposedResolution, TimeSlot,
    ValidationResult,
};

/// State of a conversation about the calendar: a sequence of requests, of which the last one is being processed.
#[derive(GraphState, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[state(name = "scheduler", version = 1)]
#[serde(deny_unknown_fields)]
pub struct FamilySchedulerState {
    /// Text of the current request.
    pub user_input: String,
    /// Id of the member who made the request.
    pub user_id: String,
    /// Id of the conversation, which is also the thread id.
    #[state(set_once)]
    pub conversation_id: String,
    /// Last completed step.
    pub current_step: WorkflowStep,
    /// Status of the request.
    #[reduce(with = workflow_status_reducer)]
    pub workflow_status: WorkflowStatus,
    /// Name of the next agent.
    #[state(default = Some(AgentName::NlParser.name().to_owned()))]
    pub next_action: Option<String>,
    /// Messages of the conversation.
    #[reduce(messages)]
    pub messages: Messages,
    /// Outputs of the agents by agent name.
    #[reduce(merge)]
    pub agent_outputs: BTreeMap<String, AgentOutput>,
    /// Event that the request plans.
    pub proposed_event: Option<ProposedEvent>,
    /// Results of the validation steps, in order.
    #[reduce(append)]
    pub validation_results: Vec<ValidationResult>,
    /// Parsed request.
    pub parsed_event_data: Option<NlParserData>,
    /// Chosen time slot.
    pub selected_time_slot: Option<TimeSlot>,
    /// Detected conflicts.
    pub detected_conflicts: Option<ConflictDetectionData>,
    /// Chosen resolution.
    pub selected_resolution: Option<ProposedResolution>,
    /// Errors of the conversation.
    #[reduce(append)]
    pub errors: Vec<ErrorInfo>,
    /// Number of retries of the current step.
    pub retry_count: u32,
    /// Time of the first request.
    #[reduce(with = created_at_reducer)]
    pub created_at: Option<Time>,
    /// Time of the last update.
    #[reduce(max)]
    pub updated_at: Option<Time>,
    /// Audit log of agent outputs and workflow transitions.
    #[reduce(append)]
    pub audit_log: Vec<Map<String, Value>>,
    /// Intermediate results that nodes exchange within one request.
    #[reduce(merge)]
    pub notes: BTreeMap<String, Value>,
}

/// Replaces the status, but rejects a change from failed to completed or waiting, and from completed to failed or
/// waiting. A new request overwrites the status.
fn workflow_status_reducer(current: &mut WorkflowStatus, next: WorkflowStatus) -> Result<(), String> {
    use WorkflowStatus::{AwaitingUser, Completed, Failed};
    if matches!((*current, next), (Failed, Completed | AwaitingUser) | (Completed, Failed | AwaitingUser)) {
        return Err(format!("a request cannot change from `{}` to `{}`", current.name(), next.name()));
    }
    *current = next;
    Ok(())
}

/// Keeps the first value: every request carries its time, and the conversation started with the first one.
fn created_at_reducer(current: &mut Option<Time>, next: Option<Time>) {
    *current = current.or(next);
}
