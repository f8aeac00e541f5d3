//! The port for tools that a model may call.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::BoxFuture;
use crate::tool::{ToolError, ToolOutput, ToolSpec};

/// A tool. Implement it with `async fn`; `SharedTool` boxes each call once.
///
/// ```
/// use superstep_core::port::{ToolInvocation, Tool};
/// use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};
///
/// struct Dice;
///
/// impl Tool for Dice {
///     fn spec(&self) -> ToolSpec {
///         ToolSpec::new("dice", "Rolls a die.").read_only()
///     }
///
///     async fn call(&self, _call: ToolInvocation) -> Result<ToolOutput, ToolError> {
///         Ok("4".into())
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// Returns the description of the tool for a model.
    fn spec(&self) -> ToolSpec;

    /// Runs the tool once. The arguments are already validated against its schema.
    fn call(&self, call: ToolInvocation) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// One call of a tool.
pub struct ToolInvocation {
    /// Id that the result must carry.
    pub id: String,
    /// Arguments, as the model gave them.
    pub args: Map<String, Value>,
    /// Channel for progress reports.
    pub progress: ToolProgress,
    /// Context of the engine that runs the tool: tools that know its type can use it. Never comes from a model.
    pub task_context: Option<Arc<dyn Any + Send + Sync>>,
}

impl ToolInvocation {
    /// Creates a call with these arguments, without a task context.
    pub fn new(id: impl Into<String>, args: Map<String, Value>) -> Self {
        Self { id: id.into(), args, progress: ToolProgress::default(), task_context: None }
    }
}

/// The channel for progress reports of a tool. Reports without a listener are dropped.
#[derive(Clone, Default)]
pub struct ToolProgress(Option<Arc<dyn ProgressListener>>);

/// A receiver of progress reports.
pub trait ProgressListener: Send + Sync {
    /// Receives a progress report.
    fn on_progress(&self, value: Value) -> BoxFuture<'_, ()>;
}

impl ToolProgress {
    /// Creates a channel to this listener.
    pub fn new(listener: Arc<dyn ProgressListener>) -> Self {
        Self(Some(listener))
    }

    /// Returns true if a listener is attached.
    #[must_use]
    pub fn has_listener(&self) -> bool {
        self.0.is_some()
    }

    /// Reports progress: any value, such as a text or a fraction.
    pub async fn send(&self, value: impl Into<Value> + Send) {
        if let Some(listener) = &self.0 {
            listener.on_progress(value.into()).await;
        }
    }
}

/// A shared, type-erased tool with its cached description.
#[derive(Clone)]
pub struct SharedTool {
    spec: Arc<ToolSpec>,
    tool: Arc<dyn DynTool>,
}

trait DynTool: Send + Sync {
    fn call(&self, call: ToolInvocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

impl<T: Tool> DynTool for T {
    fn call(&self, call: ToolInvocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(Tool::call(self, call))
    }
}

impl<T: Tool> From<T> for SharedTool {
    fn from(tool: T) -> Self {
        Self { spec: Arc::new(tool.spec()), tool: Arc::new(tool) }
    }
}

impl std::fmt::Debug for SharedTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedTool({})", self.spec.name)
    }
}

impl SharedTool {
    /// Returns the description.
    #[must_use]
    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// Returns the same tool with another description.
    #[must_use]
    pub fn with_spec(mut self, spec: ToolSpec) -> Self {
        self.spec = Arc::new(spec);
        self
    }

    /// Calls [`Tool::call`].
    ///
    /// # Errors
    /// Returns an error if the tool fails.
    pub async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        self.tool.call(call).await
    }
}
