//! JSON without what must not be in it: texts, keys of objects, and values at paths.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::path::FieldPath;
use super::{Counts, FIELD, MARKER, Redaction, number};

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

    /// A text that may be JSON: the paths of fields hold in it as well.
    pub(super) fn text_or_json<'a>(&self, text: &'a str, counts: &mut Counts) -> Cow<'a, str> {
        let may_be_json = !self.0.fields.is_empty() || !self.0.allowed_fields.is_empty();
        if may_be_json
            && text.trim_start().starts_with(['{', '['])
            && let Ok(mut value) = serde_json::from_str::<Value>(text)
        {
            let before = counts.total();
            self.value(&mut value, counts);
            return if counts.total() == before { Cow::Borrowed(text) } else { Cow::Owned(value.to_string()) };
        }
        self.text_counted(text, counts)
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
                if let Cow::Owned(redacted) = self.redaction.text_counted(text, self.counts) {
                    *text = redacted;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.inside(|| index.to_string(), |walk| walk.value(item));
                }
            }
            Value::Object(map) => self.object(map),
            Value::Number(number) if self.numbers && number.is_u64() => {
                let digits = number.to_string();
                if self.redaction.0.kinds.has(super::Kind::Card) && number::card(digits.as_bytes(), 0).is_some() {
                    *value = self.redaction.text_counted(&digits, self.counts).into_owned().into();
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
        let rules = &self.redaction.0;
        let is_asked = !rules.fields.is_empty() || !rules.allowed_fields.is_empty();
        if is_asked {
            self.path.push(step());
        }
        look(self);
        if is_asked {
            self.path.pop();
        }
    }

    fn is_at(&self, paths: &[FieldPath]) -> bool {
        paths.iter().any(|path| path.is(&self.path))
    }
}
