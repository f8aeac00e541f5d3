//! What stands in the way of an event, before it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep::Result;

use super::rules::says;
use super::seen::Viewer;
use super::words;
use crate::calendar::{Board, Event, Rule, Span, Strength};
use crate::models::{Conflict, ConflictType, EventStatus, Severity};
use crate::zone::Zone;

/// What something is that stands in the way: another event, a thing, a rule; by id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Time(String),
    Resource(String),
    Rule(String),
}

/// Something that stands in the way.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) severity: Severity,
    /// The other events.
    pub(super) others: Vec<Arc<Event>>,
    /// Every other event at any time of the event, and when it is then: what is the same elsewhere is another matter.
    pub(super) met: BTreeSet<(String, Span)>,
    pub(super) members: BTreeSet<String>,
    pub(super) rule: Option<Arc<Rule>>,
    /// The first time of the event at which it does.
    pub(super) first: Span,
    /// When the other event is then.
    pub(super) at: Span,
    /// At how many times of the event it does.
    pub(super) count: usize,
}

impl Found {
    /// Something that stands in the way at a time, hardly.
    pub(super) fn new(key: Key, first: Span) -> Self {
        let (others, met, members) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        Self { key, severity: Severity::Low, others, met, members, rule: None, first, at: first, count: 1 }
    }

    /// A rule that is broken at a time.
    pub(super) fn of_rule(rule: &Arc<Rule>, first: Span) -> Self {
        let severity = match rule.strength {
            Strength::Hard => Severity::High,
            Strength::Soft(weight) if weight >= 8 => Severity::Medium,
            Strength::Soft(_) => Severity::Low,
        };
        Self { severity, rule: Some(rule.clone()), ..Self::new(Key::Rule(rule.id.clone()), first) }
    }

    /// Adds it to what was found at earlier times.
    pub(super) fn add_to(self, all: &mut BTreeMap<Key, Self>) {
        match all.get_mut(&self.key) {
            Some(found) => {
                found.count += 1;
                found.severity = found.severity.max(self.severity);
                found.members.extend(self.members);
                found.met.extend(self.met);
            }
            None => drop(all.insert(self.key.clone(), self)),
        }
    }

    /// The id of the conflict that an event has with it: the same whenever it is found.
    pub(super) fn id(&self, event: &str) -> String {
        match &self.key {
            Key::Time(other) => format!("time_conflict:{event}:{other}"),
            Key::Resource(resource) => format!("resource_conflict:{event}:{resource}"),
            Key::Rule(rule) => format!("constraint_violation:{event}:{rule}"),
        }
    }

    /// As it is told to somebody.
    pub(super) fn conflict(&self, event: &str, telling: &Telling<'_>) -> Conflict {
        let kind = match &self.key {
            Key::Time(_) => ConflictType::TimeConflict,
            Key::Resource(_) => ConflictType::ResourceConflict,
            Key::Rule(_) => ConflictType::ConstraintViolation,
        };
        let other = self.others.first();
        Conflict {
            id: self.id(event),
            kind,
            severity: self.severity,
            conflicting_event_id: other.map(|other| other.id.clone()),
            conflicting_event_title: other.map(|other| telling.viewer.title(telling.board, other)),
            participants_affected: self.members.iter().cloned().collect(),
            details: self.details(telling),
        }
    }

    /// The same where nobody would know whose conflict it is: with the event that has it.
    pub(super) fn conflict_of(&self, event: &Event, telling: &Telling<'_>) -> Conflict {
        let conflict = self.conflict(&event.id, telling);
        let details = format!("{}: {}", telling.title(event), lower_first(&conflict.details));
        Conflict { details, ..conflict }
    }

    fn details(&self, telling: &Telling<'_>) -> String {
        let board = telling.board;
        let titles: Vec<String> = self.others.iter().map(|other| telling.title(other)).collect();
        match &self.key {
            Key::Time(_) => {
                let members: Vec<&String> = self.members.iter().collect();
                let are = if members.len() == 1 { "is" } else { "are" };
                let when = telling.when(&self.at, self.count);
                format!("{} {are} at {} {when}.", words::names(board, &members), words::list(&titles))
            }
            Key::Resource(resource) => {
                let name = board.resources.get(resource).map_or("thing", |resource| resource.name.as_str());
                let when = telling.when(&self.at, self.count);
                if titles.is_empty() {
                    return format!("{} cannot be had {when}.", words::thing(name));
                }
                format!("{} is taken by {} {when}.", words::thing(name), words::list(&titles))
            }
            Key::Rule(_) => {
                let (name, says) = self.rule.as_ref().map_or((String::new(), String::new()), |rule| {
                    (words::quoted(&rule.name), says(board, &rule.kind))
                });
                format!("The rule {name} would be broken {}: {says}.", telling.when(&self.first, self.count))
            }
        }
    }
}

/// To whom something is told, and where.
#[derive(Debug)]
pub(super) struct Telling<'a> {
    pub(super) board: &'a Board,
    pub(super) viewer: Viewer<'a>,
    pub(super) zone: Zone,
    /// Within which time was looked, behind how often something is.
    pub(super) range: &'static str,
}

impl<'a> Telling<'a> {
    /// To somebody, by their own clocks.
    pub(super) fn to(board: &'a Board, viewer: Viewer<'a>) -> Result<Self> {
        Ok(Self { board, viewer, zone: viewer.zone(board)?, range: " within 12 months" })
    }

    /// An event inside a sentence, and whether it is only proposed.
    pub(super) fn title(&self, event: &Event) -> String {
        let tentative = if event.status == EventStatus::Confirmed { "" } else { " (tentative)" };
        format!("{}{tentative}", self.name(event))
    }

    /// An event inside a sentence.
    pub(super) fn name(&self, event: &Event) -> String {
        let is_told = self.viewer.is_told(self.board, event);
        if is_told { words::quoted(&event.title) } else { "something private".to_owned() }
    }

    /// When something is, once or several times.
    pub(super) fn when(&self, first: &Span, count: usize) -> String {
        let first = words::stretch(&self.zone, first);
        if count == 1 { format!("on {first}") } else { format!("{count} times{}, first on {first}", self.range) }
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
