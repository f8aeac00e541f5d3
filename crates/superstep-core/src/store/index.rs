//! The searchable part of an item: all of it, nothing, or the values at some paths.
//!
//! Extracts texts. Their words are computed in `words`, their vectors by an embedder.

use serde_json::Value;

use crate::canonical::sorted_entries;
use crate::error::{Error, ErrorCode, Result};

/// The searchable part of an item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum IndexFields {
    /// Every text, number and boolean in it, as one text.
    #[default]
    All,
    /// No index: filters and `get` find the item, queries do not.
    None,
    /// The values at these paths, each a separate text: `title`, `author.name`, `chapters[*].text`, `tags[0]`,
    /// `notes.*`; `$` is the whole value.
    Paths(Vec<String>),
}

/// One segment of a path.
#[derive(Debug, PartialEq, Eq)]
enum PathSegment<'a> {
    Key(&'a str),
    At(usize),
    Each,
}

impl IndexFields {
    /// Rejects paths that cannot be parsed.
    pub(super) fn check(&self) -> Result<()> {
        let Self::Paths(paths) = self else { return Ok(()) };
        paths.iter().try_for_each(|path| match parse(path) {
            Some(_) => Ok(()),
            None => Err(Error::new(ErrorCode::InputInvalid, format!("`{path}` is not a valid path"))
                .with_help("use a path such as `title`, `author.name`, `chapters[*].text`, `tags[0]` or `$`")),
        })
    }

    /// Returns the searchable texts of a value, without empty ones.
    #[must_use]
    pub fn texts(&self, value: &Value) -> Vec<String> {
        let mut matches = Vec::new();
        match self {
            Self::All => matches.push(value),
            Self::None => {}
            Self::Paths(paths) => {
                for steps in paths.iter().filter_map(|path| parse(path)) {
                    follow(value, &steps, &mut matches);
                }
            }
        }
        matches.into_iter().map(text_of).filter(|text| !text.is_empty()).collect()
    }

    /// Returns the stored form: paths, `None` for no index.
    #[must_use]
    pub fn to_json(&self) -> Option<Value> {
        match self {
            Self::All => Some(Value::from(Vec::<Value>::new())),
            Self::None => None,
            // An empty list means everything, and an absent value means nothing.
            Self::Paths(paths) => (!paths.is_empty()).then(|| Value::from(paths.clone())),
        }
    }

    /// Parses the stored form of [`IndexFields::to_json`].
    #[must_use]
    pub fn from_json(form: Option<&Value>) -> Self {
        let Some(paths) = form.and_then(Value::as_array) else { return Self::None };
        let paths: Vec<String> = paths.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if paths.is_empty() { Self::All } else { Self::Paths(paths) }
    }
}

fn parse(path: &str) -> Option<Vec<PathSegment<'_>>> {
    if path == "$" {
        return Some(Vec::new());
    }
    let mut steps = Vec::new();
    for part in path.strip_prefix("$.").unwrap_or(path).split('.') {
        let (key, mut rest) = part.find('[').map_or((part, ""), |at| part.split_at(at));
        match key {
            "" => return None,
            "*" => steps.push(PathSegment::Each),
            key => steps.push(PathSegment::Key(key)),
        }
        while !rest.is_empty() {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(if index == "*" { PathSegment::Each } else { PathSegment::At(index.parse().ok()?) });
            rest = after;
        }
    }
    Some(steps)
}

fn follow<'a>(value: &'a Value, steps: &[PathSegment<'_>], matches: &mut Vec<&'a Value>) {
    let Some((step, rest)) = steps.split_first() else { return matches.push(value) };
    match (step, value) {
        (PathSegment::Key(key), Value::Object(fields)) => {
            fields.get(*key).into_iter().for_each(|value| follow(value, rest, matches));
        }
        (PathSegment::At(index), Value::Array(items)) => {
            items.get(*index).into_iter().for_each(|value| follow(value, rest, matches));
        }
        (PathSegment::Each, Value::Array(items)) => items.iter().for_each(|value| follow(value, rest, matches)),
        (PathSegment::Each, Value::Object(fields)) => {
            sorted_entries(fields).for_each(|(_, value)| follow(value, rest, matches));
        }
        _ => {}
    }
}

/// Returns all texts, numbers and booleans of a value, line by line.
fn text_of(value: &Value) -> String {
    let mut lines = Vec::new();
    gather(value, &mut lines);
    lines.join("\n")
}

fn gather(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Bool(truth) => lines.push(truth.to_string()),
        Value::Number(number) => lines.push(number.to_string()),
        Value::String(text) => lines.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|value| gather(value, lines)),
        Value::Object(fields) => sorted_entries(fields).for_each(|(_, value)| gather(value, lines)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(paths: &[&str]) -> Vec<String> {
        let value = json!({ "title": "Tides", "pages": 12, "tags": ["sea", "moon"], "by": { "name": "Ann", "age": null },
                            "chapters": [{ "text": "one" }, { "text": "two" }, { "other": "three" }] });
        IndexFields::Paths(paths.iter().map(|path| (*path).to_owned()).collect()).texts(&value)
    }

    #[test]
    fn paths_select_texts() {
        assert_eq!(texts(&["title", "by.name", "pages"]), ["Tides", "Ann", "12"]);
        assert_eq!(texts(&["chapters[*].text"]), ["one", "two"]);
        assert_eq!(texts(&["tags[1]", "tags[9]", "by.age", "nowhere"]), ["moon"]);
        assert_eq!(texts(&["by.*"]), ["Ann"]);
        assert_eq!(texts(&["tags"]), ["sea\nmoon"]);
        assert_eq!(texts(&["$"]), ["Ann\none\ntwo\nthree\n12\nsea\nmoon\nTides"]);
    }

    #[test]
    fn invalid_paths_are_rejected_by_name() {
        for path in ["", "a..b", "a[", "a[x]", "a[1", "a[1]b", ".a"] {
            let error = IndexFields::Paths(vec![path.to_owned()]).check().unwrap_err();
            assert!(error.message().contains(&format!("`{path}`")), "{error}");
        }
        assert!(IndexFields::Paths(vec!["a[0][*].b".to_owned()]).check().is_ok());
    }

    #[test]
    fn the_stored_form_is_read_back() {
        for index in [IndexFields::All, IndexFields::None, IndexFields::Paths(vec!["a".to_owned()])] {
            assert_eq!(IndexFields::from_json(index.to_json().as_ref()), index);
        }
    }
}
