//! Enums of the state: workflow steps, statuses and agent names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step in the processing of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowStep {
    /// Nothing has been done yet.
    #[default]
    Start,
    /// The request was parsed.
    NlParsing,
    /// Candidate times were searched.
    Scheduling,
    /// Resources were checked.
    #[serde(alias = "resource_manager")]
    ResourceCheck,
    /// Conflicts were detected.
    ConflictDetection,
    /// Resolutions were searched.
    Resolution,
    /// A query was answered.
    Query,
    /// A clarification was requested.
    Clarification,
    /// The calendar was written.
    Confirmation,
    /// The request is completed.
    Done,
}

impl WorkflowStep {
    /// All steps, in the order of a typical request.
    pub const ALL: [Self; 10] = [
        Self::Start,
        Self::NlParsing,
        Self::Scheduling,
        Self::ResourceCheck,
        Self::ConflictDetection,
        Self::Resolution,
        Self::Query,
        Self::Clarification,
        Self::Confirmation,
        Self::Done,
    ];

    /// Returns the serialized name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::NlParsing => "nl_parsing",
            Self::Scheduling => "scheduling",
            Self::ResourceCheck => "resource_check",
            Self::ConflictDetection => "conflict_detection",
            Self::Resolution => "resolution",
            Self::Query => "query",
            Self::Clarification => "clarification",
            Self::Confirmation => "confirmation",
            Self::Done => "done",
        }
    }
}

/// Status of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowStatus {
    /// The request is being processed.
    #[default]
    InProgress,
    /// The request is completed.
    Completed,
    /// The request failed.
    Failed,
    /// A question to the user is pending.
    AwaitingUser,
}

impl WorkflowStatus {
    /// Returns the serialized name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::AwaitingUser => "awaiting_user",
        }
    }
}

/// An agent of this application. Custom agents can write outputs under other names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentName {
    /// Parses requests.
    NlParser,
    /// Finds time slots.
    Scheduling,
    /// Checks the availability of resources.
    ResourceManager,
    /// Detects conflicts.
    ConflictDetection,
    /// Proposes resolutions of conflicts.
    Resolution,
    /// Answers queries.
    Query,
}

impl AgentName {
    /// Returns the serialized name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NlParser => "nl_parser",
            Self::Scheduling => "scheduling",
            Self::ResourceManager => "resource_manager",
            Self::ConflictDetection => "conflict_detection",
            Self::Resolution => "resolution",
            Self::Query => "query",
        }
    }
}
