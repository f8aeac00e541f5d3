//! Lines of a calendar file that an event kept.
//!
//! Some mean nothing here and are written as they were. Others say more than the event knows, such as the language of a
//! title: these are written as long as they still say the same as the event.

use super::component::marker;
use super::lines::Line;
use super::property::Property;

/// Properties of which an event knows all: they are never kept.
pub(super) const KNOWN: [&str; 14] = [
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

/// Properties that are written as they were kept only while they say the same as the event.
const COMPARED: [&str; 8] =
    ["DURATION", "SUMMARY", "DESCRIPTION", "LOCATION", "ATTENDEE", "RESOURCES", "PRIORITY", "STATUS"];

/// What an event kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    own: Vec<Property>,
    nested: Vec<String>,
}

impl Kept {
    /// Sorts the lines; a component without its end is left out, for it would swallow what follows.
    pub(super) fn of(extra: &[String]) -> Self {
        let (mut kept, mut open, mut names) = (Self::default(), Vec::new(), Vec::new());
        for text in extra {
            let begins = marker(text, "BEGIN:");
            let ends = marker(text, "END:");
            if begins.is_none() && names.is_empty() {
                let property = Property::read(&Line { number: 0, text: text.clone() });
                kept.own.extend(property.filter(|_| ends.is_none()));
                continue;
            }
            open.push(text.clone());
            names.extend(begins);
            if ends.is_some() && ends == names.pop_if(|name| Some(&*name) == ends.as_ref()) && names.is_empty() {
                kept.nested.append(&mut open);
            }
        }
        kept
    }

    /// The kept properties of a name.
    pub(super) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Property> {
        self.own.iter().filter(move |property| property.name == name)
    }

    /// The first kept property of a name that says the same, as it was.
    pub(super) fn same(&self, name: &str, says_the_same: impl Fn(&Property) -> bool) -> Option<String> {
        self.named(name).find(|property| says_the_same(property)).map(|property| property.raw.clone())
    }

    /// All that is written as it was.
    pub(super) fn others(&self) -> impl Iterator<Item = String> {
        let is_other = |property: &&Property| {
            let name = property.name.as_str();
            !COMPARED.contains(&name) && !KNOWN.contains(&name)
        };
        let own = self.own.iter().filter(is_other).map(|property| property.raw.clone());
        own.chain(self.nested.iter().cloned())
    }
}
