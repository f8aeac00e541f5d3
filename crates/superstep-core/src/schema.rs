//! The schema of a state: its fields with their reducers, types and JSON Schema.
//!
//! A schema validates external values and describes itself. It holds no values: those are in states.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::error::{Diagnostic, Error, ErrorCode, Result};
use crate::field::{AnyState, ConflictPolicy, Field};
use crate::id::FieldId;
use crate::json_reducer::as_overwrite;
use crate::state::StateOps;
use crate::suggest::did_you_mean;
use crate::update::{Update, Write, WriteMode};
use crate::validation_error::ValidationError;

mod builder;

pub use builder::{FieldBuilder, SchemaBuilder, field};

/// The policy for names that the schema does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownFields {
    /// Returns an error that names the key and the nearest field name.
    #[default]
    Reject,
    /// Keeps the value, without a reducer. Dynamic states only.
    Allow,
    /// Drops the value with a warning.
    Drop,
}

/// The strictness of type checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TypeChecks {
    /// A wrong type is an error.
    #[default]
    Enforce,
    /// A wrong type is a warning, and the value is accepted.
    Warn,
    /// Types are not checked.
    Off,
}

/// The fields of a state.
pub struct Schema {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) fields: Vec<Field>,
    pub(crate) by_name: BTreeMap<Arc<str>, FieldId>,
    pub(crate) unknown: UnknownFields,
    pub(crate) types: TypeChecks,
    pub(crate) ephemeral: Vec<FieldId>,
    pub(crate) private: Vec<FieldId>,
    /// Fields whose first write is tracked.
    pub(crate) tracked_writes: Vec<FieldId>,
    pub(crate) undeclared_field: Option<FieldId>,
    pub(crate) ops: Arc<dyn StateOps>,
}

impl Schema {
    /// Creates a schema of these fields.
    ///
    /// # Errors
    /// Returns an error that lists every name that is empty, reserved or repeated.
    pub fn new(name: impl Into<String>, version: u32, fields: Vec<Field>, ops: Arc<dyn StateOps>) -> Result<Self> {
        let name = name.into();
        let diagnostics = name_diagnostics(fields.iter().map(|field| &field.name));
        if !diagnostics.is_empty() {
            return Err(Error::with_diagnostics(
                ErrorCode::InvalidGraph,
                format!("schema `{name}` is invalid"),
                diagnostics,
            ));
        }
        let by_name = fields.iter().enumerate().map(|(index, field)| (field.name.clone(), FieldId(index as u32)));
        let by_name = by_name.collect();
        let ids_where = |predicate: fn(&Field) -> bool| {
            let all = fields.iter().enumerate().filter(|(_, field)| predicate(field));
            all.map(|(index, _)| FieldId(index as u32)).collect()
        };
        let (ephemeral, private) = (ids_where(|field| field.flags.ephemeral), ids_where(|field| field.flags.private));
        let tracked = ids_where(|field| field.flags.set_once || field.flags.ephemeral || field.flags.required);
        let (unknown, types) = (UnknownFields::Reject, TypeChecks::Enforce);
        Ok(Self {
            name,
            version,
            fields,
            by_name,
            unknown,
            types,
            ephemeral,
            private,
            tracked_writes: tracked,
            undeclared_field: None,
            ops,
        })
    }

    /// Returns the name of the state.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version of the schema.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the fields in the order they were declared.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the field with this id.
    #[must_use]
    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.index()]
    }

    /// Returns the id of the field with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<FieldId> {
        self.by_name.get(name).copied()
    }

    /// Iterates over the fields with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (FieldId, &Field)> {
        self.fields.iter().enumerate().map(|(index, field)| (FieldId(index as u32), field))
    }

    /// Returns name, type, reducer, default and flags of every field.
    #[must_use]
    pub fn describe(&self) -> Value {
        self.declared().map(Field::describe).collect()
    }

    /// Iterates over the declared fields, without the slot of undeclared ones.
    fn declared(&self) -> impl Iterator<Item = &Field> + Clone {
        let declared = self.undeclared_field.map_or(self.fields.len(), FieldId::index);
        self.fields[..declared].iter()
    }

    /// Returns the id of the declared field with this name.
    fn find_declared(&self, name: &str) -> Option<FieldId> {
        self.find(name).filter(|id| self.undeclared_field != Some(*id))
    }

    /// Returns the state of a new thread: every field has its own copy of its default.
    #[must_use]
    pub fn initial_state(&self) -> Arc<AnyState> {
        self.ops.initial()
    }

    /// Returns a copy of a state.
    #[must_use]
    pub fn copy(&self, state: &Arc<AnyState>) -> Arc<AnyState> {
        self.ops.copy(&**state)
    }

    /// Returns every saved field of a state as one JSON object.
    ///
    /// # Errors
    /// Returns an error that names the field if a value cannot be written as JSON.
    pub fn to_json(&self, state: &AnyState) -> Result<Value> {
        self.to_json_of(state, |field| !field.flags.untracked)
    }

    /// Returns the fields that `select` selects, as one JSON object.
    ///
    /// # Errors
    /// Returns an error that names the field if a value cannot be written as JSON.
    pub fn to_json_of(&self, state: &AnyState, select: impl Fn(&Field) -> bool) -> Result<Value> {
        let mut object = Map::new();
        for (id, field) in self.iter().filter(|(_, field)| select(field)) {
            let value = field.ops.to_json(state).map_err(|error| {
                Error::new(
                    ErrorCode::TypeMismatch,
                    format!("failed to serialize field `{}` as JSON: {error}", field.name),
                )
            })?;
            match value {
                Value::Object(extras) if self.undeclared_field == Some(id) => object.extend(extras),
                value => drop(object.insert(field.name.to_string(), value)),
            }
        }
        Ok(Value::Object(object))
    }

    /// Parses a state from the JSON object that [`Schema::to_json`] writes; absent fields have their default.
    ///
    /// # Errors
    /// Returns an error that lists every field that cannot be parsed.
    pub fn state_from_json(&self, object: Map<String, Value>) -> Result<Arc<AnyState>> {
        let mut state = self.initial_state();
        let target = Arc::get_mut(&mut state).expect("a new state has a single owner");
        let (mut diagnostics, mut undeclared) = (Vec::new(), Map::new());
        for (name, value) in object.into_iter().collect::<BTreeMap<_, _>>() {
            let Some(id) = self.find_declared(&name) else {
                match self.unknown {
                    UnknownFields::Allow => drop(undeclared.insert(name, value)),
                    UnknownFields::Drop => {}
                    UnknownFields::Reject => diagnostics.push(self.unknown_field(&name)),
                }
                continue;
            };
            let ops = &self.field(id).ops;
            let parsed = ops.parse_value(value);
            match parsed.and_then(|value| ops.overwrite(target, value).map_err(|error| vec![error])) {
                Ok(_) => {}
                Err(errors) => diagnostics.extend(errors.into_iter().map(|error| diagnostic_below(&name, error))),
            }
        }
        if let Some(extras) = self.undeclared_field.filter(|_| !undeclared.is_empty()) {
            let result = self.field(extras).ops.overwrite(target, Value::Object(undeclared).into());
            diagnostics.extend(result.err().map(Diagnostic::from));
        }
        if diagnostics.is_empty() {
            Ok(state)
        } else {
            Err(Error::with_diagnostics(ErrorCode::TypeMismatch, "the state does not match the schema", diagnostics))
        }
    }

    /// Parses an external update: names, types, `Overwrite` markers. Adds warnings to `warnings`.
    ///
    /// # Errors
    /// Returns all validation errors, with JSON pointers.
    pub fn update_from_json(
        &self,
        object: Map<String, Value>,
        warnings: &mut Vec<String>,
    ) -> Result<Update, Vec<Diagnostic>> {
        let (mut update, mut diagnostics) = (Update::new(), Vec::new());
        for (name, value) in object {
            let Some(id) = self.find_declared(&name) else {
                self.parse_unknown_field(&name, value, &mut update, warnings)
                    .unwrap_or_else(|diagnostic| diagnostics.push(diagnostic));
                continue;
            };
            let field = self.field(id);
            let (mode, parsed) = match as_overwrite(value) {
                Ok(value) => (WriteMode::Overwrite, field.ops.parse_value(value)),
                Err(value) => (WriteMode::Reduce, field.ops.parse_update(value)),
            };
            match parsed {
                Ok(value) => update.push(Write { field: id, mode, value }),
                Err(errors) => diagnostics.extend(errors.into_iter().map(|error| diagnostic_below(&name, error))),
            }
        }
        if diagnostics.is_empty() { Ok(update) } else { Err(diagnostics) }
    }

    fn parse_unknown_field(
        &self,
        name: &str,
        value: Value,
        update: &mut Update,
        warnings: &mut Vec<String>,
    ) -> Result<(), Diagnostic> {
        match (self.unknown, self.undeclared_field) {
            (UnknownFields::Allow, Some(field)) => {
                // Without a reducer an overwrite is an ordinary write.
                let value = as_overwrite(value).unwrap_or_else(|value| value);
                let value = json!({ name: value }).into();
                update.push(Write { field, mode: WriteMode::Reduce, value });
                Ok(())
            }
            (UnknownFields::Drop, _) => {
                warnings.push(format!("field `{name}` is not in schema `{}` and was dropped", self.name));
                Ok(())
            }
            _ => Err(self.unknown_field(name)),
        }
    }

    /// Returns the diagnostic for a name that is not in the schema, with the nearest name that is.
    #[must_use]
    pub fn unknown_field(&self, name: &str) -> Diagnostic {
        let names = self.declared().map(|field| &*field.name);
        let help = did_you_mean(name, names.clone()).unwrap_or_else(|| {
            format!("the fields are {}", names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        });
        Diagnostic { pointer: pointer(name), message: format!("no field `{name}`"), help: Some(help) }
    }

    /// Returns the JSON Schema of the fields that `select` selects.
    pub fn json_schema(&self, select: impl Fn(&Field) -> bool) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in self.declared().filter(|field| select(field) && !field.flags.untracked) {
            let mut schema = field.json_schema();
            if let (Some(object), Some(default)) = (schema.as_object_mut(), &field.default) {
                object.insert("default".to_owned(), default.clone());
            }
            properties.insert(field.name.to_string(), schema);
            if field.flags.required {
                required.push(field.name.to_string());
            }
        }
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.name,
            "type": "object",
            "properties": properties,
            "additionalProperties": self.unknown != UnknownFields::Reject,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    /// Returns true if a field has no reducer and rejects a second writer in a superstep.
    pub(crate) fn rejects_second_writer(&self, id: FieldId) -> bool {
        let field = self.field(id);
        field.reducer.is_none() && field.conflict == ConflictPolicy::Reject
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema {} {}", self.name, self.describe())
    }
}

/// Returns the JSON pointer of a field.
fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Converts an error of a value into a diagnostic with a pointer below its field.
fn diagnostic_below(name: &str, error: ValidationError) -> Diagnostic {
    Diagnostic { pointer: pointer(name) + &error.pointer, message: error.message, help: error.help }
}

/// Returns a diagnostic for every name that is empty, reserved or repeated.
fn name_diagnostics<'a>(names: impl IntoIterator<Item = &'a Arc<str>>) -> Vec<Diagnostic> {
    let (mut diagnostics, mut seen) = (Vec::new(), BTreeSet::new());
    for name in names {
        diagnostics.extend(name_error(name).map(|message| diagnostic_below(name, ValidationError::new(message))));
        if !seen.insert(name) {
            let error =
                ValidationError::new(format!("duplicate field `{name}`")).with_help("rename or remove one of them");
            diagnostics.push(diagnostic_below(name, error));
        }
    }
    diagnostics
}

fn name_error(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("the name of a field is empty".to_owned());
    }
    name.starts_with("__").then(|| format!("field name `{name}` is reserved: names must not start with `__`"))
}

#[cfg(test)]
mod tests;
