//! Prompt files with a version: front matter in TOML between `+++` lines, then the text with `{{placeholders}}`.
//!
//! Values are data: they are inserted unchanged and never interpreted.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use superstep_core::error::{Diagnostic, Error, ErrorCode, Result};
use superstep_core::message::Message;
use superstep_core::model::ChatRequest;
use superstep_core::suggest::did_you_mean;

const FRONT_MATTER_DELIMITER: &str = "+++";

/// A prompt with a name, a version and placeholders.
///
/// `{{name}}` is a placeholder; `\{{` is two literal braces.
///
/// ```
/// use superstep::Message;
/// use superstep::models::Prompt;
///
/// // As a rule: Prompt::load("prompts/guide.md")?, or Prompt::parse(include_str!("../prompts/guide.md"))?
/// let guide = Prompt::parse("+++\nname = \"guide\"\nversion = \"1.2\"\n+++\nYou know {{city}} well.\n")?;
/// let request = guide.request(&[("city", "Paris")], [Message::user("Where is the river?")])?;
/// assert_eq!(request.messages[0].text(), "You know Paris well.");
/// assert_eq!(request.prompt.as_deref(), Some("guide@1.2"));
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    name: String,
    version: String,
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Placeholder(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    name: Option<String>,
    version: String,
}

impl Prompt {
    /// Parses a prompt whose front matter has a `name` and a `version`.
    ///
    /// # Errors
    /// Returns an error if the front matter is missing or not valid, or if a placeholder is not valid.
    pub fn parse(text: &str) -> Result<Self> {
        Self::named(text, None)
    }

    /// Reads a prompt from a file. Default name: the file name without its extension.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, if the front matter is missing or not valid, or if a placeholder
    /// is not valid.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| invalid_prompt(format!("failed to read prompt `{}`: {error}", path.display())))?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Self::named(&text, stem).map_err(|error| {
            let help = error.help().unwrap_or("see the guide on models").to_owned();
            invalid_prompt(format!("`{}`: {}", path.display(), error.message())).with_help(help)
        })
    }

    /// Parses a prompt with front matter. `name` is used if the front matter has none.
    pub(crate) fn named(text: &str, name: Option<String>) -> Result<Self> {
        let text = text.replace("\r\n", "\n");
        let (head, body) = split(&text).ok_or_else(|| {
            invalid_prompt("the prompt has no front matter").with_help("start with `+++`, `version = \"1\"`, `+++`")
        })?;
        let head: FrontMatter = toml::from_str(head)
            .map_err(|error| invalid_prompt(format!("the front matter of the prompt: {}", error.message())))?;
        let name = head
            .name
            .or(name)
            .ok_or_else(|| invalid_prompt("the prompt has no name").with_help("add `name = \"..\"`"))?;
        Self::new(name, head.version, body)
    }

    /// Creates a prompt from text without front matter.
    ///
    /// # Errors
    /// Returns an error if name or version is empty or contains whitespace or `@`, or if a placeholder is not valid.
    ///
    /// ```
    /// use superstep::models::Prompt;
    /// let guide = Prompt::new("guide", "1.2", "You know {{city}} well.")?;
    /// assert_eq!(guide.label(), "guide@1.2");
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn new(name: impl Into<String>, version: impl Into<String>, text: &str) -> Result<Self> {
        let (name, version) = (name.into(), version.into());
        for (label, text) in [("name", &name), ("version", &version)] {
            if text.is_empty() || text.contains(|character: char| character.is_whitespace() || character == '@') {
                return Err(invalid_prompt(format!(
                    "the {label} `{text}` of the prompt is empty, or contains whitespace or `@`"
                )));
            }
        }
        Ok(Self { name, version, parts: parse_parts(text)? })
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the text, including placeholders.
    #[must_use]
    pub fn text(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            TemplatePart::Text(text) => text.replace("{{", "\\{{"),
            TemplatePart::Placeholder(name) => format!("{{{{{name}}}}}"),
        });
        parts.collect()
    }

    /// Returns name and version as used in traces, such as `guide@1.2`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Returns the names of the placeholders.
    #[must_use]
    pub fn placeholders(&self) -> BTreeSet<&str> {
        let placeholders = self.parts.iter().filter_map(|part| match part {
            TemplatePart::Placeholder(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        });
        placeholders.collect()
    }

    /// Renders the prompt with these values, as a system message.
    ///
    /// # Errors
    /// Returns an error if a value is missing, given twice, or has no placeholder; all are named.
    pub fn render(&self, values: &[(&str, &str)]) -> Result<Message> {
        let value = |name: &str| values.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        self.check(values)?;
        let text = self.parts.iter().map(|part| match part {
            TemplatePart::Text(text) => text.as_str(),
            TemplatePart::Placeholder(name) => value(name).unwrap_or_default(),
        });
        Ok(Message::system(text.collect::<String>()))
    }

    /// Creates a request from the rendered prompt and these messages, marked with the version of the prompt.
    ///
    /// # Errors
    /// Returns an error if a value is missing, given twice, or has no placeholder; all are named.
    pub fn request<M: Into<Arc<Message>>>(
        &self,
        values: &[(&str, &str)],
        messages: impl IntoIterator<Item = M>,
    ) -> Result<ChatRequest> {
        let system = Arc::new(self.render(values)?);
        let mut request = ChatRequest::new([system].into_iter().chain(messages.into_iter().map(Into::into)));
        request.prompt = Some(self.label().into());
        Ok(request)
    }

    fn check(&self, values: &[(&str, &str)]) -> Result<()> {
        let placeholders = self.placeholders();
        let mut seen = BTreeSet::new();
        let mut diagnostics = Vec::new();
        for (name, _) in values {
            if !placeholders.contains(name) {
                diagnostics
                    .push((format!("unknown placeholder `{name}`"), did_you_mean(name, placeholders.iter().copied())));
            }
            if !seen.insert(*name) {
                diagnostics.push((format!("duplicate value for `{name}`"), None));
            }
        }
        let missing = placeholders.difference(&seen).map(|name| (format!("`{name}` has no value"), None));
        diagnostics.extend(missing);
        if diagnostics.is_empty() {
            return Ok(());
        }
        let diagnostics =
            diagnostics.into_iter().map(|(message, help)| Diagnostic { pointer: String::new(), message, help });
        let fact = format!("the values do not match the prompt `{}`", self.label());
        Err(Error::with_diagnostics(ErrorCode::InputInvalid, fact, diagnostics.collect()))
    }
}

fn invalid_prompt(fact: impl Into<String>) -> Error {
    Error::new(ErrorCode::ConfigInvalid, fact)
}

/// Splits a text into front matter and body, without the final line break.
fn split(text: &str) -> Option<(&str, &str)> {
    let text =
        text.trim_start_matches('\u{feff}').trim_start().strip_prefix(FRONT_MATTER_DELIMITER)?.strip_prefix('\n')?;
    // Empty front matter starts with the closing fence.
    let (head, body) =
        text.strip_prefix(FRONT_MATTER_DELIMITER).map(|body| ("", body)).or_else(|| text.split_once("\n+++"))?;
    let body = body.strip_prefix('\n').or_else(|| body.is_empty().then_some(""))?;
    Some((head, body.strip_suffix('\n').unwrap_or(body)))
}

fn parse_parts(mut text: &str) -> Result<Vec<TemplatePart>> {
    let (mut parts, mut plain) = (Vec::new(), String::new());
    while let Some(at) = text.find("{{") {
        let (before, rest) = (&text[..at], &text[at + 2..]);
        if let Some(before) = before.strip_suffix('\\') {
            plain.push_str(before);
            plain.push_str("{{");
            text = rest;
            continue;
        }
        plain.push_str(before);
        let name =
            rest.split_once("}}").map(|(name, _)| name.trim()).filter(|name| is_name(name)).ok_or_else(|| {
                let excerpt: String = rest.chars().take(20).collect();
                invalid_prompt(format!("`{{{{{excerpt}` is not a valid placeholder")).with_help(
                    "a placeholder is `{{name}}` with letters, digits and `_`; write `\\{{` for two \
                         literal braces",
                )
            })?;
        parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
        parts.push(TemplatePart::Placeholder(name.to_owned()));
        text = rest.split_once("}}").map_or("", |(_, after)| after);
    }
    plain.push_str(text);
    parts.push(TemplatePart::Text(plain));
    Ok(parts)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || character == '_')
}
