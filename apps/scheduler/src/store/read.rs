//! What a family has, out of rows: how each thing is read, and all of it as a board.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep::Result;

use super::cell::{Row, Statement, damaged};
use super::rows::{AUDIT, CALENDARS, CONFLICTS, EVENTS, FAMILIES, MEMBERS, RESOURCES, RULES};
use crate::audit::{Entry, Image};
use crate::calendar::{
    Board, Calendar, Change, Event, ExceptionOf, Family, Member, Participant, Recurrence, Resource, Rule, Span,
    Strength,
};
use crate::models::Conflict;

/// What was read, a list of rows for each statement.
pub(super) type Answers = Vec<Vec<Row>>;

/// All families.
pub(super) fn families() -> Statement {
    Statement::new(format!("{} ORDER BY id", FAMILIES.select("revision > 0")), [])
}

/// How often a family was changed.
pub(super) fn revision(family: &str) -> Statement {
    Statement::new("SELECT revision FROM families WHERE id = $1", [family.into()])
}

/// All that a board is made of.
pub(super) fn board(family: &str) -> Vec<Statement> {
    let mut statements = vec![Statement::new(FAMILIES.select("id = $1"), [family.into()])];
    statements.extend([MEMBERS, CALENDARS, RESOURCES, RULES, CONFLICTS].map(|table| table.of_family(family)));
    statements.extend(events(family, "<>"));
    statements
}

/// The events that are not on a board.
pub(super) fn rejected(family: &str) -> Vec<Statement> {
    events(family, "=").into()
}

/// The ids of the events that are not on a board.
pub(super) fn rejected_ids(family: &str) -> Statement {
    Statement::new("SELECT id FROM events WHERE family = $1 AND status = 'rejected'", [family.into()])
}

fn events(family: &str, is: &str) -> [Statement; 3] {
    let of = |table: &str, columns: &str| {
        format!(
            "SELECT p.event, {columns} FROM {table} p JOIN events e ON e.family = p.family AND e.id = p.event \
             WHERE p.family = $1 AND e.status {is} 'rejected' ORDER BY p.event, p.position"
        )
    };
    [
        EVENTS.select(&format!("family = $1 AND status {is} 'rejected'")),
        of("participants", "p.member, p.is_required"),
        of("reservations", "p.resource"),
    ]
    .map(|sql| Statement::new(sql, [family.into()]))
}

/// What was remembered of the last changes, the newest first.
pub(super) fn entries(family: &str, limit: u32) -> Statement {
    let last = "revision > (SELECT revision FROM families WHERE id = $2) - $3";
    let sql = AUDIT.select(&format!("family = $1 AND {last} ORDER BY revision DESC, position"));
    Statement::new(sql, [family.into(), family.into(), limit.into()])
}

/// What was remembered of changes from a moment on, the newest first.
pub(super) fn entries_since(family: &str, micros: i64) -> Statement {
    let sql = AUDIT.select("family = $1 AND at_micros >= $2 ORDER BY revision DESC, position");
    Statement::new(sql, [family.into(), super::cell::Cell::Number(Some(micros))])
}

/// What was remembered of one change.
pub(super) fn entry(family: &str, revision: u64) -> Statement {
    let sql = AUDIT.select("family = $1 AND revision = $2 ORDER BY revision, position");
    Statement::new(sql, [family.into(), revision.into()])
}

/// What was remembered of a piece of work that is done once.
pub(super) fn entries_of(family: &str, task: &str) -> Statement {
    let sql = AUDIT.select("family = $1 AND task = $2 ORDER BY revision, position");
    Statement::new(sql, [family.into(), task.into()])
}

/// The answer to [`families`].
pub(super) fn to_families(answers: Answers) -> Result<Vec<Family>> {
    answers.into_iter().flatten().map(|row| Ok(to_family(row)?.0)).collect()
}

/// The answer to [`revision`]: nothing when there is no such family.
pub(super) fn to_revision(answers: Answers) -> Result<Option<u64>> {
    answers.into_iter().flatten().next().map(|mut row| row.number()).transpose()
}

/// The answer to [`board`]: nothing when there is no such family.
pub(super) fn to_board(answers: Answers) -> Result<Option<Board>> {
    let mut answers = answers.into_iter();
    let mut next = || answers.next().unwrap_or_default().into_iter();
    let Some(family) = next().next() else { return Ok(None) };
    let (family, revision) = to_family(family)?;
    let mut board = Board::new(family);
    board.revision = revision;
    board.members = by_id(next().map(to_member), |member| &member.id)?;
    board.calendars = by_id(next().map(to_calendar), |calendar| &calendar.id)?;
    board.resources = by_id(next().map(to_resource), |resource| &resource.id)?;
    board.rules = by_id(next().map(to_rule), |rule| &rule.id)?;
    board.conflicts = by_id(next().map(to_conflict), |conflict| &conflict.id)?;
    for event in to_events(answers.collect())? {
        board.apply(Change::Event(Box::new(event)));
    }
    Ok(Some(board))
}

fn by_id<T: Clone>(
    things: impl Iterator<Item = Result<T>>,
    id: fn(&T) -> &String,
) -> Result<imbl::OrdMap<String, Arc<T>>> {
    things.map(|thing| thing.map(|thing| (id(&thing).clone(), Arc::new(thing)))).collect()
}

/// The answer to [`rejected`], and the end of that to [`board`].
pub(super) fn to_events(answers: Answers) -> Result<Vec<Event>> {
    let mut answers = answers.into_iter();
    let (events, participants, resources) = (answers.next(), answers.next(), answers.next());
    let mut taking_part: BTreeMap<String, Vec<Participant>> = BTreeMap::new();
    for mut row in participants.into_iter().flatten() {
        let of = taking_part.entry(row.text()?).or_default();
        of.push(Participant { member: row.text()?, is_required: row.flag()? });
    }
    let mut used: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for mut row in resources.into_iter().flatten() {
        used.entry(row.text()?).or_default().push(row.text()?);
    }
    let events = events.into_iter().flatten().map(|row| {
        let mut event = to_event(row)?;
        event.participants = taking_part.remove(&event.id).unwrap_or_default();
        event.resources = used.remove(&event.id).unwrap_or_default();
        Ok(event)
    });
    events.collect()
}

/// The answer to [`entries`] and its like.
pub(super) fn to_entries(answers: Answers) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for mut row in answers.into_iter().flatten() {
        let (revision, _position) = (row.number()?, row.number::<u64>()?);
        let (at, who, action, undoes) = (row.micros()?, row.text()?, row.text()?, row.maybe_number()?);
        let image = Image { kind: row.word()?, id: row.text()?, before: row.maybe_json()?, after: row.maybe_json()? };
        let task = row.maybe_text()?;
        match entries.last_mut().filter(|entry| entry.revision == revision) {
            Some(entry) => entry.images.push(image),
            None => entries.push(Entry { revision, at, who, action, undoes, task, images: vec![image] }),
        }
    }
    Ok(entries)
}

fn to_family(mut row: Row) -> Result<(Family, u64)> {
    let (id, name, zone) = (row.text()?, row.text()?, row.text()?);
    let family = Family { id, name, zone, week_start: row.word()?, always_ask: row.flag()? };
    Ok((family, row.number()?))
}

fn to_member(mut row: Row) -> Result<Member> {
    let (id, name, aliases) = (row.text()?, row.text()?, row.json()?);
    Ok(Member { id, name, aliases, role: row.word()?, zone: row.maybe_text()?, preferences: row.json()? })
}

fn to_calendar(mut row: Row) -> Result<Calendar> {
    Ok(Calendar { id: row.text()?, name: row.text()?, owner: row.maybe_text()?, visibility: row.word()? })
}

fn to_resource(mut row: Row) -> Result<Resource> {
    let (id, name, aliases) = (row.text()?, row.text()?, row.json()?);
    Ok(Resource { id, name, aliases, kind: row.text()?, capacity: row.number()?, attributes: row.json()? })
}

fn to_rule(mut row: Row) -> Result<Rule> {
    let (id, name, member, _kind) = (row.text()?, row.text()?, row.maybe_text()?, row.text()?);
    let (kind, weight) = (row.json()?, row.maybe_number()?);
    let strength = weight.map_or(Strength::Hard, Strength::Soft);
    Ok(Rule { id, name, member, kind, strength, is_active: row.flag()? })
}

fn to_conflict(mut row: Row) -> Result<Conflict> {
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

/// An event without who takes part and what it uses.
fn to_event(mut row: Row) -> Result<Event> {
    let (id, uid, calendar, title) = (row.text()?, row.text()?, row.text()?, row.text()?);
    let span =
        Span::new(row.time()?, row.time()?).ok_or_else(|| damaged(format!("event `{id}` ends before it starts")))?;
    let (zone, is_all_day) = (row.text()?, row.flag()?);
    let (rule, left_out, added) = (row.maybe_text()?, row.json()?, row.json()?);
    let (series, series_start) = (row.maybe_text()?, row.maybe_wall()?);
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
        recurrence: rule.map(|rule| Recurrence { rule, left_out, added }),
        exception_of: series.zip(series_start).map(|(series, start)| ExceptionOf { series, start }),
        priority: row.word()?,
        flexibility: row.word()?,
        status: row.word()?,
        owner: row.text()?,
        sequence: row.number()?,
        location: row.text()?,
        notes: row.text()?,
        extra: row.json()?,
        created_at: row.time()?,
        updated_at: row.time()?,
    })
}
