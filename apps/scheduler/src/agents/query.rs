//! Answers to questions about the calendar (R-FAM-109), in the shapes of R-FAM-63. Nothing is written.
//!
//! Times are those of who asks. What others keep private is "busy", and cannot be found by what it is called.

use serde_json::{Map, Value, json};
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use super::capacity;
use super::conflicts::find_for;
use super::moments::{common, later, written, year_from};
use super::scan;
use super::seen::{BUSY, Viewer, zone_of};
use super::slots::{self, Wanted};
use super::taken::{Taken, is_transparent};
use super::windows::{GRID_MINUTES, shared_days, without};
use crate::calendar::{Board, Event, Instance, Span};
use crate::models::{Conflict, EventStatus, QueryData, QueryType, TimeSlot};
use crate::zone::Zone;

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What is asked.
    pub kind: QueryType,
    /// About which time; without it, what lies ahead: a week of free times, a year of events or conflicts, an
    /// hour of a thing.
    pub span: Option<Span>,
    /// About whom: ids of members; nobody is everybody.
    pub people: Vec<String>,
    /// About what: ids of resources; nothing is everything.
    pub resources: Vec<String>,
    /// Words of the title that is looked for; none is any.
    pub text: String,
    /// What would have to fit; without it, what is on the calendar already.
    pub event: Option<Event>,
    /// Whether any time of the span will do for it, and not only its own; without a span, of the next 14 days.
    pub is_open: bool,
}

impl Question {
    /// A question of a kind about everybody and everything that lies ahead.
    #[must_use]
    pub fn new(kind: QueryType) -> Self {
        let (people, resources, text) = (Vec::new(), Vec::new(), String::new());
        Self { kind, span: None, people, resources, text, event: None, is_open: false }
    }
}

/// The most events that an answer lists.
const MOST_EVENTS: usize = 100;

/// The answer to a question of a member.
///
/// # Errors
/// When the asker, a person or a thing is unknown, or a rule of repetition or a zone on the board cannot be read.
pub fn answer(board: &Board, asker: &str, question: &Question, now: Time) -> Result<QueryData> {
    let wrong = |text: String| Error::new(Code::TypeMismatch, text);
    let asking = board.members.get(asker).ok_or_else(|| wrong(format!("there is no member `{asker}`")))?;
    if let Some(unknown) = question.people.iter().find(|id| !board.members.contains_key(*id)) {
        return Err(wrong(format!("there is no member `{unknown}`")));
    }
    let zone = zone_of(board, &asking.id)?;
    let desk = Desk { board, viewer: Viewer::Member(asker), zone, question, now };
    let results = match (question.kind, &question.event) {
        (QueryType::Availability, _) => desk.availability()?,
        (QueryType::EventLookup, _) => desk.events()?,
        (QueryType::ResourceStatus, _) => desk.resources()?,
        (QueryType::ConflictCheck, Some(event)) => desk.fits(event)?,
        (QueryType::ConflictCheck, None) => desk.clashes()?,
    };
    Ok(QueryData { query_type: question.kind, results })
}

struct Desk<'a> {
    board: &'a Board,
    viewer: Viewer<'a>,
    zone: Zone,
    question: &'a Question,
    now: Time,
}

impl Desk<'_> {
    /// The times in the days of all who are asked about at which none of them has anything.
    fn availability(&self) -> Result<Map<String, Value>> {
        let span = self.span(7 * 24 * 60)?;
        // What is over is of no use, unless only that was asked about.
        let ahead = Span::new(span.start.max(self.now), span.end).unwrap_or(span);
        let members: Vec<&str> = if self.question.people.is_empty() {
            self.board.members.keys().map(String::as_str).collect()
        } else {
            self.question.people.iter().map(String::as_str).collect()
        };
        let is_theirs = |event: &Event| {
            let mut people = event.participants.iter().map(|participant| participant.member.as_str());
            !is_transparent(event) && people.any(|member| members.contains(&member))
        };
        let taken = Taken::new(self.board, &ahead, is_theirs)?;
        let busy: Vec<Span> = taken.entries().iter().map(|entry| entry.span).collect();
        let mut free = Vec::new();
        for stretch in without(&shared_days(self.board, &members, &ahead)?, &busy) {
            if stretch.minutes() >= GRID_MINUTES {
                let Span { start, end } = written(&self.zone, &stretch)?;
                free.push(json!({ "start": start, "end": end, "members": members }));
            }
        }
        Ok(map("free", Value::Array(free)))
    }

    /// What is on the calendar, the earliest first.
    fn events(&self) -> Result<Map<String, Value>> {
        let within = self.span_or_year()?;
        let mut found: Vec<Instance> = Vec::new();
        for event in self.board.events.values().filter(|event| self.is_meant(event)) {
            found.extend(self.board.instances_of(event, &within)?.into_iter().take(MOST_EVENTS));
        }
        found.sort_by(|a, b| (a.span, &a.event.id).cmp(&(b.span, &b.event.id)));
        let mut events = Vec::new();
        for instance in found.iter().take(MOST_EVENTS) {
            events.push(self.told(instance)?);
        }
        Ok(map("events", Value::Array(events)))
    }

    fn is_meant(&self, event: &Event) -> bool {
        let question = self.question;
        let is_about = question.people.is_empty()
            || event.participants.iter().any(|participant| question.people.contains(&participant.member));
        let sees = self.viewer.sees(self.board, event);
        let uses = question.resources.is_empty()
            || (sees && event.resources.iter().any(|resource| question.resources.contains(resource)));
        let title = event.title.to_lowercase();
        let mut words = question.text.split_whitespace().map(str::to_lowercase).peekable();
        let is_called = words.peek().is_none() || (sees && words.all(|word| title.contains(&word)));
        event.status == EventStatus::Confirmed && is_about && uses && is_called
    }

    fn told(&self, instance: &Instance) -> Result<Value> {
        let (event, span) = (&instance.event, written(&self.zone, &instance.span)?);
        let participants: Vec<&String> = event.participants.iter().map(|participant| &participant.member).collect();
        if !self.viewer.sees(self.board, event) {
            return Ok(json!({
                "event_id": event.id, "title": BUSY, "start": span.start, "end": span.end,
                "participants": participants, "is_private": true,
            }));
        }
        Ok(json!({
            "event_id": event.id, "title": event.title, "start": span.start, "end": span.end,
            "participants": participants, "resources": event.resources, "location": event.location,
            "is_all_day": event.is_all_day, "is_private": false,
        }))
    }

    fn resources(&self) -> Result<Map<String, Value>> {
        let span = self.span(60)?;
        let all: Vec<String> = self.board.resources.keys().cloned().collect();
        let asked = if self.question.resources.is_empty() { &all } else { &self.question.resources };
        let found = capacity::availability(self.board, asked, &span, None)?;
        Ok(map("resources", json!(found.resource_availability)))
    }

    /// Whether an event would fit; if not, times that would do.
    fn fits(&self, event: &Event) -> Result<Map<String, Value>> {
        if self.question.is_open {
            let minutes = u32::try_from(event.span.minutes()).unwrap_or(u32::MAX);
            let wanted = Wanted { event: event.clone(), given: None, minutes, range: self.question.span };
            let slots = self.slots(&wanted)?;
            return Ok(fitting(!slots.is_empty(), &[], &slots));
        }
        let conflicts = find_for(self.board, event, self.now, self.viewer)?;
        let fits = !conflicts.iter().any(|conflict| conflict.severity.is_blocking());
        let mut slots: Vec<TimeSlot> = Vec::new();
        if !fits {
            let wanted = Wanted { event: event.clone(), given: Some(event.span), minutes: 0, range: None };
            slots = self.slots(&wanted)?.split_off(1);
        }
        Ok(fitting(fits, &conflicts, &slots))
    }

    /// What is in each other's way already, of those who are asked about.
    fn clashes(&self) -> Result<Map<String, Value>> {
        let mut conflicts = scan::within(self.board, self.span_or_year()?, self.viewer)?;
        let people = &self.question.people;
        conflicts.retain(|one| people.is_empty() || one.participants_affected.iter().any(|who| people.contains(who)));
        let fits = !conflicts.iter().any(|conflict| conflict.severity.is_blocking());
        Ok(fitting(fits, &conflicts, &[]))
    }

    /// Times that would do, as the clocks of who asks show them.
    fn slots(&self, wanted: &Wanted) -> Result<Vec<TimeSlot>> {
        let mut slots = slots::find(self.board, wanted, self.now)?.candidate_times;
        for slot in &mut slots {
            slot.start_time = self.zone.written(slot.start_time)?;
            slot.end_time = self.zone.written(slot.end_time)?;
        }
        Ok(slots)
    }

    /// The time that is asked about, or the year from now.
    fn span_or_year(&self) -> Result<Span> {
        if self.question.span.is_some() { self.span(0) } else { year_from(&self.zone, self.now) }
    }

    /// The time that is asked about, or so many minutes from now; never more than a year.
    fn span(&self, minutes: i64) -> Result<Span> {
        let asked = self.question.span.unwrap_or(Span { start: self.now, end: later(self.now, minutes) });
        let year = year_from(&self.zone, asked.start)?;
        Ok(common(&asked, &year).unwrap_or(asked))
    }
}

fn fitting(fits: bool, conflicts: &[Conflict], slots: &[TimeSlot]) -> Map<String, Value> {
    let mut results = map("fits", Value::Bool(fits));
    results.insert("conflicts".to_owned(), json!(conflicts));
    results.insert("slots".to_owned(), json!(slots));
    results
}

fn map(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}
