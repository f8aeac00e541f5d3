//! Data that agents exchange, as stored in the state of a thread.
//!
//! Every type serializes to JSON, rejects unknown fields, and names the invalid field in errors.

use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::core::error::Diagnostic;
use superstep::{Error, ErrorCode, Result};

mod agent_output;
mod conflict_detection;
mod message;
mod nl_parser;
mod proposal;
mod query;
mod resolution;
mod resource_manager;
mod scheduling;

pub use agent_output::{AgentOutput, Confidence, ErrorInfo};
pub use conflict_detection::{Conflict, ConflictDetectionData, ConflictType, Severity};
pub use message::{Message, MessageRole};
pub use nl_parser::{EventType, NlParserData};
pub use proposal::{EventStatus, ProposedEvent, ValidationResult, ValidationStep};
pub use query::{QueryData, QueryType};
pub use resolution::{ChangeAction, ProposedResolution, ResolutionChange, ResolutionData, Strategy};
pub use resource_manager::{ResourceAvailability, ResourceManagerData};
pub use scheduling::{SchedulingData, Score, TimeSlot};

/// Deserializes a model from JSON.
///
/// ```
/// use superstep_scheduler::models::{NlParserData, from_json};
///
/// let error = from_json::<NlParserData>(serde_json::json!({ "event_type": "delete" })).unwrap_err();
/// let problem = &error.diagnostics()[0];
/// assert_eq!(problem.pointer, "/event_type");
/// assert!(problem.message.contains("`create`, `modify`, `cancel`, `query`"), "{problem:?}");
/// ```
///
/// # Errors
/// `TypeMismatch` with the JSON pointer of the invalid field and the values allowed there.
pub fn from_json<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string().replace(['.', '['], "/").replace(']', "");
        let pointer = if path == "/" || path.is_empty() { String::new() } else { format!("/{path}") };
        let problem = Diagnostic { pointer, message: error.into_inner().to_string(), help: None };
        Error::with_diagnostics(ErrorCode::TypeMismatch, "invalid value", vec![problem])
    })
}
