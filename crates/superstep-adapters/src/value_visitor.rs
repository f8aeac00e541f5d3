//! Visits the values of a checkpoint and of its pending entries: the list of values that all wrapping checkpointers
//! share, whatever they do with a value.
//!
//! Anything not listed here passes unchanged.

use std::sync::Arc;

use serde_json::Value;
use superstep_core::change::Change;
use superstep_core::checkpoint::{
    Checkpoint, PendingEntry, StoredError, StoredOutput, StoredParentCommand, StoredTask, TaskEntry,
};
use superstep_core::error::{Error, Result};
use superstep_core::port::StoredEvent;
use superstep_core::value::AnyValue;

/// Segments of a location, outermost first.
type PathSegments<'a> = Vec<(&'a str, &'a str)>;

/// Location of a value in a checkpoint: kinds with names, outermost first.
#[cfg_attr(not(feature = "encrypted"), expect(dead_code, reason = "only encrypted values are bound to their location"))]
pub(crate) struct ValueSlot<'a> {
    pub(crate) names: &'a [(&'a str, &'a str)],
    /// True if the value belongs to one checkpoint. Values of fields do not: later checkpoints contain them as well.
    pub(crate) is_checkpoint_scoped: bool,
    /// Change of a field to which the value belongs.
    pub(crate) change: Option<&'a Change>,
}

impl<'a> ValueSlot<'a> {
    /// Creates a slot that belongs to one checkpoint.
    fn of_checkpoint(names: &'a [(&'a str, &'a str)]) -> Self {
        Self { names, is_checkpoint_scoped: true, change: None }
    }

    /// Creates a slot of a field, which is independent of the checkpoint.
    fn of_field(names: &'a [(&'a str, &'a str)], change: Option<&'a Change>) -> Self {
        Self { names, is_checkpoint_scoped: false, change }
    }
}

/// A conversion of single values, and the traversal that applies it to all of them.
pub(crate) trait ValueVisitor {
    /// Returns true on the way to the store, false on the way from it.
    fn is_writing(&self) -> bool;

    /// Converts a value that may be typed.
    fn any_value(&self, any_value: &mut AnyValue, slot: &ValueSlot<'_>) -> Result<()>;

    /// Converts a JSON value.
    fn value(&self, value: &mut Value, slot: &ValueSlot<'_>) -> Result<()>;

    /// Converts a text.
    fn text(&self, text: &mut String, slot: &ValueSlot<'_>) -> Result<()>;

    /// Converts a change, which contains values only if it lists the keys of a map.
    fn change(&self, change: &mut Change, slot: &ValueSlot<'_>) -> Result<()>;

    /// Converts one change of a field with its value.
    fn field(&self, field: &str, change: &mut Change, part: &mut AnyValue) -> Result<()> {
        let names = [("field", field)];
        let keys = [("field", field), ("keys", "changed")];
        // The value is bound to the original change, so the change is converted last on the way to the store.
        if self.is_writing() {
            self.any_value(part, &ValueSlot::of_field(&names, Some(change)))?;
            return self.change(change, &ValueSlot::of_field(&keys, None));
        }
        self.change(change, &ValueSlot::of_field(&keys, None))?;
        self.any_value(part, &ValueSlot::of_field(&names, Some(change)))
    }

    /// Converts the values of a checkpoint. A checkpoint without values is not copied.
    fn record(&self, checkpoint: &mut Arc<Checkpoint>) -> Result<()> {
        let merges = |(_, change): &(Arc<str>, Change)| matches!(change, Change::Merged { .. });
        let has_keys = checkpoint.changes_since_input.as_ref().is_some_and(|changes| changes.iter().any(merges));
        if !has_keys && checkpoint.next_tasks.iter().all(|task| task.send.is_none()) {
            return Ok(());
        }
        let checkpoint = Arc::make_mut(checkpoint);
        self.visit_tasks(&mut checkpoint.next_tasks, &vec![("part", "due")])?;
        for (field, change) in checkpoint.changes_since_input.iter_mut().flatten() {
            self.change(change, &ValueSlot::of_checkpoint(&[("part", "since input"), ("field", field)]))?;
        }
        Ok(())
    }

    /// Converts an event, which belongs to no checkpoint.
    fn event(&self, event: &mut StoredEvent) -> Result<()> {
        let number = event.number.to_string();
        self.any_value(&mut event.payload, &ValueSlot::of_field(&[("event", &number)], None))
    }

    /// Converts the values of a pending entry.
    fn pending(&self, pending: &mut PendingEntry) -> Result<()> {
        let (task, slot) = (pending.task.to_string(), pending.entry.slot());
        let names = vec![("node", &*pending.node), ("task", &*task), ("entry", &*slot)];
        let entry_slot = ValueSlot::of_checkpoint(&names);
        match &mut pending.entry {
            TaskEntry::Done(output) => self.output(output, &names),
            TaskEntry::Failed(error) | TaskEntry::Rejected(error) => self.error(error, &names),
            TaskEntry::Interrupt(interrupt) => {
                self.value(&mut interrupt.value, &entry_slot)?;
                if let Some(schema) = &mut interrupt.resume_schema {
                    self.value(schema, &ValueSlot::of_checkpoint(&with_segment(&names, "part", "schema")))?;
                }
                match &mut interrupt.prompt {
                    Some(text) => self.text(text, &ValueSlot::of_checkpoint(&with_segment(&names, "part", "text"))),
                    None => Ok(()),
                }
            }
            TaskEntry::Resume(resume) => self.value(&mut resume.value, &entry_slot),
            TaskEntry::Recorded { value, .. } => self.any_value(value, &entry_slot),
            TaskEntry::Skipped => Ok(()),
            // An unknown kind of entry may contain values; passing it on could store them in plaintext.
            other => {
                Err(Error::internal(format!("a wrapping checkpointer does not support the entry `{}`", other.slot())))
            }
        }
    }

    fn output(&self, output: &mut StoredOutput, names: &PathSegments<'_>) -> Result<()> {
        for (index, write) in output.writes.iter_mut().enumerate() {
            let index = index.to_string();
            let mut names = with_segment(names, "write", &index);
            names.push(("field", &*write.field));
            self.any_value(&mut write.value, &ValueSlot::of_checkpoint(&names))?;
        }
        self.visit_tasks(&mut output.targets, names)?;
        output.parent_command.as_mut().map_or(Ok(()), |command| self.visit_parent_command(command, names))
    }

    fn visit_tasks(&self, tasks: &mut [StoredTask], names: &PathSegments<'_>) -> Result<()> {
        for (index, task) in tasks.iter_mut().enumerate() {
            let Some(send) = &mut task.send else { continue };
            let index = index.to_string();
            let mut names = with_segment(names, "send", &index);
            names.push(("to", &*task.node));
            self.any_value(&mut send.payload, &ValueSlot::of_checkpoint(&names))?;
        }
        Ok(())
    }

    fn visit_parent_command(&self, command: &mut StoredParentCommand, names: &PathSegments<'_>) -> Result<()> {
        for (index, update) in command.updates.iter_mut().enumerate() {
            let index = index.to_string();
            for (field, value) in update.iter_mut() {
                let mut names = with_segment(names, "update outside", &index);
                names.push(("field", field));
                self.value(value, &ValueSlot::of_checkpoint(&names))?;
            }
        }
        for (index, (node, send)) in command.sends.iter_mut().enumerate() {
            let index = index.to_string();
            let mut names = with_segment(names, "send outside", &index);
            names.push(("to", node));
            self.any_value(&mut send.payload, &ValueSlot::of_checkpoint(&names))?;
        }
        Ok(())
    }

    fn error(&self, error: &mut StoredError, names: &PathSegments<'_>) -> Result<()> {
        self.text(&mut error.message, &ValueSlot::of_checkpoint(&with_segment(names, "part", "message")))?;
        if let Some(help) = &mut error.help {
            self.text(help, &ValueSlot::of_checkpoint(&with_segment(names, "part", "help")))?;
        }
        for (index, cause) in error.causes.iter_mut().enumerate() {
            let index = index.to_string();
            self.text(cause, &ValueSlot::of_checkpoint(&with_segment(names, "cause", &index)))?;
        }
        Ok(())
    }
}

fn with_segment<'a>(names: &PathSegments<'a>, kind: &'a str, name: &'a str) -> PathSegments<'a> {
    let mut names = names.clone();
    names.push((kind, name));
    names
}
