//! The two parts of a series that is divided, and rules that follow an event that is moved.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::time::Time;

use super::super::event::{Event, Recurrence};
use super::super::recurrence::{Moved, Timetable, check_rule, moved_rule, rule_parts, rule_text};
use super::{Series, raised, refused, written};
use crate::zone::Zone;

impl Series<'_> {
    /// What stays before an instance: the same series with an earlier end.
    pub(super) fn head(&self, start: Time) -> Result<Event> {
        let mut event = Event { updated_at: self.now, ..raised(&self.event) };
        let Some(recurrence) = &self.event.recurrence else { return Ok(event) };
        let ruled = self.table.ruled(self.table.earliest(), start)?.len();
        let mut head = self.side(recurrence, |one| one < start)?;
        if ruled == 0 {
            // Only what was added is before: the first of it is now the first of all.
            let starts = self.table.starts(self.table.earliest(), start)?;
            let first = *starts.first().ok_or_else(|| refused(format!("nothing of `{}` is before", event.title)))?;
            event.span = self.span_at(first)?;
            head.rule = String::new();
        } else if !recurrence.rule.is_empty() {
            head.rule = self.ended(&recurrence.rule, start, ruled)?;
        }
        event.recurrence = Some(head);
        Ok(event)
    }

    /// The rest from an instance on: a series of its own, or the same one when nothing is before it.
    pub(super) fn rest(&self, start: Time) -> Result<Event> {
        let mut event = Event { span: self.span_at(start)?, ..raised(&self.event) };
        if self.has_before(start)? {
            let mark = written(self.table.wall(start));
            event.id = self.free_id(&format!("{}_from_{mark}", self.event.id));
            event.uid = format!("{}_from_{mark}", self.event.uid);
            (event.sequence, event.created_at) = (0, self.now);
        }
        let Some(recurrence) = &self.event.recurrence else { return Ok(event) };
        let mut rest = self.side(recurrence, |one| one >= start)?;
        if !recurrence.rule.is_empty() {
            if !self.table.is_ruled(start)? {
                let why = format!("the rule of `{}` does not fall on {}", event.title, self.table.wall(start));
                return Err(refused(why).help("it was added by itself: change this one or all"));
            }
            let ruled = self.table.ruled(self.table.earliest(), start)?.len();
            rest.rule = self.continued(&recurrence.rule, start, ruled)?;
        }
        if recurrence.rule.is_empty() && start < self.event.span.start {
            // What was first is now among those that come on top.
            rest.added.push(self.table.first());
        }
        rest.added.retain(|wall| *wall != self.table.wall(start));
        event.recurrence = Some(rest);
        Ok(event)
    }

    /// What is left out and added on one side.
    fn side(&self, recurrence: &Recurrence, is_meant: impl Fn(Time) -> bool) -> Result<Recurrence> {
        let pick = |walls: &[DateTime]| -> Result<Vec<DateTime>> {
            let mut picked = Vec::new();
            for wall in walls {
                if is_meant(self.table.instant(*wall)?) {
                    picked.push(*wall);
                }
            }
            Ok(picked)
        };
        let (left_out, added) = (pick(&recurrence.left_out)?, pick(&recurrence.added)?);
        Ok(Recurrence { rule: recurrence.rule.clone(), left_out, added })
    }

    /// The rule with its end just before an instance.
    fn ended(&self, rule: &str, start: Time, ruled: usize) -> Result<String> {
        let mut parts = rule_parts(rule)?;
        if let Some((_, count)) = parts.iter_mut().find(|(name, _)| name == "COUNT") {
            *count = ruled.to_string();
            return Ok(rule_text(&parts));
        }
        parts.retain(|(name, _)| name != "UNTIL");
        // RFC 5545 wants a day for an event of days, and UTC for one with a time.
        let until = if self.event.is_all_day {
            self.table.wall(start).date().saturating_sub(SignedDuration::from_hours(24)).strftime("%Y%m%d").to_string()
        } else {
            let utc = Zone::named("UTC")?.wall(start).saturating_sub(SignedDuration::from_secs(1));
            utc.strftime("%Y%m%dT%H%M%SZ").to_string()
        };
        parts.push(("UNTIL".to_owned(), until));
        Ok(rule_text(&parts))
    }

    /// The rule from an instance on, after it fell so often.
    fn continued(&self, rule: &str, start: Time, ruled: usize) -> Result<String> {
        let mut parts = rule_parts(rule)?;
        for (name, value) in &mut parts {
            if name == "COUNT" {
                let count = value.parse::<usize>().unwrap_or(0).saturating_sub(ruled);
                *value = count.to_string();
            }
        }
        // Where clocks skip the time of the rule, the instance is later, but the ones after it are not.
        let (wall, rule_wall) = (self.table.wall(start), self.table.rule_wall(start)?);
        if wall != rule_wall && !self.event.is_all_day {
            let time =
                [("BYHOUR", rule_wall.hour()), ("BYMINUTE", rule_wall.minute()), ("BYSECOND", rule_wall.second())];
            for (name, value) in time {
                if !parts.iter().any(|(one, _)| one == name) {
                    parts.push((name.to_owned(), value.to_string()));
                }
            }
        }
        Ok(rule_text(&parts))
    }
}

/// Makes the rule of an edited series fit to where it is now.
///
/// # Errors
/// When the rule is wrong, or does not fall where the event was moved.
pub(super) fn fit(before: &Event, after: &mut Event, shift: SignedDuration) -> Result<()> {
    let (zone, old) = (Zone::named(&after.zone)?, before.recurrence.as_ref());
    let Some(mut recurrence) = after.recurrence.clone() else { return Ok(()) };
    if !shift.is_zero() && old.is_some_and(|old| old.left_out == recurrence.left_out) {
        recurrence.left_out.iter_mut().for_each(|wall| *wall = wall.saturating_add(shift));
    }
    if !shift.is_zero() && old.is_some_and(|old| old.added == recurrence.added) {
        recurrence.added.iter_mut().for_each(|wall| *wall = wall.saturating_add(shift));
    }
    let is_same_rule = old.is_some_and(|old| old.rule == recurrence.rule);
    if recurrence.rule.is_empty() || (is_same_rule && shift.is_zero()) {
        after.recurrence = Some(recurrence);
        return Ok(());
    }
    let first = Timetable::read(&Event { recurrence: None, ..after.clone() })?.first();
    if is_same_rule {
        let days = first.date().duration_since(first.saturating_sub(shift).date()).as_hours() / 24;
        let moved = Moved { by: shift, days, from: &Zone::named(&before.zone)?, to: &zone };
        recurrence.rule = moved_rule(&recurrence.rule, &moved)?;
    }
    let checked = check_rule(&recurrence.rule, first, &zone)?;
    recurrence.rule = checked.rule;
    after.recurrence = Some(recurrence);
    if checked.first == first {
        return Ok(());
    }
    if is_same_rule {
        let why = format!("the rule of `{}` does not fall on {first}", after.title);
        return Err(refused(why).help("change the rule as well"));
    }
    // Another rule that falls later first: the series starts there.
    let table = Timetable::read(after)?;
    let span = table.span_at(table.instant(checked.first)?)?;
    after.span = span.unwrap_or(after.span);
    Ok(())
}
