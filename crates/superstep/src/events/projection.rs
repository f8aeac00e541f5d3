//! Projection of run events to events of protocol version 2.
//!
//! Keeps the scopes of running tasks and calls, so that all of their events share one scope.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep_core::id::{RunId, TaskId};
use superstep_core::machine::MachineEvent;
use superstep_core::message::Message;
use superstep_core::model::ChatResponse;

use crate::events::event::{
    EventKind, GraphEnd, GraphRun, ModelCallInfo, ModelEvent, RunEvent, ToolEvent, ToolExecution,
};
use crate::events::event_stream::EventFormat;
use crate::events::json;
use crate::events::scope::{EventMetadata, EventScope, TaskScope};
use crate::events::stream_event::{EventData, PROGRESS, StreamEvent};

/// Projection of run events to protocol events.
pub(crate) struct Projection {
    format: EventFormat,
    /// True if start events include states and requests.
    includes_inputs: bool,
    /// Number of the last event.
    pub(crate) seq: u64,
    graphs: BTreeMap<RunId, GraphScope>,
    tasks: BTreeMap<TaskId, Arc<EventScope>>,
    calls: BTreeMap<RunId, Arc<EventScope>>,
}

struct GraphScope {
    scope: Arc<EventScope>,
    /// Writes of the tasks of this superstep.
    written: Vec<(Arc<str>, Value)>,
}

type EventQueue<'a> = &'a mut VecDeque<StreamEvent>;

impl Projection {
    pub(crate) fn new(format: EventFormat) -> Self {
        let (graphs, tasks, calls) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { format, includes_inputs: true, seq: 0, graphs, tasks, calls }
    }

    /// Creates a projection for journaled events, which omit states in start events: they would take as much space as
    /// all states together. The start event of a node names its checkpoint, which contains the state.
    pub(crate) fn stored(last: u64) -> Self {
        Self { includes_inputs: false, seq: last, ..Self::new(EventFormat::Superstep) }
    }

    /// Projects one run event.
    pub(crate) fn project(&mut self, event: &RunEvent, out: EventQueue<'_>) {
        let before = out.len();
        // The LangChain format omits events, so its events are numbered separately.
        if event.number > 0 && self.is_native_format() {
            self.seq = event.number - 1;
        }
        self.project_kind(&event.graph, &event.kind, out);
        for stream_event in out.iter_mut().skip(before) {
            self.seq += 1;
            (stream_event.metadata.seq, stream_event.metadata.time) = (self.seq, event.time);
        }
    }

    fn project_kind(&mut self, graph: &Arc<GraphRun>, kind: &EventKind, out: EventQueue<'_>) {
        match kind {
            EventKind::Model { call, event } => self.model(call, event, out),
            EventKind::Tool { call, event } => self.tool(call, event, out),
            EventKind::Machine(machine_event) => self.machine(graph, machine_event, out),
            EventKind::Started { input } => {
                let scope = self.graph(graph).scope.clone();
                out.push_back(EventSubject::graph(&scope).event("on_chain_start", json!({"input": input})));
            }
            EventKind::Ended { end, output } => {
                let scope = self.graph(graph).scope.clone();
                let (kind, data) = match end {
                    GraphEnd::Failed(error) => ("on_chain_error", json!({"error": json::error(error)})),
                    GraphEnd::Interrupted(interrupts) => {
                        let mut output = output.clone();
                        if let Value::Object(output) = &mut output {
                            output.insert("__interrupt__".to_owned(), json::interrupts(interrupts));
                        }
                        ("on_chain_end", json!({"output": output}))
                    }
                    _ => ("on_chain_end", json!({"output": output})),
                };
                self.graphs.remove(&graph.id);
                out.push_back(EventSubject::graph(&scope).event(kind, data));
            }
            EventKind::Custom { task, name, value, node } => {
                let Some(scope) = self.tasks.get(task) else { return };
                let name = name.as_ref().unwrap_or(node);
                out.push_back(EventSubject::task(name, *task, scope).event("on_custom_event", value.clone()));
            }
            EventKind::Retry { task, node, attempt, delay, error } => {
                let Some(scope) = self.tasks.get(task).filter(|_| self.is_native_format()) else { return };
                let data = json!({"attempt": attempt, "wait_ms": millis(*delay), "error": json::error(error)});
                out.push_back(EventSubject::task(node, *task, scope).event("on_retry", data));
            }
        }
    }

    fn is_native_format(&self) -> bool {
        self.format == EventFormat::Superstep
    }

    fn graph(&mut self, graph: &Arc<GraphRun>) -> &mut GraphScope {
        let format = self.format;
        self.graphs.entry(graph.id).or_insert_with(|| {
            let mut parents = graph.path_ids();
            parents.pop();
            let (tags, graph) = (graph.tags.to_vec(), graph.clone());
            let scope = Arc::new(EventScope { graph, format, task: None, model: None, parents, tags });
            GraphScope { scope, written: Vec::new() }
        })
    }

    fn machine(&mut self, graph: &Arc<GraphRun>, machine_event: &MachineEvent, out: EventQueue<'_>) {
        match machine_event {
            MachineEvent::TaskStarted { task, node, step, state, send_payload, checkpoint } => {
                let input = match (send_payload, state) {
                    (Some(payload), _) => payload.to_json().unwrap_or_else(|error| json!({"__error__": error.message})),
                    (None, Some(state)) if self.includes_inputs => json::state(state),
                    (None, _) => Value::Null,
                };
                let scope = TaskScope { id: *task, node: node.clone(), step: *step, checkpoint: *checkpoint };
                let event_scope = self.open_task(graph, scope);
                out.push_back(
                    EventSubject::task(node, *task, &event_scope).event("on_chain_start", json!({"input": input})),
                );
            }
            MachineEvent::TaskFinished { task, node, update, .. } => {
                let chunk = json::update(&graph.topology, update);
                self.graph(graph).written.push((node.clone(), chunk.clone()));
                let scope = self.close_task(graph, *task, node);
                let subject = || EventSubject::task(node, *task, &scope);
                out.push_back(subject().event("on_chain_stream", json!({"chunk": chunk})));
                out.push_back(subject().event("on_chain_end", json!({"output": chunk})));
            }
            MachineEvent::TaskFailed { task, node, error, .. } => {
                let scope = self.close_task(graph, *task, node);
                let subject = EventSubject::task(node, *task, &scope);
                out.push_back(subject.event("on_chain_error", json!({"error": json::error(error)})));
            }
            MachineEvent::TaskInterrupted { task, node, interrupts, .. } => {
                let scope = self.close_task(graph, *task, node);
                let data = json!({"output": {"__interrupt__": json::interrupts(interrupts)}});
                out.push_back(EventSubject::task(node, *task, &scope).event("on_chain_end", data));
            }
            MachineEvent::Values { .. } => {
                let GraphScope { scope, written } = self.graph(graph);
                let (scope, written) = (scope.clone(), std::mem::take(written));
                // The superstep has ended, also for cancelled tasks.
                self.tasks.retain(|_, task| task.graph.id != graph.id);
                self.calls.retain(|_, call| call.graph.id != graph.id);
                if !written.is_empty() {
                    let data = json!({"chunk": by_node(written)});
                    out.push_back(EventSubject::graph(&scope).event("on_chain_stream", data));
                }
            }
            _ if !self.is_native_format() => {}
            MachineEvent::Checkpoint { id, step, source, next, .. } => {
                let scope = self.graph(graph).scope.clone();
                let next: Vec<&str> = next.iter().map(|name| &**name).collect();
                let data = json!({"checkpoint_id": id.to_string(), "step": step, "source": source, "next": next});
                out.push_back(EventSubject::graph(&scope).event("on_checkpoint", data));
            }
            MachineEvent::Interrupted { interrupts } => {
                let scope = self.graph(graph).scope.clone();
                let data = json!({"interrupts": json::interrupts(interrupts)});
                out.push_back(EventSubject::graph(&scope).event("on_interrupt", data));
            }
            MachineEvent::Warning { code, field, message } => {
                let scope = self.graph(graph).scope.clone();
                let data = warning_json(code, message, field.as_deref());
                out.push_back(EventSubject::graph(&scope).event("on_warning", data));
            }
            _ => {}
        }
    }

    fn open_task(&mut self, graph: &Arc<GraphRun>, task: TaskScope) -> Arc<EventScope> {
        let (id, format) = (task.id, self.format);
        let mut tags = graph.tags.to_vec();
        if format == EventFormat::LangChain {
            tags.push(format!("graph:step:{}", task.step));
        }
        if let Some(node) = graph.topology.find_node(&task.node) {
            tags.extend(graph.topology.node(node).tags.iter().cloned());
        }
        let (graph, parents) = (graph.clone(), graph.path_ids());
        let scope = Arc::new(EventScope { graph, format, task: Some(task), model: None, parents, tags });
        self.tasks.insert(id, scope.clone());
        scope
    }

    /// Removes and returns the scope of an ended task. If its start event was not seen, a scope is created from known
    /// data.
    fn close_task(&mut self, graph: &Arc<GraphRun>, id: TaskId, node: &Arc<str>) -> Arc<EventScope> {
        let removed = self.tasks.remove(&id);
        removed.unwrap_or_else(|| {
            let scope = self.open_task(graph, TaskScope { id, node: node.clone(), step: 0, checkpoint: None });
            self.tasks.remove(&id);
            scope
        })
    }

    /// Creates the scope of a call in a task: the scopes that enclose the task, and the task.
    fn call(&mut self, id: RunId, task: TaskId, configure: impl FnOnce(&mut EventScope)) -> Option<Arc<EventScope>> {
        let outer = self.tasks.get(&task)?;
        let mut parents = outer.parents.clone();
        parents.push(task.to_string());
        let (graph, task, tags) = (outer.graph.clone(), outer.task.clone(), outer.tags.clone());
        let mut scope = EventScope { graph, format: self.format, task, model: None, parents, tags };
        configure(&mut scope);
        let scope = Arc::new(scope);
        self.calls.insert(id, scope.clone());
        Some(scope)
    }

    fn model(&mut self, call: &Arc<ModelCallInfo>, event: &ModelEvent, out: EventQueue<'_>) {
        let existing = self.calls.get(&call.id).cloned();
        let scope = existing.or_else(|| {
            self.call(call.id, call.task, |scope| {
                scope.model = Some(call.model.clone());
                scope.tags.extend(call.tags.iter().cloned());
            })
        });
        let Some(scope) = scope else { return };
        let (kind, data) = match event {
            ModelEvent::Started { .. } if !self.includes_inputs => {
                ("on_chat_model_start", EventData::Json(json!({"input": null})))
            }
            ModelEvent::Started { request } => {
                let messages: Vec<Value> = request.messages.iter().map(|message| self.message(message)).collect();
                let messages = if self.is_native_format() { json!(messages) } else { json!([messages]) };
                ("on_chat_model_start", EventData::Json(json!({"input": {"messages": messages}})))
            }
            ModelEvent::Chunk { chunk, index } => {
                let (chunk, message, index) = (chunk.clone(), call.message.clone(), *index);
                ("on_chat_model_stream", EventData::Chunk { chunk, message, index, format: self.format })
            }
            ModelEvent::Ended { response } => {
                self.calls.remove(&call.id);
                ("on_chat_model_end", EventData::Json(self.response(response)))
            }
            ModelEvent::Failed { error } => {
                self.calls.remove(&call.id);
                ("on_chain_error", EventData::Json(json!({"error": json::error(error)})))
            }
        };
        let metadata = EventMetadata { seq: 0, time: 0, scope };
        out.push_back(StreamEvent { event: kind, name: call.model.name.clone(), run_id: call.id, metadata, data });
    }

    fn message(&self, message: &Message) -> Value {
        match self.format {
            EventFormat::LangChain => message.to_langchain(),
            EventFormat::Superstep => serde_json::to_value(message).unwrap_or_default(),
        }
    }

    fn response(&self, response: &ChatResponse) -> Value {
        let output = self.message(&response.message);
        match self.format {
            EventFormat::LangChain => json!({"output": output}),
            EventFormat::Superstep => json!({"output": output, "usage": response.message.usage}),
        }
    }

    fn tool(&mut self, call: &Arc<ToolExecution>, event: &ToolEvent, out: EventQueue<'_>) {
        let existing = self.calls.get(&call.id).cloned();
        let Some(scope) = existing.or_else(|| self.call(call.id, call.task, |_| ())) else { return };
        let (mut name, mut run_id) = (Arc::<str>::from(call.tool.as_str()), call.id);
        let (kind, data) = match event {
            ToolEvent::Started { input } if self.is_native_format() => {
                ("on_tool_start", json!({"tool": call.tool, "input": input, "tool_call_id": call.call}))
            }
            ToolEvent::Started { input } => ("on_tool_start", json!({"input": input})),
            ToolEvent::Progress { value } => {
                (name, run_id) = (PROGRESS.into(), task_run_id(call.task));
                ("on_custom_event", json!({"tool": call.tool, "tool_call_id": call.call, "progress": value}))
            }
            ToolEvent::Ended { output, duration, redacted } => {
                self.calls.remove(&call.id);
                let mut data = json!({"output": output, "duration_ms": millis(*duration)});
                if !redacted.is_empty() {
                    data["redacted"] = redacted.into();
                }
                ("on_tool_end", data)
            }
            ToolEvent::Failed { error, attempt, will_retry } => {
                if !will_retry {
                    self.calls.remove(&call.id);
                }
                let data = json!({"tool": call.tool, "error": error, "attempt": attempt, "will_retry": will_retry});
                ("on_tool_error", data)
            }
        };
        out.push_back(EventSubject { name: &name, run_id, scope: &scope }.event(kind, data));
    }
}

fn task_run_id(task: TaskId) -> RunId {
    RunId::from_bits(task.bits())
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Subject and scope of an event.
struct EventSubject<'a> {
    name: &'a Arc<str>,
    run_id: RunId,
    scope: &'a Arc<EventScope>,
}

impl<'a> EventSubject<'a> {
    fn task(name: &'a Arc<str>, task: TaskId, scope: &'a Arc<EventScope>) -> Self {
        Self { name, run_id: task_run_id(task), scope }
    }

    fn graph(scope: &'a Arc<EventScope>) -> Self {
        Self { name: &scope.graph.graph, run_id: scope.graph.id, scope }
    }

    fn event(self, event: &'static str, data: Value) -> StreamEvent {
        // Number and time are set after all events of one run event were created.
        let metadata = EventMetadata { seq: 0, time: 0, scope: self.scope.clone() };
        StreamEvent { event, name: self.name.clone(), run_id: self.run_id, metadata, data: EventData::Json(data) }
    }
}

/// Groups the writes of a superstep by node; a node that ran more than once has a list.
fn by_node(written: Vec<(Arc<str>, Value)>) -> Map<String, Value> {
    let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    for (node, _) in &written {
        *counts.entry(node.clone()).or_default() += 1;
    }
    let mut nodes = Map::new();
    for (node, value) in written {
        match counts.get(&node) {
            Some(1) => drop(nodes.insert(node.to_string(), value)),
            _ => match nodes.entry(node.to_string()).or_insert_with(|| json!([])) {
                Value::Array(list) => list.push(value),
                other => *other = value,
            },
        }
    }
    nodes
}

/// Returns the JSON of a warning; `field` only if the warning concerns one.
fn warning_json(code: &str, message: &str, field: Option<&str>) -> Value {
    let mut data = json!({"code": code, "message": message});
    if let Some(field) = field {
        data["field"] = field.into();
    }
    data
}
