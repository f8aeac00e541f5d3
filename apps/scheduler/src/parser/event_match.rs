//! Finds the event that a sentence refers to: `the dentist`, `Saturday's soccer game`, `everything on Sunday`.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::civil::DateTime;

use super::phrase_pattern::is_near;
use super::phrase_reader::{PhraseReader, lookup};
use super::resolve_time::LocalClock;
use super::time_expressions::{ClockExpression, TimeExpressions};
use super::token::{Token, TokenKind, tokens};
use crate::calendar::{CalendarSnapshot, Event, NEXT_INSTANCE_HORIZON_DAYS, TimeRange};
use crate::models::EventStatus;

/// A candidate event, and the local time range of the selected instance.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EventMatch {
    pub(super) event: Arc<Event>,
    pub(super) instance: Option<(DateTime, DateTime)>,
}

/// Search criteria for an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventClue<'a> {
    /// Tokens that may contain words of the title.
    pub(super) words: &'a [Token],
    /// Ids of members who take part.
    pub(super) people: &'a [String],
    /// Time expressions of the sentence.
    pub(super) expressions: &'a TimeExpressions,
    /// True if events at another time do not match.
    pub(super) is_strict: bool,
}

/// Returns the best matching events.
pub(super) fn best_matches(
    reader: &PhraseReader<'_>,
    snapshot: &CalendarSnapshot,
    local_clock: &LocalClock<'_>,
    clue: EventClue<'_>,
) -> Vec<EventMatch> {
    let words = words(reader, clue.words);
    let has_time = !clue.expressions.days.is_empty() || clue.expressions.time.is_some();
    let has_specific_word = words.iter().any(|word| !word.is_common);
    let mut best = (0, false);
    let mut matches: Vec<EventMatch> = Vec::new();
    for event in snapshot.events.values().filter(|event| event.status == EventStatus::Confirmed) {
        let score = score(&words, event);
        let is_possible =
            if has_specific_word { score >= SPECIFIC_SCORE } else { score > 0 || (has_time && clue.is_strict) };
        let takes_part = |id: &String| event.participants.iter().any(|participant| participant.member == *id);
        if !is_possible || score < best.0 || !clue.people.iter().all(takes_part) {
            continue;
        }
        let Some((instance, is_exact)) = instance(snapshot, local_clock, event, clue) else { continue };
        match (score, is_exact).cmp(&best) {
            Ordering::Less => continue,
            Ordering::Equal => {}
            Ordering::Greater => matches.clear(),
        }
        best = (score, is_exact);
        matches.push(EventMatch { event: event.clone(), instance });
    }
    matches
}

/// Returns the instance of an event that the user selected: the one at the given time, else the next one.
pub(super) fn selected_event_match(
    snapshot: &CalendarSnapshot,
    local_clock: &LocalClock<'_>,
    event: &Arc<Event>,
    expressions: &TimeExpressions,
) -> EventMatch {
    let clue = EventClue { words: &[], people: &[], expressions, is_strict: false };
    let instance = instance(snapshot, local_clock, event, clue).and_then(|(instance, _)| instance);
    EventMatch { event: event.clone(), instance }
}

/// Returns the event on the given day whose title is contained completely in the sentence.
pub(super) fn exact_title_match(
    reader: &PhraseReader<'_>,
    snapshot: &CalendarSnapshot,
    local_clock: &LocalClock<'_>,
    expressions: Option<&TimeExpressions>,
) -> Option<EventMatch> {
    let days = expressions.map(|expressions| expressions.days.clone()).unwrap_or_default();
    let expressions = TimeExpressions { days, ..TimeExpressions::default() };
    let matches = best_matches(
        reader,
        snapshot,
        local_clock,
        EventClue { words: &reader.tokens, people: &[], expressions: &expressions, is_strict: true },
    );
    let is_complete_title = |candidate: &EventMatch| {
        let title = tokens(&candidate.event.title);
        let is_mentioned =
            |word: &Token| reader.tokens.iter().any(|token| token.is_unmatched() && token.lower == word.lower);
        let remaining = words(reader, &reader.tokens);
        // A title of one word, such as `School`, occurs in the sentences of many new events.
        let names_nothing_else = || remaining.iter().all(|word| word.is_common || is_named_in(word, &title));
        title.iter().all(is_mentioned) && (title.len() > 1 || names_nothing_else())
    };
    matches.into_iter().find(is_complete_title)
}

/// Returns the title of a second event in the sentence: `cancel the haircut and the oil change`.
pub(super) fn second_event_title(
    reader: &PhraseReader<'_>,
    snapshot: &CalendarSnapshot,
    local_clock: &LocalClock<'_>,
    (tokens, event_match): (&[Token], &EventMatch),
) -> Option<String> {
    let is_other = |token: &Token| {
        let words = words(reader, std::slice::from_ref(token));
        words.iter().any(|word| !word.is_common) && score(&words, &event_match.event) == 0
    };
    let other_tokens: Vec<Token> = tokens.iter().filter(|token| is_other(token)).cloned().collect();
    let expressions = TimeExpressions::default();
    let others = best_matches(
        reader,
        snapshot,
        local_clock,
        EventClue { words: &other_tokens, people: &[], expressions: &expressions, is_strict: true },
    );
    others.first().map(|other| other.event.title.clone())
}

/// Score of a word that occurs in few titles. A common word scores 1.
const SPECIFIC_SCORE: u32 = 3;

struct TitleWord<'a> {
    /// The word and its English equivalents.
    forms: Vec<&'a str>,
    is_common: bool,
}

fn words<'a>(reader: &PhraseReader<'_>, tokens: &'a [Token]) -> Vec<TitleWord<'a>> {
    let lists = reader.language.words;
    let is_content = |token: &&Token| {
        token.is_unmatched() && token.kind == TokenKind::Word && !token.is_in(lists.stops) && !token.is_in(lists.vague)
    };
    let word = |token: &'a Token| {
        let mut forms = vec![token.lower.as_str()];
        forms.extend(lookup(lists.synonyms, &token.lower));
        TitleWord { forms, is_common: token.is_in(lists.common) }
    };
    tokens.iter().filter(is_content).map(word).collect()
}

fn score(words: &[TitleWord<'_>], event: &Event) -> u32 {
    let title = tokens(&event.title);
    let named = words.iter().filter(|word| is_named_in(word, &title));
    named.map(|word| if word.is_common { 1 } else { SPECIFIC_SCORE }).sum()
}

fn is_named_in(word: &TitleWord<'_>, title: &[Token]) -> bool {
    word.forms.iter().any(|form| title.iter().any(|token| is_same(form, &token.lower)))
}

/// Returns true if two words are equal except for a plural or a typing error.
fn is_same(one: &str, other: &str) -> bool {
    let stem = |word: &str| word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned();
    stem(one) == stem(other) || (one.len() >= 5 && other.len() >= 5 && is_near(one, other))
}

/// A local time range.
type LocalRange = (DateTime, DateTime);

/// Returns the selected instance, and true if it is exactly at the given time. Returns `None` if the event does not
/// match, and a `None` instance if a matching event is over.
fn instance(
    snapshot: &CalendarSnapshot,
    local_clock: &LocalClock<'_>,
    event: &Arc<Event>,
    clue: EventClue<'_>,
) -> Option<(Option<LocalRange>, bool)> {
    let today = local_clock.now.date().to_datetime(jiff::civil::Time::midnight());
    let until = today.saturating_add(jiff::Span::new().days(NEXT_INSTANCE_HORIZON_DAYS));
    let range = TimeRange::new(local_clock.zone.to_instant(today).ok()?, local_clock.zone.to_instant(until).ok()?)?;
    let instances = snapshot.instances_of(event, &range).unwrap_or_default();
    let spans = instances
        .iter()
        .map(|instance| (local_clock.zone.to_local(instance.span.start), local_clock.zone.to_local(instance.span.end)));
    let spans: Vec<(DateTime, DateTime)> = spans.collect();
    let requested = instance_at(&spans, local_clock, clue.expressions);
    let upcoming = spans.iter().copied().find(|(_, end)| *end > local_clock.now);
    match requested {
        Some((span, is_exact)) => Some((Some(span), is_exact)),
        None if clue.is_strict && (!clue.expressions.days.is_empty() || clue.expressions.time.is_some()) => None,
        None if clue.is_strict => upcoming.map(|span| (Some(span), false)),
        None => Some((upcoming, false)),
    }
}

/// Returns the first instance at the given time.
fn instance_at(
    spans: &[LocalRange],
    local_clock: &LocalClock<'_>,
    expressions: &TimeExpressions,
) -> Option<(LocalRange, bool)> {
    let (day, _) = expressions.day();
    let start = expressions.time.and_then(|time| match time {
        ClockExpression::At(clock) | ClockExpression::Range(clock, _) => Some(clock),
        _ => None,
    });
    if let Some(onward) = &expressions.onward {
        return spans.iter().copied().find(|(start, _)| start.date() >= onward.first).map(|span| (span, true));
    }
    if day.is_none() && start.is_none() {
        return None;
    }
    let is_at = |start_of: DateTime| {
        start.is_none_or(|clock| {
            let minute = i32::from(start_of.hour()) * 60 + i32::from(start_of.minute());
            // Without am or pm, both halves of the day match.
            let other = super::clock_time::ClockTime { hour: clock.hour + 12, ..clock };
            let minute_of = |clock: super::clock_time::ClockTime| {
                clock.resolve(expressions.hint().or(local_clock.hint), local_clock.preferences).minute
            };
            minute_of(clock) == minute
                || (clock.half == super::phrase_meaning::DayHalf::Open && clock.hour < 12 && minute_of(other) == minute)
        })
    };
    let on = |later: i32| {
        spans.iter().copied().find(|(start, end)| {
            let is_on = day.as_ref().is_none_or(|day| {
                let (first, last) = (super::dates::plus(day.first, later), super::dates::plus(day.end, later));
                (first..last).contains(&start.date())
            });
            is_on && *end > local_clock.now && is_at(*start)
        })
    };
    // `the Friday thing` may be a week later.
    let is_weekday = day.as_ref().is_some_and(|day| day.form == super::dates::DateForm::Weekday);
    let today = day.as_ref().is_some_and(|day| day.first.weekday() == local_clock.now.date().weekday());
    let sooner = || (is_weekday && today).then(|| on(-7)).flatten();
    let exact = sooner().or_else(|| on(0)).map(|span| (span, true));
    exact.or_else(|| is_weekday.then(|| on(7)).flatten().map(|span| (span, false)))
}
