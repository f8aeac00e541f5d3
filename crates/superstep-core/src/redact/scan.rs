//! Goes through a text once and says where something is that must go.
//!
//! At each place only what begins there is tried, and how far a try may look is bounded: the time is linear in the text.

use std::cell::Cell;
use std::ops::Range;

use super::{Kind, address, escape, iban, keys, number, pem, quiet};

/// Something that must go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) what: What,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Known(Kind),
    /// By its place among the patterns of the user.
    Own(usize),
}

impl Hit {
    pub(super) fn own(range: Range<usize>, index: usize) -> Self {
        Self { start: range.start, end: range.end, what: What::Own(index) }
    }

    fn new(kind: Kind, range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end, what: What::Known(kind) }
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kinds(u16);

impl Kinds {
    pub(super) fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u16) != 0
    }

    pub(super) fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u16)
    }

    pub(super) fn without(self, kind: Kind) -> Self {
        Self(self.0 & !(1 << kind as u16))
    }
}

/// The shortest text that can hold anything.
const SHORTEST: usize = 6;

/// Everything of these kinds, in order.
pub(super) fn find(text: &str, kinds: Kinds) -> Vec<Hit> {
    if text.len() < SHORTEST || kinds.0 == 0 {
        return Vec::new();
    }
    let mut scan = Scan::new(text, kinds);
    quiet::stretches(text.as_bytes(), |stretch| scan.stretch(stretch));
    scan.hits
}

/// As [`find`], looking at every place.
#[cfg(test)]
pub(super) fn find_everywhere(text: &str, kinds: Kinds) -> Vec<Hit> {
    let mut scan = Scan::new(text, kinds);
    scan.stretch(0..text.len());
    scan.hits
}

struct Scan<'a> {
    text: &'a str,
    kinds: Kinds,
    hits: Vec<Hit>,
    /// Where the last hit ends.
    done: usize,
    /// Up to where no signed token is.
    no_token: Cell<usize>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, kinds: Kinds) -> Self {
        Self { text, kinds, hits: Vec::new(), done: 0, no_token: Cell::new(0) }
    }

    fn stretch(&mut self, stretch: Range<usize>) {
        // From a little before: an escape may lie across the beginning.
        let mut at = stretch.start.saturating_sub(escape::LONGEST).max(self.done);
        while at < stretch.end {
            match self.at(at) {
                Some(hit) => {
                    self.done = hit.end;
                    at = hit.end.max(at + 1);
                    self.hits.push(hit);
                }
                None => at = self.next(at, stretch.end),
            }
        }
    }

    /// The next place where something may begin: nothing begins inside of a word or a number.
    fn next(&self, at: usize, end: usize) -> usize {
        let bytes = self.text.as_bytes();
        let word = bytes[at..end].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let may_be_escape = at > 0 && matches!(bytes[at - 1], b'\\' | b'%' | b'[' | b';' | b'?');
        let inside = if may_be_escape { word.min(escape::LONGEST) } else { 0 };
        let escaped = (at + 1..=at + inside).find(|place| escape::before(bytes, *place).is_some());
        escaped.unwrap_or(at + word.max(1))
    }

    fn at(&self, at: usize) -> Option<Hit> {
        let bytes = self.text.as_bytes();
        let follows_word = at > 0 && bytes[at - 1].is_ascii_alphanumeric() && escape::before(bytes, at).is_none();
        match bytes[at] {
            b'@' => self.address(at),
            b'-' => self.hit(Kind::PrivateKey, || pem::private_key(self.text, at)),
            b'+' | b'(' | b'0'..=b'9' if !follows_word => self
                .hit(Kind::Card, || number::card(bytes, at))
                .or_else(|| self.hit(Kind::Phone, || number::phone(bytes, at))),
            b'a'..=b'z' | b'A'..=b'Z' if !follows_word => self
                .hit(Kind::Iban, || iban::account(bytes, at))
                .or_else(|| self.hit(Kind::Bearer, || keys::bearer(bytes, at)))
                .or_else(|| self.hit(Kind::Jwt, || keys::jwt(bytes, at, &self.no_token)))
                .or_else(|| self.hit(Kind::ApiKey, || keys::api_key(bytes, at))),
            _ => None,
        }
    }

    /// What an `@` is part of; a hit before it is not touched again.
    fn address(&self, at: usize) -> Option<Hit> {
        self.hit(Kind::UrlPassword, || address::password(self.text, self.done, at))
            .or_else(|| self.hit(Kind::Mail, || address::mail(self.text, self.done, at)))
    }

    fn hit(&self, kind: Kind, look: impl FnOnce() -> Option<Range<usize>>) -> Option<Hit> {
        if !self.kinds.has(kind) {
            return None;
        }
        look().map(|range| Hit::new(kind, range))
    }
}
