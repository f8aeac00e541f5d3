//! What comes next: the one place that decides it.
//!
//! Every agent comes back here; none calls another.

use crate::models::{EventType, NlParserData};
use crate::notes;
use crate::state::{Agent, Scheduler, Step};
use crate::workflow::{LEAST_CONFIDENCE, SURE, get_agent_confidence, is_workflow_complete};

/// Where a request goes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    /// The words are read.
    NlParser,
    /// Times are looked for.
    Scheduling,
    /// Things are looked at.
    ResourceManager,
    /// What stands in the way is looked for.
    ConflictDetection,
    /// Ways out are looked for.
    Resolution,
    /// A way out is taken.
    ApplyResolution,
    /// A question is answered.
    Query,
    /// The user is asked what is meant.
    RequestClarification,
    /// The calendar is written.
    ConfirmEvent,
    /// It is over.
    End,
}

impl Next {
    /// All of them.
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

    /// The node; the end has the name that LangGraph gives it.
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

    /// Where the router may go after a node: on, to the node itself when it is tried again, or to the end.
    #[must_use]
    pub const fn goals(self) -> &'static [Self] {
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
            // Somebody else may have been faster.
            Self::ConfirmEvent => &[Self::ConflictDetection, Self::ConfirmEvent, Self::End],
            Self::End => &[],
        }
    }
}

/// What comes next, by the step that was done last and what the agents found.
#[must_use]
pub fn route_next_step(state: &Scheduler) -> Next {
    if is_workflow_complete(state) {
        return Next::End;
    }
    match state.current_step {
        Step::Start | Step::Clarification => Next::NlParser,
        Step::NlParsing => after_parsing(state),
        Step::Scheduling if state.selected_time_slot.is_none() => Next::RequestClarification,
        Step::Scheduling => Next::ResourceManager,
        Step::ResourceCheck => Next::ConflictDetection,
        Step::ConflictDetection => match &state.detected_conflicts {
            Some(data) if data.has_conflicts => Next::Resolution,
            Some(_) => Next::ConfirmEvent,
            None => Next::End,
        },
        Step::Resolution if state.selected_resolution.is_some() => Next::ApplyResolution,
        Step::Resolution | Step::Query | Step::Confirmation | Step::Done => Next::End,
    }
}

/// After the words were read; a parser that said nothing is no pass.
fn after_parsing(state: &Scheduler) -> Next {
    let confidence = get_agent_confidence(state, Agent::NlParser.name());
    let (Some(confidence), Some(parsed)) = (confidence, &state.parsed_event_data) else { return Next::End };
    after_reading(parsed, confidence, notes::is_confirmed(state), notes::has_problem(state))
}

/// A sentence that was not understood is asked about; one that was half understood is too, until it is confirmed.
pub(crate) fn after_reading(parsed: &NlParserData, confidence: f64, is_confirmed: bool, has_problem: bool) -> Next {
    let is_confirmed = confidence >= LEAST_CONFIDENCE && is_confirmed;
    if confidence < SURE && !is_confirmed || has_problem {
        return Next::RequestClarification;
    }
    match parsed.event_type {
        EventType::Query => Next::Query,
        EventType::Cancel => Next::ConfirmEvent,
        EventType::Create | EventType::Modify => Next::Scheduling,
    }
}
