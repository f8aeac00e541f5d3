//! What a route may return and where it may lead.

use superstep_core::command::{Go, Send};
use superstep_core::fault::Fault;
use superstep_core::graph::Endpoint;

use super::NodeHandle;

/// Something a route may return: a place, several, sends, or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "a route cannot return `{Self}`",
    note = "return `Go::to(node)`, `Go::end()`, a node handle, a node's name, a `Send` or several of these"
)]
pub trait IntoGo {
    /// Where to go on.
    ///
    /// # Errors
    /// When the route failed.
    fn into_go(self) -> Result<Go, Fault>;
}

macro_rules! goes {
    ($($kind:ty),*) => {$(
        impl IntoGo for $kind {
            fn into_go(self) -> Result<Go, Fault> { Ok(self.into()) }
        }
    )*};
}
goes!(Go, NodeHandle, &str, String, Endpoint, Send, Vec<Send>, Vec<&str>);

impl IntoGo for Vec<NodeHandle> {
    fn into_go(self) -> Result<Go, Fault> {
        Ok(Go::all(self))
    }
}

impl<T: IntoGo, E: std::fmt::Display> IntoGo for Result<T, E> {
    fn into_go(self) -> Result<Go, Fault> {
        self.map_err(|error| Fault::new(error.to_string()).of(superstep_core::error::Code::NodeFailed))?.into_go()
    }
}

/// The places a route may lead to.
pub struct Routes(pub(super) Option<Vec<(Endpoint, Option<String>)>>);

impl Routes {
    /// Any node: nothing is checked before the route is taken.
    pub const ANYWHERE: Self = Self(None);
}

impl<T: Into<Endpoint>, const N: usize> From<[T; N]> for Routes {
    fn from(targets: [T; N]) -> Self {
        Self((N > 0).then(|| targets.into_iter().map(|target| (target.into(), None)).collect()))
    }
}

impl<T: Into<Endpoint>> From<Vec<T>> for Routes {
    fn from(targets: Vec<T>) -> Self {
        Self((!targets.is_empty()).then(|| targets.into_iter().map(|target| (target.into(), None)).collect()))
    }
}

pub(super) fn look_up(map: &[(String, Endpoint)], otherwise: Option<&Endpoint>, key: &str) -> Result<Go, Fault> {
    let found = map.iter().find(|(known, _)| known == key).map(|(_, to)| to).or(otherwise);
    match found {
        Some(to) => Ok(Go::to(to.clone())),
        None => {
            let known: Vec<String> = map.iter().map(|(key, _)| format!("`{key}`")).collect();
            Err(Fault::new(format!("it returned `{key}`, known are {}", known.join(", ")))
                .help("add the key, or a default"))
        }
    }
}
