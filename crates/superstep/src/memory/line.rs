//! The checkpoints of one graph on one thread, in the order they were saved.
//!
//! A checkpoint holds what it changed and shares the rest with its parent. The newest is the last one saved, whatever
//! its id or time says. Fields have numbers here, given when they are first seen and never taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;
use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, FieldChange, Pending};
use superstep_core::error::{Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::refusal::missing;
use superstep_core::port::{At, Candidate, Commit, HistoryQuery, Loaded, PruneReport, Retention, StateRef};

use super::known::Known;
use super::version::{Heads, Slots, Table, Version};

/// Names that are looked through faster than looked up.
const FEW: usize = 8;

/// A checkpoint with its values and what is known of its tasks.
#[derive(Clone)]
struct Saved {
    checkpoint: Arc<Checkpoint>,
    table: Arc<Table>,
    order: u64,
    known: Option<Box<Known>>,
}

impl Saved {
    fn pending(&self) -> &[Pending] {
        self.known.as_ref().map_or(&[], |known| known.entries())
    }
}

/// A history.
#[derive(Clone, Default)]
pub(super) struct Line {
    names: Vec<Arc<str>>,
    /// The numbers of names, once there are more than a few.
    numbers: BTreeMap<Arc<str>, u32>,
    saved: Vec<Saved>,
    /// Where each checkpoint is in `saved`, sorted by id: ids rise as a rule, so that a new one goes to the end.
    places: Vec<(CheckpointId, u32)>,
    /// The values of the newest checkpoint.
    heads: Heads,
    /// How many checkpoints were ever saved.
    order: u64,
}

/// A checkpoint that is ready to be saved.
struct Ready {
    made: Slots,
    parent: Option<Arc<Table>>,
    /// The values it builds on, when these are not the newest.
    heads: Option<Heads>,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.saved.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    pub(super) fn has(&self, id: CheckpointId) -> bool {
        self.place(id).is_some()
    }

    /// Saves a checkpoint and what is known of tasks. False when all of it was saved before.
    pub(super) fn commit(&mut self, commit: &Commit) -> Result<bool> {
        let ready = match &commit.checkpoint {
            Some(checkpoint) => match self.place(checkpoint.id) {
                Some(place) => return self.check_repeat(place, checkpoint, commit).map(|()| false),
                None => Some((checkpoint, self.make_ready(checkpoint, commit)?)),
            },
            None => None,
        };
        self.check_pending(commit)?;
        // Nothing fails from here on.
        if let Some((checkpoint, ready)) = ready {
            self.add(checkpoint, ready);
        }
        for pending in &commit.pending {
            if let Some(place) = self.place(pending.checkpoint) {
                self.saved[place].known.get_or_insert_default().put(pending);
            }
        }
        Ok(true)
    }

    fn place(&self, id: CheckpointId) -> Option<usize> {
        match self.places.last()? {
            (last, place) if *last == id => Some(*place as usize),
            (last, _) if *last < id => None,
            _ => {
                let index = self.places.binary_search_by_key(&id, |(id, _)| *id).ok()?;
                Some(self.places[index].1 as usize)
            }
        }
    }

    fn check_pending(&self, commit: &Commit) -> Result<()> {
        let fresh = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        let is_unknown = |id: &CheckpointId| Some(*id) != fresh && self.place(*id).is_none();
        let mut named = commit.pending.iter().map(|pending| pending.checkpoint);
        named.find(is_unknown).map_or(Ok(()), |id| Err(missing(id)))
    }

    fn make_ready(&mut self, checkpoint: &Checkpoint, commit: &Commit) -> Result<Ready> {
        let (mut parent, mut heads) = (None, None);
        match checkpoint.parent {
            None => heads = Some(Heads::new()),
            Some(id) => {
                let place = self.place(id).ok_or_else(|| missing(id))?;
                let table = self.saved[place].table.clone();
                if place + 1 != self.saved.len() {
                    let shared = table.heads(self.names.len());
                    heads = Some(shared.into_iter().map(|head| head.cloned()).collect());
                }
                parent = Some(table);
            }
        }
        let changes = commit.changes.iter().filter(|change| !change.change.is_unchanged());
        // A number is given for good, also when the commit comes to nothing: without a value nobody sees it.
        let numbers: SmallVec<[u32; 4]> = changes.clone().map(|change| self.number(&change.field)).collect();
        let base = heads.as_ref().unwrap_or(&self.heads);
        let mut made = Slots::with_capacity(numbers.len());
        for (number, change) in numbers.into_iter().zip(changes) {
            let is_in_order = made.last().is_none_or(|(last, _)| *last < number);
            if !is_in_order && made.iter().any(|(other, _)| *other == number) {
                return Err(Error::internal(format!("field `{}` changes twice in one commit", change.field)));
            }
            let head = base.get(number as usize).and_then(Option::as_ref);
            made.push((number, Arc::new(version(head, change, commit.state.as_ref(), self.order)?)));
        }
        Ok(Ready { made, parent, heads })
    }

    fn number(&mut self, field: &Arc<str>) -> u32 {
        if let Some(number) = self.find(field) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(field.clone());
        if self.names.len() > FEW {
            let known = self.numbers.len();
            self.numbers.extend(self.names[known..].iter().cloned().zip(known as u32..));
        }
        number
    }

    fn find(&self, field: &Arc<str>) -> Option<u32> {
        if self.names.len() > FEW {
            return self.numbers.get(field).copied();
        }
        let place = self.names.iter().position(|name| Arc::ptr_eq(name, field) || name == field);
        place.map(|place| place as u32)
    }

    fn add(&mut self, checkpoint: &Arc<Checkpoint>, ready: Ready) {
        let Ready { made, parent, heads } = ready;
        if let Some(heads) = heads {
            self.heads = heads;
        }
        self.heads.resize(self.names.len(), None);
        for (number, version) in &made {
            self.heads[*number as usize] = Some(version.clone());
        }
        let table = match parent {
            Some(parent) => Table::after(&parent, made, &self.heads),
            None => Table::whole(&self.heads),
        };
        let entry = (checkpoint.id, self.saved.len() as u32);
        let at = match self.places.last() {
            Some((last, _)) if *last > entry.0 => self.places.partition_point(|(id, _)| *id < entry.0),
            _ => self.places.len(),
        };
        self.places.insert(at, entry);
        self.saved.push(Saved { checkpoint: checkpoint.clone(), table: table.into(), order: self.order, known: None });
        self.order += 1;
    }

    /// A commit that is sent again changes nothing; another one under the same id is refused.
    fn check_repeat(&self, place: usize, checkpoint: &Arc<Checkpoint>, commit: &Commit) -> Result<()> {
        let saved = &self.saved[place];
        let is_same = Arc::ptr_eq(&saved.checkpoint, checkpoint)
            || (saved.checkpoint == *checkpoint && self.has_changes(saved, commit));
        if is_same {
            Ok(())
        } else {
            Err(Error::internal(format!("checkpoint {} was saved with other content", checkpoint.id)))
        }
    }

    fn has_changes(&self, saved: &Saved, commit: &Commit) -> bool {
        let heads = saved.table.heads(self.names.len());
        let made = |version: &&Arc<Version>| version.made_by == saved.order;
        let mut changes = commit.changes.iter().filter(|change| !change.change.is_unchanged());
        let stored = heads.iter().flatten().copied().filter(made).count();
        stored == changes.clone().count()
            && changes.all(|change| {
                let number = self.find(&change.field);
                let version = number.and_then(|number| heads[number as usize]).filter(made);
                version.is_some_and(|version| is_made_by(version, change, commit.state.as_ref()))
            })
    }

    pub(super) fn load(&self, at: At) -> Option<Loaded> {
        let place = match at {
            At::Latest | At::Newer(_) => self.saved.len().checked_sub(1)?,
            At::Id(id) => self.place(id)?,
        };
        let saved = &self.saved[place];
        if at == At::Newer(saved.checkpoint.id) {
            let (checkpoint, pending) = (saved.checkpoint.clone(), saved.pending().to_vec());
            return Some(Loaded { checkpoint, fields: Vec::new(), pending });
        }
        Some(self.loaded(place))
    }

    fn loaded(&self, place: usize) -> Loaded {
        let saved = &self.saved[place];
        let field =
            |(number, version): (usize, Option<&Arc<Version>>)| Some((self.names[number].clone(), version?.log()));
        let mut fields = Vec::with_capacity(self.names.len());
        if place + 1 == self.saved.len() {
            fields.extend(self.heads.iter().map(Option::as_ref).enumerate().filter_map(field));
        } else {
            fields.extend(saved.table.heads(self.names.len()).into_iter().enumerate().filter_map(field));
        }
        Loaded { checkpoint: saved.checkpoint.clone(), fields, pending: saved.pending().to_vec() }
    }

    /// Newest first.
    pub(super) fn history(&self, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let end = match query.before {
            Some(id) => self.place(id).ok_or_else(|| missing(id))?,
            None => self.saved.len(),
        };
        let wanted = (0..end).rev().filter(|place| query.matches(&self.saved[*place].checkpoint));
        Ok(wanted.take(query.limit.unwrap_or(usize::MAX)).map(|place| self.loaded(place)).collect())
    }

    /// The same history on another thread.
    pub(super) fn copy_for(&self, thread: &ThreadId) -> Self {
        let mut copy = self.clone();
        for saved in &mut copy.saved {
            saved.checkpoint = Arc::new(Checkpoint { thread: thread.clone(), ..(*saved.checkpoint).clone() });
        }
        copy
    }

    /// Removes what need not stay.
    pub(super) fn prune(&mut self, retention: &Retention, report: &mut PruneReport) {
        let candidates: Vec<_> =
            self.saved.iter().map(|saved| Candidate::new(&saved.checkpoint, saved.pending())).collect();
        let mut stays = retention.stays(&candidates).into_iter();
        let (kept, gone): (Vec<_>, Vec<_>) = self.saved.iter().partition(|_| stays.next().unwrap_or(true));
        let mut seen = BTreeSet::new();
        self.visit(kept.iter().copied(), &mut seen, |_| {});
        self.visit(gone.iter().copied(), &mut seen, |version| report.bytes += version.bytes());
        report.checkpoints += gone.len();
        if !retention.dry_run && !gone.is_empty() {
            let kept = kept.into_iter().cloned().collect();
            self.keep(kept);
        }
    }

    fn keep(&mut self, kept: Vec<Saved>) {
        self.saved = kept;
        self.places = self.saved.iter().enumerate().map(|(place, saved)| (saved.checkpoint.id, place as u32)).collect();
        self.places.sort_unstable();
        let newest = self.saved.last().map(|saved| saved.table.heads(self.names.len()));
        self.heads = newest.into_iter().flatten().map(|head| head.cloned()).collect();
    }

    /// How long all values are as JSON, each counted once; so is a message that several lists share.
    pub(super) fn bytes(&self) -> u64 {
        let (mut bytes, mut messages) = (0, BTreeSet::new());
        self.visit(self.saved.iter(), &mut BTreeSet::new(), |version| bytes += version.bytes_beside(&mut messages));
        bytes
    }

    /// Visits every version that these checkpoints need and that was not seen before.
    fn visit<'a>(
        &self,
        saved: impl Iterator<Item = &'a Saved>,
        seen: &mut BTreeSet<*const Version>,
        mut see: impl FnMut(&Version),
    ) {
        for saved in saved {
            for head in saved.table.heads(self.names.len()).into_iter().flatten() {
                // What a seen version builds on was seen with it.
                head.back().take_while(|version| seen.insert(std::ptr::from_ref(*version))).for_each(&mut see);
            }
        }
    }
}

/// One change on top of what is there, or a whole value where the changes outweigh it or there is nothing to build on.
fn version(head: Option<&Arc<Version>>, change: &FieldChange, state: Option<&StateRef>, order: u64) -> Result<Version> {
    let FieldChange { field, change, part } = change;
    if *change == Change::Set {
        return Ok(Version::whole(part.clone(), order));
    }
    let whole = || state.and_then(|state| state.full(field));
    match head {
        Some(head) => {
            let copy = if head.is_full(change) { whole() } else { None };
            Ok(copy.map_or_else(
                || Version::after(head, change.clone(), part.clone(), order),
                |copy| Version::whole_after(head, copy, order),
            ))
        }
        None => whole()
            .map(|copy| Version::whole(copy, order))
            .ok_or_else(|| Error::internal(format!("field `{field}` has no value that its change could be made on"))),
    }
}

/// Whether a version is what a change left behind; it may be a whole value in place of the change.
fn is_made_by(version: &Version, change: &FieldChange, state: Option<&StateRef>) -> bool {
    if version.change == change.change {
        return version.part == change.part;
    }
    let whole = state.and_then(|state| state.full(&change.field));
    version.change == Change::Set && whole.is_none_or(|whole| whole == version.part)
}
