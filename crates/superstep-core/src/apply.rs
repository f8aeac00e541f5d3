//! Applies the updates of one superstep to the state.
//!
//! Pure: the same state and the same updates give the same result in any order of arrival. All or nothing: if a write
//! is rejected, the others are undone. Scheduling is not part of this file (see `schedule`), and no clock is read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::change::Change;
use crate::error::{Diagnostic, Error, ErrorCode, Result, panic_message};
use crate::field::{AnyState, Field, UndoFn};
use crate::id::FieldId;
use crate::schema::{Schema, TypeChecks};
use crate::update::{Update, Write, WriteMode};
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

mod field_set;
mod write_conflict;

pub use field_set::FieldSet;

/// The update of one task, with the node name for error messages.
#[derive(Debug, Clone)]
pub struct TaskUpdate {
    /// Name of the node, or `input`.
    pub node: Arc<str>,
    /// Values that the node wrote.
    pub update: Update,
}

/// Options of `apply`: which writes are rejected, and whether the result can be undone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// True if a second value for a `set_once` field is an error; otherwise the second value is ignored with a
    /// warning.
    pub strict_set_once: bool,
    /// True if the caller can undo all writes afterwards, at the cost of an undo log.
    pub undoable: bool,
    /// Set if the values come from outside the graph. A value that breaks the bounds or the type of its field is
    /// then the caller's error: the message is this text, and the error lists every location. `None` if the values
    /// come from a node.
    pub external_source: Option<&'static str>,
}

/// Result of applying updates.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Applied {
    /// One change for each changed field, in the order of fields.
    pub changes: SmallVec<[(FieldId, Change); 2]>,
    /// Warnings about tolerated writes; with the field if the field is `set_once` and a later value was ignored.
    pub warnings: Vec<(Option<FieldId>, String)>,
}

/// Applies updates to a state, in the order given, and returns the changes.
///
/// `written` records which fields were ever written on the thread. The state is changed in place if it has no other
/// owner, and copied first otherwise, so other owners never see a change.
///
/// # Errors
/// Returns an error that names the field, the node and the values if a write is rejected. The state is then
/// unchanged.
pub fn apply(
    schema: &Schema,
    state: &mut Arc<AnyState>,
    written: &mut FieldSet,
    updates: impl IntoIterator<Item = TaskUpdate>,
    options: ApplyOptions,
) -> Result<Applied> {
    apply_with_undo(schema, state, written, updates, options).map(|(applied, _)| applied)
}

/// Same as [`apply`]; with `ApplyOptions::undoable` all writes can be undone.
pub(crate) fn apply_with_undo(
    schema: &Schema,
    state: &mut Arc<AnyState>,
    written: &mut FieldSet,
    updates: impl IntoIterator<Item = TaskUpdate>,
    options: ApplyOptions,
) -> Result<(Applied, UndoLog)> {
    let mut updates = updates.into_iter();
    let Some(first) = updates.next() else { return Ok(Default::default()) };
    let mut nodes: SmallVec<[Arc<str>; 1]> = SmallVec::new();
    let second = updates.next();
    if second.is_none() && has_no_conflict(schema, first.update.writes(), options) {
        nodes.push(first.node);
        let writes = first.update.into_iter().map(|write| TaskWrite { task: 0, write });
        return Applier::new(schema, written, options, &nodes).apply_all(state, writes, None);
    }
    let mut writes: SmallVec<[TaskWrite; 4]> = SmallVec::new();
    for (task, TaskUpdate { node, update }) in [first].into_iter().chain(second).chain(updates).enumerate() {
        nodes.push(node);
        writes.extend(update.into_iter().map(|write| TaskWrite { task, write }));
    }
    write_conflict::resolve_conflicts(schema, &nodes, &mut writes)?;
    let fallible = fallible_fields(schema, &writes, options);
    // Fields are independent, so fallible writes go first: then there is little to undo.
    writes.sort_by_key(|write| (!fallible.contains(write.write.field), write.write.field));
    let last_fallible = writes.iter().rposition(|write| fallible.contains(write.write.field));
    Applier::new(schema, written, options, &nodes).apply_all(state, writes.into_iter(), last_fallible)
}

/// Returns true if the writes of one task can be applied in sequence without an undo log: each write has its own
/// field, and only the first can fail.
fn has_no_conflict(schema: &Schema, writes: &[Write], options: ApplyOptions) -> bool {
    let is_repeated = |index: usize| writes[..index].iter().any(|earlier| earlier.field == writes[index].field);
    writes.len() <= 8
        && (1..writes.len()).all(|index| !is_repeated(index) && !is_fallible(schema, &writes[index], options))
}

/// Returns the fields with a write that may be rejected: by the reducer, by `set_once`, or because the value must
/// be parsed first.
fn fallible_fields(schema: &Schema, writes: &[TaskWrite], options: ApplyOptions) -> FieldSet {
    let writes = writes.iter().map(|write| &write.write);
    writes.filter(|write| is_fallible(schema, write, options)).map(|write| write.field).collect()
}

fn is_fallible(schema: &Schema, write: &Write, options: ApplyOptions) -> bool {
    let field = schema.field(write.field);
    let can_fail = field.is_fallible || field.has_checks() || field.is_type_checked;
    can_fail || (options.strict_set_once && field.flags.set_once) || !field.ops.is_native_type(write.mode, &write.value)
}

/// Undo log of applied updates.
#[derive(Default)]
pub(crate) struct UndoLog {
    undo: Vec<UndoFn>,
    first_written: SmallVec<[FieldId; 4]>,
}

impl UndoLog {
    pub(crate) fn run(self, state: &mut AnyState, written: &mut FieldSet) {
        for undo in self.undo.into_iter().rev() {
            undo(state);
        }
        for id in self.first_written {
            written.remove(id);
        }
    }
}

pub(crate) struct TaskWrite {
    /// Index of the task among the tasks that are applied together.
    pub(crate) task: usize,
    pub(crate) write: Write,
}

struct Applier<'a> {
    schema: &'a Schema,
    written: &'a mut FieldSet,
    options: ApplyOptions,
    nodes: &'a [Arc<str>],
    applied: Applied,
    undo: UndoLog,
    /// Errors in external values; reported together after all fallible writes were checked.
    errors: Vec<(ErrorCode, Diagnostic)>,
}

impl<'a> Applier<'a> {
    fn new(schema: &'a Schema, written: &'a mut FieldSet, options: ApplyOptions, nodes: &'a [Arc<str>]) -> Self {
        let (applied, undo, errors) = Default::default();
        Self { schema, written, options, nodes, applied, undo, errors }
    }

    /// Applies the writes in this order; every write before the last fallible one can be undone.
    fn apply_all(
        mut self,
        state: &mut Arc<AnyState>,
        writes: impl Iterator<Item = TaskWrite>,
        last_fallible: Option<usize>,
    ) -> Result<(Applied, UndoLog)> {
        if Arc::get_mut(state).is_none() {
            *state = self.schema.ops.copy(&**state);
        }
        let target = Arc::get_mut(state).expect("a copied state has a single owner");
        for (index, write) in writes.enumerate() {
            let may_fail_later = last_fallible.is_some_and(|last| index < last);
            // Rejected external values are reported after the last fallible write: all writes until then are
            // undone.
            let undoable = self.options.undoable || may_fail_later || !self.errors.is_empty();
            let mut result = self.apply_write(target, write, undoable);
            if result.is_ok() && !may_fail_later && !self.errors.is_empty() {
                result = Err(self.external_validation_error());
            }
            if let Err(error) = result {
                self.undo.run(target, self.written);
                return Err(error);
            }
        }
        if !self.applied.changes.is_sorted_by_key(|(field, _)| *field) {
            self.applied.changes.sort_by_key(|(field, _)| *field);
        }
        Ok((self.applied, self.undo))
    }

    fn apply_write(
        &mut self,
        state: &mut AnyState,
        TaskWrite { task, write }: TaskWrite,
        undoable: bool,
    ) -> Result<()> {
        let node = &self.nodes[task];
        let (id, field) = (write.field, self.schema.field(write.field));
        if field.flags.set_once && self.written.contains(id) {
            return self.check_set_once(state, node, &write);
        }
        let undoable = undoable || field.has_checks() || field.is_type_checked;
        // Cloned only for an error message. Sums and message updates name their values in their own errors, so a
        // move is cheaper.
        let is_named = match field.reducer.as_deref() {
            Some("add") => matches!(write.value, AnyValue::Native(_)),
            reducer => reducer == Some("add_messages"),
        };
        let needs_value = field.is_fallible && !is_named;
        let value_for_message = needs_value.then(|| write.value.clone());
        let undo = &mut self.undo.undo;
        let write_field = AssertUnwindSafe(|| match write.mode {
            WriteMode::Reduce if undoable => field.ops.reduce_with_undo(state, write.value, undo),
            WriteMode::Reduce => field.ops.reduce(state, write.value),
            WriteMode::Overwrite => {
                if undoable {
                    undo.push(undo_to_current(field, state));
                }
                field.ops.overwrite(state, write.value)
            }
        });
        // A reducer is user code: its panic fails the superstep, never the process.
        let result = catch_unwind(write_field).unwrap_or_else(|panic| {
            Err(ValidationError::new(format!("the reducer panicked: {}", panic_message(&*panic))))
        });
        let change = match result {
            Ok(change) => change,
            Err(error) => {
                return Err(self.write_error(
                    id,
                    node,
                    with_values_in_message(field, state, value_for_message.as_ref(), error),
                ));
            }
        };
        field.check(state).or_else(|error| self.reject_value(id, node, error))?;
        self.check_type(state, id, node)?;
        // An absent value does not count as written: a `set_once` field can still be set.
        let is_write = !field.flags.set_once || !field.ops.is_null(state);
        if is_write && self.written.insert(id) {
            self.undo.first_written.push(id);
        }
        self.record_change(id, change);
        Ok(())
    }

    fn record_change(&mut self, id: FieldId, change: Change) {
        if change.is_unchanged() {
            return;
        }
        match self.applied.changes.iter_mut().find(|(field, _)| *field == id) {
            Some((_, earlier)) => *earlier = std::mem::replace(earlier, Change::Unchanged).then(change),
            None => self.applied.changes.push((id, change)),
        }
    }

    fn check_set_once(&mut self, state: &AnyState, node: &Arc<str>, write: &Write) -> Result<()> {
        let field = self.schema.field(write.field);
        let same = matches!((field.ops.to_json(state), write.value.to_json()), (Ok(old), Ok(new)) if old == new);
        if same {
            return Ok(());
        }
        let message = format!("field `{}` is `set_once` and already has a value", field.name);
        if self.options.strict_set_once {
            return Err(Error::new(ErrorCode::SetOnceViolation, message)
                .with_help("omit the field, start a new thread, or remove `set_once`")
                .with_node(&**node));
        }
        let message = format!("{message}: the value from `{node}` was ignored");
        self.applied.warnings.push((Some(write.field), message));
        Ok(())
    }

    fn check_type(&mut self, state: &AnyState, id: FieldId, node: &Arc<str>) -> Result<()> {
        let field = self.schema.field(id);
        if !field.is_type_checked {
            return Ok(());
        }
        let errors = field.ops.check_type(state);
        match (errors.into_iter().next(), self.schema.types) {
            (Some(error), TypeChecks::Enforce) => self.reject_value(id, node, error.with_code(ErrorCode::TypeMismatch)),
            (Some(error), _) => {
                self.applied.warnings.push((None, format!("field `{}` from `{node}`: {error}", field.name)));
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// Rejects a value that its field does not accept: a node's value fails at once, an external value is added to
    /// the list.
    fn reject_value(&mut self, id: FieldId, node: &Arc<str>, error: ValidationError) -> Result<()> {
        if self.options.external_source.is_none() {
            return Err(self.write_error(id, node, error));
        }
        let code = error.code.unwrap_or(ErrorCode::InputInvalid);
        let mut diagnostic = Diagnostic::from(error);
        diagnostic.pointer = format!("/{}{}", self.schema.field(id).name, diagnostic.pointer);
        self.errors.push((code, diagnostic));
        Ok(())
    }

    fn external_validation_error(&mut self) -> Error {
        let (codes, diagnostics): (Vec<_>, Vec<_>) = std::mem::take(&mut self.errors).into_iter().unzip();
        let is_type = codes.iter().all(|code| *code == ErrorCode::TypeMismatch);
        let code = if is_type { ErrorCode::TypeMismatch } else { ErrorCode::InputInvalid };
        Error::with_diagnostics(code, self.options.external_source.unwrap_or_default(), diagnostics)
    }

    fn write_error(&self, id: FieldId, node: &Arc<str>, cause: ValidationError) -> Error {
        let message = format!("field `{}`: {cause}", self.schema.field(id).name);
        let error = Error::new(cause.code.unwrap_or(ErrorCode::ReducerFailed), message).with_node(&**node);
        match cause.help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }
}

/// Returns an undo step that restores the full current value. A reducer has a cheaper undo, but only for its own
/// writes.
fn undo_to_current(field: &Field, state: &AnyState) -> UndoFn {
    let (ops, before) = (field.ops.clone(), field.ops.delta(state, &Change::Set));
    Box::new(move |state| {
        ops.apply_delta(state, &Change::Set, before).expect("a value taken from a field matches that field")
    })
}

/// Adds the current value and the update to the message, because a custom reducer may not name them.
fn with_values_in_message(
    field: &Field,
    state: &AnyState,
    update: Option<&AnyValue>,
    mut error: ValidationError,
) -> ValidationError {
    if let (Some(update), Ok(current)) = (update, field.ops.to_json(state)) {
        let current = truncate_for_message(&AnyValue::json(current));
        error.message = format!("{} (current value {current}, update {})", error.message, truncate_for_message(update));
    }
    error
}

/// Formats a value for a message, truncated to 60 characters.
fn truncate_for_message(value: &AnyValue) -> String {
    let text = format!("{value:?}");
    if text.chars().count() <= 60 { text } else { text.chars().take(60).chain(['…']).collect() }
}

#[cfg(test)]
mod tests;
