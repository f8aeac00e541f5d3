//! Events of model calls and tool calls.
//!
//! Data that all events of one call share is created once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::error::Error;
use superstep_core::id::{RunId, TaskId};
use superstep_core::message::MessageId;
use superstep_core::model::{ChatRequest, ChatResponse, MessageChunk, ModelInfo};
use superstep_core::redaction::RedactionCounts;

/// A model call of a node.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModelCallInfo {
    /// Id, unique among runs, nodes, model calls and tool calls.
    pub id: RunId,
    /// Name of the node that calls the model.
    pub node: Arc<str>,
    /// Task that calls the model.
    pub task: TaskId,
    /// Number of the superstep.
    pub step: i64,
    /// Model that is called.
    pub model: ModelInfo,
    /// Id of the response message.
    pub message: MessageId,
    /// Tags of the call.
    pub tags: Vec<String>,
}

/// Event of a model call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ModelEvent {
    /// The call starts.
    Started {
        /// Request, after redaction.
        request: Arc<ChatRequest>,
    },
    /// A chunk of the response: a preview, not persisted yet.
    Chunk {
        /// Part of the response.
        chunk: MessageChunk,
        /// Index of the chunk in the call, starting at 0.
        index: u64,
    },
    /// The call has ended.
    Ended {
        /// Complete response.
        response: Arc<ChatResponse>,
    },
    /// The call has failed.
    Failed {
        /// Error of the call.
        error: Error,
    },
}

/// A tool call of a node.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolExecution {
    /// Id, unique among runs, nodes, model calls and tool calls.
    pub id: RunId,
    /// Name of the node that runs the tool.
    pub node: Arc<str>,
    /// Task that runs the tool.
    pub task: TaskId,
    /// Number of the superstep.
    pub step: i64,
    /// Name of the tool.
    pub tool: String,
    /// Id of the tool call in the model's message.
    pub call: String,
}

/// Event of a tool call. A tool that is interrupted publishes nothing until it is resumed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ToolEvent {
    /// The call starts.
    Started {
        /// Arguments, as the model wrote them.
        input: Value,
    },
    /// Progress: a preview, never persisted.
    Progress {
        /// Progress value of the tool.
        value: Value,
    },
    /// The call has ended.
    Ended {
        /// Result for the model.
        output: Value,
        /// Duration of the call.
        duration: Duration,
        /// Number of redactions in the result.
        redacted: RedactionCounts,
    },
    /// The call has failed.
    Failed {
        /// Error message for the model.
        error: String,
        /// Number of the attempt, starting at 1.
        attempt: u32,
        /// True if another attempt follows.
        will_retry: bool,
    },
}
