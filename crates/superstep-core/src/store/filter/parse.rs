//! The JSON form of a filter, as in LangGraph: `{"kind": "note", "age": {"$gt": 17}}`.
//!
//! Unknown operators are rejected by name: a filter that is only partly applied would return wrong items.

use serde_json::{Map, Value};

use super::{Filter, ValuePath};
use crate::error::{Error, ErrorCode, Result};
use crate::suggest::did_you_mean_or_list;

/// The operators of a field. The last two are additions of superstep.
const OPERATORS: [&str; 8] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$exists"];

impl Filter {
    /// Parses LangGraph's form: fields with their required value, or with operators. An object without operators is
    /// a condition on the fields in it.
    ///
    /// ```
    /// use serde_json::json;
    /// use superstep_core::store::Filter;
    ///
    /// let filter = Filter::from_json(&json!({ "kind": "note", "author": { "age": { "$gte": 18 } } }))?;
    /// assert!(filter.matches(&json!({ "kind": "note", "author": { "age": 18 } })));
    /// assert!(!filter.matches(&json!({ "kind": "note", "author": { "age": 17 } })));
    /// assert!(Filter::from_json(&json!({ "age": { "$above": 18 } })).is_err());
    /// # Ok::<(), superstep_core::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the form is not an object, or has an unknown operator.
    pub fn from_json(form: &Value) -> Result<Self> {
        let fields =
            form.as_object().ok_or_else(|| invalid_filter(format!("a filter must be an object, found `{form}`")))?;
        parse_fields(fields, &ValuePath(Vec::new()))
    }
}

fn invalid_filter(message: String) -> Error {
    Error::new(ErrorCode::InputInvalid, message)
        .with_help("use `{\"field\": value}` or `{\"field\": {\"$gt\": value}}`")
}

fn parse_fields(fields: &Map<String, Value>, above: &ValuePath) -> Result<Filter> {
    let filters = fields.iter().map(|(key, form)| match key.starts_with('$') {
        true => Err(unknown_operator(key)),
        false => parse_field(form, ValuePath([above.0.as_slice(), std::slice::from_ref(key)].concat())),
    });
    let mut filters: Vec<Filter> = filters.collect::<Result<_>>()?;
    Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::All(filters) })
}

fn parse_field(form: &Value, keys: ValuePath) -> Result<Filter> {
    match form {
        Value::Object(inner) if inner.keys().any(|key| key.starts_with('$')) => {
            let filters = inner.iter().map(|(name, operand)| parse_operator(name, operand, keys.clone()));
            let mut filters: Vec<Filter> = filters.collect::<Result<_>>()?;
            Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::All(filters) })
        }
        Value::Object(inner) if !inner.is_empty() => parse_fields(inner, &keys),
        value => Ok(Filter::Eq(keys, value.clone())),
    }
}

fn parse_operator(name: &str, operand: &Value, keys: ValuePath) -> Result<Filter> {
    let value = || operand.clone();
    Ok(match name {
        "$eq" => Filter::Eq(keys, value()),
        "$ne" => Filter::Ne(keys, value()),
        "$gt" => Filter::Gt(keys, value()),
        "$gte" => Filter::Gte(keys, value()),
        "$lt" => Filter::Lt(keys, value()),
        "$lte" => Filter::Lte(keys, value()),
        "$in" => match operand {
            Value::Array(values) => Filter::In(keys, values.clone()),
            other => return Err(invalid_filter(format!("`$in` requires a list, found `{other}`"))),
        },
        "$exists" => match operand {
            Value::Bool(true) => Filter::Exists(keys),
            Value::Bool(false) => Filter::None(vec![Filter::Exists(keys)]),
            other => return Err(invalid_filter(format!("`$exists` requires true or false, found `{other}`"))),
        },
        other => return Err(unknown_operator(other)),
    })
}

fn unknown_operator(name: &str) -> Error {
    Error::new(ErrorCode::InputInvalid, format!("unknown filter operator `{name}`"))
        .with_help(did_you_mean_or_list(name, &OPERATORS))
}
