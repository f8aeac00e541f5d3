//! A property of a component: `NAME;PARAMETER=value:value`.
//!
//! The line is stored unchanged; `calcard` parses parameters and values on access.

use calcard::icalendar::{ICalendar, ICalendarEntry, ICalendarParameterName as Parameter, ICalendarValue};

use super::content_line::{ContentLine, escape, is_name, unquote};
use super::report::ImportProblem;

/// A property.
#[derive(Debug, Clone)]
pub(super) struct Property {
    /// Property name in upper case.
    pub(super) name: String,
    /// Line number in the file.
    pub(super) line: usize,
    /// The whole line.
    pub(super) raw: String,
    /// Byte offset of the value.
    value: usize,
}

impl Property {
    /// Parses a line; `None` if the line is not a property.
    pub(super) fn parse(line: &ContentLine) -> Option<Self> {
        let mut is_quoted = false;
        let colon = line.text.find(|character| {
            is_quoted ^= character == '"';
            character == ':' && !is_quoted
        })?;
        let name = line.text[..colon].split(';').next().filter(|name| is_name(name))?;
        let name = name.to_ascii_uppercase();
        Some(Self { name, line: line.number, raw: line.text.clone(), value: colon + 1 })
    }

    /// Returns the property with its text escaped as in RFC 5545 and without `ENCODING`.
    pub(super) fn normalized(self) -> Self {
        let head = &self.raw[..self.value - 1];
        let is_encoded = head.to_ascii_uppercase().contains(";ENCODING=");
        let head = if is_encoded { self.name.clone() } else { head.to_owned() };
        let (value, text) = (head.len() + 1, escape(&self.text()));
        Self { raw: format!("{head}:{text}"), value, ..self }
    }

    /// Returns the value as written.
    pub(super) fn value(&self) -> &str {
        self.raw[self.value..].trim()
    }

    /// Returns the first value as text.
    pub(super) fn text(&self) -> String {
        self.texts().into_iter().next().unwrap_or_default()
    }

    /// Returns all values as text.
    pub(super) fn texts(&self) -> Vec<String> {
        let values = self.entry().map(|entry| entry.values).unwrap_or_default();
        values.into_iter().filter_map(ICalendarValue::into_text).map(std::borrow::Cow::into_owned).collect()
    }

    /// Returns the first value with the type that `calcard` gives it.
    pub(super) fn typed(&self) -> Option<ICalendarValue> {
        self.entry()?.values.into_iter().next()
    }

    /// Returns the value of a parameter.
    pub(super) fn parameter(&self, name: &Parameter) -> Option<String> {
        let entry = self.entry()?;
        entry.parameter(name).and_then(|value| value.clone().into_text()).map(|text| unquote(&text))
    }

    /// Creates a problem at the line of the property.
    pub(super) fn problem(&self, message: impl Into<String>) -> ImportProblem {
        ImportProblem::new(self.line, &self.name, message)
    }

    fn entry(&self) -> Option<ICalendarEntry> {
        let text = format!("BEGIN:VEVENT\n{}\nEND:VEVENT\n", self.raw);
        let mut calendar = ICalendar::parse(text).ok()?;
        calendar.components.first_mut()?.entries.pop()
    }
}
