//! Schemas declared at run time: by builder calls, or as a JSON or TOML map.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Schema, TypeChecks, UnknownFields};
use crate::canonical::in_order;
use crate::error::{Code, Error, Problem, Result};
use crate::fault::Fault;
use crate::field::{Conflict, Field, Flags, read};
use crate::id::FieldId;
use crate::json_reducer::JsonReducer;
use crate::message::Messages;
use crate::record::{Default, RecordField, RecordOps, Rule, json_schema};
use crate::types::{FieldType, Range};

mod options;

/// One field of a schema in the making. Starts with [`field`].
#[must_use = "give the field to a schema"]
pub struct FieldBuilder {
    name: Arc<str>,
    kind: FieldType,
    rule: Option<Rule>,
    default: Option<Default>,
    flags: Flags,
    conflict: Option<Conflict>,
    one_of: Vec<Value>,
    range: Option<Range>,
    problems: Vec<Fault>,
}

/// A field without options: any type, keeps the last value, no default.
pub fn field(name: impl Into<Arc<str>>) -> FieldBuilder {
    FieldBuilder {
        name: name.into(),
        kind: FieldType::Any,
        rule: None,
        default: None,
        flags: Flags::default(),
        conflict: None,
        one_of: Vec::new(),
        range: None,
        problems: Vec::new(),
    }
}

impl FieldBuilder {
    /// The type.
    pub fn kind(mut self, kind: FieldType) -> Self {
        self.kind = kind;
        self
    }

    /// A built-in reducer by name, such as `"add"` or `"keep_last:10"`.
    pub fn reducer(self, name: &str) -> Self {
        self.reducer_value(&Value::from(name))
    }

    fn reducer_value(mut self, name: &Value) -> Self {
        if name == "add_messages" {
            self.rule = Some(Rule::Messages);
            return self;
        }
        match JsonReducer::from_data(name) {
            Ok(JsonReducer::SetOnce) => self.flags.set_once = true,
            Ok(JsonReducer::OneOf(values)) => self.one_of = values,
            Ok(reducer) => self.rule = Some(Rule::Named(reducer)),
            Err(fault) => self.problems.push(fault.at("/reducer")),
        }
        self
    }

    /// A reducer of your own: `(current, update) -> merged`.
    pub fn reduce_with(mut self, fold: impl Fn(Value, Value) -> Result<Value, Fault> + Send + Sync + 'static) -> Self {
        self.rule = Some(Rule::Custom(Arc::new(fold)));
        self
    }

    /// The value of a new thread; every thread gets its own copy.
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(Default::Value(value.into()));
        self
    }

    /// A function that makes the value of a new thread.
    pub fn default_with(mut self, make: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        self.default = Some(Default::Function(Arc::new(make)));
        self
    }

    /// Not in input, output or the values stream.
    pub fn private(mut self) -> Self {
        self.flags.private = true;
        self
    }

    /// The first value written on a thread stays.
    pub fn set_once(mut self) -> Self {
        self.flags.set_once = true;
        self
    }

    /// Readable in the run, never saved.
    pub fn untracked(mut self) -> Self {
        self.flags.untracked = true;
        self
    }

    /// Visible for exactly one following superstep.
    pub fn ephemeral(mut self) -> Self {
        self.flags.ephemeral = true;
        self
    }

    /// Must be given with the first input.
    pub fn required(mut self) -> Self {
        self.flags.required = true;
        self
    }

    /// Of several writes in one superstep the last in the fixed order wins.
    pub fn last_wins(mut self) -> Self {
        self.conflict = Some(Conflict::LastWins);
        self
    }

    /// The values it may have.
    pub fn one_of(mut self, values: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        self.one_of = values.into_iter().map(Into::into).collect();
        self
    }

    /// Bounds of a number, or of the length of a text or list.
    pub fn range(mut self, min: Option<f64>, max: Option<f64>) -> Self {
        match Range::new(min, max) {
            Ok(range) => self.range = Some(range),
            Err(fault) => self.problems.push(fault),
        }
        self
    }

    /// Everything that is wrong with the field, under its name.
    fn problems(&self, types: TypeChecks) -> Vec<Problem> {
        let is_messages = matches!(self.rule, Some(Rule::Messages)) || self.kind == FieldType::Messages;
        let default = match &self.default {
            Some(Default::Value(value)) if !value.is_null() => Some(value.clone()),
            _ => None,
        };
        let checked = match default {
            Some(value) if is_messages => read::<Messages>(value).map(drop),
            Some(value) if types == TypeChecks::Enforce => self.kind.check(&value),
            _ => Ok(()),
        };
        let faults = checked.err().unwrap_or_default();
        let is_list = matches!(self.kind, FieldType::Any | FieldType::Array | FieldType::Messages);
        let misfit = (is_messages && !is_list).then(|| {
            Fault::new("the reducer `add_messages` folds a list of messages").help("give the field the type `messages`")
        });
        let in_default = faults.into_iter().map(|fault| {
            let place = format!("/default{}", fault.pointer);
            fault.at(place)
        });
        self.problems
            .iter()
            .cloned()
            .chain(misfit)
            .chain(in_default)
            .map(|fault| super::below(&self.name, fault))
            .collect()
    }

    fn build(self, index: usize, types: TypeChecks, conflict: Conflict) -> (Field, Arc<RecordField>) {
        // Somebody who names `replace` wants the last of several writes; without a reducer they are a conflict.
        let is_named = self.rule.is_some();
        let rule = self.rule.unwrap_or(match self.kind {
            FieldType::Messages => Rule::Messages,
            _ => Rule::Named(JsonReducer::Replace),
        });
        let reducer = match &rule {
            Rule::Named(JsonReducer::Replace) if !is_named => None,
            Rule::Named(reducer) => Some(reducer.name()),
            Rule::Custom(_) => Some("custom".to_owned()),
            Rule::Messages => Some("add_messages".to_owned()),
        };
        let kind = if matches!(rule, Rule::Messages) { FieldType::Messages } else { self.kind };
        let checked = types != TypeChecks::Off && !matches!(kind, FieldType::Any | FieldType::Messages);
        let fallible = checked
            || !self.one_of.is_empty()
            || self.range.is_some()
            || match &rule {
                Rule::Named(reducer) => reducer.is_fallible(),
                Rule::Custom(_) | Rule::Messages => true,
            };
        let default = self.default.clone().unwrap_or(Default::Value(Value::Null));
        let ops = Arc::new(RecordField { index, kind: kind.clone(), rule, types, default });
        let shown_default = self.default.as_ref().map(Default::make);
        let json_schema = json_schema(&kind);
        let conflict = self.conflict.unwrap_or(conflict);
        let Self { name, flags, one_of, range, .. } = self;
        let field = Field {
            name,
            kind,
            reducer,
            default: shown_default,
            flags,
            conflict,
            one_of,
            range,
            json_schema,
            fallible,
            checked,
            ops: ops.clone(),
        };
        (field, ops)
    }
}

/// A schema in the making.
#[must_use = "call `build`"]
pub struct SchemaBuilder {
    name: String,
    version: u32,
    fields: Vec<FieldBuilder>,
    unknown: UnknownFields,
    types: TypeChecks,
    conflict: Conflict,
    problems: Vec<Problem>,
}

impl Schema {
    /// Declares a dynamic state, field by field.
    ///
    /// ```
    /// use superstep_core::schema::{Schema, field};
    /// use superstep_core::types::FieldType;
    /// let schema = Schema::builder("ticket")
    ///     .field(field("tags").kind(FieldType::Array).reducer("set_union").default(serde_json::json!([])))
    ///     .field(field("status"))
    ///     .build()?;
    /// assert_eq!(schema.fields().len(), 2);
    /// # Ok::<(), superstep_core::error::Error>(())
    /// ```
    pub fn builder(name: impl Into<String>) -> SchemaBuilder {
        SchemaBuilder {
            name: name.into(),
            version: 1,
            fields: Vec::new(),
            unknown: UnknownFields::default(),
            types: TypeChecks::default(),
            conflict: Conflict::default(),
            problems: Vec::new(),
        }
    }

    /// Declares a dynamic state as a map from field names to options (`type`, `reducer`, `default`, …).
    ///
    /// A value that is not a map means a field without options.
    ///
    /// # Errors
    /// Lists every problem with its JSON pointer.
    pub fn from_json(name: impl Into<String>, map: &Value) -> Result<Arc<Self>> {
        Self::builder(name).fields_from_json(map).build()
    }

    /// As [`Schema::from_json`], from TOML text.
    ///
    /// # Errors
    /// When the text is not TOML, or lists every problem with its JSON pointer.
    pub fn from_toml(name: impl Into<String>, text: &str) -> Result<Arc<Self>> {
        let map: Value = toml::from_str(text).map_err(|error| Error::new(Code::InvalidGraph, error.to_string()))?;
        Self::from_json(name, &map)
    }
}

impl SchemaBuilder {
    /// Adds a field.
    pub fn field(mut self, field: FieldBuilder) -> Self {
        self.fields.push(field);
        self
    }

    /// Adds the fields of a map from names to options, in the order of their names.
    pub fn fields_from_json(mut self, map: &Value) -> Self {
        let Some(map) = map.as_object() else {
            self.problems.push(Fault::new("a schema is a map from field names to options").into());
            return self;
        };
        for (name, options) in in_order(map) {
            self.fields.push(match options {
                Value::Object(options) => FieldBuilder::from_options(name, options),
                _ => field(name.as_str()),
            });
        }
        self
    }

    /// The version of the state's shape; 1 unless told.
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// What happens to names the schema does not have.
    pub fn unknown_fields(mut self, unknown: UnknownFields) -> Self {
        self.unknown = unknown;
        self
    }

    /// How strictly types are checked.
    pub fn type_checks(mut self, types: TypeChecks) -> Self {
        self.types = types;
        self
    }

    /// What happens when two tasks of a superstep write one field that has no reducer.
    pub fn on_conflict(mut self, conflict: Conflict) -> Self {
        self.conflict = conflict;
        self
    }

    /// The schema.
    ///
    /// # Errors
    /// Lists every problem with its JSON pointer.
    pub fn build(mut self) -> Result<Arc<Schema>> {
        self.problems.extend(super::name_problems(self.fields.iter().map(|field| &field.name)));
        self.problems.extend(self.fields.iter().flat_map(|field| field.problems(self.types)));
        if !self.problems.is_empty() {
            return Err(Error::listing(
                Code::InvalidGraph,
                format!("schema `{}` is not valid", self.name),
                self.problems,
            ));
        }
        let names: BTreeMap<Arc<str>, usize> =
            self.fields.iter().enumerate().map(|(index, field)| (field.name.clone(), index)).collect();
        let declared = self.fields.len();
        let allows_more = self.unknown == UnknownFields::Allow;
        let extras = allows_more.then(|| field("__extras__").reducer("merge").default(Value::Object(Map::new())));
        let built = self.fields.into_iter().chain(extras).enumerate();
        let (mut fields, ops): (Vec<Field>, Vec<Arc<RecordField>>) =
            built.map(|(index, field)| field.build(index, self.types, self.conflict)).unzip();
        let extras = allows_more.then(|| fields.pop()).flatten();
        let ops = Arc::new(RecordOps { names: Arc::new(names), fields: ops });
        let mut schema = Schema::new(self.name, self.version, fields, ops)?;
        if let Some(extras) = extras {
            schema.by_name.insert(extras.name.clone(), FieldId(declared as u32));
            schema.extras = Some(FieldId(declared as u32));
            schema.fields.push(extras);
        }
        (schema.unknown, schema.types) = (self.unknown, self.types);
        Ok(Arc::new(schema))
    }
}
