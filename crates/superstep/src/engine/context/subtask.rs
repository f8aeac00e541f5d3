//! Subtasks: separate parts of a task, such as one of several tool calls.
//!
//! Each part has its own interrupts, recorded results, nested runs and idempotency key, so that two calls of the same
//! tool do not mix them up. Heartbeats go to the whole task.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use superstep_core::id::hash_id;
use superstep_core::redaction::Redaction;

use super::{TaskContext, TaskContextInner, TaskLocals};

/// Path of a part, with its task.
pub(super) struct Subtask {
    path: Arc<str>,
    parent: TaskContext,
}

impl TaskContext {
    /// Creates the context of a part of this task, with a redaction for its events. The name must be the same on
    /// every execution of the task.
    pub(crate) fn subtask(&self, name: &str, redaction: Option<Redaction>) -> Self {
        let (shared, task, failure) = (self.0.shared.clone(), self.0.task.clone(), self.0.failure.clone());
        let path = format!("{}{}{name}/", self.0.cell.key_prefix, self.0.cell.scope_path()).into();
        let scope = Some(Subtask { path, parent: self.clone() });
        let cell = TaskLocals { scope, redaction, ..TaskLocals::default() };
        let (attempt, first_attempt) = (AtomicU32::new(self.attempt()), self.0.first_attempt);
        Self(Arc::new(TaskContextInner { shared, task, attempt, first_attempt, cell, failure }))
    }

    /// Returns the task to which this part belongs.
    pub(super) fn parent(&self) -> Option<&Self> {
        self.0.cell.scope.as_ref().map(|scope| &scope.parent)
    }
}

impl TaskLocals {
    /// Returns the path under which ordinals of this part are counted; empty for the task itself.
    pub(super) fn scope_path(&self) -> Arc<str> {
        self.scope.as_ref().map_or_else(Arc::default, |scope| scope.path.clone())
    }

    /// Returns the key of a recorded result among all keys of the task.
    pub(super) fn scoped_key<'a>(&self, key: &'a str) -> Cow<'a, str> {
        match &self.scope {
            Some(scope) => Cow::Owned(format!("{}{key}", scope.path)),
            None => Cow::Borrowed(key),
        }
    }

    /// Returns the idempotency key of this part, derived from that of the task.
    pub(super) fn scoped_id(&self, task: u128) -> u128 {
        match &self.scope {
            Some(scope) => hash_id(&[&task.to_le_bytes(), scope.path.as_bytes()]),
            None => task,
        }
    }
}
