//! Conflicts among confirmed events, in the next 12 months (R-FAM-94) or in a time that is asked about.
//!
//! A sweep along each person's and each thing's events, so that the cost is that of what is found and not of all pairs; and
//! at most the first thousand are found, so that a calendar on which everything is at once costs no more.
//! What several people see must hide what is private, so titles of private events are "busy".

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep::Result;
use superstep::core::time::Time;

use super::finding::{Found, Key, Telling};
use super::moments::{MINUTES_A_DAY, wider, year_from};
use super::rules::{Book, Case};
use super::seen::Viewer;
use super::taken::{Entry, Taken, is_transparent};
use super::words;
use crate::calendar::{Board, Event, Participant, Priority, Span};
use crate::models::{Conflict, ConflictType, EventStatus, Severity};
use crate::zone::Zone;

/// The most conflicts that are found; nobody looks through more.
pub const MOST_CONFLICTS: usize = 1_000;

/// All conflicts among confirmed events in the 12 months from now, the first first, at most [`MOST_CONFLICTS`]. Their ids are
/// the same whenever they are found.
///
/// # Errors
/// When a rule of repetition or a zone on the board cannot be read.
pub fn all(board: &Board, now: Time) -> Result<Vec<Conflict>> {
    let zone = Zone::named(&board.family.zone)?;
    found(board, year_from(&zone, now)?, Telling::to(board, Viewer::Family)?)
}

/// All conflicts among confirmed events within a time, told to somebody.
pub(super) fn within(board: &Board, time: Span, viewer: Viewer<'_>) -> Result<Vec<Conflict>> {
    found(board, time, Telling { range: "", ..Telling::to(board, viewer)? })
}

fn found(board: &Board, within: Span, telling: Telling<'_>) -> Result<Vec<Conflict>> {
    let is_wanted = |event: &Event| event.status == EventStatus::Confirmed && !is_transparent(event);
    // Rules look at days and weeks around.
    let taken = Taken::new(board, &wider(&within, 8 * MINUTES_A_DAY), is_wanted)?;
    let scan = Scan { board, within, taken, telling };
    let mut found = scan.people();
    found.extend(scan.things());
    found.extend(scan.rules()?);
    found.sort_by(|a, b| (a.0, &a.1.id).cmp(&(b.0, &b.1.id)));
    found.truncate(MOST_CONFLICTS);
    Ok(found.into_iter().map(|(_, conflict)| conflict).collect())
}

struct Scan<'a> {
    board: &'a Board,
    within: Span,
    taken: Taken,
    telling: Telling<'a>,
}

/// Events that meet, again and again.
struct Meeting {
    /// When; several people may meet the same events then.
    times: BTreeSet<Span>,
    severity: Severity,
    members: BTreeSet<String>,
    /// All that meet when they first do, the latest last.
    events: Vec<Arc<Event>>,
}

/// Meetings by the places of two events; places are in the order of ids.
type Meetings = BTreeMap<(usize, usize), Meeting>;

impl Scan<'_> {
    fn people(&self) -> Vec<(Span, Conflict)> {
        let mut meetings = Meetings::new();
        for (member, entries) in self.taken.by_member() {
            self.meet_along(member, entries, &mut meetings);
        }
        let tell = |(pair, meeting): (&(usize, usize), &Meeting)| {
            let members: Vec<&String> = meeting.members.iter().collect();
            let said = format!("{} both need {}", self.titles(meeting), words::names(self.board, &members));
            self.conflict("time_conflict", ConflictType::TimeConflict, pair, (meeting, said))
        };
        meetings.iter().map(tell).collect()
    }

    /// Adds what somebody is to do at once. Entries come in the order of time, so that the first conflicts are found first;
    /// when there are too many of them, the rest of the time is not looked at any more.
    fn meet_along<'e>(&self, member: &str, entries: impl Iterator<Item = &'e Entry>, meetings: &mut Meetings) {
        let mut open: Vec<&Entry> = Vec::new();
        let mut own = BTreeSet::new();
        for entry in entries.filter(|entry| entry.span.meets(&self.within)) {
            open.retain(|other| other.span.end > entry.span.start);
            let is_other = |other: &&&Entry| self.taken.kept(other).whole != self.taken.kept(entry).whole;
            for other in open.iter().filter(is_other) {
                let severity = severity(&self.taken.kept(other).event, &self.taken.kept(entry).event, member);
                let meeting = self.meet(&[other, entry], severity, meetings);
                meeting.members.insert(member.to_owned());
                own.insert((other.event, entry.event));
                if own.len() >= MOST_CONFLICTS {
                    return;
                }
            }
            open.push(entry);
        }
    }

    fn things(&self) -> Vec<(Span, Conflict)> {
        let mut found = Vec::new();
        for (resource, entries) in self.taken.by_resource() {
            let Some(thing) = self.board.resources.get(resource) else { continue };
            let mut crowds = Meetings::new();
            let mut open: Vec<&Entry> = Vec::new();
            for entry in entries.filter(|entry| entry.span.meets(&self.within)) {
                open.retain(|other| other.span.end > entry.span.start);
                open.push(entry);
                if open.len() > thing.capacity as usize {
                    let events = open.iter().map(|entry| &self.taken.kept(entry).event);
                    let is_critical = events.into_iter().any(|event| event.priority == Priority::Critical);
                    let severity = if is_critical { Severity::Critical } else { Severity::High };
                    self.meet(&open, severity, &mut crowds);
                }
                if crowds.len() >= MOST_CONFLICTS {
                    break;
                }
            }
            found.extend(crowds.iter().map(|(pair, crowd)| {
                let said = format!("{} is not enough for {}", words::thing(&thing.name), self.titles(crowd));
                let id = format!("resource_conflict:{resource}");
                self.conflict(&id, ConflictType::ResourceConflict, pair, (crowd, said))
            }));
        }
        found
    }

    /// Adds that events meet; the first and the last who came tell it from other meetings.
    fn meet<'m>(&self, met: &[&Entry], severity: Severity, all: &'m mut Meetings) -> &'m mut Meeting {
        let (first, last) = (met[0], met[met.len() - 1]);
        let pair = (first.event.min(last.event), first.event.max(last.event));
        let meeting = all.entry(pair).or_insert_with(|| Meeting {
            times: BTreeSet::new(),
            severity,
            members: BTreeSet::new(),
            events: met.iter().map(|entry| self.taken.kept(entry).event.clone()).collect(),
        });
        meeting.times.insert(last.span);
        meeting.severity = meeting.severity.max(severity);
        meeting
    }

    fn titles(&self, meeting: &Meeting) -> String {
        words::list(&meeting.events.iter().map(|event| self.telling.title(event)).collect::<Vec<String>>())
    }

    fn conflict(
        &self,
        kind_of_id: &str,
        kind: ConflictType,
        (one, other): &(usize, usize),
        (meeting, said): (&Meeting, String),
    ) -> (Span, Conflict) {
        let first = meeting.times.first().copied().unwrap_or(self.within);
        let latest = meeting.events.last();
        let id = |place: usize| &self.taken.events()[place].event.id;
        let conflict = Conflict {
            id: format!("{kind_of_id}:{}:{}", id(*one), id(*other)),
            kind,
            severity: meeting.severity,
            conflicting_event_id: latest.map(|event| event.id.clone()),
            conflicting_event_title: latest.map(|event| self.telling.viewer.title(self.board, event)),
            participants_affected: meeting.members.iter().cloned().collect(),
            details: format!("{said} {}.", self.telling.when(&first, meeting.times.len())),
        };
        (first, conflict)
    }

    fn rules(&self) -> Result<Vec<(Span, Conflict)>> {
        let mut times: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
        for entry in self.taken.entries() {
            times.entry(entry.event).or_default().push(entry.span);
        }
        // A series and its exceptions, so that for each only those few are looked at.
        let mut wholes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for place in times.keys() {
            wholes.entry(self.taken.events()[*place].whole).or_default().push(*place);
        }
        let mut conflicts = Vec::new();
        for (place, own) in &times {
            let kept = &self.taken.events()[*place];
            let book = Book::new(self.board, &kept.event)?;
            let others = wholes.get(&kept.whole).into_iter().flatten().filter(|other| *other != place);
            let rest: Vec<Span> = others.filter_map(|other| times.get(other)).flatten().copied().collect();
            let mut found = BTreeMap::new();
            for span in own.iter().filter(|span| span.meets(&self.within)) {
                let (board, taken, event) = (self.board, &self.taken, kept.event.as_ref());
                let case = Case { board, taken, event, span: *span, whole: Some(kept.whole), own, rest: &rest };
                self.breaches(&book, &case, &mut found);
            }
            for found in found.into_values() {
                let mut conflict = found.conflict_of(&kept.event, &self.telling);
                conflict.conflicting_event_id = Some(kept.event.id.clone());
                conflict.conflicting_event_title = Some(self.telling.viewer.title(self.board, &kept.event));
                conflicts.push((found.first, conflict));
            }
        }
        Ok(conflicts)
    }

    fn breaches(&self, book: &Book, case: &Case<'_, '_>, all: &mut BTreeMap<Key, Found>) {
        let mut here: BTreeMap<&str, Found> = BTreeMap::new();
        for breach in book.breaches(case) {
            let found = here.entry(&breach.rule.id).or_insert_with(|| Found::of_rule(breach.rule, case.span));
            found.members.extend(breach.member.map(str::to_owned));
        }
        here.into_values().for_each(|found| found.add_to(all));
    }
}

/// How bad it is that somebody is in two places.
fn severity(one: &Event, other: &Event, member: &str) -> Severity {
    let needs = |event: &Event| {
        let is_needed = |participant: &Participant| participant.is_required && participant.member == member;
        event.participants.iter().any(is_needed)
    };
    match [one, other].iter().any(|event| event.priority == Priority::Critical) {
        true => Severity::Critical,
        false if needs(one) && needs(other) => Severity::High,
        false => Severity::Medium,
    }
}
