//! Conditions on values and words that the indexes of the server can evaluate; core filters the remaining candidates.

use serde_json::{Map, Value, json};
use superstep_core::store::{Filter, PutOp};

/// Values longer than this have no `doc`: indexing them would take longer than reading them.
const MAX_DOC_BYTES: usize = 64 << 10;
/// Items with more index terms have no `marks`: PostgreSQL limits the size of a `tsvector`.
const MAX_INDEX_TERMS: usize = 20_000;
/// Up to this value, an integer and a float are written the same way.
const EXACT: u64 = 1 << 53;

/// Returns a value as indexable JSON; `None` if the server cannot index it.
pub(super) fn doc(put: &PutOp, written: &str) -> Option<String> {
    // PostgreSQL rejects `\u0000` in JSON; an escaped backslash before `u0000` is excluded as well.
    let is_indexable = written.len() <= MAX_DOC_BYTES && !written.contains("\\u0000");
    (is_indexable && put.value.is_object()).then(|| written.to_owned())
}

/// Returns the index terms of an item; `None` if the server cannot index that many.
pub(super) fn tsvector_terms(terms: Vec<String>) -> Option<Vec<String>> {
    (terms.len() <= MAX_INDEX_TERMS).then_some(terms)
}

/// Returns an object that every matching value contains; `None` if the filter has no indexable condition.
pub(super) fn containment_filter(filter: &Filter) -> Option<String> {
    let equalities = filter.required_equalities();
    let indexable = equalities.iter().filter(|(keys, value)| !keys.as_slice().is_empty() && is_plain(value));
    // One condition is enough to reduce the candidates, and two may contradict each other on the path to a value.
    let (keys, value) = indexable.max_by_key(|(_, value)| value.to_string().len())?;
    let object = keys
        .as_slice()
        .iter()
        .rev()
        .fold((*value).clone(), |inner, key| Value::Object(Map::from_iter([(key.clone(), inner)])));
    let written = json!(object).to_string();
    (!written.contains("\\u0000")).then_some(written)
}

/// Returns true if the server finds at least the values that core considers equal; false for numbers with two
/// notations.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.as_f64().is_some_and(|number| number.abs() < EXACT as f64)
                && number.as_u64().is_none_or(|number| number < EXACT)
        }
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(fields) => fields.values().all(is_plain),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_with_one_notation_are_filtered() {
        let filter_json = |filter: Filter| containment_filter(&filter);
        assert_eq!(filter_json(Filter::eq(["a", "b"], "x")).as_deref(), Some(r#"{"a":{"b":"x"}}"#));
        assert_eq!(
            filter_json(Filter::All(vec![Filter::eq("a", 1), Filter::lt("b", 2)])).as_deref(),
            Some(r#"{"a":1}"#)
        );
        for filter in [
            Filter::eq("a", 1_u64 << 53),
            Filter::eq("a", 1e300),
            Filter::eq("a", json!([1, 1e17])),
            Filter::eq("a", "\0"),
            Filter::eq("\0", 1),
            Filter::ne("a", 1),
            Filter::Any(vec![Filter::eq("a", 1)]),
            Filter::eq(Vec::new(), json!({})),
        ] {
            assert_eq!(filter_json(filter.clone()), None, "{filter:?}");
        }
    }

    #[test]
    fn values_that_cannot_be_indexed_have_no_doc() {
        let doc = |value: Value| doc(&PutOp::new("n", "k", value.clone()), &value.to_string());
        assert!(doc(json!({ "a": 1 })).is_some() && doc(json!([1])).is_none() && doc(json!({ "a": "\0" })).is_none());
        assert!(doc(json!({ "a": "x".repeat(MAX_DOC_BYTES) })).is_none());
    }
}
