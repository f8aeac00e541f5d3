//! The dynamic state: fields declared at run time, values in plain JSON.
//!
//! Equal to typed states, not a special case of the engine: every feature for a struct works for a dynamic state,
//! through the same [`FieldOps`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::change::Change;
use crate::error::ErrorCode;
use crate::field::{AnyState, FieldOps, UndoFn, parse_json, update_native};
use crate::json_reducer::{self, JsonReducer};
use crate::message::{MessageId, MessageUpdates, Messages};
use crate::reducer::{AddMessages, Reducer};
use crate::schema::{Schema, TypeChecks};
use crate::state::{GraphState, IntoUpdate, StateOps, UncheckedUpdate};
use crate::types::FieldType;
use crate::update::WriteMode;
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

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
pub struct DynamicState {
    names: Arc<BTreeMap<Arc<str>, usize>>,
    slots: Vec<FieldSlot>,
}

#[derive(Clone, PartialEq)]
pub(crate) enum FieldSlot {
    Json(Value),
    Messages(Messages),
    /// A private field, in the view of a node that does not declare it.
    Hidden,
}

impl FieldSlot {
    fn to_json(&self) -> Result<Cow<'_, Value>, ValidationError> {
        match self {
            Self::Json(value) => Ok(Cow::Borrowed(value)),
            Self::Messages(messages) => Ok(Cow::Owned(serde_json::to_value(messages)?)),
            Self::Hidden => Ok(Cow::Owned(Value::Null)),
        }
    }
}

impl DynamicState {
    pub(crate) fn new(names: Arc<BTreeMap<Arc<str>, usize>>, slots: Vec<FieldSlot>) -> Self {
        Self { names, slots }
    }

    /// Returns the value of a field; null if it has none or the field does not exist.
    ///
    /// A node that reads a private field it does not declare is unwound here; the error of its task names the
    /// field.
    #[must_use]
    pub fn get(&self, name: &str) -> Cow<'_, Value> {
        let slot = self.names.get(name).and_then(|index| self.slots.get(*index));
        if let Some(FieldSlot::Hidden) = slot {
            panic_hidden_field(name);
        }
        let value = slot.and_then(|slot| slot.to_json().ok());
        value.or_else(|| self.undeclared_fields()?.get(name).map(Cow::Borrowed)).unwrap_or(Cow::Owned(Value::Null))
    }

    /// Returns the values of undeclared fields, if the schema allows them: one slot after the declared ones.
    fn undeclared_fields(&self) -> Option<&Map<String, Value>> {
        match self.slots.get(self.names.len())? {
            FieldSlot::Json(value) => value.as_object(),
            FieldSlot::Messages(_) | FieldSlot::Hidden => None,
        }
    }

    /// Returns the messages of a message list.
    #[must_use]
    pub fn messages(&self, name: &str) -> Option<&Messages> {
        match self.slots.get(*self.names.get(name)?)? {
            FieldSlot::Messages(messages) => Some(messages),
            FieldSlot::Json(_) => None,
            FieldSlot::Hidden => panic_hidden_field(name),
        }
    }

    /// Returns all values as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let visible = self.names.iter().filter(|(_, index)| self.slots[**index] != FieldSlot::Hidden);
        let mut object: Map<String, Value> =
            visible.map(|(name, _)| (name.to_string(), self.get(name).into_owned())).collect();
        object.extend(self.undeclared_fields().cloned().unwrap_or_default());
        Value::Object(object)
    }
}

/// Returns the error for a write to a hidden field: only views of nodes have hidden fields, and a view receives no
/// writes.
fn hidden_field_error() -> ValidationError {
    ValidationError::new("write to a hidden field").with_code(ErrorCode::Internal)
}

/// Unwinds a node that reads a hidden field to the executor, which converts this into the task's error.
fn panic_hidden_field(name: &str) -> ! {
    let error = ValidationError::new(format!("read of undeclared private field `{name}`"));
    let help = format!("declare it: `.reads([\"{name}\"])`");
    std::panic::resume_unwind(Box::new(error.with_help(help).with_code(ErrorCode::UnknownField)))
}

impl fmt::Debug for DynamicState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_json())
    }
}

impl GraphState for DynamicState {
    type Update = UncheckedUpdate;
    fn schema() -> Option<Arc<Schema>> {
        None
    }
}

impl IntoUpdate for Value {
    fn into_update(self) -> UncheckedUpdate {
        match self {
            Self::Object(object) => UncheckedUpdate::Json(object),
            Self::Null => UncheckedUpdate::default(),
            other => UncheckedUpdate::Json(Map::from_iter([("__root__".to_owned(), other)])),
        }
    }
}

/// The source of the value of a new thread.
#[derive(Clone)]
pub(crate) enum DefaultValue {
    Value(Value),
    Function(Arc<dyn Fn() -> Value + Send + Sync>),
}

impl DefaultValue {
    pub(crate) fn make(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Function(make) => make(),
        }
    }
}

/// A custom reducer over JSON values.
pub(crate) type JsonReduceFn = Arc<dyn Fn(Value, Value) -> Result<Value, ValidationError> + Send + Sync>;

/// The reducer of a dynamic field.
#[derive(Clone)]
pub(crate) enum DynamicReducer {
    Named(JsonReducer),
    Custom(JsonReduceFn),
    Messages,
}

impl DynamicReducer {
    /// Returns true if an update may be of another type than the field.
    fn accepts_items(&self) -> bool {
        match self {
            Self::Named(JsonReducer::Append | JsonReducer::KeepLast(_) | JsonReducer::SetUnion) => true,
            Self::Named(JsonReducer::Capped(_) | JsonReducer::MergeBy(_)) => true,
            Self::Named(_) => false,
            Self::Custom(_) | Self::Messages => true,
        }
    }
}

/// Operations on one field of a [`DynamicState`].
pub(crate) struct DynamicField {
    pub(crate) index: usize,
    pub(crate) field_type: FieldType,
    pub(crate) reducer: DynamicReducer,
    pub(crate) types: TypeChecks,
    pub(crate) default: DefaultValue,
}

impl DynamicField {
    fn slot<'a>(&self, state: &'a AnyState) -> &'a FieldSlot {
        &state.downcast_ref::<DynamicState>().expect("a dynamic schema is only used with `DynamicState`").slots
            [self.index]
    }

    fn slot_mut<'a>(&self, state: &'a mut AnyState) -> &'a mut FieldSlot {
        &mut state.downcast_mut::<DynamicState>().expect("a dynamic schema is only used with `DynamicState`").slots
            [self.index]
    }

    pub(crate) fn initial(&self) -> FieldSlot {
        let value = self.default.make();
        match self.reducer {
            DynamicReducer::Messages => FieldSlot::Messages(serde_json::from_value(value).unwrap_or_default()),
            _ => FieldSlot::Json(value),
        }
    }

    fn parse_slot(&self, value: AnyValue) -> Result<FieldSlot, ValidationError> {
        match self.reducer {
            DynamicReducer::Messages => value.into_value().map(FieldSlot::Messages),
            _ => value.to_json().map(FieldSlot::Json),
        }
    }

    /// Returns the undo step for the next write to this field.
    fn undo_next(&self, state: &AnyState) -> UndoFn {
        let index = self.index;
        let set_slot = move |state: &mut AnyState, value: FieldSlot| {
            state.downcast_mut::<DynamicState>().expect("a dynamic schema is only used with `DynamicState`").slots
                [index] = value;
        };
        match self.slot(state) {
            // A long list is not cloned for the undo of an append; its length suffices.
            FieldSlot::Json(Value::Array(items))
                if matches!(
                    self.reducer,
                    DynamicReducer::Named(JsonReducer::Add | JsonReducer::Append | JsonReducer::Capped(_))
                ) =>
            {
                let length = items.len();
                Box::new(move |state| {
                    let dynamic_state = state
                        .downcast_mut::<DynamicState>()
                        .expect("a dynamic schema is only used with `DynamicState`");
                    if let FieldSlot::Json(Value::Array(items)) = &mut dynamic_state.slots[index] {
                        items.truncate(length);
                    }
                })
            }
            slot => {
                let slot = slot.clone();
                Box::new(move |state| set_slot(state, slot))
            }
        }
    }
}

impl FieldOps for DynamicField {
    fn reduce(&self, state: &mut AnyState, input: AnyValue) -> Result<Change, ValidationError> {
        match (self.slot_mut(state), &self.reducer) {
            (FieldSlot::Messages(messages), _) => messages.reduce(input.into_value::<MessageUpdates>()?),
            (FieldSlot::Json(current), DynamicReducer::Named(reducer)) => reducer.reduce(current, input.into_value()?),
            (FieldSlot::Json(current), DynamicReducer::Custom(reduce)) => {
                *current = reduce(current.clone(), input.into_value()?)?;
                Ok(Change::Set)
            }
            (FieldSlot::Json(_), DynamicReducer::Messages) => {
                Err(ValidationError::new("a message list holds a value of another type"))
            }
            (FieldSlot::Hidden, _) => Err(hidden_field_error()),
        }
    }

    fn overwrite(&self, state: &mut AnyState, value: AnyValue) -> Result<Change, ValidationError> {
        *self.slot_mut(state) = self.parse_slot(value)?;
        Ok(Change::Set)
    }

    fn is_native_type(&self, mode: WriteMode, value: &AnyValue) -> bool {
        match (&self.reducer, mode) {
            (DynamicReducer::Messages, WriteMode::Reduce) => value.get::<MessageUpdates>().is_some(),
            (DynamicReducer::Messages, WriteMode::Overwrite) => value.get::<Messages>().is_some(),
            _ => matches!(value, AnyValue::Json(_)),
        }
    }

    fn reduce_with_undo(
        &self,
        state: &mut AnyState,
        input: AnyValue,
        undo_steps: &mut Vec<UndoFn>,
    ) -> Result<Change, ValidationError> {
        undo_steps.push(self.undo_next(state));
        self.reduce(state, input)
    }

    fn delta(&self, state: &AnyState, change: &Change) -> AnyValue {
        match self.slot(state) {
            FieldSlot::Messages(messages) if *change == Change::Set => AnyValue::native(messages.clone()),
            FieldSlot::Messages(messages) => AnyValue::native(messages.delta(change)),
            FieldSlot::Json(value) => AnyValue::json(json_reducer::delta(value, change)),
            FieldSlot::Hidden => AnyValue::json(Value::Null),
        }
    }

    fn apply_delta(&self, state: &mut AnyState, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
        let is_null = || delta.get::<Value>().is_some_and(Value::is_null);
        match self.slot_mut(state) {
            // A thread that started before the field held messages has no value in it.
            FieldSlot::Messages(messages) if *change == Change::Set && is_null() => *messages = Messages::default(),
            FieldSlot::Messages(messages) if *change == Change::Set => *messages = delta.into_value()?,
            FieldSlot::Messages(messages) => messages.apply_delta(change, delta.into_value()?)?,
            FieldSlot::Json(value) => json_reducer::apply_delta(value, change, &delta.to_json()?)?,
            FieldSlot::Hidden => return Err(hidden_field_error()),
        }
        Ok(())
    }

    fn to_json(&self, state: &AnyState) -> Result<Value, ValidationError> {
        self.slot(state).to_json().map(Cow::into_owned)
    }

    fn parse_update(&self, value: Value) -> Result<AnyValue, Vec<ValidationError>> {
        if let DynamicReducer::Messages = self.reducer {
            return AddMessages::parse_update(value).map(AnyValue::native);
        }
        if self.types == TypeChecks::Enforce && !self.reducer.accepts_items() && !value.is_null() {
            self.field_type.check(&value).map_err(|errors| {
                errors.into_iter().map(|error| error.with_code(ErrorCode::TypeMismatch)).collect::<Vec<_>>()
            })?;
        }
        Ok(AnyValue::json(value))
    }

    fn parse_value(&self, value: Value) -> Result<AnyValue, Vec<ValidationError>> {
        if let DynamicReducer::Messages = self.reducer {
            return parse_json::<Messages>(value).map(AnyValue::native);
        }
        if self.types == TypeChecks::Enforce && !value.is_null() {
            self.field_type.check(&value)?;
        }
        Ok(AnyValue::json(value))
    }

    fn assign_ids(&self, input: &mut AnyValue, new_id: &mut dyn FnMut() -> String) {
        if let DynamicReducer::Messages = self.reducer {
            update_native(input, |updates: &mut MessageUpdates| updates.assign_ids(&mut || MessageId::from(new_id())));
        }
    }

    fn check_type(&self, state: &AnyState) -> Vec<ValidationError> {
        match self.slot(state) {
            FieldSlot::Json(value) if !value.is_null() => self.field_type.check(value).err().unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn clear(&self, state: &mut AnyState) {
        *self.slot_mut(state) = self.initial();
    }

    fn hide(&self, state: &mut AnyState) {
        *self.slot_mut(state) = FieldSlot::Hidden;
    }

    fn is_null(&self, state: &AnyState) -> bool {
        matches!(self.slot(state), FieldSlot::Json(Value::Null))
    }
}

/// The [`StateOps`] of dynamic states.
pub(crate) struct DynamicStateOps {
    pub(crate) names: Arc<BTreeMap<Arc<str>, usize>>,
    pub(crate) fields: Vec<Arc<DynamicField>>,
}

impl StateOps for DynamicStateOps {
    fn initial(&self) -> Arc<AnyState> {
        Arc::new(DynamicState::new(self.names.clone(), self.fields.iter().map(|field| field.initial()).collect()))
    }

    fn copy(&self, state: &AnyState) -> Arc<AnyState> {
        Arc::new(
            state.downcast_ref::<DynamicState>().expect("a dynamic schema is only used with `DynamicState`").clone(),
        )
    }
}

/// Returns the JSON Schema of a dynamic field.
pub(crate) fn json_schema(field_type: &FieldType) -> Value {
    match field_type {
        FieldType::Messages => {
            serde_json::to_value(schemars::schema_for!(Messages)).unwrap_or_else(|_| json!({ "type": "array" }))
        }
        field_type => field_type.to_json_schema(),
    }
}
