//! The state of a conversation: its fields and how they fold.
//!
//! Nodes return only what they change. What two of them may write at once is appended or merged; how steps, statuses and
//! agents are called is in `state/names`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::core::time::Time;
use superstep::{Messages, State};

mod names;

pub use names::{Agent, Step, WorkflowStatus};

use crate::models::{
    AgentOutput, ConflictDetectionData, ErrorInfo, NlParserData, ProposedEvent, ProposedResolution, TimeSlot,
    ValidationResult,
};

/// A conversation about the calendar: one request after the other, of which the last one is being worked on.
#[derive(State, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[state(name = "scheduler", version = 1)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// What is asked for, in plain words.
    pub user_input: String,
    /// Who asks.
    pub user_id: String,
    /// The conversation, which is also the thread.
    #[state(set_once)]
    pub conversation_id: String,
    /// The step that was done last.
    pub current_step: Step,
    /// How the request stands.
    #[reduce(with = guard_status)]
    pub workflow_status: WorkflowStatus,
    /// What comes next.
    #[state(default = Some(Agent::NlParser.name().to_owned()))]
    pub next_action: Option<String>,
    /// What was said.
    #[reduce(messages)]
    pub messages: Messages,
    /// What the agents found, by their names.
    #[reduce(merge)]
    pub agent_outputs: BTreeMap<String, AgentOutput>,
    /// The event on its way onto the calendar.
    pub proposed_event: Option<ProposedEvent>,
    /// What the steps found, in their order.
    #[reduce(append)]
    pub validation_results: Vec<ValidationResult>,
    /// What the sentence says.
    pub parsed_event_data: Option<NlParserData>,
    /// The time that was chosen.
    pub selected_time_slot: Option<TimeSlot>,
    /// What stands in the way.
    pub detected_conflicts: Option<ConflictDetectionData>,
    /// The way out that was chosen.
    pub selected_resolution: Option<ProposedResolution>,
    /// What went wrong.
    #[reduce(append)]
    pub errors: Vec<ErrorInfo>,
    /// How often the step was tried again.
    pub retry_count: u32,
    /// When the conversation began.
    #[reduce(with = keep_first)]
    pub created_at: Option<Time>,
    /// When something last changed.
    #[reduce(max)]
    pub updated_at: Option<Time>,
    /// Who did what when.
    #[reduce(append)]
    pub audit_log: Vec<Map<String, Value>>,
    /// What nodes note for themselves in one request.
    #[reduce(merge)]
    pub notes: BTreeMap<String, Value>,
}

/// The last status stays, except that a failure is not painted over: only a new request begins anew.
fn guard_status(current: &mut WorkflowStatus, next: WorkflowStatus) -> Result<(), String> {
    use WorkflowStatus::{AwaitingUser, Completed, Failed};
    if matches!((*current, next), (Failed, Completed | AwaitingUser) | (Completed, Failed | AwaitingUser)) {
        return Err(format!("a request that is `{}` does not become `{}`", current.name(), next.name()));
    }
    *current = next;
    Ok(())
}

/// The first time stays: every request says when it is, and the conversation began with the first one.
fn keep_first(current: &mut Option<Time>, next: Option<Time>) {
    *current = current.or(next);
}
