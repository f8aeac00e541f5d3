//! Which parts an event of a run gives, mode by mode.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep_core::checkpoint::Source;
use superstep_core::id::{CheckpointId, RunId, TaskId, ThreadId};
use superstep_core::machine::Event;
use superstep_core::message::{Message, MessageId, Messages};
use superstep_core::port::StateRef;
use superstep_core::time::Time;

use super::{PartData, StreamMode, StreamPart, form};
use crate::stream::events::Projection;
use crate::stream::{EventForm, EventKind, GraphRun, ModelEvent, RunEvent, ToolEvent};

/// Which modes are shown, and what has been shown in them.
pub(super) struct Modes {
    wanted: Vec<StreamMode>,
    /// Whether graphs inside are shown.
    inside: bool,
    seq: u64,
    events: Projection,
    /// Messages that were shown, or that a node found when it began.
    shown: BTreeSet<MessageId>,
    /// The lists of messages that tasks which run began with, to tell old messages from new ones.
    views: BTreeMap<TaskId, (RunId, Vec<Messages>)>,
}

impl Modes {
    pub(super) fn new(modes: &[StreamMode], inside: bool) -> Self {
        let events = Projection::new(EventForm::Superstep);
        Self { wanted: modes.to_vec(), inside, seq: 0, events, shown: BTreeSet::new(), views: BTreeMap::new() }
    }

    fn has(&self, mode: StreamMode) -> bool {
        self.wanted.contains(&mode)
    }

    pub(super) fn show(&mut self, event: RunEvent, out: &mut VecDeque<StreamPart>) {
        let before = out.len();
        let graph = event.graph.clone();
        if self.has(StreamMode::Events) {
            let mut events = VecDeque::new();
            self.events.project(&event, &mut events);
            let events = events.into_iter().map(|event| PartData::Event(Box::new(event)));
            out.extend(events.map(|data| part(&graph, StreamMode::Events, data)));
        }
        if self.inside || graph.namespace.is_root() {
            self.by_mode(event, &graph, &mut |mode, data| out.push_back(part(&graph, mode, data)));
        }
        for part in out.iter_mut().skip(before) {
            self.seq += 1;
            part.seq = self.seq;
        }
    }

    fn by_mode(&mut self, event: RunEvent, graph: &Arc<GraphRun>, add: &mut dyn FnMut(StreamMode, PartData)) {
        match event.kind {
            EventKind::Machine(said) => {
                if self.has(StreamMode::Messages) {
                    self.messages(graph, &said, add);
                }
                self.machine(graph, &said, event.time, add);
            }
            EventKind::Custom { value, .. } if self.has(StreamMode::Custom) => {
                add(StreamMode::Custom, PartData::Json(value));
            }
            EventKind::Model { call, what: ModelEvent::Piece { piece, index } } if self.has(StreamMode::Messages) => {
                if index == 0 {
                    self.shown.insert(call.message.clone());
                }
                add(StreamMode::Messages, PartData::Piece { piece, call });
            }
            EventKind::Tool { call, what } if self.has(StreamMode::Tools) => {
                let mut data = match what {
                    ToolEvent::Started { input } => json!({"event": "tool-started", "input": input}),
                    ToolEvent::Progress { value } => json!({"event": "tool-output-delta", "delta": value}),
                    ToolEvent::Ended { output, .. } => json!({"event": "tool-finished", "output": output}),
                    ToolEvent::Failed { will_retry: true, .. } => return,
                    ToolEvent::Failed { error, .. } => json!({"event": "tool-error", "message": error}),
                };
                (data["tool_call_id"], data["tool_name"]) = (json!(call.call), json!(call.tool));
                add(StreamMode::Tools, PartData::Json(data));
            }
            _ => {}
        }
    }

    /// Messages that come whole: what a task wrote, without what was streamed and what was there before.
    fn messages(&mut self, graph: &Arc<GraphRun>, said: &Event, add: &mut dyn FnMut(StreamMode, PartData)) {
        match said {
            Event::TaskStarted { task, view: Some(view), .. } => {
                drop(self.views.insert(*task, (graph.id, lists(view))));
            }
            // The superstep is over, also for tasks that were called off.
            Event::Values { .. } => self.views.retain(|_, (of, _)| *of != graph.id),
            Event::TaskFailed { task, .. } | Event::TaskAsked { task, .. } => drop(self.views.remove(task)),
            Event::TaskDone { task, node, step, update, .. } => {
                let view = self.views.remove(task);
                if graph.silences(node) {
                    return;
                }
                for message in form::messages(&graph.topology, update) {
                    let was_there = view.iter().flat_map(|(_, lists)| lists).any(|list| has_message(list, &message));
                    let is_new = message.id.as_ref().is_none_or(|id| self.shown.insert(id.clone()));
                    if is_new && !was_there {
                        let (message, node, step) = (Arc::new(message), node.clone(), *step);
                        add(StreamMode::Messages, PartData::Message { message, node, step });
                    }
                }
            }
            _ => {}
        }
    }

    fn machine(&self, graph: &GraphRun, said: &Event, time: i64, add: &mut dyn FnMut(StreamMode, PartData)) {
        match said {
            Event::Values { state, is_visible: true, .. } if self.has(StreamMode::Values) => {
                add(StreamMode::Values, PartData::Json(form::values(graph, state)));
            }
            Event::Interrupted { questions } => {
                for mode in [StreamMode::Values, StreamMode::Updates] {
                    if self.has(mode) {
                        add(mode, PartData::Json(json!({"__interrupt__": form::questions(questions)})));
                    }
                }
            }
            Event::TaskDone { node, update, cached, .. } if self.has(StreamMode::Updates) => {
                let mut data = Map::from_iter([(node.to_string(), form::update(&graph.topology, update))]);
                if *cached {
                    data.insert("__metadata__".to_owned(), json!({"cached": true}));
                }
                add(StreamMode::Updates, PartData::Json(Value::Object(data)));
            }
            _ => {}
        }
        if let Some((mode, kind, step, payload)) = self.watched(graph, said) {
            if self.has(mode) {
                add(mode, PartData::Json(payload.clone()));
            }
            if self.has(StreamMode::Debug) {
                let time = Time::from_unix_micros(time).map(|time| time.to_string()).unwrap_or_default();
                let data = json!({"step": step, "timestamp": time, "type": kind, "payload": payload});
                add(StreamMode::Debug, PartData::Json(data));
            }
        }
    }

    /// A task or a checkpoint, for those who watch them.
    fn watched(&self, graph: &GraphRun, said: &Event) -> Option<(StreamMode, &'static str, i64, Value)> {
        let wants = |mode: StreamMode| self.has(mode) || self.has(StreamMode::Debug);
        if let Event::Checkpoint { id, parent, step, source, next, tasks, state } = said {
            let saved = (*id, *parent, *step, *source);
            return wants(StreamMode::Checkpoints).then(|| {
                let tasks: Vec<Value> =
                    tasks.iter().map(|(id, name)| json!({"id": id.to_string(), "name": &**name})).collect();
                let values = state.as_ref().map_or(Value::Null, form::state);
                let mut payload = checkpoint(graph, saved, values);
                (payload["next"], payload["tasks"]) = (names(next), Value::Array(tasks));
                (StreamMode::Checkpoints, "checkpoint", *step, payload)
            });
        }
        if !wants(StreamMode::Tasks) {
            return None;
        }
        let (task, node, step) = match said {
            Event::TaskStarted { task, node, step, .. }
            | Event::TaskDone { task, node, step, .. }
            | Event::TaskFailed { task, node, step, .. }
            | Event::TaskAsked { task, node, step, .. } => (task, node, *step),
            _ => return None,
        };
        let mut payload = json!({"id": task.to_string(), "name": &**node});
        let kind = match said {
            Event::TaskStarted { view, sent, .. } => {
                payload["input"] = match (sent, view) {
                    (Some(sent), _) => sent.to_json().unwrap_or_default(),
                    (None, Some(view)) => form::state(view),
                    (None, None) => Value::Null,
                };
                "task"
            }
            _ => {
                (payload["result"], payload["error"], payload["interrupts"]) = (json!({}), Value::Null, json!([]));
                match said {
                    Event::TaskDone { update, .. } => payload["result"] = form::update(&graph.topology, update),
                    Event::TaskFailed { error, .. } => payload["error"] = form::error(error),
                    Event::TaskAsked { questions, .. } => payload["interrupts"] = form::questions(questions),
                    _ => {}
                }
                "task_result"
            }
        };
        Some((StreamMode::Tasks, kind, step, payload))
    }
}

fn part(graph: &GraphRun, mode: StreamMode, data: PartData) -> StreamPart {
    StreamPart { mode, namespace: graph.namespace.clone(), seq: 0, data }
}

fn names(nodes: &[Arc<str>]) -> Value {
    nodes.iter().map(|node| Value::from(&**node)).collect()
}

/// A checkpoint as LangGraph shows one.
fn checkpoint(graph: &GraphRun, saved: (CheckpointId, Option<CheckpointId>, i64, Source), values: Value) -> Value {
    let (id, parent, step, source) = saved;
    let thread = graph.thread.as_ref().map(ThreadId::as_str);
    let config = |id: CheckpointId| {
        let place =
            json!({"thread_id": thread, "checkpoint_ns": graph.namespace.as_str(), "checkpoint_id": id.to_string()});
        json!({"configurable": place})
    };
    let mut metadata: Map<String, Value> =
        graph.metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    metadata.insert("source".to_owned(), json!(source));
    metadata.insert("step".to_owned(), json!(step));
    json!({"config": config(id), "parent_config": parent.map(config), "values": values, "metadata": metadata})
}

/// The lists of messages of a state.
fn lists(view: &StateRef) -> Vec<Messages> {
    let fields = view.schema.fields().iter().filter(|field| field.reducer.as_deref() == Some("add_messages"));
    fields.filter_map(|field| view.full(&field.name)?.take().ok()).collect()
}

fn has_message(list: &Messages, message: &Message) -> bool {
    message.id.as_ref().and_then(|id| list.by_id(id.as_str())).is_some_and(|known| known == message)
}
