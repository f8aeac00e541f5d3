//! Folds the updates of one superstep into the state.
//!
//! Pure: the same state and the same updates give the same result in any order of arrival. All or
//! nothing: when one fold is refused, the others are taken back. Does not decide who runs next (see
//! `advance`) and never sees a clock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::change::Change;
use crate::datum::Datum;
use crate::error::{Code, Error, Problem, Result, panic_text};
use crate::fault::Fault;
use crate::field::{AnyState, Field, Undo};
use crate::id::FieldId;
use crate::schema::{Schema, TypeChecks};
use crate::update::{How, Update, Write};

mod conflict;
mod field_set;

pub use field_set::FieldSet;

/// The update of one task, with the name errors should say.
#[derive(Debug, Clone)]
pub struct TaskUpdate {
    /// The node, or `input`.
    pub node: Arc<str>,
    /// What it wrote.
    pub update: Update,
}

/// How a fold treats what it may refuse or let pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FoldRules {
    /// A second value for a `set_once` field is an error, not a warning.
    pub strict_set_once: bool,
    /// Everything can be taken back afterwards, at the cost of remembering it.
    pub keep_undo: bool,
    /// A value that breaks the bounds or the type of its field is the mistake of whoever gave it from outside, refused
    /// in these words with every place; `None` where it is the mistake of a node.
    pub from_outside: Option<&'static str>,
}

/// What a fold did.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Applied {
    /// One change for each field that is not as it was, in the order of fields.
    pub changes: SmallVec<[(FieldId, Change); 2]>,
    /// What was let pass but should be known; with the field where that is set once and its later value was ignored.
    pub warnings: Vec<(Option<FieldId>, String)>,
}

/// Folds updates into a state, in the order given, and says what changed.
///
/// `written` remembers which fields were ever written on the thread. The state is changed in place when
/// nobody else holds it, and copied first otherwise, so a holder of the old one never sees a change.
///
/// # Errors
/// Names field, node and values. The state is then as it was.
pub fn apply(
    schema: &Schema,
    state: &mut Arc<AnyState>,
    written: &mut FieldSet,
    updates: impl IntoIterator<Item = TaskUpdate>,
    rules: FoldRules,
) -> Result<Applied> {
    apply_with_undo(schema, state, written, updates, rules).map(|(applied, _)| applied)
}

/// As [`apply`]; with `rules.keep_undo` the whole fold can be taken back.
pub(crate) fn apply_with_undo(
    schema: &Schema,
    state: &mut Arc<AnyState>,
    written: &mut FieldSet,
    updates: impl IntoIterator<Item = TaskUpdate>,
    rules: FoldRules,
) -> Result<(Applied, TakeBack)> {
    let mut updates = updates.into_iter();
    let Some(first) = updates.next() else { return Ok(Default::default()) };
    let mut nodes: SmallVec<[Arc<str>; 1]> = SmallVec::new();
    let second = updates.next();
    if second.is_none() && has_no_conflict(schema, first.update.writes(), rules) {
        nodes.push(first.node);
        let writes = first.update.into_iter().map(|write| TaskWrite { task: 0, write });
        return Fold::new(schema, written, rules, &nodes).all(state, writes, None);
    }
    let mut writes: SmallVec<[TaskWrite; 4]> = SmallVec::new();
    for (task, TaskUpdate { node, update }) in [first].into_iter().chain(second).chain(updates).enumerate() {
        nodes.push(node);
        writes.extend(update.into_iter().map(|write| TaskWrite { task, write }));
    }
    conflict::settle(schema, &nodes, &mut writes)?;
    let risky = risky_fields(schema, &writes, rules);
    // Fields are independent, so what can fail goes first: then there is little to take back.
    writes.sort_by_key(|write| (!risky.contains(write.write.field), write.write.field));
    let last_risky = writes.iter().rposition(|write| risky.contains(write.write.field));
    Fold::new(schema, written, rules, &nodes).all(state, writes.into_iter(), last_risky)
}

/// Whether writes of one task can be folded one after the other with nothing to take back when one is refused: each
/// has a field of its own, and only the first can fail.
fn has_no_conflict(schema: &Schema, writes: &[Write], rules: FoldRules) -> bool {
    let is_repeated = |index: usize| writes[..index].iter().any(|earlier| earlier.field == writes[index].field);
    writes.len() <= 8 && (1..writes.len()).all(|index| !is_repeated(index) && !is_risky(schema, &writes[index], rules))
}

/// The fields one of whose writes may be refused: by the reducer, by `set_once`, or because it must be read first.
fn risky_fields(schema: &Schema, writes: &[TaskWrite], rules: FoldRules) -> FieldSet {
    let writes = writes.iter().map(|write| &write.write);
    writes.filter(|write| is_risky(schema, write, rules)).map(|write| write.field).collect()
}

fn is_risky(schema: &Schema, write: &Write, rules: FoldRules) -> bool {
    let field = schema.field(write.field);
    let may_be_refused = field.fallible || field.has_checks() || field.checked;
    may_be_refused || (rules.strict_set_once && field.flags.set_once) || !field.ops.fits(write.how, &write.value)
}

/// What takes a fold back.
#[derive(Default)]
pub(crate) struct TakeBack {
    undo: Vec<Undo>,
    marked: SmallVec<[FieldId; 4]>,
}

impl TakeBack {
    pub(crate) fn run(self, state: &mut AnyState, written: &mut FieldSet) {
        for undo in self.undo.into_iter().rev() {
            undo(state);
        }
        for id in self.marked {
            written.remove(id);
        }
    }
}

pub(crate) struct TaskWrite {
    /// Which of the tasks that are folded together.
    pub(crate) task: usize,
    pub(crate) write: Write,
}

struct Fold<'a> {
    schema: &'a Schema,
    written: &'a mut FieldSet,
    rules: FoldRules,
    nodes: &'a [Arc<str>],
    applied: Applied,
    back: TakeBack,
    /// What is wrong with values from outside: told at once, when everything that may be refused was looked at.
    refused: Vec<(Code, Problem)>,
}

impl<'a> Fold<'a> {
    fn new(schema: &'a Schema, written: &'a mut FieldSet, rules: FoldRules, nodes: &'a [Arc<str>]) -> Self {
        let (applied, back, refused) = Default::default();
        Self { schema, written, rules, nodes, applied, back, refused }
    }

    /// Folds in this order; what comes before the last write that may be refused can be taken back.
    fn all(
        mut self,
        state: &mut Arc<AnyState>,
        writes: impl Iterator<Item = TaskWrite>,
        last_risky: Option<usize>,
    ) -> Result<(Applied, TakeBack)> {
        if Arc::get_mut(state).is_none() {
            *state = self.schema.ops.copy(&**state);
        }
        let target = Arc::get_mut(state).expect("a copied state has one owner");
        for (index, write) in writes.enumerate() {
            let may_fail_later = last_risky.is_some_and(|last| index < last);
            // What was refused from outside is told after the last of them: everything until then is taken back.
            let undoable = self.rules.keep_undo || may_fail_later || !self.refused.is_empty();
            let mut folded = self.one(target, write, undoable);
            if folded.is_ok() && !may_fail_later && !self.refused.is_empty() {
                folded = Err(self.refused_from_outside());
            }
            if let Err(error) = folded {
                self.back.run(target, self.written);
                return Err(error);
            }
        }
        if !self.applied.changes.is_sorted_by_key(|(field, _)| *field) {
            self.applied.changes.sort_by_key(|(field, _)| *field);
        }
        Ok((self.applied, self.back))
    }

    fn one(&mut self, state: &mut AnyState, TaskWrite { task, write }: TaskWrite, undoable: bool) -> Result<()> {
        let node = &self.nodes[task];
        let (id, field) = (write.field, self.schema.field(write.field));
        if field.flags.set_once && self.written.contains(id) {
            return self.set_again(state, node, &write);
        }
        let undoable = undoable || field.has_checks() || field.checked;
        // Kept for a refusal only. Sums and edits of messages name their values themselves, and are better moved.
        let is_named = match field.reducer.as_deref() {
            Some("add") => matches!(write.value, Datum::Live(_)),
            reducer => reducer == Some("add_messages"),
        };
        let is_shown = field.fallible && !is_named;
        let shown = is_shown.then(|| write.value.clone());
        let back = &mut self.back.undo;
        let folding = AssertUnwindSafe(|| match write.how {
            How::Reduce if undoable => field.ops.reduce_with_undo(state, write.value, back),
            How::Reduce => field.ops.reduce(state, write.value),
            How::Overwrite => {
                if undoable {
                    back.push(old_value(field, state));
                }
                field.ops.overwrite(state, write.value)
            }
        });
        // A reducer is a user's code: its panic fails the superstep, never the program.
        let folded = catch_unwind(folding)
            .unwrap_or_else(|panic| Err(Fault::new(format!("the reducer panicked: {}", panic_text(&*panic)))));
        let change = match folded {
            Ok(change) => change,
            Err(fault) => return Err(self.refusal(id, node, with_values(field, state, shown.as_ref(), fault))),
        };
        field.check(state).or_else(|fault| self.refuse_value(id, node, fault))?;
        self.check_type(state, id, node)?;
        // Nothing is no value: what is set once may still be set.
        let is_write = !field.flags.set_once || !field.ops.is_absent(state);
        if is_write && self.written.insert(id) {
            self.back.marked.push(id);
        }
        self.note(id, change);
        Ok(())
    }

    fn note(&mut self, id: FieldId, change: Change) {
        if change.is_unchanged() {
            return;
        }
        match self.applied.changes.iter_mut().find(|(field, _)| *field == id) {
            Some((_, earlier)) => *earlier = std::mem::replace(earlier, Change::Unchanged).then(change),
            None => self.applied.changes.push((id, change)),
        }
    }

    fn set_again(&mut self, state: &AnyState, node: &Arc<str>, write: &Write) -> Result<()> {
        let field = self.schema.field(write.field);
        let same = matches!((field.ops.to_json(state), write.value.to_json()), (Ok(old), Ok(new)) if old == new);
        if same {
            return Ok(());
        }
        let message = format!("field `{}` is set once and has a value already", field.name);
        if self.rules.strict_set_once {
            return Err(Error::new(Code::SetOnceViolation, message)
                .help("leave the field out, start a new thread, or drop `set_once`")
                .at_node(&**node));
        }
        let message = format!("{message}: the value from `{node}` was ignored");
        self.applied.warnings.push((Some(write.field), message));
        Ok(())
    }

    fn check_type(&mut self, state: &AnyState, id: FieldId, node: &Arc<str>) -> Result<()> {
        let field = self.schema.field(id);
        if !field.checked {
            return Ok(());
        }
        let faults = field.ops.check_type(state);
        match (faults.into_iter().next(), self.schema.types) {
            (Some(fault), TypeChecks::Enforce) => self.refuse_value(id, node, fault.of(Code::TypeMismatch)),
            (Some(fault), _) => {
                self.applied.warnings.push((None, format!("field `{}` from `{node}`: {fault}", field.name)));
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// A value that its field does not take: a node fails at once, somebody outside is told everything.
    fn refuse_value(&mut self, id: FieldId, node: &Arc<str>, fault: Fault) -> Result<()> {
        if self.rules.from_outside.is_none() {
            return Err(self.refusal(id, node, fault));
        }
        let code = fault.code.unwrap_or(Code::InputInvalid);
        let mut problem = Problem::from(fault);
        problem.pointer = format!("/{}{}", self.schema.field(id).name, problem.pointer);
        self.refused.push((code, problem));
        Ok(())
    }

    fn refused_from_outside(&mut self) -> Error {
        let (codes, problems): (Vec<_>, Vec<_>) = std::mem::take(&mut self.refused).into_iter().unzip();
        let is_type = codes.iter().all(|code| *code == Code::TypeMismatch);
        let code = if is_type { Code::TypeMismatch } else { Code::InputInvalid };
        Error::listing(code, self.rules.from_outside.unwrap_or_default(), problems)
    }

    fn refusal(&self, id: FieldId, node: &Arc<str>, fault: Fault) -> Error {
        let message = format!("field `{}`: {fault}", self.schema.field(id).name);
        let error = Error::new(fault.code.unwrap_or(Code::ReducerFailed), message).at_node(&**node);
        match fault.help {
            Some(help) => error.help(help),
            None => error,
        }
    }
}

/// Puts the value a field has now back. A reducer knows a shorter way, from its own folds only.
fn old_value(field: &Field, state: &AnyState) -> Undo {
    let (ops, before) = (field.ops.clone(), field.ops.part(state, &Change::Set));
    Box::new(move |state| ops.restore(state, &Change::Set, before).expect("a value fits the field it is from"))
}

/// Says which values a reducer refused, as a custom one need not.
fn with_values(field: &Field, state: &AnyState, update: Option<&Datum>, mut fault: Fault) -> Fault {
    if let (Some(update), Ok(current)) = (update, field.ops.to_json(state)) {
        let current = shorten(&Datum::json(current));
        fault.message = format!("{} (it has {current}, the update is {})", fault.message, shorten(update));
    }
    fault
}

/// A value as a message shows it.
fn shorten(value: &Datum) -> String {
    let text = format!("{value:?}");
    if text.chars().count() <= 60 { text } else { text.chars().take(60).chain(['…']).collect() }
}

#[cfg(test)]
mod tests;
