//! Parses changes and cancellations: the event, the instances of a series, and the change.

use jiff::civil::{Date, DateTime};

use super::clock_time::{ClockTime, at};
use super::dates::{DateForm, DateRange, day_range};
use super::event_match::{EventClue, EventMatch, best_matches, second_event_title, selected_event_match};
use super::phrase_meaning::{PhraseMeaning, VerbModifier};
use super::phrase_reader::{PhraseMatch, SlotValue};
use super::recurrence::RecurrencePhrase;
use super::reschedule::{rescheduled, resolve_day_of_month};
use super::resolve_time::next_weekday;
use super::time_expressions::TimeExpressions;
use super::{Ambiguity, SentenceParse, SeriesScope, SpanKind, title};
use crate::agents::format::{self, format_date};
use crate::calendar::TimeRange;

/// Result of parsing a change or a cancellation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ModifyParse {
    /// Events that may be meant.
    pub(super) candidates: Vec<EventMatch>,
    /// True if the first of them is certainly meant.
    pub(super) is_matched: bool,
    /// Selected instances of a series.
    pub(super) scope: Option<SeriesScope>,
    /// New time range, in local time.
    pub(super) span: Option<(DateTime, DateTime)>,
    /// New duration in minutes, if the duration was given and not the end.
    pub(super) length: Option<i64>,
    /// Local time range in which the event should be.
    pub(super) time_window: Option<(DateTime, DateTime)>,
    /// Candidate local time ranges, of which one is meant.
    pub(super) time_options: Vec<(DateTime, DateTime)>,
    /// New recurrence rule.
    pub(super) rule: Option<String>,
    /// New title.
    pub(super) title: Option<String>,
    /// True if the sentence says what to change.
    pub(super) has_change: bool,
    /// True if an ambiguity must be resolved by the user.
    pub(super) is_open: bool,
    /// Ambiguities.
    pub(super) ambiguities: Vec<Ambiguity>,
    /// Errors as sentences.
    pub(super) problems: Vec<String>,
}

/// Parses a cancellation.
pub(super) fn cancel(reading: &SentenceParse<'_>) -> ModifyParse {
    let expressions = TimeExpressions::from_matches(&reading.findings, reading.today());
    let mut changed = find_target_event(reading, &expressions, true, 0..reading.reader.tokens.len());
    changed.has_change = true;
    let is_dated = !expressions.days.is_empty() || expressions.time.is_some();
    let hints =
        ScopeHints { is_dated, is_onward: expressions.onward.is_some(), is_part: is_part(reading, &expressions) };
    resolve_scope(reading, &mut changed, hints);
    if is_several(reading, &changed, &expressions) {
        changed.ambiguities.push(Ambiguity::new(
            SpanKind::Scope,
            "The series has several events on those days. Do you mean one of them, or all?",
        ));
        changed.scope = None;
        changed.is_open = true;
    }
    if matches!(changed.scope, None | Some(SeriesScope::This))
        && changed.is_matched
        && (changed.scope.is_some() || !is_series(&changed.candidates[0]))
    {
        changed.span = changed.candidates[0].instance;
    }
    changed
}

/// Returns true if days or an end were given, so that only a part of a series can be meant: `all lessons next week`.
fn is_part(reading: &SentenceParse<'_>, expressions: &TimeExpressions) -> bool {
    let is_limit = |finding: &PhraseMatch| match finding.meaning {
        PhraseMeaning::Repeat(_) | PhraseMeaning::RepeatPart(..) => {
            finding.values.iter().any(|value| matches!(value, SlotValue::Weekdays(_)))
        }
        PhraseMeaning::UntilDate | PhraseMeaning::UntilMonth | PhraseMeaning::UntilMonthEnd => true,
        PhraseMeaning::Length | PhraseMeaning::Times | PhraseMeaning::Unclear => true,
        _ => false,
    };
    !expressions.days.is_empty() || reading.findings.iter().any(is_limit)
}

/// Returns true if a series has more than one instance in the given days.
fn is_several(reading: &SentenceParse<'_>, changed: &ModifyParse, expressions: &TimeExpressions) -> bool {
    let days = expressions.day().0.filter(|days| !days.is_single() && changed.scope == Some(SeriesScope::This));
    let time_window = days.and_then(|days| {
        let instant = |date| reading.zone.to_instant(at(date, 0)).ok();
        TimeRange::new(instant(days.first)?.max(reading.request.now), instant(days.end)?)
    });
    let (Some(time_window), Some(candidate)) = (time_window, changed.candidates.first()) else { return false };
    reading.request.snapshot.instances_of(&candidate.event, &time_window).is_ok_and(|instances| instances.len() > 1)
}

/// Parses a change.
pub(super) fn modify(reading: &SentenceParse<'_>) -> ModifyParse {
    let (old, new, border) = split(reading);
    let is_split = border.is_some();
    let words = match (reading.intent.modifier, border_word(reading)) {
        (VerbModifier::Rename, Some(to)) => 0..to,
        _ => 0..reading.reader.tokens.len(),
    };
    // Without a target word the given day may be the old or the new one.
    let is_loose = !is_split && new.shift.is_none() && old.is_empty();
    let mut changed = if is_loose {
        find_target_event(reading, &new, false, words)
    } else {
        find_target_event(reading, &old, true, words)
    };
    let is_on_day = |days: DateRange| {
        changed.candidates.iter().any(|candidate| candidate.instance.is_some_and(|(at, _)| at.date() == days.first))
    };
    let is_dated = !old.days.is_empty() || old.time.is_some() || (is_loose && new.day().0.is_some_and(is_on_day));
    changed.rule = rule(reading, &changed);
    // `Move all lessons from Tuesday to Wednesday` is about all instances, `all lessons next week` is not.
    let is_limit = |days: &DateRange| days.form != DateForm::Weekday;
    let is_part = old.days.iter().any(is_limit) || is_loose && new.days.iter().any(|days| !days.is_single());
    resolve_scope(reading, &mut changed, ScopeHints { is_dated, is_onward: false, is_part });
    if let (VerbModifier::Rename, Some(to)) = (reading.intent.modifier, border_word(reading)) {
        changed.title = title::title_of(&reading.reader, to + 1..reading.reader.tokens.len());
        changed.has_change = changed.title.is_some();
        return changed;
    }
    changed.has_change |= changed.rule.is_some();
    apply(reading, &new, &mut changed);
    changed
}

fn apply(reading: &SentenceParse<'_>, new: &TimeExpressions, changed: &mut ModifyParse) {
    let local_clock = reading.local_clock(None);
    let problems = new.days.iter().filter_map(|days| days.problem.clone());
    let clocks = new.time.iter().flat_map(|time| time.clocks());
    changed.problems.extend(problems.chain(clocks.filter_map(ClockTime::problem)));
    let has_time_expression = !new.days.is_empty() || new.time.is_some() || new.shift.is_some() || new.length.is_some();
    if !changed.problems.is_empty() || !(has_time_expression || new.part.is_some()) {
        return;
    }
    changed.has_change = true;
    let instance = if changed.is_matched { changed.candidates[0].instance } else { None };
    let Some(instance) = instance else {
        // The duration is unknown until the event is known.
        let when = local_clock.create(new, None);
        changed.span = when.span.filter(|_| when.has_date && when.has_time);
        changed.length = when.length;
        return;
    };
    let new = resolve_day_of_month(new, instance.0, local_clock.now.date(), changed);
    let Some(span) = rescheduled(reading, &new, instance, changed) else { return };
    match problem(span, local_clock.now) {
        Some(problem) => changed.problems.push(problem),
        None => changed.span = Some(span),
    }
}

/// Checks a local time range. Returns the error if the range ends before it starts or is in the past.
pub(crate) fn problem((start, end): (DateTime, DateTime), now: DateTime) -> Option<String> {
    if end <= start {
        return Some("The end is before the start.".to_owned());
    }
    (start < now).then(|| past_time(start, now))
}

/// Returns the error for a time in the past, which suggests the next date with the same weekday.
pub(super) fn past_time(start: DateTime, now: DateTime) -> String {
    let (day, time) = (format_date(start.date()), format::format_time(start.time()));
    format!("That was on {day} at {time}; did you mean {}?", next_weekday(start.date(), now))
}

/// Splits the time expressions into old and new time, and returns the index of the token at which the new time
/// begins.
fn split(reading: &SentenceParse<'_>) -> (TimeExpressions, TimeExpressions, Option<usize>) {
    let (reader, today) = (&reading.reader, reading.today());
    let lists = reader.language.words;
    let is_target = |index: usize| {
        let is_last = |finding: &&PhraseMatch| finding.from == index || finding.from == index + 1;
        let counts = |finding: &&PhraseMatch| {
            !matches!(finding.meaning, PhraseMeaning::Scope(_) | PhraseMeaning::Filler | PhraseMeaning::By)
        };
        !reading.intent.verb.contains(&index)
            && reader.tokens[index].is_in(lists.targets)
            && reading.findings.iter().filter(counts).any(|finding| is_last(&finding))
    };
    let border = (0..reader.tokens.len()).find(|index| is_target(*index));
    let phrases = lists.instead_of.iter().map(|phrase| super::phrase_pattern::pattern(phrase));
    let patterns: Vec<_> = phrases.collect();
    let instead = (0..reader.tokens.len())
        .find(|index| patterns.iter().any(|pattern| reader.match_pattern(pattern, *index).is_some()));
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let repeats = reading
        .findings
        .iter()
        .any(|finding| matches!(finding.meaning, PhraseMeaning::Repeat(_) | PhraseMeaning::RepeatPart(..)));
    for finding in &reading.findings {
        // `Put it off until Tuesday`: without a recurrence this is the new day.
        let is_day = finding.meaning == PhraseMeaning::UntilDate && !repeats;
        let finding =
            &PhraseMatch { meaning: if is_day { PhraseMeaning::Date } else { finding.meaning }, ..finding.clone() };
        let is_after = border.is_none_or(|border| finding.from >= border);
        let is_instead = instead.is_some_and(|instead| finding.from > instead);
        let is_owner = reader.tokens[finding.to - 1].is_owner;
        if let Some((first, second)) = from_to(finding, (today, is_after && border.is_some())) {
            old.push(PhraseMatch { meaning: PhraseMeaning::Date, values: vec![first], ..finding.clone() });
            new.push(PhraseMatch { meaning: PhraseMeaning::Date, values: vec![second], ..finding.clone() });
        } else if is_instead || !is_after || is_owner {
            old.push(finding.clone());
        } else {
            new.push(finding.clone());
        }
    }
    let (mut old, mut new) = (TimeExpressions::from_matches(&old, today), TimeExpressions::from_matches(&new, today));
    // With a shift, all days describe the old time, and the shift may precede the day.
    if old.shift.is_some() || new.shift.is_some() {
        old.days.append(&mut new.days);
        old.time = old.time.or(new.time.take());
        new.shift = new.shift.or(old.shift.take());
    }
    (old, new, border)
}

/// Returns the old and the new day of a phrase that contains both: `from Friday to Saturday`, `on January 6 to 8`.
/// After a target word, a range of days in one month is the new time.
fn from_to(finding: &PhraseMatch, (today, is_after_target): (Date, bool)) -> Option<(SlotValue, SlotValue)> {
    match (finding.meaning, finding.values.as_slice()) {
        (PhraseMeaning::DateRange, [first, second]) => Some((first.clone(), second.clone())),
        (PhraseMeaning::DayRange, values) if !is_after_target => {
            day_range(today, values).map(|(first, last)| (SlotValue::Days(first), SlotValue::Days(last)))
        }
        _ => None,
    }
}

/// Returns the index of the word before a new title.
fn border_word(reading: &SentenceParse<'_>) -> Option<usize> {
    let tokens = &reading.reader.tokens;
    let targets = reading.reader.language.words.targets;
    (reading.intent.verb.end..tokens.len()).find(|index| tokens[*index].is_in(targets))
}

fn rule(reading: &SentenceParse<'_>, changed: &ModifyParse) -> Option<String> {
    let mut repeat = RecurrencePhrase::from_matches(&reading.findings)?;
    repeat.fill_weekday(None);
    let start = changed
        .candidates
        .first()
        .and_then(|candidate| candidate.instance)
        .map_or(reading.today(), |(start, _)| start.date());
    repeat.to_rrule(start, &reading.zone).ok()
}

fn find_target_event(
    reading: &SentenceParse<'_>,
    expressions: &TimeExpressions,
    is_strict: bool,
    words: std::ops::Range<usize>,
) -> ModifyParse {
    let named = |with_speaker: bool| {
        let mentions =
            reading.names.mentions.iter().filter(|mention| mention.is_person && !reading.edited.contains(mention));
        let ids =
            mentions.filter(|mention| with_speaker || !mention.is_speaker).flat_map(|mention| mention.ids.clone());
        ids.collect::<Vec<String>>()
    };
    let local_clock = reading.local_clock(None);
    let find_matches = |people: &[String], expressions: &TimeExpressions, is_strict: bool| {
        let clue = EventClue { words: &reading.reader.tokens[words.clone()], people, expressions, is_strict };
        best_matches(&reading.reader, reading.request.snapshot, &local_clock, clue)
    };
    if let Some(event) = &reading.selected_event {
        let candidates = vec![selected_event_match(reading.request.snapshot, &local_clock, event, expressions)];
        return ModifyParse { candidates, is_matched: true, ..ModifyParse::default() };
    }
    let mut candidates = find_matches(&named(true), expressions, is_strict);
    if candidates.is_empty() {
        candidates = find_matches(&named(false), expressions, is_strict);
    }
    if explicit_scope(reading) == Some(SeriesScope::All) {
        // `all` selects the series, so its overrides are not separate candidates.
        let ids: Vec<String> = candidates.iter().map(|candidate| candidate.event.id.clone()).collect();
        candidates.retain(|candidate| {
            candidate.event.recurrence_override.as_ref().is_none_or(|replaced| !ids.contains(&replaced.series))
        });
    }
    let mut changed = ModifyParse { is_matched: candidates.len() == 1, ..ModifyParse::default() };
    if candidates.is_empty() && is_strict {
        candidates = find_matches(&named(false), &TimeExpressions::default(), true);
        let day = expressions.day().0.filter(|_| !candidates.is_empty());
        changed.problems.extend(day.map(|day| format!("{} has no such event.", format_date(day.first))));
    }
    if changed.is_matched
        && let Some(other) = second_event_title(
            &reading.reader,
            reading.request.snapshot,
            &local_clock,
            (&reading.reader.tokens[words.clone()], &candidates[0]),
        )
    {
        changed.ambiguities.push(Ambiguity::new(SpanKind::Event, format!("Do you also mean {other}?")));
    }
    if candidates.len() > 1 {
        let titles: Vec<String> = candidates.iter().map(name).collect();
        changed
            .ambiguities
            .push(Ambiguity::new(SpanKind::Event, format!("Which one do you mean: {}?", titles.join(" or "))));
    }
    changed.candidates = candidates;
    changed
}

fn name(event_match: &EventMatch) -> String {
    let title = &event_match.event.title;
    event_match.instance.map_or_else(
        || title.clone(),
        |(start, _)| format!("{title} on {} at {}", format_date(start.date()), format::format_time(start.time())),
    )
}

fn is_series(event_match: &EventMatch) -> bool {
    event_match.event.recurrence.is_some()
}

/// Time expressions that restrict the instances of a series.
#[derive(Debug, Clone, Copy)]
struct ScopeHints {
    /// A day or a time.
    is_dated: bool,
    /// A start day, such as `from Friday on`.
    is_onward: bool,
    /// Several days or an end, so that only a part of the series is meant.
    is_part: bool,
}

/// Sets the selected instances of a series: as given, or the instance of the given day, or undecided. `all`
/// together with a time may mean the instances in that time, so neither all nor one is selected.
fn resolve_scope(reading: &SentenceParse<'_>, changed: &mut ModifyParse, hints: ScopeHints) {
    let is_moved_one = changed.is_matched && changed.candidates[0].event.recurrence_override.is_some();
    if !(changed.is_matched && (is_moved_one || is_series(&changed.candidates[0]))) {
        return;
    }
    let explicit = explicit_scope(reading);
    changed.is_open = hints.is_part && (explicit == Some(SeriesScope::All) || hints.is_onward);
    changed.scope = match explicit {
        _ if changed.is_open => None,
        _ if hints.is_onward => Some(SeriesScope::Following),
        Some(scope) => Some(scope),
        None if hints.is_dated || is_moved_one => Some(SeriesScope::This),
        None => None,
    };
    if let (None, Some((start, _))) = (changed.scope, changed.candidates[0].instance) {
        let question = format!("Only the one on {}, or all of them?", format_date(start.date()));
        changed.ambiguities.push(Ambiguity::new(SpanKind::Scope, question));
    }
}

/// Formats a value for display.
pub(super) fn display_value(value: &SlotValue) -> Option<String> {
    match value {
        SlotValue::Days(days) => Some(days.first.to_string()),
        SlotValue::Clock(clock) => Some(clock.to_span_value()),
        SlotValue::Length(length) => length.as_minutes().map(|minutes| format!("{minutes} min")),
        SlotValue::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the explicitly selected instances.
fn explicit_scope(reading: &SentenceParse<'_>) -> Option<SeriesScope> {
    let scopes = reading.findings.iter().filter_map(|finding| match finding.meaning {
        PhraseMeaning::Scope(scope) => Some(scope),
        PhraseMeaning::Repeat(_) | PhraseMeaning::RepeatPart(..) => Some(SeriesScope::All),
        _ => None,
    });
    scopes.max()
}
