//! Redaction of messages and tool results.
//!
//! Ids, tool names and usage are not redacted, because messages are matched by them. The data of images and audio
//! clips is not redacted either; their URLs are.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Redaction, RedactionCounts};
use crate::error::Error;
use crate::message::{Content, ContentPart, Media, MediaSource, Message};
use crate::tool::{ToolError, ToolOutput};

/// The cause of an error.
type ErrorCause = Arc<dyn std::error::Error + Send + Sync>;

impl Redaction {
    /// Redacts a message: its texts, the arguments of its calls, its metadata.
    pub fn redact_message(&self, message: &mut Message, counts: &mut RedactionCounts) {
        self.redact_content(&mut message.content, counts);
        for call in &mut message.tool_calls {
            self.redact_value(&mut call.args, counts);
            self.redact_metadata(&mut call.extra, counts);
        }
        self.redact_metadata(&mut message.metadata, counts);
        self.redact_metadata(&mut message.extra, counts);
    }

    /// Redacts a content. In a text that is JSON, the paths of fields apply.
    pub fn redact_content(&self, content: &mut Content, counts: &mut RedactionCounts) {
        match content {
            Content::Text(text) => self.redact_string(text, counts),
            Content::Parts(parts) => parts.iter_mut().for_each(|part| self.redact_part(part, counts)),
        }
    }

    fn redact_part(&self, part: &mut ContentPart, counts: &mut RedactionCounts) {
        match part {
            ContentPart::Text { text, extra } => {
                self.redact_string(text, counts);
                self.redact_metadata(extra, counts);
            }
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                self.redact_media(media, counts)
            }
            ContentPart::Other(value) => self.redact_value(value, counts),
        }
    }

    fn redact_media(&self, media: &mut Media, counts: &mut RedactionCounts) {
        if let MediaSource::Url(url) = &mut media.source {
            self.redact_string(url, counts);
        }
        self.redact_metadata(&mut media.extra, counts);
    }

    /// Redacts the result of a tool. The caller that applies its command must redact the command.
    pub fn redact_tool_output(&self, output: &mut ToolOutput, counts: &mut RedactionCounts) {
        if let Some(content) = &mut output.content {
            self.redact_content(content, counts);
        }
        if let Some(artifact) = &mut output.artifact {
            self.redact_value(artifact, counts);
        }
        self.redact_metadata(&mut output.metadata, counts);
    }

    /// Redacts the message of a failed tool. A cause with a match is replaced by its redacted text.
    pub fn redact_tool_error(&self, error: &mut ToolError, counts: &mut RedactionCounts) {
        self.redact_string(&mut error.message, counts);
        error.cause = error.cause.take().map(|cause| self.redact_cause(cause));
    }

    /// Returns the error with redacted messages. A cause with a match is replaced by its redacted text.
    #[must_use]
    pub fn redact_error(&self, error: Error) -> Error {
        let mut counts = RedactionCounts::default();
        error.map_messages(&mut |text| self.redact_string(text, &mut counts), |cause| self.redact_cause(cause))
    }

    /// Returns the cause itself, or its redacted text if there is a match.
    #[must_use]
    pub fn redact_cause(&self, cause: ErrorCause) -> ErrorCause {
        let first: &(dyn std::error::Error + 'static) = &*cause;
        let all = || std::iter::successors(Some(first), |error| error.source());
        if all().all(|error| self.is_clean(&error.to_string()) && self.is_clean(&format!("{error:?}"))) {
            return cause;
        }
        let texts: Vec<String> = all().map(|error| self.redact_text(&error.to_string()).into_owned()).collect();
        Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(texts.join(": ")))
    }

    /// Redacts named metadata.
    pub fn redact_metadata(&self, metadata: &mut BTreeMap<String, Value>, counts: &mut RedactionCounts) {
        for (name, value) in metadata.iter_mut() {
            self.redact_metadata_value(name, value, counts);
        }
    }

    fn redact_string(&self, text: &mut String, counts: &mut RedactionCounts) {
        if let Cow::Owned(redacted) = self.redact_text_or_json(text, counts) {
            *text = redacted;
        }
    }
}
