//! Which parts of a checkpoint and of what is known of its tasks are values: the one list that stores around another
//! share, whatever they do with a value on its way down or up.
//!
//! What is not named here passes as it is.

use std::sync::Arc;

use serde_json::Value;
use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, Entry, Pending, StoredDue, StoredError, StoredOutput, StoredOutward};
use superstep_core::datum::Datum;
use superstep_core::error::{Error, Result};
use superstep_core::port::StoredEvent;

/// The names of a place, outermost first.
type Names<'a> = Vec<(&'a str, &'a str)>;

/// Where in a checkpoint a value is: kinds with names, outermost first.
#[cfg_attr(not(feature = "sealed"), expect(dead_code, reason = "only what is sealed is bound to its place"))]
pub(crate) struct Slot<'a> {
    pub(crate) names: &'a [(&'a str, &'a str)],
    /// Bound to its checkpoint. Values of fields are not: a later checkpoint has them, too.
    pub(crate) is_of_checkpoint: bool,
    /// The change that a value of a field belongs to.
    pub(crate) change: Option<&'a Change>,
}

impl<'a> Slot<'a> {
    /// A slot that belongs to one checkpoint.
    fn of_checkpoint(names: &'a [(&'a str, &'a str)]) -> Self {
        Self { names, is_of_checkpoint: true, change: None }
    }

    /// A slot of a field, in whichever checkpoint.
    fn of_field(names: &'a [(&'a str, &'a str)], change: Option<&'a Change>) -> Self {
        Self { names, is_of_checkpoint: false, change }
    }
}

/// What is done with values, one at a time; and the walk over all of them.
pub(crate) trait Walk {
    /// Whether values go to the store, or come from it.
    fn is_downward(&self) -> bool;

    /// Passes a value whose type nobody knows.
    fn datum(&self, datum: &mut Datum, slot: &Slot<'_>) -> Result<()>;

    /// Passes plain data.
    fn value(&self, value: &mut Value, slot: &Slot<'_>) -> Result<()>;

    /// Passes a text.
    fn text(&self, text: &mut String, slot: &Slot<'_>) -> Result<()>;

    /// Passes a change, which has values only where it names the keys of a map.
    fn change(&self, change: &mut Change, slot: &Slot<'_>) -> Result<()>;

    /// Passes one change of a field with its part.
    fn field(&self, field: &str, change: &mut Change, part: &mut Datum) -> Result<()> {
        let names = [("field", field)];
        let keys = [("field", field), ("keys", "changed")];
        // The part is bound to the change as it really is, so the change is passed last on the way down.
        if self.is_downward() {
            self.datum(part, &Slot::of_field(&names, Some(change)))?;
            return self.change(change, &Slot::of_field(&keys, None));
        }
        self.change(change, &Slot::of_field(&keys, None))?;
        self.datum(part, &Slot::of_field(&names, Some(change)))
    }

    /// Passes the values in the record of a checkpoint; one without any stays the same pointer.
    fn record(&self, checkpoint: &mut Arc<Checkpoint>) -> Result<()> {
        let merges = |(_, change): &(Arc<str>, Change)| matches!(change, Change::Merged { .. });
        let has_keys = checkpoint.since_input.as_ref().is_some_and(|changes| changes.iter().any(merges));
        if !has_keys && checkpoint.due.iter().all(|due| due.send.is_none()) {
            return Ok(());
        }
        let checkpoint = Arc::make_mut(checkpoint);
        self.ways(&mut checkpoint.due, &vec![("part", "due")])?;
        for (field, change) in checkpoint.since_input.iter_mut().flatten() {
            self.change(change, &Slot::of_checkpoint(&[("part", "since input"), ("field", field)]))?;
        }
        Ok(())
    }

    /// Passes what a run said; it belongs to no checkpoint.
    fn event(&self, event: &mut StoredEvent) -> Result<()> {
        let number = event.number.to_string();
        self.datum(&mut event.body, &Slot::of_field(&[("event", &number)], None))
    }

    /// Passes the values in what is known of a task.
    fn pending(&self, pending: &mut Pending) -> Result<()> {
        let (task, slot) = (pending.task.to_string(), pending.entry.slot());
        let names = vec![("node", &*pending.node), ("task", &*task), ("entry", &*slot)];
        let whole = Slot::of_checkpoint(&names);
        match &mut pending.entry {
            Entry::Done(output) => self.output(output, &names),
            Entry::Failed(error) | Entry::Refused(error) => self.error(error, &names),
            Entry::Question(question) => {
                self.value(&mut question.value, &whole)?;
                if let Some(schema) = &mut question.schema {
                    self.value(schema, &Slot::of_checkpoint(&and(&names, "part", "schema")))?;
                }
                match &mut question.text {
                    Some(text) => self.text(text, &Slot::of_checkpoint(&and(&names, "part", "text"))),
                    None => Ok(()),
                }
            }
            Entry::Answer(answer) => self.value(&mut answer.value, &whole),
            Entry::Once { value, .. } => self.datum(value, &whole),
            Entry::Skipped => Ok(()),
            // A kind that came later may have values; to let it through would be to write them in the clear.
            other => Err(Error::internal(format!("a store around another does not know an entry `{}`", other.slot()))),
        }
    }

    fn output(&self, output: &mut StoredOutput, names: &Names<'_>) -> Result<()> {
        for (index, write) in output.writes.iter_mut().enumerate() {
            let index = index.to_string();
            let mut names = and(names, "write", &index);
            names.push(("field", &*write.field));
            self.datum(&mut write.value, &Slot::of_checkpoint(&names))?;
        }
        self.ways(&mut output.ways, names)?;
        output.outward.as_mut().map_or(Ok(()), |outward| self.outward(outward, names))
    }

    fn ways(&self, ways: &mut [StoredDue], names: &Names<'_>) -> Result<()> {
        for (index, due) in ways.iter_mut().enumerate() {
            let Some(send) = &mut due.send else { continue };
            let index = index.to_string();
            let mut names = and(names, "send", &index);
            names.push(("to", &*due.node));
            self.datum(&mut send.payload, &Slot::of_checkpoint(&names))?;
        }
        Ok(())
    }

    fn outward(&self, outward: &mut StoredOutward, names: &Names<'_>) -> Result<()> {
        for (index, update) in outward.updates.iter_mut().enumerate() {
            let index = index.to_string();
            for (field, value) in update.iter_mut() {
                let mut names = and(names, "update outside", &index);
                names.push(("field", field));
                self.value(value, &Slot::of_checkpoint(&names))?;
            }
        }
        for (index, (node, send)) in outward.sends.iter_mut().enumerate() {
            let index = index.to_string();
            let mut names = and(names, "send outside", &index);
            names.push(("to", node));
            self.datum(&mut send.payload, &Slot::of_checkpoint(&names))?;
        }
        Ok(())
    }

    fn error(&self, error: &mut StoredError, names: &Names<'_>) -> Result<()> {
        self.text(&mut error.message, &Slot::of_checkpoint(&and(names, "part", "message")))?;
        if let Some(help) = &mut error.help {
            self.text(help, &Slot::of_checkpoint(&and(names, "part", "help")))?;
        }
        for (index, cause) in error.causes.iter_mut().enumerate() {
            let index = index.to_string();
            self.text(cause, &Slot::of_checkpoint(&and(names, "cause", &index)))?;
        }
        Ok(())
    }
}

fn and<'a>(names: &Names<'a>, kind: &'a str, name: &'a str) -> Names<'a> {
    let mut names = names.clone();
    names.push((kind, name));
    names
}
