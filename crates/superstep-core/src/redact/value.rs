//! JSON without what must not be in it: texts, keys of objects, and values at paths.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::path::FieldPath;
use super::scan::{Hit, What};
use super::{Counts, FIELD, Kind, MARKER, Redaction};

/// The longest text that is read as JSON where no paths are asked for, in bytes.
const LONGEST_JSON: usize = 1024 * 1024;

impl Redaction {
    /// Takes out what must not be in a value. Numbers that are card numbers become markers too.
    ///
    /// ```
    /// use serde_json::json;
    /// use superstep_core::redact::{Counts, Redaction};
    ///
    /// let mut user = json!({"name": "Ada", "ssn": 12, "mail": ["ada@example.com"]});
    /// let mut counts = Counts::default();
    /// Redaction::default().field("ssn").value(&mut user, &mut counts);
    /// assert_eq!(user, json!({"name": "Ada", "ssn": "[REDACTED:field]", "mail": ["[REDACTED:mail]"]}));
    /// assert_eq!(counts.total(), 2);
    /// ```
    pub fn value(&self, value: &mut Value, counts: &mut Counts) {
        Walk { redaction: self, counts, path: Vec::new(), numbers: true }.value(value);
    }

    /// As [`Redaction::value`], for a value that is read as some type again: numbers stay numbers.
    pub fn typed_value(&self, value: &mut Value, counts: &mut Counts) {
        Walk { redaction: self, counts, path: Vec::new(), numbers: false }.value(value);
    }

    /// As [`Redaction::typed_value`], for the value of one field of a state: paths begin with its name.
    pub fn field_value(&self, field: &str, value: &mut Value, counts: &mut Counts) {
        Walk { redaction: self, counts, path: vec![field.to_owned()], numbers: false }.value(value);
    }

    /// As [`Redaction::field_value`], for several fields by their names.
    pub fn fields(&self, map: &mut Map<String, Value>, counts: &mut Counts) {
        map.iter_mut().for_each(|(field, value)| self.field_value(field, value, counts));
    }

    /// One note about something: paths begin with its name.
    pub(super) fn note(&self, name: &str, value: &mut Value, counts: &mut Counts) {
        Walk { redaction: self, counts, path: vec![name.to_owned()], numbers: true }.value(value);
    }

    /// A text that may be JSON: it stays JSON, and the paths of fields hold in it as well.
    pub(super) fn text_or_json<'a>(&self, text: &'a str, counts: &mut Counts) -> Cow<'a, str> {
        if text.trim_start().starts_with(['{', '['])
            && self.asks_for_json(text)
            && let Ok(mut value) = serde_json::from_str::<Value>(text)
        {
            let before = counts.total();
            self.value(&mut value, counts);
            let redacted = if counts.total() == before { Cow::Borrowed(text) } else { Cow::Owned(value.to_string()) };
            if !self.0.allowed_fields.is_empty() {
                return redacted;
            }
            // What reaches over several values, or is in a key that is there twice.
            return match self.text_counted(&redacted, counts) {
                Cow::Owned(again) => Cow::Owned(again),
                Cow::Borrowed(_) => redacted,
            };
        }
        self.text_counted(text, counts)
    }

    /// Whether a text that may be JSON is read as such: for its fields, or because there is something in it, which may be
    /// hidden by escapes. A private key over several values is taken out of the text.
    fn asks_for_json(&self, text: &str) -> bool {
        let has_fields = !self.0.fields.is_empty() || !self.0.allowed_fields.is_empty();
        if has_fields {
            return true;
        }
        if text.len() > LONGEST_JSON {
            return false;
        }
        let hits = self.find(text);
        let is_over_values =
            |hit: &Hit| hit.what == What::Known(Kind::PrivateKey) && text[hit.start..hit.end].contains('"');
        let is_hidden = || ["\\u", "\\/"].iter().any(|escape| text.contains(escape));
        !hits.iter().any(is_over_values) && (!hits.is_empty() || is_hidden())
    }
}

/// On the way through a value.
struct Walk<'a> {
    redaction: &'a Redaction,
    counts: &'a mut Counts,
    path: Vec<String>,
    numbers: bool,
}

impl Walk<'_> {
    fn value(&mut self, value: &mut Value) {
        if self.is_at(&self.redaction.0.allowed_fields) {
            return;
        }
        if self.is_at(&self.redaction.0.fields) {
            return self.whole(value);
        }
        match value {
            Value::String(text) => {
                // Paths lead through values, not into texts that are written JSON.
                let redacted = match self.asks_for_paths() {
                    true => self.redaction.text_counted(text, self.counts),
                    false => self.redaction.text_or_json(text, self.counts),
                };
                if let Cow::Owned(redacted) = redacted {
                    *text = redacted;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.inside(|| index.to_string(), |walk| walk.value(item));
                }
            }
            Value::Object(map) => self.object(map),
            Value::Number(number) if self.numbers && (number.is_u64() || !self.redaction.0.own.is_empty()) => {
                if let Cow::Owned(redacted) = self.redaction.text_counted(&number.to_string(), self.counts) {
                    *value = redacted.into();
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, map: &mut Map<String, Value>) {
        let mut renamed = Vec::new();
        for (key, value) in map.iter_mut() {
            self.inside(|| key.clone(), |walk| walk.value(value));
            if let Cow::Owned(name) = self.redaction.text_counted(key, self.counts) {
                renamed.push((key.clone(), name));
            }
        }
        for (key, name) in renamed {
            let Some(value) = map.remove(&key) else { continue };
            // Two keys may become one name: the later ones are numbered, so that no value is lost.
            let mut names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name} {number}")));
            let free = names.find(|name| !map.contains_key(name));
            map.insert(free.unwrap_or(name), value);
        }
    }

    /// Takes out the value as it is, unless that was done.
    fn whole(&mut self, value: &mut Value) {
        let marker = format!("{MARKER}{FIELD}]");
        if value.is_null() || value.as_str() == Some(&marker) {
            return;
        }
        *value = marker.into();
        self.counts.add(FIELD, 1);
    }

    /// Goes one step down. Paths are written only where somebody asks for them.
    fn inside(&mut self, step: impl FnOnce() -> String, look: impl FnOnce(&mut Self)) {
        let is_asked = self.asks_for_paths();
        if is_asked {
            self.path.push(step());
        }
        look(self);
        if is_asked {
            self.path.pop();
        }
    }

    fn asks_for_paths(&self) -> bool {
        !self.redaction.0.fields.is_empty() || !self.redaction.0.allowed_fields.is_empty()
    }

    fn is_at(&self, paths: &[FieldPath]) -> bool {
        paths.iter().any(|path| path.is(&self.path))
    }
}
