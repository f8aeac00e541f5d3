//! Computes the time of an event after a change: another time, another day, longer or shorter.

use jiff::civil::{Date, DateTime};

use super::clock_time::{ClockTime, DayHalfHint, at, resolve_range};
use super::dates::{DateForm, DateRange, in_week, nth_around};
use super::durations::SpokenDuration;
use super::modify::ModifyParse;
use super::phrase_meaning::{PhraseMeaning, VerbModifier};
use super::resolve_time::LocalClock;
use super::time_expressions::{ClockExpression, TimeExpressions};
use super::{Ambiguity, SentenceParse, SpanKind};
use crate::agents::format::format_date;

/// Returns the local time range of an instance after the change.
pub(super) fn rescheduled(
    reading: &SentenceParse<'_>,
    new: &TimeExpressions,
    (start, end): (DateTime, DateTime),
    changed: &mut ModifyParse,
) -> Option<(DateTime, DateTime)> {
    let modifier = reading.intent.modifier;
    let length = |from: DateTime, to: DateTime| SpokenDuration {
        minutes: minutes_between(from, to),
        ..SpokenDuration::default()
    };
    // An all-day event that gets a time of day also gets the default duration.
    let becomes_timed = changed.candidates[0].event.is_all_day && new.time.is_some();
    let default = SpokenDuration { minutes: reading.preferences.default_minutes.into(), ..SpokenDuration::default() };
    let current = if becomes_timed { default } else { length(start, end) };
    if let Some(shift) = new.shift {
        changed.length =
            current.as_minutes().filter(|_| !matches!(modifier, VerbModifier::Longer | VerbModifier::Shorter));
        return Some(shifted(modifier, shift, (start, end)));
    }
    let (day, question) = new.day();
    let day = day.map(|days| after_old_day(reading, days, start));
    changed.is_open |= question.is_some() || new.is_open;
    let question = question.or_else(|| which_week(reading, day.as_ref()?, start));
    let question = question.or_else(|| new.questions.last().filter(|_| new.is_open).cloned());
    changed.ambiguities.extend(question.map(|text| Ambiguity::new(SpanKind::Date, text)));
    let day = match day {
        Some(days) if !days.is_single() => {
            changed.time_window = Some((at(days.first, 0), at(days.end, 0)));
            choose_day(reading, TimeExpressions { length: new.length.or(Some(current)), ..new.clone() }, changed);
            return None;
        }
        day => day.map_or(start.date(), |days| days.first),
    };
    if let (None, Some((from, to))) = (new.time, new.part) {
        changed.time_window = Some((at(day, i32::from(from) * 60), at(day, i32::from(to) * 60)));
        return None;
    }
    let duration = new.length.filter(|duration| duration.as_minutes().is_some()).unwrap_or(current);
    changed.length = duration
        .as_minutes()
        .filter(|_| !matches!(new.time, Some(ClockExpression::Until(_) | ClockExpression::Range(..))));
    let local_clock = reading.local_clock(new.hint());
    let resolved_at = |clock: ClockTime| at(day, resolve_minute(&local_clock, clock, start));
    match new.time {
        Some(ClockExpression::Until(clock)) => Some((day.to_datetime(start.time()), resolved_at(clock))),
        Some(ClockExpression::Range(_, to)) if is_old_time(reading, new, start) => {
            Some((resolved_at(to), duration.add_to(resolved_at(to), true)))
        }
        Some(ClockExpression::Range(from, to)) => {
            // An empty range is rejected like an end before the start.
            let range = resolve_range(from, to, local_clock.hint, local_clock.preferences);
            Some(range.map_or((start, start), |(from, to)| (at(day, from.minute), at(day, to.minute))))
        }
        Some(ClockExpression::At(clock) | ClockExpression::After(clock) | ClockExpression::Before(clock)) => {
            Some((resolved_at(clock), duration.add_to(resolved_at(clock), true)))
        }
        None => {
            let start = day.to_datetime(start.time());
            Some((start, duration.add_to(start, true)))
        }
    }
}

/// Shifts, extends or shortens a time range.
fn shifted(
    modifier: VerbModifier,
    (by, direction): (SpokenDuration, Option<bool>),
    (start, end): (DateTime, DateTime),
) -> (DateTime, DateTime) {
    let is_later = direction.unwrap_or(modifier != VerbModifier::Earlier);
    match modifier {
        VerbModifier::Longer => (start, by.add_to(end, true)),
        VerbModifier::Shorter => (start, by.add_to(end, false)),
        _ => (by.add_to(start, is_later), by.add_to(end, is_later)),
    }
}

/// Keeps a time that was given with several days, and asks for the day.
fn choose_day(reading: &SentenceParse<'_>, new: TimeExpressions, changed: &mut ModifyParse) {
    if new.time.is_none() && new.part.is_none() {
        return;
    }
    let mut when = reading.local_clock(new.hint()).create(&new, None);
    changed.time_window = when.span;
    changed.time_options = when.time_options;
    changed.is_open = true;
    // The last ambiguity is about the day; the others were already added.
    changed.ambiguities.extend(when.questions.pop().map(|text| Ambiguity::new(SpanKind::Time, text)));
    changed.problems.extend(when.problems);
}

/// Resolves `from Friday to Saturday` to the Saturday after that Friday.
fn after_old_day(reading: &SentenceParse<'_>, days: DateRange, start: DateTime) -> DateRange {
    let is_range = reading.findings.iter().any(|finding| finding.meaning == PhraseMeaning::DateRange);
    if is_range && days.form == DateForm::Weekday {
        DateRange::single(in_week(start.date(), days.first.weekday()), DateForm::Day)
    } else {
        days
    }
}

/// Resolves a day number such as `the 8th` relative to the month of the event: the same month, or the next one if that
/// day is over. If another date is nearer to the event, the user is asked.
pub(super) fn resolve_day_of_month(
    new: &TimeExpressions,
    start: DateTime,
    today: Date,
    changed: &mut ModifyParse,
) -> TimeExpressions {
    let mut new = new.clone();
    if new.days.iter().any(|days| !days.is_single()) {
        return new;
    }
    for days in new.days.iter_mut().filter(|days| days.form == DateForm::Nth) {
        let dates = nth_around(days.first.day(), start.date(), today);
        let nearest = dates.iter().min_by_key(|date| (start.date() - **date).get_days().abs());
        let (Some(first), Some(nearest)) = (dates.first(), nearest) else { continue };
        *days = DateRange::single(*first, DateForm::Nth);
        if first != nearest {
            let question = format!("Is it {}, or {}?", format_date(*first), format_date(*nearest));
            changed.ambiguities.push(Ambiguity::new(SpanKind::Date, question));
            changed.is_open = true;
        }
    }
    new
}

/// Returns the question for an ambiguous weekday. A weekday means the next one, but for an event in a later week,
/// the weekday of that week is equally likely.
fn which_week(reading: &SentenceParse<'_>, days: &DateRange, start: DateTime) -> Option<String> {
    let today = reading.local_clock(None).today_or_later(days, None);
    let other = in_week(start.date(), days.first.weekday());
    let is_later = days.form == DateForm::Weekday && other > days.first;
    today.or_else(|| is_later.then(|| format!("Is it {}, or {}?", format_date(days.first), format_date(other))))
}

/// Resolves a time of day to minutes. If ambiguous, the event stays in its half of the day.
fn resolve_minute(local_clock: &LocalClock<'_>, clock: ClockTime, start: DateTime) -> i32 {
    let resolved = clock.resolve(local_clock.hint, local_clock.preferences);
    let hint = if start.hour() < 12 { DayHalfHint::Morning } else { DayHalfHint::Later };
    if resolved.is_ambiguous { clock.resolve(Some(hint), local_clock.preferences).minute } else { resolved.minute }
}

/// Returns true if a range contains the old time: `Move soccer from 2 to 4`.
fn is_old_time(reading: &SentenceParse<'_>, new: &TimeExpressions, start: DateTime) -> bool {
    let Some(ClockExpression::Range(from, _)) = new.time else { return false };
    let minute = i32::from(start.hour()) * 60 + i32::from(start.minute());
    from.resolve(None, reading.preferences).minute == minute
}

fn minutes_between(from: DateTime, to: DateTime) -> i64 {
    from.until((jiff::Unit::Minute, to)).map_or(60, |span| span.get_minutes())
}
