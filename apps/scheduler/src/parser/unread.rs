//! Words about time that nothing has read. Left alone they would end up in the title, and the time would be another one.

use super::Part;
use super::reader::{Finding, Reader};
use super::sense::Sense;
use super::token::{Kind, Token, tokens};

/// Short names of zones, in any language.
const ZONES: [&str; 17] = [
    "utc", "gmt", "bst", "wet", "cet", "cest", "eet", "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "jst",
    "ist",
];

/// Names of zones that are words of many a title as well: `CT scan`, `mountain biking`.
const LIKE_ZONES: [&str; 8] = ["pt", "et", "ct", "mt", "pacific", "eastern", "central", "mountain"];

/// What to ask of something new where words about time are left.
pub(super) fn of_plan(reader: &Reader<'_>, findings: &[Finding], (has_date, has_time): (bool, bool)) -> Option<String> {
    let is_left = |at: usize| {
        let is_day = is_day_word(reader, at) && (!has_date || is_around(reader, at)) || is_before_day(reader, at);
        is_zone(reader, at) || is_number(reader, at, has_time) || is_day
    };
    let end = || end_of_nothing(findings).map(|end| asked(reader, end.from, end.to));
    about_repeating(reader, findings).or_else(end).or_else(|| first(reader, is_left))
}

/// The same of a change, of which numbers and names of days may be part of the title.
pub(super) fn of_change(reader: &Reader<'_>, findings: &[Finding], titles: &[&str]) -> Option<String> {
    let titles: Vec<Token> = titles.iter().flat_map(|title| tokens(title)).collect();
    let is_in_title = |at: usize| titles.iter().any(|word| word.lower == reader.tokens[at].lower);
    let is_left = |at: usize| is_zone(reader, at) || is_day_word(reader, at);
    about_repeating(reader, findings).or_else(|| first(reader, |at| is_left(at) && !is_in_title(at)))
}

/// What to ask where it is not clear how often it is.
fn about_repeating(reader: &Reader<'_>, findings: &[Finding]) -> Option<String> {
    let unclear = findings.iter().find(|finding| finding.sense == Sense::Unclear);
    let left = || first(reader, |at| is_loose(reader, at));
    unclear.map(|unclear| asked(reader, unclear.from, unclear.to)).or_else(left)
}

/// How often something is, or until when, that is not said to repeat: `three times at 9am`.
fn end_of_nothing(findings: &[Finding]) -> Option<&Finding> {
    let repeats = |finding: &Finding| matches!(finding.sense, Sense::Repeat(_) | Sense::RepeatPart(..));
    let is_end = |finding: &&Finding| {
        matches!(finding.sense, Sense::Times | Sense::UntilDate | Sense::UntilMonth | Sense::UntilMonthEnd)
    };
    findings.iter().find(is_end).filter(|_| !findings.iter().any(repeats))
}

/// What to ask of the first token that is so.
fn first(reader: &Reader<'_>, is_so: impl Fn(usize) -> bool) -> Option<String> {
    (0..reader.tokens.len()).find(|at| is_so(*at)).map(|at| asked(reader, at, at + 1))
}

fn asked(reader: &Reader<'_>, from: usize, to: usize) -> String {
    let (start, end) = (reader.tokens[from].place.0, reader.tokens[to - 1].place.1);
    format!("What does “{}” say about when it is?", &reader.text[start..end])
}

/// `every`, `except` and the like.
fn is_loose(reader: &Reader<'_>, at: usize) -> bool {
    reader.tokens[at].is_left() && reader.tokens[at].is_in(reader.language.words.loose)
}

/// `Christmas dinner`, `the end of the month`, `early December`.
fn is_day_word(reader: &Reader<'_>, at: usize) -> bool {
    let (token, lists) = (&reader.tokens[at], reader.language.words);
    let is_month = || token.kind == Kind::Word && lists.months.iter().any(|(month, _)| *month == token.lower);
    token.is_left() && (token.is_in(lists.day_words) || is_month())
}

/// Whether a word for days changes the day that was said: `Friday after Easter`.
fn is_around(reader: &Reader<'_>, at: usize) -> bool {
    let lists = reader.language.words;
    let before = reader.tokens[..at].iter().rev().find(|token| !token.is_in(lists.the));
    before.is_some_and(|before| before.is_left() && before.is_in(lists.around))
}

/// `Before Friday` is not on Friday.
fn is_before_day(reader: &Reader<'_>, at: usize) -> bool {
    let (token, next) = (&reader.tokens[at], reader.tokens.get(at + 1));
    let is_day = next.is_some_and(|next| next.read_as == Some(Part::Date));
    token.is_left() && token.is_in(reader.language.words.around) && is_day
}

/// `3pm EST`, `3pm London time`.
fn is_zone(reader: &Reader<'_>, at: usize) -> bool {
    let (token, lists) = (&reader.tokens[at], reader.language.words);
    let is_behind_name = || at > 0 && reader.tokens[at - 1].is_left() && follows_time(reader, at - 1);
    let is_word = || token.is_in(lists.zone_words) && (follows_time(reader, at) || is_behind_name());
    let next = reader.tokens.get(at + 1);
    let goes_on =
        || next.is_some_and(|next| next.is_left() && !next.is_in(lists.stops) && !next.is_in(lists.zone_words));
    let is_name = token.is_in(&ZONES) || token.is_in(&LIKE_ZONES) && !goes_on();
    token.is_left() && (is_name && follows_time(reader, at) || is_word())
}

/// A number right behind a time belongs to it, as does one behind a day and `and`, and one in a plan without any time may be
/// the time. Others are part of the title: `grade 5 concert at 3pm`.
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
    let may_be_day = matches!(token.kind, Kind::Integer(1..=31) | Kind::Ordinal(_));
    let is_left = !has_time && may_be_time || is_number && follows_time(reader, at);
    token.is_left() && !is_vague && (is_left || may_be_day && is_another_day(reader, at))
}

/// `January 12 and 14`: whether a day and a word between the parts of a list come before a token.
fn is_another_day(reader: &Reader<'_>, at: usize) -> bool {
    let lists = reader.language.words;
    let is_between = |token: &&Token| token.read_as.is_none() && (token.is_in(lists.ands) || token.is_in(lists.the));
    let between = reader.tokens[..at].iter().rev().take_while(is_between).count();
    let before = at.checked_sub(between + 1).map(|before| &reader.tokens[before]);
    between > 0 && before.is_some_and(|before| before.read_as == Some(Part::Date))
}

/// Whether a time of the day ends right before a token, but for a dash.
fn follows_time(reader: &Reader<'_>, at: usize) -> bool {
    let is_dash = |token: &&Token| token.read_as.is_none() && token.kind == Kind::Sign('-');
    let before = reader.tokens[..at].iter().rev().find(|token| !is_dash(token));
    before.is_some_and(|token| token.read_as == Some(Part::Time))
}
