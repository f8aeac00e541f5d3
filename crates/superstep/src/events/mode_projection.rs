//! Projection of run events to stream modes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep_core::checkpoint::CheckpointSource;
use superstep_core::id::{CheckpointId, RunId, TaskId, ThreadId};
use superstep_core::machine::MachineEvent;
use superstep_core::message::{Message, MessageId, Messages};
use superstep_core::port::StateRef;
use superstep_core::time::Time;

use crate::events::event::{EventFormat, EventKind, GraphRun, ModelEvent, RunEvent, ToolEvent};
use crate::events::event_stream::Projection;
use crate::events::json;
use crate::events::mode_stream::{StreamMode, StreamPart, StreamPartData};

/// Selected modes, and state of the projection.
pub(crate) struct ModeProjection {
    modes: Vec<StreamMode>,
    /// True if subgraphs are included.
    streams_subgraphs: bool,
    seq: u64,
    events: Projection,
    /// Messages that were streamed, or that a node received as input.
    seen_messages: BTreeSet<MessageId>,
    /// Message lists with which running tasks started, to distinguish old messages from new ones.
    initial_messages: BTreeMap<TaskId, (RunId, Vec<Messages>)>,
}

impl ModeProjection {
    pub(crate) fn new(modes: &[StreamMode], streams_subgraphs: bool) -> Self {
        let events = Projection::new(EventFormat::Superstep);
        Self {
            modes: modes.to_vec(),
            streams_subgraphs,
            seq: 0,
            events,
            seen_messages: BTreeSet::new(),
            initial_messages: BTreeMap::new(),
        }
    }

    fn has(&self, mode: StreamMode) -> bool {
        self.modes.contains(&mode)
    }

    pub(crate) fn project(&mut self, event: RunEvent, out: &mut VecDeque<StreamPart>) {
        let before = out.len();
        let graph = event.graph.clone();
        if self.has(StreamMode::Events) {
            let mut events = VecDeque::new();
            self.events.project(&event, &mut events);
            let events = events.into_iter().map(|event| StreamPartData::Event(Box::new(event)));
            out.extend(events.map(|data| part(&graph, StreamMode::Events, data)));
        }
        if self.streams_subgraphs || graph.namespace.is_root() {
            self.by_mode(event, &graph, &mut |mode, data| out.push_back(part(&graph, mode, data)));
        }
        for part in out.iter_mut().skip(before) {
            self.seq += 1;
            part.seq = self.seq;
        }
    }

    fn by_mode(&mut self, event: RunEvent, graph: &Arc<GraphRun>, add: &mut dyn FnMut(StreamMode, StreamPartData)) {
        match event.kind {
            EventKind::Machine(machine_event) => {
                if self.has(StreamMode::Messages) {
                    self.messages(graph, &machine_event, add);
                }
                self.machine(graph, &machine_event, event.time, add);
            }
            EventKind::Custom { value, .. } if self.has(StreamMode::Custom) => {
                add(StreamMode::Custom, StreamPartData::Json(value));
            }
            EventKind::Model { call, event: ModelEvent::Chunk { chunk, index } } if self.has(StreamMode::Messages) => {
                if index == 0 {
                    self.seen_messages.insert(call.message.clone());
                }
                add(StreamMode::Messages, StreamPartData::Chunk { chunk, call });
            }
            EventKind::Tool { call, event } if self.has(StreamMode::Tools) => {
                let mut data = match event {
                    ToolEvent::Started { input } => json!({"event": "tool-started", "input": input}),
                    ToolEvent::Progress { value } => json!({"event": "tool-output-delta", "delta": value}),
                    ToolEvent::Ended { output, .. } => json!({"event": "tool-finished", "output": output}),
                    ToolEvent::Failed { will_retry: true, .. } => return,
                    ToolEvent::Failed { error, .. } => json!({"event": "tool-error", "message": error}),
                };
                (data["tool_call_id"], data["tool_name"]) = (json!(call.call), json!(call.tool));
                add(StreamMode::Tools, StreamPartData::Json(data));
            }
            _ => {}
        }
    }

    /// Projects complete messages: the writes of a task, without messages that were streamed or existed before.
    fn messages(
        &mut self,
        graph: &Arc<GraphRun>,
        machine_event: &MachineEvent,
        add: &mut dyn FnMut(StreamMode, StreamPartData),
    ) {
        match machine_event {
            MachineEvent::TaskStarted { task, state: Some(state), .. } => {
                drop(self.initial_messages.insert(*task, (graph.id, message_lists(state))));
            }
            // The superstep has ended, also for cancelled tasks.
            MachineEvent::Values { .. } => self.initial_messages.retain(|_, (graph_id, _)| *graph_id != graph.id),
            MachineEvent::TaskFailed { task, .. } | MachineEvent::TaskInterrupted { task, .. } => {
                drop(self.initial_messages.remove(task))
            }
            MachineEvent::TaskFinished { task, node, step, update, .. } => {
                let initial = self.initial_messages.remove(task);
                if graph.has_streaming_disabled(node) {
                    return;
                }
                for message in json::messages(&graph.topology, update) {
                    let existed = initial.iter().flat_map(|(_, lists)| lists).any(|list| has_message(list, &message));
                    let is_new = message.id.as_ref().is_none_or(|id| self.seen_messages.insert(id.clone()));
                    if is_new && !existed {
                        let (message, node, step) = (Arc::new(message), node.clone(), *step);
                        add(StreamMode::Messages, StreamPartData::Message { message, node, step });
                    }
                }
            }
            _ => {}
        }
    }

    fn machine(
        &self,
        graph: &GraphRun,
        machine_event: &MachineEvent,
        time: i64,
        add: &mut dyn FnMut(StreamMode, StreamPartData),
    ) {
        match machine_event {
            MachineEvent::Values { state, is_visible: true, .. } if self.has(StreamMode::Values) => {
                add(StreamMode::Values, StreamPartData::Json(json::values(graph, state)));
            }
            MachineEvent::Interrupted { interrupts } => {
                for mode in [StreamMode::Values, StreamMode::Updates] {
                    if self.has(mode) {
                        add(mode, StreamPartData::Json(json!({"__interrupt__": json::interrupts(interrupts)})));
                    }
                }
            }
            MachineEvent::TaskFinished { node, update, cached, .. } if self.has(StreamMode::Updates) => {
                let mut data = Map::from_iter([(node.to_string(), json::update(&graph.topology, update))]);
                if *cached {
                    data.insert("__metadata__".to_owned(), json!({"cached": true}));
                }
                add(StreamMode::Updates, StreamPartData::Json(Value::Object(data)));
            }
            _ => {}
        }
        if let Some((mode, kind, step, payload)) = self.task_or_checkpoint(graph, machine_event) {
            if self.has(mode) {
                add(mode, StreamPartData::Json(payload.clone()));
            }
            if self.has(StreamMode::Debug) {
                let time = Time::from_unix_micros(time).map(|time| time.to_string()).unwrap_or_default();
                let data = json!({"step": step, "timestamp": time, "type": kind, "payload": payload});
                add(StreamMode::Debug, StreamPartData::Json(data));
            }
        }
    }

    /// Projects an event of a task or a checkpoint.
    fn task_or_checkpoint(
        &self,
        graph: &GraphRun,
        machine_event: &MachineEvent,
    ) -> Option<(StreamMode, &'static str, i64, Value)> {
        let is_selected = |mode: StreamMode| self.has(mode) || self.has(StreamMode::Debug);
        if let MachineEvent::Checkpoint { id, parent, step, source, next, tasks, state } = machine_event {
            let saved = (*id, *parent, *step, *source);
            return is_selected(StreamMode::Checkpoints).then(|| {
                let tasks: Vec<Value> =
                    tasks.iter().map(|(id, name)| json!({"id": id.to_string(), "name": &**name})).collect();
                let values = state.as_ref().map_or(Value::Null, json::state);
                let mut payload = checkpoint(graph, saved, values);
                (payload["next"], payload["tasks"]) = (names(next), Value::Array(tasks));
                (StreamMode::Checkpoints, "checkpoint", *step, payload)
            });
        }
        if !is_selected(StreamMode::Tasks) {
            return None;
        }
        let (task, node, step) = match machine_event {
            MachineEvent::TaskStarted { task, node, step, .. }
            | MachineEvent::TaskFinished { task, node, step, .. }
            | MachineEvent::TaskFailed { task, node, step, .. }
            | MachineEvent::TaskInterrupted { task, node, step, .. } => (task, node, *step),
            _ => return None,
        };
        let mut payload = json!({"id": task.to_string(), "name": &**node});
        let kind = match machine_event {
            MachineEvent::TaskStarted { state, send_payload, .. } => {
                payload["input"] = match (send_payload, state) {
                    (Some(payload), _) => payload.to_json().unwrap_or_default(),
                    (None, Some(state)) => json::state(state),
                    (None, None) => Value::Null,
                };
                "task"
            }
            _ => {
                (payload["result"], payload["error"], payload["interrupts"]) = (json!({}), Value::Null, json!([]));
                match machine_event {
                    MachineEvent::TaskFinished { update, .. } => {
                        payload["result"] = json::update(&graph.topology, update)
                    }
                    MachineEvent::TaskFailed { error, .. } => payload["error"] = json::error(error),
                    MachineEvent::TaskInterrupted { interrupts, .. } => {
                        payload["interrupts"] = json::interrupts(interrupts)
                    }
                    _ => {}
                }
                "task_result"
            }
        };
        Some((StreamMode::Tasks, kind, step, payload))
    }
}

fn part(graph: &GraphRun, mode: StreamMode, data: StreamPartData) -> StreamPart {
    StreamPart { mode, namespace: graph.namespace.clone(), seq: 0, data }
}

fn names(nodes: &[Arc<str>]) -> Value {
    nodes.iter().map(|node| Value::from(&**node)).collect()
}

/// Encodes a checkpoint as LangGraph does.
fn checkpoint(
    graph: &GraphRun,
    saved: (CheckpointId, Option<CheckpointId>, i64, CheckpointSource),
    values: Value,
) -> Value {
    let (id, parent, step, source) = saved;
    let thread = graph.thread.as_ref().map(ThreadId::as_str);
    let config = |id: CheckpointId| {
        let configurable =
            json!({"thread_id": thread, "checkpoint_ns": graph.namespace.as_str(), "checkpoint_id": id.to_string()});
        json!({"configurable": configurable})
    };
    let mut metadata: Map<String, Value> =
        graph.metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    metadata.insert("source".to_owned(), json!(source));
    metadata.insert("step".to_owned(), json!(step));
    json!({"config": config(id), "parent_config": parent.map(config), "values": values, "metadata": metadata})
}

/// Returns the message lists of a state.
fn message_lists(state: &StateRef) -> Vec<Messages> {
    let fields = state.schema.fields().iter().filter(|field| field.reducer.as_deref() == Some("add_messages"));
    fields.filter_map(|field| state.full_value(&field.name)?.into_value().ok()).collect()
}

fn has_message(list: &Messages, message: &Message) -> bool {
    message.id.as_ref().and_then(|id| list.by_id(id.as_str())).is_some_and(|existing| existing == message)
}
