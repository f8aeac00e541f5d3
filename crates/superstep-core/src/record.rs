//! The dynamic state: fields declared at run time, values plain JSON.
//!
//! A peer of typed states, not a fork of the engine: everything that works for a struct works for it,
//! through the same [`FieldOps`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::change::Change;
use crate::datum::Datum;
use crate::error::Code;
use crate::fault::Fault;
use crate::field::{AnyState, FieldOps, Undo, read, stamp_with};
use crate::json_reducer::{self, JsonReducer};
use crate::message::{MessageEdits, MessageId, Messages};
use crate::reducer::{AddMessages, Reducer};
use crate::schema::{Schema, TypeChecks};
use crate::state::{Draft, IntoDraft, State, StateOps};
use crate::types::FieldType;
use crate::update::How;

/// A state whose fields are declared at run time.
///
/// ```
/// use serde_json::json;
/// use superstep_core::schema::Schema;
/// let schema = Schema::from_json("counter", &json!({ "count": { "type": "integer", "reducer": "add", "default": 0 } })).unwrap();
/// let state = schema.initial_state();
/// assert_eq!(schema.to_json(&*state).unwrap(), json!({ "count": 0 }));
/// ```
#[derive(Clone, PartialEq)]
pub struct Record {
    names: Arc<BTreeMap<Arc<str>, usize>>,
    slots: Vec<Slot>,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Slot {
    Json(Value),
    Messages(Messages),
    /// A private field, in the view of a node that does not declare it.
    Hidden,
}

impl Slot {
    fn to_json(&self) -> Result<Cow<'_, Value>, Fault> {
        match self {
            Self::Json(value) => Ok(Cow::Borrowed(value)),
            Self::Messages(messages) => Ok(Cow::Owned(serde_json::to_value(messages)?)),
            Self::Hidden => Ok(Cow::Owned(Value::Null)),
        }
    }
}

impl Record {
    pub(crate) fn new(names: Arc<BTreeMap<Arc<str>, usize>>, slots: Vec<Slot>) -> Self {
        Self { names, slots }
    }

    /// The value of a field; null when it has none or there is no such field.
    ///
    /// A node that reads a private field it does not declare ends here, with an error that names the field.
    #[must_use]
    pub fn get(&self, name: &str) -> Cow<'_, Value> {
        let slot = self.names.get(name).and_then(|index| self.slots.get(*index));
        if let Some(Slot::Hidden) = slot {
            trespass(name);
        }
        let known = slot.and_then(|slot| slot.to_json().ok());
        known.or_else(|| self.extras()?.get(name).map(Cow::Borrowed)).unwrap_or(Cow::Owned(Value::Null))
    }

    /// Values of undeclared fields, where the schema allows them: one slot after the declared ones.
    fn extras(&self) -> Option<&Map<String, Value>> {
        match self.slots.get(self.names.len())? {
            Slot::Json(value) => value.as_object(),
            Slot::Messages(_) | Slot::Hidden => None,
        }
    }

    /// The messages of a message list.
    #[must_use]
    pub fn messages(&self, name: &str) -> Option<&Messages> {
        match self.slots.get(*self.names.get(name)?)? {
            Slot::Messages(messages) => Some(messages),
            Slot::Json(_) => None,
            Slot::Hidden => trespass(name),
        }
    }

    /// All values as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let seen = self.names.iter().filter(|(_, index)| self.slots[**index] != Slot::Hidden);
        let mut object: Map<String, Value> =
            seen.map(|(name, _)| (name.to_string(), self.get(name).into_owned())).collect();
        object.extend(self.extras().cloned().unwrap_or_default());
        Value::Object(object)
    }
}

/// Only views of nodes have hidden fields, and nothing is folded into a view.
fn hidden() -> Fault {
    Fault::new("a hidden field was written").of(Code::Internal)
}

/// Ends a node that looks where it must not: unwinds to the executor, which turns this into the task's error.
fn trespass(name: &str) -> ! {
    let fault = Fault::new(format!("it read private field `{name}` without declaring it"));
    let help = format!("declare it: `.reads([\"{name}\"])`");
    std::panic::resume_unwind(Box::new(fault.help(help).of(Code::UnknownField)))
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_json())
    }
}

impl State for Record {
    type Update = Draft;
    fn schema() -> Option<Arc<Schema>> {
        None
    }
}

impl IntoDraft for Value {
    fn into_draft(self) -> Draft {
        match self {
            Self::Object(object) => Draft::Json(object),
            Self::Null => Draft::default(),
            other => Draft::Json(Map::from_iter([("__root__".to_owned(), other)])),
        }
    }
}

/// Where the value of a new thread comes from.
#[derive(Clone)]
pub(crate) enum Default {
    Value(Value),
    Function(Arc<dyn Fn() -> Value + Send + Sync>),
}

impl Default {
    pub(crate) fn make(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Function(make) => make(),
        }
    }
}

/// A fold of JSON values written by a user.
pub(crate) type JsonFold = Arc<dyn Fn(Value, Value) -> Result<Value, Fault> + Send + Sync>;

/// How updates fold into a dynamic field.
#[derive(Clone)]
pub(crate) enum Rule {
    Named(JsonReducer),
    Custom(JsonFold),
    Messages,
}

impl Rule {
    /// Whether an update may be of another type than the field.
    fn takes_items(&self) -> bool {
        match self {
            Self::Named(JsonReducer::Append | JsonReducer::KeepLast(_) | JsonReducer::SetUnion) => true,
            Self::Named(JsonReducer::Capped(_) | JsonReducer::MergeBy(_)) => true,
            Self::Named(_) => false,
            Self::Custom(_) | Self::Messages => true,
        }
    }
}

/// Operations on one field of a [`Record`].
pub(crate) struct RecordField {
    pub(crate) index: usize,
    pub(crate) kind: FieldType,
    pub(crate) rule: Rule,
    pub(crate) types: TypeChecks,
    pub(crate) default: Default,
}

impl RecordField {
    fn slot<'a>(&self, state: &'a AnyState) -> &'a Slot {
        &state.downcast_ref::<Record>().expect("a dynamic schema is only used on records").slots[self.index]
    }

    fn slot_mut<'a>(&self, state: &'a mut AnyState) -> &'a mut Slot {
        &mut state.downcast_mut::<Record>().expect("a dynamic schema is only used on records").slots[self.index]
    }

    pub(crate) fn initial(&self) -> Slot {
        let value = self.default.make();
        match self.rule {
            Rule::Messages => Slot::Messages(serde_json::from_value(value).unwrap_or_default()),
            _ => Slot::Json(value),
        }
    }

    fn read_slot(&self, value: Datum) -> Result<Slot, Fault> {
        match self.rule {
            Rule::Messages => value.take().map(Slot::Messages),
            _ => value.to_json().map(Slot::Json),
        }
    }

    /// What takes the next fold of this field back.
    fn way_back(&self, state: &AnyState) -> Undo {
        let index = self.index;
        let slot_of = move |state: &mut AnyState, value: Slot| {
            state.downcast_mut::<Record>().expect("a dynamic schema is only used on records").slots[index] = value;
        };
        match self.slot(state) {
            // A long list is not copied to be able to take an append back.
            Slot::Json(Value::Array(items))
                if matches!(
                    self.rule,
                    Rule::Named(JsonReducer::Add | JsonReducer::Append | JsonReducer::Capped(_))
                ) =>
            {
                let length = items.len();
                Box::new(move |state| {
                    let record = state.downcast_mut::<Record>().expect("a dynamic schema is only used on records");
                    if let Slot::Json(Value::Array(items)) = &mut record.slots[index] {
                        items.truncate(length);
                    }
                })
            }
            slot => {
                let slot = slot.clone();
                Box::new(move |state| slot_of(state, slot))
            }
        }
    }
}

impl FieldOps for RecordField {
    fn reduce(&self, state: &mut AnyState, input: Datum) -> Result<Change, Fault> {
        match (self.slot_mut(state), &self.rule) {
            (Slot::Messages(messages), _) => messages.fold(input.take::<MessageEdits>()?),
            (Slot::Json(current), Rule::Named(reducer)) => reducer.fold(current, input.take()?),
            (Slot::Json(current), Rule::Custom(fold)) => {
                *current = fold(current.clone(), input.take()?)?;
                Ok(Change::Set)
            }
            (Slot::Json(_), Rule::Messages) => Err(Fault::new("a message list holds something else")),
            (Slot::Hidden, _) => Err(hidden()),
        }
    }

    fn overwrite(&self, state: &mut AnyState, value: Datum) -> Result<Change, Fault> {
        *self.slot_mut(state) = self.read_slot(value)?;
        Ok(Change::Set)
    }

    fn fits(&self, how: How, value: &Datum) -> bool {
        match (&self.rule, how) {
            (Rule::Messages, How::Reduce) => value.get::<MessageEdits>().is_some(),
            (Rule::Messages, How::Overwrite) => value.get::<Messages>().is_some(),
            _ => matches!(value, Datum::Json(_)),
        }
    }

    fn reduce_with_undo(&self, state: &mut AnyState, input: Datum, back: &mut Vec<Undo>) -> Result<Change, Fault> {
        back.push(self.way_back(state));
        self.reduce(state, input)
    }

    fn part(&self, state: &AnyState, change: &Change) -> Datum {
        match self.slot(state) {
            Slot::Messages(messages) if *change == Change::Set => Datum::live(messages.clone()),
            Slot::Messages(messages) => Datum::live(messages.part(change)),
            Slot::Json(value) => Datum::json(json_reducer::part(value, change)),
            Slot::Hidden => Datum::json(Value::Null),
        }
    }

    fn restore(&self, state: &mut AnyState, change: &Change, part: Datum) -> Result<(), Fault> {
        let is_null = || part.get::<Value>().is_some_and(Value::is_null);
        match self.slot_mut(state) {
            // A thread that began before the field held messages has no value in it.
            Slot::Messages(messages) if *change == Change::Set && is_null() => *messages = Messages::default(),
            Slot::Messages(messages) if *change == Change::Set => *messages = part.take()?,
            Slot::Messages(messages) => messages.restore(change, part.take()?)?,
            Slot::Json(value) => json_reducer::restore(value, change, &part.to_json()?)?,
            Slot::Hidden => return Err(hidden()),
        }
        Ok(())
    }

    fn to_json(&self, state: &AnyState) -> Result<Value, Fault> {
        self.slot(state).to_json().map(Cow::into_owned)
    }

    fn read_input(&self, value: Value) -> Result<Datum, Vec<Fault>> {
        if let Rule::Messages = self.rule {
            return AddMessages::read(value).map(Datum::live);
        }
        if self.types == TypeChecks::Enforce && !self.rule.takes_items() && !value.is_null() {
            self.kind
                .check(&value)
                .map_err(|faults| faults.into_iter().map(|fault| fault.of(Code::TypeMismatch)).collect::<Vec<_>>())?;
        }
        Ok(Datum::json(value))
    }

    fn read_value(&self, value: Value) -> Result<Datum, Vec<Fault>> {
        if let Rule::Messages = self.rule {
            return read::<Messages>(value).map(Datum::live);
        }
        if self.types == TypeChecks::Enforce && !value.is_null() {
            self.kind.check(&value)?;
        }
        Ok(Datum::json(value))
    }

    fn stamp(&self, input: &mut Datum, fresh: &mut dyn FnMut() -> String) {
        if let Rule::Messages = self.rule {
            stamp_with(input, |edits: &mut MessageEdits| edits.stamp(&mut || MessageId::from(fresh())));
        }
    }

    fn check_type(&self, state: &AnyState) -> Vec<Fault> {
        match self.slot(state) {
            Slot::Json(value) if !value.is_null() => self.kind.check(value).err().unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn clear(&self, state: &mut AnyState) {
        *self.slot_mut(state) = self.initial();
    }

    fn hide(&self, state: &mut AnyState) {
        *self.slot_mut(state) = Slot::Hidden;
    }

    fn is_absent(&self, state: &AnyState) -> bool {
        matches!(self.slot(state), Slot::Json(Value::Null))
    }
}

/// [`StateOps`] of records.
pub(crate) struct RecordOps {
    pub(crate) names: Arc<BTreeMap<Arc<str>, usize>>,
    pub(crate) fields: Vec<Arc<RecordField>>,
}

impl StateOps for RecordOps {
    fn initial(&self) -> Arc<AnyState> {
        Arc::new(Record::new(self.names.clone(), self.fields.iter().map(|field| field.initial()).collect()))
    }

    fn copy(&self, state: &AnyState) -> Arc<AnyState> {
        Arc::new(state.downcast_ref::<Record>().expect("a dynamic schema is only used on records").clone())
    }
}

/// JSON Schema of a dynamic field.
pub(crate) fn json_schema(kind: &FieldType) -> Value {
    match kind {
        FieldType::Messages => {
            serde_json::to_value(schemars::schema_for!(Messages)).unwrap_or_else(|_| json!({ "type": "array" }))
        }
        kind => kind.to_json_schema(),
    }
}
