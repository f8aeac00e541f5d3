//! Undo of a change, from its audit entry.
//!
//! Later changes of others are kept: an event is restored only if its time and resources are still free. Conflicts
//! that existed before the undone change do not block its undo.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::sql_value::corrupt_row;
use super::transaction::ChangeJob;
use super::write_plan::ChangeDecision;
use super::{CalendarStore, ChangeResult};
use crate::agents::{conflicts, scan};
use crate::calendar::{CalendarChange, CalendarSnapshot, Event, MemberRole, Resource};
use crate::models::{Conflict, ConflictType, EventStatus};
use crate::store::audit::{AuditEntry, RecordChange, RecordKind};

/// Time within which a change can be undone, in microseconds: ten minutes.
const UNDO_WINDOW_MICROS: i64 = 10 * 60 * 1_000_000;

/// Result of an undo.
#[derive(Debug, Clone, PartialEq)]
pub enum UndoOutcome {
    /// The change was undone.
    Done(ChangeResult),
    /// The member made no change in the last ten minutes that can be undone.
    NothingToUndo,
    /// The same records were changed since; their ids. Nothing was written.
    ModifiedSince(Vec<String>),
    /// A restored event would conflict, or a restored resource has too little capacity. Nothing was written.
    Blocked(Vec<Conflict>),
}

impl CalendarStore {
    /// Undoes the last change of a member within the last ten minutes, if the same records and instances of the
    /// same series were not changed since and nothing blocks the restored events. A repeated call undoes the change
    /// before. A proposal that the change had confirmed becomes rejected, not proposed again. Created calendars
    /// stay, empty; conflicts are detected again by [`scan`](super::StoreOptions::scan).
    ///
    /// # Errors
    /// As [`CalendarStore::change`]; `PolicyRefused` if the undo changes the family and the member is no longer a
    /// parent.
    pub async fn undo(&self, family: &str, user_id: &str, now: Time) -> Result<UndoOutcome> {
        let outcome = Arc::new(OnceLock::new());
        let (outcome_cell, user) = (outcome.clone(), user_id.to_owned());
        let decide = move |snapshot: &CalendarSnapshot, entries: &[AuditEntry]| {
            let rejection = match find(entries, &user) {
                None => UndoOutcome::NothingToUndo,
                Some(entry) => match touched_since(entries, entry) {
                    touched if touched.is_empty() => {
                        let changes = reverse(entry, now)?;
                        require_permission(snapshot, entry, &changes, &user)?;
                        let check =
                            UndoCheck { snapshot, original: before(snapshot, entries, entry)?, changes: &changes, now };
                        match check.blocking_conflicts(&user)? {
                            blocking if blocking.is_empty() => {
                                return Ok(ChangeDecision { changes, undoes: Some(entry.revision) });
                            }
                            blocking => UndoOutcome::Blocked(blocking),
                        }
                    }
                    touched => UndoOutcome::ModifiedSince(touched),
                },
            };
            // `set` cannot fail: the closure runs at most once.
            let _ = outcome_cell.set(rejection);
            Ok(Vec::new().into())
        };
        let job = self.change_job(family, (user_id, "undo"), Box::new(decide))?;
        let since = Some(now.as_unix_micros().saturating_sub(UNDO_WINDOW_MICROS));
        let changed = self.run(ChangeJob { since, ..job }).await?;
        Ok(outcome.get().cloned().unwrap_or(UndoOutcome::Done(changed)))
    }
}

/// Returns the undone revisions and the revisions that undid them; each pair has no effect.
fn undone_revisions(entries: &[AuditEntry]) -> BTreeSet<u64> {
    let pair = |entry: &AuditEntry| entry.undoes.map(|undone| [entry.revision, undone]);
    entries.iter().filter_map(pair).flatten().collect()
}

/// Returns the newest visible change of a member that was not undone.
fn find<'a>(entries: &'a [AuditEntry], user_id: &str) -> Option<&'a AuditEntry> {
    let undone = undone_revisions(entries);
    let is_candidate = |entry: &&AuditEntry| entry.actor == user_id && !undone.contains(&entry.revision);
    let creates_family = |entry: &AuditEntry| {
        entry.images.iter().any(|image| image.kind == RecordKind::Family && image.before.is_none())
    };
    entries
        .iter()
        .filter(is_candidate)
        .find(|entry| entry.images.iter().any(is_visible_change) && !creates_family(entry))
}

/// Returns true if the change is visible to the family. Changes of proposals are not.
fn is_visible_change(image: &RecordChange) -> bool {
    match image.kind {
        RecordKind::Event => image.is_on_calendar(),
        RecordKind::Calendar => image.before.is_some(),
        RecordKind::Conflicts => false,
        RecordKind::Family | RecordKind::Member | RecordKind::Resource | RecordKind::Rule => true,
    }
}

/// Checks that the user may undo a change of the family: the user must be a parent before and after the undo.
fn require_permission(
    snapshot: &CalendarSnapshot,
    entry: &AuditEntry,
    changes: &[CalendarChange],
    user_id: &str,
) -> Result<()> {
    let is_family = |image: &RecordChange| {
        matches!(image.kind, RecordKind::Family | RecordKind::Member | RecordKind::Resource | RecordKind::Rule)
    };
    if !entry.images.iter().any(is_family) {
        return Ok(());
    }
    let after = with_changes(snapshot, changes);
    let is_parent = |snapshot: &CalendarSnapshot| {
        snapshot.members.get(user_id).is_some_and(|member| member.role == MemberRole::Parent)
    };
    if is_parent(snapshot) && is_parent(&after) {
        return Ok(());
    }
    Err(Error::new(ErrorCode::PolicyRefused, format!("`{user_id}` does not have permission to change the family"))
        .with_help("only parents can do this"))
}

fn with_changes(snapshot: &CalendarSnapshot, changes: &[CalendarChange]) -> CalendarSnapshot {
    let mut after = snapshot.clone();
    changes.iter().for_each(|change| after.apply(change.clone()));
    after
}

/// Returns the ids of records that later changes touched too, directly or through an instance of the same series.
fn touched_since(entries: &[AuditEntry], entry: &AuditEntry) -> Vec<String> {
    let undone = undone_revisions(entries);
    let records: BTreeSet<(RecordKind, &str)> =
        entry.images.iter().map(|image| (image.kind, image.id.as_str())).collect();
    let later = entries.iter().filter(|later| later.revision > entry.revision && !undone.contains(&later.revision));
    let others = later.flat_map(|later| &later.images).filter(|image| image.kind != RecordKind::Conflicts);
    let is_same = |image: &&RecordChange| {
        let mut ids = std::iter::once(image.id.as_str()).chain(series_of(image));
        ids.any(|id| records.contains(&(image.kind, id)))
    };
    others.filter(is_same).map(|image| image.id.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the series that an event overrides or did override.
fn series_of(image: &RecordChange) -> impl Iterator<Item = &str> {
    let events = [&image.before, &image.after].into_iter().flatten();
    events.filter_map(|event| event["exception_of"]["series"].as_str())
}

/// Rebuilds the calendar before a change, by reverting all changes since, newest first.
fn before(snapshot: &CalendarSnapshot, entries: &[AuditEntry], entry: &AuditEntry) -> Result<CalendarSnapshot> {
    let mut since: Vec<&AuditEntry> = entries.iter().filter(|later| later.revision >= entry.revision).collect();
    since.sort_by_key(|later| Reverse(later.revision));
    let mut original = snapshot.clone();
    for image in since.iter().flat_map(|later| &later.images) {
        let change = match image.kind {
            RecordKind::Event => Some(decode_image(&image.before)?.map_or_else(
                || CalendarChange::RemoveEvent(image.id.clone()),
                |event| CalendarChange::Event(Box::new(event)),
            )),
            _ => reverse_record(image)?,
        };
        change.into_iter().for_each(|change| original.apply(change));
    }
    Ok(original)
}

/// The changes of an undo, with the calendars on which they are checked.
struct UndoCheck<'a> {
    snapshot: &'a CalendarSnapshot,
    /// Calendar before the undone change.
    original: CalendarSnapshot,
    changes: &'a [CalendarChange],
    now: Time,
}

impl UndoCheck<'_> {
    /// Returns new blocking conflicts of restored events, and of resources whose capacity the undo reduces,
    /// described for a member. Conflicts that existed before the undone change are ignored.
    fn blocking_conflicts(&self, user_id: &str) -> Result<Vec<Conflict>> {
        let after = with_changes(self.snapshot, self.changes);
        let mut blocking_conflicts = Vec::new();
        let restored = self.changes.iter().filter_map(|change| self.restored_event(&after, change));
        let restored: BTreeMap<&str, &Event> = restored.map(|event| (&*event.id, event)).collect();
        for event in restored.into_values() {
            blocking_conflicts.extend(conflicts::detect_new_blocking(
                &self.original,
                &after,
                event,
                self.now,
                user_id,
            )?);
        }
        for change in self.changes {
            let CalendarChange::Resource(resource) = change else { continue };
            if !self.is_smaller(resource) {
                continue;
            }
            let is_of_resource = |conflict: &Conflict| {
                conflict.kind == ConflictType::ResourceConflict
                    && conflict.id.starts_with(&format!("resource_conflict:{}:", resource.id))
            };
            let previous = scan::scan_conflicts(&self.original, self.now)?;
            blocking_conflicts.extend(
                new_blocking(scan::scan_conflicts(&after, self.now)?, &previous).into_iter().filter(is_of_resource),
            );
        }
        Ok(blocking_conflicts)
    }

    /// Returns the confirmed event that a change restores. Removing an override restores that instance of its series.
    fn restored_event<'b>(&'b self, after: &'b CalendarSnapshot, change: &'b CalendarChange) -> Option<&'b Event> {
        let removed = match change {
            CalendarChange::Event(event) if event.status == EventStatus::Confirmed => return Some(event),
            CalendarChange::Event(event) => event,
            CalendarChange::RemoveEvent(id) => self.snapshot.events.get(id)?.as_ref(),
            _ => return None,
        };
        let series = after.events.get(&removed.recurrence_override.as_ref()?.series)?;
        Some(series.as_ref()).filter(|series| series.status == EventStatus::Confirmed)
    }

    fn is_smaller(&self, resource: &Resource) -> bool {
        self.snapshot.resources.get(&resource.id).is_some_and(|now| resource.capacity < now.capacity)
    }
}

/// Returns the blocking conflicts that did not exist before.
fn new_blocking(conflicts: Vec<Conflict>, previous: &[Conflict]) -> Vec<Conflict> {
    let is_same = |conflict: &Conflict, old: &Conflict| {
        conflict.id == old.id && conflict.conflicting_event_id == old.conflicting_event_id
    };
    let is_new =
        |conflict: &Conflict| conflict.severity.is_blocking() && !previous.iter().any(|old| is_same(conflict, old));
    conflicts.into_iter().filter(is_new).collect()
}

/// Returns the changes that revert an entry.
fn reverse(entry: &AuditEntry, now: Time) -> Result<Vec<CalendarChange>> {
    let reversed = entry.images.iter().map(|image| reverse_one(image, now));
    reversed.filter_map(Result::transpose).collect()
}

fn reverse_one(image: &RecordChange, now: Time) -> Result<Option<CalendarChange>> {
    match image.kind {
        RecordKind::Event => reverse_event(image, now).map(Some),
        _ => reverse_record(image),
    }
}

/// Reverts a change of a record other than an event. Conflicts are detected again.
fn reverse_record(image: &RecordChange) -> Result<Option<CalendarChange>> {
    let id = || image.id.clone();
    Ok(match image.kind {
        RecordKind::Family => decode_image(&image.before)?.map(CalendarChange::Family),
        RecordKind::Calendar => decode_image(&image.before)?.map(CalendarChange::Calendar),
        RecordKind::Member => Some(
            decode_image(&image.before)?.map_or_else(|| CalendarChange::RemoveMember(id()), CalendarChange::Member),
        ),
        RecordKind::Resource => Some(
            decode_image(&image.before)?.map_or_else(|| CalendarChange::RemoveResource(id()), CalendarChange::Resource),
        ),
        RecordKind::Rule => {
            Some(decode_image(&image.before)?.map_or_else(|| CalendarChange::RemoveRule(id()), CalendarChange::Rule))
        }
        RecordKind::Event | RecordKind::Conflicts => None,
    })
}

fn reverse_event(image: &RecordChange, now: Time) -> Result<CalendarChange> {
    let (before, after): (Option<Event>, Option<Event>) = (decode_image(&image.before)?, decode_image(&image.after)?);
    let was_proposed = before.as_ref().is_some_and(|event| event.status < EventStatus::Confirmed);
    Ok(match (before, after) {
        (Some(_), Some(after)) if was_proposed && after.status == EventStatus::Confirmed => {
            CalendarChange::Event(Box::new(Event { status: EventStatus::Rejected, updated_at: now, ..after }))
        }
        (Some(before), _) => CalendarChange::Event(Box::new(before)),
        (None, _) => CalendarChange::RemoveEvent(image.id.clone()),
    })
}

fn decode_image<T: DeserializeOwned>(image: &Option<Value>) -> Result<Option<T>> {
    let image = image.as_ref();
    image.map(|image| serde_json::from_value(image.clone()).map_err(|error| corrupt_row(error.to_string()))).transpose()
}
