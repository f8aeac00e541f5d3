//! Conversion of LangGraph rows to a thread: checkpoints, values, next tasks, and the namespaces of subgraphs.
//!
//! Checkpoint ids are unchanged. Task ids are computed again, so the namespaces of subgraphs change. Pending writes are
//! converted in `pending_writes`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_core::change::Change;
use superstep_core::checkpoint::{
    Checkpoint, CheckpointNamespace, CheckpointSource, ExportedCheckpoint, FORMAT_VERSION, FieldChange, StoredSend,
    StoredTask, StoredTrigger,
};
use superstep_core::error::{Error, Result};
use superstep_core::id::{CheckpointId, RunId, TaskId, ThreadId, hash_id};
use superstep_core::machine::task_ids_under_name;
use superstep_core::time::Time;
use superstep_core::value::AnyValue;

use super::channels::{ChannelUse, NextTasks, SENDS, SourceCheckpoint, SourceTask, use_of};
use super::rows::{RowContext, SourceCheckpointRow, ThreadRows};

/// Oldest checkpoint version that is read, from 2025. Earlier versions use other channel names.
const MIN_CHECKPOINT_VERSION: u64 = 3;

/// Prefix of the path of a task that was not created by a send.
const PULL_PATH_PREFIX: &str = "~__pregel_pull, ";
/// Path of the task that applies the input.
const START_TASK_PATH: &str = "~__pregel_pull, __start__";

/// Metadata keys that are stored elsewhere or have no meaning here.
const IGNORED_METADATA_KEYS: [&str; 7] =
    ["source", "step", "parents", "run_id", "writes", "thread_id", "counters_since_delta_snapshot"];

/// The field values of a checkpoint; unchanged values are shared with the next checkpoint.
type FieldValues = BTreeMap<Arc<str>, Arc<Value>>;

/// A converted checkpoint with the data needed to convert its pending writes.
pub(super) struct ConvertedCheckpoint {
    pub(super) exported: ExportedCheckpoint,
    /// Checkpoint id as text of LangGraph.
    pub(super) id: String,
    pub(super) tasks: Vec<(SourceTask, TaskId)>,
    /// True if the checkpoint has no child, so that the results of its tasks exist only as pending writes.
    pub(super) is_last: bool,
}

/// A conversion in progress.
pub(super) struct Conversion<'a> {
    pub(super) rows: &'a ThreadRows,
    pub(super) thread: ThreadId,
    graph: Arc<str>,
    /// Namespaces by LangGraph's `checkpoint_ns`.
    pub(super) paths: BTreeMap<String, CheckpointNamespace>,
    pub(super) histories: BTreeMap<String, Vec<ConvertedCheckpoint>>,
    /// Task ids by LangGraph's namespace and task id.
    tasks: BTreeMap<(String, String), TaskId>,
    /// Channels without an equivalent.
    pub(super) skipped_channels: BTreeSet<String>,
    pub(super) warnings: Vec<String>,
}

impl<'a> Conversion<'a> {
    pub(super) fn new(rows: &'a ThreadRows, thread: ThreadId, graph: &str) -> Self {
        let (paths, histories, tasks) = Default::default();
        let (skipped_channels, warnings) = Default::default();
        Self { rows, thread, graph: graph.into(), paths, histories, tasks, skipped_channels, warnings }
    }

    /// Converts the checkpoints of all namespaces, parent graphs before subgraphs.
    pub(super) fn checkpoints(&mut self) -> Result<()> {
        let rows = self.rows;
        let mut graphs: BTreeMap<(usize, &str), Vec<&SourceCheckpointRow>> = BTreeMap::new();
        for row in &rows.checkpoints {
            let depth = if row.namespace.is_empty() { 0 } else { row.namespace.split('|').count() };
            graphs.entry((depth, &row.namespace)).or_default().push(row);
        }
        for ((_, namespace), rows) in graphs {
            let path = self.path(namespace, &rows);
            self.paths.insert(namespace.to_owned(), path);
            self.convert_history(namespace, &rows)?;
        }
        Ok(())
    }

    /// Returns the namespace of a graph, with the converted task id.
    fn path(&mut self, namespace: &str, rows: &[&SourceCheckpointRow]) -> CheckpointNamespace {
        if namespace.is_empty() {
            return CheckpointNamespace::root();
        }
        let (parent_namespace, last) = namespace.rsplit_once('|').unwrap_or(("", namespace));
        let parent_path =
            self.paths.get(parent_namespace).cloned().unwrap_or_else(|| CheckpointNamespace::from(parent_namespace));
        if !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()) {
            // A second call of a subgraph in the same task.
            return CheckpointNamespace::from(format!("{}:{last}", parent_path.as_str()).as_str());
        }
        let Some((node, _)) = last.split_once(':') else { return parent_path.child(last) };
        match rows.first().and_then(|row| self.parent_task_of(row)) {
            Some(task) => parent_path.child(&format!("{node}:{task}")),
            None => {
                self.warnings.push(format!(
                    "the parent task of graph `{namespace}` is unknown; \
                     it is imported as history only"
                ));
                parent_path.child(last)
            }
        }
    }

    /// Returns the task of the parent graph in which a checkpoint was created.
    fn parent_task_of(&self, row: &SourceCheckpointRow) -> Option<TaskId> {
        let mut path = row.namespace.as_str();
        if path.is_empty() {
            return None;
        }
        let (mut parent_namespace, mut last) = path.rsplit_once('|').unwrap_or(("", path));
        if last.bytes().all(|byte| byte.is_ascii_digit()) {
            path = parent_namespace;
            (parent_namespace, last) = path.rsplit_once('|').unwrap_or(("", path));
        }
        let (node, task) = last.split_once(':').unwrap_or((last, ""));
        if let Some(task) = self.tasks.get(&(parent_namespace.to_owned(), task.to_owned())) {
            return Some(*task);
        }
        let parent = row.metadata.get("parents")?.get(parent_namespace)?.as_str()?;
        let item = self.histories.get(parent_namespace)?.iter().find(|item| item.id == parent)?;
        let mut candidates = item.tasks.iter().filter(|(task, _)| task.node == node);
        // With several tasks of one node, the right one cannot be determined.
        candidates.next().filter(|_| candidates.next().is_none()).map(|(_, task)| *task)
    }

    /// Converts the checkpoints of one namespace.
    fn convert_history(&mut self, namespace: &str, rows: &[&SourceCheckpointRow]) -> Result<()> {
        let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let mut children: BTreeMap<&str, usize> = BTreeMap::new();
        for parent in rows.iter().filter_map(|row| row.parent.as_deref()) {
            *children.entry(parent).or_default() += 1;
        }
        let (mut values, mut items): (BTreeMap<&str, (usize, FieldValues)>, Vec<ConvertedCheckpoint>) =
            Default::default();
        for row in rows {
            let stored = self.stored(row, rows)?;
            let mut fields = self.fields(&stored);
            let parent = row.parent.as_deref().filter(|parent| ids.contains(parent) && *parent < row.id.as_str());
            let no_values = FieldValues::new();
            let before = parent.and_then(|parent| values.get(parent)).map_or(&no_values, |(_, fields)| fields);
            let changes = changes(before, &mut fields);
            items.push(self.item(row, &stored, parent, changes)?);
            if let Some((remaining, _)) = parent.and_then(|parent| values.get_mut(parent)) {
                *remaining -= 1;
            }
            values.retain(|_, (remaining, _)| *remaining > 0);
            if let Some(remaining) = children.get(row.id.as_str()) {
                values.insert(&row.id, (*remaining, fields));
            }
        }
        for item in &mut items {
            item.is_last = !children.contains_key(item.id.as_str());
            for (task, task_id) in &item.tasks {
                self.tasks.insert((namespace.to_owned(), task.id.clone()), *task_id);
            }
        }
        self.histories.insert(namespace.to_owned(), items);
        Ok(())
    }

    /// Reads a checkpoint. LangGraph saves the checkpoint of an input before the input is applied; here an input
    /// checkpoint contains the applied input, so the values of the next checkpoint are used.
    fn stored(&mut self, row: &SourceCheckpointRow, rows: &[&SourceCheckpointRow]) -> Result<SourceCheckpoint> {
        let mut stored = self.read(row)?;
        if !stored.waits_for_start() {
            return Ok(stored);
        }
        match rows.iter().find(|next| next.parent.as_ref() == Some(&row.id)) {
            Some(next) => {
                let mut applied = self.read(next)?;
                applied.time = stored.time;
                Ok(applied)
            }
            None => {
                let mut writes = self.rows.writes_of(&row.namespace, &row.id).iter();
                // A graph applies its input in a separate task; an `@entrypoint` function receives it directly.
                let is_function =
                    writes.any(|write| write.path.starts_with(PULL_PATH_PREFIX) && write.path != START_TASK_PATH);
                let warning = if is_function {
                    "it was created by an `@entrypoint` instead of a graph; it is imported as history only"
                } else {
                    "it was saved before its input was applied; pass the input again"
                };
                self.warnings.push(format!("checkpoint {}: {warning}", row.id));
                stored.clear_next_tasks();
                Ok(stored)
            }
        }
    }

    fn read(&self, row: &SourceCheckpointRow) -> Result<SourceCheckpoint> {
        let context = self.context(row);
        let mut checkpoint = self.rows.read(row)?;
        let version = checkpoint.get("v").and_then(Value::as_u64).unwrap_or(1);
        if version < MIN_CHECKPOINT_VERSION {
            let reason = format!("version {version} is not supported; the oldest is {MIN_CHECKPOINT_VERSION}");
            return Err(context
                .unreadable(None, &reason)
                .with_help("run the thread once with LangGraph 1 in Python, then import it"));
        }
        if version < 4 {
            self.add_sends(row, &mut checkpoint)?;
        }
        let step = row.metadata.get("step").and_then(Value::as_i64).unwrap_or(0);
        let stored = SourceCheckpoint::new((&row.namespace, &row.id), step, checkpoint);
        let deltas = row.metadata.get("counters_since_delta_snapshot").and_then(Value::as_object);
        for channel in deltas.into_iter().flat_map(Map::keys) {
            if stored.has_channel(channel) && !stored.channels.contains_key(channel) {
                let reason = "only the writes since a snapshot are stored; the value requires the Python reducer";
                let help = "nothing was imported; run the graph with a plain channel in Python, then import it";
                return Err(context.unreadable(Some(channel), reason).with_help(help));
            }
        }
        Ok(stored)
    }

    /// Adds the sends of a checkpoint, which versions before 4 store as writes of the previous tasks.
    fn add_sends(&self, row: &SourceCheckpointRow, checkpoint: &mut Map<String, Value>) -> Result<()> {
        let writes = row.parent.as_deref().map_or(&[][..], |parent| self.rows.writes_of(&row.namespace, parent));
        let sends = writes.iter().filter(|write| write.channel == SENDS);
        let sends =
            sends.map(|write| write.value.read().map_err(|reason| self.context(row).unreadable(Some(SENDS), &reason)));
        let sends: Vec<Value> = sends.collect::<Result<_>>()?;
        if let Some(Value::Object(channels)) = checkpoint.get_mut("channel_values")
            && !sends.is_empty()
        {
            channels.insert(SENDS.to_owned(), Value::Array(sends));
        }
        Ok(())
    }

    fn context<'b>(&'b self, row: &'b SourceCheckpointRow) -> RowContext<'b> {
        RowContext { thread: &self.rows.thread, checkpoint: &row.id }
    }

    fn fields(&mut self, stored: &SourceCheckpoint) -> FieldValues {
        let mut fields = FieldValues::new();
        for (channel, value) in &stored.channels {
            match use_of(channel) {
                ChannelUse::Field => drop(fields.insert(channel.as_str().into(), Arc::new(value.clone()))),
                ChannelUse::Internal if channel != "__start__" => drop(self.skipped_channels.insert(channel.clone())),
                _ => {}
            }
        }
        fields
    }

    fn item(
        &self,
        row: &SourceCheckpointRow,
        stored: &SourceCheckpoint,
        parent: Option<&str>,
        changes: Vec<FieldChange>,
    ) -> Result<ConvertedCheckpoint> {
        let next_tasks = stored.next_tasks();
        let checkpoint = Checkpoint { time: time(row, stored), ..self.checkpoint(row, &next_tasks, parent)? };
        let mut ids: BTreeMap<&str, Vec<TaskId>> = BTreeMap::new();
        for task in &next_tasks.tasks {
            let node_task_ids =
                || task_ids_under_name(&checkpoint.namespace, &task.node, &checkpoint).collect::<Vec<_>>();
            ids.entry(&task.node).or_insert_with(node_task_ids);
        }
        ids.values_mut().for_each(|ids| ids.reverse());
        let tasks = next_tasks.tasks.iter().filter_map(|task| {
            let task_id = ids.get_mut(task.node.as_str())?.pop()?;
            let send = task.send.clone();
            Some((SourceTask { node: task.node.clone(), trigger: task.trigger, send, id: task.id.clone() }, task_id))
        });
        let tasks = tasks.collect();
        let exported = ExportedCheckpoint { checkpoint, changes, pending: Vec::new() };
        Ok(ConvertedCheckpoint { exported, id: row.id.clone(), tasks, is_last: true })
    }

    fn checkpoint(
        &self,
        row: &SourceCheckpointRow,
        next_tasks: &NextTasks,
        parent: Option<&str>,
    ) -> Result<Checkpoint> {
        let (context, metadata) = (self.context(row), &row.metadata);
        let text = |key: &str| metadata.get(key).and_then(Value::as_str);
        let filtered = metadata
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| !IGNORED_METADATA_KEYS.contains(&key.as_str()));
        let run = text("run_id").and_then(|run| run.parse().ok());
        let tasks = next_tasks.tasks.iter().map(|task| StoredTask {
            node: task.node.as_str().into(),
            trigger: StoredTrigger { kind: task.trigger, from: None },
            send: task.send.as_ref().map(|(index, payload)| StoredSend {
                index: *index,
                payload: AnyValue::json(payload.clone()),
                timeout: None,
            }),
            scheduled_at: None,
        });
        let graph = match row.namespace.rsplit('|').next().and_then(|last| last.split(':').next()) {
            None | Some("") => self.graph.clone(),
            Some(node) => node.into(),
        };
        Ok(Checkpoint {
            format: FORMAT_VERSION,
            id: id(&row.id, context)?,
            parent: parent.map(|parent| id(parent, context)).transpose()?,
            thread: self.thread.clone(),
            namespace: self.paths.get(&row.namespace).cloned().unwrap_or_default(),
            step: metadata.get("step").and_then(Value::as_i64).unwrap_or(0),
            source: match text("source") {
                Some("input") => CheckpointSource::Input,
                Some("update") => CheckpointSource::Update,
                Some("fork") => CheckpointSource::Fork,
                _ => CheckpointSource::Loop,
            },
            run: run.unwrap_or_else(|| RunId::from_bits(hash_id(&[b"langgraph", self.rows.thread.as_bytes()]))),
            time: 0,
            graph,
            schema_version: 1,
            next_tasks: tasks.collect(),
            joins: next_tasks.joins.clone(),
            deferred: next_tasks.deferred.iter().map(|node| node.as_str().into()).collect(),
            written_fields: Vec::new(),
            parent_task: self.parent_task_of(row),
            changes_since_input: None,
            metadata: Arc::new(filtered.map(|(key, value)| (key.clone(), value.clone())).collect()),
        })
    }
}

/// Returns the creation time. If it is not stored, it is taken from the id, which begins with the time in units of
/// 100 ns since 1582.
fn time(row: &SourceCheckpointRow, stored: &SourceCheckpoint) -> i64 {
    const GREGORIAN_EPOCH_MICROS: i64 = 12_219_292_800_000_000;
    let recorded = stored.time.as_deref().and_then(|text| Time::parse(text).ok()).map(Time::as_unix_micros);
    recorded.unwrap_or_else(|| {
        let bits = row.id.parse::<CheckpointId>().map_or(0, CheckpointId::bits);
        let ticks = (bits >> 80) << 12 | (bits >> 64) & 0xfff;
        (ticks / 10) as i64 - GREGORIAN_EPOCH_MICROS
    })
}

fn id(text: &str, context: RowContext<'_>) -> Result<CheckpointId, Error> {
    text.parse().map_err(|_| context.unreadable(None, &format!("`{text}` is not a valid id")))
}

/// Returns the changes between the values of two checkpoints; equal values are shared afterwards.
fn changes(before: &FieldValues, now: &mut FieldValues) -> Vec<FieldChange> {
    // A missing channel was cleared: a list becomes empty, another value null.
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
        changes.push(FieldChange { field: field.clone(), change, delta: AnyValue::json(part) });
    }
    changes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(values: Value) -> FieldValues {
        let Value::Object(values) = values else { unreachable!("a test gives a map") };
        values.into_iter().map(|(field, value)| (field.as_str().into(), Arc::new(value))).collect()
    }

    /// R-NFR-16b: a list that grew is stored as its new elements, and a cleared channel is empty.
    #[test]
    fn only_changed_fields_are_reported() {
        let before = fields(json!({ "log": [1], "same": { "a": 1 }, "topic": [1], "gone": "x", "list": [1, 2] }));
        let mut now = fields(json!({ "log": [1, 2], "same": { "a": 1 }, "new": null, "list": [1] }));
        let reported: Vec<Value> = changes(&before, &mut now).iter().map(|change| json!(change)).collect();
        let set = |field: &str, part: Value| json!({ "field": field, "change": { "kind": "set" }, "part": part });
        let log = json!({ "field": "log", "change": { "kind": "appended", "from": 1 }, "part": [2] });
        let expected =
            [set("gone", json!(null)), set("list", json!([1])), log, set("new", json!(null)), set("topic", json!([]))];
        assert_eq!(reported, expected);
        assert!(
            changes(&now.clone(), &mut fields(json!({ "log": [1, 2], "same": { "a": 1 }, "list": [1] }))).is_empty()
        );
    }
}
