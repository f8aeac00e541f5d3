//! Parses the final message of the model: JSON, alone or inside text or a code fence, with small syntax errors
//! repaired.

use serde_json::{Map, Value};

const LIST_FIELDS: [&str; 4] = ["m365", "docs", "issues", "posts"];
const HINT_FIELD: &str = "actionHint";
/// Maximum number of opening braces that are tried as the start of the answer.
const MAX_STARTS: usize = 64;

/// One list of the answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ListField {
    /// The field is absent or null.
    Missing,
    /// The field has a value that is not an array.
    Invalid,
    /// Items of the array.
    Items(Vec<Value>),
}

/// Parsed answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelAnswer {
    pub(super) m365: ListField,
    pub(super) docs: ListField,
    pub(super) issues: ListField,
    pub(super) posts: ListField,
    pub(super) hint: Option<String>,
}

/// Parses the answer from a text. Returns `None` if the text contains no object with at least one expected field.
pub(super) fn parse_answer(text: &str) -> Option<ModelAnswer> {
    // Bounds the work for a text that consists only of braces.
    let starts = text.match_indices('{').map(|(start, _)| start).take(MAX_STARTS);
    let object = starts.filter_map(|start| parse_object(&text[start..])).find_map(find_answer_object)?;
    let list_field = |name: &str| match object.get(name) {
        None | Some(Value::Null) => ListField::Missing,
        Some(Value::Array(items)) => ListField::Items(items.clone()),
        Some(_) => ListField::Invalid,
    };
    let [m365, docs, issues, posts] = LIST_FIELDS.map(list_field);
    Some(ModelAnswer {
        m365,
        docs,
        issues,
        posts,
        hint: object.get(HINT_FIELD).and_then(Value::as_str).map(str::to_owned),
    })
}

/// Returns the object that has an expected field: the object itself or one of its direct children.
fn find_answer_object(object: Map<String, Value>) -> Option<Map<String, Value>> {
    let has_expected_field =
        |object: &Map<String, Value>| LIST_FIELDS.iter().chain([&HINT_FIELD]).any(|name| object.contains_key(*name));
    if has_expected_field(&object) {
        return Some(object);
    }
    object.into_iter().find_map(|(_, value)| match value {
        Value::Object(inner) if has_expected_field(&inner) => Some(inner),
        _ => None,
    })
}

/// Parses the JSON object at the start of a text.
fn parse_object(text: &str) -> Option<Map<String, Value>> {
    // Parses the text unrepaired first, because a repair must not change valid JSON.
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    objects.next().and_then(Result::ok).or_else(|| serde_json::from_str(&repair_json(text)).ok())
}

/// Repairs the JSON object at the start of a text: removes trailing commas, escapes line breaks in strings, and
/// closes what is truncated at the end.
fn repair_json(text: &str) -> String {
    let mut out = String::new();
    let mut open: Vec<char> = Vec::new();
    let mut letters = text.chars();
    let (mut is_string, mut is_escaped) = (false, false);
    for letter in letters.by_ref() {
        if is_string {
            match letter {
                '\n' if !is_escaped => out.push_str("\\n"),
                '\t' if !is_escaped => out.push_str("\\t"),
                '\r' if !is_escaped => {}
                letter => out.push(letter),
            }
            is_string = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            continue;
        }
        match letter {
            '"' => is_string = true,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                remove_trailing_comma(&mut out);
                open.pop();
            }
            _ => {}
        }
        out.push(letter);
        if open.is_empty() {
            return out;
        }
    }
    if is_string {
        out.push('"');
    }
    remove_trailing_comma(&mut out);
    out.extend(open.into_iter().rev());
    out
}

fn remove_trailing_comma(out: &mut String) {
    let length = out.trim_end().len();
    if out[..length].ends_with(',') {
        out.truncate(length - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn docs(text: &str) -> Option<ListField> {
        parse_answer(text).map(|answer| answer.docs)
    }

    /// R-SUG-32: JSON is found in plain text and in a code fence, and small syntax errors are repaired.
    #[test]
    fn an_answer_is_found_and_repaired() {
        let one = Some(ListField::Items(vec![json!({ "url": "a" })]));
        let rows = [
            r#"{"docs": [{"url": "a"}]}"#,
            "Here you are:\n```json\n{\"docs\": [{\"url\": \"a\"}]}\n```\nGood luck {with it}!",
            r#"{"docs": [{"url": "a",},], "m365": [],}"#,
            r#"I thought about {braces} first. {"docs": [{"url": "a"}]} and so on"#,
            r#"{"response": {"docs": [{"url": "a"}]}}"#,
            r#"{"docs": [{"url": "a"}"#,
            r#"{"docs": [{"url": "a"}], "actionHint": "It was cut o"#,
            "{\"docs\": [{\"url\": \"a\"}], \"actionHint\": \"two\nlines, and a } bracket\"}",
        ];
        for row in rows {
            assert_eq!(docs(row), one, "{row}");
        }
        let hint = parse_answer("{\"actionHint\": \"two\nlines, ]\",}").unwrap().hint;
        assert_eq!(hint.as_deref(), Some("two\nlines, ]"));
    }

    /// R-SUG-54: text without an answer is not parsed as one, and a field of the wrong type is distinguished from a
    /// missing one.
    #[test]
    fn text_without_an_answer_is_not_parsed() {
        for row in ["", "I do not know.", "{}", "[]", r#"{"weather": "fine"}"#, "{{{{", r#""docs""#, "{\"docs"] {
            assert_eq!(docs(row), None, "{row}");
        }
        assert_eq!(docs(r#"{"docs": "none", "posts": []}"#), Some(ListField::Invalid));
        assert_eq!(docs(r#"{"docs": null, "posts": []}"#), Some(ListField::Missing));
        assert_eq!(docs(r#"{"posts": []}"#), Some(ListField::Missing));
    }
}
