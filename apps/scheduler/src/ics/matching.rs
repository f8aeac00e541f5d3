//! Compares what a file says with what is on the board: by UID, RECURRENCE-ID and SEQUENCE, then by the last change.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::id::derive;

use super::draft::{Draft, Source};
use super::report::Report;
use super::when::written;
use crate::calendar::{Change, Event, ExceptionOf, Participant, Recurrence, series};
use crate::models::EventStatus;
use crate::zone::Zone;

/// What a file changes, event by event.
pub(super) struct Matching<'a> {
    pub(super) source: Source<'a>,
    pub(super) changes: Vec<Change>,
    pub(super) report: Report,
}

/// What a part of a file is to the board.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Created,
    Updated,
    Unchanged,
    Older(String),
}

/// An instance of a series that the file has something to say about.
struct Placed {
    /// RECURRENCE-ID on the wall of the series.
    start: DateTime,
    draft: Draft,
}

impl Matching<'_> {
    /// Takes all parts of a file that share a UID.
    pub(super) fn take(&mut self, uid: &str, drafts: Vec<Draft>) -> Result<()> {
        let (instances, masters) = drafts.into_iter().partition::<Vec<_>, _>(|draft| draft.instance.is_some());
        let known = self.known(uid).find(|event| event.exception_of.is_none() && !is_loose(event)).cloned();
        match (self.newest(masters), known) {
            (Some(draft), known) if draft.is_cancelled => self.cancel(&draft, known.as_deref(), &instances),
            (Some(draft), known) => {
                let event = self.completed(draft.event.clone(), known.as_deref(), &draft);
                self.series(event, known.as_deref(), Some(&draft), instances)?;
            }
            (None, Some(known)) => self.series((*known).clone(), Some(&known), None, instances)?,
            (None, None) => self.loose(instances)?,
        }
        Ok(())
    }

    fn known(&self, uid: &str) -> impl Iterator<Item = &Arc<Event>> {
        self.source.known.get(uid).into_iter().flatten().copied()
    }

    /// The newest of several versions of the same; the others are skipped.
    fn newest(&mut self, mut versions: Vec<Draft>) -> Option<Draft> {
        versions.sort_by_key(|draft| Reverse((draft.event.sequence, draft.changed_at, Reverse(draft.line))));
        let mut versions = versions.into_iter();
        let newest = versions.next()?;
        for older in versions {
            self.report.skip(older.entry(), format!("line {} has the same, as new or newer", newest.line));
        }
        Some(newest)
    }

    /// The whole event is cancelled.
    fn cancel(&mut self, draft: &Draft, known: Option<&Event>, instances: &[Draft]) {
        for instance in instances {
            self.report.skip(instance.entry(), "its series is cancelled");
        }
        let Some(known) = known else {
            return self.report.skip(draft.entry(), "it is cancelled, and not on the calendar");
        };
        if let Some(reason) = older(known, draft) {
            return self.report.skip(draft.entry(), reason);
        }
        let of_it = |event: &&Arc<Event>| event.exception_of.as_ref().is_some_and(|of| of.series == known.id);
        let exceptions: Vec<String> = self.known(&known.uid).filter(of_it).map(|event| event.id.clone()).collect();
        self.changes.extend(exceptions.into_iter().map(Change::RemoveEvent));
        let (sequence, updated_at) = (draft.event.sequence, draft.event.updated_at);
        let cancelled = Event { status: EventStatus::Rejected, sequence, updated_at, ..known.clone() };
        self.changes.push(Change::Event(Box::new(cancelled)));
        self.report.removed.push(draft.entry());
    }

    /// An event or series, and the instances of it that are different. `draft` is what the file says of it as a whole.
    fn series(
        &mut self,
        mut event: Event,
        known: Option<&Event>,
        draft: Option<&Draft>,
        instances: Vec<Draft>,
    ) -> Result<()> {
        let placed = self.placed(&event, instances)?;
        let starts: Vec<DateTime> = placed.iter().map(|one| one.start).collect();
        let (gone, changed): (Vec<_>, Vec<_>) = placed.into_iter().partition(|one| one.draft.is_cancelled);
        let mut cancelled = Vec::new();
        for one in gone {
            if let Some(reason) = self.stale(known, draft, &one) {
                self.report.skip(one.draft.entry(), reason);
                continue;
            }
            leave_out(&mut event, one.start);
            cancelled.push(one);
        }
        let outcome = outcome(known, &event, draft);
        let is_older = matches!(outcome, Outcome::Older(_));
        for one in &cancelled {
            self.cancelled(&event, known, one, is_older);
        }
        if let (Some(known), Some(_), Outcome::Updated) = (known, draft, &outcome) {
            self.forget(known, &event, &starts)?;
        }
        match draft {
            Some(draft) => self.settle(draft, event.clone(), outcome),
            None if outcome == Outcome::Updated => self.changes.push(Change::Event(Box::new(event.clone()))),
            None => {}
        }
        for one in changed {
            self.changed(&event, one, is_older)?;
        }
        Ok(())
    }

    /// Removes what stood for instances that the newer version of a series does not have, and the file does not name.
    fn forget(&mut self, known: &Event, newer: &Event, named: &[DateTime]) -> Result<()> {
        let zone = Zone::named(&known.zone)?;
        let mut ghosts = Vec::new();
        for exception in self.known(&known.uid) {
            let of = exception.exception_of.as_ref().filter(|of| of.series == known.id && !named.contains(&of.start));
            let Some(of) = of else { continue };
            if !series::has(newer, zone.instant(of.start)?)? {
                ghosts.push(Change::RemoveEvent(exception.id.clone()));
            }
        }
        self.changes.extend(ghosts);
        Ok(())
    }

    /// Why the file must not cancel an instance: what the calendar has in its place is newer.
    fn stale(&self, known: Option<&Event>, draft: Option<&Draft>, one: &Placed) -> Option<String> {
        let known = known?;
        let is_out = known.recurrence.as_ref().is_some_and(|recurrence| recurrence.left_out.contains(&one.start));
        // Where the file has the series as well, the two belong together.
        let whole = Some(known).filter(|_| draft.is_none() && !is_out);
        let standing = self.exception(known, one.start).map(AsRef::as_ref).or(whole)?;
        older(standing, &one.draft)
    }

    /// Each instance by its start on the wall of the series, in its newest version.
    fn placed(&mut self, series: &Event, instances: Vec<Draft>) -> Result<Vec<Placed>> {
        let zone = Zone::named(&series.zone)?;
        let first = zone.wall(series.span.start);
        let mut by_start: BTreeMap<DateTime, Vec<Draft>> = BTreeMap::new();
        for draft in instances {
            let start = draft.instance.as_ref().map_or(Ok(first), |moment| moment.on_wall(&zone, first))?;
            by_start.entry(start).or_default().push(draft);
        }
        let newest =
            by_start.into_iter().filter_map(|(start, drafts)| Some(Placed { start, draft: self.newest(drafts)? }));
        Ok(newest.collect())
    }

    /// An instance that is not; the series already leaves it out.
    fn cancelled(&mut self, series: &Event, known: Option<&Event>, one: &Placed, is_older: bool) {
        let left_out = known.and_then(|known| known.recurrence.as_ref()).map(|recurrence| &recurrence.left_out);
        if is_older {
            return self.report.skip(one.draft.entry(), "its series on the calendar is newer");
        }
        if left_out.is_some_and(|left_out| left_out.contains(&one.start)) {
            self.report.unchanged.push(one.draft.entry());
        } else {
            self.report.removed.push(one.draft.entry());
        }
        let exception = self.exception(series, one.start).map(|event| event.id.clone());
        self.changes.extend(exception.map(Change::RemoveEvent));
    }

    /// An instance that is different.
    fn changed(&mut self, series: &Event, one: Placed, is_older: bool) -> Result<()> {
        let id = instance_id(&series.uid, &Zone::named(&series.zone)?, one.start)?;
        let known = self.exception(series, one.start).or_else(|| self.source.board.events.get(&id)).cloned();
        if is_older && known.is_none() {
            self.report.skip(one.draft.entry(), "its series on the calendar is newer");
            return Ok(());
        }
        let exception_of = Some(ExceptionOf { series: series.id.clone(), start: one.start });
        let event = Event { id, exception_of, ..one.draft.event.clone() };
        let event = self.completed(event, known.as_deref(), &one.draft);
        let outcome = outcome(known.as_deref(), &event, Some(&one.draft));
        self.settle(&one.draft, event, outcome);
        Ok(())
    }

    /// Instances of a series that is neither in the file nor on the board: events of their own.
    fn loose(&mut self, instances: Vec<Draft>) -> Result<()> {
        let mut by_id: BTreeMap<String, Vec<Draft>> = BTreeMap::new();
        for draft in instances {
            let Some(moment) = &draft.instance else { continue };
            by_id.entry(instance_id(&draft.event.uid, &moment.zone, moment.wall)?).or_default().push(draft);
        }
        for (id, drafts) in by_id {
            let Some(draft) = self.newest(drafts) else { continue };
            if draft.is_cancelled {
                self.report.skip(draft.entry(), "it is cancelled, and its series is not on the calendar");
                continue;
            }
            let known = self.source.board.events.get(&id).cloned();
            let mut event = self.completed(Event { id, ..draft.event.clone() }, known.as_deref(), &draft);
            let line = draft.instance.as_ref().map(|at| written("RECURRENCE-ID", at.wall, &at.zone, at.is_day));
            event.extra.extend(line);
            let outcome = outcome(known.as_deref(), &event, Some(&draft));
            self.settle(&draft, event, outcome);
        }
        Ok(())
    }

    fn exception(&self, series: &Event, start: DateTime) -> Option<&Arc<Event>> {
        let is_it = |of: &ExceptionOf| of.series == series.id && of.start == start;
        self.known(&series.uid).find(|event| event.exception_of.as_ref().is_some_and(is_it))
    }

    /// With what the file does not say: as it is known, or as it is for something new.
    fn completed(&self, mut event: Event, known: Option<&Event>, draft: &Draft) -> Event {
        let Some(known) = known else {
            let owner = self.source.board.calendars.get(&event.calendar).and_then(|calendar| calendar.owner.clone());
            if !draft.says.people {
                // What somebody has in their own calendar, they go to.
                event.participants =
                    owner.into_iter().map(|member| Participant { member, is_required: true }).collect();
            }
            return event;
        };
        event.id.clone_from(&known.id);
        event.calendar.clone_from(&known.calendar);
        event.owner.clone_from(&known.owner);
        if !draft.says.creation {
            event.created_at = known.created_at;
        }
        if !draft.says.people {
            event.participants.clone_from(&known.participants);
        }
        if !draft.says.things {
            event.resources.clone_from(&known.resources);
        }
        if !draft.says.flexibility {
            event.flexibility = known.flexibility;
        }
        event
    }

    fn settle(&mut self, draft: &Draft, event: Event, outcome: Outcome) {
        let entries = match outcome {
            Outcome::Older(reason) => return self.report.skip(draft.entry(), reason),
            Outcome::Unchanged => return self.report.unchanged.push(draft.entry()),
            Outcome::Created => &mut self.report.created,
            Outcome::Updated => &mut self.report.updated,
        };
        entries.push(draft.entry());
        self.changes.push(Change::Event(Box::new(event)));
    }
}

/// Whether an event is an instance of a series that is not on the board.
fn is_loose(event: &Event) -> bool {
    event.extra.iter().any(|line| line.starts_with("RECURRENCE-ID"))
}

/// The same for an instance whether its series is known or not.
fn instance_id(uid: &str, zone: &Zone, start: DateTime) -> Result<String> {
    let start = zone.instant(start)?.as_unix_micros().to_le_bytes();
    Ok(format!("ev_{:032x}", derive(&[b"calendar file", uid.as_bytes(), &start])))
}

fn leave_out(event: &mut Event, start: DateTime) {
    let blank = || Recurrence { rule: String::new(), left_out: Vec::new(), added: Vec::new() };
    let left_out = &mut event.recurrence.get_or_insert_with(blank).left_out;
    if !left_out.contains(&start) {
        left_out.push(start);
        left_out.sort_unstable();
    }
}

fn outcome(known: Option<&Event>, event: &Event, draft: Option<&Draft>) -> Outcome {
    let Some(known) = known else { return Outcome::Created };
    if in_order(known) == in_order(event) {
        return Outcome::Unchanged;
    }
    draft.and_then(|draft| older(known, draft)).map_or(Outcome::Updated, Outcome::Older)
}

/// Why the file must not change a known event; nothing when it may.
fn older(known: &Event, draft: &Draft) -> Option<String> {
    if draft.event.sequence < known.sequence {
        return Some(format!("the calendar has SEQUENCE {}, the file {}", known.sequence, draft.event.sequence));
    }
    // Files have no fractions of seconds.
    let is_older = draft.changed_at.is_some_and(|at| {
        at.as_unix_micros().div_euclid(1_000_000) < known.updated_at.as_unix_micros().div_euclid(1_000_000)
    });
    (is_older && draft.event.sequence == known.sequence).then(|| "the calendar was changed after the file".to_owned())
}

/// The event without what says nothing: when it was written down, and the order of things.
fn in_order(event: &Event) -> Event {
    let mut event = event.clone();
    event.created_at = event.span.start;
    event.updated_at = event.span.start;
    event.participants.sort_unstable();
    event.resources.sort_unstable();
    event.extra.sort_unstable();
    if let Some(recurrence) = &mut event.recurrence {
        recurrence.left_out.sort_unstable();
        recurrence.added.sort_unstable();
    }
    event
}
