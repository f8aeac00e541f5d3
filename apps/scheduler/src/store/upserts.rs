//! Encodes records of a family as rows.
//!
//! Records are destructured field by field, so that a new field does not compile before it has a column.

use serde_json::Value;
use superstep::{Error, Result};

use super::sql_value::{SqlStatement, SqlValue};
use crate::calendar::{Calendar, Constraint, ConstraintStrength, Event, Family, Member, Resource};
use crate::models::{Conflict, EventStatus};
use crate::store::audit::{AuditEntry, RecordKind};

/// A table: its name, its columns, and the number of leading columns that form its primary key.
pub(super) struct Table {
    name: &'static str,
    key: usize,
    columns: &'static [&'static str],
}

pub(super) const FAMILIES: Table =
    Table { name: "families", key: 1, columns: &["id", "name", "zone", "week_start", "always_ask", "revision"] };
pub(super) const MEMBERS: Table =
    Table { name: "members", key: 2, columns: &["family", "id", "name", "aliases", "role", "zone", "preferences"] };
pub(super) const CALENDARS: Table =
    Table { name: "calendars", key: 2, columns: &["family", "id", "name", "owner", "visibility"] };
pub(super) const RESOURCES: Table = Table {
    name: "resources",
    key: 2,
    columns: &["family", "id", "name", "aliases", "kind", "capacity", "attributes"],
};
pub(super) const RULES: Table = Table {
    name: "rules",
    key: 2,
    columns: &["family", "id", "name", "member", "kind", "settings", "weight", "is_active"],
};
#[rustfmt::skip]
pub(super) const EVENTS: Table = Table {
    name: "events",
    key: 2,
    columns: &[
        "family", "id", "uid", "calendar", "title", "start_time", "end_time", "zone", "is_all_day", "rule", "left_out",
        "added", "series", "series_start", "priority", "flexibility", "status", "owner", "sequence", "location", "notes",
        "extra", "created_at", "updated_at",
    ],
};
const PARTICIPANTS: Table =
    Table { name: "participants", key: 3, columns: &["family", "event", "member", "position", "is_required"] };
const RESERVATIONS: Table = Table {
    name: "reservations",
    key: 3,
    columns: &["family", "event", "resource", "position", "start_time", "end_time", "rule", "state"],
};
pub(super) const CONFLICTS: Table = Table {
    name: "conflicts",
    key: 2,
    columns: &["family", "id", "kind", "severity", "other_event", "other_title", "participants", "details"],
};
#[rustfmt::skip]
pub(super) const AUDIT: Table = Table {
    name: "audit",
    key: 3,
    columns: &[
        "family", "revision", "position", "at_micros", "who", "action", "undoes", "kind", "thing", "before_image",
        "after_image", "task",
    ],
};

impl Table {
    /// Selects all columns except `family` of the rows of a family. The rows are not sorted.
    pub(super) fn select_for_family(&self, family: &str) -> SqlStatement {
        SqlStatement::new(self.select("family = $1"), [family.into()])
    }

    /// Returns a query of all columns except `family`, with a condition.
    pub(super) fn select(&self, condition: &str) -> String {
        let columns: Vec<&str> = self.columns.iter().copied().filter(|column| *column != "family").collect();
        format!("SELECT {} FROM {} WHERE {condition}", columns.join(", "), self.name)
    }

    /// Inserts a row, or updates the row with the same key.
    fn put(&self, cells: Vec<SqlValue>) -> SqlStatement {
        let (key, rest) = self.columns.split_at(self.key);
        let assignments: Vec<String> = rest.iter().map(|column| format!("{column} = excluded.{column}")).collect();
        let clause = format!("ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), assignments.join(", "));
        SqlStatement::new(format!("{} {clause}", self.insert()), cells)
    }

    /// Inserts a row unless one with the same key exists.
    fn put_first(&self, cells: Vec<SqlValue>) -> SqlStatement {
        SqlStatement::new(format!("{} ON CONFLICT DO NOTHING", self.insert()), cells)
    }

    fn add(&self, cells: Vec<SqlValue>) -> SqlStatement {
        SqlStatement::new(self.insert(), cells)
    }

    fn insert(&self) -> String {
        let placeholders: Vec<String> = (1..=self.columns.len()).map(|number| format!("${number}")).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", self.name, self.columns.join(", "), placeholders.join(", "))
    }

    fn remove(&self, family: &str, id: &str) -> SqlStatement {
        let sql = format!("DELETE FROM {} WHERE family = $1 AND {} = $2", self.name, self.columns[1]);
        SqlStatement::new(sql, [family.into(), id.into()])
    }
}

/// Inserts a new family unless it exists.
pub(super) fn insert_family_if_missing(family: &Family) -> Result<SqlStatement> {
    Ok(FAMILIES.put_first(family_cells(family, 0)?))
}

pub(super) fn put_family(family: &Family, revision: u64) -> Result<SqlStatement> {
    Ok(FAMILIES.put(family_cells(family, revision)?))
}

fn family_cells(family: &Family, revision: u64) -> Result<Vec<SqlValue>> {
    let Family { id, name, zone, week_start, always_ask } = family;
    let week_start = SqlValue::enum_name(week_start)?;
    Ok(vec![(&**id).into(), (&**name).into(), (&**zone).into(), week_start, (*always_ask).into(), revision.into()])
}

/// Updates the revision of a family, by which readers detect changes.
pub(super) fn put_revision(family: &str, revision: u64) -> SqlStatement {
    SqlStatement::new("UPDATE families SET revision = $1 WHERE id = $2", [revision.into(), family.into()])
}

pub(super) fn upsert_member(family: &str, member: &Member) -> Result<SqlStatement> {
    let Member { id, name, aliases, role, zone, preferences } = member;
    Ok(MEMBERS.put(vec![
        family.into(),
        (&**id).into(),
        (&**name).into(),
        SqlValue::json(aliases)?,
        SqlValue::enum_name(role)?,
        zone.into(),
        SqlValue::json(preferences)?,
    ]))
}

pub(super) fn put_calendar(family: &str, calendar: &Calendar) -> Result<SqlStatement> {
    let Calendar { id, name, owner, visibility } = calendar;
    let visibility = SqlValue::enum_name(visibility)?;
    Ok(CALENDARS.put(vec![family.into(), (&**id).into(), (&**name).into(), owner.into(), visibility]))
}

pub(super) fn put_resource(family: &str, resource: &Resource) -> Result<SqlStatement> {
    let Resource { id, name, aliases, kind, capacity, attributes } = resource;
    Ok(RESOURCES.put(vec![
        family.into(),
        (&**id).into(),
        (&**name).into(),
        SqlValue::json(aliases)?,
        (&**kind).into(),
        (*capacity).into(),
        SqlValue::json(attributes)?,
    ]))
}

pub(super) fn upsert_constraint(family: &str, rule: &Constraint) -> Result<SqlStatement> {
    let Constraint { id, name, member, kind, strength, is_active } = rule;
    let settings = serde_json::to_value(kind).map_err(|error| Error::internal(error.to_string()))?;
    let weight = match strength {
        ConstraintStrength::Hard => None,
        ConstraintStrength::Soft(weight) => Some(i64::from(*weight)),
    };
    Ok(RULES.put(vec![
        family.into(),
        (&**id).into(),
        (&**name).into(),
        member.into(),
        settings.get("kind").and_then(Value::as_str).unwrap_or_default().into(),
        SqlValue::json(&settings)?,
        SqlValue::Number(weight),
        (*is_active).into(),
    ]))
}

/// Writes an event with its participants and resources. `is_new` is true if the event has no row yet.
pub(super) fn upsert_event(family: &str, event: &Event, is_new: bool) -> Result<Vec<SqlStatement>> {
    let mut statements = vec![EVENTS.put(event_cells(family, event)?)];
    if !is_new {
        statements.push(PARTICIPANTS.remove(family, &event.id));
        statements.push(RESERVATIONS.remove(family, &event.id));
    }
    for (position, participant) in (0_u32..).zip(&event.participants) {
        let key = [family.into(), (&*event.id).into(), (&*participant.member).into()];
        let details = [position.into(), participant.is_required.into()];
        statements.push(PARTICIPANTS.put([&key[..], &details].concat()));
    }
    let state = match event.status {
        EventStatus::Proposed | EventStatus::Validated => "tentative",
        EventStatus::Confirmed => "confirmed",
        EventStatus::Rejected => "released",
    };
    let rule = event.recurrence.as_ref().map(|recurrence| recurrence.rule.clone());
    for (position, resource) in (0_u32..).zip(&event.resources) {
        let key = [family.into(), (&*event.id).into(), (&**resource).into(), position.into()];
        let times = [event.span.start.into(), event.span.end.into(), (&rule).into(), state.into()];
        statements.push(RESERVATIONS.put([key, times].concat()));
    }
    Ok(statements)
}

fn event_cells(family: &str, event: &Event) -> Result<Vec<SqlValue>> {
    #[rustfmt::skip]
    let Event {
        id, uid, calendar, title, span, zone, is_all_day, participants: _, resources: _, recurrence,
        recurrence_override, priority, flexibility, status, owner, sequence, location, notes, preserved_properties, created_at, updated_at,
    } = event;
    let (rule, exdates, rdates) = match recurrence {
        Some(recurrence) => (Some(recurrence.rule.clone()), &recurrence.exdates[..], &recurrence.rdates[..]),
        None => (None, &[][..], &[][..]),
    };
    Ok(vec![
        family.into(),
        (&**id).into(),
        (&**uid).into(),
        (&**calendar).into(),
        (&**title).into(),
        span.start.into(),
        span.end.into(),
        (&**zone).into(),
        (*is_all_day).into(),
        SqlValue::Text(rule),
        SqlValue::json(&exdates)?,
        SqlValue::json(&rdates)?,
        SqlValue::Text(recurrence_override.as_ref().map(|replaced| replaced.series.clone())),
        SqlValue::Text(recurrence_override.as_ref().map(|replaced| replaced.start.to_string())),
        SqlValue::enum_name(priority)?,
        SqlValue::enum_name(flexibility)?,
        SqlValue::enum_name(status)?,
        (&**owner).into(),
        (*sequence).into(),
        (&**location).into(),
        (&**notes).into(),
        SqlValue::json(preserved_properties)?,
        (*created_at).into(),
        (*updated_at).into(),
    ])
}

/// Replaces all conflicts of a family.
pub(super) fn put_conflicts(family: &str, conflicts: &[&Conflict]) -> Result<Vec<SqlStatement>> {
    let mut statements = vec![SqlStatement::new("DELETE FROM conflicts WHERE family = $1", [family.into()])];
    for conflict in conflicts {
        #[rustfmt::skip]
        let Conflict {
            id, kind, severity, conflicting_event_id, conflicting_event_title, participants_affected, details,
        } = conflict;
        statements.push(CONFLICTS.put(vec![
            family.into(),
            (&**id).into(),
            SqlValue::enum_name(kind)?,
            SqlValue::enum_name(severity)?,
            conflicting_event_id.into(),
            conflicting_event_title.into(),
            SqlValue::json(participants_affected)?,
            (&**details).into(),
        ]));
    }
    Ok(statements)
}

/// Deletes a record.
pub(super) fn remove(family: &str, kind: RecordKind, id: &str) -> Result<SqlStatement> {
    let table = match kind {
        RecordKind::Member => MEMBERS,
        RecordKind::Resource => RESOURCES,
        RecordKind::Rule => RULES,
        RecordKind::Event => EVENTS,
        RecordKind::Family | RecordKind::Calendar | RecordKind::Conflicts => {
            return Err(Error::internal(format!("records of kind {kind:?} cannot be removed")));
        }
    };
    Ok(table.remove(family, id))
}

/// Inserts an audit entry.
pub(super) fn put_entry(family: &str, entry: &AuditEntry) -> Result<Vec<SqlStatement>> {
    let AuditEntry { revision, at, actor, action, undoes, task, images } = entry;
    let mut statements = Vec::new();
    for (position, image) in (0_u32..).zip(images) {
        let json = |image: &Option<Value>| SqlValue::Text(image.as_ref().map(Value::to_string));
        statements.push(AUDIT.add(vec![
            family.into(),
            (*revision).into(),
            position.into(),
            SqlValue::Number(Some(at.as_unix_micros())),
            (&**actor).into(),
            (&**action).into(),
            undoes.map_or(SqlValue::Number(None), SqlValue::from),
            SqlValue::enum_name(&image.kind)?,
            (&*image.id).into(),
            json(&image.before),
            json(&image.after),
            SqlValue::Text(task.clone()),
        ]));
    }
    Ok(statements)
}
