//! Return types and targets of conditional edges.

use superstep_core::command::{Goto, SendTo};
use superstep_core::graph::Endpoint;
use superstep_core::validation_error::ValidationError;

use crate::graph::builder::NodeHandle;

/// A return type of a conditional edge: a target, several, sends, or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "a conditional edge cannot return `{Self}`",
    note = "return `Goto::node(node)`, `Goto::end()`, a node handle, a node's name, a `SendTo` or several of these"
)]
pub trait IntoGoto {
    /// Converts to a goto.
    ///
    /// # Errors
    /// Returns an error if the function of the conditional edge failed.
    fn into_goto(self) -> Result<Goto, ValidationError>;
}

macro_rules! impl_into_goto {
    ($($kind:ty),*) => {$(
        impl IntoGoto for $kind {
            fn into_goto(self) -> Result<Goto, ValidationError> { Ok(self.into()) }
        }
    )*};
}
impl_into_goto!(Goto, NodeHandle, &str, String, Endpoint, SendTo, Vec<SendTo>, Vec<&str>);

impl IntoGoto for Vec<NodeHandle> {
    fn into_goto(self) -> Result<Goto, ValidationError> {
        Ok(Goto::all(self))
    }
}

impl<T: IntoGoto, E: std::fmt::Display> IntoGoto for Result<T, E> {
    fn into_goto(self) -> Result<Goto, ValidationError> {
        self.map_err(|error| {
            ValidationError::new(error.to_string()).with_code(superstep_core::error::ErrorCode::NodeFailed)
        })?
        .into_goto()
    }
}

/// Permitted targets of a conditional edge.
pub struct RouteTargets(pub(crate) Option<Vec<(Endpoint, Option<String>)>>);

impl RouteTargets {
    /// Any node: the target is checked only at run time.
    pub const ANY: Self = Self(None);
}

impl<T: Into<Endpoint>, const N: usize> From<[T; N]> for RouteTargets {
    fn from(targets: [T; N]) -> Self {
        Self((N > 0).then(|| targets.into_iter().map(|target| (target.into(), None)).collect()))
    }
}

impl<T: Into<Endpoint>> From<Vec<T>> for RouteTargets {
    fn from(targets: Vec<T>) -> Self {
        Self((!targets.is_empty()).then(|| targets.into_iter().map(|target| (target.into(), None)).collect()))
    }
}

pub(crate) fn look_up(
    map: &[(String, Endpoint)],
    otherwise: Option<&Endpoint>,
    key: &str,
) -> Result<Goto, ValidationError> {
    let target = map.iter().find(|(candidate, _)| candidate == key).map(|(_, to)| to).or(otherwise);
    match target {
        Some(to) => Ok(Goto::node(to.clone())),
        None => {
            let keys: Vec<String> = map.iter().map(|(key, _)| format!("`{key}`")).collect();
            Err(ValidationError::new(format!("the conditional edge returned `{key}`; known: {}", keys.join(", ")))
                .with_help("add the key, or a default target"))
        }
    }
}
