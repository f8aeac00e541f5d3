//! Splits a series into two parts, and adapts recurrence rules to a moved event.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::time::Time;

use super::super::event::{Event, Recurrence};
use super::super::recurrence::{RecurrenceExpander, SeriesShift, moved_rule, rule_parts, rule_text, validate_rrule};
use super::{SeriesView, format_local_start, input_error, with_next_sequence};
use crate::time_zone::NamedTimeZone;

impl SeriesView<'_> {
    /// Returns the part before an instance: the same series with an earlier end.
    pub(super) fn head(&self, start: Time) -> Result<Event> {
        let mut event = Event { updated_at: self.now, ..with_next_sequence(&self.event) };
        let Some(recurrence) = &self.event.recurrence else { return Ok(event) };
        let rule_starts = self.expander.rule_occurrences(self.expander.earliest(), start)?.len();
        let mut head = self.select_dates(recurrence, |start_time| start_time < start)?;
        if rule_starts == 0 {
            // Only RDATE instances are before: the first of them becomes the start of the series.
            let starts = self.expander.starts(self.expander.earliest(), start)?;
            let first =
                *starts.first().ok_or_else(|| input_error(format!("`{}` has no earlier instance", event.title)))?;
            event.span = self.span_at(first)?;
            head.rule = String::new();
        } else if !recurrence.rule.is_empty() {
            head.rule = self.end_rule_before(&recurrence.rule, start, rule_starts)?;
        }
        event.recurrence = Some(head);
        Ok(event)
    }

    /// Returns the part from an instance on: a new series, or the same one if nothing is before the instance.
    pub(super) fn tail(&self, start: Time) -> Result<Event> {
        let mut event = Event { span: self.span_at(start)?, ..with_next_sequence(&self.event) };
        if self.has_before(start)? {
            let suffix = format_local_start(self.expander.local_start(start));
            event.id = self.free_id(&format!("{}_from_{suffix}", self.event.id));
            event.uid = format!("{}_from_{suffix}", self.event.uid);
            (event.sequence, event.created_at) = (0, self.now);
        }
        let Some(recurrence) = &self.event.recurrence else { return Ok(event) };
        let mut rest = self.select_dates(recurrence, |start_time| start_time >= start)?;
        if !recurrence.rule.is_empty() {
            if !self.expander.matches_rule(start)? {
                let reason =
                    format!("the rule of `{}` has no occurrence on {}", event.title, self.expander.local_start(start));
                return Err(
                    input_error(reason).with_help("this instance is an extra date: change only this instance, or all")
                );
            }
            let rule_starts = self.expander.rule_occurrences(self.expander.earliest(), start)?.len();
            rest.rule = self.continue_rule_from(&recurrence.rule, start, rule_starts)?;
        }
        if recurrence.rule.is_empty() && start < self.event.span.start {
            // The former first start becomes an RDATE.
            rest.rdates.push(self.expander.first());
        }
        rest.rdates.retain(|local_time| *local_time != self.expander.local_start(start));
        event.recurrence = Some(rest);
        Ok(event)
    }

    /// Selects EXDATE and RDATE of one part.
    fn select_dates(&self, recurrence: &Recurrence, is_selected: impl Fn(Time) -> bool) -> Result<Recurrence> {
        let pick = |local_times: &[DateTime]| -> Result<Vec<DateTime>> {
            let mut picked = Vec::new();
            for local_time in local_times {
                if is_selected(self.expander.instant(*local_time)?) {
                    picked.push(*local_time);
                }
            }
            Ok(picked)
        };
        let (exdates, rdates) = (pick(&recurrence.exdates)?, pick(&recurrence.rdates)?);
        Ok(Recurrence { rule: recurrence.rule.clone(), exdates, rdates })
    }

    /// Returns the rule with its end just before an instance.
    fn end_rule_before(&self, rule: &str, start: Time, rule_starts: usize) -> Result<String> {
        let mut parts = rule_parts(rule)?;
        if let Some((_, count)) = parts.iter_mut().find(|(name, _)| name == "COUNT") {
            *count = rule_starts.to_string();
            return Ok(rule_text(&parts));
        }
        parts.retain(|(name, _)| name != "UNTIL");
        // RFC 5545 requires a date for all-day events and UTC for timed ones.
        let until = if self.event.is_all_day {
            self.expander
                .local_start(start)
                .date()
                .saturating_sub(SignedDuration::from_hours(24))
                .strftime("%Y%m%d")
                .to_string()
        } else {
            let utc =
                NamedTimeZone::from_iana_name("UTC")?.to_local(start).saturating_sub(SignedDuration::from_secs(1));
            utc.strftime("%Y%m%dT%H%M%SZ").to_string()
        };
        parts.push(("UNTIL".to_owned(), until));
        Ok(rule_text(&parts))
    }

    /// Returns the rule from an instance on, after `rule_starts` earlier instances.
    fn continue_rule_from(&self, rule: &str, start: Time, rule_starts: usize) -> Result<String> {
        let mut parts = rule_parts(rule)?;
        for (name, value) in &mut parts {
            if name == "COUNT" {
                let count = value.parse::<usize>().unwrap_or(0).saturating_sub(rule_starts);
                *value = count.to_string();
            }
        }
        // If a clock change skips the time of the rule, this instance is later, but the following ones are not.
        let (local_time, rule_time) = (self.expander.local_start(start), self.expander.rule_local_time(start)?);
        if local_time != rule_time && !self.event.is_all_day {
            let time =
                [("BYHOUR", rule_time.hour()), ("BYMINUTE", rule_time.minute()), ("BYSECOND", rule_time.second())];
            for (name, value) in time {
                if !parts.iter().any(|(one, _)| one == name) {
                    parts.push((name.to_owned(), value.to_string()));
                }
            }
        }
        Ok(rule_text(&parts))
    }
}

/// Adapts the rule of an edited series to its new start.
///
/// # Errors
/// Returns an error if the rule is invalid or does not match the new start.
pub(super) fn adjust_rule(before: &Event, after: &mut Event, shift: SignedDuration) -> Result<()> {
    let (zone, old) = (NamedTimeZone::from_iana_name(&after.zone)?, before.recurrence.as_ref());
    let Some(mut recurrence) = after.recurrence.clone() else { return Ok(()) };
    if !shift.is_zero() && old.is_some_and(|old| old.exdates == recurrence.exdates) {
        recurrence.exdates.iter_mut().for_each(|local_time| *local_time = local_time.saturating_add(shift));
    }
    if !shift.is_zero() && old.is_some_and(|old| old.rdates == recurrence.rdates) {
        recurrence.rdates.iter_mut().for_each(|local_time| *local_time = local_time.saturating_add(shift));
    }
    let is_same_rule = old.is_some_and(|old| old.rule == recurrence.rule);
    if recurrence.rule.is_empty() || (is_same_rule && shift.is_zero()) {
        after.recurrence = Some(recurrence);
        return Ok(());
    }
    let first = RecurrenceExpander::from_event(&Event { recurrence: None, ..after.clone() })?.first();
    if is_same_rule {
        let days = first.date().duration_since(first.saturating_sub(shift).date()).as_hours() / 24;
        let moved = SeriesShift { by: shift, days, from: &NamedTimeZone::from_iana_name(&before.zone)?, to: &zone };
        recurrence.rule = moved_rule(&recurrence.rule, &moved)?;
    }
    let checked = validate_rrule(&recurrence.rule, first, &zone)?;
    recurrence.rule = checked.rule;
    after.recurrence = Some(recurrence);
    if checked.first == first {
        return Ok(());
    }
    if is_same_rule {
        let reason = format!("the rule of `{}` has no occurrence on {first}", after.title);
        return Err(input_error(reason).with_help("change the rule as well"));
    }
    // A new rule may match later than the event: the series then starts at the first match.
    let expander = RecurrenceExpander::from_event(after)?;
    let span = expander.span_at(expander.instant(checked.first)?)?;
    after.span = span.unwrap_or(after.span);
    Ok(())
}
