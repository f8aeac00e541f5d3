//! Preserved lines of an imported event.
//!
//! Properties that the calendar does not use are exported unchanged. Properties that carry more than the event has,
//! such as the language of a title, are exported as long as their value equals that of the event.

use super::component::component_name;
use super::content_line::ContentLine;
use super::property::Property;

/// Properties that an event represents completely. They are never preserved.
pub(super) const MAPPED_PROPERTIES: [&str; 14] = [
    "BEGIN",
    "END",
    "UID",
    "DTSTART",
    "DTEND",
    "RECURRENCE-ID",
    "RRULE",
    "RDATE",
    "EXDATE",
    "SEQUENCE",
    "DTSTAMP",
    "CREATED",
    "LAST-MODIFIED",
    "X-SUPERSTEP-FLEXIBILITY",
];

/// Properties whose preserved line is exported only while its value equals that of the event.
const COMPARED_PROPERTIES: [&str; 8] =
    ["DURATION", "SUMMARY", "DESCRIPTION", "LOCATION", "ATTENDEE", "RESOURCES", "PRIORITY", "STATUS"];

/// The preserved lines of an event.
#[derive(Debug, Default)]
pub(super) struct PreservedProperties {
    properties: Vec<Property>,
    nested: Vec<String>,
}

impl PreservedProperties {
    /// Separates properties and nested components. A component without END is left out, because it would swallow
    /// the following lines.
    pub(super) fn from_lines(extra: &[String]) -> Self {
        let (mut preserved, mut open, mut names) = (Self::default(), Vec::new(), Vec::new());
        for text in extra {
            let begin = component_name(text, "BEGIN:");
            let ends = component_name(text, "END:");
            if begin.is_none() && names.is_empty() {
                let property = Property::parse(&ContentLine { number: 0, text: text.clone() });
                preserved.properties.extend(property.filter(|_| ends.is_none()));
                continue;
            }
            open.push(text.clone());
            names.extend(begin);
            if ends.is_some() && ends == names.pop_if(|name| Some(&*name) == ends.as_ref()) && names.is_empty() {
                preserved.nested.append(&mut open);
            }
        }
        preserved
    }

    /// Returns the preserved properties with a name.
    pub(super) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Property> {
        self.properties.iter().filter(move |property| property.name == name)
    }

    /// Returns the first preserved line with a name and an equal value.
    pub(super) fn matching_line(&self, name: &str, is_equal: impl Fn(&Property) -> bool) -> Option<String> {
        self.named(name).find(|property| is_equal(property)).map(|property| property.raw.clone())
    }

    /// Returns all lines that are exported unchanged.
    pub(super) fn verbatim_lines(&self) -> impl Iterator<Item = String> {
        let is_other = |property: &&Property| {
            let name = property.name.as_str();
            !COMPARED_PROPERTIES.contains(&name) && !MAPPED_PROPERTIES.contains(&name)
        };
        let properties = self.properties.iter().filter(is_other).map(|property| property.raw.clone());
        properties.chain(self.nested.iter().cloned())
    }
}
