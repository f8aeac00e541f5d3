//! How steps, statuses and agents are called.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step of the work on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Nothing was done yet.
    #[default]
    Start,
    /// The words were read.
    NlParsing,
    /// Times were looked for.
    Scheduling,
    /// Things were looked at.
    #[serde(alias = "resource_manager")]
    ResourceCheck,
    /// What stands in the way was looked for.
    ConflictDetection,
    /// Ways out were looked for.
    Resolution,
    /// A question was answered.
    Query,
    /// The user was asked what is meant.
    Clarification,
    /// The calendar was written.
    Confirmation,
    /// All was done.
    Done,
}

impl Step {
    /// All of them, in the order in which most requests take them.
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

    /// As it is written.
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

/// How a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowStatus {
    /// It is worked on.
    #[default]
    InProgress,
    /// All was done.
    Completed,
    /// It cannot be done.
    Failed,
    /// The user is asked something.
    AwaitingUser,
}

impl WorkflowStatus {
    /// As it is written.
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

/// The agents of this house. Others may write under names of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// Reads the words.
    NlParser,
    /// Finds times.
    Scheduling,
    /// Looks whether things can be had.
    ResourceManager,
    /// Looks what stands in the way.
    ConflictDetection,
    /// Looks for ways out.
    Resolution,
    /// Answers questions.
    Query,
}

impl Agent {
    /// As it is written.
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
