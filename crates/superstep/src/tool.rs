//! Tools: what a model may ask to be run, and the node that runs it.
//!
//! A tool is a function with [`macro@crate::tool`], a closure ([`tool_fn`]), a type that implements
//! [`crate::core::port::Tool`], or a compiled graph ([`crate::Compiled::as_tool`]). [`ToolNode`] runs what the last
//! message of the model asks for. A model gives arguments and nothing else: what a tool takes from its run
//! ([`FromCall`]) is never in its schema and cannot be given from outside.

mod approve;
mod argument;
mod call;
mod cut;
mod errors;
mod function;
mod graph;
mod inject;
mod list;
mod marks;
mod node;
mod outcome;
mod parallel;
mod policy;
mod redacting;
mod tell;
mod turn;

pub use argument::{Arguments, check_arguments};
pub use cut::shortened;
pub use errors::{Errors, FailureKind, ToolFailure};
#[doc(hidden)]
pub use function::run_blocking_tool;
pub use function::{AsCommand, AsData, AsOutput, Fallible, IntoToolOutput, tool_fn};
pub use inject::{CallId, FromCall, ToolCx};
pub use list::{ToolSource, Tools};
pub use node::ToolNode;
pub(crate) use outcome::Settled;
pub use policy::{Approval, Policy};
pub use superstep_core::port::{Invocation, Progress, SharedTool, Tool};
pub use superstep_core::tool::{Annotations, ToolError, ToolOutput, ToolSpec};
pub use turn::{ensure_answered, wants_tools};
