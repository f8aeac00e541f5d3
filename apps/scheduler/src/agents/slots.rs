//! Times that would do for an event (R-FAM-104).
//!
//! A time that was given comes first, whatever stands in its way: the user insists on it, and conflict detection will
//! say so. A time on the grid is offered only when everybody who is required, all things and all hard rules allow it; of
//! a series, at all its times within 12 months.

use std::sync::Arc;

use jiff::civil::Date;
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use super::look::{Look, shifted};
use super::moments::{between, common, midnight, written, year_from};
use super::rules::words_of;
use super::windows::{cells, needed, shared_days};
use crate::calendar::{Board, Event, Span, Strength};
use crate::models::{SchedulingData, Score, TimeSlot};
use crate::zone::Zone;

/// What a time is wanted for.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The event as it would be: who takes part and must, what it uses, how it repeats. Its span does not count.
    pub event: Event,
    /// The time that the user gave.
    pub given: Option<Span>,
    /// How long it is to be, where no time is given.
    pub minutes: u32,
    /// Where to look; without it, 14 days from the given time or from now.
    pub range: Option<Span>,
}

/// How many days are looked at, today among them.
const DAYS: i64 = 14;
/// The most times that are offered.
const MOST: usize = 5;
/// A gap of less than this is of no use to anybody.
const SMALL_GAP_MINUTES: i64 = 30;

/// The times that would do, the best first, at most five.
///
/// A given time is the first and recommended; alternatives follow if it is not free, and its score is then 0.
///
/// # Errors
/// When the length is 0, or a rule of repetition or a zone cannot be read.
pub fn find(board: &Board, wanted: &Wanted, now: Time) -> Result<SchedulingData> {
    let minutes = wanted.given.map_or(i64::from(wanted.minutes), |given| given.minutes());
    if minutes <= 0 {
        return Err(Error::new(Code::TypeMismatch, "an event of 0 minutes has no time"));
    }
    let family = Zone::named(&board.family.zone)?;
    let range = range(&family, wanted, now)?;
    let horizon = horizon(&family, wanted, range)?;
    let search = Search {
        board,
        event: &wanted.event,
        look: Look::new(board, &wanted.event, &horizon)?,
        zone: Zone::named(&wanted.event.zone)?,
        family,
        horizon,
    };
    let mut slots = Vec::new();
    let mut is_enough = false;
    if let Some(given) = &wanted.given {
        let spans = search.spans_at(given)?.unwrap_or_else(|| vec![*given]);
        is_enough = search.look.is_free(&spans);
        let lost = if is_enough { search.lost(&spans) } else { 100 };
        slots.push(search.slot(&spans, lost)?);
    }
    if let Some(range) = range.filter(|_| !is_enough) {
        let others = search.on_grid(&range, minutes)?;
        for other in others.iter().take(MOST - slots.len()) {
            slots.push(search.slot(&other.spans, other.lost)?);
        }
    }
    Ok(SchedulingData { recommended_time: slots.first().map(|slot| slot.start_time), candidate_times: slots })
}

/// Where to look: never before now, never for more than a year.
fn range(family: &Zone, wanted: &Wanted, now: Time) -> Result<Option<Span>> {
    if let Some(range) = wanted.range {
        return Ok(common(&range, &year_from(family, now.max(range.start))?));
    }
    let start = match wanted.given {
        Some(given) => midnight(family, given.start, 0)?.max(now),
        None => now,
    };
    Ok(Span::new(start, midnight(family, start, DAYS)?))
}

fn horizon(family: &Zone, wanted: &Wanted, range: Option<Span>) -> Result<Span> {
    let spans = || range.iter().chain(&wanted.given);
    let start = spans().map(|span| span.start).min().unwrap_or(wanted.event.span.start);
    let end = spans().map(|span| span.end).max().unwrap_or(wanted.event.span.end);
    if wanted.event.recurrence.is_none() {
        return Ok(Span { start, end });
    }
    // A series may start at the end of the range, and is looked at for a year from there.
    Ok(Span { start, end: year_from(family, end)?.end })
}

struct Search<'a> {
    board: &'a Board,
    event: &'a Event,
    look: Look<'a>,
    zone: Zone,
    family: Zone,
    horizon: Span,
}

/// A time that would do: all times of the event, and what it loses of the score in hundredths.
struct Candidate {
    spans: Vec<Span>,
    lost: i64,
}

impl Search<'_> {
    /// The best free times of the grid, the best first.
    fn on_grid(&self, range: &Span, minutes: i64) -> Result<Vec<Candidate>> {
        let windows = shared_days(self.board, &needed(self.event), range)?;
        let mut at_day: Option<(Date, Option<Vec<Span>>)> = None;
        let mut first_day: Option<Date> = None;
        let mut best: Vec<Candidate> = Vec::new();
        for cell in cells(&windows, minutes) {
            let day = self.family.wall(cell.start).date();
            let days_later = first_day.map_or(0, |first| i64::from((day - first).get_days()));
            // What comes later can be as good at most, and the earlier one wins.
            if best.get(MOST - 1).is_some_and(|last| last.lost <= 5 * days_later) {
                break;
            }
            // Within a day all times of a series move alike, so they are computed once a day.
            if at_day.as_ref().is_none_or(|(of, _)| *of != day) {
                at_day = Some((day, self.spans_at(&cell)?));
            }
            let Some((_, Some(at_day))) = &at_day else { continue };
            let spans = shifted(at_day, between(at_day[0].start, cell.start), between(cell.start, cell.end));
            if self.look.is_free(&spans) {
                first_day.get_or_insert(day);
                let lost = (self.lost(&spans) + 5 * days_later).min(100);
                let place = best.partition_point(|other| other.lost <= lost);
                best.insert(place, Candidate { spans, lost });
            }
        }
        Ok(best)
    }

    /// All times of the event, were the first one then; none when its rule does not start on that day.
    fn spans_at(&self, span: &Span) -> Result<Option<Vec<Span>>> {
        if self.event.recurrence.is_none() {
            return Ok(Some(vec![*span]));
        }
        let event = Arc::new(Event { span: *span, ..self.event.clone() });
        let year = year_from(&self.zone, span.start)?;
        let within = common(&year, &self.horizon).unwrap_or(year);
        let spans: Vec<Span> = self.board.instances_of(&event, &within)?.iter().map(|one| one.span).collect();
        Ok(Some(spans).filter(|spans| spans.first().is_some_and(|first| first.start == span.start)))
    }

    /// What these times lose of the score for soft rules, people and gaps, in hundredths.
    fn lost(&self, spans: &[Span]) -> i64 {
        let mut rules: Vec<(&str, u8)> = Vec::new();
        for breach in self.look.breaches(spans) {
            if let Strength::Soft(weight) = breach.rule.strength {
                rules.push((&breach.rule.id, weight));
            }
        }
        rules.dedup();
        let weights: i64 = rules.iter().map(|(_, weight)| i64::from(*weight)).sum();
        let missing = self.look.missing(spans).iter().filter(|participant| !participant.is_required).count();
        let gap = if self.look.leaves_gap(&spans[0], SMALL_GAP_MINUTES) { 10 } else { 0 };
        3 * weights + 20 * i64::try_from(missing).unwrap_or(0) + gap
    }

    fn slot(&self, spans: &[Span], lost: i64) -> Result<TimeSlot> {
        let first = written(&self.zone, &spans[0])?;
        let missing = self.look.missing(spans);
        let has_time = |id: &&String| !missing.iter().any(|participant| participant.member == **id);
        let members = self.event.participants.iter().map(|participant| &participant.member);
        let soft = self.look.breaches(spans).into_iter().map(|breach| breach.rule);
        let mut violations: Vec<String> =
            soft.filter(|rule| rule.strength != Strength::Hard).map(|rule| words_of(self.board, rule)).collect();
        violations.dedup();
        Ok(TimeSlot {
            start_time: first.start,
            end_time: first.end,
            score: Score::near(f64::from(100 - u8::try_from(lost.clamp(0, 100)).unwrap_or(100)) / 100.0),
            available_participants: members.filter(has_time).cloned().collect(),
            constraint_violations: violations,
        })
    }
}
