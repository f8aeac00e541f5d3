//! Which fields a state has, with their reducers, types and JSON schema.
//!
//! A schema checks what comes from outside and describes itself. It holds no values: those are in states.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::error::{Code, Error, Problem, Result};
use crate::fault::Fault;
use crate::field::{AnyState, Conflict, Field};
use crate::id::FieldId;
use crate::json_reducer::as_overwrite;
use crate::state::StateOps;
use crate::suggest::did_you_mean;
use crate::update::{How, Update, Write};

mod builder;

pub use builder::{FieldBuilder, SchemaBuilder, field};

/// What happens to names the schema does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownFields {
    /// An error that names the key and the nearest known name.
    #[default]
    Refuse,
    /// Kept, without a reducer. Dynamic states only.
    Allow,
    /// Left out, with a warning.
    Drop,
}

/// How strictly types are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TypeChecks {
    /// A wrong type is an error.
    #[default]
    Enforce,
    /// A wrong type is a warning, and the value is taken.
    Warn,
    /// Types are not looked at.
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
    /// Fields for which it matters whether they were ever written.
    pub(crate) remembered: Vec<FieldId>,
    pub(crate) extras: Option<FieldId>,
    pub(crate) ops: Arc<dyn StateOps>,
}

impl Schema {
    /// A schema of these fields.
    ///
    /// # Errors
    /// Lists every name that is empty, reserved or given twice.
    pub fn new(name: impl Into<String>, version: u32, fields: Vec<Field>, ops: Arc<dyn StateOps>) -> Result<Self> {
        let name = name.into();
        let problems = name_problems(fields.iter().map(|field| &field.name));
        if !problems.is_empty() {
            return Err(Error::listing(Code::InvalidGraph, format!("schema `{name}` is not valid"), problems));
        }
        let by_name = fields.iter().enumerate().map(|(index, field)| (field.name.clone(), FieldId(index as u32)));
        let by_name = by_name.collect();
        let with = |wanted: fn(&Field) -> bool| {
            let all = fields.iter().enumerate().filter(|(_, field)| wanted(field));
            all.map(|(index, _)| FieldId(index as u32)).collect()
        };
        let (ephemeral, private) = (with(|field| field.flags.ephemeral), with(|field| field.flags.private));
        let remembered = with(|field| field.flags.set_once || field.flags.ephemeral || field.flags.required);
        let (unknown, types) = (UnknownFields::Refuse, TypeChecks::Enforce);
        Ok(Self { name, version, fields, by_name, unknown, types, ephemeral, private, remembered, extras: None, ops })
    }

    /// The name of the state.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the state's shape.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The fields in the order they were declared.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// One field.
    #[must_use]
    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.index()]
    }

    /// The field of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<FieldId> {
        self.by_name.get(name).copied()
    }

    /// Each field with its id.
    pub fn iter(&self) -> impl Iterator<Item = (FieldId, &Field)> {
        self.fields.iter().enumerate().map(|(index, field)| (FieldId(index as u32), field))
    }

    /// Name, type, reducer, default and flags of every field.
    #[must_use]
    pub fn describe(&self) -> Value {
        self.declared().map(Field::describe).collect()
    }

    /// The fields somebody declared: all but the slot of undeclared ones.
    fn declared(&self) -> impl Iterator<Item = &Field> + Clone {
        let declared = self.extras.map_or(self.fields.len(), FieldId::index);
        self.fields[..declared].iter()
    }

    /// The declared field of that name.
    fn find_declared(&self, name: &str) -> Option<FieldId> {
        self.find(name).filter(|id| self.extras != Some(*id))
    }

    /// The state of a new thread: every field has its own copy of its default.
    #[must_use]
    pub fn initial_state(&self) -> Arc<AnyState> {
        self.ops.initial()
    }

    /// A copy of a state.
    #[must_use]
    pub fn copy(&self, state: &Arc<AnyState>) -> Arc<AnyState> {
        self.ops.copy(&**state)
    }

    /// Every saved field of a state as one JSON object.
    ///
    /// # Errors
    /// When a value cannot be written as JSON; names the field.
    pub fn to_json(&self, state: &AnyState) -> Result<Value> {
        self.to_json_of(state, |field| !field.flags.untracked)
    }

    /// The fields that `wanted` picks, as one JSON object.
    ///
    /// # Errors
    /// When a value cannot be written as JSON; names the field.
    pub fn to_json_of(&self, state: &AnyState, wanted: impl Fn(&Field) -> bool) -> Result<Value> {
        let mut object = Map::new();
        for (id, field) in self.iter().filter(|(_, field)| wanted(field)) {
            let value = field.ops.to_json(state).map_err(|fault| {
                Error::new(Code::TypeMismatch, format!("field `{}` cannot be written as JSON: {fault}", field.name))
            })?;
            match value {
                Value::Object(extras) if self.extras == Some(id) => object.extend(extras),
                value => drop(object.insert(field.name.to_string(), value)),
            }
        }
        Ok(Value::Object(object))
    }

    /// A state read from the JSON object that [`Schema::to_json`] writes; absent fields have their default.
    ///
    /// # Errors
    /// Lists every field that does not read.
    pub fn read_state(&self, object: Map<String, Value>) -> Result<Arc<AnyState>> {
        let mut state = self.initial_state();
        let target = Arc::get_mut(&mut state).expect("a new state has one owner");
        let (mut problems, mut more) = (Vec::new(), Map::new());
        for (name, value) in object.into_iter().collect::<BTreeMap<_, _>>() {
            let Some(id) = self.find_declared(&name) else {
                match self.unknown {
                    UnknownFields::Allow => drop(more.insert(name, value)),
                    UnknownFields::Drop => {}
                    UnknownFields::Refuse => problems.push(self.unknown_field(&name)),
                }
                continue;
            };
            let ops = &self.field(id).ops;
            let read = ops.read_value(value);
            match read.and_then(|value| ops.overwrite(target, value).map_err(|fault| vec![fault])) {
                Ok(_) => {}
                Err(faults) => problems.extend(faults.into_iter().map(|fault| below(&name, fault))),
            }
        }
        if let Some(extras) = self.extras.filter(|_| !more.is_empty()) {
            let kept = self.field(extras).ops.overwrite(target, Value::Object(more).into());
            problems.extend(kept.err().map(Problem::from));
        }
        if problems.is_empty() {
            Ok(state)
        } else {
            Err(Error::listing(Code::TypeMismatch, "the state does not fit", problems))
        }
    }

    /// Reads an update from outside: names, types, `Overwrite` markers. Warnings are added to `notes`.
    ///
    /// # Errors
    /// Everything that is wrong with it, with JSON pointers.
    pub fn read_update(&self, object: Map<String, Value>, notes: &mut Vec<String>) -> Result<Update, Vec<Problem>> {
        let (mut update, mut problems) = (Update::new(), Vec::new());
        for (name, value) in object {
            let Some(id) = self.find_declared(&name) else {
                self.read_unknown(&name, value, &mut update, notes).unwrap_or_else(|problem| problems.push(problem));
                continue;
            };
            let field = self.field(id);
            let (how, read) = match as_overwrite(value) {
                Ok(value) => (How::Overwrite, field.ops.read_value(value)),
                Err(value) => (How::Reduce, field.ops.read_input(value)),
            };
            match read {
                Ok(value) => update.push(Write { field: id, how, value }),
                Err(faults) => problems.extend(faults.into_iter().map(|fault| below(&name, fault))),
            }
        }
        if problems.is_empty() { Ok(update) } else { Err(problems) }
    }

    fn read_unknown(
        &self,
        name: &str,
        value: Value,
        update: &mut Update,
        notes: &mut Vec<String>,
    ) -> Result<(), Problem> {
        match (self.unknown, self.extras) {
            (UnknownFields::Allow, Some(field)) => {
                // Without a reducer there is nothing to go past.
                let value = as_overwrite(value).unwrap_or_else(|value| value);
                let value = json!({ name: value }).into();
                update.push(Write { field, how: How::Reduce, value });
                Ok(())
            }
            (UnknownFields::Drop, _) => {
                notes.push(format!("field `{name}` is not in schema `{}` and was dropped", self.name));
                Ok(())
            }
            _ => Err(self.unknown_field(name)),
        }
    }

    /// The problem that a name is not in the schema, with the nearest one that is.
    #[must_use]
    pub fn unknown_field(&self, name: &str) -> Problem {
        let known = self.declared().map(|field| &*field.name);
        let help = did_you_mean(name, known.clone()).unwrap_or_else(|| {
            format!("the fields are {}", known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        });
        Problem { pointer: pointer(name), message: format!("no field `{name}`"), help: Some(help) }
    }

    /// JSON Schema of the fields that `wanted` picks.
    pub fn json_schema(&self, wanted: impl Fn(&Field) -> bool) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in self.declared().filter(|field| wanted(field) && !field.flags.untracked) {
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
            "additionalProperties": self.unknown != UnknownFields::Refuse,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    /// Whether a field keeps one value and refuses a second writer in a superstep.
    pub(crate) fn is_exclusive(&self, id: FieldId) -> bool {
        let field = self.field(id);
        field.reducer.is_none() && field.conflict == Conflict::Refuse
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema {} {}", self.name, self.describe())
    }
}

/// The JSON pointer of a field.
fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Puts a fault below the field it was found in.
fn below(name: &str, fault: Fault) -> Problem {
    Problem { pointer: pointer(name) + &fault.pointer, message: fault.message, help: fault.help }
}

/// Every name that is empty, reserved or given twice.
fn name_problems<'a>(names: impl IntoIterator<Item = &'a Arc<str>>) -> Vec<Problem> {
    let (mut problems, mut seen) = (Vec::new(), BTreeSet::new());
    for name in names {
        problems.extend(bad_name(name).map(|message| below(name, Fault::new(message))));
        if !seen.insert(name) {
            let fault = Fault::new(format!("field `{name}` is declared twice")).help("rename or remove one of them");
            problems.push(below(name, fault));
        }
    }
    problems
}

fn bad_name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("a field needs a name".to_owned());
    }
    name.starts_with("__").then(|| format!("field name `{name}` is reserved: names do not start with `__`"))
}

#[cfg(test)]
mod tests;
