//! Truncation of long texts. JSON stays valid JSON: rows, items and ends of strings are removed, and a note contains
//! the number.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Maximum number of removals before the text is truncated without parsing.
const MAX_REMOVALS: usize = 64;
/// Size of the note in bytes, without its entries.
const NOTE_BYTES: usize = 64;

/// Truncates a text to about `max_bytes` bytes.
///
/// In JSON, items are removed from the end of the longest list, or the longest string is truncated; `truncated: true`
/// and `cut` describe the location and the number of kept items. A list becomes an object with `items`. Any other
/// text is truncated, and its last line states the number of missing bytes.
///
/// ```
/// use superstep::tools::truncate_output;
///
/// let rows: Vec<u32> = (0..1_000).collect();
/// let short = truncate_output(&serde_json::json!({ "rows": rows, "sql": "select n" }).to_string(), 1_000);
/// let value: serde_json::Value = serde_json::from_str(&short)?;
/// assert_eq!((value["truncated"].as_bool(), value["sql"].as_str()), (Some(true), Some("select n")));
/// assert_eq!(value["cut"]["/rows"]["of"], 1_000);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn truncate_output(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => short_json(value, text, max_bytes),
        Ok(Value::Array(items)) => short_json(json!({ "items": items }), text, max_bytes),
        _ => {
            let end = text.floor_char_boundary(max_bytes);
            let missing = text.len() - end;
            format!("{}\n[truncated: {missing} of {} bytes omitted]", &text[..end], text.len())
        }
    }
}

/// Kept lengths by JSON pointer.
type TruncatedLengths = BTreeMap<String, Value>;

fn short_json(mut value: Value, text: &str, max_bytes: usize) -> String {
    let mut cuts = TruncatedLengths::new();
    for _ in 0..MAX_REMOVALS {
        let note_bytes: usize =
            cuts.iter().map(|(pointer, cut)| pointer.len() + cut.to_string().len() + NOTE_BYTES).sum();
        let excess = (value.to_string().len() + note_bytes + NOTE_BYTES).saturating_sub(max_bytes);
        if excess == 0 {
            return with_cuts(value, cuts);
        }
        if !drop_bytes(&mut value, String::new(), excess, &mut cuts) {
            break;
        }
    }
    // The value has many parts and none is long. A byte may take up to six bytes as a JSON string.
    let start = &text[..text.floor_char_boundary(max_bytes / 8)];
    json!({ "truncated": true, "cut": { "": { "kept": start.len(), "of": text.len() } }, "text": start }).to_string()
}

fn with_cuts(mut value: Value, cuts: TruncatedLengths) -> String {
    if let Some(entries) = value.as_object_mut().filter(|_| !cuts.is_empty()) {
        entries.insert("truncated".to_owned(), json!(true));
        entries.insert("cut".to_owned(), json!(cuts));
    }
    value.to_string()
}

/// Removes about `excess` bytes at the largest part. Returns false if nothing can be removed.
fn drop_bytes(value: &mut Value, pointer: String, excess: usize, cuts: &mut TruncatedLengths) -> bool {
    match value {
        Value::String(text) if !text.is_empty() => {
            let new_length = text.floor_char_boundary(text.len().saturating_sub(excess));
            note(cuts, pointer, new_length, text.len());
            text.truncate(new_length);
            true
        }
        Value::Array(items) => {
            let sizes: Vec<usize> = items.iter().map(size).collect();
            if let Some(longest) = dominant(&sizes) {
                return drop_bytes(&mut items[longest], format!("{pointer}/{longest}"), excess, cuts);
            }
            let new_length = fitting(&sizes, excess);
            note(cuts, pointer, new_length, items.len());
            items.truncate(new_length);
            !sizes.is_empty()
        }
        Value::Object(entries) => shorten_largest_entry(entries, &pointer, excess, cuts),
        _ => false,
    }
}

fn shorten_largest_entry(
    entries: &mut Map<String, Value>,
    pointer: &str,
    excess: usize,
    cuts: &mut TruncatedLengths,
) -> bool {
    let sizes: Vec<usize> = entries.values().map(size).collect();
    let longest = (0..sizes.len()).max_by_key(|at| sizes[*at]);
    let Some((name, entry)) = longest.and_then(|at| entries.iter_mut().nth(at)) else { return false };
    // Names describe the values, so an entry is shortened but never removed.
    let name = name.replace('~', "~0").replace('/', "~1");
    drop_bytes(entry, format!("{pointer}/{name}"), excess, cuts)
}

/// Returns the item that is larger than all others together.
fn dominant(sizes: &[usize]) -> Option<usize> {
    let total: usize = sizes.iter().sum();
    sizes.iter().position(|size| size * 2 > total)
}

/// Returns the number of items that stay if at least `excess` bytes are removed.
fn fitting(sizes: &[usize], excess: usize) -> usize {
    let mut removed = 0;
    let leaving = sizes.iter().rev().take_while(|size| {
        let continues = removed < excess;
        removed += **size + 1;
        continues
    });
    sizes.len() - leaving.count()
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// Records a truncated value. `original_length` stays the same, also after repeated truncation.
fn note(cuts: &mut TruncatedLengths, pointer: String, new_length: usize, original_length: usize) {
    let cut = cuts.entry(pointer).or_insert_with(|| json!({ "of": original_length }));
    cut["kept"] = json!(new_length);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str, max_bytes: usize) -> Value {
        let short = truncate_output(text, max_bytes);
        assert!(short.len() <= max_bytes, "{} bytes in place of {max_bytes}", short.len());
        serde_json::from_str(&short).unwrap()
    }

    /// R-FWK-79: rows are removed from the end, and the other fields stay.
    #[test]
    fn only_complete_rows_are_removed() {
        let rows: Vec<Value> = (0..5_000).map(|row| json!([row, "a \"name\""])).collect();
        let value = read(&json!({ "columns": ["n", "name"], "rows": rows, "count": 5_000 }).to_string(), 4_096);
        let remaining_rows = value["rows"].as_array().unwrap();
        assert!(remaining_rows.len() > 150, "{}", remaining_rows.len());
        assert_eq!(remaining_rows[..], rows[..remaining_rows.len()]);
        assert_eq!(value["cut"], json!({ "/rows": { "kept": remaining_rows.len(), "of": 5_000 } }));
        assert_eq!((&value["columns"], &value["truncated"]), (&json!(["n", "name"]), &json!(true)));
    }

    /// R-FWK-79: a list, a long string, one item with all of the content, and many small entries are truncated.
    #[test]
    fn any_long_value_is_truncated() {
        let list = read(&Value::from((0..9_000).collect::<Vec<u32>>()).to_string(), 2_000);
        assert_eq!(list["cut"]["/items"]["of"], 9_000);
        let text = read(&json!({ "path": "a/b", "text": "é\n".repeat(9_000) }).to_string(), 2_000);
        assert_eq!((&text["path"], &text["cut"]["/text"]["of"]), (&json!("a/b"), &json!(27_000)));
        let one = read(&json!({ "hits": [{ "a/b": "x".repeat(9_000) }, { "a/b": "y" }] }).to_string(), 2_000);
        assert!(one["cut"]["/hits/0/a~1b"]["kept"].as_u64().unwrap() > 1_500, "{one}");
        assert_eq!(one["hits"][1]["a/b"], "y");
        let many: Map<String, Value> = (0..9_000).map(|key| (key.to_string(), json!(key))).collect();
        assert_eq!(read(&Value::Object(many).to_string(), 2_000)["truncated"], true);
    }

    /// R-FWK-79: a text that is not JSON is truncated at a character boundary, and a short text stays.
    #[test]
    fn truncated_text_states_omitted_bytes() {
        assert_eq!(truncate_output("[1]", 3), "[1]");
        assert_eq!(truncate_output("ééé", 3), "é\n[truncated: 4 of 6 bytes omitted]");
        let pretty = format!("{{ {} \"a\": 1 }}", " ".repeat(500));
        assert_eq!(truncate_output(&pretty, 400), r#"{"a":1}"#, "nothing is missing");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i32>().prop_map(Value::from),
            "\\PC{0,300}".prop_map(Value::from),
            "[\n\"a]{0,200}".prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(4, 80, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
                prop::collection::btree_map("[a-z/~]{1,5}", inner, 0..20)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// R-FWK-79: JSON stays valid and becomes short enough, whatever its content.
        #[test]
        fn json_stays_json(value in prop::collection::vec(any_json(), 1..20), max_bytes in 1_000_usize..4_000) {
            let text = json!({ "found": value }).to_string();
            let short = truncate_output(&text, max_bytes);
            prop_assert!(short.len() <= max_bytes, "{} of {max_bytes}", short.len());
            let read: Value = serde_json::from_str(&short).unwrap();
            prop_assert_eq!(read["truncated"] == true, text.len() > max_bytes);
        }
    }
}
