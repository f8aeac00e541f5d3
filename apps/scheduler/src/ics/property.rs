//! One property of a component: `NAME;PARAMETER=value:value`.
//!
//! The line stays as it was; `calcard` reads its parameters and text when they are asked for.

use calcard::icalendar::{ICalendar, ICalendarEntry, ICalendarParameterName as Parameter, ICalendarValue};

use super::lines::{Line, escape, is_name, unquote};
use super::report::Problem;

/// One property.
#[derive(Debug, Clone)]
pub(super) struct Property {
    /// Its name, in capitals.
    pub(super) name: String,
    /// Its line in the file.
    pub(super) line: usize,
    /// All of it.
    pub(super) raw: String,
    /// Where its value begins.
    value: usize,
}

impl Property {
    /// Nothing when the line is none.
    pub(super) fn read(line: &Line) -> Option<Self> {
        let mut is_quoted = false;
        let colon = line.text.find(|character| {
            is_quoted ^= character == '"';
            character == ':' && !is_quoted
        })?;
        let name = line.text[..colon].split(';').next().filter(|name| is_name(name))?;
        let name = name.to_ascii_uppercase();
        Some(Self { name, line: line.number, raw: line.text.clone(), value: colon + 1 })
    }

    /// The same with its text escaped as it should be, and not encoded in any other way.
    pub(super) fn tidied(self) -> Self {
        let head = &self.raw[..self.value - 1];
        let is_encoded = head.to_ascii_uppercase().contains(";ENCODING=");
        let head = if is_encoded { self.name.clone() } else { head.to_owned() };
        let (value, text) = (head.len() + 1, escape(&self.text()));
        Self { raw: format!("{head}:{text}"), value, ..self }
    }

    /// Its value as it is written.
    pub(super) fn value(&self) -> &str {
        self.raw[self.value..].trim()
    }

    /// Its value as text.
    pub(super) fn text(&self) -> String {
        self.texts().into_iter().next().unwrap_or_default()
    }

    /// Its values as text, where there may be several.
    pub(super) fn texts(&self) -> Vec<String> {
        let values = self.entry().map(|entry| entry.values).unwrap_or_default();
        values.into_iter().filter_map(ICalendarValue::into_text).map(std::borrow::Cow::into_owned).collect()
    }

    /// Its value, if there is one that is more than text.
    pub(super) fn typed(&self) -> Option<ICalendarValue> {
        self.entry()?.values.into_iter().next()
    }

    /// What a parameter says.
    pub(super) fn parameter(&self, name: &Parameter) -> Option<String> {
        let entry = self.entry()?;
        entry.parameter(name).and_then(|value| value.clone().into_text()).map(|text| unquote(&text))
    }

    /// What is wrong with it.
    pub(super) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::new(self.line, &self.name, message)
    }

    fn entry(&self) -> Option<ICalendarEntry> {
        let whole = format!("BEGIN:VEVENT\n{}\nEND:VEVENT\n", self.raw);
        let mut calendar = ICalendar::parse(whole).ok()?;
        calendar.components.first_mut()?.entries.pop()
    }
}
