//! Messages and results of tools without what must not be in them.
//!
//! Ids, names of tools and usage are not looked at: they are what messages are matched by. Pictures and sounds are not
//! looked at either; the address of one is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Counts, Redaction};
use crate::error::Error;
use crate::message::{Content, Media, MediaSource, Message, Part};
use crate::tool::{ToolError, ToolOutput};

/// What caused an error.
type Cause = Arc<dyn std::error::Error + Send + Sync>;

impl Redaction {
    /// Takes out what must not be in a message: its texts, the arguments of its calls, what is noted about it.
    pub fn message(&self, message: &mut Message, counts: &mut Counts) {
        self.content(&mut message.content, counts);
        for call in &mut message.tool_calls {
            self.value(&mut call.args, counts);
            self.notes(&mut call.extra, counts);
        }
        self.notes(&mut message.metadata, counts);
        self.notes(&mut message.extra, counts);
    }

    /// Takes out what must not be in a content. In a text that is JSON, the paths of fields hold.
    pub fn content(&self, content: &mut Content, counts: &mut Counts) {
        match content {
            Content::Text(text) => self.own_text(text, counts),
            Content::Parts(parts) => parts.iter_mut().for_each(|part| self.part(part, counts)),
        }
    }

    fn part(&self, part: &mut Part, counts: &mut Counts) {
        match part {
            Part::Text { text, extra } => {
                self.own_text(text, counts);
                self.notes(extra, counts);
            }
            Part::Image(media) | Part::Audio(media) | Part::File(media) => self.media(media, counts),
            Part::Other(value) => self.value(value, counts),
        }
    }

    fn media(&self, media: &mut Media, counts: &mut Counts) {
        if let MediaSource::Url(url) = &mut media.source {
            self.own_text(url, counts);
        }
        self.notes(&mut media.extra, counts);
    }

    /// Takes out what must not be in the result of a tool. Its command is the business of whoever folds it.
    pub fn tool_output(&self, output: &mut ToolOutput, counts: &mut Counts) {
        if let Some(content) = &mut output.content {
            self.content(content, counts);
        }
        if let Some(artifact) = &mut output.artifact {
            self.value(artifact, counts);
        }
        self.notes(&mut output.metadata, counts);
    }

    /// Takes out what must not be in the words of a failed tool. A cause that has it becomes its words without it.
    pub fn tool_error(&self, error: &mut ToolError, counts: &mut Counts) {
        self.own_text(&mut error.message, counts);
        error.cause = error.cause.take().map(|cause| self.cause(cause));
    }

    /// The error without what must not be in its words. A cause that has it becomes its words without it.
    #[must_use]
    pub fn error(&self, error: Error) -> Error {
        let mut counts = Counts::default();
        error.reworded(&mut |words| self.own_text(words, &mut counts), |cause| self.cause(cause))
    }

    /// The cause itself, or its words where they must be other words.
    #[must_use]
    pub fn cause(&self, cause: Cause) -> Cause {
        let first: &(dyn std::error::Error + 'static) = &*cause;
        let all = || std::iter::successors(Some(first), |error| error.source());
        if all().all(|error| self.is_clean(&error.to_string()) && self.is_clean(&format!("{error:?}"))) {
            return cause;
        }
        let words: Vec<String> = all().map(|error| self.text(&error.to_string()).into_owned()).collect();
        Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(words.join(": ")))
    }

    /// Takes out what must not be in notes by name.
    pub fn notes(&self, notes: &mut BTreeMap<String, Value>, counts: &mut Counts) {
        for (name, note) in notes.iter_mut() {
            self.note(name, note, counts);
        }
    }

    fn own_text(&self, text: &mut String, counts: &mut Counts) {
        if let Cow::Owned(redacted) = self.text_or_json(text, counts) {
            *text = redacted;
        }
    }
}
