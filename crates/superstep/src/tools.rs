//! Tools: functions that a model may call, and the node that runs them.
//!
//! A tool is a function with [`macro@crate::tool`], a closure ([`tool_fn`]), a type that implements
//! [`crate::core::port::Tool`], or a compiled graph ([`crate::CompiledGraph::as_tool`]). [`ToolNode`] runs the tool
//! calls of the last model message. A model supplies arguments only: values that a tool takes from its run
//! ([`FromToolCall`]) are not part of its schema and cannot be supplied by the model.

mod approval;
mod arguments;
mod at_most_once;
mod call;
mod context;
mod error_handling;
mod events;
mod function;
mod graph_tool;
mod node;
mod parallel;
mod pending_calls;
mod policy;
mod redaction;
mod result;
mod tool_set;
mod truncate;

pub use arguments::{ToolArgs, check_arguments};
pub use context::{FromToolCall, ToolCallId, ToolContext};
pub use error_handling::{ToolErrorHandling, ToolFailure, ToolFailureKind};
#[doc(hidden)]
pub use function::run_blocking_tool;
pub use function::{CommandMarker, DataMarker, IntoToolOutput, OutputMarker, ResultMarker, tool_fn};
pub use node::ToolNode;
pub use pending_calls::{ensure_tool_results, has_pending_tool_calls};
pub use policy::{Approval, ToolPolicy};
pub(crate) use result::ToolCallResult;
pub use superstep_core::port::{SharedTool, Tool, ToolInvocation, ToolProgress};
pub use superstep_core::tool::{ToolAnnotations, ToolError, ToolOutput, ToolSpec};
pub use tool_set::{ToolSet, ToolSource};
pub use truncate::truncate_output;
