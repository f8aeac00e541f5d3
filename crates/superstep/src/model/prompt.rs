//! Prompts in files, with a version: a head in TOML between `+++` lines, then the text with `{{placeholders}}`.
//!
//! Values are data: whatever they contain is inserted as it is and never looked into.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use superstep_core::error::{Code, Error, Problem, Result};
use superstep_core::message::Message;
use superstep_core::model::Request;
use superstep_core::suggest::did_you_mean;

const FENCE: &str = "+++";

/// A prompt with a name, a version and placeholders.
///
/// `{{name}}` is a placeholder; `\{{` is two braces.
///
/// ```
/// use superstep::Message;
/// use superstep::model::Prompt;
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
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Placeholder(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    name: Option<String>,
    version: String,
}

impl Prompt {
    /// A prompt from its text, whose head has a `name` and a `version`.
    ///
    /// # Errors
    /// When the head is missing or wrong, or a placeholder is none.
    pub fn parse(text: &str) -> Result<Self> {
        Self::named(text, None)
    }

    /// A prompt from a file; its name is the file's unless the head has one.
    ///
    /// # Errors
    /// When the file cannot be read, the head is missing or wrong, or a placeholder is none.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| wrong(format!("the prompt `{}` cannot be read: {error}", path.display())))?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Self::named(&text, stem).map_err(|error| {
            let help = error.advice().unwrap_or("see the guide on models").to_owned();
            wrong(format!("`{}`: {}", path.display(), error.message())).help(help)
        })
    }

    /// A prompt with a head; this is its name unless the head has one.
    pub(crate) fn named(text: &str, name: Option<String>) -> Result<Self> {
        let text = text.replace("\r\n", "\n");
        let (head, body) = split(&text)
            .ok_or_else(|| wrong("the prompt has no head").help("begin with `+++`, `version = \"1\"`, `+++`"))?;
        let head: Head =
            toml::from_str(head).map_err(|error| wrong(format!("the head of the prompt: {}", error.message())))?;
        let name = head.name.or(name).ok_or_else(|| wrong("the prompt has no name").help("add `name = \"..\"`"))?;
        Self::new(name, head.version, body)
    }

    /// A prompt from a text without a head.
    ///
    /// # Errors
    /// When name or version is empty or has a blank or `@` in it, or a placeholder is none.
    ///
    /// ```
    /// use superstep::model::Prompt;
    /// let guide = Prompt::new("guide", "1.2", "You know {{city}} well.")?;
    /// assert_eq!(guide.label(), "guide@1.2");
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn new(name: impl Into<String>, version: impl Into<String>, text: &str) -> Result<Self> {
        let (name, version) = (name.into(), version.into());
        for (what, text) in [("name", &name), ("version", &version)] {
            if text.is_empty() || text.contains(|letter: char| letter.is_whitespace() || letter == '@') {
                return Err(wrong(format!("the {what} `{text}` of the prompt is empty, or has a blank or `@` in it")));
            }
        }
        Ok(Self { name, version, pieces: pieces(text)? })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its text, with the placeholders in it.
    #[must_use]
    pub fn text(&self) -> String {
        let written = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.replace("{{", "\\{{"),
            Piece::Placeholder(name) => format!("{{{{{name}}}}}"),
        });
        written.collect()
    }

    /// Its name and version as traces have them, such as `guide@1.2`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The names that need values.
    #[must_use]
    pub fn placeholders(&self) -> BTreeSet<&str> {
        let placeholders = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        });
        placeholders.collect()
    }

    /// The prompt with these values, as a system message.
    ///
    /// # Errors
    /// When a value is missing, given twice, or has no placeholder; all are named.
    pub fn render(&self, values: &[(&str, &str)]) -> Result<Message> {
        let value = |name: &str| values.iter().find(|(given, _)| *given == name).map(|(_, value)| *value);
        self.check(values)?;
        let text = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Placeholder(name) => value(name).unwrap_or_default(),
        });
        Ok(Message::system(text.collect::<String>()))
    }

    /// A request that begins with the prompt, goes on with these messages, and carries the prompt's version.
    ///
    /// # Errors
    /// When a value is missing, given twice, or has no placeholder; all are named.
    pub fn request<M: Into<Arc<Message>>>(
        &self,
        values: &[(&str, &str)],
        messages: impl IntoIterator<Item = M>,
    ) -> Result<Request> {
        let system = Arc::new(self.render(values)?);
        let mut request = Request::new([system].into_iter().chain(messages.into_iter().map(Into::into)));
        request.prompt = Some(self.label().into());
        Ok(request)
    }

    fn check(&self, values: &[(&str, &str)]) -> Result<()> {
        let known = self.placeholders();
        let mut given = BTreeSet::new();
        let mut problems = Vec::new();
        for (name, _) in values {
            if !known.contains(name) {
                problems.push((format!("there is no placeholder `{name}`"), did_you_mean(name, known.iter().copied())));
            }
            if !given.insert(*name) {
                problems.push((format!("`{name}` is given twice"), None));
            }
        }
        let missing = known.difference(&given).map(|name| (format!("`{name}` has no value"), None));
        problems.extend(missing);
        if problems.is_empty() {
            return Ok(());
        }
        let problems = problems.into_iter().map(|(message, help)| Problem { pointer: String::new(), message, help });
        let fact = format!("the values do not fit the prompt `{}`", self.label());
        Err(Error::listing(Code::InputInvalid, fact, problems.collect()))
    }
}

fn wrong(fact: impl Into<String>) -> Error {
    Error::new(Code::ConfigInvalid, fact)
}

/// The head and the text below it, without the line break at its end.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}').trim_start().strip_prefix(FENCE)?.strip_prefix('\n')?;
    // An empty head begins with the closing fence.
    let (head, body) = text.strip_prefix(FENCE).map(|body| ("", body)).or_else(|| text.split_once("\n+++"))?;
    let body = body.strip_prefix('\n').or_else(|| body.is_empty().then_some(""))?;
    Some((head, body.strip_suffix('\n').unwrap_or(body)))
}

fn pieces(mut text: &str) -> Result<Vec<Piece>> {
    let (mut pieces, mut plain) = (Vec::new(), String::new());
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
                let shown: String = rest.chars().take(20).collect();
                wrong(format!("`{{{{{shown}` is not a placeholder"))
                    .help("a placeholder is `{{name}}` with letters, digits and `_`; write `\\{{` for two braces")
            })?;
        pieces.push(Piece::Text(std::mem::take(&mut plain)));
        pieces.push(Piece::Placeholder(name.to_owned()));
        text = rest.split_once("}}").map_or("", |(_, after)| after);
    }
    plain.push_str(text);
    pieces.push(Piece::Text(plain));
    Ok(pieces)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}
