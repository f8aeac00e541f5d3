//! Queries of the calendar store: decode rows into records and calendar snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep::Result;

use super::sql_value::{RowReader, SqlStatement, corrupt_row};
use super::upserts::{AUDIT, CALENDARS, CONFLICTS, EVENTS, FAMILIES, MEMBERS, RESOURCES, RULES};
use crate::calendar::{
    Calendar, CalendarChange, CalendarSnapshot, Constraint, ConstraintStrength, Event, Family, Member, Participant,
    Recurrence, RecurrenceOverride, Resource, TimeRange,
};
use crate::models::Conflict;
use crate::store::audit::{AuditEntry, RecordChange};

/// Rows of each statement.
pub(super) type ResultSets = Vec<Vec<RowReader>>;

/// Selects all families.
pub(super) fn families() -> SqlStatement {
    SqlStatement::new(format!("{} ORDER BY id", FAMILIES.select("revision > 0")), [])
}

/// Selects the revision of a family: the number of its changes.
pub(super) fn revision(family: &str) -> SqlStatement {
    SqlStatement::new("SELECT revision FROM families WHERE id = $1", [family.into()])
}

/// Selects all records of a calendar snapshot.
pub(super) fn select_snapshot(family: &str) -> Vec<SqlStatement> {
    let mut statements = vec![SqlStatement::new(FAMILIES.select("id = $1"), [family.into()])];
    statements.extend([MEMBERS, CALENDARS, RESOURCES, RULES, CONFLICTS].map(|table| table.select_for_family(family)));
    statements.extend(events(family, "<>"));
    statements
}

/// Selects the rejected events, which are not part of a snapshot.
pub(super) fn rejected(family: &str) -> Vec<SqlStatement> {
    events(family, "=").into()
}

/// Selects the ids of the rejected events.
pub(super) fn rejected_ids(family: &str) -> SqlStatement {
    SqlStatement::new("SELECT id FROM events WHERE family = $1 AND status = 'rejected'", [family.into()])
}

fn events(family: &str, operator: &str) -> [SqlStatement; 3] {
    let select = |table: &str, columns: &str| {
        format!(
            "SELECT p.event, {columns} FROM {table} p JOIN events e ON e.family = p.family AND e.id = p.event \
             WHERE p.family = $1 AND e.status {operator} 'rejected' ORDER BY p.event, p.position"
        )
    };
    [
        EVENTS.select(&format!("family = $1 AND status {operator} 'rejected'")),
        select("participants", "p.member, p.is_required"),
        select("reservations", "p.resource"),
    ]
    .map(|sql| SqlStatement::new(sql, [family.into()]))
}

/// Selects the last audit entries, newest first.
pub(super) fn entries(family: &str, limit: u32) -> SqlStatement {
    let last = "revision > (SELECT revision FROM families WHERE id = $2) - $3";
    let sql = AUDIT.select(&format!("family = $1 AND {last} ORDER BY revision DESC, position"));
    SqlStatement::new(sql, [family.into(), family.into(), limit.into()])
}

/// Selects the audit entries since a time, newest first.
pub(super) fn entries_since(family: &str, micros: i64) -> SqlStatement {
    let sql = AUDIT.select("family = $1 AND at_micros >= $2 ORDER BY revision DESC, position");
    SqlStatement::new(sql, [family.into(), super::sql_value::SqlValue::Number(Some(micros))])
}

/// Selects the audit entry of one revision.
pub(super) fn entry(family: &str, revision: u64) -> SqlStatement {
    let sql = AUDIT.select("family = $1 AND revision = $2 ORDER BY revision, position");
    SqlStatement::new(sql, [family.into(), revision.into()])
}

/// Selects the audit entry of an idempotent task.
pub(super) fn entries_for_task(family: &str, task: &str) -> SqlStatement {
    let sql = AUDIT.select("family = $1 AND task = $2 ORDER BY revision, position");
    SqlStatement::new(sql, [family.into(), task.into()])
}

/// Decodes the result of [`families`].
pub(super) fn to_families(result_sets: ResultSets) -> Result<Vec<Family>> {
    result_sets.into_iter().flatten().map(|row| Ok(to_family(row)?.0)).collect()
}

/// Decodes the result of [`revision`]; `None` if there is no such family.
pub(super) fn to_revision(result_sets: ResultSets) -> Result<Option<u64>> {
    result_sets.into_iter().flatten().next().map(|mut row| row.number()).transpose()
}

/// Decodes the result of [`select_snapshot`]; `None` if there is no such family.
pub(super) fn to_snapshot(result_sets: ResultSets) -> Result<Option<CalendarSnapshot>> {
    let mut result_sets = result_sets.into_iter();
    let mut next = || result_sets.next().unwrap_or_default().into_iter();
    let Some(family) = next().next() else { return Ok(None) };
    let (family, revision) = to_family(family)?;
    let mut snapshot = CalendarSnapshot::new(family);
    snapshot.revision = revision;
    snapshot.members = by_id(next().map(to_member), |member| &member.id)?;
    snapshot.calendars = by_id(next().map(to_calendar), |calendar| &calendar.id)?;
    snapshot.resources = by_id(next().map(to_resource), |resource| &resource.id)?;
    snapshot.rules = by_id(next().map(to_rule), |rule| &rule.id)?;
    snapshot.conflicts = by_id(next().map(to_conflict), |conflict| &conflict.id)?;
    for event in to_events(result_sets.collect())? {
        snapshot.apply(CalendarChange::Event(Box::new(event)));
    }
    Ok(Some(snapshot))
}

fn by_id<T: Clone>(
    records: impl Iterator<Item = Result<T>>,
    id: fn(&T) -> &String,
) -> Result<imbl::OrdMap<String, Arc<T>>> {
    records.map(|record| record.map(|record| (id(&record).clone(), Arc::new(record)))).collect()
}

/// Decodes the result of [`rejected`], and the last three result sets of [`select_snapshot`].
pub(super) fn to_events(result_sets: ResultSets) -> Result<Vec<Event>> {
    let mut result_sets = result_sets.into_iter();
    let (events, participants, resources) = (result_sets.next(), result_sets.next(), result_sets.next());
    let mut participants_by_event: BTreeMap<String, Vec<Participant>> = BTreeMap::new();
    for mut row in participants.into_iter().flatten() {
        let event_participants = participants_by_event.entry(row.text()?).or_default();
        event_participants.push(Participant { member: row.text()?, is_required: row.flag()? });
    }
    let mut used: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for mut row in resources.into_iter().flatten() {
        used.entry(row.text()?).or_default().push(row.text()?);
    }
    let events = events.into_iter().flatten().map(|row| {
        let mut event = to_event(row)?;
        event.participants = participants_by_event.remove(&event.id).unwrap_or_default();
        event.resources = used.remove(&event.id).unwrap_or_default();
        Ok(event)
    });
    events.collect()
}

/// Decodes the result of [`entries`] and the other queries of audit entries.
pub(super) fn to_entries(result_sets: ResultSets) -> Result<Vec<AuditEntry>> {
    let mut entries: Vec<AuditEntry> = Vec::new();
    for mut row in result_sets.into_iter().flatten() {
        let (revision, _position) = (row.number()?, row.number::<u64>()?);
        let (at, actor, action, undoes) = (row.micros()?, row.text()?, row.text()?, row.maybe_number()?);
        let image =
            RecordChange { kind: row.word()?, id: row.text()?, before: row.maybe_json()?, after: row.maybe_json()? };
        let task = row.maybe_text()?;
        match entries.last_mut().filter(|entry| entry.revision == revision) {
            Some(entry) => entry.images.push(image),
            None => entries.push(AuditEntry { revision, at, actor, action, undoes, task, images: vec![image] }),
        }
    }
    Ok(entries)
}

fn to_family(mut row: RowReader) -> Result<(Family, u64)> {
    let (id, name, zone) = (row.text()?, row.text()?, row.text()?);
    let family = Family { id, name, zone, week_start: row.word()?, always_ask: row.flag()? };
    Ok((family, row.number()?))
}

fn to_member(mut row: RowReader) -> Result<Member> {
    let (id, name, aliases) = (row.text()?, row.text()?, row.json()?);
    Ok(Member { id, name, aliases, role: row.word()?, zone: row.maybe_text()?, preferences: row.json()? })
}

fn to_calendar(mut row: RowReader) -> Result<Calendar> {
    Ok(Calendar { id: row.text()?, name: row.text()?, owner: row.maybe_text()?, visibility: row.word()? })
}

fn to_resource(mut row: RowReader) -> Result<Resource> {
    let (id, name, aliases) = (row.text()?, row.text()?, row.json()?);
    Ok(Resource { id, name, aliases, kind: row.text()?, capacity: row.number()?, attributes: row.json()? })
}

fn to_rule(mut row: RowReader) -> Result<Constraint> {
    let (id, name, member, _kind) = (row.text()?, row.text()?, row.maybe_text()?, row.text()?);
    let (kind, weight) = (row.json()?, row.maybe_number()?);
    let strength = weight.map_or(ConstraintStrength::Hard, ConstraintStrength::Soft);
    Ok(Constraint { id, name, member, kind, strength, is_active: row.flag()? })
}

fn to_conflict(mut row: RowReader) -> Result<Conflict> {
    Ok(Conflict {
        id: row.text()?,
        kind: row.word()?,
        severity: row.word()?,
        conflicting_event_id: row.maybe_text()?,
        conflicting_event_title: row.maybe_text()?,
        participants_affected: row.json()?,
        details: row.text()?,
    })
}

/// Decodes an event without its participants and resources.
fn to_event(mut row: RowReader) -> Result<Event> {
    let (id, uid, calendar, title) = (row.text()?, row.text()?, row.text()?, row.text()?);
    let span = TimeRange::new(row.time()?, row.time()?)
        .ok_or_else(|| corrupt_row(format!("event `{id}` ends before it starts")))?;
    let (zone, is_all_day) = (row.text()?, row.flag()?);
    let (rule, exdates, rdates) = (row.maybe_text()?, row.json()?, row.json()?);
    let (series, series_start) = (row.maybe_text()?, row.maybe_local_datetime()?);
    Ok(Event {
        id,
        uid,
        calendar,
        title,
        span,
        zone,
        is_all_day,
        participants: Vec::new(),
        resources: Vec::new(),
        recurrence: rule.map(|rule| Recurrence { rule, exdates, rdates }),
        recurrence_override: series.zip(series_start).map(|(series, start)| RecurrenceOverride { series, start }),
        priority: row.word()?,
        flexibility: row.word()?,
        status: row.word()?,
        owner: row.text()?,
        sequence: row.number()?,
        location: row.text()?,
        notes: row.text()?,
        preserved_properties: row.json()?,
        created_at: row.time()?,
        updated_at: row.time()?,
    })
}
