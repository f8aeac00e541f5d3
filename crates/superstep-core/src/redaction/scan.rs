//! The scanner: one pass over a text that finds all matches.
//!
//! At each position only kinds that can begin there are tried, and each attempt is bounded in length: the time is
//! linear in the text.

use std::cell::Cell;
use std::ops::Range;

use super::{SecretKind, api_keys, email, escape, iban, numbers, pem, prefilter};

/// A range to redact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: MatchKind,
}

/// The kind of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchKind {
    BuiltIn(SecretKind),
    /// Index among the custom patterns.
    Custom(usize),
}

impl Match {
    pub(super) fn custom(range: Range<usize>, index: usize) -> Self {
        Self { start: range.start, end: range.end, kind: MatchKind::Custom(index) }
    }

    fn new(kind: SecretKind, range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end, kind: MatchKind::BuiltIn(kind) }
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SecretKindSet(u16);

impl SecretKindSet {
    pub(super) fn has(self, kind: SecretKind) -> bool {
        self.0 & (1 << kind as u16) != 0
    }

    pub(super) fn with(self, kind: SecretKind) -> Self {
        Self(self.0 | 1 << kind as u16)
    }

    pub(super) fn without(self, kind: SecretKind) -> Self {
        Self(self.0 & !(1 << kind as u16))
    }
}

/// Minimum length of a text that can contain a match.
const MIN_TEXT_LENGTH: usize = 6;

/// Returns all matches of these kinds, in order.
pub(super) fn find(text: &str, kinds: SecretKindSet) -> Vec<Match> {
    if text.len() < MIN_TEXT_LENGTH || kinds.0 == 0 {
        return Vec::new();
    }
    let mut scan = Scan::new(text, kinds);
    prefilter::candidate_ranges(text.as_bytes(), |range| scan.scan_range(range));
    scan.hits
}

/// Same as [`find`], without the prefilter.
#[cfg(test)]
pub(super) fn find_everywhere(text: &str, kinds: SecretKindSet) -> Vec<Match> {
    let mut scan = Scan::new(text, kinds);
    scan.scan_range(0..text.len());
    scan.hits
}

struct Scan<'a> {
    text: &'a str,
    kinds: SecretKindSet,
    hits: Vec<Match>,
    /// End of the last match.
    done: usize,
    /// End of the range that contains no signed token.
    no_token: Cell<usize>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, kinds: SecretKindSet) -> Self {
        Self { text, kinds, hits: Vec::new(), done: 0, no_token: Cell::new(0) }
    }

    fn scan_range(&mut self, range: Range<usize>) {
        // Starts slightly before: an escape may cross the boundary.
        let mut at = range.start.saturating_sub(escape::MAX_ESCAPE_LENGTH).max(self.done);
        while at < range.end {
            match self.match_at(at) {
                Some(hit) => {
                    self.done = hit.end;
                    at = hit.end.max(at + 1);
                    self.hits.push(hit);
                }
                None => at = self.next_start(at, range.end),
            }
        }
    }

    /// Returns the next position where a match may begin: none begins inside a word or a number.
    fn next_start(&self, at: usize, end: usize) -> usize {
        let bytes = self.text.as_bytes();
        let word = bytes[at..end].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let may_be_escape = at > 0 && matches!(bytes[at - 1], b'\\' | b'%' | b'[' | b';' | b'?');
        let escape_length = if may_be_escape { word.min(escape::MAX_ESCAPE_LENGTH) } else { 0 };
        let escaped = (at + 1..=at + escape_length).find(|position| escape::before(bytes, *position).is_some());
        escaped.unwrap_or(at + word.max(1))
    }

    fn match_at(&self, at: usize) -> Option<Match> {
        let bytes = self.text.as_bytes();
        let follows_word = at > 0 && bytes[at - 1].is_ascii_alphanumeric() && escape::before(bytes, at).is_none();
        match bytes[at] {
            b'@' => self.address(at),
            b'-' => self.hit(SecretKind::PrivateKey, || pem::private_key(self.text, at)),
            b'+' | b'(' | b'0'..=b'9' if !follows_word => self
                .hit(SecretKind::Card, || numbers::card(bytes, at))
                .or_else(|| self.hit(SecretKind::Phone, || numbers::phone(bytes, at))),
            b'a'..=b'z' | b'A'..=b'Z' if !follows_word => self
                .hit(SecretKind::Iban, || iban::account(bytes, at))
                .or_else(|| self.hit(SecretKind::Bearer, || api_keys::bearer(bytes, at)))
                .or_else(|| self.hit(SecretKind::Jwt, || api_keys::jwt(bytes, at, &self.no_token)))
                .or_else(|| self.hit(SecretKind::ApiKey, || api_keys::api_key(bytes, at))),
            _ => None,
        }
    }

    /// Returns the match that contains an `@`; a match before it is not touched again.
    fn address(&self, at: usize) -> Option<Match> {
        self.hit(SecretKind::UrlPassword, || email::password(self.text, self.done, at))
            .or_else(|| self.hit(SecretKind::Email, || email::email_address(self.text, self.done, at)))
    }

    fn hit(&self, kind: SecretKind, matcher: impl FnOnce() -> Option<Range<usize>>) -> Option<Match> {
        if !self.kinds.has(kind) {
            return None;
        }
        matcher().map(|range| Match::new(kind, range))
    }
}
