//! What the indexes of the server can be asked about values and words; core looks at what they leave.

use serde_json::{Map, Value, json};
use superstep_core::store::{Filter, Put};

/// A longer value has no `doc`: an index over all that is in it would take longer than looking at it.
const LONGEST_DOC: usize = 64 << 10;
/// An item of more words has no `marks`: PostgreSQL keeps no more in one place.
const MOST_MARKS: usize = 20_000;
/// Up to here a whole number is written the same way whether it has a fraction or not.
const EXACT: u64 = 1 << 53;

/// A value as the server can index it; `None` when it cannot.
pub(super) fn doc(put: &Put, written: &str) -> Option<String> {
    // Text with a zero byte is what PostgreSQL does not take; it is written so, and so is a backslash before `u0000`.
    let is_taken = written.len() <= LONGEST_DOC && !written.contains("\\u0000");
    (is_taken && put.value.is_object()).then(|| written.to_owned())
}

/// The marks of an item as the server can index them; `None` when it cannot.
pub(super) fn marks(marks: Vec<String>) -> Option<Vec<String>> {
    (marks.len() <= MOST_MARKS).then_some(marks)
}

/// What every wanted value has in it, as an object; `None` when nothing of that can be asked of the server.
pub(super) fn musts(filter: &Filter) -> Option<String> {
    let musts = filter.musts();
    let askable = musts.iter().filter(|(keys, value)| !keys.as_slice().is_empty() && is_plain(value));
    // One of them is enough to narrow down, and two may contradict each other on the way to a value.
    let (keys, value) = askable.max_by_key(|(_, value)| value.to_string().len())?;
    let object = keys
        .as_slice()
        .iter()
        .rev()
        .fold((*value).clone(), |inner, key| Value::Object(Map::from_iter([(key.clone(), inner)])));
    let written = json!(object).to_string();
    (!written.contains("\\u0000")).then_some(written)
}

/// Whether the server compares such a value as core does, or finds more: not so for numbers that are written in two ways.
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
    fn only_what_the_server_compares_alike_is_asked() {
        let asked = |filter: Filter| musts(&filter);
        assert_eq!(asked(Filter::is(["a", "b"], "x")).as_deref(), Some(r#"{"a":{"b":"x"}}"#));
        assert_eq!(asked(Filter::All(vec![Filter::is("a", 1), Filter::less("b", 2)])).as_deref(), Some(r#"{"a":1}"#));
        for filter in [
            Filter::is("a", 1_u64 << 53),
            Filter::is("a", 1e300),
            Filter::is("a", json!([1, 1e17])),
            Filter::is("a", "\0"),
            Filter::is("\0", 1),
            Filter::not("a", 1),
            Filter::Any(vec![Filter::is("a", 1)]),
            Filter::is(Vec::new(), json!({})),
        ] {
            assert_eq!(asked(filter.clone()), None, "{filter:?}");
        }
    }

    #[test]
    fn what_the_server_does_not_take_has_no_doc() {
        let doc = |value: Value| doc(&Put::new("n", "k", value.clone()), &value.to_string());
        assert!(doc(json!({ "a": 1 })).is_some() && doc(json!([1])).is_none() && doc(json!({ "a": "\0" })).is_none());
        assert!(doc(json!({ "a": "x".repeat(LONGEST_DOC) })).is_none());
    }
}
