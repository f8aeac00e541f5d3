//! What is said about calls of models and tools.
//!
//! What all events of one call have in common is made once and shared.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::error::Error;
use superstep_core::id::{RunId, TaskId};
use superstep_core::message::MessageId;
use superstep_core::model::{Answer, ModelInfo, Piece, Request};
use superstep_core::redact::Counts;

/// One call of a model by a node.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModelCall {
    /// Names the call among all runs, nodes, models and tools.
    pub id: RunId,
    /// The node.
    pub node: Arc<str>,
    /// The task.
    pub task: TaskId,
    /// The superstep.
    pub step: i64,
    /// Who answers.
    pub model: ModelInfo,
    /// The id of the message that the answer becomes.
    pub message: MessageId,
    /// Labels of the call.
    pub tags: Vec<String>,
}

/// What is said about a call of a model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ModelEvent {
    /// It begins.
    Started {
        /// What is asked.
        request: Arc<Request>,
    },
    /// A piece of the answer; a preview, nothing of it is saved yet.
    Piece {
        /// The piece.
        piece: Piece,
        /// Which one of the call, from 0.
        index: u64,
    },
    /// It ended.
    Ended {
        /// The answer.
        answer: Arc<Answer>,
    },
    /// It failed.
    Failed {
        /// Why.
        error: Error,
    },
}

/// One call of a tool by a node.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolRun {
    /// Names the call among all runs, nodes, models and tools.
    pub id: RunId,
    /// The node.
    pub node: Arc<str>,
    /// The task.
    pub task: TaskId,
    /// The superstep.
    pub step: i64,
    /// The tool.
    pub tool: String,
    /// The call that the model asked for.
    pub call: String,
}

/// What is said about a call of a tool. A tool that waits for a person says nothing more until it was answered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ToolEvent {
    /// It begins.
    Started {
        /// Its arguments, as the model gave them.
        input: Value,
    },
    /// How far it is; a preview, nothing of it is saved.
    Progress {
        /// In the tool's own words.
        value: Value,
    },
    /// It ended.
    Ended {
        /// What the model is told.
        output: Value,
        /// How long it took.
        took: Duration,
        /// How much was taken out of it.
        redacted: Counts,
    },
    /// It failed.
    Failed {
        /// What the model is told.
        error: String,
        /// The attempt, from 1.
        attempt: u32,
        /// Whether there is another.
        will_retry: bool,
    },
}
