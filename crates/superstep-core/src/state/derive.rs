//! Support code of `#[derive(GraphState)]`: everything of a schema that does not depend on the struct.
//!
//! Not for use by hand, and not part of the public API. Keeps expansions small: a field costs one call in the
//! user's crate.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Map;
pub use serde_json::Value;

use super::TypedState;
use crate::field::{ConflictPolicy, Field, FieldAccess, FieldFlags, FieldOps, TypedField, UntrackedField};
use crate::id::FieldId;
use crate::message::Messages;
use crate::reducer::{FieldValue, Reducer};
use crate::schema::Schema;
use crate::types::{Bounds, FieldType};
use crate::update::{Update, Write, WriteMode};
use crate::value::{AnyValue, Unserialized};

/// The attributes of a field.
#[derive(Default)]
pub struct FieldDeclaration {
    /// Name of the field.
    pub name: &'static str,
    /// Lifetime and visibility.
    pub flags: FieldFlags,
    /// True if the last of several writers wins.
    pub last_wins: bool,
    /// Allowed values; empty for any.
    pub one_of: Vec<Value>,
    /// Bounds of the value or of its length.
    pub range: Option<Bounds>,
}

/// The properties of a field's type.
pub struct FieldTypeInfo<T> {
    /// JSON Schema, if the type has one.
    pub json_schema: Option<Value>,
    /// Returns true for the values that represent absence.
    pub is_absent: fn(&T) -> bool,
}

/// Probes a type for optional traits, without requiring them.
///
/// `(&TypeProbe::<T>::NEW).json_schema()` finds [`HasJsonSchema`] first, and [`LacksJsonSchema`], one reference further
/// away, if the former does not apply.
pub struct TypeProbe<T>(PhantomData<fn() -> T>);

impl<T> TypeProbe<T> {
    /// Probe for the type `T`.
    pub const NEW: Self = Self(PhantomData);
}

/// A type with a JSON Schema.
pub trait HasJsonSchema {
    /// Returns the JSON Schema.
    fn json_schema(&self) -> Option<Value>;
}

impl<T: JsonSchema> HasJsonSchema for TypeProbe<T> {
    fn json_schema(&self) -> Option<Value> {
        // Inlined, because the schema becomes part of a larger one, where references to its own root would be lost.
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut generator = settings.into_generator();
        let mut schema = generator.subschema_for::<T>();
        let definitions = generator.take_definitions(true);
        if !definitions.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Some(schema.to_value())
    }
}

/// A type without a JSON Schema.
pub trait LacksJsonSchema {
    /// Returns `None`.
    fn json_schema(&self) -> Option<Value>;
}

impl<T> LacksJsonSchema for &TypeProbe<T> {
    fn json_schema(&self) -> Option<Value> {
        None
    }
}

/// A type with a value that represents absence.
pub trait OptionalValue<T> {
    /// Returns a function that is true for that value.
    fn absence(&self) -> fn(&T) -> bool;
}

impl<T> OptionalValue<Option<T>> for TypeProbe<Option<T>> {
    fn absence(&self) -> fn(&Option<T>) -> bool {
        Option::is_none
    }
}

impl OptionalValue<Value> for TypeProbe<Value> {
    fn absence(&self) -> fn(&Value) -> bool {
        Value::is_null
    }
}

/// A type that always has a value.
pub trait RequiredValue<T> {
    /// Returns a function that is always false.
    fn absence(&self) -> fn(&T) -> bool;
}

impl<T> RequiredValue<T> for &TypeProbe<T> {
    fn absence(&self) -> fn(&T) -> bool {
        |_| false
    }
}

/// A type with a value for new threads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no default value",
    label = "a new thread requires an initial value for this field",
    note = "derive `Default` for it, make the field an `Option`, or use `#[state(default = ..)]`"
)]
pub trait InitialValue {
    /// Returns the value of a new thread.
    fn initial() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> InitialValue for T {
    fn initial() -> Self {
        Self::default()
    }
}

/// Declares a saved field with the reducer `R`.
pub fn tracked_field<S, T, R>(
    declaration: FieldDeclaration,
    access: FieldAccess<S, T>,
    type_info: FieldTypeInfo<T>,
) -> Field
where
    S: 'static,
    T: FieldValue,
    R: Reducer<T>,
{
    let initial = (access.initial)();
    let default = if (type_info.is_absent)(&initial) { None } else { serde_json::to_value(&initial).ok() };
    let is_messages = TypeId::of::<T>() == TypeId::of::<Messages>();
    let kind = is_messages.then_some(FieldType::Messages);
    let ops = Arc::new(TypedField::<S, T, R>::new(access, type_info.is_absent));
    let reducer = Some(R::name()).filter(|name| name != "replace");
    let field = field(declaration, kind, type_info.json_schema, ops);
    Field { reducer, default, is_fallible: field.is_fallible || R::FALLIBLE, ..field }
}

/// Declares a field that is never saved.
pub fn untracked_field<S, T>(
    declaration: FieldDeclaration,
    access: FieldAccess<S, T>,
    type_info: FieldTypeInfo<T>,
) -> Field
where
    S: 'static,
    T: Clone + Send + Sync + 'static,
{
    let field = field(declaration, None, type_info.json_schema, Arc::new(UntrackedField::new(access)));
    // An untracked field rejects plain data.
    Field { is_fallible: true, ..field }
}

fn field(
    declaration: FieldDeclaration,
    kind: Option<FieldType>,
    schema: Option<Value>,
    ops: Arc<dyn FieldOps>,
) -> Field {
    let FieldDeclaration { name, flags, last_wins, one_of, range } = declaration;
    let json_schema = schema.unwrap_or_else(|| Value::Object(Map::new()));
    Field {
        name: name.into(),
        field_type: kind.unwrap_or_else(|| FieldType::from_json_schema(&json_schema)),
        reducer: None,
        default: None,
        flags,
        conflict: if last_wins { ConflictPolicy::LastWins } else { ConflictPolicy::Reject },
        is_fallible: !one_of.is_empty() || range.is_some(),
        one_of,
        range,
        json_schema,
        is_type_checked: false,
        ops,
    }
}

/// Returns the schema of a struct whose names the derive has checked.
pub fn schema<S>(name: &str, version: u32, fields: Vec<Field>, initial: fn() -> S) -> Arc<Schema>
where
    S: Clone + Send + Sync + 'static,
{
    let schema = Schema::new(name, version, fields, Arc::new(TypedState(initial)));
    Arc::new(schema.expect("the derive macro rejects every name that a schema rejects"))
}

/// Wraps a value for an untracked field.
pub fn opaque<T: Clone + Send + Sync + 'static>(value: T) -> (WriteMode, AnyValue) {
    (WriteMode::Reduce, AnyValue::native(Unserialized(value)))
}

/// Adds a write to an update.
pub fn push(update: &mut Update, field: u32, (mode, value): (WriteMode, AnyValue)) {
    update.push(Write { field: FieldId(field), mode, value });
}

/// Adds a write to an update, in place of earlier ones to the same field.
pub fn replace(update: &mut Update, field: u32, (mode, value): (WriteMode, AnyValue)) {
    update.replace(Write { field: FieldId(field), mode, value });
}
