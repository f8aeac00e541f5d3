//! Takes secrets and personal data out of texts, JSON, messages and the results of tools.
//!
//! A hit becomes `[REDACTED:kind]`, and redacting twice changes nothing. Every kind is recognised by its shape, and by its
//! check digits where it has some, in one pass over the text. Never asks the world whether a secret is a real one, and
//! never keeps what it took out. How text in pieces is redacted is in `stream`, which stretches of a text are looked at in
//! `quiet`, what the kinds look like in the files named after them.

mod address;
mod counts;
mod escape;
mod iban;
mod keys;
mod message;
mod number;
mod path;
mod pem;
mod quiet;
mod scan;
mod stream;
mod value;

#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use stream::RedactionStream;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use regex::Regex;

use crate::error::{Code, Error, Result};
use path::FieldPath;
use scan::{Hit, Kinds};

/// What a marker begins with.
const MARKER: &str = "[REDACTED:";

/// How often what is left between hits is looked at again: a hit that is gone may leave another at a word's beginning.
const ROUNDS: usize = 16;

/// The kinds that are known without being told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Mail addresses.
    Mail,
    /// Phone numbers: with a `+`, or with separators where a phone number has them.
    Phone,
    /// Card numbers of the known issuers, checked by Luhn.
    Card,
    /// Account numbers, checked by country and remainder.
    Iban,
    /// Keys and tokens of services, by the prefix they are made with.
    ApiKey,
    /// What follows `Bearer` in a header.
    Bearer,
    /// Signed tokens of three parts.
    Jwt,
    /// Private keys in PEM, also those that were cut off.
    PrivateKey,
    /// The password in an address with a scheme.
    UrlPassword,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Mail,
        Self::Phone,
        Self::Card,
        Self::Iban,
        Self::ApiKey,
        Self::Bearer,
        Self::Jwt,
        Self::PrivateKey,
        Self::UrlPassword,
    ];

    /// The name in a marker.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Phone => "phone",
            Self::Card => "card",
            Self::Iban => "iban",
            Self::ApiKey => "api_key",
            Self::Bearer => "bearer",
            Self::Jwt => "jwt",
            Self::PrivateKey => "private_key",
            Self::UrlPassword => "url_password",
        }
    }
}

/// The name in the marker of a value that was taken out because of its place.
const FIELD: &str = "field";

/// What is taken out, and what stays. Cheap to clone.
///
/// ```
/// use superstep_core::redact::{Kind, Redaction};
///
/// let redaction = Redaction::default()
///     .pattern("employee", r"\bE-\d{6}\b")?
///     .field("user.ssn")
///     .allow_value("support@example.com");
/// let text = redaction.text("E-123456 wrote from ada@example.com to support@example.com");
/// assert_eq!(text, "[REDACTED:employee] wrote from [REDACTED:mail] to support@example.com");
/// # Ok::<(), superstep_core::error::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "give it to whatever redacts"]
pub struct Redaction(Arc<Rules>);

#[derive(Clone, Default)]
struct Rules {
    kinds: Kinds,
    own: Vec<Own>,
    fields: Vec<FieldPath>,
    allowed_values: BTreeSet<String>,
    allowed_patterns: Vec<Regex>,
    allowed_fields: Vec<FieldPath>,
}

/// A pattern of the user.
#[derive(Clone)]
struct Own {
    name: Arc<str>,
    pattern: Regex,
}

/// All known kinds.
impl Default for Redaction {
    fn default() -> Self {
        Kind::ALL.into_iter().fold(Self::none(), Self::kind)
    }
}

impl Redaction {
    /// Takes nothing out, until it is told what.
    pub fn none() -> Self {
        Self(Arc::default())
    }

    /// Takes this kind out.
    pub fn kind(mut self, kind: Kind) -> Self {
        let rules = self.rules();
        rules.kinds = rules.kinds.with(kind);
        self
    }

    /// Leaves this kind where it is.
    pub fn allow_kind(mut self, kind: Kind) -> Self {
        let rules = self.rules();
        rules.kinds = rules.kinds.without(kind);
        self
    }

    /// Takes out what fits a regular expression, under a name of its own.
    ///
    /// # Errors
    /// When the name is not made of lower-case letters, digits, `_` and `-`, or is taken; when the expression is none, or
    /// fits the empty text.
    pub fn pattern(mut self, name: &str, pattern: &str) -> Result<Self> {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > 32 || !name.bytes().all(is_word) {
            return Err(Error::new(Code::ConfigInvalid, format!("`{name}` is no name for a pattern"))
                .help("use 1 to 32 lower-case letters, digits, `_` or `-`"));
        }
        if self.names().any(|known| known == name) {
            return Err(Error::new(Code::ConfigInvalid, format!("the name `{name}` of a pattern is taken"))
                .help("give each pattern a name of its own"));
        }
        let pattern = expression(name, pattern)?;
        self.rules().own.push(Own { name: name.into(), pattern });
        Ok(self)
    }

    /// Takes out the whole value at a path, such as `user.ssn`; `*` stands for any one key or place in a list.
    pub fn field(mut self, path: &str) -> Self {
        self.rules().fields.push(FieldPath::new(path));
        self
    }

    /// Leaves everything at a path, and below it, where it is.
    pub fn allow_field(mut self, path: &str) -> Self {
        self.rules().allowed_fields.push(FieldPath::new(path));
        self
    }

    /// Leaves a hit that is exactly this where it is.
    pub fn allow_value(mut self, value: impl Into<String>) -> Self {
        self.rules().allowed_values.insert(value.into());
        self
    }

    /// Leaves a hit where it is when the whole of it fits a regular expression.
    ///
    /// # Errors
    /// When the expression is none.
    pub fn allow_pattern(mut self, pattern: &str) -> Result<Self> {
        let pattern = expression("allowed", &format!("^(?:{pattern})$"))?;
        self.rules().allowed_patterns.push(pattern);
        Ok(self)
    }

    /// The text without what must not be in it; the text itself where nothing was found.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.text_counted(text, &mut Counts::default())
    }

    /// As [`Redaction::text`], and counts what was found.
    #[must_use]
    pub fn text_counted<'a>(&self, text: &'a str, counts: &mut Counts) -> Cow<'a, str> {
        let hits = self.find(text);
        if hits.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        if !text.contains(MARKER) {
            self.write_hits(text, &hits, (&mut out, counts), ROUNDS);
            return Cow::Owned(out);
        }
        // What stands between markers is looked at by itself, so that no marker is ever part of a hit.
        while let Some((start, end)) = self.marker(rest) {
            self.write(&rest[..start], &mut out, counts, ROUNDS);
            out.push_str(&rest[start..end]);
            rest = &rest[end..];
        }
        self.write(rest, &mut out, counts, ROUNDS);
        if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
    }

    /// Whether there is something in the text that must not be in it.
    #[must_use]
    pub fn is_clean(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Borrowed(_))
    }

    fn rules(&mut self) -> &mut Rules {
        Arc::make_mut(&mut self.0)
    }

    fn write(&self, text: &str, out: &mut String, counts: &mut Counts, rounds: usize) {
        let hits = if rounds == 0 { Vec::new() } else { self.find(text) };
        match hits.is_empty() {
            true => out.push_str(text),
            false => self.write_hits(text, &hits, (out, counts), rounds),
        }
    }

    fn write_hits(&self, text: &str, hits: &[Hit], (out, counts): (&mut String, &mut Counts), rounds: usize) {
        let mut from = 0;
        for hit in hits {
            self.write(&text[from..hit.start], out, counts, rounds - 1);
            let name = self.name_of(hit);
            out.extend([MARKER, name, "]"]);
            counts.add(name, 1);
            from = hit.end;
        }
        self.write(&text[from..], out, counts, rounds - 1);
    }

    /// Everything that must go, in order; hits that overlap are one, under the name of the first.
    fn find(&self, text: &str) -> Vec<Hit> {
        let rules = &*self.0;
        let mut hits = scan::find(text, rules.kinds);
        for (index, own) in rules.own.iter().enumerate() {
            let found = own.pattern.find_iter(text).filter(|found| !found.is_empty());
            hits.extend(found.map(|found| Hit::own(found.range(), index)));
        }
        if hits.is_empty() {
            return hits;
        }
        hits.retain(|hit| !self.is_allowed(&text[hit.start..hit.end]));
        hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end)));
        hits.dedup_by(|later, first| {
            let overlaps = later.start < first.end;
            first.end = if overlaps { first.end.max(later.end) } else { first.end };
            overlaps
        });
        hits
    }

    fn is_allowed(&self, found: &str) -> bool {
        self.0.allowed_values.contains(found) || self.0.allowed_patterns.iter().any(|pattern| pattern.is_match(found))
    }

    /// The first marker in a text. Only names that are known make one: a secret cannot pass as the name of a marker.
    fn marker(&self, text: &str) -> Option<(usize, usize)> {
        let mut from = 0;
        while let Some(found) = text[from..].find(MARKER) {
            let start = from + found;
            let inside = &text[start + MARKER.len()..];
            let ends = self.names().find(|name| inside.strip_prefix(name).is_some_and(|rest| rest.starts_with(']')));
            match ends {
                Some(name) => return Some((start, start + MARKER.len() + name.len() + 1)),
                None => from = start + MARKER.len(),
            }
        }
        None
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let known = Kind::ALL.into_iter().map(|kind| -> &str { kind.name() }).chain([FIELD]);
        known.chain(self.0.own.iter().map(|own| &*own.name))
    }

    fn name_of(&self, hit: &Hit) -> &str {
        match hit.what {
            scan::What::Known(kind) => kind.name(),
            scan::What::Own(index) => &self.0.own[index].name,
        }
    }
}

fn expression(name: &str, pattern: &str) -> Result<Regex> {
    let regex = Regex::new(pattern).map_err(|error| {
        Error::new(Code::ConfigInvalid, format!("the pattern `{name}` is no regular expression: {error}"))
            .help("see the syntax of the `regex` crate; look-around and back-references are not part of it")
    })?;
    match regex.is_match("") {
        true => Err(Error::new(Code::ConfigInvalid, format!("the pattern `{name}` fits the empty text"))
            .help("ask for at least one character")),
        false => Ok(regex),
    }
}

/// Names only: an allowed value may be personal itself.
impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<&str> = self.0.own.iter().map(|own| &*own.name).collect();
        let kinds: Vec<&str> = Kind::ALL.into_iter().filter(|kind| self.0.kinds.has(*kind)).map(Kind::name).collect();
        f.debug_struct("Redaction")
            .field("kinds", &kinds)
            .field("own", &own)
            .field("fields", &self.0.fields)
            .finish_non_exhaustive()
    }
}
