//! New posts and their validation.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::{Error, ErrorCode, Result};

use super::sentences::count_sentences;
use crate::types::Mode;

/// Maximum length of a post in characters.
pub const MAX_TEXT_CHARS: usize = 500;
/// Maximum number of sentences in a post.
pub const MAX_SENTENCES: usize = 3;
/// Maximum number of tags of a post.
pub const MAX_TAGS: usize = 5;
/// Maximum length of a tag in characters.
pub const MAX_TAG_CHARS: usize = 20;

/// A post to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPost {
    /// Text of the post.
    pub text: String,
    /// Topics of the post.
    pub tags: Vec<String>,
    /// Purpose of the post.
    pub mode: Mode,
    /// Time to live of the post.
    pub ttl: TimeToLive,
    /// Id of the author.
    pub author_id: String,
    /// Display name of the author.
    pub author_name: String,
    /// Latitude in degrees north.
    pub lat: Option<f64>,
    /// Longitude in degrees east.
    pub lng: Option<f64>,
}

/// Time to live of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub enum TimeToLive {
    /// One hour.
    #[serde(rename = "1h")]
    Hour,
    /// One day.
    #[default]
    #[serde(rename = "24h")]
    Day,
    /// Three days.
    #[serde(rename = "72h")]
    ThreeDays,
    /// One week.
    #[serde(rename = "7d")]
    Week,
}

/// A violation of a rule for posts, with its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PostViolation {
    /// JSON pointer to the invalid value.
    pub pointer: String,
    /// Error message for users.
    pub message: String,
}

impl TimeToLive {
    /// All values, shortest first.
    pub const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::ThreeDays, Self::Week];

    /// Returns the name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::ThreeDays => "72h",
            Self::Week => "7d",
        }
    }

    /// Parses the JSON name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ttl| ttl.name() == name)
    }

    /// Returns the duration in microseconds.
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
    /// Creates a question with a time to live of one day and the author `guest`.
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

    /// Parses a post from JSON with the fields `text`, `tags`, `mode`, `ttl`, `authorId`, `authorName`, `lat` and
    /// `lng`.
    ///
    /// # Errors
    /// Returns every violation, of types and of content.
    pub fn from_json(value: &Value) -> Result<Self, Vec<PostViolation>> {
        let Some(fields) = value.as_object() else { return Err(vec![violation("", "must be an object")]) };
        let mut violations = Vec::new();
        let field_names = ["text", "tags", "mode", "ttl", "authorId", "authorName", "lat", "lng"];
        for name in fields.keys().filter(|name| !field_names.contains(&name.as_str())) {
            violations.push(violation(&format!("/{}", escape(name)), "is not a field of a post"));
        }
        let mut post = Self::new("");
        let field = |name: &str| fields.get(name).filter(|value| !value.is_null());
        match field("text").map(Value::as_str) {
            Some(Some(text)) => text.clone_into(&mut post.text),
            Some(None) => violations.push(violation("/text", "must be text")),
            None => violations.push(violation("/text", "is missing")),
        }
        for (index, tag) in
            field("tags").map(|tags| tag_values(tags, &mut violations)).into_iter().flatten().enumerate()
        {
            // An invalid tag keeps its index, so that violations of later tags have the right pointer.
            post.tags.push(tag.as_str().unwrap_or_default().to_owned());
            if !tag.is_string() {
                violations.push(violation(&format!("/tags/{index}"), "must be text"));
            }
        }
        let name = |value: &Value| value.as_str().map(str::to_owned);
        let modes = "must be `question`, `offer` or `event`";
        set(&mut post.mode, field("mode"), |value| Mode::from_name(value.as_str()?), ("/mode", modes), &mut violations);
        let ttls = "must be `1h`, `24h`, `72h` or `7d`";
        set(
            &mut post.ttl,
            field("ttl"),
            |value| TimeToLive::from_name(value.as_str()?),
            ("/ttl", ttls),
            &mut violations,
        );
        set(&mut post.author_id, field("authorId"), name, ("/authorId", "must be text"), &mut violations);
        set(&mut post.author_name, field("authorName"), name, ("/authorName", "must be text"), &mut violations);
        let degrees = |value: &Value| value.as_f64().map(Some);
        set(&mut post.lat, field("lat"), degrees, ("/lat", "must be a number"), &mut violations);
        set(&mut post.lng, field("lng"), degrees, ("/lng", "must be a number"), &mut violations);
        // A field of the wrong type is not validated further.
        let invalid_fields: BTreeSet<String> = violations.iter().map(|violation| violation.pointer.clone()).collect();
        violations
            .extend(post.violations().into_iter().filter(|violation| !invalid_fields.contains(&violation.pointer)));
        if violations.is_empty() { Ok(post) } else { Err(violations) }
    }

    /// Returns every violation of the content rules.
    #[must_use]
    pub fn violations(&self) -> Vec<PostViolation> {
        let mut violations = Vec::new();
        let mut text = |message: String| violations.push(violation("/text", &message));
        match self.text.trim().chars().count() {
            0 => text("must not be empty".to_owned()),
            length if length > MAX_TEXT_CHARS => {
                text(format!("has {length} characters; the maximum is {MAX_TEXT_CHARS}"))
            }
            _ => {}
        }
        let count = count_sentences(&self.text);
        if count > MAX_SENTENCES {
            text(format!("has {count} sentences; the maximum is {MAX_SENTENCES}"));
        }
        if self.tags.len() > MAX_TAGS {
            violations.push(violation("/tags", &format!("has {} tags; the maximum is {MAX_TAGS}", self.tags.len())));
        }
        let mut seen = BTreeSet::new();
        for (index, tag) in self.tags.iter().enumerate() {
            let length = tag.trim().chars().count();
            let message = match length {
                0 => "must not be empty".to_owned(),
                _ if length > MAX_TAG_CHARS => format!("has {length} characters; the maximum is {MAX_TAG_CHARS}"),
                _ if !seen.insert(tag.trim().to_lowercase()) => "is a duplicate".to_owned(),
                _ => continue,
            };
            violations.push(violation(&format!("/tags/{index}"), &message));
        }
        for (pointer, degrees, limit) in [("/lat", self.lat, 90.0), ("/lng", self.lng, 180.0)] {
            if degrees.is_some_and(|degrees| !(-limit..=limit).contains(&degrees)) {
                violations.push(violation(pointer, &format!("must be between -{limit} and {limit}")));
            }
        }
        for (pointer, name) in [("/authorId", &self.author_id), ("/authorName", &self.author_name)] {
            if name.trim().is_empty() || name.chars().count() > 100 {
                violations.push(violation(pointer, "must have 1 to 100 characters"));
            }
        }
        violations
    }

    pub(super) fn check(&self) -> Result<()> {
        let violations = self.violations();
        if violations.is_empty() {
            return Ok(());
        }
        let messages: Vec<String> =
            violations.iter().map(|violation| format!("{} {}", violation.pointer, violation.message)).collect();
        Err(Error::new(ErrorCode::InputInvalid, format!("the post is invalid: {}", messages.join("; "))))
    }
}

/// Sets a field if a value is given, or adds a violation if the value is invalid.
fn set<T>(
    field: &mut T,
    input: Option<&Value>,
    read: impl Fn(&Value) -> Option<T>,
    (pointer, message): (&str, &str),
    violations: &mut Vec<PostViolation>,
) {
    match input.map(read) {
        None => {}
        Some(Some(value)) => *field = value,
        Some(None) => violations.push(violation(pointer, message)),
    }
}

fn tag_values<'a>(tags: &'a Value, violations: &mut Vec<PostViolation>) -> &'a [Value] {
    tags.as_array().map_or_else(
        || {
            violations.push(violation("/tags", "must be a list of text values"));
            [].as_slice()
        },
        Vec::as_slice,
    )
}

/// Escapes a name for use in a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn violation(pointer: &str, message: &str) -> PostViolation {
    PostViolation { pointer: pointer.to_owned(), message: message.to_owned() }
}
