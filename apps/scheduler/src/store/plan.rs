//! What a change means for the rows: images for the audit, and statements.
//!
//! Pure: the same board and the same changes give the same statements. Only what is different in the end is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use super::cell::{Cell, Statement};
use super::{Changed, Scan, rows, sound};
use crate::audit::{Entry, Image, Kind};
use crate::calendar::{Board, Change, Event};
use crate::models::Conflict;

/// What somebody wants to change, and what is remembered of it.
#[derive(Clone)]
pub(super) struct Decision {
    pub(super) changes: Vec<Change>,
    /// The revision that it takes back.
    pub(super) undoes: Option<u64>,
}

impl From<Vec<Change>> for Decision {
    fn from(changes: Vec<Change>) -> Self {
        Self { changes, undoes: None }
    }
}

/// Who changes something, and when.
#[derive(Clone)]
pub(super) struct Author {
    pub(super) who: String,
    pub(super) action: String,
    pub(super) at: Time,
    /// The piece of work that does it, where that must not be done twice.
    pub(super) task: Option<String>,
}

/// What is going to be written.
pub(super) struct Plan {
    /// What is remembered of it; without images there is nothing to write.
    pub(super) entry: Entry,
    pub(super) statements: Vec<Statement>,
    changed: Changed,
}

/// What an event is told by where it is not on the board: the rejected ones, by id.
pub(super) type Rejected = BTreeMap<String, Event>;

impl Plan {
    pub(super) fn new(
        board: &Arc<Board>,
        rejected: &Rejected,
        decision: Decision,
        author: &Author,
        scan: Option<Scan>,
    ) -> Result<Self> {
        let Decision { mut changes, undoes } = decision;
        let mut after = (**board).clone();
        changes.iter().for_each(|change| after.apply(change.clone()));
        if let Some(scan) = scan.filter(|_| wants_scan(&changes)) {
            let conflicts = Change::Conflicts(scan(&after, author.at)?);
            after.apply(conflicts.clone());
            changes.push(conflicts);
        }
        let ends = last_events(&changes);
        sound::check(board, &after, &changes, &ends)?;
        let sight = Sight { board, after: &after, rejected, ends: &ends };
        let images = sight.images(&changes)?;
        let revision = board.revision + u64::from(!images.is_empty());
        let Author { who, action, at, task } = author.clone();
        let entry = Entry { revision, at, who, action, undoes, task, images };
        if entry.images.is_empty() {
            let changed = Changed { board: board.clone(), changes: Vec::new() };
            return Ok(Self { entry, statements: Vec::new(), changed });
        }
        let statements = sight.statements(&entry)?;
        after.revision = revision;
        Ok(Self { entry, statements, changed: Changed { board: Arc::new(after), changes } })
    }

    /// What whoever asked for it gets once it is written.
    pub(super) fn changed(&self) -> Changed {
        self.changed.clone()
    }
}

/// A scan is due when something changed that can be in the way, and nobody has looked yet.
fn wants_scan(changes: &[Change]) -> bool {
    let is_scanned = changes.iter().any(|change| matches!(change, Change::Conflicts(_)));
    let matters = |change: &Change| !matches!(change, Change::Family(_) | Change::Calendar(_) | Change::Conflicts(_));
    !is_scanned && changes.iter().any(matters)
}

/// What becomes of each event in the end; nothing when it goes.
fn last_events(changes: &[Change]) -> BTreeMap<String, Option<&Event>> {
    let ends = changes.iter().filter_map(|change| match change {
        Change::Event(event) => Some((event.id.clone(), Some(&**event))),
        Change::RemoveEvent(id) => Some((id.clone(), None)),
        _ => None,
    });
    ends.collect()
}

/// The board before and after.
struct Sight<'a> {
    board: &'a Board,
    after: &'a Board,
    rejected: &'a Rejected,
    ends: &'a BTreeMap<String, Option<&'a Event>>,
}

impl Sight<'_> {
    /// What is different in the end.
    fn images(&self, changes: &[Change]) -> Result<Vec<Image>> {
        let touched: BTreeSet<(Kind, String)> = changes.iter().map(touched).collect();
        let mut images = Vec::new();
        for (kind, id) in touched {
            let (before, after) = (self.before(kind, &id)?, self.after(kind, &id)?);
            if before != after {
                images.push(Image { kind, id, before, after });
            }
        }
        Ok(images)
    }

    fn before(&self, kind: Kind, id: &str) -> Result<Option<Value>> {
        match kind {
            Kind::Family if self.board.revision == 0 => Ok(None),
            Kind::Event if !self.board.events.contains_key(id) => image(self.rejected.get(id)),
            _ => seen(self.board, kind, id),
        }
    }

    fn after(&self, kind: Kind, id: &str) -> Result<Option<Value>> {
        match kind {
            Kind::Event => image(self.ends.get(id).copied().flatten()),
            _ => seen(self.after, kind, id),
        }
    }

    /// New and changed things first, in an order in which each finds what it names; then what goes, the other way round.
    fn statements(&self, entry: &Entry) -> Result<Vec<Statement>> {
        let family = &*self.board.family.id;
        let mut statements = Vec::new();
        for image in &entry.images {
            statements.extend(self.put(family, image, entry.revision)?);
        }
        for image in entry.images.iter().rev().filter(|image| image.after.is_none()) {
            statements.push(rows::remove(family, image.kind, &image.id)?);
        }
        statements.extend(rows::put_entry(family, entry)?);
        statements.push(rows::put_revision(family, entry.revision));
        writable(&statements)?;
        Ok(statements)
    }

    fn put(&self, family: &str, image: &Image, revision: u64) -> Result<Vec<Statement>> {
        let id = &*image.id;
        let one = |statement: Option<Result<Statement>>| statement.into_iter().collect();
        match image.kind {
            Kind::Family => one(Some(rows::put_family(&self.after.family, revision))),
            Kind::Member => one(self.after.members.get(id).map(|member| rows::put_member(family, member))),
            Kind::Calendar => one(self.after.calendars.get(id).map(|calendar| rows::put_calendar(family, calendar))),
            Kind::Resource => one(self.after.resources.get(id).map(|resource| rows::put_resource(family, resource))),
            Kind::Rule => one(self.after.rules.get(id).map(|rule| rows::put_rule(family, rule))),
            Kind::Event => match self.ends.get(id).copied().flatten() {
                Some(event) => rows::put_event(family, event, image.before.is_none()),
                None => Ok(Vec::new()),
            },
            Kind::Conflicts => rows::put_conflicts(family, &conflicts(self.after)),
        }
    }
}

fn touched(change: &Change) -> (Kind, String) {
    match change {
        Change::Family(family) => (Kind::Family, family.id.clone()),
        Change::Member(member) => (Kind::Member, member.id.clone()),
        Change::RemoveMember(id) => (Kind::Member, id.clone()),
        Change::Calendar(calendar) => (Kind::Calendar, calendar.id.clone()),
        Change::Resource(resource) => (Kind::Resource, resource.id.clone()),
        Change::RemoveResource(id) => (Kind::Resource, id.clone()),
        Change::Rule(rule) => (Kind::Rule, rule.id.clone()),
        Change::RemoveRule(id) => (Kind::Rule, id.clone()),
        Change::Event(event) => (Kind::Event, event.id.clone()),
        Change::RemoveEvent(id) => (Kind::Event, id.clone()),
        Change::Conflicts(_) => (Kind::Conflicts, String::new()),
    }
}

/// A thing of a board.
fn seen(board: &Board, kind: Kind, id: &str) -> Result<Option<Value>> {
    match kind {
        Kind::Family => image(Some(&*board.family)),
        Kind::Member => image(board.members.get(id)),
        Kind::Calendar => image(board.calendars.get(id)),
        Kind::Resource => image(board.resources.get(id)),
        Kind::Rule => image(board.rules.get(id)),
        Kind::Event => image(board.events.get(id)),
        Kind::Conflicts => image(Some(&conflicts(board))),
    }
}

fn conflicts(board: &Board) -> Vec<&Conflict> {
    board.conflicts.values().map(|conflict| &**conflict).collect()
}

fn image(thing: Option<&impl Serialize>) -> Result<Option<Value>> {
    let unwritable = |error: serde_json::Error| Error::new(Code::TypeMismatch, format!("this cannot be kept: {error}"));
    thing.map(|thing| serde_json::to_value(thing).map_err(unwritable)).transpose()
}

/// PostgreSQL has no text with this letter, and nobody writes it.
fn writable(statements: &[Statement]) -> Result<()> {
    let has_nul = |cell: &Cell| matches!(cell, Cell::Text(Some(text)) if text.contains('\0'));
    match statements.iter().flat_map(|statement| &statement.cells).any(has_nul) {
        true => Err(Error::new(Code::TypeMismatch, "a text has the letter NUL in it").help("leave it out")),
        false => Ok(()),
    }
}
