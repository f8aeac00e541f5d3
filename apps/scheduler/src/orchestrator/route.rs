//! Router of the graph: the only place that decides which node runs next.
//!
//! Every agent returns to the router; no agent calls another.

use crate::models::{EventType, NlParserData};
use crate::state::request_state;
use crate::state::{AgentName, FamilySchedulerState, WorkflowStep};
use crate::state_utils::{CONFIDENCE_THRESHOLD, MIN_CONFIDENCE, get_agent_confidence, is_workflow_complete};

/// The next node of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NextNode {
    /// Parses the request.
    NlParser,
    /// Finds a time slot.
    Scheduling,
    /// Checks the availability of resources.
    ResourceManager,
    /// Detects conflicts.
    ConflictDetection,
    /// Proposes resolutions, and asks the user to choose.
    Resolution,
    /// Applies the chosen resolution.
    ApplyResolution,
    /// Answers a query.
    Query,
    /// Asks the user to clarify.
    RequestClarification,
    /// Writes the calendar.
    ConfirmEvent,
    /// Ends the run.
    End,
}

impl NextNode {
    /// All variants.
    pub const ALL: [Self; 10] = [
        Self::NlParser,
        Self::Scheduling,
        Self::ResourceManager,
        Self::ConflictDetection,
        Self::Resolution,
        Self::ApplyResolution,
        Self::Query,
        Self::RequestClarification,
        Self::ConfirmEvent,
        Self::End,
    ];

    /// Returns the name of the node. `End` has the name that LangGraph uses for the end.
    #[must_use]
    pub const fn node(self) -> &'static str {
        match self {
            Self::NlParser => "nl_parser",
            Self::Scheduling => "scheduling",
            Self::ResourceManager => "resource_manager",
            Self::ConflictDetection => "conflict_detection",
            Self::Resolution => "resolution",
            Self::ApplyResolution => "apply_resolution",
            Self::Query => "query",
            Self::RequestClarification => "request_clarification",
            Self::ConfirmEvent => "confirm_event",
            Self::End => "__end__",
        }
    }

    /// Returns the nodes to which the router can go after this node: a next node, the node itself for a retry, or
    /// the end.
    #[must_use]
    pub const fn targets(self) -> &'static [Self] {
        match self {
            Self::NlParser => &[
                Self::NlParser,
                Self::Scheduling,
                Self::Query,
                Self::RequestClarification,
                Self::ConfirmEvent,
                Self::End,
            ],
            Self::Scheduling => &[Self::Scheduling, Self::ResourceManager, Self::RequestClarification, Self::End],
            Self::ResourceManager => &[Self::ResourceManager, Self::ConflictDetection, Self::End],
            Self::ConflictDetection => &[Self::ConflictDetection, Self::Resolution, Self::ConfirmEvent, Self::End],
            Self::Resolution => &[Self::Resolution, Self::ApplyResolution, Self::End],
            Self::ApplyResolution => &[Self::ConflictDetection, Self::ApplyResolution, Self::End],
            Self::Query => &[Self::Query, Self::End],
            Self::RequestClarification => &[Self::NlParser, Self::RequestClarification, Self::End],
            // `ConflictDetection`, because another change may have been written first.
            Self::ConfirmEvent => &[Self::ConflictDetection, Self::ConfirmEvent, Self::End],
            Self::End => &[],
        }
    }
}

/// Returns the next node, from the last completed step and the results of the agents.
#[must_use]
pub fn route_next_step(state: &FamilySchedulerState) -> NextNode {
    if is_workflow_complete(state) {
        return NextNode::End;
    }
    match state.current_step {
        WorkflowStep::Start | WorkflowStep::Clarification => NextNode::NlParser,
        WorkflowStep::NlParsing => after_parsing(state),
        WorkflowStep::Scheduling if state.selected_time_slot.is_none() => NextNode::RequestClarification,
        WorkflowStep::Scheduling => NextNode::ResourceManager,
        WorkflowStep::ResourceCheck => NextNode::ConflictDetection,
        WorkflowStep::ConflictDetection => match &state.detected_conflicts {
            Some(data) if data.has_conflicts => NextNode::Resolution,
            Some(_) => NextNode::ConfirmEvent,
            None => NextNode::End,
        },
        WorkflowStep::Resolution if state.selected_resolution.is_some() => NextNode::ApplyResolution,
        WorkflowStep::Resolution | WorkflowStep::Query | WorkflowStep::Confirmation | WorkflowStep::Done => {
            NextNode::End
        }
    }
}

/// Routes after parsing. A parser without output ends the run.
fn after_parsing(state: &FamilySchedulerState) -> NextNode {
    let confidence = get_agent_confidence(state, AgentName::NlParser.name());
    let (Some(confidence), Some(parsed)) = (confidence, &state.parsed_event_data) else { return NextNode::End };
    route_after_parsing(parsed, confidence, request_state::is_confirmed(state), request_state::has_problem(state))
}

/// Routes a parsed request. Low confidence needs a clarification, unless the confidence reaches the minimum and the
/// user confirmed the parse. Open problems always need one.
pub(crate) fn route_after_parsing(
    parsed: &NlParserData,
    confidence: f64,
    is_confirmed: bool,
    has_problem: bool,
) -> NextNode {
    let is_confirmed = confidence >= MIN_CONFIDENCE && is_confirmed;
    if confidence < CONFIDENCE_THRESHOLD && !is_confirmed || has_problem {
        return NextNode::RequestClarification;
    }
    match parsed.event_type {
        EventType::Query => NextNode::Query,
        EventType::Cancel => NextNode::ConfirmEvent,
        EventType::Create | EventType::Modify => NextNode::Scheduling,
    }
}
