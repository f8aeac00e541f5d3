//! Which event of the calendar is meant: `the dentist`, `Saturday's soccer game`, `everything on Sunday`.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::civil::DateTime;

use super::pattern::is_near;
use super::reader::{Reader, named};
use super::said::{Said, TimeSaid};
use super::token::{Kind, Token, tokens};
use super::when::Wall;
use crate::calendar::{Board, Event, Span};
use crate::models::EventStatus;

/// An event that may be meant, and when the instance that is meant is, on the wall.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meant {
    pub(super) event: Arc<Event>,
    pub(super) instance: Option<(DateTime, DateTime)>,
}

/// What is known of an event that is meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clue<'a> {
    /// The words of its title are among these tokens.
    pub(super) words: &'a [Token],
    /// These people take part.
    pub(super) people: &'a [String],
    /// It is then, as far as that was said.
    pub(super) said: &'a Said,
    /// Whether an event at another time is none.
    pub(super) is_strict: bool,
}

/// The events that fit best.
pub(super) fn meant(reader: &Reader<'_>, board: &Board, wall: &Wall<'_>, clue: Clue<'_>) -> Vec<Meant> {
    let words = words(reader, clue.words);
    let has_time = !clue.said.days.is_empty() || clue.said.time.is_some();
    let is_special = words.iter().any(|word| !word.is_common);
    let mut best = (0, false);
    let mut found: Vec<Meant> = Vec::new();
    for event in board.events.values().filter(|event| event.status == EventStatus::Confirmed) {
        let score = score(&words, event);
        let is_possible = if is_special { score >= SPECIAL } else { score > 0 || (has_time && clue.is_strict) };
        let takes_part = |id: &String| event.participants.iter().any(|one| one.member == *id);
        if !is_possible || score < best.0 || !clue.people.iter().all(takes_part) {
            continue;
        }
        let Some((instance, is_exact)) = instance(board, wall, event, clue) else { continue };
        match (score, is_exact).cmp(&best) {
            Ordering::Less => continue,
            Ordering::Equal => {}
            Ordering::Greater => found.clear(),
        }
        best = (score, is_exact);
        found.push(Meant { event: event.clone(), instance });
    }
    found
}

/// An event that was picked, and which of it: the one at the time that was said, else the next.
pub(super) fn picked(board: &Board, wall: &Wall<'_>, event: &Arc<Event>, said: &Said) -> Meant {
    let clue = Clue { words: &[], people: &[], said, is_strict: false };
    let instance = instance(board, wall, event, clue).and_then(|(instance, _)| instance);
    Meant { event: event.clone(), instance }
}

/// The event of which every word was said, and which is on that day.
pub(super) fn by_whole_title(
    reader: &Reader<'_>,
    board: &Board,
    wall: &Wall<'_>,
    said: Option<&Said>,
) -> Option<Meant> {
    let days = said.map(|said| said.days.clone()).unwrap_or_default();
    let said = Said { days, ..Said::default() };
    let found = meant(reader, board, wall, Clue { words: &reader.tokens, people: &[], said: &said, is_strict: true });
    let is_whole = |meant: &Meant| {
        let title = tokens(&meant.event.title);
        let is_said = |word: &Token| reader.tokens.iter().any(|token| token.is_left() && token.lower == word.lower);
        let left = words(reader, &reader.tokens);
        // One word alone, such as `School`, is said in many a plan.
        let is_all = || left.iter().all(|word| word.is_common || is_named_in(word, &title));
        title.iter().all(is_said) && (title.len() > 1 || is_all())
    };
    found.into_iter().find(is_whole)
}

/// The title of another event that is named as well: `cancel the haircut and the oil change`.
pub(super) fn another(
    reader: &Reader<'_>,
    board: &Board,
    wall: &Wall<'_>,
    (tokens, one): (&[Token], &Meant),
) -> Option<String> {
    let is_other = |token: &Token| {
        let words = words(reader, std::slice::from_ref(token));
        words.iter().any(|word| !word.is_common) && score(&words, &one.event) == 0
    };
    let rest: Vec<Token> = tokens.iter().filter(|token| is_other(token)).cloned().collect();
    let said = Said::default();
    let others = meant(reader, board, wall, Clue { words: &rest, people: &[], said: &said, is_strict: true });
    others.first().map(|other| other.event.title.clone())
}

/// What a word that few titles have is worth; one that many have is worth one.
const SPECIAL: u32 = 3;

struct Word<'a> {
    /// The word and what it is called in English.
    forms: Vec<&'a str>,
    is_common: bool,
}

fn words<'a>(reader: &Reader<'_>, tokens: &'a [Token]) -> Vec<Word<'a>> {
    let lists = reader.language.words;
    let is_content = |token: &&Token| {
        token.is_left() && token.kind == Kind::Word && !token.is_in(lists.stops) && !token.is_in(lists.vague)
    };
    let word = |token: &'a Token| {
        let mut forms = vec![token.lower.as_str()];
        forms.extend(named(lists.same, &token.lower));
        Word { forms, is_common: token.is_in(lists.common) }
    };
    tokens.iter().filter(is_content).map(word).collect()
}

fn score(words: &[Word<'_>], event: &Event) -> u32 {
    let title = tokens(&event.title);
    let named = words.iter().filter(|word| is_named_in(word, &title));
    named.map(|word| if word.is_common { 1 } else { SPECIAL }).sum()
}

fn is_named_in(word: &Word<'_>, title: &[Token]) -> bool {
    word.forms.iter().any(|form| title.iter().any(|token| is_same(form, &token.lower)))
}

/// Whether two words are the same but for a plural or a slip.
fn is_same(one: &str, other: &str) -> bool {
    let stem = |word: &str| word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned();
    stem(one) == stem(other) || (one.len() >= 5 && other.len() >= 5 && is_near(one, other))
}

/// When something is, on the wall.
type OnWall = (DateTime, DateTime);

/// The instance that is meant, and whether it is just then: nothing when there is none, and none when the event is over
/// but fits.
fn instance(board: &Board, wall: &Wall<'_>, event: &Arc<Event>, clue: Clue<'_>) -> Option<(Option<OnWall>, bool)> {
    let today = wall.now.date().to_datetime(jiff::civil::Time::midnight());
    let until = today.saturating_add(jiff::Span::new().days(400));
    let within = Span::new(wall.zone.instant(today).ok()?, wall.zone.instant(until).ok()?)?;
    let instances = board.instances_of(event, &within).unwrap_or_default();
    let spans =
        instances.iter().map(|instance| (wall.zone.wall(instance.span.start), wall.zone.wall(instance.span.end)));
    let spans: Vec<(DateTime, DateTime)> = spans.collect();
    let fitting = fitting(&spans, wall, clue.said);
    let upcoming = spans.iter().copied().find(|(_, end)| *end > wall.now);
    match fitting {
        Some((span, is_exact)) => Some((Some(span), is_exact)),
        None if clue.is_strict && (!clue.said.days.is_empty() || clue.said.time.is_some()) => None,
        None if clue.is_strict => upcoming.map(|span| (Some(span), false)),
        None => Some((upcoming, false)),
    }
}

/// The first instance at the time that was said.
fn fitting(spans: &[OnWall], wall: &Wall<'_>, said: &Said) -> Option<(OnWall, bool)> {
    let (day, _) = said.day();
    let start = said.time.and_then(|time| match time {
        TimeSaid::At(clock) | TimeSaid::Range(clock, _) => Some(clock),
        _ => None,
    });
    if let Some(onward) = &said.onward {
        return spans.iter().copied().find(|(start, _)| start.date() >= onward.first).map(|span| (span, true));
    }
    if day.is_none() && start.is_none() {
        return None;
    }
    let is_at = |start_of: DateTime| {
        start.is_none_or(|clock| {
            let minute = i32::from(start_of.hour()) * 60 + i32::from(start_of.minute());
            // Either half of the day will do when it was not said.
            let other = super::hours::Clock { hour: clock.hour + 12, ..clock };
            let of = |clock: super::hours::Clock| clock.settle(said.hint().or(wall.hint), wall.preferences).minute;
            of(clock) == minute || (clock.half == super::sense::Half::Open && clock.hour < 12 && of(other) == minute)
        })
    };
    let on = |later: i32| {
        spans.iter().copied().find(|(start, end)| {
            let is_on = day.as_ref().is_none_or(|day| {
                let (first, last) = (super::days::plus(day.first, later), super::days::plus(day.end, later));
                (first..last).contains(&start.date())
            });
            is_on && *end > wall.now && is_at(*start)
        })
    };
    // `the Friday thing` may be the one of the Friday after.
    let is_weekday = day.as_ref().is_some_and(|day| day.how == super::days::How::Weekday);
    let today = day.as_ref().is_some_and(|day| day.first.weekday() == wall.now.date().weekday());
    let sooner = || (is_weekday && today).then(|| on(-7)).flatten();
    let exact = sooner().or_else(|| on(0)).map(|span| (span, true));
    exact.or_else(|| is_weekday.then(|| on(7)).flatten().map(|span| (span, false)))
}
