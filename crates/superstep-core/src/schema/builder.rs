//! Schemas declared at run time: by builder calls, or as a JSON or TOML map.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Schema, TypeChecks, UnknownFields};
use crate::canonical::sorted_entries;
use crate::dynamic_state::{DefaultValue, DynamicField, DynamicReducer, DynamicStateOps, json_schema};
use crate::error::{Diagnostic, Error, ErrorCode, Result};
use crate::field::{ConflictPolicy, Field, FieldFlags, parse_json};
use crate::id::FieldId;
use crate::json_reducer::JsonReducer;
use crate::message::Messages;
use crate::types::{Bounds, FieldType};
use crate::validation_error::ValidationError;

mod field_options;

/// The builder of one field of a schema. Starts with [`field`].
#[must_use = "a field has no effect until it is added to a schema"]
pub struct FieldBuilder {
    name: Arc<str>,
    field_type: FieldType,
    reducer: Option<DynamicReducer>,
    default: Option<DefaultValue>,
    flags: FieldFlags,
    conflict: Option<ConflictPolicy>,
    one_of: Vec<Value>,
    range: Option<Bounds>,
    diagnostics: Vec<ValidationError>,
}

/// Creates a field without options: any type, no reducer, no default.
pub fn field(name: impl Into<Arc<str>>) -> FieldBuilder {
    FieldBuilder {
        name: name.into(),
        field_type: FieldType::Any,
        reducer: None,
        default: None,
        flags: FieldFlags::default(),
        conflict: None,
        one_of: Vec::new(),
        range: None,
        diagnostics: Vec::new(),
    }
}

impl FieldBuilder {
    /// Sets the type.
    pub fn field_type(mut self, field_type: FieldType) -> Self {
        self.field_type = field_type;
        self
    }

    /// Sets a built-in reducer by name, such as `"add"` or `"keep_last:10"`.
    pub fn reducer(self, name: &str) -> Self {
        self.reducer_value(&Value::from(name))
    }

    fn reducer_value(mut self, name: &Value) -> Self {
        if name == "add_messages" {
            self.reducer = Some(DynamicReducer::Messages);
            return self;
        }
        match JsonReducer::from_data(name) {
            Ok(JsonReducer::SetOnce) => self.flags.set_once = true,
            Ok(JsonReducer::OneOf(values)) => self.one_of = values,
            Ok(reducer) => self.reducer = Some(DynamicReducer::Named(reducer)),
            Err(error) => self.diagnostics.push(error.with_pointer("/reducer")),
        }
        self
    }

    /// Sets a custom reducer: `(current, update) -> merged`.
    pub fn reduce_with(
        mut self,
        reduce: impl Fn(Value, Value) -> Result<Value, ValidationError> + Send + Sync + 'static,
    ) -> Self {
        self.reducer = Some(DynamicReducer::Custom(Arc::new(reduce)));
        self
    }

    /// Sets the value of a new thread; every thread gets its own copy.
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(DefaultValue::Value(value.into()));
        self
    }

    /// Sets a function that creates the value of a new thread.
    pub fn default_with(mut self, make: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        self.default = Some(DefaultValue::Function(Arc::new(make)));
        self
    }

    /// Excludes the field from input, output and the values stream.
    pub fn private(mut self) -> Self {
        self.flags.private = true;
        self
    }

    /// Keeps the first value written on a thread.
    pub fn set_once(mut self) -> Self {
        self.flags.set_once = true;
        self
    }

    /// Makes the field readable in the run, and never saved.
    pub fn untracked(mut self) -> Self {
        self.flags.untracked = true;
        self
    }

    /// Makes a value visible for exactly one following superstep.
    pub fn ephemeral(mut self) -> Self {
        self.flags.ephemeral = true;
        self
    }

    /// Requires the field in the first input.
    pub fn required(mut self) -> Self {
        self.flags.required = true;
        self
    }

    /// Accepts several writes in one superstep; the last in the fixed order of tasks wins.
    pub fn last_wins(mut self) -> Self {
        self.conflict = Some(ConflictPolicy::LastWins);
        self
    }

    /// Sets the allowed values.
    pub fn one_of(mut self, values: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        self.one_of = values.into_iter().map(Into::into).collect();
        self
    }

    /// Sets bounds of a number, or of the length of a text or list.
    pub fn range(mut self, min: Option<f64>, max: Option<f64>) -> Self {
        match Bounds::new(min, max) {
            Ok(range) => self.range = Some(range),
            Err(error) => self.diagnostics.push(error),
        }
        self
    }

    /// Returns all mistakes in the field, with pointers below its name.
    fn diagnostics(&self, types: TypeChecks) -> Vec<Diagnostic> {
        let is_messages =
            matches!(self.reducer, Some(DynamicReducer::Messages)) || self.field_type == FieldType::Messages;
        let default = match &self.default {
            Some(DefaultValue::Value(value)) if !value.is_null() => Some(value.clone()),
            _ => None,
        };
        let checked = match default {
            Some(value) if is_messages => parse_json::<Messages>(value).map(drop),
            Some(value) if types == TypeChecks::Enforce => self.field_type.check(&value),
            _ => Ok(()),
        };
        let errors = checked.err().unwrap_or_default();
        let is_list = matches!(self.field_type, FieldType::Any | FieldType::Array | FieldType::Messages);
        let type_error = (is_messages && !is_list).then(|| {
            ValidationError::new("the reducer `add_messages` requires a message list")
                .with_help("give the field the type `messages`")
        });
        let in_default = errors.into_iter().map(|error| {
            let path = format!("/default{}", error.pointer);
            error.with_pointer(path)
        });
        self.diagnostics
            .iter()
            .cloned()
            .chain(type_error)
            .chain(in_default)
            .map(|error| super::diagnostic_below(&self.name, error))
            .collect()
    }

    fn build(self, index: usize, types: TypeChecks, conflict: ConflictPolicy) -> (Field, Arc<DynamicField>) {
        // With an explicit `replace` the last of several writes wins; without a reducer they are a conflict.
        let has_reducer = self.reducer.is_some();
        let reducer = self.reducer.unwrap_or(match self.field_type {
            FieldType::Messages => DynamicReducer::Messages,
            _ => DynamicReducer::Named(JsonReducer::Replace),
        });
        let reducer_name = match &reducer {
            DynamicReducer::Named(JsonReducer::Replace) if !has_reducer => None,
            DynamicReducer::Named(reducer) => Some(reducer.name()),
            DynamicReducer::Custom(_) => Some("custom".to_owned()),
            DynamicReducer::Messages => Some("add_messages".to_owned()),
        };
        let field_type =
            if matches!(reducer, DynamicReducer::Messages) { FieldType::Messages } else { self.field_type };
        let checked = types != TypeChecks::Off && !matches!(field_type, FieldType::Any | FieldType::Messages);
        let fallible = checked
            || !self.one_of.is_empty()
            || self.range.is_some()
            || match &reducer {
                DynamicReducer::Named(reducer) => reducer.is_fallible(),
                DynamicReducer::Custom(_) | DynamicReducer::Messages => true,
            };
        let default = self.default.clone().unwrap_or(DefaultValue::Value(Value::Null));
        let ops = Arc::new(DynamicField { index, field_type: field_type.clone(), reducer, types, default });
        let default_json = self.default.as_ref().map(DefaultValue::make);
        let json_schema = json_schema(&field_type);
        let conflict = self.conflict.unwrap_or(conflict);
        let Self { name, flags, one_of, range, .. } = self;
        let field = Field {
            name,
            field_type,
            reducer: reducer_name,
            default: default_json,
            flags,
            conflict,
            one_of,
            range,
            json_schema,
            is_fallible: fallible,
            is_type_checked: checked,
            ops: ops.clone(),
        };
        (field, ops)
    }
}

/// The builder of a schema.
#[must_use = "a schema builder has no effect until `build` is called"]
pub struct SchemaBuilder {
    name: String,
    version: u32,
    fields: Vec<FieldBuilder>,
    unknown: UnknownFields,
    types: TypeChecks,
    conflict: ConflictPolicy,
    diagnostics: Vec<Diagnostic>,
}

impl Schema {
    /// Declares a dynamic state, field by field.
    ///
    /// ```
    /// use superstep_core::schema::{Schema, field};
    /// use superstep_core::types::FieldType;
    /// let schema = Schema::builder("ticket")
    ///     .field(field("tags").field_type(FieldType::Array).reducer("set_union").default(serde_json::json!([])))
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
            conflict: ConflictPolicy::default(),
            diagnostics: Vec::new(),
        }
    }

    /// Declares a dynamic state as a map from field names to options (`type`, `reducer`, `default`, …).
    ///
    /// A value that is not a map means a field without options.
    ///
    /// # Errors
    /// Returns an error that lists every mistake with its JSON pointer.
    pub fn from_json(name: impl Into<String>, map: &Value) -> Result<Arc<Self>> {
        Self::builder(name).fields_from_json(map).build()
    }

    /// Same as [`Schema::from_json`], from TOML text.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML, or an error that lists every mistake with its JSON pointer.
    pub fn from_toml(name: impl Into<String>, text: &str) -> Result<Arc<Self>> {
        let map: Value =
            toml::from_str(text).map_err(|error| Error::new(ErrorCode::InvalidGraph, error.to_string()))?;
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
            self.diagnostics.push(ValidationError::new("a schema must be an object of field names and options").into());
            return self;
        };
        for (name, options) in sorted_entries(map) {
            self.fields.push(match options {
                Value::Object(options) => FieldBuilder::from_options(name, options),
                _ => field(name.as_str()),
            });
        }
        self
    }

    /// Sets the version of the schema. Default: 1.
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Sets the policy for names that the schema does not contain.
    pub fn unknown_fields(mut self, unknown: UnknownFields) -> Self {
        self.unknown = unknown;
        self
    }

    /// Sets the strictness of type checks.
    pub fn type_checks(mut self, types: TypeChecks) -> Self {
        self.types = types;
        self
    }

    /// Sets the policy for two tasks of a superstep that write one field without a reducer.
    pub fn on_conflict(mut self, conflict: ConflictPolicy) -> Self {
        self.conflict = conflict;
        self
    }

    /// Builds the schema.
    ///
    /// # Errors
    /// Returns an error that lists every mistake with its JSON pointer.
    pub fn build(mut self) -> Result<Arc<Schema>> {
        self.diagnostics.extend(super::name_diagnostics(self.fields.iter().map(|field| &field.name)));
        self.diagnostics.extend(self.fields.iter().flat_map(|field| field.diagnostics(self.types)));
        if !self.diagnostics.is_empty() {
            return Err(Error::with_diagnostics(
                ErrorCode::InvalidGraph,
                format!("schema `{}` is invalid", self.name),
                self.diagnostics,
            ));
        }
        let names: BTreeMap<Arc<str>, usize> =
            self.fields.iter().enumerate().map(|(index, field)| (field.name.clone(), index)).collect();
        let declared = self.fields.len();
        let allows_undeclared = self.unknown == UnknownFields::Allow;
        let extras = allows_undeclared.then(|| field("__extras__").reducer("merge").default(Value::Object(Map::new())));
        let built = self.fields.into_iter().chain(extras).enumerate();
        let (mut fields, ops): (Vec<Field>, Vec<Arc<DynamicField>>) =
            built.map(|(index, field)| field.build(index, self.types, self.conflict)).unzip();
        let extras = allows_undeclared.then(|| fields.pop()).flatten();
        let ops = Arc::new(DynamicStateOps { names: Arc::new(names), fields: ops });
        let mut schema = Schema::new(self.name, self.version, fields, ops)?;
        if let Some(extras) = extras {
            schema.by_name.insert(extras.name.clone(), FieldId(declared as u32));
            schema.undeclared_field = Some(FieldId(declared as u32));
            schema.fields.push(extras);
        }
        (schema.unknown, schema.types) = (self.unknown, self.types);
        Ok(Arc::new(schema))
    }
}
