//! Redaction of JSON: texts, keys of objects, and values at paths.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::field_path::FieldPath;
use super::scan::{Match, MatchKind};
use super::{FIELD, MARKER, Redaction, RedactionCounts, SecretKind};

/// Maximum length of a text that is parsed as JSON if there are no path rules, in bytes.
const MAX_JSON_LENGTH: usize = 1024 * 1024;

impl Redaction {
    /// Redacts a value. Numbers that are card numbers become markers too.
    ///
    /// ```
    /// use serde_json::json;
    /// use superstep_core::redaction::{RedactionCounts, Redaction};
    ///
    /// let mut user = json!({"name": "Ada", "ssn": 12, "mail": ["ada@example.com"]});
    /// let mut counts = RedactionCounts::default();
    /// Redaction::default().field("ssn").redact_value(&mut user, &mut counts);
    /// assert_eq!(user, json!({"name": "Ada", "ssn": "[REDACTED:field]", "mail": ["[REDACTED:mail]"]}));
    /// assert_eq!(counts.total(), 2);
    /// ```
    pub fn redact_value(&self, value: &mut Value, counts: &mut RedactionCounts) {
        JsonRedactor { redaction: self, counts, path: Vec::new(), numbers: true }.redact(value);
    }

    /// Same as [`Redaction::redact_value`], for a value that is deserialized into a type again: numbers stay numbers.
    pub fn redact_typed_json(&self, value: &mut Value, counts: &mut RedactionCounts) {
        JsonRedactor { redaction: self, counts, path: Vec::new(), numbers: false }.redact(value);
    }

    /// Same as [`Redaction::redact_typed_json`], for the value of one field of a state: paths begin with its name.
    pub fn redact_field_value(&self, field: &str, value: &mut Value, counts: &mut RedactionCounts) {
        JsonRedactor { redaction: self, counts, path: vec![field.to_owned()], numbers: false }.redact(value);
    }

    /// Same as [`Redaction::redact_field_value`], for several fields by their names.
    pub fn redact_fields(&self, map: &mut Map<String, Value>, counts: &mut RedactionCounts) {
        map.iter_mut().for_each(|(field, value)| self.redact_field_value(field, value, counts));
    }

    /// Redacts one entry of metadata: paths begin with its name.
    pub(super) fn redact_metadata_value(&self, name: &str, value: &mut Value, counts: &mut RedactionCounts) {
        JsonRedactor { redaction: self, counts, path: vec![name.to_owned()], numbers: true }.redact(value);
    }

    /// Redacts a text that may be JSON: it stays JSON, and the paths of fields apply in it as well.
    pub(super) fn redact_text_or_json<'a>(&self, text: &'a str, counts: &mut RedactionCounts) -> Cow<'a, str> {
        if text.trim_start().starts_with(['{', '['])
            && self.should_parse_json(text)
            && let Ok(mut value) = serde_json::from_str::<Value>(text)
        {
            let before = counts.total();
            self.redact_value(&mut value, counts);
            let redacted = if counts.total() == before { Cow::Borrowed(text) } else { Cow::Owned(value.to_string()) };
            if !self.0.allowed_fields.is_empty() {
                return redacted;
            }
            // A match across several values, or in a repeated key.
            return match self.redact_text_counted(&redacted, counts) {
                Cow::Owned(rewritten) => Cow::Owned(rewritten),
                Cow::Borrowed(_) => redacted,
            };
        }
        self.redact_text_counted(text, counts)
    }

    /// Returns true if a text that may be JSON must be parsed: because of path rules, or because it has a match,
    /// which escapes may hide. A private key across several values is redacted in the text.
    fn should_parse_json(&self, text: &str) -> bool {
        let has_fields = !self.0.fields.is_empty() || !self.0.allowed_fields.is_empty();
        if has_fields {
            return true;
        }
        if text.len() > MAX_JSON_LENGTH {
            return false;
        }
        let hits = self.find(text);
        let is_over_values = |hit: &Match| {
            hit.kind == MatchKind::BuiltIn(SecretKind::PrivateKey) && text[hit.start..hit.end].contains('"')
        };
        let is_hidden = || ["\\u", "\\/"].iter().any(|escape| text.contains(escape));
        !hits.iter().any(is_over_values) && (!hits.is_empty() || is_hidden())
    }
}

/// A traversal of a value.
struct JsonRedactor<'a> {
    redaction: &'a Redaction,
    counts: &'a mut RedactionCounts,
    path: Vec<String>,
    /// True if numbers may become markers.
    numbers: bool,
}

impl JsonRedactor<'_> {
    fn redact(&mut self, value: &mut Value) {
        if self.is_at(&self.redaction.0.allowed_fields) {
            return;
        }
        if self.is_at(&self.redaction.0.fields) {
            return self.redact_all(value);
        }
        match value {
            Value::String(text) => {
                // Paths lead through values, not into texts that contain JSON.
                let redacted = match self.has_path_rules() {
                    true => self.redaction.redact_text_counted(text, self.counts),
                    false => self.redaction.redact_text_or_json(text, self.counts),
                };
                if let Cow::Owned(redacted) = redacted {
                    *text = redacted;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.descend(|| index.to_string(), |redactor| redactor.redact(item));
                }
            }
            Value::Object(map) => self.redact_object(map),
            Value::Number(number)
                if self.numbers && (number.is_u64() || !self.redaction.0.custom_patterns.is_empty()) =>
            {
                if let Cow::Owned(redacted) = self.redaction.redact_text_counted(&number.to_string(), self.counts) {
                    *value = redacted.into();
                }
            }
            _ => {}
        }
    }

    fn redact_object(&mut self, map: &mut Map<String, Value>) {
        let mut renamed = Vec::new();
        for (key, value) in map.iter_mut() {
            self.descend(|| key.clone(), |redactor| redactor.redact(value));
            if let Cow::Owned(name) = self.redaction.redact_text_counted(key, self.counts) {
                renamed.push((key.clone(), name));
            }
        }
        for (key, name) in renamed {
            let Some(value) = map.remove(&key) else { continue };
            // Two keys may be redacted to the same name: the later ones are numbered, so that no value is lost.
            let mut names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name} {number}")));
            let free = names.find(|name| !map.contains_key(name));
            map.insert(free.unwrap_or(name), value);
        }
    }

    /// Redacts the whole value, unless it is redacted already.
    fn redact_all(&mut self, value: &mut Value) {
        let marker = format!("{MARKER}{FIELD}]");
        if value.is_null() || value.as_str() == Some(&marker) {
            return;
        }
        *value = marker.into();
        self.counts.add(FIELD, 1);
    }

    /// Descends one level. Paths are recorded only if there are path rules.
    fn descend(&mut self, step: impl FnOnce() -> String, visit: impl FnOnce(&mut Self)) {
        let records_path = self.has_path_rules();
        if records_path {
            self.path.push(step());
        }
        visit(self);
        if records_path {
            self.path.pop();
        }
    }

    fn has_path_rules(&self) -> bool {
        !self.redaction.0.fields.is_empty() || !self.redaction.0.allowed_fields.is_empty()
    }

    fn is_at(&self, paths: &[FieldPath]) -> bool {
        paths.iter().any(|path| path.matches(&self.path))
    }
}
