//! Graph builder: nodes, edges, joins, conditional edges, and settings for all of them.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use superstep_core::command::Goto;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::graph::{BranchPolicy, Compat, Endpoint, RouteFn, TopologyBuilder};
use superstep_core::id::NodeId;
use superstep_core::machine::Breakpoints;
use superstep_core::migration::Migration;
use superstep_core::port::{Retention, SharedCheckpointer};
use superstep_core::redaction::Redaction;
use superstep_core::schema::Schema;
use superstep_core::state::GraphState;
use superstep_core::types::FieldType;
use superstep_core::validation_error::ValidationError;

use crate::engine::durability::{DEFAULT_MAX_PENDING_COMMITS, Durability};
use crate::engine::state_cache::StateCache;
use crate::graph::cache::Cache;
use crate::graph::compiled::CompiledGraph;
use crate::graph::handler::{DynNode, IntoNode};
use crate::graph::node::{NodeBuilder, NodePolicies, TimeoutPolicy};
use crate::graph::program::{GraphSettings, Program, ProgramNode, SubgraphPersistence};
use crate::graph::retry::RetryPolicy;
use crate::store::SharedStore;
use crate::telemetry::TelemetryConfig;

pub use crate::graph::routing::{IntoGoto, RouteTargets};

/// Handle of a node of a graph builder: cheap to copy, usable in edges, conditional edges and sends.
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

impl From<NodeHandle> for Goto {
    fn from(handle: NodeHandle) -> Self {
        Self::node(Endpoint::from(handle))
    }
}

/// Builder of a graph over state `S` with run context `C`.
///
/// ```
/// use superstep::prelude::*;
///
/// #[derive(GraphState, Clone, Serialize, Deserialize)]
/// struct Count { #[reduce(add)] n: u64 }
///
/// let mut graph = StateGraph::<Count>::new("count");
/// let one = graph.add_node("one", |count: View<Count>| Count::update().n(count.n + 1));
/// graph.add_edge(START, one);
/// graph.add_edge(one, END);
/// let count = graph.compile()?;
/// # Ok::<(), superstep::Error>(())
/// ```
pub struct StateGraph<S, C = ()> {
    builder: TopologyBuilder,
    tag: u32,
    nodes: Vec<Option<(Arc<dyn DynNode>, NodePolicies)>>,
    defaults: NodePolicies,
    pub(crate) settings: GraphSettings,
    interrupt_before: Vec<String>,
    interrupt_after: Vec<String>,
    types: PhantomData<fn() -> (S, C)>,
}

// The bounds are on the methods, so that the compiler error for a missing derive names the derive.
impl<S, C> StateGraph<S, C> {
    /// Creates an empty graph over a state type with a schema.
    ///
    /// # Panics
    /// Panics for a dynamic state, whose schema must be passed: see [`StateGraph::with_schema`].
    #[must_use]
    pub fn new(name: &str) -> Self
    where
        S: GraphState,
        C: Send + Sync + 'static,
    {
        let schema = S::schema().expect("a dynamic state has no static schema: use `StateGraph::with_schema`");
        Self::with_schema(name, schema)
    }

    /// Creates an empty graph with this state schema.
    #[must_use]
    pub fn with_schema(name: &str, schema: Arc<Schema>) -> Self
    where
        S: GraphState,
        C: Send + Sync + 'static,
    {
        static TAGS: AtomicU32 = AtomicU32::new(1);
        let tag = TAGS.fetch_add(1, Ordering::Relaxed);
        let mut builder = TopologyBuilder::new(name, schema);
        builder.tag(tag);
        Self {
            builder,
            tag,
            nodes: Vec::new(),
            defaults: NodePolicies::default(),
            settings: GraphSettings {
                checkpointer: None,
                durability: Durability::Sync,
                max_pending_commits: DEFAULT_MAX_PENDING_COMMITS,
                retention: None,
                store: None,
                cache: None,
                interrupt_before: Breakpoints::None,
                interrupt_after: Breakpoints::None,
                branch_policy: BranchPolicy::SettleAll,
                recursion_limit: 25,
                strict_set_once: false,
                persistence: SubgraphPersistence::Inherit,
                configurable: None,
                redaction: None,
                telemetry: TelemetryConfig::default(),
            },
            interrupt_before: Vec::new(),
            interrupt_after: Vec::new(),
            types: PhantomData,
        }
    }
}

impl<S: GraphState, C: Send + Sync + 'static> StateGraph<S, C> {
    /// Adds a node: an async function, a closure, a type that implements [`crate::Node`], or a compiled graph.
    pub fn add_node<M>(&mut self, name: &str, node: impl IntoNode<S, C, M>) -> NodeHandle {
        let (action, policies) = node.into_parts();
        let id = self.builder.node(name, true, policies.options.clone());
        self.nodes.push(Some((action, policies)));
        NodeHandle { id, graph: self.tag }
    }

    /// Reserves a node, so that edges can target it before [`StateGraph::define_node`] defines it.
    pub fn reserve_node(&mut self, name: &str) -> NodeHandle {
        let id = self.builder.node(name, false, superstep_core::graph::NodeOptions::default());
        self.nodes.push(None);
        NodeHandle { id, graph: self.tag }
    }

    /// Defines a reserved node.
    pub fn define_node<M>(&mut self, handle: NodeHandle, node: impl IntoNode<S, C, M>) {
        if !self.owns_handle(handle) {
            return;
        }
        let (action, policies) = node.into_parts();
        self.builder.define(handle.id, policies.options.clone());
        self.nodes[handle.id.index()] = Some((action, policies));
    }

    fn owns_handle(&mut self, handle: NodeHandle) -> bool {
        let is_owned = handle.graph == self.tag;
        if !is_owned {
            self.builder.add_diagnostic("node handle of another graph");
        }
        is_owned
    }

    /// Adds an edge between two nodes, from [`crate::START`], or to [`crate::END`].
    pub fn add_edge(&mut self, from: impl Into<Endpoint>, to: impl Into<Endpoint>) -> &mut Self {
        self.builder.edge(from, to);
        self
    }

    /// Adds an edge from several nodes to one. The target is scheduled once all sources have finished since it was
    /// last scheduled.
    pub fn add_join(
        &mut self,
        from: impl IntoIterator<Item = impl Into<Endpoint>>,
        to: impl Into<Endpoint>,
    ) -> &mut Self {
        self.builder.join(from, to);
        self
    }

    /// Adds a conditional edge: `decide` reads the state after the node and returns the target.
    ///
    /// `targets` are the permitted targets; an empty list permits any node, with fewer checks at compile time.
    pub fn add_conditional_edges<G: IntoGoto>(
        &mut self,
        from: impl Into<Endpoint>,
        decide: impl Fn(&S) -> G + Send + Sync + 'static,
        targets: impl Into<RouteTargets>,
    ) -> &mut Self {
        let decide: RouteFn = Arc::new(move |state| match state.downcast_ref::<S>() {
            Some(state) => decide(state).into_goto(),
            None => Err(ValidationError::new("a conditional edge received a state of another type")),
        });
        self.builder.route(from, decide, targets.into().0);
        self
    }

    /// Adds a conditional edge by key: the target is the entry of `map` for the result of `decide`, or `otherwise` if
    /// there is no entry.
    pub fn add_conditional_edges_by_key<K: Into<String>>(
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
        let decide: RouteFn = Arc::new(move |state| {
            let state = state
                .downcast_ref::<S>()
                .ok_or_else(|| ValidationError::new("a conditional edge received a state of another type"))?;
            crate::graph::routing::look_up(&map, otherwise.as_ref(), &decide(state).into())
        });
        self.builder.route(from, decide, Some(targets));
        self
    }

    /// Adds edges between these nodes, one after the other.
    pub fn add_sequence(&mut self, nodes: impl IntoIterator<Item = impl Into<Endpoint>>) -> &mut Self {
        let nodes: Vec<Endpoint> = nodes.into_iter().map(Into::into).collect();
        for pair in nodes.windows(2) {
            self.add_edge(pair[0].clone(), pair[1].clone());
        }
        self
    }

    /// Sets the node at which a run starts.
    pub fn set_entry_point(&mut self, node: impl Into<Endpoint>) -> &mut Self {
        self.add_edge(Endpoint::Start, node)
    }

    /// Sets a function that chooses the nodes at which a run starts.
    pub fn set_conditional_entry_point<G: IntoGoto>(
        &mut self,
        decide: impl Fn(&S) -> G + Send + Sync + 'static,
        targets: impl Into<RouteTargets>,
    ) -> &mut Self {
        self.add_conditional_edges(Endpoint::Start, decide, targets)
    }

    /// Sets a node after which a run ends.
    pub fn set_finish_point(&mut self, node: impl Into<Endpoint>) -> &mut Self {
        self.add_edge(node, Endpoint::End)
    }

    /// Restricts the input to these fields.
    pub fn input_fields(&mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        self.builder.input(fields);
        self
    }

    /// Restricts the output to these fields.
    pub fn output_fields(&mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        self.builder.output(fields);
        self
    }

    /// Selects the semantics for the cases in which superstep and LangGraph differ.
    pub fn compat(&mut self, compat: Compat) -> &mut Self {
        if compat == Compat::LangGraph {
            self.settings.branch_policy = BranchPolicy::FailFast;
        }
        self.builder.compat(compat);
        self
    }

    /// Adds a migration of threads from version `from` of the state.
    ///
    /// Reads do not write: a thread is stored in the new version with its next commit. Versions are those of the state:
    /// `#[state(version = 2)]`, or `Schema::builder(..).version(2)`. Default: 1. Migrations are chained;
    /// [`StateGraph::compile`] reports missing ones.
    ///
    /// ```
    /// use superstep::Migration;
    /// use superstep::prelude::*;
    ///
    /// #[derive(GraphState, Clone, Serialize, Deserialize)]
    /// #[state(version = 2)]
    /// struct Chat { #[reduce(append)] messages: Vec<String>, language: String }
    ///
    /// let mut graph = StateGraph::<Chat>::new("chat");
    /// let answer = graph.add_node("answer", || Chat::update().messages("hello"));
    /// graph.add_edge(START, answer).add_edge(answer, END);
    /// graph.add_migration(1, Migration::to_version(2).rename("msgs", "messages").add("language", "en"));
    /// let chat = graph.compile()?;
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn add_migration(&mut self, from: u32, migration: Migration) -> &mut Self {
        self.builder.migrate(from, migration);
        self
    }

    /// Sets the default checkpointer of runs.
    pub fn checkpointer(&mut self, checkpointer: impl Into<SharedCheckpointer>) -> &mut Self {
        self.settings.checkpointer = Some(checkpointer.into());
        self
    }

    /// Sets the default durability of runs. A subgraph uses the durability of the run.
    pub fn durability(&mut self, durability: Durability) -> &mut Self {
        self.settings.durability = durability;
        self
    }

    /// Sets the maximum number of pending commits of a run with [`Durability::Async`]. Default: 16.
    pub fn max_pending_commits(&mut self, commits: usize) -> &mut Self {
        self.settings.max_pending_commits = commits;
        self
    }

    /// Removes old checkpoints of a thread after each run. Default: nothing is removed.
    ///
    /// Runs after the last commit and before the run returns. A failure to remove is a warning of the run, and is
    /// retried after the next one. A subgraph uses the retention of the root graph.
    pub fn retention(&mut self, retention: Retention) -> &mut Self {
        self.settings.retention = Some(retention);
        self
    }

    /// Sets the long-term store, available as `cx.store()` or as an argument of nodes. Subgraphs use it too, unless
    /// the run sets another.
    pub fn store(&mut self, store: impl Into<SharedStore>) -> &mut Self {
        self.settings.store = Some(store.into());
        self
    }

    /// Sets the cache for nodes with a cache policy.
    pub fn cache(&mut self, cache: Cache) -> &mut Self {
        self.settings.cache = Some(cache);
        self
    }

    /// Sets the maximum number of supersteps of a run. Default: 25.
    pub fn recursion_limit(&mut self, supersteps: u32) -> &mut Self {
        self.settings.recursion_limit = supersteps;
        self
    }

    /// Sets the nodes before which a run stops. `"*"` means all nodes.
    pub fn interrupt_before(&mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        let nodes = self.breakpoints(nodes);
        self.interrupt_before.extend(nodes);
        self
    }

    /// Sets the nodes after which a run stops. `"*"` means all nodes.
    pub fn interrupt_after(&mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        let nodes = self.breakpoints(nodes);
        self.interrupt_after.extend(nodes);
        self
    }

    /// Registers breakpoints, so that they are checked when the graph is compiled.
    fn breakpoints(&mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
        let names: Vec<String> = nodes.into_iter().map(Into::into).collect();
        names.iter().for_each(|name| self.builder.breakpoint(name));
        names
    }

    /// Sets the effect of a failed task on the other tasks of its superstep.
    pub fn branch_policy(&mut self, policy: BranchPolicy) -> &mut Self {
        self.settings.branch_policy = policy;
        self
    }

    /// Makes a second value of a node for a `set_once` field an error instead of a warning.
    pub fn strict_set_once(&mut self) -> &mut Self {
        self.settings.strict_set_once = true;
        self
    }

    /// Sets the JSON Schema of the `configurable` values of a run to that of `T`. Validated before the run starts.
    pub fn configurable_schema<T: schemars::JsonSchema>(&mut self) -> &mut Self {
        let schema = serde_json::to_value(schemars::schema_for!(T)).map_err(|error| error.to_string());
        match schema.and_then(|schema| FieldType::schema(schema).map_err(|error| error.to_string())) {
            Ok(schema) => self.settings.configurable = Some(schema),
            Err(error) => {
                self.builder.add_diagnostic(format!("the schema of the configurable values is invalid: {error}"))
            }
        }
        self
    }

    /// Removes secrets and personal data from everything that enters the graph, before it is reduced, stored or
    /// streamed: inputs, updates of nodes and external updates, interrupts and resume values, events, errors, chat
    /// requests and responses. Subgraphs use the same redaction, unless they set their own.
    ///
    /// ```
    /// use superstep::prelude::*;
    /// use superstep::redaction::Redaction;
    ///
    /// #[derive(GraphState, Clone, Serialize, Deserialize)]
    /// struct Note { text: String }
    ///
    /// let mut graph = StateGraph::<Note>::new("note");
    /// let sign = graph.add_node("sign", |note: View<Note>| Note::update().text(format!("{}, ada@example.com", note.text)));
    /// graph.add_edge(START, sign).add_edge(sign, END).redact(Redaction::default());
    /// let done = graph.compile()?.invoke(Note::input().text("call +49 171 1234567")).wait_blocking()?;
    /// assert_eq!(done.state.text, "call [REDACTED:phone], [REDACTED:mail]");
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn redact(&mut self, redaction: Redaction) -> &mut Self {
        self.settings.redaction = Some(redaction);
        self
    }

    /// Sets how the graph persists its state when it is a subgraph.
    pub fn subgraph_persistence(&mut self, persistence: SubgraphPersistence) -> &mut Self {
        self.settings.persistence = persistence;
        self
    }

    /// Adds a retry policy for nodes without one.
    pub fn default_retry(&mut self, retry: RetryPolicy) -> &mut Self {
        self.defaults.retry.get_or_insert_default().push(retry);
        self
    }

    /// Sets a timeout for nodes without one.
    pub fn default_timeout(&mut self, timeout: impl Into<TimeoutPolicy>) -> &mut Self {
        self.defaults.timeout = Some(timeout.into());
        self
    }

    /// Sets an error handler for nodes without one.
    pub fn default_error_handler<M>(&mut self, handler: impl IntoNode<S, C, M>) -> &mut Self {
        self.defaults.on_error = Some(handler.into_dyn_node());
        self
    }

    /// Validates the graph and compiles it. Later changes of the builder do not affect the compiled graph.
    ///
    /// # Errors
    /// Returns an error that lists every problem.
    pub fn compile(&mut self) -> Result<CompiledGraph<S, C>> {
        let topology = Arc::new(self.builder.compile_with_diagnostics(self.policy_diagnostics())?);
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let (action, policies) =
                node.clone().ok_or_else(|| Error::new(ErrorCode::InvalidGraph, "every node has a handler"))?;
            nodes.push(self.node_entry(action, policies));
        }
        let mut settings = self.settings.clone();
        settings.interrupt_before = breakpoints(&topology, &self.interrupt_before);
        settings.interrupt_after = breakpoints(&topology, &self.interrupt_after);
        let hides_fields = topology.output.len() != topology.schema.fields().len();
        Ok(CompiledGraph::new(Program {
            topology,
            nodes,
            settings,
            restricts_output: hides_fields,
            state_cache: StateCache::default(),
        }))
    }

    /// Returns diagnostics of node policies that cannot be satisfied.
    fn policy_diagnostics(&self) -> Vec<String> {
        let named = (0..).map(|id| self.builder.name_of(NodeId(id)).unwrap_or_default()).zip(&self.nodes);
        let configured = named.filter_map(|(name, node)| node.as_ref().map(|(_, policies)| (name, policies)));
        configured.flat_map(|(name, policies)| policies.diagnostics(name, self.settings.cache.is_some())).collect()
    }

    fn node_entry(&self, action: Arc<dyn DynNode>, policies: NodePolicies) -> ProgramNode {
        ProgramNode {
            action,
            retry: policies.retry.or_else(|| self.defaults.retry.clone()).unwrap_or_default(),
            timeout: policies.timeout.or_else(|| self.defaults.timeout.clone()),
            cache: policies.cache,
            on_error: policies.on_error.or_else(|| self.defaults.on_error.clone()),
            concurrency: policies.concurrency,
            subgraph: policies.subgraph,
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
    let mut nodes: Vec<NodeId> = names.iter().filter_map(|name| topology.find_node(name)).collect();
    nodes.sort_unstable();
    Breakpoints::At(nodes)
}

/// Creates a node from a blocking function, which runs on a thread of the blocking pool.
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Sum { n: u64 }
/// let mut graph = StateGraph::<Sum>::new("sum");
/// let slow = graph.add_node("slow", blocking(|sum: View<Sum>| Sum::update().n((0..sum.n).sum::<u64>())));
/// # graph.add_edge(START, slow); graph.add_edge(slow, END); graph.compile().unwrap();
/// ```
pub fn blocking<F>(work: F) -> NodeBuilder<Blocking<F>> {
    crate::graph::node::node(Blocking(work))
}

/// A blocking node. Created by [`blocking`].
pub struct Blocking<F>(pub(crate) F);
