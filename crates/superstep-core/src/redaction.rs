//! Redaction of secrets and personal data in texts, JSON, messages and tool results.
//!
//! A match becomes `[REDACTED:kind]`, and redacting twice changes nothing. Every kind is recognised by its shape, and
//! by its check digits if it has some, in one pass over the text. Redaction never verifies a secret with its service,
//! and never retains a match. Streamed text is handled in `stream`, the prefilter that skips most of a text in
//! `prefilter`, the shapes of the kinds in the files named after them.

mod api_keys;
mod counts;
mod email;
mod escape;
mod field_path;
mod iban;
mod json;
mod message;
mod numbers;
mod pem;
mod prefilter;
mod scan;
mod stream;

#[cfg(test)]
mod tests;

pub use counts::RedactionCounts;
pub use stream::RedactionStream;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use regex::Regex;

use crate::error::{Error, ErrorCode, Result};
use field_path::FieldPath;
use scan::{Match, SecretKindSet};

/// Start of a marker.
const MARKER: &str = "[REDACTED:";

/// Maximum number of passes over the text between matches: removing a match may create another at the beginning of
/// a word.
const MAX_PASSES: usize = 16;

/// The built-in kinds of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SecretKind {
    /// Email addresses.
    Email,
    /// Phone numbers: with a `+`, or with separators where a phone number has them.
    Phone,
    /// Card numbers of the known issuers, checked by Luhn.
    Card,
    /// International bank account numbers, checked by country and remainder.
    Iban,
    /// Keys and tokens of services, recognised by their prefix.
    ApiKey,
    /// The token after `Bearer` in a header.
    Bearer,
    /// JSON Web Tokens: signed tokens of three parts.
    Jwt,
    /// Private keys in PEM, including truncated ones.
    PrivateKey,
    /// The password in a URL with a scheme.
    UrlPassword,
}

impl SecretKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Email,
        Self::Phone,
        Self::Card,
        Self::Iban,
        Self::ApiKey,
        Self::Bearer,
        Self::Jwt,
        Self::PrivateKey,
        Self::UrlPassword,
    ];

    /// Returns the name in a marker.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "mail",
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

/// Name in the marker of a value that was redacted because of its path.
const FIELD: &str = "field";

/// The rules for redacted and allowed values. Cheap to clone.
///
/// ```
/// use superstep_core::redaction::{SecretKind, Redaction};
///
/// let redaction = Redaction::default()
///     .pattern("employee", r"\bE-\d{6}\b")?
///     .field("user.ssn")
///     .allow_value("support@example.com");
/// let text = redaction.redact_text("E-123456 wrote from ada@example.com to support@example.com");
/// assert_eq!(text, "[REDACTED:employee] wrote from [REDACTED:mail] to support@example.com");
/// # Ok::<(), superstep_core::error::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a redaction has no effect until it is used"]
pub struct Redaction(Arc<RedactionRules>);

#[derive(Clone, Default)]
struct RedactionRules {
    kinds: SecretKindSet,
    custom_patterns: Vec<CustomPattern>,
    fields: Vec<FieldPath>,
    allowed_values: BTreeSet<String>,
    allowed_patterns: Vec<Regex>,
    allowed_fields: Vec<FieldPath>,
}

/// A custom pattern.
#[derive(Clone)]
struct CustomPattern {
    name: Arc<str>,
    pattern: Regex,
}

/// All built-in kinds.
impl Default for Redaction {
    fn default() -> Self {
        SecretKind::ALL.into_iter().fold(Self::empty(), Self::kind)
    }
}

impl Redaction {
    /// Creates rules that redact nothing.
    pub fn empty() -> Self {
        Self(Arc::default())
    }

    /// Redacts this kind.
    pub fn kind(mut self, kind: SecretKind) -> Self {
        let rules = self.rules();
        rules.kinds = rules.kinds.with(kind);
        self
    }

    /// Does not redact this kind.
    pub fn allow_kind(mut self, kind: SecretKind) -> Self {
        let rules = self.rules();
        rules.kinds = rules.kinds.without(kind);
        self
    }

    /// Redacts matches of a regular expression, under its own name.
    ///
    /// # Errors
    /// Returns an error if the name does not consist of lower-case letters, digits, `_` and `-`, or is taken; if
    /// the expression is invalid, or matches the empty text.
    pub fn pattern(mut self, name: &str, pattern: &str) -> Result<Self> {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > 32 || !name.bytes().all(is_word) {
            return Err(Error::new(ErrorCode::ConfigInvalid, format!("`{name}` is not a valid pattern name"))
                .with_help("use 1 to 32 lower-case letters, digits, `_` or `-`"));
        }
        if self.names().any(|existing| existing == name) {
            return Err(Error::new(ErrorCode::ConfigInvalid, format!("duplicate pattern name `{name}`"))
                .with_help("give each pattern a unique name"));
        }
        let pattern = compile_pattern(name, pattern)?;
        self.rules().custom_patterns.push(CustomPattern { name: name.into(), pattern });
        Ok(self)
    }

    /// Redacts the whole value at a path, such as `user.ssn`; `*` stands for any one key or list index.
    pub fn field(mut self, path: &str) -> Self {
        self.rules().fields.push(FieldPath::new(path));
        self
    }

    /// Does not redact anything at a path or below it.
    pub fn allow_field(mut self, path: &str) -> Self {
        self.rules().allowed_fields.push(FieldPath::new(path));
        self
    }

    /// Does not redact a match that is exactly this value.
    pub fn allow_value(mut self, value: impl Into<String>) -> Self {
        self.rules().allowed_values.insert(value.into());
        self
    }

    /// Does not redact a match if a regular expression matches the whole of it.
    ///
    /// # Errors
    /// Returns an error if the expression is invalid.
    pub fn allow_pattern(mut self, pattern: &str) -> Result<Self> {
        let pattern = compile_pattern("allowed", &format!("^(?:{pattern})$"))?;
        self.rules().allowed_patterns.push(pattern);
        Ok(self)
    }

    /// Returns the redacted text; borrows the text if there is no match.
    #[must_use]
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_text_counted(text, &mut RedactionCounts::default())
    }

    /// Same as [`Redaction::redact_text`], and counts the matches.
    #[must_use]
    pub fn redact_text_counted<'a>(&self, text: &'a str, counts: &mut RedactionCounts) -> Cow<'a, str> {
        let hits = self.find(text);
        if hits.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        if !text.contains(MARKER) {
            self.write_hits(text, &hits, (&mut out, counts), MAX_PASSES);
            return Cow::Owned(out);
        }
        // The text between markers is scanned separately, so that no marker is ever part of a match.
        while let Some((start, end)) = self.marker(rest) {
            self.write(&rest[..start], &mut out, counts, MAX_PASSES);
            out.push_str(&rest[start..end]);
            rest = &rest[end..];
        }
        self.write(rest, &mut out, counts, MAX_PASSES);
        if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
    }

    /// Returns true if the text contains nothing to redact.
    #[must_use]
    pub fn is_clean(&self, text: &str) -> bool {
        matches!(self.redact_text(text), Cow::Borrowed(_))
    }

    fn rules(&mut self) -> &mut RedactionRules {
        Arc::make_mut(&mut self.0)
    }

    fn write(&self, text: &str, out: &mut String, counts: &mut RedactionCounts, rounds: usize) {
        let hits = if rounds == 0 { Vec::new() } else { self.find(text) };
        match hits.is_empty() {
            true => out.push_str(text),
            false => self.write_hits(text, &hits, (out, counts), rounds),
        }
    }

    fn write_hits(
        &self,
        text: &str,
        hits: &[Match],
        (out, counts): (&mut String, &mut RedactionCounts),
        rounds: usize,
    ) {
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

    /// Returns all matches, in order; overlapping matches are merged under the name of the first.
    fn find(&self, text: &str) -> Vec<Match> {
        let rules = &*self.0;
        let mut hits = scan::find(text, rules.kinds);
        for (index, custom) in rules.custom_patterns.iter().enumerate() {
            let regex_match = custom.pattern.find_iter(text).filter(|regex_match| !regex_match.is_empty());
            hits.extend(regex_match.map(|regex_match| Match::custom(regex_match.range(), index)));
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

    fn is_allowed(&self, value: &str) -> bool {
        self.0.allowed_values.contains(value) || self.0.allowed_patterns.iter().any(|pattern| pattern.is_match(value))
    }

    /// Returns the range of the first marker in a text. Only known names form a marker: a secret cannot pass as the
    /// name of a marker.
    fn marker(&self, text: &str) -> Option<(usize, usize)> {
        let mut from = 0;
        while let Some(offset) = text[from..].find(MARKER) {
            let start = from + offset;
            let label = &text[start + MARKER.len()..];
            let ends = self.names().find(|name| label.strip_prefix(name).is_some_and(|rest| rest.starts_with(']')));
            match ends {
                Some(name) => return Some((start, start + MARKER.len() + name.len() + 1)),
                None => from = start + MARKER.len(),
            }
        }
        None
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let built_in = SecretKind::ALL.into_iter().map(|kind| -> &str { kind.name() }).chain([FIELD]);
        built_in.chain(self.0.custom_patterns.iter().map(|custom| &*custom.name))
    }

    fn name_of(&self, hit: &Match) -> &str {
        match hit.kind {
            scan::MatchKind::BuiltIn(kind) => kind.name(),
            scan::MatchKind::Custom(index) => &self.0.custom_patterns[index].name,
        }
    }
}

fn compile_pattern(name: &str, pattern: &str) -> Result<Regex> {
    let regex = Regex::new(pattern).map_err(|error| {
        Error::new(ErrorCode::ConfigInvalid, format!("pattern `{name}` is not a valid regular expression: {error}"))
            .with_help("see the syntax of the `regex` crate; look-around and back-references are not supported")
    })?;
    match regex.is_match("") {
        true => Err(Error::new(ErrorCode::ConfigInvalid, format!("pattern `{name}` matches the empty string"))
            .with_help("require at least one character")),
        false => Ok(regex),
    }
}

/// Prints names only: an allowed value may be personal data itself.
impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let custom: Vec<&str> = self.0.custom_patterns.iter().map(|custom| &*custom.name).collect();
        let kinds: Vec<&str> =
            SecretKind::ALL.into_iter().filter(|kind| self.0.kinds.has(*kind)).map(SecretKind::name).collect();
        f.debug_struct("Redaction")
            .field("kinds", &kinds)
            .field("custom_patterns", &custom)
            .field("fields", &self.0.fields)
            .finish_non_exhaustive()
    }
}
