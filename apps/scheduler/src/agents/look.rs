//! One event against everything else, at the times it has or at others.
//!
//! Made once for an event, then asked about many times: whether it is free then, who is missing, what stands in the way.

use std::collections::{BTreeMap, BTreeSet};

use superstep::Result;

use super::capacity::fullest;
use super::finding::{Found, Key};
use super::moments::{after, between, wider};
use super::rules::{Book, Breach, Case};
use super::taken::{Entry, Taken, is_transparent, whole_of};
use crate::calendar::{Board, Change, Event, Participant, Priority, Span};
use crate::models::{EventStatus, Severity};

/// One event against everything else.
#[derive(Debug)]
pub(super) struct Look<'a> {
    board: &'a Board,
    event: &'a Event,
    taken: Taken,
    book: Book,
    whole: Option<usize>,
    spans: Vec<Span>,
    rest: Vec<Span>,
}

impl<'a> Look<'a> {
    /// Takes what meets a stretch of time, and what rules want to know around it. The event need not be on the board.
    pub(super) fn new(board: &'a Board, event: &'a Event, horizon: &Span) -> Result<Self> {
        let mut draft = event.clone();
        if draft.status == EventStatus::Rejected {
            // It would leave the board, and is to be looked at as if it were on it.
            draft.status = EventStatus::Proposed;
        }
        let mut copy = board.clone();
        copy.apply(Change::Event(Box::new(draft)));
        let book = Book::new(board, event)?;
        let own = whole_of(event);
        let related = |other: &Event| whole_of(other) == own || (!is_transparent(other) && have_common(event, other));
        let taken = Taken::new(&copy, &wider(horizon, book.reach()), related)?;
        let whole = taken.whole(&event.id);
        let (mut spans, mut rest) = (Vec::new(), Vec::new());
        for entry in taken.entries().iter().filter(|entry| Some(taken.kept(entry).whole) == whole) {
            if taken.kept(entry).event.id != event.id {
                rest.push(entry.span);
            } else if entry.span.meets(horizon) {
                spans.push(entry.span);
            }
        }
        Ok(Self { board, event, taken, book, whole, spans, rest })
    }

    /// The times the event has within the stretch that was looked at.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The times it would have, were the first one at another time of the day.
    ///
    /// All move by the same length. Where clocks are changed between the old and the new time of a day the wall differs
    /// by an hour on that day; that is in the night, and what is chosen is checked again on a copy of the board.
    pub(super) fn moved(&self, to: &Span) -> Vec<Span> {
        if self.event.recurrence.is_none() {
            return vec![*to];
        }
        shifted(&self.spans, between(self.event.span.start, to.start), between(to.start, to.end))
    }

    /// Whether nobody who is required, no thing and no hard rule is in the way.
    pub(super) fn is_free(&self, spans: &[Span]) -> bool {
        let is_free_at = |span: &Span| {
            let mut required = self.event.participants.iter().filter(|participant| participant.is_required);
            !required.any(|participant| self.is_busy(participant, span))
                && self.event.resources.iter().all(|resource| self.users_when_full(resource, span).is_none())
        };
        spans.iter().all(|span| is_free_at(span) && !self.book.forbids(&self.case(span, spans)))
    }

    /// Who takes part and has something else at one of these times.
    pub(super) fn missing(&self, spans: &[Span]) -> Vec<&'a Participant> {
        let is_missing = |participant: &&Participant| spans.iter().any(|span| self.is_busy(participant, span));
        self.event.participants.iter().filter(is_missing).collect()
    }

    /// Whether somebody would have a gap of less than so many minutes before or after, and not none.
    pub(super) fn leaves_gap(&self, span: &Span, minutes: i64) -> bool {
        let around = wider(span, minutes);
        let is_gap = |other: &Span| !other.meets(span) && other.end != span.start && other.start != span.end;
        self.event.participants.iter().any(|participant| {
            let mut others = self.others(self.taken.of_member(&participant.member, around));
            others.any(|entry| is_gap(&entry.span))
        })
    }

    /// The rules that it would break at these times; each once for each person.
    pub(super) fn breaches(&self, spans: &[Span]) -> Vec<Breach<'_>> {
        let mut once = BTreeMap::new();
        for span in spans {
            for breach in self.breaches_at(span, spans) {
                once.entry((breach.rule.id.as_str(), breach.member)).or_insert(breach);
            }
        }
        once.into_values().collect()
    }

    /// Everything that stands in the way at these times; the same thing at several of them once, with a count.
    pub(super) fn found(&self, spans: &[Span]) -> Vec<Found> {
        let mut all = BTreeMap::new();
        if !is_transparent(self.event) {
            for span in spans {
                self.find_people(span, &mut all);
                self.find_things(span, &mut all);
            }
        }
        for span in spans {
            self.find_rules(span, spans, &mut all);
        }
        let mut found: Vec<Found> = all.into_values().collect();
        found.sort_by(|a, b| (b.severity, a.first, &a.key).cmp(&(a.severity, b.first, &b.key)));
        found
    }

    fn find_people(&self, span: &Span, all: &mut BTreeMap<Key, Found>) {
        let mut met: BTreeMap<usize, (BTreeSet<Span>, Severity, BTreeSet<String>)> = BTreeMap::new();
        for participant in &self.event.participants {
            let severity = if participant.is_required { Severity::High } else { Severity::Medium };
            for entry in self.others(self.taken.of_member(&participant.member, *span)) {
                let met = met.entry(entry.event).or_insert((BTreeSet::new(), severity, BTreeSet::new()));
                met.0.insert(entry.span);
                met.1 = met.1.max(severity);
                met.2.insert(participant.member.clone());
            }
        }
        for (place, (times, severity, members)) in met {
            let other = self.taken.events()[place].event.clone();
            let severity = if other.priority == Priority::Critical { Severity::Critical } else { severity };
            let found = Found {
                severity,
                at: times.first().copied().unwrap_or(*span),
                met: times.into_iter().map(|time| (other.id.clone(), time)).collect(),
                members,
                others: vec![other.clone()],
                ..Found::new(Key::Time(other.id.clone()), *span)
            };
            found.add_to(all);
        }
    }

    fn find_things(&self, span: &Span, all: &mut BTreeMap<Key, Found>) {
        let resources: BTreeSet<&String> = self.event.resources.iter().collect();
        for resource in resources {
            let Some(users) = self.users_when_full(resource, span) else { continue };
            let events: Vec<_> = users.iter().map(|entry| self.taken.kept(entry).event.clone()).collect();
            let is_critical = events.iter().any(|event| event.priority == Priority::Critical);
            let severity = if is_critical { Severity::Critical } else { Severity::High };
            let at = users.first().map_or(*span, |entry| entry.span);
            let met = users.iter().map(|entry| (self.taken.kept(entry).event.id.clone(), entry.span)).collect();
            let key = Key::Resource(resource.clone());
            let found = Found { severity, at, others: events, met, ..Found::new(key, *span) };
            found.add_to(all);
        }
    }

    fn find_rules(&self, span: &Span, spans: &[Span], all: &mut BTreeMap<Key, Found>) {
        let mut by_rule: BTreeMap<&str, Found> = BTreeMap::new();
        for breach in self.breaches_at(span, spans) {
            let found = by_rule.entry(&breach.rule.id).or_insert_with(|| Found::of_rule(breach.rule, *span));
            found.members.extend(breach.member.map(str::to_owned));
        }
        for found in by_rule.into_values() {
            found.add_to(all);
        }
    }

    fn breaches_at(&self, span: &Span, own: &[Span]) -> Vec<Breach<'_>> {
        self.book.breaches(&self.case(span, own))
    }

    fn case<'s>(&'s self, span: &Span, own: &'s [Span]) -> Case<'a, 's> {
        let (board, taken, rest) = (self.board, &self.taken, &self.rest);
        Case { board, taken, event: self.event, span: *span, whole: self.whole, own, rest }
    }

    fn is_busy(&self, participant: &Participant, span: &Span) -> bool {
        self.others(self.taken.of_member(&participant.member, *span)).next().is_some()
    }

    /// Those who have a thing at the fullest moment of a time, if nobody else can have it then. What is gone from the
    /// board is not in anybody's way.
    fn users_when_full(&self, resource: &str, span: &Span) -> Option<Vec<&Entry>> {
        let capacity = self.board.resources.get(resource)?.capacity as usize;
        let mut users: Vec<&Entry> = self.others(self.taken.of_resource(resource, *span)).collect();
        users.reverse();
        let spans: Vec<Span> = users.iter().map(|entry| entry.span).collect();
        let places = fullest(&spans, span);
        (places.len() >= capacity).then(|| places.into_iter().map(|place| users[place]).collect())
    }

    fn others<'b>(&'b self, entries: impl Iterator<Item = &'b Entry>) -> impl Iterator<Item = &'b Entry> {
        entries.filter(|entry| Some(self.taken.kept(entry).whole) != self.whole)
    }
}

fn have_common(event: &Event, other: &Event) -> bool {
    let takes_part = |one: &Participant| event.participants.iter().any(|own| own.member == one.member);
    other.participants.iter().any(takes_part) || other.resources.iter().any(|used| event.resources.contains(used))
}

/// Times that start later by some microseconds and are as long as told.
pub(super) fn shifted(spans: &[Span], by: i64, length: i64) -> Vec<Span> {
    let shift = |span: &Span| {
        let start = after(span.start, by);
        Span { start, end: after(start, length) }
    };
    spans.iter().map(shift).collect()
}
