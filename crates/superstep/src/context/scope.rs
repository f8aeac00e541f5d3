//! A part of a task that is told from its other parts: one call of a tool among several.
//!
//! Its questions, records, inner graphs and its name to the outside are its own, so that two calls of the same tool
//! cannot take each other's. Signs of life go to the whole task.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use superstep_core::id::derive;
use superstep_core::redact::Redaction;

use super::{Cx, TaskCell, TaskCx};

/// Which part of which task.
pub(super) struct Scope {
    path: Arc<str>,
    whole: Cx,
}

impl Cx {
    /// The same task as one part of it sees it, with what is taken out of its events. The name must be the same whenever
    /// the task runs again.
    pub(crate) fn part(&self, name: &str, redaction: Option<Redaction>) -> Self {
        let (shared, task, failure) = (self.0.shared.clone(), self.0.task.clone(), self.0.failure.clone());
        let path = format!("{}{}{name}/", self.0.cell.root, self.0.cell.scope_path()).into();
        let scope = Some(Scope { path, whole: self.clone() });
        let cell = TaskCell { scope, redaction, ..TaskCell::default() };
        let (attempt, first_attempt) = (AtomicU32::new(self.attempt()), self.0.first_attempt);
        Self(Arc::new(TaskCx { shared, task, attempt, first_attempt, cell, failure }))
    }

    /// The task that this is a part of.
    pub(super) fn whole(&self) -> Option<&Self> {
        self.0.cell.scope.as_ref().map(|scope| &scope.whole)
    }
}

impl TaskCell {
    /// Where the numbers of this part are counted; empty for the task itself.
    pub(super) fn scope_path(&self) -> Arc<str> {
        self.scope.as_ref().map_or_else(Arc::default, |scope| scope.path.clone())
    }

    /// The key of a record among all of the task.
    pub(super) fn scoped<'a>(&self, key: &'a str) -> Cow<'a, str> {
        match &self.scope {
            Some(scope) => Cow::Owned(format!("{}{key}", scope.path)),
            None => Cow::Borrowed(key),
        }
    }

    /// The name of this part to the outside, out of that of the task.
    pub(super) fn scoped_id(&self, task: u128) -> u128 {
        match &self.scope {
            Some(scope) => derive(&[&task.to_le_bytes(), scope.path.as_bytes()]),
            None => task,
        }
    }
}
