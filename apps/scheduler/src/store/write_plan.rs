//! Translates a change into the audit entry and the SQL statements to write.
//!
//! Pure: the same calendar and the same changes give the same statements. Only records that differ in the end are
//! written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::sql_value::{SqlStatement, SqlValue};
use super::{ChangeResult, ConflictScanner, integrity, upserts};
use crate::calendar::{CalendarChange, CalendarSnapshot, Event};
use crate::models::Conflict;
use crate::store::audit::{AuditEntry, RecordChange, RecordKind};

/// Changes to write, and the revision that they undo.
#[derive(Clone)]
pub(super) struct ChangeDecision {
    pub(super) changes: Vec<CalendarChange>,
    /// Revision that the changes undo.
    pub(super) undoes: Option<u64>,
}

impl From<Vec<CalendarChange>> for ChangeDecision {
    fn from(changes: Vec<CalendarChange>) -> Self {
        Self { changes, undoes: None }
    }
}

/// Author, action and time of a change.
#[derive(Clone)]
pub(super) struct ChangeAuthor {
    pub(super) actor: String,
    pub(super) action: String,
    pub(super) at: Time,
    /// Idempotency key of the change, if it must not be applied twice.
    pub(super) task: Option<String>,
}

/// Statements to write, with their audit entry and result.
pub(super) struct WritePlan {
    /// Audit entry; without images there is nothing to write.
    pub(super) entry: AuditEntry,
    pub(super) statements: Vec<SqlStatement>,
    changed: ChangeResult,
}

/// Rejected events by id. They are not part of the snapshot, so that their earlier state is passed separately.
pub(super) type RejectedEvents = BTreeMap<String, Event>;

impl WritePlan {
    pub(super) fn new(
        snapshot: &Arc<CalendarSnapshot>,
        rejected: &RejectedEvents,
        decision: ChangeDecision,
        author: &ChangeAuthor,
        scan: Option<ConflictScanner>,
    ) -> Result<Self> {
        let ChangeDecision { mut changes, undoes } = decision;
        let mut after = (**snapshot).clone();
        changes.iter().for_each(|change| after.apply(change.clone()));
        if let Some(scan) = scan.filter(|_| needs_scan(&changes)) {
            let conflicts = CalendarChange::Conflicts(scan(&after, author.at)?);
            after.apply(conflicts.clone());
            changes.push(conflicts);
        }
        let final_events = final_event_states(&changes);
        integrity::check(snapshot, &after, &changes, &final_events)?;
        let diff = SnapshotDiff { snapshot, after: &after, rejected, final_events: &final_events };
        let images = diff.images(&changes)?;
        let revision = snapshot.revision + u64::from(!images.is_empty());
        let ChangeAuthor { actor, action, at, task } = author.clone();
        let entry = AuditEntry { revision, at, actor, action, undoes, task, images };
        if entry.images.is_empty() {
            let changed = ChangeResult { snapshot: snapshot.clone(), changes: Vec::new() };
            return Ok(Self { entry, statements: Vec::new(), changed });
        }
        let statements = diff.statements(&entry)?;
        after.revision = revision;
        Ok(Self { entry, statements, changed: ChangeResult { snapshot: Arc::new(after), changes } })
    }

    /// Returns the result of the change, valid once written.
    pub(super) fn changed(&self) -> ChangeResult {
        self.changed.clone()
    }
}

/// Returns true if the changes can affect conflicts and do not contain a scan result.
fn needs_scan(changes: &[CalendarChange]) -> bool {
    let is_scanned = changes.iter().any(|change| matches!(change, CalendarChange::Conflicts(_)));
    let affects_conflicts = |change: &CalendarChange| {
        !matches!(change, CalendarChange::Family(_) | CalendarChange::Calendar(_) | CalendarChange::Conflicts(_))
    };
    !is_scanned && changes.iter().any(affects_conflicts)
}

/// Returns the final state of each changed event; `None` if the event is removed.
fn final_event_states(changes: &[CalendarChange]) -> BTreeMap<String, Option<&Event>> {
    let final_events = changes.iter().filter_map(|change| match change {
        CalendarChange::Event(event) => Some((event.id.clone(), Some(&**event))),
        CalendarChange::RemoveEvent(id) => Some((id.clone(), None)),
        _ => None,
    });
    final_events.collect()
}

/// The calendar before and after the changes.
struct SnapshotDiff<'a> {
    snapshot: &'a CalendarSnapshot,
    after: &'a CalendarSnapshot,
    rejected: &'a RejectedEvents,
    final_events: &'a BTreeMap<String, Option<&'a Event>>,
}

impl SnapshotDiff<'_> {
    /// Returns an image of every record that differs in the end.
    fn images(&self, changes: &[CalendarChange]) -> Result<Vec<RecordChange>> {
        let record_keys: BTreeSet<(RecordKind, String)> = changes.iter().map(record_key).collect();
        let mut images = Vec::new();
        for (kind, id) in record_keys {
            let (before, after) = (self.before(kind, &id)?, self.after(kind, &id)?);
            if before != after {
                images.push(RecordChange { kind, id, before, after });
            }
        }
        Ok(images)
    }

    fn before(&self, kind: RecordKind, id: &str) -> Result<Option<Value>> {
        match kind {
            RecordKind::Family if self.snapshot.revision == 0 => Ok(None),
            RecordKind::Event if !self.snapshot.events.contains_key(id) => image(self.rejected.get(id)),
            _ => record_json(self.snapshot, kind, id),
        }
    }

    fn after(&self, kind: RecordKind, id: &str) -> Result<Option<Value>> {
        match kind {
            RecordKind::Event => image(self.final_events.get(id).copied().flatten()),
            _ => record_json(self.after, kind, id),
        }
    }

    /// Returns the statements: first inserts and updates, in an order in which every reference exists; then
    /// deletions in reverse order.
    fn statements(&self, entry: &AuditEntry) -> Result<Vec<SqlStatement>> {
        let family = &*self.snapshot.family.id;
        let mut statements = Vec::new();
        for image in &entry.images {
            statements.extend(self.put(family, image, entry.revision)?);
        }
        for image in entry.images.iter().rev().filter(|image| image.after.is_none()) {
            statements.push(upserts::remove(family, image.kind, &image.id)?);
        }
        statements.extend(upserts::put_entry(family, entry)?);
        statements.push(upserts::put_revision(family, entry.revision));
        reject_nul(&statements)?;
        Ok(statements)
    }

    fn put(&self, family: &str, image: &RecordChange, revision: u64) -> Result<Vec<SqlStatement>> {
        let id = &*image.id;
        let single = |statement: Option<Result<SqlStatement>>| statement.into_iter().collect();
        match image.kind {
            RecordKind::Family => single(Some(upserts::put_family(&self.after.family, revision))),
            RecordKind::Member => {
                single(self.after.members.get(id).map(|member| upserts::upsert_member(family, member)))
            }
            RecordKind::Calendar => {
                single(self.after.calendars.get(id).map(|calendar| upserts::put_calendar(family, calendar)))
            }
            RecordKind::Resource => {
                single(self.after.resources.get(id).map(|resource| upserts::put_resource(family, resource)))
            }
            RecordKind::Rule => single(self.after.rules.get(id).map(|rule| upserts::upsert_constraint(family, rule))),
            RecordKind::Event => match self.final_events.get(id).copied().flatten() {
                Some(event) => upserts::upsert_event(family, event, image.before.is_none()),
                None => Ok(Vec::new()),
            },
            RecordKind::Conflicts => upserts::put_conflicts(family, &conflicts(self.after)),
        }
    }
}

fn record_key(change: &CalendarChange) -> (RecordKind, String) {
    match change {
        CalendarChange::Family(family) => (RecordKind::Family, family.id.clone()),
        CalendarChange::Member(member) => (RecordKind::Member, member.id.clone()),
        CalendarChange::RemoveMember(id) => (RecordKind::Member, id.clone()),
        CalendarChange::Calendar(calendar) => (RecordKind::Calendar, calendar.id.clone()),
        CalendarChange::Resource(resource) => (RecordKind::Resource, resource.id.clone()),
        CalendarChange::RemoveResource(id) => (RecordKind::Resource, id.clone()),
        CalendarChange::Rule(rule) => (RecordKind::Rule, rule.id.clone()),
        CalendarChange::RemoveRule(id) => (RecordKind::Rule, id.clone()),
        CalendarChange::Event(event) => (RecordKind::Event, event.id.clone()),
        CalendarChange::RemoveEvent(id) => (RecordKind::Event, id.clone()),
        CalendarChange::Conflicts(_) => (RecordKind::Conflicts, String::new()),
    }
}

/// Returns a record of a snapshot as JSON.
fn record_json(snapshot: &CalendarSnapshot, kind: RecordKind, id: &str) -> Result<Option<Value>> {
    match kind {
        RecordKind::Family => image(Some(&*snapshot.family)),
        RecordKind::Member => image(snapshot.members.get(id)),
        RecordKind::Calendar => image(snapshot.calendars.get(id)),
        RecordKind::Resource => image(snapshot.resources.get(id)),
        RecordKind::Rule => image(snapshot.rules.get(id)),
        RecordKind::Event => image(snapshot.events.get(id)),
        RecordKind::Conflicts => image(Some(&conflicts(snapshot))),
    }
}

fn conflicts(snapshot: &CalendarSnapshot) -> Vec<&Conflict> {
    snapshot.conflicts.values().map(|conflict| &**conflict).collect()
}

fn image(record: Option<&impl Serialize>) -> Result<Option<Value>> {
    let unwritable = |error: serde_json::Error| {
        Error::new(ErrorCode::TypeMismatch, format!("the record cannot be serialized: {error}"))
    };
    record.map(|record| serde_json::to_value(record).map_err(unwritable)).transpose()
}

/// Rejects NUL characters, which PostgreSQL cannot store in text.
fn reject_nul(statements: &[SqlStatement]) -> Result<()> {
    let has_nul = |cell: &SqlValue| matches!(cell, SqlValue::Text(Some(text)) if text.contains('\0'));
    match statements.iter().flat_map(|statement| &statement.cells).any(has_nul) {
        true => Err(Error::new(ErrorCode::TypeMismatch, "a text contains a NUL character").with_help("remove it")),
        false => Ok(()),
    }
}
