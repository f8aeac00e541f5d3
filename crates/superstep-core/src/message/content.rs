//! The content of a message: one text, or parts of several kinds.
//!
//! A part is parsed only if all of its keys are known; any other part is kept as JSON, so that nothing is lost.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::validation_error::ValidationError;

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// One text.
    Text(String),
    /// Parts, in order.
    Parts(Vec<ContentPart>),
}

impl Content {
    /// Returns the text; for parts, their concatenated texts.
    pub fn text(&self) -> Cow<'_, str> {
        let parts = match self {
            Self::Text(text) => return Cow::Borrowed(text),
            Self::Parts(parts) => parts,
        };
        let mut texts = parts.iter().filter_map(ContentPart::as_text);
        let first = texts.next().unwrap_or_default();
        match texts.next() {
            None => Cow::Borrowed(first),
            Some(second) => Cow::Owned([first, second].into_iter().chain(texts).collect()),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<ContentPart>> for Content {
    fn from(parts: Vec<ContentPart>) -> Self {
        Self::Parts(parts)
    }
}

impl TryFrom<Value> for Content {
    type Error = ValidationError;

    fn try_from(value: Value) -> Result<Self, ValidationError> {
        match value {
            Value::String(text) => Ok(Self::Text(text)),
            // Providers write null beside tool calls.
            Value::Null => Ok(Self::Text(String::new())),
            Value::Array(parts) => Ok(Self::Parts(parts.into_iter().map(ContentPart::from).collect())),
            other => {
                Err(ValidationError::new(format!("content must be a string or a list of parts, not {}", kind(&other))))
            }
        }
    }
}

/// One part of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentPart {
    /// A text.
    Text {
        /// Text of the part.
        text: String,
        /// Other keys of the part, for example citations.
        extra: BTreeMap<String, Value>,
    },
    /// An image.
    Image(Media),
    /// An audio clip.
    Audio(Media),
    /// A file of any kind.
    File(Media),
    /// A part of an unknown kind, as it was received.
    Other(Value),
}

impl ContentPart {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: BTreeMap::new() }
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    fn parse(object: &Map<String, Value>) -> Option<Self> {
        let kind = object.get("type")?.as_str()?;
        let mut rest: BTreeMap<_, _> = object.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        rest.remove("type");
        match kind {
            "text" => Some(Self::Text { text: take_text(&mut rest, "text")?, extra: rest }),
            "image" => Media::parse(rest).map(Self::Image),
            "audio" => Media::parse(rest).map(Self::Audio),
            "file" => Media::parse(rest).map(Self::File),
            "image_url" => Media::parse_image_url(rest).map(Self::Image),
            _ => None,
        }
    }
}

impl From<Value> for ContentPart {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            Value::Object(object) => Self::parse(&object).unwrap_or(Self::Other(Value::Object(object))),
            other => Self::Other(other),
        }
    }
}

/// An image, an audio clip or a file: its URL or its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// URL or data.
    pub source: MediaSource,
    /// MIME type, for example `image/png`.
    pub mime_type: Option<String>,
    /// Other keys of the part, for example a file name.
    pub extra: BTreeMap<String, Value>,
}

/// The source of an image, an audio clip or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    /// A URL.
    Url(String),
    /// The data in base64.
    Base64(String),
}

impl Media {
    /// Creates a reference to this URL.
    pub fn url(url: impl Into<String>) -> Self {
        Self { source: MediaSource::Url(url.into()), mime_type: None, extra: BTreeMap::new() }
    }

    /// Creates embedded media from base64 data.
    pub fn base64(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        let source = MediaSource::Base64(data.into());
        Self { source, mime_type: Some(mime_type.into()), extra: BTreeMap::new() }
    }

    /// Parses `url | base64, mime_type?` and the older `source_type, url | data, mime_type?`.
    fn parse(mut rest: BTreeMap<String, Value>) -> Option<Self> {
        let key = match (rest.remove("source_type"), rest.contains_key("url")) {
            (None, true) => "url",
            (None, false) => "base64",
            (Some(Value::String(kind)), true) if kind == "url" => "url",
            (Some(Value::String(kind)), false) if kind == "base64" => "data",
            _ => return None,
        };
        let text = take_text(&mut rest, key)?;
        if rest.contains_key("base64") {
            return None;
        }
        let mime_type = match rest.remove("mime_type") {
            None => None,
            Some(Value::String(mime_type)) => Some(mime_type),
            Some(_) => return None,
        };
        let source = if key == "url" { MediaSource::Url(text) } else { MediaSource::Base64(text) };
        Some(Self { source, mime_type, extra: rest })
    }

    /// Parses OpenAI's `image_url: {url, detail?}`.
    fn parse_image_url(mut rest: BTreeMap<String, Value>) -> Option<Self> {
        let image = rest.remove("image_url")?;
        let Value::Object(image) = image else { return None };
        let image: BTreeMap<_, _> = image.into_iter().collect();
        let is_supported = rest.is_empty() && image.keys().all(|key| matches!(key.as_str(), "url" | "detail"));
        if is_supported { Self::parse(image) } else { None }
    }
}

impl Serialize for ContentPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text { text, extra } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
                serialize_extra(&mut map, extra, &["type", "text"])?;
                map.end()
            }
            Self::Image(media) => media.serialize_as("image", serializer),
            Self::Audio(media) => media.serialize_as("audio", serializer),
            Self::File(media) => media.serialize_as("file", serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

impl Media {
    fn serialize_as<S: Serializer>(&self, kind: &str, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", kind)?;
        match &self.source {
            MediaSource::Url(url) => map.serialize_entry("url", url)?,
            MediaSource::Base64(data) => map.serialize_entry("base64", data)?,
        }
        if let Some(mime_type) = &self.mime_type {
            map.serialize_entry("mime_type", mime_type)?;
        }
        serialize_extra(&mut map, &self.extra, &["type", "url", "base64", "mime_type", "source_type"])?;
        map.end()
    }
}

/// Serializes the extra keys; a key that a field already wrote is left out, because a duplicate would make the JSON
/// ambiguous.
pub(super) fn serialize_extra<'a, M: SerializeMap>(
    map: &mut M,
    extra: impl IntoIterator<Item = (&'a String, &'a Value)>,
    written: &[&str],
) -> Result<(), M::Error> {
    extra
        .into_iter()
        .filter(|(key, _)| !written.contains(&key.as_str()))
        .try_for_each(|(key, value)| map.serialize_entry(key, value))
}

/// Returns the name of the JSON type of this value, for errors.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn take_text(object: &mut BTreeMap<String, Value>, key: &str) -> Option<String> {
    match object.remove(key)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}
