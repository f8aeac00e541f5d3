//! Reads the model's last words: JSON, alone or with text or a fence around it, with small damage repaired.

use serde_json::{Map, Value};

const LISTS: [&str; 4] = ["m365", "docs", "issues", "posts"];
const HINT: &str = "actionHint";
/// How many brackets are tried as the beginning of the answer.
const MOST_STARTS: usize = 64;

/// A list as the model gave it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Listed {
    /// It did not.
    Missing,
    /// It gave something else.
    Wrong,
    /// These.
    Items(Vec<Value>),
}

/// What the model answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) m365: Listed,
    pub(super) docs: Listed,
    pub(super) issues: Listed,
    pub(super) posts: Listed,
    pub(super) hint: Option<String>,
}

/// The answer in a text; none when there is no object in it that has any of the fields.
pub(super) fn answer(text: &str) -> Option<Answer> {
    // A text of nothing but brackets must not take for ever.
    let starts = text.match_indices('{').map(|(start, _)| start).take(MOST_STARTS);
    let object = starts.filter_map(|start| object(&text[start..])).find_map(known)?;
    let listed = |name: &str| match object.get(name) {
        None | Some(Value::Null) => Listed::Missing,
        Some(Value::Array(items)) => Listed::Items(items.clone()),
        Some(_) => Listed::Wrong,
    };
    let [m365, docs, issues, posts] = LISTS.map(listed);
    Some(Answer { m365, docs, issues, posts, hint: object.get(HINT).and_then(Value::as_str).map(str::to_owned) })
}

/// The object that has any of the fields: this one, or one right inside of it.
fn known(object: Map<String, Value>) -> Option<Map<String, Value>> {
    let is_known = |object: &Map<String, Value>| LISTS.iter().chain([&HINT]).any(|name| object.contains_key(*name));
    if is_known(&object) {
        return Some(object);
    }
    object.into_iter().find_map(|(_, value)| match value {
        Value::Object(inner) if is_known(&inner) => Some(inner),
        _ => None,
    })
}

/// The object that a text begins with.
fn object(text: &str) -> Option<Map<String, Value>> {
    // As it is first: a repair must not change what is whole.
    let mut whole = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    whole.next().and_then(Result::ok).or_else(|| serde_json::from_str(&repaired(text)).ok())
}

/// The object that a text begins with, without commas before a bracket, with line ends in strings written as JSON wants
/// them, and with what was cut off at the end closed.
fn repaired(text: &str) -> String {
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
                without_comma(&mut out);
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
    without_comma(&mut out);
    out.extend(open.into_iter().rev());
    out
}

fn without_comma(out: &mut String) {
    let length = out.trim_end().len();
    if out[..length].ends_with(',') {
        out.truncate(length - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn docs(text: &str) -> Option<Listed> {
        answer(text).map(|answer| answer.docs)
    }

    /// R-SUG-32: JSON is found in a text and in a fence, and small damage is repaired.
    #[test]
    fn an_answer_is_found_and_repaired() {
        let one = Some(Listed::Items(vec![json!({ "url": "a" })]));
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
        let hint = answer("{\"actionHint\": \"two\nlines, ]\",}").unwrap().hint;
        assert_eq!(hint.as_deref(), Some("two\nlines, ]"));
    }

    /// R-SUG-54: what is no answer is told from one, and a wrong type from nothing.
    #[test]
    fn what_is_no_answer_is_not_read_as_one() {
        for row in ["", "I do not know.", "{}", "[]", r#"{"weather": "fine"}"#, "{{{{", r#""docs""#, "{\"docs"] {
            assert_eq!(docs(row), None, "{row}");
        }
        assert_eq!(docs(r#"{"docs": "none", "posts": []}"#), Some(Listed::Wrong));
        assert_eq!(docs(r#"{"docs": null, "posts": []}"#), Some(Listed::Missing));
        assert_eq!(docs(r#"{"posts": []}"#), Some(Listed::Missing));
    }
}
