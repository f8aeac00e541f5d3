//! Conversion of LangGraph's pending writes to pending entries: results, errors, interrupts and resume values.

use std::collections::BTreeMap;

use serde_json::Value;
use superstep_core::checkpoint::{
    CheckpointNamespace, Interrupt, PendingEntry, ResumeValue, StoredError, StoredOutput, StoredSend, StoredTask,
    StoredTrigger, StoredWrite, TaskEntry, TriggerKind,
};
use superstep_core::error::{ErrorCode, ErrorLocation, Result};
use superstep_core::id::TaskId;
use superstep_core::json_reducer::as_overwrite;
use superstep_core::machine::interrupt_id;
use superstep_core::value::AnyValue;

use super::channels::{ChannelUse, SourceTask, child_namespace, langgraph_interrupt_id, use_of};
use super::convert::{Conversion, ConvertedCheckpoint};
use super::rows::{RowContext, SourceWriteRow};

/// Channels of writes that are not part of the result of a task.
const CONTROL_CHANNELS: [&str; 5] =
    ["__error__", "__error_source_node__", "__interrupt__", "__resume__", "__scheduled__"];

/// Task id of writes that belong to no task yet.
const NULL_TASK_ID: &str = "00000000-0000-0000-0000-000000000000";

/// Interrupts by LangGraph's id: an interrupt of a subgraph is stored with each parent task as well.
pub(super) type InterruptsById = BTreeMap<String, Interrupt>;

impl Conversion<'_> {
    /// Converts the pending writes of all checkpoints, subgraphs first, because parent graphs repeat their
    /// interrupts.
    pub(super) fn pending(&mut self) -> Result<()> {
        let mut interrupts_by_id = InterruptsById::new();
        let mut graphs: Vec<String> = self.histories.keys().cloned().collect();
        graphs.sort_by_key(|namespace| {
            std::cmp::Reverse(namespace.split('|').count() + usize::from(!namespace.is_empty()))
        });
        for namespace in graphs {
            let mut items = self.histories.remove(&namespace).unwrap_or_default();
            for item in &mut items {
                item.exported.pending = self.pending_entries(&namespace, item, &mut interrupts_by_id)?;
            }
            self.histories.insert(namespace, items);
        }
        Ok(())
    }

    fn pending_entries(
        &mut self,
        namespace: &str,
        item: &ConvertedCheckpoint,
        interrupts_by_id: &mut InterruptsById,
    ) -> Result<Vec<PendingEntry>> {
        let mut groups: Vec<(&str, Vec<&SourceWriteRow>)> = Vec::new();
        for write in self.rows.writes_of(namespace, &item.id) {
            match groups.iter_mut().find(|(task, _)| *task == write.task) {
                Some((_, writes)) => writes.push(write),
                None => groups.push((&write.task, vec![write])),
            }
        }
        let mut pending = Vec::new();
        for (id, writes) in groups {
            match find(item, id, &writes) {
                Some((task, task_id)) => {
                    let path = format!("{}:{id}", child_namespace(namespace, &task.node));
                    let task_writes = TaskWrites::read(self.item_context(item), &writes)?;
                    let converted_namespace = self.paths.get(namespace).cloned().unwrap_or_default();
                    let entries =
                        task_writes.entries((&path, &converted_namespace), (task, *task_id), item, interrupts_by_id);
                    pending.extend(entries.into_iter().map(|entry| PendingEntry {
                        checkpoint: item.exported.checkpoint.id,
                        task: *task_id,
                        node: task.node.as_str().into(),
                        entry,
                    }));
                }
                None if item.is_last && !item.tasks.is_empty() && id != NULL_TASK_ID => {
                    self.warnings.push(format!(
                        "checkpoint {}: skipped the writes of task {id}, which is not a next task",
                        item.id
                    ));
                }
                None => {}
            }
        }
        Ok(pending)
    }

    fn item_context<'b>(&'b self, item: &'b ConvertedCheckpoint) -> RowContext<'b> {
        RowContext { thread: &self.rows.thread, checkpoint: &item.id }
    }
}

/// Returns the task of some writes, by its id or by its path.
fn find<'a>(item: &'a ConvertedCheckpoint, id: &str, writes: &[&SourceWriteRow]) -> Option<&'a (SourceTask, TaskId)> {
    if let Some(matching) = item.tasks.iter().find(|(task, _)| task.id == id) {
        return Some(matching);
    }
    let path = writes.first()?.path.strip_prefix('~')?;
    let (kind, rest) = path.split_once(", ")?;
    match kind {
        "__pregel_pull" => item.tasks.iter().find(|(task, _)| task.send.is_none() && task.node == rest),
        "__pregel_push" => {
            let index: u32 = rest.split(", ").next()?.parse().ok()?;
            item.tasks.iter().find(|(task, _)| task.send.as_ref().is_some_and(|(send_index, _)| *send_index == index))
        }
        _ => None,
    }
}

/// The writes of one task.
#[derive(Default)]
struct TaskWrites {
    resume_values: Vec<Value>,
    interrupts: Vec<Value>,
    error: Option<Value>,
    /// Writes to channels, if the task succeeded.
    output: Option<Vec<(String, Value)>>,
}

impl TaskWrites {
    fn read(context: RowContext<'_>, writes: &[&SourceWriteRow]) -> Result<Self> {
        let mut task_writes = Self::default();
        for write in writes {
            let value = write.value.read().map_err(|reason| context.unreadable(Some(&write.channel), &reason))?;
            match (write.channel.as_str(), value) {
                ("__resume__", Value::Array(values)) => task_writes.resume_values = values,
                ("__resume__", value) => task_writes.resume_values = vec![value],
                ("__interrupt__", Value::Array(interrupts)) => task_writes.interrupts = interrupts,
                ("__interrupt__", interrupt) => task_writes.interrupts = vec![interrupt],
                ("__error__", error) => task_writes.error = Some(error),
                (channel, _) if CONTROL_CHANNELS.contains(&channel) => {}
                (channel, value) => task_writes.output.get_or_insert_default().push((channel.to_owned(), value)),
            }
        }
        Ok(task_writes)
    }

    fn entries(
        self,
        (path, converted_namespace): (&str, &CheckpointNamespace),
        (task, task_id): (&SourceTask, TaskId),
        item: &ConvertedCheckpoint,
        interrupts_by_id: &mut InterruptsById,
    ) -> Vec<TaskEntry> {
        let mut entries = Vec::new();
        for interrupt in &self.interrupts {
            let foreign = foreign_id(interrupt);
            let nested = foreign.as_ref().and_then(|foreign| interrupts_by_id.get(foreign)).cloned();
            let converted = nested.unwrap_or_else(|| {
                let ordinal = self.ordinal(path, foreign.as_deref().unwrap_or_default());
                to_interrupt(interrupt, (task, task_id), converted_namespace, ordinal)
            });
            if let Some(foreign) = foreign {
                interrupts_by_id.insert(foreign, converted.clone());
            }
            entries.push(TaskEntry::Interrupt(converted));
        }
        let time = item.exported.checkpoint.time;
        for (value, ordinal) in self.resume_values.into_iter().zip(0..) {
            entries.push(TaskEntry::Resume(ResumeValue { id: interrupt_id(task_id, ordinal), value, time }));
        }
        match (self.output, self.error) {
            // If the superstep is complete, the results of its tasks are in the next checkpoint.
            (Some(output), _) if item.is_last => entries.push(TaskEntry::Done(done(output, task))),
            (None, Some(error)) => entries.push(TaskEntry::Failed(failed(&error, task, item))),
            _ => {}
        }
        entries
    }

    /// Returns the ordinal of an interrupt within its task. Since 1.2.20 the id depends on the ordinal; before, all
    /// interrupts of a task had the same id.
    fn ordinal(&self, path: &str, foreign: &str) -> u32 {
        let resume_count = self.resume_values.len();
        let matching = (1..=resume_count).find(|candidate| langgraph_interrupt_id(path, *candidate) == foreign);
        let is_finished = self.output.is_some() && resume_count > 0;
        matching.unwrap_or(if is_finished { resume_count - 1 } else { resume_count }) as u32
    }
}

/// Returns LangGraph's id of an interrupt. Before 0.6 it is computed from the stored path.
fn foreign_id(interrupt: &Value) -> Option<String> {
    if let Some(id) = interrupt.get("id").and_then(Value::as_str) {
        return Some(id.to_owned());
    }
    let path: Option<Vec<&str>> = interrupt.get("ns")?.as_array()?.iter().map(Value::as_str).collect();
    path.map(|path| langgraph_interrupt_id(&path.join("|"), 0))
}

fn to_interrupt(
    interrupt: &Value,
    (task, task_id): (&SourceTask, TaskId),
    converted_namespace: &CheckpointNamespace,
    ordinal: u32,
) -> Interrupt {
    Interrupt {
        id: interrupt_id(task_id, ordinal),
        node: task.node.as_str().into(),
        namespace: converted_namespace.clone(),
        name: "interrupt".to_owned(),
        value: interrupt.get("value").cloned().unwrap_or(Value::Null),
        resume_schema: interrupt.get("response_schema").filter(|schema| schema.is_object()).cloned(),
        prompt: None,
    }
}

/// Converts a result. Edges are followed in the graph; the targets of conditional edges and commands are part of the
/// writes.
fn done(output: Vec<(String, Value)>, task: &SourceTask) -> StoredOutput {
    let mut done = StoredOutput { follow_edges: true, ..StoredOutput::default() };
    let mut sends = 0;
    for (channel, value) in output {
        match use_of(&channel) {
            ChannelUse::Branch(node) => done.targets.push(stored_task(node, TriggerKind::Goto, task, None)),
            ChannelUse::Sends => {
                let payload = AnyValue::json(value.get("arg").cloned().unwrap_or(Value::Null));
                let node = value.get("node").and_then(Value::as_str).unwrap_or_default();
                let send = StoredSend { index: sends, payload, timeout: None };
                sends += 1;
                done.targets.push(stored_task(node, TriggerKind::Send, task, Some(send)));
            }
            ChannelUse::Field => {
                let (overwrite, value) = as_overwrite(value).map_or_else(|value| (false, value), |value| (true, value));
                done.writes.push(StoredWrite {
                    field: channel.as_str().into(),
                    overwrite,
                    value: AnyValue::json(value),
                });
            }
            ChannelUse::Join(..) | ChannelUse::Internal => {}
        }
    }
    done
}

fn stored_task(node: &str, kind: TriggerKind, from: &SourceTask, send: Option<StoredSend>) -> StoredTask {
    let trigger = StoredTrigger { kind, from: Some(from.node.as_str().into()) };
    StoredTask { node: node.into(), trigger, send, scheduled_at: None }
}

fn failed(error: &Value, task: &SourceTask, item: &ConvertedCheckpoint) -> StoredError {
    let message = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
    let checkpoint = &item.exported.checkpoint;
    StoredError {
        code: ErrorCode::NodeFailed,
        message,
        help: None,
        retryable: false,
        location: ErrorLocation {
            thread: Some(checkpoint.thread.clone()),
            step: Some(checkpoint.step + 1),
            node: Some(task.node.clone()),
        },
        causes: Vec::new(),
    }
}
