//! Words about time that nothing has read. Left alone they would end up in the title, and the time would be another one.

use super::Part;
use super::reader::{Finding, Reader};
use super::sense::Sense;
use super::token::{Kind, Token};

/// Short names of zones, in any language.
const ZONES: [&str; 17] = [
    "utc", "gmt", "bst", "wet", "cet", "cest", "eet", "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "jst",
    "ist",
];

/// What to ask of something new where words about time are left.
pub(super) fn of_plan(reader: &Reader<'_>, findings: &[Finding], has_time: bool) -> Option<String> {
    let is_left = |at: &usize| is_zone(reader, *at) || is_number(reader, *at, has_time);
    let left = || (0..reader.tokens.len()).find(is_left).map(|at| asked(reader, at, at + 1));
    of_change(reader, findings).or_else(left)
}

/// The same of a change, of which numbers may be part of the title.
pub(super) fn of_change(reader: &Reader<'_>, findings: &[Finding]) -> Option<String> {
    let unclear = findings.iter().find(|finding| finding.sense == Sense::Unclear);
    let left = || (0..reader.tokens.len()).find(|at| is_loose(reader, *at)).map(|at| asked(reader, at, at + 1));
    unclear.map(|unclear| asked(reader, unclear.from, unclear.to)).or_else(left)
}

fn asked(reader: &Reader<'_>, from: usize, to: usize) -> String {
    let (start, end) = (reader.tokens[from].place.0, reader.tokens[to - 1].place.1);
    format!("What does “{}” say about when it is?", &reader.text[start..end])
}

/// `every`, `except` and the like.
fn is_loose(reader: &Reader<'_>, at: usize) -> bool {
    reader.tokens[at].is_left() && reader.tokens[at].is_in(reader.language.words.loose)
}

/// `3pm EST`, `3pm London time`.
fn is_zone(reader: &Reader<'_>, at: usize) -> bool {
    let token = &reader.tokens[at];
    let is_behind_name = || at > 0 && reader.tokens[at - 1].is_left() && follows_time(reader, at - 1);
    let is_word = || token.is_in(reader.language.words.zone_words) && (follows_time(reader, at) || is_behind_name());
    token.is_left() && (token.is_in(&ZONES) && follows_time(reader, at) || is_word())
}

/// A number right behind a time belongs to it, and one in a plan without any time may be the time. Others are part of the
/// title: `grade 5 concert at 3pm`.
fn is_number(reader: &Reader<'_>, at: usize, has_time: bool) -> bool {
    let token = &reader.tokens[at];
    let lists = reader.language.words;
    let is_vague = token.is_in(lists.articles) || token.is_in(lists.stops) || token.is_in(lists.vague);
    let is_year = |number: u32| (1900..2200).contains(&number);
    let may_be_time = match token.kind {
        Kind::Integer(number) => !is_year(number),
        Kind::Time(..) | Kind::Dotted(..) => true,
        _ => false,
    };
    let is_number = may_be_time || reader.number(token).is_some();
    token.is_left() && !is_vague && (!has_time && may_be_time || is_number && follows_time(reader, at))
}

/// Whether a time of the day ends right before a token, but for a dash.
fn follows_time(reader: &Reader<'_>, at: usize) -> bool {
    let is_dash = |token: &&Token| token.read_as.is_none() && token.kind == Kind::Sign('-');
    let before = reader.tokens[..at].iter().rev().find(|token| !is_dash(token));
    before.is_some_and(|token| token.read_as == Some(Part::Time))
}
