//! Compares the parse of the language model with that of the rules. If the parses disagree, the user is asked.

use std::collections::BTreeSet;

use super::merge_parses::{RuleParse, has_span};
use super::{Ambiguity, ParsedRequest, SeriesScope, SpanKind};
use crate::agents::format::{self, format_date};
use crate::agents::recurrence_text::describe_rule;
use crate::calendar::{CalendarSnapshot, TimeRange};
use crate::models::EventType;
use crate::state_utils::CONFIDENCE_THRESHOLD;
use crate::time_zone::NamedTimeZone;

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
    let is_model_only =
        is_change && parsed.event_ids.len() == 1 && !(is_same_intent && other.event_ids == parsed.event_ids);
    if is_model_only {
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
    let is_open = other.ambiguities.iter().any(|ambiguity| ambiguity.about == SpanKind::Scope)
        && other.confidence.value() < CONFIDENCE_THRESHOLD;
    if is_same_intent && is_open && rules.last.is_none() {
        parsed.confidence = parsed.confidence.at_most(MAX_DISPUTED_CONFIDENCE);
    }
    // Rules without sufficient confidence cannot contradict the intent.
    if !is_same_intent && other.confidence.value() >= CONFIDENCE_THRESHOLD {
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
    let name = title.map_or_else(|| "something".to_owned(), format::quoted);
    let instance = parsed.instance.map(|span| format!("{name} on {}", format::format_range(zone, &span)));
    let instance = instance.unwrap_or_else(|| name.clone());
    let subject = match parsed.scope {
        Some(SeriesScope::All) => format!("all of {name}"),
        Some(SeriesScope::Following) => format!("{instance} and all that follow"),
        Some(SeriesScope::This) | None => instance,
    };
    let to = time_reading(parsed).map(|time| describe(time, zone));
    match (parsed.data.event_type, to) {
        (EventType::Create, Some(to)) => format!("Shall I plan {name} for {to}?"),
        (EventType::Create, None) => format!("Shall I plan {name}?"),
        (EventType::Modify, Some(to)) => format!("Shall I change {subject}, to {to}?"),
        (EventType::Modify, None) => format!("Shall I change {subject}?"),
        (EventType::Cancel, _) => format!("Shall I cancel {subject}?"),
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
    let ask_for = |time: TimeReading| Ambiguity::new(SpanKind::Time, format!("Is it {}?", describe(time, zone)));
    match (time_reading(last.unwrap_or(other)), time_reading(parsed)) {
        (None, None) => {}
        (Some(rule_time), Some(model_time)) => {
            let is_same = match last {
                Some(last) => is_same_in_part((rule_time, model_time), last, zone),
                None => is_same((rule_time, model_time), other, zone),
            };
            if !is_same {
                ask_for_time((rule_time, model_time), parsed, zone);
            }
        }
        (None, Some(model_time)) => record_disagreement(parsed, "the time", ask_for(model_time)),
        (Some(rule_time), None) => {
            set_time(parsed, rule_time);
            record_disagreement(parsed, "the time", ask_for(rule_time));
        }
    }
    let parts = |rule: &Option<String>| -> BTreeSet<String> {
        rule.iter().flat_map(|rule| rule.split(';')).map(str::to_owned).collect()
    };
    if parts(&parsed.data.recurrence_rule) != parts(&other.data.recurrence_rule) {
        let question = match &parsed.data.recurrence_rule {
            Some(rule) => match describe_rule(rule) {
                Some(recurrence) => format!("Does it repeat {recurrence}?"),
                None => "Is it a recurring event?".to_owned(),
            },
            None => "Does it happen only once?".to_owned(),
        };
        record_disagreement(parsed, "the recurrence", Ambiguity::new(SpanKind::Repeat, question));
    }
}

fn time_reading(parsed: &ParsedRequest) -> Option<TimeReading> {
    let data = &parsed.data;
    let exact = data.start_time.zip(data.end_time).map(|(start, end)| TimeReading::At(TimeRange { start, end }));
    exact.or(parsed.time_window.map(TimeReading::Within))
}

/// Returns true if both times are equal. The duration is compared only if a duration or a range was given.
fn is_same((rule_time, model_time): (TimeReading, TimeReading), rules: &ParsedRequest, zone: &NamedTimeZone) -> bool {
    let (rule_time, model_time) = match (rule_time, model_time) {
        (TimeReading::At(rule_time), TimeReading::At(model_time)) => (rule_time, model_time),
        (TimeReading::Within(rule_time), TimeReading::Within(model_time)) => return rule_time.overlaps(&model_time),
        _ => return false,
    };
    let is_range = rules.spans.iter().any(|span| span.part == SpanKind::Time && span.value.contains(" - "));
    let is_same_length =
        !(is_range || has_span(rules, SpanKind::Length)) || rule_time.minutes() == model_time.minutes();
    // For a query without a time of day, the same date is sufficient.
    if rules.data.event_type == EventType::Query && !has_span(rules, SpanKind::Time) {
        return zone.to_local(rule_time.start).date() == zone.to_local(model_time.start).date();
    }
    rule_time.start == model_time.start && is_same_length
}

/// Compares only what the last answer contains: an answer with a time alone says nothing about the day, and vice
/// versa.
fn is_same_in_part(times: (TimeReading, TimeReading), last: &ParsedRequest, zone: &NamedTimeZone) -> bool {
    let (TimeReading::At(rule_time) | TimeReading::Within(rule_time), TimeReading::At(model_time)) = times else {
        return is_same(times, last, zone);
    };
    let (rule_start, model_start) = (zone.to_local(rule_time.start), zone.to_local(model_time.start));
    let is_day = !has_span(last, SpanKind::Date) || rule_start.date() == model_start.date();
    is_day && (!has_span(last, SpanKind::Time) || rule_start.time() == model_start.time())
}

fn ask_for_time((rule_time, model_time): (TimeReading, TimeReading), parsed: &mut ParsedRequest, zone: &NamedTimeZone) {
    if let (TimeReading::At(rule_time), TimeReading::At(model_time)) = (rule_time, model_time) {
        parsed.time_options = vec![model_time, rule_time];
    }
    let question = format!("Is it {}, or {}?", describe(model_time, zone), describe(rule_time, zone));
    record_disagreement(parsed, "the time", Ambiguity::new(SpanKind::Time, question));
}

fn describe(time: TimeReading, zone: &NamedTimeZone) -> String {
    match time {
        TimeReading::At(span) => format::format_range(zone, &span),
        TimeReading::Within(span) => format!("some time on {}", format_date(zone.to_local(span.start).date())),
    }
}

fn set_time(parsed: &mut ParsedRequest, time: TimeReading) {
    match time {
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
    parsed.reasoning += &format!("; the language model and the rules disagree on {about}");
    parsed.ambiguities.retain(|existing| *existing != ambiguity);
    parsed.ambiguities.insert(0, ambiguity);
}
