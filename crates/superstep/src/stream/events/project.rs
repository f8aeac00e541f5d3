//! Turns what a run says into events of version 2.
//!
//! Remembers where tasks and calls are as long as they last, so that each of their events shares one place.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep_core::id::{RunId, TaskId};
use superstep_core::machine::Event;
use superstep_core::message::Message;
use superstep_core::model::Answer;

use super::EventForm;
use super::event::{EventData, PROGRESS, StreamEvent};
use super::place::{EventMetadata, Place, TaskPlace};
use crate::stream::{EventKind, GraphEnd, GraphRun, ModelCall, ModelEvent, RunEvent, ToolEvent, ToolRun, form};

/// Turns what a run says into events.
pub(in crate::stream) struct Projection {
    form: EventForm,
    /// Whether states and requests are told whole when something begins with them.
    is_whole: bool,
    /// The number of the last event.
    pub(in crate::stream) seq: u64,
    graphs: BTreeMap<RunId, GraphPlace>,
    tasks: BTreeMap<TaskId, Arc<Place>>,
    calls: BTreeMap<RunId, Arc<Place>>,
}

struct GraphPlace {
    place: Arc<Place>,
    /// What the tasks of this superstep have written.
    written: Vec<(Arc<str>, Value)>,
}

type Out<'a> = &'a mut VecDeque<StreamEvent>;

impl Projection {
    pub(in crate::stream) fn new(form: EventForm) -> Self {
        let (graphs, tasks, calls) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { form, is_whole: true, seq: 0, graphs, tasks, calls }
    }

    /// For events that are stored: one that told the state at every start would store as much as all states together. The
    /// checkpoint that a node begins with is named, and has it.
    pub(in crate::stream) fn stored(last: u64) -> Self {
        Self { is_whole: false, seq: last, ..Self::new(EventForm::Superstep) }
    }

    /// The events of one thing that a run says.
    pub(in crate::stream) fn project(&mut self, event: &RunEvent, out: Out<'_>) {
        let before = out.len();
        // LangChain's form leaves some out: its events are numbered by themselves.
        if event.number > 0 && self.is_ours() {
            self.seq = event.number - 1;
        }
        self.tell(&event.graph, &event.kind, out);
        for made in out.iter_mut().skip(before) {
            self.seq += 1;
            (made.metadata.seq, made.metadata.time) = (self.seq, event.time);
        }
    }

    fn tell(&mut self, graph: &Arc<GraphRun>, kind: &EventKind, out: Out<'_>) {
        match kind {
            EventKind::Model { call, what } => self.model(call, what, out),
            EventKind::Tool { call, what } => self.tool(call, what, out),
            EventKind::Machine(said) => self.machine(graph, said, out),
            EventKind::Started { input } => {
                let place = self.graph(graph).place.clone();
                out.push_back(Of::graph(&place).says("on_chain_start", json!({"input": input})));
            }
            EventKind::Ended { end, output } => {
                let place = self.graph(graph).place.clone();
                let (kind, data) = match end {
                    GraphEnd::Failed(error) => ("on_chain_error", json!({"error": form::error(error)})),
                    GraphEnd::Interrupted(questions) => {
                        let mut output = output.clone();
                        if let Value::Object(output) = &mut output {
                            output.insert("__interrupt__".to_owned(), form::questions(questions));
                        }
                        ("on_chain_end", json!({"output": output}))
                    }
                    _ => ("on_chain_end", json!({"output": output})),
                };
                self.graphs.remove(&graph.id);
                out.push_back(Of::graph(&place).says(kind, data));
            }
            EventKind::Custom { task, name, value, node } => {
                let Some(place) = self.tasks.get(task) else { return };
                let name = name.as_ref().unwrap_or(node);
                out.push_back(Of::task(name, *task, place).says("on_custom_event", value.clone()));
            }
            EventKind::Retry { task, node, attempt, wait, error } => {
                let Some(place) = self.tasks.get(task).filter(|_| self.is_ours()) else { return };
                let data = json!({"attempt": attempt, "wait_ms": millis(*wait), "error": form::error(error)});
                out.push_back(Of::task(node, *task, place).says("on_retry", data));
            }
        }
    }

    fn is_ours(&self) -> bool {
        self.form == EventForm::Superstep
    }

    fn graph(&mut self, graph: &Arc<GraphRun>) -> &mut GraphPlace {
        let form = self.form;
        self.graphs.entry(graph.id).or_insert_with(|| {
            let mut parents = graph.path_ids();
            parents.pop();
            let (tags, graph) = (graph.tags.to_vec(), graph.clone());
            let place = Arc::new(Place { graph, form, task: None, model: None, parents, tags });
            GraphPlace { place, written: Vec::new() }
        })
    }

    fn machine(&mut self, graph: &Arc<GraphRun>, said: &Event, out: Out<'_>) {
        match said {
            Event::TaskStarted { task, node, step, view, sent, checkpoint } => {
                let input = match (sent, view) {
                    (Some(sent), _) => sent.to_json().unwrap_or_else(|fault| json!({"__error__": fault.message})),
                    (None, Some(view)) if self.is_whole => form::state(view),
                    (None, _) => Value::Null,
                };
                let place = TaskPlace { id: *task, node: node.clone(), step: *step, checkpoint: *checkpoint };
                let place = self.enter(graph, place);
                out.push_back(Of::task(node, *task, &place).says("on_chain_start", json!({"input": input})));
            }
            Event::TaskDone { task, node, update, .. } => {
                let chunk = form::update(&graph.topology, update);
                self.graph(graph).written.push((node.clone(), chunk.clone()));
                let place = self.leave(graph, *task, node);
                out.push_back(Of::task(node, *task, &place).says("on_chain_stream", json!({"chunk": chunk})));
                out.push_back(Of::task(node, *task, &place).says("on_chain_end", json!({"output": chunk})));
            }
            Event::TaskFailed { task, node, error, .. } => {
                let place = self.leave(graph, *task, node);
                let data = json!({"error": form::error(error)});
                out.push_back(Of::task(node, *task, &place).says("on_chain_error", data));
            }
            Event::TaskAsked { task, node, questions, .. } => {
                let place = self.leave(graph, *task, node);
                let data = json!({"output": {"__interrupt__": form::questions(questions)}});
                out.push_back(Of::task(node, *task, &place).says("on_chain_end", data));
            }
            Event::Values { .. } => {
                let GraphPlace { place, written } = self.graph(graph);
                let (place, written) = (place.clone(), std::mem::take(written));
                // The superstep is over, also for tasks that were called off.
                self.tasks.retain(|_, task| task.graph.id != graph.id);
                self.calls.retain(|_, call| call.graph.id != graph.id);
                if !written.is_empty() {
                    let data = json!({"chunk": by_node(written)});
                    out.push_back(Of::graph(&place).says("on_chain_stream", data));
                }
            }
            _ if !self.is_ours() => {}
            Event::Checkpoint { id, step, source, next, .. } => {
                let place = self.graph(graph).place.clone();
                let next: Vec<&str> = next.iter().map(|name| &**name).collect();
                let data = json!({"checkpoint_id": id.to_string(), "step": step, "source": source, "next": next});
                out.push_back(Of::graph(&place).says("on_checkpoint", data));
            }
            Event::Interrupted { questions } => {
                let place = self.graph(graph).place.clone();
                let data = json!({"interrupts": form::questions(questions)});
                out.push_back(Of::graph(&place).says("on_interrupt", data));
            }
            Event::Warning { code, field, message } => {
                let place = self.graph(graph).place.clone();
                let mut data = json!({"code": code, "message": message});
                if let Some(field) = field {
                    data["field"] = (&**field).into();
                }
                out.push_back(Of::graph(&place).says("on_warning", data));
            }
            _ => {}
        }
    }

    fn enter(&mut self, graph: &Arc<GraphRun>, task: TaskPlace) -> Arc<Place> {
        let (id, form) = (task.id, self.form);
        let mut tags = graph.tags.to_vec();
        if form == EventForm::LangChain {
            tags.push(format!("graph:step:{}", task.step));
        }
        if let Some(node) = graph.topology.find(&task.node) {
            tags.extend(graph.topology.node(node).tags.iter().cloned());
        }
        let (graph, parents) = (graph.clone(), graph.path_ids());
        let place = Arc::new(Place { graph, form, task: Some(task), model: None, parents, tags });
        self.tasks.insert(id, place.clone());
        place
    }

    /// The place of a task that is over. One whose start was before the reader came is made up of what is known.
    fn leave(&mut self, graph: &Arc<GraphRun>, id: TaskId, node: &Arc<str>) -> Arc<Place> {
        let known = self.tasks.remove(&id);
        known.unwrap_or_else(|| {
            let place = self.enter(graph, TaskPlace { id, node: node.clone(), step: 0, checkpoint: None });
            self.tasks.remove(&id);
            place
        })
    }

    /// The place of a call in a task: what the task is in, and the task.
    fn call(&mut self, id: RunId, task: TaskId, of: impl FnOnce(&mut Place)) -> Option<Arc<Place>> {
        let outer = self.tasks.get(&task)?;
        let mut parents = outer.parents.clone();
        parents.push(task.to_string());
        let (graph, task, tags) = (outer.graph.clone(), outer.task.clone(), outer.tags.clone());
        let mut place = Place { graph, form: self.form, task, model: None, parents, tags };
        of(&mut place);
        let place = Arc::new(place);
        self.calls.insert(id, place.clone());
        Some(place)
    }

    fn model(&mut self, call: &Arc<ModelCall>, what: &ModelEvent, out: Out<'_>) {
        let known = self.calls.get(&call.id).cloned();
        let place = known.or_else(|| {
            self.call(call.id, call.task, |place| {
                place.model = Some(call.model.clone());
                place.tags.extend(call.tags.iter().cloned());
            })
        });
        let Some(place) = place else { return };
        let (kind, data) = match what {
            ModelEvent::Started { .. } if !self.is_whole => {
                ("on_chat_model_start", EventData::Json(json!({"input": null})))
            }
            ModelEvent::Started { request } => {
                let messages: Vec<Value> = request.messages.iter().map(|message| self.message(message)).collect();
                let messages = if self.is_ours() { json!(messages) } else { json!([messages]) };
                ("on_chat_model_start", EventData::Json(json!({"input": {"messages": messages}})))
            }
            ModelEvent::Piece { piece, index } => {
                let (piece, message, index) = (piece.clone(), call.message.clone(), *index);
                ("on_chat_model_stream", EventData::Piece { piece, message, index, form: self.form })
            }
            ModelEvent::Ended { answer } => {
                self.calls.remove(&call.id);
                ("on_chat_model_end", EventData::Json(self.answer(answer)))
            }
            ModelEvent::Failed { error } => {
                self.calls.remove(&call.id);
                ("on_chain_error", EventData::Json(json!({"error": form::error(error)})))
            }
        };
        let metadata = EventMetadata { seq: 0, time: 0, place };
        out.push_back(StreamEvent { event: kind, name: call.model.name.clone(), run_id: call.id, metadata, data });
    }

    fn message(&self, message: &Message) -> Value {
        match self.form {
            EventForm::LangChain => message.to_langchain(),
            EventForm::Superstep => serde_json::to_value(message).unwrap_or_default(),
        }
    }

    fn answer(&self, answer: &Answer) -> Value {
        let output = self.message(&answer.message);
        match self.form {
            EventForm::LangChain => json!({"output": output}),
            EventForm::Superstep => json!({"output": output, "usage": answer.message.usage}),
        }
    }

    fn tool(&mut self, call: &Arc<ToolRun>, what: &ToolEvent, out: Out<'_>) {
        let known = self.calls.get(&call.id).cloned();
        let Some(place) = known.or_else(|| self.call(call.id, call.task, |_| ())) else { return };
        let (mut name, mut run_id) = (Arc::<str>::from(call.tool.as_str()), call.id);
        let (kind, data) = match what {
            ToolEvent::Started { input } if self.is_ours() => {
                ("on_tool_start", json!({"tool": call.tool, "input": input, "tool_call_id": call.call}))
            }
            ToolEvent::Started { input } => ("on_tool_start", json!({"input": input})),
            ToolEvent::Progress { value } => {
                (name, run_id) = (PROGRESS.into(), run(call.task));
                ("on_custom_event", json!({"tool": call.tool, "tool_call_id": call.call, "progress": value}))
            }
            ToolEvent::Ended { output, took, redacted } => {
                self.calls.remove(&call.id);
                let mut data = json!({"output": output, "duration_ms": millis(*took)});
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
        out.push_back(Of { name: &name, run_id, place: &place }.says(kind, data));
    }
}

fn run(task: TaskId) -> RunId {
    RunId::from_bits(task.bits())
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What an event is of, and where.
struct Of<'a> {
    name: &'a Arc<str>,
    run_id: RunId,
    place: &'a Arc<Place>,
}

impl<'a> Of<'a> {
    fn task(name: &'a Arc<str>, task: TaskId, place: &'a Arc<Place>) -> Self {
        Self { name, run_id: run(task), place }
    }

    fn graph(place: &'a Arc<Place>) -> Self {
        Self { name: &place.graph.graph, run_id: place.graph.id, place }
    }

    fn says(self, event: &'static str, data: Value) -> StreamEvent {
        // Numbers and times are given once all events of one thing are there.
        let metadata = EventMetadata { seq: 0, time: 0, place: self.place.clone() };
        StreamEvent { event, name: self.name.clone(), run_id: self.run_id, metadata, data: EventData::Json(data) }
    }
}

/// What the nodes of a superstep wrote; a node that ran more than once has a list.
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
