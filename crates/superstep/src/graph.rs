//! Building a graph: nodes, edges, joins, routes, and what holds for all of them.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use superstep_core::command::Go;
use superstep_core::error::{Code, Error, Result};
use superstep_core::fault::Fault;
use superstep_core::graph::{BranchPolicy, Builder, Compat, Decide, Endpoint};
use superstep_core::id::NodeId;
use superstep_core::machine::Breakpoints;
use superstep_core::migration::Migration;
use superstep_core::port::{Retention, SharedCheckpointer};
use superstep_core::redact::Redaction;
use superstep_core::schema::Schema;
use superstep_core::state::State;
use superstep_core::types::FieldType;

use crate::cache::Cache;
use crate::compiled::Compiled;
use crate::durability::{BACKLOG, Durability};
use crate::handler::{Action, IntoNode};
use crate::node::{NodeWith, Policies, Timeout};
use crate::program::{NodeEntry, Persistence, Program, Settings};
use crate::retry::Retry;
use crate::store::SharedStore;
use crate::telemetry::Given;
use crate::warm::WarmStates;

mod route;

pub use route::{IntoGo, Routes};

/// A node of a graph in the making: cheap to copy, good for edges, routes and sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeHandle {
    id: NodeId,
    graph: u32,
}

impl From<NodeHandle> for Endpoint {
    fn from(handle: NodeHandle) -> Self {
        Self::Handle { id: handle.id, graph: handle.graph }
    }
}

impl From<NodeHandle> for Go {
    fn from(handle: NodeHandle) -> Self {
        Self::to(Endpoint::from(handle))
    }
}

/// A graph in the making, over state `S` with context `C`.
///
/// ```
/// use superstep::prelude::*;
///
/// #[derive(State, Clone, Serialize, Deserialize)]
/// struct Count { #[reduce(add)] n: u64 }
///
/// let mut graph = Graph::<Count>::new("count");
/// let one = graph.node("one", |count: View<Count>| Count::update().n(count.n + 1));
/// graph.edge(START, one);
/// graph.edge(one, END);
/// let count = graph.compile()?;
/// # Ok::<(), superstep::Error>(())
/// ```
pub struct Graph<S, C = ()> {
    builder: Builder,
    tag: u32,
    nodes: Vec<Option<(Arc<dyn Action>, Policies)>>,
    defaults: Policies,
    pub(crate) settings: Settings,
    before: Vec<String>,
    after: Vec<String>,
    types: PhantomData<fn() -> (S, C)>,
}

// Bounds stand on the methods: a missing derive is then answered with what to write.
impl<S, C> Graph<S, C> {
    /// An empty graph over a state that knows its schema.
    ///
    /// # Panics
    /// Over a dynamic state, whose schema must be given: see [`Graph::with_schema`].
    #[must_use]
    pub fn new(name: &str) -> Self
    where
        S: State,
        C: Send + Sync + 'static,
    {
        let schema = S::schema().expect("a dynamic state has no schema of its own: use `Graph::with_schema`");
        Self::with_schema(name, schema)
    }

    /// An empty graph over a state with this schema.
    #[must_use]
    pub fn with_schema(name: &str, schema: Arc<Schema>) -> Self
    where
        S: State,
        C: Send + Sync + 'static,
    {
        static TAGS: AtomicU32 = AtomicU32::new(1);
        let tag = TAGS.fetch_add(1, Ordering::Relaxed);
        let mut builder = Builder::new(name, schema);
        builder.tag(tag);
        Self {
            builder,
            tag,
            nodes: Vec::new(),
            defaults: Policies::default(),
            settings: Settings {
                checkpointer: None,
                durability: Durability::Sync,
                backlog: BACKLOG,
                retention: None,
                store: None,
                cache: None,
                before: Breakpoints::None,
                after: Breakpoints::None,
                failures: BranchPolicy::SettleAll,
                recursion_limit: 25,
                strict_set_once: false,
                persistence: Persistence::Inherit,
                configurable: None,
                redaction: None,
                observed: Given::default(),
            },
            before: Vec::new(),
            after: Vec::new(),
            types: PhantomData,
        }
    }
}

impl<S: State, C: Send + Sync + 'static> Graph<S, C> {
    /// Adds a node: an async function, a closure, a type that implements [`crate::Node`], a compiled graph.
    pub fn node<M>(&mut self, name: &str, node: impl IntoNode<S, C, M>) -> NodeHandle {
        let (action, policies) = node.into_parts();
        let id = self.builder.node(name, true, policies.options.clone());
        self.nodes.push(Some((action, policies)));
        NodeHandle { id, graph: self.tag }
    }

    /// Reserves a node to lead to before it is defined with [`Graph::define`].
    pub fn reserve(&mut self, name: &str) -> NodeHandle {
        let id = self.builder.node(name, false, superstep_core::graph::NodeOptions::default());
        self.nodes.push(None);
        NodeHandle { id, graph: self.tag }
    }

    /// Says what a reserved node does.
    pub fn define<M>(&mut self, handle: NodeHandle, node: impl IntoNode<S, C, M>) {
        if !self.is_mine(handle) {
            return;
        }
        let (action, policies) = node.into_parts();
        self.builder.define(handle.id, policies.options.clone());
        self.nodes[handle.id.index()] = Some((action, policies));
    }

    fn is_mine(&mut self, handle: NodeHandle) -> bool {
        let is_mine = handle.graph == self.tag;
        if !is_mine {
            self.builder.complain("a handle of another graph was used");
        }
        is_mine
    }

    /// Leads from one node to another, from [`crate::START`], or to [`crate::END`].
    pub fn edge(&mut self, from: impl Into<Endpoint>, to: impl Into<Endpoint>) -> &mut Self {
        self.builder.edge(from, to);
        self
    }

    /// Leads from several nodes to one, which is due once all of them have finished since it last was.
    pub fn join(&mut self, from: impl IntoIterator<Item = impl Into<Endpoint>>, to: impl Into<Endpoint>) -> &mut Self {
        self.builder.join(from, to);
        self
    }

    /// Leads on by decision: `decide` sees the state after the node and names where to go on.
    ///
    /// `targets` are the places it may name; an empty list allows any node, at the price of fewer checks.
    pub fn route<G: IntoGo>(
        &mut self,
        from: impl Into<Endpoint>,
        decide: impl Fn(&S) -> G + Send + Sync + 'static,
        targets: impl Into<Routes>,
    ) -> &mut Self {
        let decide: Decide = Arc::new(move |state| match state.downcast_ref::<S>() {
            Some(state) => decide(state).into_go(),
            None => Err(Fault::new("a route was given a state of another type")),
        });
        self.builder.route(from, decide, targets.into().0);
        self
    }

    /// Leads on by key: the result of `decide` is looked up in `map`, and in `otherwise` when it is not there.
    pub fn route_by<K: Into<String>>(
        &mut self,
        from: impl Into<Endpoint>,
        decide: impl Fn(&S) -> K + Send + Sync + 'static,
        map: impl IntoIterator<Item = (impl Into<String>, impl Into<Endpoint>)>,
        otherwise: Option<Endpoint>,
    ) -> &mut Self {
        let map: Vec<(String, Endpoint)> = map.into_iter().map(|(key, to)| (key.into(), to.into())).collect();
        let mut targets: Vec<(Endpoint, Option<String>)> =
            map.iter().map(|(key, to)| (to.clone(), Some(key.clone()))).collect();
        targets.extend(otherwise.clone().map(|to| (to, Some("otherwise".to_owned()))));
        let decide: Decide = Arc::new(move |state| {
            let state =
                state.downcast_ref::<S>().ok_or_else(|| Fault::new("a route was given a state of another type"))?;
            route::look_up(&map, otherwise.as_ref(), &decide(state).into())
        });
        self.builder.route(from, decide, Some(targets));
        self
    }

    /// Leads through these nodes one after the other.
    pub fn sequence(&mut self, nodes: impl IntoIterator<Item = impl Into<Endpoint>>) -> &mut Self {
        let nodes: Vec<Endpoint> = nodes.into_iter().map(Into::into).collect();
        for pair in nodes.windows(2) {
            self.edge(pair[0].clone(), pair[1].clone());
        }
        self
    }

    /// The node a run starts at.
    pub fn entry(&mut self, node: impl Into<Endpoint>) -> &mut Self {
        self.edge(Endpoint::Start, node)
    }

    /// The nodes a run may start at, by decision.
    pub fn entry_by<G: IntoGo>(
        &mut self,
        decide: impl Fn(&S) -> G + Send + Sync + 'static,
        targets: impl Into<Routes>,
    ) -> &mut Self {
        self.route(Endpoint::Start, decide, targets)
    }

    /// A node a run ends after.
    pub fn finish(&mut self, node: impl Into<Endpoint>) -> &mut Self {
        self.edge(node, Endpoint::End)
    }

    /// Restricts the input to these fields.
    pub fn input(&mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        self.builder.input(fields);
        self
    }

    /// Restricts the output to these fields.
    pub fn output(&mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        self.builder.output(fields);
        self
    }

    /// Which engine's habits the graph has where they differ.
    pub fn compat(&mut self, compat: Compat) -> &mut Self {
        if compat == Compat::LangGraph {
            self.settings.failures = BranchPolicy::FailFast;
        }
        self.builder.compat(compat);
        self
    }

    /// Says how threads of version `from` of the state are read, now that it has a later one.
    ///
    /// Nothing is written by reading: a thread is in the new shape once something new is saved on it. Versions are
    /// those of the state, 1 unless told: `#[state(version = 2)]`, or `Schema::builder(..).version(2)`. One migration
    /// may follow another; [`Graph::compile`] lists where none does.
    ///
    /// ```
    /// use superstep::Migration;
    /// use superstep::prelude::*;
    ///
    /// #[derive(State, Clone, Serialize, Deserialize)]
    /// #[state(version = 2)]
    /// struct Chat { #[reduce(append)] messages: Vec<String>, language: String }
    ///
    /// let mut graph = Graph::<Chat>::new("chat");
    /// let answer = graph.node("answer", || Chat::update().messages("hello"));
    /// graph.edge(START, answer).edge(answer, END);
    /// graph.migrate(1, Migration::to(2).rename("msgs", "messages").add("language", "en"));
    /// let chat = graph.compile()?;
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn migrate(&mut self, from: u32, migration: Migration) -> &mut Self {
        self.builder.migrate(from, migration);
        self
    }

    /// Where threads are kept, for runs that do not say otherwise.
    pub fn checkpointer(&mut self, checkpointer: impl Into<SharedCheckpointer>) -> &mut Self {
        self.settings.checkpointer = Some(checkpointer.into());
        self
    }

    /// When what runs do is saved, for runs that do not say otherwise. Inside another graph, that one's run decides.
    pub fn durability(&mut self, durability: Durability) -> &mut Self {
        self.settings.durability = durability;
        self
    }

    /// How many commits of a run may wait to be saved with [`Durability::Async`]; 16 unless told.
    pub fn backlog(&mut self, commits: usize) -> &mut Self {
        self.settings.backlog = commits;
        self
    }

    /// Removes old checkpoints of a thread whenever a run on it has ended. Nothing is removed unless this is said.
    ///
    /// Done after the last superstep is saved and before the run returns; what cannot be removed is a warning of the
    /// run, and removed after a later one. Inside another graph, that one decides.
    pub fn retention(&mut self, retention: Retention) -> &mut Self {
        self.settings.retention = Some(retention);
        self
    }

    /// The long-term store: nodes have it as `cx.store()` or as an argument, graphs inside have it too unless the run
    /// brings another.
    pub fn store(&mut self, store: impl Into<SharedStore>) -> &mut Self {
        self.settings.store = Some(store.into());
        self
    }

    /// Where results of nodes with a cache policy are kept.
    pub fn cache(&mut self, cache: Cache) -> &mut Self {
        self.settings.cache = Some(cache);
        self
    }

    /// How many supersteps a run may have; 25 unless told.
    pub fn recursion_limit(&mut self, supersteps: u32) -> &mut Self {
        self.settings.recursion_limit = supersteps;
        self
    }

    /// Stops before these nodes; `"*"` means all.
    pub fn interrupt_before(&mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        let nodes = self.breakpoints(nodes);
        self.before.extend(nodes);
        self
    }

    /// Stops after these nodes; `"*"` means all.
    pub fn interrupt_after(&mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        let nodes = self.breakpoints(nodes);
        self.after.extend(nodes);
        self
    }

    /// Has them checked when the graph is compiled.
    fn breakpoints(&mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
        let names: Vec<String> = nodes.into_iter().map(Into::into).collect();
        names.iter().for_each(|name| self.builder.breakpoint(name));
        names
    }

    /// What the failure of one task means for the others of its superstep.
    pub fn on_failure(&mut self, policy: BranchPolicy) -> &mut Self {
        self.settings.failures = policy;
        self
    }

    /// A node's second value for a `set_once` field is an error, not a warning.
    pub fn strict_set_once(&mut self) -> &mut Self {
        self.settings.strict_set_once = true;
        self
    }

    /// What the `configurable` values of a run must look like: the JSON Schema of `T`. Checked before anything runs.
    pub fn configurable<T: schemars::JsonSchema>(&mut self) -> &mut Self {
        let schema = serde_json::to_value(schemars::schema_for!(T)).map_err(|error| error.to_string());
        match schema.and_then(|schema| FieldType::schema(schema).map_err(|fault| fault.to_string())) {
            Ok(schema) => self.settings.configurable = Some(schema),
            Err(problem) => {
                self.builder.complain(format!("the schema of the configurable values is not valid: {problem}"))
            }
        }
        self
    }

    /// Takes secrets and personal data out of everything that enters the graph, before it is folded, stored or streamed:
    /// inputs, updates of nodes and from outside, questions and answers, events, errors, and what models are asked and say.
    /// Graphs inside do the same, unless they say otherwise themselves.
    ///
    /// ```
    /// use superstep::prelude::*;
    /// use superstep::redact::Redaction;
    ///
    /// #[derive(State, Clone, Serialize, Deserialize)]
    /// struct Note { text: String }
    ///
    /// let mut graph = Graph::<Note>::new("note");
    /// let sign = graph.node("sign", |note: View<Note>| Note::update().text(format!("{}, ada@example.com", note.text)));
    /// graph.edge(START, sign).edge(sign, END).redact(Redaction::default());
    /// let done = graph.compile()?.run(Note::input().text("call +49 171 1234567")).wait()?;
    /// assert_eq!(done.state.text, "call [REDACTED:phone], [REDACTED:mail]");
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn redact(&mut self, redaction: Redaction) -> &mut Self {
        self.settings.redaction = Some(redaction);
        self
    }

    /// How the graph keeps its state when it runs inside another.
    pub fn persistence(&mut self, persistence: Persistence) -> &mut Self {
        self.settings.persistence = persistence;
        self
    }

    /// Tries again what fails, for nodes that do not say otherwise.
    pub fn default_retry(&mut self, retry: Retry) -> &mut Self {
        self.defaults.retry.get_or_insert_default().push(retry);
        self
    }

    /// Stops what takes too long, for nodes that do not say otherwise.
    pub fn default_timeout(&mut self, timeout: impl Into<Timeout>) -> &mut Self {
        self.defaults.timeout = Some(timeout.into());
        self
    }

    /// Takes over from what has failed for good, for nodes that do not say otherwise.
    pub fn default_on_error<M>(&mut self, handler: impl IntoNode<S, C, M>) -> &mut Self {
        self.defaults.on_error = Some(handler.into_action());
        self
    }

    /// The graph, ready to run. Later changes here do not change it.
    ///
    /// # Errors
    /// Lists every problem, not only the first.
    pub fn compile(&mut self) -> Result<Compiled<S, C>> {
        let topology = Arc::new(self.builder.compile_with(self.unfit_policies())?);
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let (action, policies) =
                node.clone().ok_or_else(|| Error::new(Code::InvalidGraph, "a node has no action"))?;
            nodes.push(self.node_entry(action, policies));
        }
        let mut settings = self.settings.clone();
        settings.before = breakpoints(&topology, &self.before);
        settings.after = breakpoints(&topology, &self.after);
        let hides_fields = topology.output.len() != topology.schema.fields().len();
        Ok(Compiled::new(Program { topology, nodes, settings, hides_fields, warm: WarmStates::default() }))
    }

    /// What nodes ask for and cannot have.
    fn unfit_policies(&self) -> Vec<String> {
        let named = (0..).map(|id| self.builder.name_of(NodeId(id)).unwrap_or_default()).zip(&self.nodes);
        let said = named.filter_map(|(name, node)| node.as_ref().map(|(_, policies)| (name, policies)));
        said.flat_map(|(name, policies)| policies.problems(name, self.settings.cache.is_some())).collect()
    }

    fn node_entry(&self, action: Arc<dyn Action>, policies: Policies) -> NodeEntry {
        NodeEntry {
            action,
            retry: policies.retry.or_else(|| self.defaults.retry.clone()).unwrap_or_default(),
            timeout: policies.timeout.or_else(|| self.defaults.timeout.clone()),
            cache: policies.cache,
            on_error: policies.on_error.or_else(|| self.defaults.on_error.clone()),
            concurrency: policies.concurrency,
            inner: policies.inner,
        }
    }
}

pub(crate) fn breakpoints(topology: &superstep_core::graph::Topology, names: &[String]) -> Breakpoints {
    if names.is_empty() {
        return Breakpoints::None;
    }
    if names.iter().any(|name| name == "*") {
        return Breakpoints::All;
    }
    let mut nodes: Vec<NodeId> = names.iter().filter_map(|name| topology.find(name)).collect();
    nodes.sort_unstable();
    Breakpoints::At(nodes)
}

/// A node that blocks: it is moved off the async threads.
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(State, Clone, Serialize, Deserialize)] struct Sum { n: u64 }
/// let mut graph = Graph::<Sum>::new("sum");
/// let slow = graph.node("slow", blocking(|sum: View<Sum>| Sum::update().n((0..sum.n).sum::<u64>())));
/// # graph.edge(START, slow); graph.edge(slow, END); graph.compile().unwrap();
/// ```
pub fn blocking<F>(work: F) -> NodeWith<Blocking<F>> {
    crate::node::node(Blocking(work))
}

/// A node that blocks. Made by [`blocking`].
pub struct Blocking<F>(pub(crate) F);
