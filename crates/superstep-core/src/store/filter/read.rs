//! The JSON form of a filter, as LangGraph has it: `{"kind": "note", "age": {"$gt": 17}}`.
//!
//! What is not known is refused by name: a filter that is half understood would find items nobody asked for.

use serde_json::{Map, Value};

use super::{Filter, Keys};
use crate::error::{Code, Error, Result};
use crate::suggest::known_names;

/// The operators of a field. The last two are ours.
const OPERATORS: [&str; 8] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$exists"];

impl Filter {
    /// Reads LangGraph's form: fields with the value they must have, or with operators. An object without operators
    /// asks for the fields in it.
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
    /// When it is no object, or has an operator that is not known.
    pub fn from_json(form: &Value) -> Result<Self> {
        let fields = form.as_object().ok_or_else(|| refuse(format!("a filter is an object, and this is `{form}`")))?;
        read_fields(fields, &Keys(Vec::new()))
    }
}

fn refuse(message: String) -> Error {
    Error::new(Code::InputInvalid, message).help("write `{\"field\": value}` or `{\"field\": {\"$gt\": value}}`")
}

fn read_fields(fields: &Map<String, Value>, above: &Keys) -> Result<Filter> {
    let read = fields.iter().map(|(key, form)| match key.starts_with('$') {
        true => Err(unknown(key)),
        false => read_field(form, Keys([above.0.as_slice(), std::slice::from_ref(key)].concat())),
    });
    let mut read: Vec<Filter> = read.collect::<Result<_>>()?;
    Ok(if read.len() == 1 { read.remove(0) } else { Filter::All(read) })
}

fn read_field(form: &Value, keys: Keys) -> Result<Filter> {
    match form {
        Value::Object(inner) if inner.keys().any(|key| key.starts_with('$')) => {
            let read = inner.iter().map(|(name, operand)| read_operator(name, operand, keys.clone()));
            let mut read: Vec<Filter> = read.collect::<Result<_>>()?;
            Ok(if read.len() == 1 { read.remove(0) } else { Filter::All(read) })
        }
        Value::Object(inner) if !inner.is_empty() => read_fields(inner, &keys),
        value => Ok(Filter::Is(keys, value.clone())),
    }
}

fn read_operator(name: &str, operand: &Value, keys: Keys) -> Result<Filter> {
    let value = || operand.clone();
    Ok(match name {
        "$eq" => Filter::Is(keys, value()),
        "$ne" => Filter::Not(keys, value()),
        "$gt" => Filter::Greater(keys, value()),
        "$gte" => Filter::GreaterOrEqual(keys, value()),
        "$lt" => Filter::Less(keys, value()),
        "$lte" => Filter::LessOrEqual(keys, value()),
        "$in" => match operand {
            Value::Array(values) => Filter::In(keys, values.clone()),
            other => return Err(refuse(format!("`$in` takes a list, and this is `{other}`"))),
        },
        "$exists" => match operand {
            Value::Bool(true) => Filter::Exists(keys),
            Value::Bool(false) => Filter::None(vec![Filter::Exists(keys)]),
            other => return Err(refuse(format!("`$exists` takes true or false, and this is `{other}`"))),
        },
        other => return Err(unknown(other)),
    })
}

fn unknown(name: &str) -> Error {
    Error::new(Code::InputInvalid, format!("a filter has no operator `{name}` here"))
        .help(known_names(name, &OPERATORS))
}
