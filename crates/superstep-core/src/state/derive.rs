//! What `#[derive(State)]` expands to: everything of a schema that does not depend on the struct.
//!
//! Not for use by hand, and no part of the public API. Keeps expansions small: a field costs a user's crate one call.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Map;
pub use serde_json::Value;

use super::TypedState;
use crate::datum::{Datum, Opaque};
use crate::field::{Access, Conflict, Field, FieldOps, Flags, TypedField, UntrackedField};
use crate::id::FieldId;
use crate::message::Messages;
use crate::reducer::{FieldValue, Reducer};
use crate::schema::Schema;
use crate::types::{FieldType, Range};
use crate::update::{How, Update, Write};

/// What the attributes of a field say.
#[derive(Default)]
pub struct Declared {
    /// The name.
    pub name: &'static str,
    /// Lifetime and visibility.
    pub flags: Flags,
    /// True when the last of several writers wins.
    pub last_wins: bool,
    /// Values it may have; empty for any.
    pub one_of: Vec<Value>,
    /// Bounds of its value or length.
    pub range: Option<Range>,
}

/// What is known of a field's type beyond its being one.
pub struct Shape<T> {
    /// JSON Schema, where the type has one.
    pub json_schema: Option<Value>,
    /// True of the values that stand for none.
    pub is_absent: fn(&T) -> bool,
}

/// Asks a type what it can do, without asking that it can.
///
/// `(&Probe::<T>::NEW).json_schema()` finds [`HasJsonSchema`] first, and [`LacksJsonSchema`], one reference
/// further away, when that one does not apply.
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// A probe.
    pub const NEW: Self = Self(PhantomData);
}

/// A type that has a JSON Schema.
pub trait HasJsonSchema {
    /// It.
    fn json_schema(&self) -> Option<Value>;
}

impl<T: JsonSchema> HasJsonSchema for Probe<T> {
    fn json_schema(&self) -> Option<Value> {
        // Inlined, because the schema becomes a part of a larger one, where references to its own root would be lost.
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

/// A type that has none.
pub trait LacksJsonSchema {
    /// Nothing.
    fn json_schema(&self) -> Option<Value>;
}

impl<T> LacksJsonSchema for &Probe<T> {
    fn json_schema(&self) -> Option<Value> {
        None
    }
}

/// A type that has a value which stands for none.
pub trait MayBeAbsent<T> {
    /// True of that value.
    fn absence(&self) -> fn(&T) -> bool;
}

impl<T> MayBeAbsent<Option<T>> for Probe<Option<T>> {
    fn absence(&self) -> fn(&Option<T>) -> bool {
        Option::is_none
    }
}

impl MayBeAbsent<Value> for Probe<Value> {
    fn absence(&self) -> fn(&Value) -> bool {
        Value::is_null
    }
}

/// A type that always has a value.
pub trait AlwaysThere<T> {
    /// True of nothing.
    fn absence(&self) -> fn(&T) -> bool;
}

impl<T> AlwaysThere<T> for &Probe<T> {
    fn absence(&self) -> fn(&T) -> bool {
        |_| false
    }
}

/// A type that has a value for new threads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no default value",
    label = "a new thread needs a value here",
    note = "derive `Default` on it, make the field an `Option`, or write `#[state(default = ..)]`"
)]
pub trait Initial {
    /// It.
    fn initial() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> Initial for T {
    fn initial() -> Self {
        Self::default()
    }
}

/// A field that is saved, folded by `R`.
pub fn saved<S, T, R>(declared: Declared, access: Access<S, T>, shape: Shape<T>) -> Field
where
    S: 'static,
    T: FieldValue,
    R: Reducer<T>,
{
    let initial = (access.initial)();
    let default = if (shape.is_absent)(&initial) { None } else { serde_json::to_value(&initial).ok() };
    let is_messages = TypeId::of::<T>() == TypeId::of::<Messages>();
    let kind = is_messages.then_some(FieldType::Messages);
    let ops = Arc::new(TypedField::<S, T, R>::new(access, shape.is_absent));
    let reducer = Some(R::name()).filter(|name| name != "replace");
    let field = field(declared, kind, shape.json_schema, ops);
    Field { reducer, default, fallible: field.fallible || R::FALLIBLE, ..field }
}

/// A field that is never saved.
pub fn untracked<S, T>(declared: Declared, access: Access<S, T>, shape: Shape<T>) -> Field
where
    S: 'static,
    T: Clone + Send + Sync + 'static,
{
    let field = field(declared, None, shape.json_schema, Arc::new(UntrackedField::new(access)));
    // It refuses plain data.
    Field { fallible: true, ..field }
}

fn field(declared: Declared, kind: Option<FieldType>, schema: Option<Value>, ops: Arc<dyn FieldOps>) -> Field {
    let Declared { name, flags, last_wins, one_of, range } = declared;
    let json_schema = schema.unwrap_or_else(|| Value::Object(Map::new()));
    Field {
        name: name.into(),
        kind: kind.unwrap_or_else(|| FieldType::from_json_schema(&json_schema)),
        reducer: None,
        default: None,
        flags,
        conflict: if last_wins { Conflict::LastWins } else { Conflict::Refuse },
        fallible: !one_of.is_empty() || range.is_some(),
        one_of,
        range,
        json_schema,
        checked: false,
        ops,
    }
}

/// The schema of a struct whose names the derive has checked.
pub fn schema<S>(name: &str, version: u32, fields: Vec<Field>, initial: fn() -> S) -> Arc<Schema>
where
    S: Clone + Send + Sync + 'static,
{
    let schema = Schema::new(name, version, fields, Arc::new(TypedState(initial)));
    Arc::new(schema.expect("the derive refuses names that a schema refuses"))
}

/// A value for an untracked field.
pub fn opaque<T: Clone + Send + Sync + 'static>(value: T) -> (How, Datum) {
    (How::Reduce, Datum::live(Opaque(value)))
}

/// Adds a write to an update.
pub fn push(update: &mut Update, field: u32, (how, value): (How, Datum)) {
    update.push(Write { field: FieldId(field), how, value });
}

/// Adds a write to an update, in place of earlier ones to the same field.
pub fn replace(update: &mut Update, field: u32, (how, value): (How, Datum)) {
    update.replace(Write { field: FieldId(field), how, value });
}
