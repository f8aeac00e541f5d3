//! A post to be, and the rules it keeps.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::{Code, Error, Result};

use super::sentences::sentences;
use crate::types::Mode;

/// How many characters a text has at most.
pub const LONGEST_TEXT: usize = 500;
/// How many sentences a text has at most.
pub const MOST_SENTENCES: usize = 3;
/// How many tags a post has at most.
pub const MOST_TAGS: usize = 5;
/// How many characters a tag has at most.
pub const LONGEST_TAG: usize = 20;

/// A post to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPost {
    /// What it says.
    pub text: String,
    /// What it is about.
    pub tags: Vec<String>,
    /// What it is for.
    pub mode: Mode,
    /// How long it stays.
    pub ttl: TimeToLive,
    /// Who writes it.
    pub author_id: String,
    /// The name of who writes it.
    pub author_name: String,
    /// Where: degrees north.
    pub lat: Option<f64>,
    /// Where: degrees east.
    pub lng: Option<f64>,
}

/// How long a post stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub enum TimeToLive {
    /// An hour.
    #[serde(rename = "1h")]
    Hour,
    /// A day.
    #[default]
    #[serde(rename = "24h")]
    Day,
    /// Three days.
    #[serde(rename = "72h")]
    ThreeDays,
    /// A week.
    #[serde(rename = "7d")]
    Week,
}

/// A rule that is broken, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Violation {
    /// Where: a JSON pointer.
    pub pointer: String,
    /// What is wrong, for a person.
    pub message: String,
}

impl TimeToLive {
    /// All of them, the shortest first.
    pub const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::ThreeDays, Self::Week];

    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::ThreeDays => "72h",
            Self::Week => "7d",
        }
    }

    /// The one of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ttl| ttl.name() == name)
    }

    /// How long that is, in microseconds.
    #[must_use]
    pub const fn micros(self) -> i64 {
        let hours = match self {
            Self::Hour => 1,
            Self::Day => 24,
            Self::ThreeDays => 72,
            Self::Week => 7 * 24,
        };
        hours * 3_600 * 1_000_000
    }
}

impl NewPost {
    /// A question that stays a day, by nobody in particular.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tags: Vec::new(),
            mode: Mode::Question,
            ttl: TimeToLive::Day,
            author_id: "guest".to_owned(),
            author_name: "Guest".to_owned(),
            lat: None,
            lng: None,
        }
    }

    /// Reads a post from JSON: `text`, `tags`, `mode`, `ttl`, `authorId`, `authorName`, `lat`, `lng`.
    ///
    /// # Errors
    /// Every rule that is broken, by types and by content.
    pub fn read(value: &Value) -> Result<Self, Vec<Violation>> {
        let Some(fields) = value.as_object() else { return Err(vec![violation("", "must be an object")]) };
        let mut broken = Vec::new();
        let known = ["text", "tags", "mode", "ttl", "authorId", "authorName", "lat", "lng"];
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            broken.push(violation(&format!("/{}", escape(name)), "is no field of a post"));
        }
        let mut post = Self::new("");
        let take = |name: &str| fields.get(name).filter(|value| !value.is_null());
        match take("text").map(Value::as_str) {
            Some(Some(text)) => text.clone_into(&mut post.text),
            Some(None) => broken.push(violation("/text", "must be a text")),
            None => broken.push(violation("/text", "is missing")),
        }
        for (index, tag) in take("tags").map(|tags| list(tags, &mut broken)).into_iter().flatten().enumerate() {
            // One that is no text keeps its place, so that those behind it are named right.
            post.tags.push(tag.as_str().unwrap_or_default().to_owned());
            if !tag.is_string() {
                broken.push(violation(&format!("/tags/{index}"), "must be a text"));
            }
        }
        let name = |value: &Value| value.as_str().map(str::to_owned);
        let modes = "must be `question`, `offer` or `event`";
        set(&mut post.mode, take("mode"), |value| Mode::named(value.as_str()?), ("/mode", modes), &mut broken);
        let ttls = "must be `1h`, `24h`, `72h` or `7d`";
        set(&mut post.ttl, take("ttl"), |value| TimeToLive::named(value.as_str()?), ("/ttl", ttls), &mut broken);
        set(&mut post.author_id, take("authorId"), name, ("/authorId", "must be a text"), &mut broken);
        set(&mut post.author_name, take("authorName"), name, ("/authorName", "must be a text"), &mut broken);
        let degrees = |value: &Value| value.as_f64().map(Some);
        set(&mut post.lat, take("lat"), degrees, ("/lat", "must be a number"), &mut broken);
        set(&mut post.lng, take("lng"), degrees, ("/lng", "must be a number"), &mut broken);
        // What is not even of the right type breaks no further rule.
        let wrong: BTreeSet<String> = broken.iter().map(|violation| violation.pointer.clone()).collect();
        broken.extend(post.violations().into_iter().filter(|violation| !wrong.contains(&violation.pointer)));
        if broken.is_empty() { Ok(post) } else { Err(broken) }
    }

    /// Every rule that it breaks.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let mut broken = Vec::new();
        let mut text = |message: String| broken.push(violation("/text", &message));
        match self.text.trim().chars().count() {
            0 => text("must not be empty".to_owned()),
            length if length > LONGEST_TEXT => text(format!("has {length} characters; {LONGEST_TEXT} are allowed")),
            _ => {}
        }
        let count = sentences(&self.text);
        if count > MOST_SENTENCES {
            text(format!("has {count} sentences; {MOST_SENTENCES} are allowed"));
        }
        if self.tags.len() > MOST_TAGS {
            broken.push(violation("/tags", &format!("has {} tags; {MOST_TAGS} are allowed", self.tags.len())));
        }
        let mut seen = BTreeSet::new();
        for (index, tag) in self.tags.iter().enumerate() {
            let length = tag.trim().chars().count();
            let message = match length {
                0 => "must not be empty".to_owned(),
                _ if length > LONGEST_TAG => format!("has {length} characters; {LONGEST_TAG} are allowed"),
                _ if !seen.insert(tag.trim().to_lowercase()) => "is there already".to_owned(),
                _ => continue,
            };
            broken.push(violation(&format!("/tags/{index}"), &message));
        }
        for (pointer, degrees, most) in [("/lat", self.lat, 90.0), ("/lng", self.lng, 180.0)] {
            if degrees.is_some_and(|degrees| !(-most..=most).contains(&degrees)) {
                broken.push(violation(pointer, &format!("must be within -{most} and {most}")));
            }
        }
        for (pointer, name) in [("/authorId", &self.author_id), ("/authorName", &self.author_name)] {
            if name.trim().is_empty() || name.chars().count() > 100 {
                broken.push(violation(pointer, "must have 1 to 100 characters"));
            }
        }
        broken
    }

    pub(super) fn check(&self) -> Result<()> {
        let broken = self.violations();
        if broken.is_empty() {
            return Ok(());
        }
        let said: Vec<String> = broken.iter().map(|broken| format!("{} {}", broken.pointer, broken.message)).collect();
        Err(Error::new(Code::InputInvalid, format!("the post breaks its rules: {}", said.join("; "))))
    }
}

/// Sets a field that is given, or says what is wrong with it.
fn set<T>(
    field: &mut T,
    given: Option<&Value>,
    read: impl Fn(&Value) -> Option<T>,
    (pointer, message): (&str, &str),
    broken: &mut Vec<Violation>,
) {
    match given.map(read) {
        None => {}
        Some(Some(value)) => *field = value,
        Some(None) => broken.push(violation(pointer, message)),
    }
}

fn list<'a>(tags: &'a Value, broken: &mut Vec<Violation>) -> &'a [Value] {
    tags.as_array().map_or_else(
        || {
            broken.push(violation("/tags", "must be a list of texts"));
            [].as_slice()
        },
        Vec::as_slice,
    )
}

/// A name inside a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn violation(pointer: &str, message: &str) -> Violation {
    Violation { pointer: pointer.to_owned(), message: message.to_owned() }
}
