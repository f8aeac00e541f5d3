//! What a node may return: nothing, an update, a command, sends, or a `Result` of these.

use std::error::Error as StdError;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use superstep_core::command::{Go, Output, Outward, Scope, Send};
use superstep_core::error::{Code, Error};
use superstep_core::graph::Endpoint;
use superstep_core::json_reducer::overwrite_marker;
use superstep_core::record::Record;
use superstep_core::schema::Schema;
use superstep_core::state::{Draft, IntoDraft, State};
use superstep_core::update::{How, Update};

/// Something a node of a graph over `S` may return.
#[diagnostic::on_unimplemented(
    message = "a node of a graph over `{S}` cannot return `{Self}`",
    note = "return nothing, `{S}::update()…`, a `Command<{S}>`, a `Send` or several, or a `Result` of these"
)]
pub trait IntoOutput<S> {
    /// The output of the task.
    ///
    /// # Errors
    /// When the node returned an error.
    fn into_output(self) -> Result<Output, NodeError>;
}

/// Why a node failed: any error, with a word on whether trying again may help.
///
/// `?` turns every error into one. It is not an error type itself, so that `?` can.
pub struct NodeError {
    pub(crate) error: Error,
    pub(crate) retry_after: Option<Duration>,
    /// Whether the node itself said something about retrying.
    pub(crate) retryable: Option<bool>,
    /// Not a failure at all: a graph inside the node stopped.
    pub(crate) stopped: Option<Stopped>,
}

/// Why a graph inside a node stopped without an error.
#[derive(Debug, Clone)]
pub(crate) enum Stopped {
    Paused(Vec<Arc<str>>),
    Drained,
}

impl NodeError {
    /// A failure in words.
    pub fn new(message: impl Into<String>) -> Self {
        Error::new(Code::NodeFailed, message).into()
    }

    /// Not a failure: a graph inside the node stopped.
    pub(crate) fn stopped(stopped: Stopped) -> Self {
        Self { stopped: Some(stopped), ..Self::new("a graph inside stopped") }
    }

    /// Says that trying again may help.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = Some(true);
        self
    }

    /// Says that trying again is useless.
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.retryable = Some(false);
        self
    }

    /// Says when trying again may help, such as a provider's `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        (self.retry_after, self.retryable) = (Some(wait), Some(true));
        self
    }

    /// The error.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// The cause, where the node failed with an error of its own.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }

    /// The error as the run's.
    #[must_use]
    pub fn into_error(self) -> Error {
        match self.retryable {
            Some(retryable) => self.error.retryable(retryable),
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
            Ok(error) => Self { retry_after: error.wait(), error: *error, retryable: None, stopped: None },
            Err(other) => {
                let source: Arc<dyn StdError + std::marker::Send + Sync> = Arc::from(other);
                let error = Error::new(Code::NodeFailed, source.to_string()).caused_by(source);
                Self { error, retry_after: None, retryable: None, stopped: None }
            }
        }
    }
}

/// Update and routing in one return.
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(State, Clone, Serialize, Deserialize)] struct Draft { text: String }
/// async fn review(draft: View<Draft>) -> Command<Draft> {
///     if draft.text.len() > 10 { Command::goto("send") } else { Command::goto("write").update(Draft::update().text("longer, please")) }
/// }
/// ```
#[must_use = "a command does nothing unless the node returns it"]
pub struct Command<S> {
    updates: Vec<Draft>,
    goto: Option<Go>,
    scope: Scope,
    state: PhantomData<fn() -> S>,
}

impl<S: State> Command<S> {
    /// A command that does nothing yet.
    pub fn new() -> Self {
        Self { updates: Vec::new(), goto: None, scope: Scope::Here, state: PhantomData }
    }

    /// Goes on at a node instead of along the edges.
    pub fn goto(node: impl Into<Endpoint>) -> Self {
        Self::new().and_goto(node)
    }

    /// Goes on at this node too.
    pub fn and_goto(mut self, node: impl Into<Endpoint>) -> Self {
        self.goto = Some(self.goto.take().unwrap_or_default().and(node));
        self
    }

    /// Ends this branch.
    pub fn end() -> Self {
        Self::goto(Endpoint::End)
    }

    /// Starts a task with its own input, instead of following the edges.
    pub fn send(mut self, send: Send) -> Self {
        self.goto = Some(self.goto.take().unwrap_or_default().and_send(send));
        self
    }

    /// Adds an update; several are folded in order.
    pub fn update(mut self, update: impl IntoDraft) -> Self {
        self.updates.push(update.into_draft());
        self
    }

    /// Speaks to the graph around this one: `S` is the state of that graph.
    pub fn in_parent(mut self) -> Self {
        self.scope = Scope::Parent;
        self
    }

    /// Speaks to the nearest graph around this one with that name.
    pub fn in_graph(mut self, name: impl Into<Arc<str>>) -> Self {
        self.scope = Scope::Named(name.into());
        self
    }

    pub(crate) fn output(self) -> Result<Output, NodeError> {
        let Self { updates, goto, scope, .. } = self;
        if scope == Scope::Here {
            return Ok(Output { updates: updates.into(), goto, ..Output::default() });
        }
        let updates = all_by_name::<S>(updates)?;
        let outward = Outward { scope, updates, goto: goto.unwrap_or_default() };
        Ok(Output { outward: Some(Box::new(outward)), ..Output::default() })
    }

    /// The command with names in place of field numbers: for a graph whose state nobody has compared with `S` yet.
    pub(crate) fn named_output(mut self) -> Result<Output, NodeError> {
        self.updates = all_by_name::<S>(self.updates)?.into_iter().map(Draft::Json).collect();
        self.output()
    }
}

impl<S: State> Default for Command<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// An update of a graph whose schema the receiver will not know by number.
fn by_name<S: State>(draft: Draft) -> Result<Vec<Map<String, Value>>, NodeError> {
    match (draft, S::schema()) {
        (Draft::Json(map), _) => Ok(vec![map]),
        (Draft::Typed(update), Some(schema)) => named(&schema, update),
        (Draft::Typed(_), None) => Ok(Vec::new()),
    }
}

/// An update with names in place of the numbers of a schema: several where it writes a field more than once.
pub(crate) fn named(schema: &Schema, update: Update) -> Result<Vec<Map<String, Value>>, NodeError> {
    let mut maps: Vec<Map<String, Value>> = Vec::new();
    for write in update {
        let value = write.value.to_json()?;
        let value = if write.how == How::Overwrite { overwrite_marker(value) } else { value };
        let name = schema.field(write.field).name.to_string();
        match maps.last_mut() {
            Some(map) if !map.contains_key(&name) => drop(map.insert(name, value)),
            _ => maps.push(Map::from_iter([(name, value)])),
        }
    }
    Ok(maps)
}

/// Updates of a graph whose schema the receiver will not know by number.
fn all_by_name<S: State>(drafts: Vec<Draft>) -> Result<Vec<Map<String, Value>>, NodeError> {
    let maps = drafts.into_iter().map(by_name::<S>).collect::<Result<Vec<_>, _>>()?;
    Ok(maps.into_iter().flatten().collect())
}

impl<S> IntoOutput<S> for () {
    fn into_output(self) -> Result<Output, NodeError> {
        Ok(Output::default())
    }
}

/// The output that is an update and nothing else.
///
/// # Errors
/// Never; it has the form of [`IntoOutput::into_output`].
pub fn update_output(update: impl IntoDraft) -> Result<Output, NodeError> {
    Ok(Output { updates: [update.into_draft()].into_iter().collect(), ..Output::default() })
}

impl IntoOutput<Record> for Value {
    fn into_output(self) -> Result<Output, NodeError> {
        update_output(self)
    }
}

impl IntoOutput<Record> for Draft {
    fn into_output(self) -> Result<Output, NodeError> {
        update_output(self)
    }
}

impl<S: State> IntoOutput<S> for Command<S> {
    fn into_output(self) -> Result<Output, NodeError> {
        self.output()
    }
}

/// A command for the graph around: its state is not the one of the node's own graph.
pub struct ToParent<P>(pub Command<P>);

impl<S: State, P: State> IntoOutput<S> for ToParent<P> {
    fn into_output(self) -> Result<Output, NodeError> {
        let command = if self.0.scope == Scope::Here { self.0.in_parent() } else { self.0 };
        command.output()
    }
}

impl<S> IntoOutput<S> for Send {
    fn into_output(self) -> Result<Output, NodeError> {
        Ok(Output { sends: vec![self], ..Output::default() })
    }
}

impl<S> IntoOutput<S> for Vec<Send> {
    fn into_output(self) -> Result<Output, NodeError> {
        Ok(Output { sends: self, ..Output::default() })
    }
}

impl<S: State> IntoOutput<S> for Vec<Command<S>> {
    fn into_output(self) -> Result<Output, NodeError> {
        let mut all = Output::default();
        for command in self {
            let output = command.output()?;
            all.updates.extend(output.updates);
            all.sends.extend(output.sends);
            if all.outward.is_some() && output.outward.is_some() {
                return Err(NodeError::new("a node gives one command to the graph around it, and gave two").fatal());
            }
            all.outward = all.outward.or(output.outward);
            if let Some(go) = output.goto {
                all.goto.get_or_insert_default().extend(go);
            }
        }
        Ok(all)
    }
}

impl<S, T: IntoOutput<S>> IntoOutput<S> for Option<T> {
    fn into_output(self) -> Result<Output, NodeError> {
        self.map_or_else(|| Ok(Output::default()), T::into_output)
    }
}

impl<S, T: IntoOutput<S>, E: Into<NodeError>> IntoOutput<S> for Result<T, E> {
    fn into_output(self) -> Result<Output, NodeError> {
        self.map_err(Into::into)?.into_output()
    }
}

impl<S> IntoOutput<S> for Output {
    fn into_output(self) -> Result<Output, NodeError> {
        Ok(self)
    }
}
