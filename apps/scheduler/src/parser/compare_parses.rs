//! Compares the parse of the language model with that of the rules. If the parses disagree, the user is asked.

use std::collections::BTreeSet;

use super::dates::format_date;
use super::merge_parses::{RuleParse, has_span};
use super::{Ambiguity, ParsedRequest, SeriesScope, SpanKind};
use crate::agents::words;
use crate::calendar::{CalendarSnapshot, TimeRange};
use crate::models::EventType;
use crate::state_utils::SURE;
use crate::zone::NamedTimeZone;

/// Maximum confidence if model and rules disagree.
const MAX_DISPUTED_CONFIDENCE: f64 = 0.69;

/// An exact time range, or a range that contains the event.
#[derive(Clone, Copy)]
enum TimeReading {
    At(TimeRange),
    Within(TimeRange),
}

/// Compares the parse of the model with that of the rules and lowers the confidence if they disagree. A time that only
/// the rules found is added, and the user is asked about it.
pub(super) fn compare(
    parsed: &mut ParsedRequest,
    rules: RuleParse<'_>,
    snapshot: &CalendarSnapshot,
    zone: &NamedTimeZone,
) {
    let other = rules.full;
    let (intent, is_same_intent) = (parsed.data.event_type, parsed.data.event_type == other.data.event_type);
    let is_change = matches!(intent, EventType::Modify | EventType::Cancel);
    let is_alone = is_change && parsed.event_ids.len() == 1 && !(is_same_intent && other.event_ids == parsed.event_ids);
    if is_alone {
        // The title of an event, written by another member, may be a prompt injection. The question also names the
        // time.
        return record_disagreement(
            parsed,
            "the event",
            Ambiguity::new(SpanKind::Event, confirm_model_intent(parsed, snapshot, zone)),
        );
    }
    // A query writes nothing, so times are not compared if the rules did not recognise the query.
    if is_same_intent || intent != EventType::Query {
        compare_times(parsed, rules, zone);
    }
    // The user decides about `All lessons next week`, not the model.
    let is_open =
        other.ambiguities.iter().any(|ambiguity| ambiguity.about == SpanKind::Scope) && other.confidence.value() < SURE;
    if is_same_intent && is_open && rules.last.is_none() {
        parsed.confidence = parsed.confidence.at_most(MAX_DISPUTED_CONFIDENCE);
    }
    // Rules without sufficient confidence cannot contradict the intent.
    if !is_same_intent && other.confidence.value() >= SURE {
        record_disagreement(
            parsed,
            "the intent",
            Ambiguity::new(SpanKind::Intent, confirm_model_intent(parsed, snapshot, zone)),
        );
    }
}

/// Returns the question for a request that the rules did not recognise.
fn confirm_model_intent(parsed: &ParsedRequest, snapshot: &CalendarSnapshot, zone: &NamedTimeZone) -> String {
    let event = parsed.event_ids.first().and_then(|id| snapshot.events.get(id));
    let title = event.map(|event| event.title.as_str()).or(parsed.data.title.as_deref());
    let name = title.map_or_else(|| "something".to_owned(), words::quoted);
    let one = parsed.instance.map(|at| format!("{name} on {}", words::format_range(zone, &at)));
    let one = one.unwrap_or_else(|| name.clone());
    let which = match parsed.scope {
        Some(SeriesScope::All) => format!("all of {name}"),
        Some(SeriesScope::Following) => format!("{one} and all that follow"),
        Some(SeriesScope::This) | None => one,
    };
    let to = when(parsed).map(|when| describe(when, zone));
    match (parsed.data.event_type, to) {
        (EventType::Create, Some(to)) => format!("Shall I plan {name} for {to}?"),
        (EventType::Create, None) => format!("Shall I plan {name}?"),
        (EventType::Modify, Some(to)) => format!("Shall I change {which}, to {to}?"),
        (EventType::Modify, None) => format!("Shall I change {which}?"),
        (EventType::Cancel, _) => format!("Shall I cancel {which}?"),
        (EventType::Query, _) => "Do you have a question about the calendar?".to_owned(),
    }
}

/// Returns the question if the model selects other instances of a series than the rules, whose selection is kept.
pub(super) fn series_disagreement(
    parsed: &ParsedRequest,
    (scope, instance): (Option<SeriesScope>, Option<TimeRange>),
    zone: &NamedTimeZone,
) -> Option<Ambiguity> {
    let at = parsed.instance?;
    let day = format_date(zone.to_local(at.start).date());
    if scope.is_none_or(|scope| scope == parsed.scope.unwrap_or(SeriesScope::This)) {
        let is_other = instance.is_some_and(|instance| instance != at);
        return is_other.then(|| Ambiguity::new(SpanKind::Event, format!("Do you mean the one on {day}?")));
    }
    let question = match parsed.scope {
        None => format!("Only the one on {day}, or all of them?"),
        Some(SeriesScope::This) => format!("Do you mean only the one on {day}?"),
        Some(SeriesScope::Following) => format!("Do you mean the one on {day} and all that follow?"),
        Some(SeriesScope::All) => "Do you mean all of them?".to_owned(),
    };
    Some(Ambiguity::new(SpanKind::Scope, question))
}

fn compare_times(parsed: &mut ParsedRequest, rules: RuleParse<'_>, zone: &NamedTimeZone) {
    let (other, last) = (rules.full, rules.last_answer_with_time());
    let is_it = |when: TimeReading| Ambiguity::new(SpanKind::Time, format!("Is it {}?", describe(when, zone)));
    match (when(last.unwrap_or(other)), when(parsed)) {
        (None, None) => {}
        (Some(theirs), Some(own)) => {
            let is_same = match last {
                Some(last) => is_same_in_part((theirs, own), last, zone),
                None => is_same((theirs, own), other, zone),
            };
            if !is_same {
                ask_which((theirs, own), parsed, zone);
            }
        }
        (None, Some(own)) => record_disagreement(parsed, "the time", is_it(own)),
        (Some(theirs), None) => {
            take(parsed, theirs);
            record_disagreement(parsed, "the time", is_it(theirs));
        }
    }
    let parts = |rule: &Option<String>| -> BTreeSet<String> {
        rule.iter().flat_map(|rule| rule.split(';')).map(str::to_owned).collect()
    };
    if parts(&parsed.data.recurrence_rule) != parts(&other.data.recurrence_rule) {
        let question = match &parsed.data.recurrence_rule {
            Some(rule) => format!("Does it repeat ({rule})?"),
            None => "Is it only once?".to_owned(),
        };
        record_disagreement(parsed, "the recurrence", Ambiguity::new(SpanKind::Repeat, question));
    }
}

fn when(parsed: &ParsedRequest) -> Option<TimeReading> {
    let data = &parsed.data;
    let exact = data.start_time.zip(data.end_time).map(|(start, end)| TimeReading::At(TimeRange { start, end }));
    exact.or(parsed.time_window.map(TimeReading::Within))
}

/// Returns true if both times are equal. The duration is compared only if a duration or a range was given.
fn is_same((theirs, own): (TimeReading, TimeReading), rules: &ParsedRequest, zone: &NamedTimeZone) -> bool {
    let (theirs, own) = match (theirs, own) {
        (TimeReading::At(theirs), TimeReading::At(own)) => (theirs, own),
        (TimeReading::Within(theirs), TimeReading::Within(own)) => return theirs.overlaps(&own),
        _ => return false,
    };
    let is_range = rules.spans.iter().any(|span| span.part == SpanKind::Time && span.value.contains(" - "));
    let is_long = !(is_range || has_span(rules, SpanKind::Length)) || theirs.minutes() == own.minutes();
    // For a query without a time of day, the same date is sufficient.
    if rules.data.event_type == EventType::Query && !has_span(rules, SpanKind::Time) {
        return zone.to_local(theirs.start).date() == zone.to_local(own.start).date();
    }
    theirs.start == own.start && is_long
}

/// Compares only what the last answer contains: an answer with a time alone says nothing about the day, and vice
/// versa.
fn is_same_in_part((theirs, own): (TimeReading, TimeReading), last: &ParsedRequest, zone: &NamedTimeZone) -> bool {
    let (TimeReading::At(theirs) | TimeReading::Within(theirs), TimeReading::At(own)) = (theirs, own) else {
        return is_same((theirs, own), last, zone);
    };
    let (there, here) = (zone.to_local(theirs.start), zone.to_local(own.start));
    let is_day = !has_span(last, SpanKind::Date) || there.date() == here.date();
    is_day && (!has_span(last, SpanKind::Time) || there.time() == here.time())
}

fn ask_which((theirs, own): (TimeReading, TimeReading), parsed: &mut ParsedRequest, zone: &NamedTimeZone) {
    if let (TimeReading::At(theirs), TimeReading::At(own)) = (theirs, own) {
        parsed.time_options = vec![own, theirs];
    }
    let question = format!("Is it {}, or {}?", describe(own, zone), describe(theirs, zone));
    record_disagreement(parsed, "the time", Ambiguity::new(SpanKind::Time, question));
}

fn describe(when: TimeReading, zone: &NamedTimeZone) -> String {
    match when {
        TimeReading::At(span) => words::format_range(zone, &span),
        TimeReading::Within(span) => format!("some time on {}", words::day(zone.to_local(span.start).date())),
    }
}

fn take(parsed: &mut ParsedRequest, when: TimeReading) {
    match when {
        TimeReading::At(span) => {
            (parsed.data.start_time, parsed.data.end_time) = (Some(span.start), Some(span.end));
            if parsed.data.event_type == EventType::Cancel {
                parsed.instance = Some(span);
            }
        }
        TimeReading::Within(span) => parsed.time_window = Some(span),
    }
}

/// Limits the confidence and puts the question first.
pub(super) fn record_disagreement(parsed: &mut ParsedRequest, about: &str, ambiguity: Ambiguity) {
    parsed.confidence = parsed.confidence.at_most(MAX_DISPUTED_CONFIDENCE);
    parsed.reasoning += &format!("; the two disagree on {about}");
    parsed.ambiguities.retain(|one| *one != ambiguity);
    parsed.ambiguities.insert(0, ambiguity);
}
