//! From the rows of LangGraph to a thread of ours: checkpoints, values, who is due, and where graphs inside belong.
//!
//! Ids of checkpoints stay. Ids of tasks are ours, so the paths of graphs inside are told anew. What was known of tasks is
//! `pending`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_core::change::Change;
use superstep_core::checkpoint::{
    Checkpoint, CopiedCheckpoint, FORMAT_VERSION, FieldChange, Namespace, Source, StoredDue, StoredSend, StoredWhy,
};
use superstep_core::datum::Datum;
use superstep_core::error::{Error, Result};
use superstep_core::id::{CheckpointId, RunId, TaskId, ThreadId, derive};
use superstep_core::machine::ids_under;
use superstep_core::time::Time;

use super::channels::{Ahead, SENDS, Stored, Task, Use, use_of};
use super::row::{At, CheckpointRow, ThreadRows};

/// The oldest form of checkpoints that is read: 2025. Before it, channels had other names.
const OLDEST: u64 = 3;

/// How the path of a task begins that was not sent.
const PULLED: &str = "~__pregel_pull, ";
/// The path of the task that takes in an input.
const STARTED: &str = "~__pregel_pull, __start__";

/// Metadata that is said elsewhere, or means nothing here.
const SAID: [&str; 7] = ["source", "step", "parents", "run_id", "writes", "thread_id", "counters_since_delta_snapshot"];

/// The values of a checkpoint's fields; those of the next share what stays.
type Fields = BTreeMap<Arc<str>, Arc<Value>>;

/// A checkpoint, and what is needed to say what is known of its tasks.
pub(super) struct Item {
    pub(super) copied: CopiedCheckpoint,
    /// Its id as LangGraph writes it.
    pub(super) id: String,
    pub(super) tasks: Vec<(Task, TaskId)>,
    /// Nothing follows it: what its tasks have done is nowhere else.
    pub(super) is_last: bool,
}

/// A thread while it is converted.
pub(super) struct Conversion<'a> {
    pub(super) rows: &'a ThreadRows,
    pub(super) thread: ThreadId,
    graph: Arc<str>,
    /// Our paths of LangGraph's graphs.
    pub(super) paths: BTreeMap<String, Namespace>,
    pub(super) lines: BTreeMap<String, Vec<Item>>,
    /// Our tasks by graph and id of LangGraph's.
    tasks: BTreeMap<(String, String), TaskId>,
    /// Channels that have no place here.
    pub(super) dropped: BTreeSet<String>,
    pub(super) notes: Vec<String>,
}

impl<'a> Conversion<'a> {
    pub(super) fn new(rows: &'a ThreadRows, thread: ThreadId, graph: &str) -> Self {
        let (paths, lines, tasks) = Default::default();
        let (dropped, notes) = Default::default();
        Self { rows, thread, graph: graph.into(), paths, lines, tasks, dropped, notes }
    }

    /// Converts the checkpoints of all graphs, those around before those inside.
    pub(super) fn checkpoints(&mut self) -> Result<()> {
        let rows = self.rows;
        let mut graphs: BTreeMap<(usize, &str), Vec<&CheckpointRow>> = BTreeMap::new();
        for row in &rows.checkpoints {
            let depth = if row.namespace.is_empty() { 0 } else { row.namespace.split('|').count() };
            graphs.entry((depth, &row.namespace)).or_default().push(row);
        }
        for ((_, namespace), rows) in graphs {
            let path = self.path(namespace, &rows);
            self.paths.insert(namespace.to_owned(), path);
            self.line(namespace, &rows)?;
        }
        Ok(())
    }

    /// Our path of a graph: a task in it is named by our id.
    fn path(&mut self, namespace: &str, rows: &[&CheckpointRow]) -> Namespace {
        if namespace.is_empty() {
            return Namespace::root();
        }
        let (around, last) = namespace.rsplit_once('|').unwrap_or(("", namespace));
        let outer = self.paths.get(around).cloned().unwrap_or_else(|| Namespace::from(around));
        if !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()) {
            // A second call of a graph in the same task.
            return Namespace::from(format!("{}:{last}", outer.as_str()).as_str());
        }
        let Some((node, _)) = last.split_once(':') else { return outer.child(last) };
        match rows.first().and_then(|row| self.outer_task(row)) {
            Some(task) => outer.child(&format!("{node}:{task}")),
            None => {
                self.notes.push(format!("the task that graph `{namespace}` ran in is not known: it is history only"));
                outer.child(last)
            }
        }
    }

    /// The task of the graph around that a checkpoint was made in.
    fn outer_task(&self, row: &CheckpointRow) -> Option<TaskId> {
        let mut path = row.namespace.as_str();
        if path.is_empty() {
            return None;
        }
        let (mut around, mut last) = path.rsplit_once('|').unwrap_or(("", path));
        if last.bytes().all(|byte| byte.is_ascii_digit()) {
            path = around;
            (around, last) = path.rsplit_once('|').unwrap_or(("", path));
        }
        let (node, task) = last.split_once(':').unwrap_or((last, ""));
        if let Some(task) = self.tasks.get(&(around.to_owned(), task.to_owned())) {
            return Some(*task);
        }
        let parent = row.metadata.get("parents")?.get(around)?.as_str()?;
        let item = self.lines.get(around)?.iter().find(|item| item.id == parent)?;
        let mut mine = item.tasks.iter().filter(|(task, _)| task.node == node);
        // Of several tasks of one node nobody could tell which it was.
        mine.next().filter(|_| mine.next().is_none()).map(|(_, task)| *task)
    }

    /// Converts the checkpoints of one graph.
    fn line(&mut self, namespace: &str, rows: &[&CheckpointRow]) -> Result<()> {
        let known: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let mut children: BTreeMap<&str, usize> = BTreeMap::new();
        for parent in rows.iter().filter_map(|row| row.parent.as_deref()) {
            *children.entry(parent).or_default() += 1;
        }
        let (mut values, mut items): (BTreeMap<&str, (usize, Fields)>, Vec<Item>) = Default::default();
        for row in rows {
            let stored = self.stored(row, rows)?;
            let mut fields = self.fields(&stored);
            let parent = row.parent.as_deref().filter(|parent| known.contains(parent) && *parent < row.id.as_str());
            let none = Fields::new();
            let before = parent.and_then(|parent| values.get(parent)).map_or(&none, |(_, fields)| fields);
            let changes = changes(before, &mut fields);
            items.push(self.item(row, &stored, parent, changes)?);
            if let Some((left, _)) = parent.and_then(|parent| values.get_mut(parent)) {
                *left -= 1;
            }
            values.retain(|_, (left, _)| *left > 0);
            if let Some(left) = children.get(row.id.as_str()) {
                values.insert(&row.id, (*left, fields));
            }
        }
        for item in &mut items {
            item.is_last = !children.contains_key(item.id.as_str());
            for (task, ours) in &item.tasks {
                self.tasks.insert((namespace.to_owned(), task.id.clone()), *ours);
            }
        }
        self.lines.insert(namespace.to_owned(), items);
        Ok(())
    }

    /// A checkpoint as LangGraph knows it. One of an input is saved there before the input is taken in; here it is taken as
    /// the next one leaves it, which is what an input is for us.
    fn stored(&mut self, row: &CheckpointRow, rows: &[&CheckpointRow]) -> Result<Stored> {
        let mut stored = self.read(row)?;
        if !stored.waits_for_start() {
            return Ok(stored);
        }
        match rows.iter().find(|next| next.parent.as_ref() == Some(&row.id)) {
            Some(next) => {
                let mut taken = self.read(next)?;
                taken.time = stored.time;
                Ok(taken)
            }
            None => {
                let mut writes = self.rows.writes_of(&row.namespace, &row.id).iter();
                // What a graph begins with is a task of its own; a function begins at once.
                let is_function = writes.any(|write| write.path.starts_with(PULLED) && write.path != STARTED);
                let note = if is_function {
                    "it is of an `@entrypoint`, which is no graph: it is history only"
                } else {
                    "its input was not taken in when it was saved: give it again"
                };
                self.notes.push(format!("checkpoint {}: {note}", row.id));
                stored.nothing_is_due();
                Ok(stored)
            }
        }
    }

    fn read(&self, row: &CheckpointRow) -> Result<Stored> {
        let at = self.at(row);
        let mut checkpoint = self.rows.read(row)?;
        let version = checkpoint.get("v").and_then(Value::as_u64).unwrap_or(1);
        if version < OLDEST {
            let how = format!("it is of version {version}; {OLDEST} is the oldest that is read");
            return Err(at
                .unreadable(None, &how)
                .help("in Python, run the thread once with LangGraph 1 and import then"));
        }
        if version < 4 {
            self.add_sends(row, &mut checkpoint)?;
        }
        let step = row.metadata.get("step").and_then(Value::as_i64).unwrap_or(0);
        let stored = Stored::new((&row.namespace, &row.id), step, checkpoint);
        let deltas = row.metadata.get("counters_since_delta_snapshot").and_then(Value::as_object);
        for channel in deltas.into_iter().flat_map(Map::keys) {
            if stored.knows(channel) && !stored.channels.contains_key(channel) {
                let how = "it is kept as what was written since a snapshot, and only its reducer could tell the value";
                let help = "nothing was imported; in Python, run the graph with a plain channel there and import then";
                return Err(at.unreadable(Some(channel), how).help(help));
            }
        }
        Ok(stored)
    }

    /// Before version 4 the sends of a checkpoint stand with what the tasks before it wrote.
    fn add_sends(&self, row: &CheckpointRow, checkpoint: &mut Map<String, Value>) -> Result<()> {
        let writes = row.parent.as_deref().map_or(&[][..], |parent| self.rows.writes_of(&row.namespace, parent));
        let sends = writes.iter().filter(|write| write.channel == SENDS);
        let sends = sends.map(|write| write.value.read().map_err(|how| self.at(row).unreadable(Some(SENDS), &how)));
        let sends: Vec<Value> = sends.collect::<Result<_>>()?;
        if let Some(Value::Object(channels)) = checkpoint.get_mut("channel_values")
            && !sends.is_empty()
        {
            channels.insert(SENDS.to_owned(), Value::Array(sends));
        }
        Ok(())
    }

    fn at<'b>(&'b self, row: &'b CheckpointRow) -> At<'b> {
        At { thread: &self.rows.thread, checkpoint: &row.id }
    }

    fn fields(&mut self, stored: &Stored) -> Fields {
        let mut fields = Fields::new();
        for (channel, value) in &stored.channels {
            match use_of(channel) {
                Use::Field => drop(fields.insert(channel.as_str().into(), Arc::new(value.clone()))),
                Use::Inner if channel != "__start__" => drop(self.dropped.insert(channel.clone())),
                _ => {}
            }
        }
        fields
    }

    fn item(
        &self,
        row: &CheckpointRow,
        stored: &Stored,
        parent: Option<&str>,
        changes: Vec<FieldChange>,
    ) -> Result<Item> {
        let ahead = stored.ahead();
        let checkpoint = Checkpoint { time: time(row, stored), ..self.checkpoint(row, &ahead, parent)? };
        let mut ids: BTreeMap<&str, Vec<TaskId>> = BTreeMap::new();
        for task in &ahead.due {
            let of_node = || ids_under(&checkpoint.namespace, &task.node, &checkpoint).collect::<Vec<_>>();
            ids.entry(&task.node).or_insert_with(of_node);
        }
        ids.values_mut().for_each(|ids| ids.reverse());
        let tasks = ahead.due.iter().filter_map(|task| {
            let ours = ids.get_mut(task.node.as_str())?.pop()?;
            let send = task.send.clone();
            Some((Task { node: task.node.clone(), why: task.why, send, id: task.id.clone() }, ours))
        });
        let tasks = tasks.collect();
        let copied = CopiedCheckpoint { checkpoint, changes, pending: Vec::new() };
        Ok(Item { copied, id: row.id.clone(), tasks, is_last: true })
    }

    fn checkpoint(&self, row: &CheckpointRow, ahead: &Ahead, parent: Option<&str>) -> Result<Checkpoint> {
        let (at, metadata) = (self.at(row), &row.metadata);
        let word = |key: &str| metadata.get(key).and_then(Value::as_str);
        let kept = metadata.as_object().into_iter().flatten().filter(|(key, _)| !SAID.contains(&key.as_str()));
        let run = word("run_id").and_then(|run| run.parse().ok());
        let due = ahead.due.iter().map(|task| StoredDue {
            node: task.node.as_str().into(),
            why: StoredWhy { kind: task.why, from: None },
            send: task.send.as_ref().map(|(index, payload)| StoredSend {
                index: *index,
                payload: Datum::json(payload.clone()),
                timeout: None,
            }),
            since: None,
        });
        let graph = match row.namespace.rsplit('|').next().and_then(|last| last.split(':').next()) {
            None | Some("") => self.graph.clone(),
            Some(node) => node.into(),
        };
        Ok(Checkpoint {
            format: FORMAT_VERSION,
            id: id(&row.id, at)?,
            parent: parent.map(|parent| id(parent, at)).transpose()?,
            thread: self.thread.clone(),
            namespace: self.paths.get(&row.namespace).cloned().unwrap_or_default(),
            step: metadata.get("step").and_then(Value::as_i64).unwrap_or(0),
            source: match word("source") {
                Some("input") => Source::Input,
                Some("update") => Source::Update,
                Some("fork") => Source::Fork,
                _ => Source::Loop,
            },
            run: run.unwrap_or_else(|| RunId::from_bits(derive(&[b"langgraph", self.rows.thread.as_bytes()]))),
            time: 0,
            graph,
            schema_version: 1,
            due: due.collect(),
            joins: ahead.joins.clone(),
            deferred: ahead.deferred.iter().map(|node| node.as_str().into()).collect(),
            written: Vec::new(),
            outer_task: self.outer_task(row),
            since_input: None,
            metadata: Arc::new(kept.map(|(key, value)| (key.clone(), value.clone())).collect()),
        })
    }
}

/// When a checkpoint was made. An id of LangGraph's begins with the time, too: tenths of microseconds since 1582.
fn time(row: &CheckpointRow, stored: &Stored) -> i64 {
    const GREGORIAN: i64 = 12_219_292_800_000_000;
    let said = stored.time.as_deref().and_then(|text| Time::parse(text).ok()).map(Time::as_unix_micros);
    said.unwrap_or_else(|| {
        let bits = row.id.parse::<CheckpointId>().map_or(0, CheckpointId::bits);
        let ticks = (bits >> 80) << 12 | (bits >> 64) & 0xfff;
        (ticks / 10) as i64 - GREGORIAN
    })
}

fn id(text: &str, at: At<'_>) -> Result<CheckpointId, Error> {
    text.parse().map_err(|_| at.unreadable(None, &format!("`{text}` is not an id")))
}

/// What leads from one checkpoint's values to another's, which then share what is equal.
fn changes(before: &Fields, now: &mut Fields) -> Vec<FieldChange> {
    // A channel that was cleared: an empty list of what came in one superstep, or nothing.
    for (field, value) in before {
        let cleared = || Arc::new(if value.is_array() { Value::Array(Vec::new()) } else { Value::Null });
        now.entry(field.clone()).or_insert_with(cleared);
    }
    let mut changes = Vec::new();
    for (field, value) in now {
        let (change, part) = match (before.get(field).map(|old| (&**old, old)), &**value) {
            (Some((old, shared)), new) if old == new => {
                *value = shared.clone();
                continue;
            }
            (Some((Value::Array(old), _)), Value::Array(new)) if new.starts_with(old) => {
                (Change::Appended { from: old.len() }, Value::Array(new[old.len()..].to_vec()))
            }
            (_, new) => (Change::Set, new.clone()),
        };
        changes.push(FieldChange { field: field.clone(), change, part: Datum::json(part) });
    }
    changes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(values: Value) -> Fields {
        let Value::Object(values) = values else { unreachable!("a test gives a map") };
        values.into_iter().map(|(field, value)| (field.as_str().into(), Arc::new(value))).collect()
    }

    /// R-NFR-16: a list that grew is what came, and a channel that was cleared is empty.
    #[test]
    fn only_what_changed_is_told() {
        let before = fields(json!({ "log": [1], "same": { "a": 1 }, "topic": [1], "gone": "x", "list": [1, 2] }));
        let mut now = fields(json!({ "log": [1, 2], "same": { "a": 1 }, "new": null, "list": [1] }));
        let told: Vec<Value> = changes(&before, &mut now).iter().map(|change| json!(change)).collect();
        let set = |field: &str, part: Value| json!({ "field": field, "change": { "kind": "set" }, "part": part });
        let log = json!({ "field": "log", "change": { "kind": "appended", "from": 1 }, "part": [2] });
        let expected =
            [set("gone", json!(null)), set("list", json!([1])), log, set("new", json!(null)), set("topic", json!([]))];
        assert_eq!(told, expected);
        assert!(
            changes(&now.clone(), &mut fields(json!({ "log": [1, 2], "same": { "a": 1 }, "list": [1] }))).is_empty()
        );
    }
}
