//! Return types of nodes: nothing, an update, a command, sends, or a `Result` of these.

use std::error::Error as StdError;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use superstep_core::command::{CommandScope, Goto, ParentCommand, SendTo, TaskOutput};
use superstep_core::dynamic_state::DynamicState;
use superstep_core::error::{Error, ErrorCode};
use superstep_core::graph::Endpoint;
use superstep_core::json_reducer::overwrite_marker;
use superstep_core::schema::Schema;
use superstep_core::state::{GraphState, IntoUpdate, UncheckedUpdate};
use superstep_core::update::{Update, WriteMode};

/// A type that a node of a graph over `S` may return.
#[diagnostic::on_unimplemented(
    message = "a node of a graph over `{S}` cannot return `{Self}`",
    note = "return nothing, `{S}::update()…`, a `Command<{S}>`, a `SendTo` or several, or a `Result` of these"
)]
pub trait IntoOutput<S> {
    /// Converts to the output of the task.
    ///
    /// # Errors
    /// Returns an error if the node returned an error.
    fn into_output(self) -> Result<TaskOutput, NodeError>;
}

/// Error of a node: any error, with an optional statement whether a retry may succeed.
///
/// `?` converts every error into a `NodeError`. The type does not implement `Error` itself, because that would
/// prevent this conversion.
pub struct NodeError {
    pub(crate) error: Error,
    pub(crate) retry_after: Option<Duration>,
    /// Statement of the node whether a retry may succeed.
    pub(crate) retryable: Option<bool>,
    /// Set if the node did not fail, but a subgraph in it stopped.
    pub(crate) stopped: Option<SubgraphStop>,
}

/// Reason why a subgraph in a node stopped without an error.
#[derive(Debug, Clone)]
pub(crate) enum SubgraphStop {
    Paused(Vec<Arc<str>>),
    Drained,
}

impl NodeError {
    /// Creates an error from a message.
    pub fn new(message: impl Into<String>) -> Self {
        Error::new(ErrorCode::NodeFailed, message).into()
    }

    /// Creates the value that reports a stopped subgraph, which is not a failure.
    pub(crate) fn stopped(stopped: SubgraphStop) -> Self {
        Self { stopped: Some(stopped), ..Self::new("the subgraph was interrupted") }
    }

    /// Marks the error as retryable.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = Some(true);
        self
    }

    /// Marks the error as not retryable.
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.retryable = Some(false);
        self
    }

    /// Marks the error as retryable after a delay, such as a provider's `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        (self.retry_after, self.retryable) = (Some(delay), Some(true));
        self
    }

    /// Returns the error.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Returns the underlying error of the node, if there is one.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }

    /// Converts to an error of the run.
    #[must_use]
    pub fn into_error(self) -> Error {
        match self.retryable {
            Some(retryable) => self.error.with_retryable(retryable),
            None => self.error,
        }
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl<E: StdError + std::marker::Send + Sync + 'static> From<E> for NodeError {
    fn from(error: E) -> Self {
        let boxed: Box<dyn StdError + std::marker::Send + Sync> = Box::new(error);
        match boxed.downcast::<Error>() {
            Ok(error) => Self { retry_after: error.retry_after(), error: *error, retryable: None, stopped: None },
            Err(other) => {
                let source: Arc<dyn StdError + std::marker::Send + Sync> = Arc::from(other);
                let error = Error::new(ErrorCode::NodeFailed, source.to_string()).with_source(source);
                Self { error, retry_after: None, retryable: None, stopped: None }
            }
        }
    }
}

/// Update and goto in one return value.
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Draft { text: String }
/// async fn review(draft: View<Draft>) -> Command<Draft> {
///     if draft.text.len() > 10 { Command::goto("send") } else { Command::goto("write").update(Draft::update().text("longer, please")) }
/// }
/// ```
#[must_use = "a command has no effect until the node returns it"]
pub struct Command<S> {
    updates: Vec<UncheckedUpdate>,
    goto: Option<Goto>,
    scope: CommandScope,
    state: PhantomData<fn() -> S>,
}

impl<S: GraphState> Command<S> {
    /// Creates a command without effect.
    pub fn new() -> Self {
        Self { updates: Vec::new(), goto: None, scope: CommandScope::Current, state: PhantomData }
    }

    /// Creates a command that continues at a node instead of following the edges.
    pub fn goto(node: impl Into<Endpoint>) -> Self {
        Self::new().and_goto(node)
    }

    /// Adds a goto target.
    pub fn and_goto(mut self, node: impl Into<Endpoint>) -> Self {
        self.goto = Some(self.goto.take().unwrap_or_default().and_node(node));
        self
    }

    /// Creates a command that ends this branch.
    pub fn end() -> Self {
        Self::goto(Endpoint::End)
    }

    /// Adds a task with its own payload, instead of following the edges.
    pub fn send(mut self, send: SendTo) -> Self {
        self.goto = Some(self.goto.take().unwrap_or_default().and_send(send));
        self
    }

    /// Adds an update; several updates are applied in order.
    pub fn update(mut self, update: impl IntoUpdate) -> Self {
        self.updates.push(update.into_update());
        self
    }

    /// Addresses the command to the parent graph: `S` is the state of that graph.
    pub fn to_parent(mut self) -> Self {
        self.scope = CommandScope::Parent;
        self
    }

    /// Addresses the command to the nearest ancestor graph with this name.
    pub fn to_graph(mut self, name: impl Into<Arc<str>>) -> Self {
        self.scope = CommandScope::Named(name.into());
        self
    }

    pub(crate) fn output(self) -> Result<TaskOutput, NodeError> {
        let Self { updates, goto, scope, .. } = self;
        if scope == CommandScope::Current {
            return Ok(TaskOutput { updates: updates.into(), goto, ..TaskOutput::default() });
        }
        let updates = all_by_name::<S>(updates)?;
        let parent_command = ParentCommand { scope, updates, goto: goto.unwrap_or_default() };
        Ok(TaskOutput { parent_command: Some(Box::new(parent_command)), ..TaskOutput::default() })
    }

    /// Converts to an output with field names instead of field ids: for a graph whose state may differ from `S`.
    pub(crate) fn output_by_field_name(mut self) -> Result<TaskOutput, NodeError> {
        self.updates = all_by_name::<S>(self.updates)?.into_iter().map(UncheckedUpdate::Json).collect();
        self.output()
    }
}

impl<S: GraphState> Default for Command<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// Converts an update to field names, for a receiver with another schema.
fn by_name<S: GraphState>(update: UncheckedUpdate) -> Result<Vec<Map<String, Value>>, NodeError> {
    match (update, S::schema()) {
        (UncheckedUpdate::Json(map), _) => Ok(vec![map]),
        (UncheckedUpdate::Typed(update), Some(schema)) => update_by_field_name(&schema, update),
        (UncheckedUpdate::Typed(_), None) => Ok(Vec::new()),
    }
}

/// Converts an update to maps by field name: several maps if a field is written more than once.
pub(crate) fn update_by_field_name(schema: &Schema, update: Update) -> Result<Vec<Map<String, Value>>, NodeError> {
    let mut maps: Vec<Map<String, Value>> = Vec::new();
    for write in update {
        let value = write.value.to_json()?;
        let value = if write.mode == WriteMode::Overwrite { overwrite_marker(value) } else { value };
        let name = schema.field(write.field).name.to_string();
        match maps.last_mut() {
            Some(map) if !map.contains_key(&name) => drop(map.insert(name, value)),
            _ => maps.push(Map::from_iter([(name, value)])),
        }
    }
    Ok(maps)
}

/// Converts updates to field names, for a receiver with another schema.
fn all_by_name<S: GraphState>(updates: Vec<UncheckedUpdate>) -> Result<Vec<Map<String, Value>>, NodeError> {
    let maps = updates.into_iter().map(by_name::<S>).collect::<Result<Vec<_>, _>>()?;
    Ok(maps.into_iter().flatten().collect())
}

impl<S> IntoOutput<S> for () {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        Ok(TaskOutput::default())
    }
}

/// Creates an output from an update.
///
/// # Errors
/// Never returns an error; the signature is that of [`IntoOutput::into_output`].
pub fn update_output(update: impl IntoUpdate) -> Result<TaskOutput, NodeError> {
    Ok(TaskOutput { updates: [update.into_update()].into_iter().collect(), ..TaskOutput::default() })
}

impl IntoOutput<DynamicState> for Value {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        update_output(self)
    }
}

impl IntoOutput<DynamicState> for UncheckedUpdate {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        update_output(self)
    }
}

impl<S: GraphState> IntoOutput<S> for Command<S> {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        self.output()
    }
}

/// A command for the parent graph, whose state differs from that of the node's own graph.
pub struct ToParent<P>(pub Command<P>);

impl<S: GraphState, P: GraphState> IntoOutput<S> for ToParent<P> {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        let command = if self.0.scope == CommandScope::Current { self.0.to_parent() } else { self.0 };
        command.output()
    }
}

impl<S> IntoOutput<S> for SendTo {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        Ok(TaskOutput { sends: vec![self], ..TaskOutput::default() })
    }
}

impl<S> IntoOutput<S> for Vec<SendTo> {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        Ok(TaskOutput { sends: self, ..TaskOutput::default() })
    }
}

impl<S: GraphState> IntoOutput<S> for Vec<Command<S>> {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        let mut all = TaskOutput::default();
        for command in self {
            let output = command.output()?;
            all.updates.extend(output.updates);
            all.sends.extend(output.sends);
            if all.parent_command.is_some() && output.parent_command.is_some() {
                return Err(NodeError::new("the node returned two parent commands; at most one is permitted").fatal());
            }
            all.parent_command = all.parent_command.or(output.parent_command);
            if let Some(goto) = output.goto {
                all.goto.get_or_insert_default().extend(goto);
            }
        }
        Ok(all)
    }
}

impl<S, T: IntoOutput<S>> IntoOutput<S> for Option<T> {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        self.map_or_else(|| Ok(TaskOutput::default()), T::into_output)
    }
}

impl<S, T: IntoOutput<S>, E: Into<NodeError>> IntoOutput<S> for Result<T, E> {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        self.map_err(Into::into)?.into_output()
    }
}

impl<S> IntoOutput<S> for TaskOutput {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        Ok(self)
    }
}
