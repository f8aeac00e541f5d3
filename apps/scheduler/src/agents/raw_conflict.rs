//! Conflicts as detected, before they are worded for a viewer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep::Result;

use super::constraints::describe_constraint;
use super::format;
use super::visibility::Viewer;
use crate::calendar::{CalendarSnapshot, Constraint, ConstraintStrength, Event, TimeRange};
use crate::models::{Conflict, ConflictType, EventStatus, Severity};
use crate::time_zone::NamedTimeZone;

/// The identity of a conflict: the id of the other event, of the resource or of the constraint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConflictKey {
    Time(String),
    Resource(String),
    Rule(String),
}

/// A detected conflict that is not worded yet.
#[derive(Debug, Clone)]
pub(super) struct RawConflict {
    pub(super) key: ConflictKey,
    pub(super) severity: Severity,
    /// The other events.
    pub(super) others: Vec<Arc<Event>>,
    /// Ids and time ranges of every other event that overlaps any instance of this event. The time range is part of
    /// the key: the same event at another time is a different conflict.
    pub(super) overlapping_instances: BTreeSet<(String, TimeRange)>,
    pub(super) members: BTreeSet<String>,
    pub(super) rule: Option<Arc<Constraint>>,
    /// The first instance of the event that has the conflict.
    pub(super) first: TimeRange,
    /// Time range of the other event at that instance.
    pub(super) at: TimeRange,
    /// Number of instances of the event that have the conflict.
    pub(super) count: usize,
}

impl RawConflict {
    /// Creates a conflict of low severity that starts at `first`.
    pub(super) fn new(key: ConflictKey, first: TimeRange) -> Self {
        let (others, overlapping_instances, members) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        Self {
            key,
            severity: Severity::Low,
            others,
            overlapping_instances,
            members,
            rule: None,
            first,
            at: first,
            count: 1,
        }
    }

    /// Creates a conflict for a constraint that is violated at `first`.
    pub(super) fn from_constraint(rule: &Arc<Constraint>, first: TimeRange) -> Self {
        let severity = match rule.strength {
            ConstraintStrength::Hard => Severity::High,
            ConstraintStrength::Soft(weight) if weight >= 8 => Severity::Medium,
            ConstraintStrength::Soft(_) => Severity::Low,
        };
        Self { severity, rule: Some(rule.clone()), ..Self::new(ConflictKey::Rule(rule.id.clone()), first) }
    }

    /// Merges the conflict into those of earlier instances.
    pub(super) fn add_to(self, all: &mut BTreeMap<ConflictKey, Self>) {
        match all.get_mut(&self.key) {
            Some(existing) => {
                existing.count += 1;
                existing.severity = existing.severity.max(self.severity);
                existing.members.extend(self.members);
                existing.overlapping_instances.extend(self.overlapping_instances);
            }
            None => drop(all.insert(self.key.clone(), self)),
        }
    }

    /// Returns the stable id of the conflict: the same conflict of the same event always gets the same id.
    pub(super) fn id(&self, event: &str) -> String {
        match &self.key {
            ConflictKey::Time(other) => format!("time_conflict:{event}:{other}"),
            ConflictKey::Resource(resource) => format!("resource_conflict:{event}:{resource}"),
            ConflictKey::Rule(rule) => format!("constraint_violation:{event}:{rule}"),
        }
    }

    /// Converts the conflict to its worded form for the viewer.
    pub(super) fn conflict(&self, event: &str, formatter: &ConflictFormatter<'_>) -> Conflict {
        let kind = match &self.key {
            ConflictKey::Time(_) => ConflictType::TimeConflict,
            ConflictKey::Resource(_) => ConflictType::ResourceConflict,
            ConflictKey::Rule(_) => ConflictType::ConstraintViolation,
        };
        let other = self.others.first();
        Conflict {
            id: self.id(event),
            kind,
            severity: self.severity,
            conflicting_event_id: other.map(|other| other.id.clone()),
            conflicting_event_title: other.map(|other| formatter.viewer.title(formatter.snapshot, other)),
            participants_affected: self.members.iter().cloned().collect(),
            details: self.describe(formatter),
        }
    }

    /// Converts the conflict like `conflict`, and names the event that has it. For lists in which the event is not
    /// evident.
    pub(super) fn conflict_with_owner(&self, event: &Event, formatter: &ConflictFormatter<'_>) -> Conflict {
        let conflict = self.conflict(&event.id, formatter);
        let details = format!("{}: {}", formatter.title(event), lower_first(&conflict.details));
        Conflict { details, ..conflict }
    }

    fn describe(&self, formatter: &ConflictFormatter<'_>) -> String {
        let snapshot = formatter.snapshot;
        let titles: Vec<String> = self.others.iter().map(|other| formatter.title(other)).collect();
        match &self.key {
            ConflictKey::Time(_) => {
                let members: Vec<&String> = self.members.iter().collect();
                let verb = if members.len() == 1 { "is" } else { "are" };
                let when = formatter.when(&self.at, self.count);
                format!("{} {verb} at {} {when}.", format::names(snapshot, &members), format::join_list(&titles))
            }
            ConflictKey::Resource(resource) => {
                let name = snapshot.resources.get(resource).map_or("resource", |resource| resource.name.as_str());
                let when = formatter.when(&self.at, self.count);
                if titles.is_empty() {
                    return format!("{} is not available {when}.", format::resource_as_subject(name));
                }
                format!("{} is taken by {} {when}.", format::resource_as_subject(name), format::join_list(&titles))
            }
            ConflictKey::Rule(_) => {
                let (name, description) = self.rule.as_ref().map_or((String::new(), String::new()), |rule| {
                    (format::quoted(&rule.name), describe_constraint(snapshot, &rule.kind))
                });
                format!("The rule {name} would be violated {}: {description}.", formatter.when(&self.first, self.count))
            }
        }
    }
}

/// The viewer for whom conflicts are worded, and the viewer's time zone.
#[derive(Debug)]
pub(super) struct ConflictFormatter<'a> {
    pub(super) snapshot: &'a CalendarSnapshot,
    pub(super) viewer: Viewer<'a>,
    pub(super) zone: NamedTimeZone,
    /// Name of the checked time range, appended to a count.
    pub(super) range: &'static str,
}

impl<'a> ConflictFormatter<'a> {
    /// Creates a formatter for a viewer, in the viewer's time zone.
    pub(super) fn for_viewer(snapshot: &'a CalendarSnapshot, viewer: Viewer<'a>) -> Result<Self> {
        Ok(Self { snapshot, viewer, zone: viewer.zone(snapshot)?, range: " within 12 months" })
    }

    /// Formats the title of an event within a sentence, with "(tentative)" if the event is not confirmed.
    pub(super) fn title(&self, event: &Event) -> String {
        let tentative = if event.status == EventStatus::Confirmed { "" } else { " (tentative)" };
        format!("{}{tentative}", self.name(event))
    }

    /// Formats the title of an event within a sentence.
    pub(super) fn name(&self, event: &Event) -> String {
        let can_see = self.viewer.can_see_proposal(self.snapshot, event);
        if can_see { format::quoted(&event.title) } else { "a private event".to_owned() }
    }

    /// Formats the first time range and the number of occurrences.
    pub(super) fn when(&self, first: &TimeRange, count: usize) -> String {
        let first = format::format_range(&self.zone, first);
        if count == 1 { format!("on {first}") } else { format!("{count} times{}, first on {first}", self.range) }
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
