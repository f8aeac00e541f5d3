//! Runs the cases of `testing/parity/cases.json` on this engine and prints one JSON line per case, as `reference.py`
//! does.
//!
//! `ours <cases.json> [--strict]`. The template language of the cases is described in `testing/parity/README.md`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use superstep::core::port::{BoxFuture, HistoryQuery};
use superstep::core::state::IntoUpdate;
use superstep::prelude::*;
use superstep::{
    Compat, CompiledGraph, DynamicState, Endpoint, NodeFailure, Outcome, ResumeValues, RouteTargets, RunBuilder,
    Schema, SubgraphPersistence,
};
use superstep::{IntoNode, NodeBuilder, Result, StateSnapshot, StateUpdate, StreamMode};

mod form;

use form::{Forms, act, command, fill, goto_targets, many, normalized, plain, targets, text};

/// Future of a node of a case.
type Acting = BoxFuture<'static, Result<Forms, NodeError>>;

/// Number of calls of each node.
#[derive(Clone, Default)]
struct Ran(Arc<Mutex<BTreeMap<String, u64>>>);

impl Ran {
    fn count(&self, name: &str) -> u64 {
        let mut ran = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = ran.entry(name.to_owned()).or_default();
        *runs += 1;
        *runs
    }

    fn to_json(&self) -> Value {
        json!(*self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Builder<'a> {
    compat: Compat,
    ran: &'a Ran,
}

impl Builder<'_> {
    fn graph(&self, case: &Value, name: &str) -> Result<StateGraph<DynamicState>> {
        let mut graph = StateGraph::<DynamicState>::with_schema(name, Schema::from_json("state", &case["schema"])?);
        graph.compat(self.compat);
        let by_name = || {
            let mut names: Vec<String> = case["nodes"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
            names.sort();
            names
        };
        let names = case.get("order").map_or_else(by_name, |order| many(order).iter().map(text).collect::<Vec<_>>());
        for name in names {
            self.node(&mut graph, case, &name, &case["nodes"][&name])?;
        }
        for edge in many(&case["edges"]) {
            graph.add_edge(text(&edge[0]), text(&edge[1]));
        }
        for join in many(&case["joins"]) {
            graph.add_join(many(&join[0]).iter().map(text), text(&join[1]));
        }
        many(&case["routes"]).iter().for_each(|one| route(&mut graph, one.clone()));
        graph.interrupt_before(many(&case["before"]).iter().map(text));
        graph.interrupt_after(many(&case["after"]).iter().map(text));
        Ok(graph)
    }

    fn node(&self, graph: &mut StateGraph<DynamicState>, case: &Value, name: &str, spec: &Value) -> Result<()> {
        let defer = many(&case["defer"]).iter().any(|deferred| deferred == name);
        if spec.get("calls").is_some() {
            let called = self.caller(name, spec)?;
            add(graph, name, node(called), spec, defer);
        } else if spec.get("graph").is_some() {
            let mut inner = self.graph(&spec["graph"], name)?;
            match spec["persistence"].as_str() {
                Some("thread") => inner.subgraph_persistence(SubgraphPersistence::PerThread),
                Some(_) => inner.subgraph_persistence(SubgraphPersistence::Stateless),
                None => &mut inner,
            };
            add(graph, name, node(inner.compile()?), spec, defer);
        } else if let Some(handler) = spec.get("on_error").cloned() {
            let handle = move |failure: NodeFailure, state: View<DynamicState>, cx: TaskContext| {
                let (node, error) = (&*failure.node, failure.error.message());
                act(handler.clone(), json!({ "state": state.to_json(), "node": node, "error": error, "runs": 1 }), cx)
            };
            add(graph, name, node(self.body(name, spec)).error_handler(handle), spec, defer);
        } else {
            add(graph, name, node(self.body(name, spec)), spec, defer);
        }
        Ok(())
    }

    fn body(
        &self,
        name: &str,
        spec: &Value,
    ) -> impl Fn(View<DynamicState>, Option<SendPayload<Value>>, TaskContext) -> Acting + use<> {
        let (ran, name, form) = (self.ran.clone(), name.to_owned(), spec["returns"].clone());
        move |state: View<DynamicState>, sent: Option<SendPayload<Value>>, cx: TaskContext| {
            let (runs, remaining) = (ran.count(&name), cx.remaining_steps());
            let payload = sent.map_or(Value::Null, |sent| sent.0);
            let env = json!({ "state": state.to_json(), "payload": payload, "runs": runs, "remaining": remaining });
            act(form.clone(), env, cx)
        }
    }

    /// Creates a node that calls a graph explicitly, once per input.
    fn caller(&self, name: &str, spec: &Value) -> Result<impl Fn(View<DynamicState>, TaskContext) -> Acting + use<>> {
        let inner = self.graph(&spec["graph"], "inner")?.compile()?;
        let (ran, name, spec) = (self.ran.clone(), name.to_owned(), spec.clone());
        Ok(move |state: View<DynamicState>, cx: TaskContext| -> Acting {
            ran.count(&name);
            let (inner, spec) = (inner.clone(), spec.clone());
            Box::pin(async move {
                let mut env = json!({ "state": state.to_json(), "runs": 1 });
                let mut outputs = Vec::new();
                for input in many(&spec["calls"]) {
                    outputs.push(inner.invoke(fill(input, &env)).nested_in(&cx).await?.to_json()?);
                }
                env["answers"] = Value::Array(outputs);
                act(spec["then"].clone(), env, cx).await
            })
        })
    }
}

fn add<M, F, H>(
    graph: &mut StateGraph<DynamicState>,
    name: &str,
    mut builder: NodeBuilder<F, H>,
    spec: &Value,
    defer: bool,
) where
    NodeBuilder<F, H>: IntoNode<DynamicState, (), M>,
{
    for policy in many(&spec["retry"]) {
        let on = policy["on"].as_str().unwrap_or("").to_owned();
        let attempts = u32::try_from(policy["attempts"].as_u64().unwrap_or(1)).unwrap_or(1);
        let retry = RetryPolicy::exponential(attempts).initial_interval(Duration::from_millis(1)).without_jitter();
        builder = builder.retry(retry.retry_on(move |error| error.error().message().contains(&on)));
    }
    let mut leads = targets(&spec["returns"], false);
    leads.extend(targets(&spec["on_error"], false));
    for inner in spec["graph"]["nodes"].as_object().into_iter().flatten() {
        leads.extend(targets(&inner.1["returns"], true));
    }
    if !leads.is_empty() {
        builder = builder.goto_targets(leads);
    }
    graph.add_node(name, if defer { builder.defer() } else { builder });
}

fn route(graph: &mut StateGraph<DynamicState>, form: Value) {
    let from = text(&form["from"]);
    let Some(by) = form["by"].as_str().map(str::to_owned) else {
        let decide = move |state: &DynamicState| goto_targets(&form["goto"], &json!({ "state": state.to_json() }));
        graph.add_conditional_edges(from, decide, RouteTargets::ANY);
        return;
    };
    let map = form["map"].as_object().cloned().unwrap_or_default();
    let map: Vec<(String, Endpoint)> = map.iter().map(|(key, to)| (key.clone(), text(to).into())).collect();
    let otherwise = form.get("otherwise").map(|to| text(to).into());
    graph.add_conditional_edges_by_key(from, move |state: &DynamicState| text(&state.get(&by)), map, otherwise);
}

/// A compiled case, whose calls run one after the other.
struct Case {
    graph: CompiledGraph<DynamicState>,
    has_checkpointer: bool,
}

impl Case {
    async fn call(&self, call: &Value) -> Value {
        let thread = call["thread"].as_str().unwrap_or("t");
        let mut seen = json!({ "interrupts": 0, "next": [], "state": {} });
        let mut parts = Vec::new();
        let performed = match call.get("stream") {
            Some(modes) => self.watch(call, thread, many(modes), &mut parts).await,
            None => self.perform(call, thread).await,
        };
        if call.get("stream").is_some() {
            seen["parts"] = Value::Array(parts);
        }
        match performed {
            Ok(Some(outcome)) => {
                seen["state"] = plain(&outcome.to_json().unwrap_or_default());
                seen["interrupts"] = json!(outcome.interrupts().len());
                if self.has_checkpointer && call.get("stream").is_none() {
                    seen["out"] = seen["state"].clone();
                }
            }
            Ok(None) => {}
            Err(error) => {
                seen["error"] = json!(error.code().name());
                if std::env::args().any(|argument| argument == "--verbose") {
                    eprintln!("{error}");
                }
            }
        }
        if let (true, Ok(state)) = (self.has_checkpointer, self.graph.threads().get_state(thread).await) {
            let mut next = state.next.clone();
            next.sort();
            next.dedup();
            (seen["next"], seen["interrupts"]) = (json!(next), json!(state.interrupts().len()));
            seen["state"] = plain(&state.state.to_json());
        }
        seen
    }

    /// Returns the parts of a stream, in the order of each mode.
    async fn watch(
        &self,
        call: &Value,
        thread: &str,
        modes: &[Value],
        parts: &mut Vec<Value>,
    ) -> Result<Option<Outcome<DynamicState>>> {
        let modes: Vec<StreamMode> =
            modes.iter().filter_map(|mode| serde_json::from_value(mode.clone()).ok()).collect();
        let run = self.run(call, thread).await?;
        let run = if call["subgraphs"] == true { run.stream_subgraphs() } else { run };
        let mut stream = run.stream_mode(modes);
        while let Some(part) = stream.next().await {
            let path = part.namespace.as_str().split('|').filter(|segment| !segment.is_empty());
            let path: Vec<&str> = path.map(|segment| segment.split(':').next().unwrap_or(segment)).collect();
            parts.push(json!([part.mode, path, normalized(part.mode, &part.data.to_json())]));
        }
        stream.finish().await.map(Some)
    }

    async fn history(&self, thread: &str) -> Result<Vec<StateSnapshot<DynamicState>>> {
        self.graph.threads().get_state_history(thread, &HistoryQuery::default()).await
    }

    /// Returns the oldest checkpoint with exactly these next nodes, or the `nth` one.
    async fn find(&self, thread: &str, at: &Value) -> Result<superstep::core::id::CheckpointId> {
        let mut next: Vec<String> = many(&at["next"]).iter().map(text).collect();
        next.dedup();
        let nth = usize::try_from(at["nth"].as_u64().unwrap_or(0)).unwrap_or(0);
        let states = self.history(thread).await?;
        let snapshot = states.iter().rev().filter(|state| state.next == next).nth(nth);
        snapshot
            .map(StateSnapshot::id)
            .ok_or_else(|| superstep::Error::internal(format!("nothing at which {next:?} is due")))
    }

    async fn perform(&self, call: &Value, thread: &str) -> Result<Option<Outcome<DynamicState>>> {
        let at = match call.get("at") {
            Some(at) => Some(self.find(thread, at).await?),
            None => None,
        };
        let updates = match (call.get("update_state"), call.get("bulk")) {
            (Some(one), _) => Some(vec![vec![update(one)]]),
            (_, Some(steps)) => Some(many(steps).iter().map(|step| many(step).iter().map(update).collect()).collect()),
            _ => None,
        };
        if let Some(updates) = updates {
            let update = self.graph.threads().bulk_update_state(thread, updates);
            at.into_iter().fold(update, |update, at| update.from_checkpoint(at)).await?;
            return Ok(None);
        }
        let mut run = self.run(call, thread).await?;
        if let Some(at) = at {
            run = run.from_checkpoint(at);
        }
        if let Some(limit) = call["limit"].as_u64() {
            run = run.recursion_limit(u32::try_from(limit).unwrap_or(u32::MAX));
        }
        if let Some(before) = call.get("before") {
            run = run.interrupt_before(many(before).iter().map(text));
        }
        run.await.map(Some)
    }

    async fn run(&self, call: &Value, thread: &str) -> Result<RunBuilder<DynamicState>> {
        let (graph, none) = (&self.graph, Value::Null);
        Ok(if let Some(input) = call.get("invoke") {
            let run = graph.invoke(fill(input, &none));
            if self.has_checkpointer { run.thread(thread) } else { run }
        } else if let Some(answer) = call.get("resume") {
            graph.resume(thread, answer)
        } else if let Some(resume_map) = call.get("resume_map").and_then(Value::as_object) {
            let state = graph.threads().get_state(thread).await?;
            let id = |name: &str| state.interrupts().into_iter().find(|open| open.name == name).map(|open| open.id);
            let unknown = || superstep::core::id::InterruptId::from_bits(1);
            let answers = resume_map.iter().map(|(name, answer)| (id(name).unwrap_or_else(unknown), answer.clone()));
            graph.resume_with(thread, answers.collect::<ResumeValues>())
        } else if let Some(form) = call.get("command") {
            graph.command(thread, command(form, &none))
        } else {
            graph.continue_thread(thread)
        })
    }
}

fn update(form: &Value) -> StateUpdate {
    let values = form.get("values").filter(|values| !values.is_null());
    let values = values.map_or_else(|| json!({}), |values| fill(values, &Value::Null));
    // A copy of a checkpoint corresponds to an update without changes here.
    let as_node = form["as_node"].as_str().filter(|name| *name != "__copy__");
    StateUpdate { update: values.into_update(), as_node: as_node.map(Into::into).unwrap_or_default() }
}

async fn line(case: &Value, compat: Compat) -> Value {
    let ran = Ran::default();
    let has_checkpointer = case["checkpointer"] != false;
    let compiled = Builder { compat, ran: &ran }.graph(case, "case").and_then(|mut graph| {
        if has_checkpointer {
            graph.checkpointer(MemoryCheckpointer::new());
        }
        graph.compile()
    });
    let mut calls = Vec::new();
    match compiled {
        Ok(graph) => {
            let case_ = Case { graph, has_checkpointer };
            for call in many(&case["calls"]) {
                calls.push(case_.call(call).await);
            }
        }
        Err(error) => {
            if std::env::args().any(|argument| argument == "--verbose") {
                eprintln!("{} {error}", case["id"]);
            }
            calls.push(json!({ "error": error.code().name(), "interrupts": 0, "next": [], "state": {} }));
        }
    }
    let last = calls.last().cloned().unwrap_or_default();
    let last_state = || last["state"].clone();
    let final_state = last.get("error").map_or_else(last_state, |error| json!({ "error": error }));
    json!({
        "id": case["id"], "final": final_state, "interrupts": last["interrupts"], "next": last["next"],
        "ran": ran.to_json(), "calls": calls,
    })
}

#[tokio::main]
async fn main() {
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or("cases.json".into());
    let strict = std::env::args().any(|argument| argument == "--strict");
    let cases = std::fs::read_to_string(&path).expect("the file of cases can be read");
    let cases: Vec<Value> = serde_json::from_str(&cases).expect("the cases are JSON");
    for case in &cases {
        println!("{}", line(case, if strict { Compat::Strict } else { Compat::LangGraph }).await);
    }
}
