//! A thread in memory: the rows that its records come to.
//!
//! Nothing here reads or writes a store. Long values are not here, only where they are.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use superstep_core::checkpoint::Namespace;
use superstep_core::id::{CheckpointId, RunId, TaskId};
use superstep_core::port::ThreadStatus;

use super::record::{Added, Record, Removed};
use crate::log::{End, OriginRow, RemnantRow, Row};

/// How many records are remembered by their checksum.
const RECENT: usize = 64;

/// Everything of a thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    /// The number of the record it began with: one that was deleted and made anew is another.
    pub(super) life: u64,
    /// The fence of the last who took it.
    pub(super) fence: u64,
    pub(super) mover: Option<Mover>,
    /// `None` until something was saved.
    pub(super) status: Option<ThreadStatus>,
    /// How long it stays when nobody writes to it, in milliseconds; 0 for ever.
    pub(super) lasts: u64,
    pub(super) lines: Vec<LineTable>,
    /// The last records by number, with their checksums: whoever was overtaken learns whether its own is among them.
    pub(super) recent: VecDeque<(u64, u64)>,
    /// What was said and not forgotten, by number.
    pub(super) events: BTreeMap<u64, Event>,
    /// The last number that an event ever had.
    pub(super) last_event: u64,
}

/// Who moves a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mover {
    pub(super) run: RunId,
    /// The process, by a number that it drew.
    pub(super) holder: u64,
}

/// One graph of a thread.
#[derive(Debug, Clone)]
pub(super) struct LineTable {
    pub(super) namespace: Namespace,
    pub(super) names: Arc<[Arc<str>]>,
    pub(super) rows: BTreeMap<u64, Row>,
    pub(super) numbers: BTreeMap<CheckpointId, u64>,
    pub(super) origins: BTreeMap<u64, OriginRow>,
    pub(super) parts: BTreeMap<u64, Part>,
    pub(super) remnants: BTreeMap<u64, RemnantRow>,
    /// What is known of tasks by checkpoint, in the order it became known.
    pub(super) pending: BTreeMap<u64, Vec<Known>>,
}

/// One change of one field, or a whole value that is long.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) number: u64,
    pub(super) field: u32,
    pub(super) before: Option<End>,
    /// The change as text.
    pub(super) change: String,
    pub(super) body: Body,
}

/// What is known of a task.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) checkpoint: u64,
    pub(super) task: TaskId,
    pub(super) slot: String,
    pub(super) body: Body,
}

/// What a run said.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) number: u64,
    pub(super) run: RunId,
    /// The checksum of its row: tells it from another without its body.
    pub(super) sum: u32,
    pub(super) body: Body,
}

/// A piece of JSON, or where it is.
#[derive(Debug, Clone)]
pub(super) enum Body {
    Short(Vec<u8>),
    /// Under a key of its own.
    Long {
        name: String,
        length: u64,
    },
}

impl Body {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Short(bytes) => bytes.len() as u64,
            Self::Long { length, .. } => *length,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Short(_) => None,
            Self::Long { name, .. } => Some(name),
        }
    }
}

impl Tables {
    /// Takes in a record.
    pub(super) fn apply(&mut self, record: Record, number: u64, sum: u64) {
        match record {
            Record::Whole(tables) => *self = *tables,
            Record::Taken { fence, mover } => (self.fence, self.mover) = (fence, Some(mover)),
            Record::Given { fence } if fence == self.fence => self.mover = None,
            Record::Given { .. } => {}
            Record::Saved { status, lasts, lines, events } => {
                (self.status, self.lasts) = (Some(status), lasts);
                for event in events {
                    self.last_event = event.number;
                    self.events.insert(event.number, event);
                }
                lines.into_iter().for_each(|added| self.line_mut(&added.namespace).add(added));
            }
            Record::Pruned(lines) => {
                lines.into_iter().for_each(|removed| self.line_mut(&removed.namespace).remove(removed));
            }
            Record::Forgotten { up_to } => self.events.retain(|number, _| *number > up_to),
        }
        self.recent.push_back((number, sum));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// A thread that begins with the record of this number, in the place of this one.
    pub(super) fn anew(&self, life: u64) -> Self {
        Self { life, fence: self.fence, recent: self.recent.clone(), ..Self::default() }
    }

    /// A line and its place among the others, which stays.
    pub(super) fn line(&self, namespace: &Namespace) -> Option<(usize, &LineTable)> {
        self.lines.iter().enumerate().find(|(_, line)| line.namespace == *namespace)
    }

    fn line_mut(&mut self, namespace: &Namespace) -> &mut LineTable {
        let place = match self.line(namespace) {
            Some((place, _)) => place,
            None => {
                self.lines.push(LineTable::new(namespace.clone()));
                self.lines.len() - 1
            }
        };
        &mut self.lines[place]
    }

    pub(super) fn checkpoints(&self) -> usize {
        self.lines.iter().map(|line| line.rows.len()).sum()
    }

    /// The bodies of everything that may be long.
    pub(super) fn bodies(&self) -> impl Iterator<Item = &Body> {
        let of_lines = self.lines.iter().flat_map(|line| {
            let parts = line.parts.values().map(|part| &part.body);
            parts.chain(line.pending.values().flatten().map(|known| &known.body))
        });
        of_lines.chain(self.events.values().map(|event| &event.body))
    }

    pub(super) fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Body> {
        let of_lines = self.lines.iter_mut().flat_map(|line| {
            let parts = line.parts.values_mut().map(|part| &mut part.body);
            parts.chain(line.pending.values_mut().flatten().map(|known| &mut known.body))
        });
        of_lines.chain(self.events.values_mut().map(|event| &mut event.body))
    }
}

impl LineTable {
    pub(super) fn new(namespace: Namespace) -> Self {
        Self {
            namespace,
            names: Arc::from([]),
            rows: BTreeMap::new(),
            numbers: BTreeMap::new(),
            origins: BTreeMap::new(),
            parts: BTreeMap::new(),
            remnants: BTreeMap::new(),
            pending: BTreeMap::new(),
        }
    }

    /// The number of the newest checkpoint; 0 when there is none.
    pub(super) fn newest(&self) -> u64 {
        self.rows.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// Whether this checkpoint has this number.
    pub(super) fn has(&self, number: u64, id: CheckpointId) -> bool {
        self.rows.get(&number).is_some_and(|row| row.mark.id == id)
    }

    pub(super) fn add(&mut self, added: Added) {
        if let Some(names) = added.names {
            self.names = names.into();
        }
        for row in added.rows {
            self.numbers.insert(row.mark.id, row.number);
            self.rows.insert(row.number, row);
        }
        self.origins.extend(added.origins.into_iter().map(|origin| (origin.number, origin)));
        self.parts.extend(added.parts.into_iter().map(|part| (part.number, part)));
        for known in added.pending {
            let all = self.pending.entry(known.checkpoint).or_default();
            // One with the same task and slot is replaced, and keeps its place.
            match all.iter_mut().find(|other| (other.task, &other.slot) == (known.task, &known.slot)) {
                Some(other) => *other = known,
                None => all.push(known),
            }
        }
    }

    fn remove(&mut self, removed: Removed) {
        for number in removed.gone {
            if let Some(row) = self.rows.remove(&number) {
                self.numbers.remove(&row.mark.id);
            }
            self.pending.remove(&number);
        }
        for (number, heads) in removed.heads {
            if let Some(row) = self.rows.get_mut(&number) {
                row.heads = heads;
            }
        }
        self.remnants = removed.remnants.into_iter().map(|remnant| (remnant.number, remnant)).collect();
        removed.parts.iter().for_each(|number| drop(self.parts.remove(number)));
        removed.origins.iter().for_each(|number| drop(self.origins.remove(number)));
    }
}
