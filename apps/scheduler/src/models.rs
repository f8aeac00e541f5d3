//! What the agents say to each other, as it is written in a thread's state.
//!
//! Every type reads and writes JSON, refuses what it does not know, and names the field that is wrong.

use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::core::error::Problem;
use superstep::{Code, Error, Result};

mod conflict;
mod event;
mod output;
mod parsed;
mod query;
mod resolution;
mod resources;
mod said;
mod slots;

pub use conflict::{Conflict, ConflictDetectionData, ConflictType, Severity};
pub use event::{EventStatus, ProposedEvent, ValidationResult, ValidationStep};
pub use output::{AgentOutput, Confidence, ErrorInfo};
pub use parsed::{EventType, NlParserData};
pub use query::{QueryData, QueryType};
pub use resolution::{ChangeAction, ProposedResolution, ResolutionChange, ResolutionData, Strategy};
pub use resources::{ResourceAvailability, ResourceManagerData};
pub use said::{Role, Said};
pub use slots::{SchedulingData, Score, TimeSlot};

/// Reads one of these types out of JSON.
///
/// ```
/// use superstep_scheduler::models::{NlParserData, read};
///
/// let wrong = read::<NlParserData>(serde_json::json!({ "event_type": "delete" })).unwrap_err();
/// let problem = &wrong.problems()[0];
/// assert_eq!(problem.pointer, "/event_type");
/// assert!(problem.message.contains("`create`, `modify`, `cancel`, `query`"), "{problem:?}");
/// ```
///
/// # Errors
/// Names the field, and what is allowed there.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string().replace(['.', '['], "/").replace(']', "");
        let pointer = if path == "/" || path.is_empty() { String::new() } else { format!("/{path}") };
        let problem = Problem { pointer, message: error.into_inner().to_string(), help: None };
        Error::listing(Code::TypeMismatch, "this does not fit", vec![problem])
    })
}
