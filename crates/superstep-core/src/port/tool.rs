//! What a model may ask to be run: the door to tools.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::BoxFuture;
use crate::tool::{ToolError, ToolOutput, ToolSpec};

/// A tool. Write it with `async fn`; whoever holds it boxes it once.
///
/// ```
/// use superstep_core::port::{Invocation, Tool};
/// use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};
///
/// struct Dice;
///
/// impl Tool for Dice {
///     fn spec(&self) -> ToolSpec {
///         ToolSpec::new("dice", "Rolls a die.").read_only()
///     }
///
///     async fn call(&self, _call: Invocation) -> Result<ToolOutput, ToolError> {
///         Ok("4".into())
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// What a model is told of it.
    fn spec(&self) -> ToolSpec;

    /// Runs it once. The arguments fit its schema.
    fn call(&self, call: Invocation) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// One call of a tool.
pub struct Invocation {
    /// What the answer must name.
    pub id: String,
    /// The arguments, as the model gave them.
    pub args: Map<String, Value>,
    /// Where it says how far it is.
    pub progress: Progress,
    /// Whoever runs it: tools of the same maker know how to ask it for more. Never comes from a model.
    pub host: Option<Arc<dyn Any + Send + Sync>>,
}

impl Invocation {
    /// A call with these arguments, by nobody in particular.
    pub fn new(id: impl Into<String>, args: Map<String, Value>) -> Self {
        Self { id: id.into(), args, progress: Progress::default(), host: None }
    }
}

/// Where a tool says how far it is. Says it to nobody where nobody watches.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Watcher>>);

/// Somebody who watches a tool.
pub trait Watcher: Send + Sync {
    /// Hears how far it is.
    fn progress(&self, value: Value) -> BoxFuture<'_, ()>;
}

impl Progress {
    /// This one watches.
    pub fn to(watcher: Arc<dyn Watcher>) -> Self {
        Self(Some(watcher))
    }

    /// Whether anybody watches.
    #[must_use]
    pub fn wants(&self) -> bool {
        self.0.is_some()
    }

    /// Says how far it is: any value, such as a text or a share.
    pub async fn send(&self, value: impl Into<Value> + Send) {
        if let Some(watcher) = &self.0 {
            watcher.progress(value.into()).await;
        }
    }
}

/// A tool behind one pointer, with what is told of it at hand.
#[derive(Clone)]
pub struct SharedTool {
    spec: Arc<ToolSpec>,
    tool: Arc<dyn Erased>,
}

trait Erased: Send + Sync {
    fn call(&self, call: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

impl<T: Tool> Erased for T {
    fn call(&self, call: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
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
    /// What is told of it.
    #[must_use]
    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// The same tool, with something else told of it.
    #[must_use]
    pub fn with_spec(mut self, spec: ToolSpec) -> Self {
        self.spec = Arc::new(spec);
        self
    }

    /// See [`Tool::call`].
    ///
    /// # Errors
    /// When the tool fails.
    pub async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        self.tool.call(call).await
    }
}
