//! Node builder: a node with its policies for retry, timeout, cache, concurrency and visibility.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::graph::{BranchPolicy, Endpoint, NodeOptions};
use tokio::sync::Semaphore;

use crate::graph::cache::CachePolicy;
use crate::graph::handler::{DynNode, IntoNode};
use crate::graph::program::Program;
use crate::graph::retry::RetryPolicy;

/// Timeouts of a node.
#[derive(Debug, Clone, Default)]
pub struct TimeoutPolicy {
    pub(crate) run_timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) refresh_on_heartbeat: bool,
}

impl TimeoutPolicy {
    /// Creates a timeout of one attempt.
    #[must_use]
    pub fn run_timeout(time: Duration) -> Self {
        Self { run_timeout: Some(time), ..Self::default() }
    }

    /// Creates an idle timeout: the longest duration without output, a recorded result or a heartbeat.
    #[must_use]
    pub fn idle_timeout(time: Duration) -> Self {
        Self { idle_timeout: Some(time), ..Self::default() }
    }

    /// Adds an idle timeout.
    #[must_use]
    pub fn and_idle_timeout(mut self, time: Duration) -> Self {
        self.idle_timeout = Some(time);
        self
    }

    /// Restarts the idle timeout on [`crate::TaskContext::heartbeat`] only.
    #[must_use]
    pub fn refresh_on_heartbeat(mut self) -> Self {
        self.refresh_on_heartbeat = true;
        self
    }
}

impl From<Duration> for TimeoutPolicy {
    fn from(time: Duration) -> Self {
        Self::run_timeout(time)
    }
}

/// Policies and options of a node.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct NodePolicies {
    pub(crate) retry: Option<Vec<RetryPolicy>>,
    pub(crate) timeout: Option<TimeoutPolicy>,
    pub(crate) cache: Option<CachePolicy>,
    pub(crate) on_error: Option<Arc<dyn DynNode>>,
    pub(crate) concurrency: Option<Arc<Semaphore>>,
    /// True for a synchronous function, which cannot be stopped.
    pub(crate) is_sync: bool,
    /// Program of the node, if the node is a subgraph.
    pub(crate) subgraph: Option<Arc<Program>>,
    pub(crate) options: NodeOptions,
}

impl NodePolicies {
    /// Returns diagnostics of policies that cannot be satisfied.
    pub(crate) fn diagnostics(&self, name: &str, has_cache: bool) -> Vec<String> {
        let mut diagnostics = Vec::new();
        if self.cache.is_some() && !has_cache {
            diagnostics.push(format!("node `{name}` has a cache policy, but the graph has no cache: add `cache(..)`"));
        }
        if self.timeout.is_some() && self.is_sync {
            let help = "make it `async`, or wrap it in `blocking(..)`";
            diagnostics.push(format!(
                "node `{name}` has a timeout, but is a plain function, which cannot be \
                 cancelled: {help}"
            ));
        }
        diagnostics
    }
}

/// Builder of a node. Created by [`node`].
#[must_use = "a node has no effect until it is added to a graph"]
pub struct NodeBuilder<F, H = ()> {
    pub(crate) node: F,
    pub(crate) handler: H,
    pub(crate) policies: NodePolicies,
}

/// Handler for the final error of a node.
pub struct ErrorHandler<H>(H);

/// Creates a node builder, for policies and options.
///
/// ```
/// use std::time::Duration;
/// use superstep::prelude::*;
/// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Page { text: String }
/// async fn fetch() -> Result<PageUpdate, std::io::Error> { Ok(Page::update().text("…")) }
/// let mut graph = StateGraph::<Page>::new("page");
/// let fetch = graph.add_node("fetch", node(fetch).retry(RetryPolicy::exponential(4)).timeout(Duration::from_secs(30)));
/// # graph.add_edge(START, fetch); graph.add_edge(fetch, END); graph.compile().unwrap();
/// ```
pub fn node<F>(node: F) -> NodeBuilder<F> {
    NodeBuilder { node, handler: (), policies: NodePolicies::default() }
}

impl<F> NodeBuilder<F> {
    /// Sets a handler that runs after the last failed attempt. The output of the handler replaces that of the node.
    pub fn error_handler<H>(self, handler: H) -> NodeBuilder<F, ErrorHandler<H>> {
        NodeBuilder { node: self.node, handler: ErrorHandler(handler), policies: self.policies }
    }
}

impl<F, H> NodeBuilder<F, H> {
    /// Adds a retry policy. The first policy that matches an error applies.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.policies.retry.get_or_insert_default().push(retry);
        self
    }

    /// Sets the timeout. Not permitted for a synchronous function, which cannot be stopped. The thread of
    /// [`crate::blocking`] continues after the timeout, and its result is dropped.
    pub fn timeout(mut self, timeout: impl Into<TimeoutPolicy>) -> Self {
        self.policies.timeout = Some(timeout.into());
        self
    }

    /// Reuses the result of an earlier equal call. Requires a cache on the graph.
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.policies.cache = Some(policy);
        self
    }

    /// Sets the maximum number of concurrent tasks of the node, over all runs of the graph.
    pub fn max_concurrency(mut self, tasks: usize) -> Self {
        self.policies.concurrency = Some(Arc::new(Semaphore::new(tasks.max(1))));
        self
    }

    /// Defers the node until there are no other next tasks, then runs it once.
    pub fn defer(mut self) -> Self {
        self.policies.options.defer = true;
        self
    }

    /// Sets the effect of a failed task of this node on the other tasks of its superstep.
    pub fn branch_policy(mut self, policy: BranchPolicy) -> Self {
        self.policies.options.branch = policy;
        self
    }

    /// Declares the goto targets of its commands, for validation and diagrams.
    pub fn goto_targets(mut self, targets: impl IntoIterator<Item = impl Into<Endpoint>>) -> Self {
        self.policies.options.goto_targets = Some(targets.into_iter().map(Into::into).collect());
        self
    }

    /// Declares the fields that the node reads. Private fields are hidden from the node unless they are named here.
    pub fn reads(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.policies.options.reads = Some(fields.into_iter().map(Into::into).collect());
        self
    }

    /// Declares the fields that the node writes. A private field must be named here to be written.
    pub fn writes(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.policies.options.writes = Some(fields.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a former name of the node: stored next tasks with this name run this node.
    pub fn renamed_from(mut self, name: impl Into<String>) -> Self {
        self.policies.options.former_names.push(name.into());
        self
    }

    /// Adds a label for streams.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.policies.options.tags.push(tag.into());
        self
    }

    /// Adds arbitrary data for diagrams and streams.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.policies.options.metadata.insert(key.into(), value.into());
        self
    }
}

/// Marker of node builders.
pub struct NodeBuilderMarker<M>(std::marker::PhantomData<M>);

#[diagnostic::do_not_recommend]
impl<S, C, M, F: IntoNode<S, C, M>> IntoNode<S, C, NodeBuilderMarker<M>> for NodeBuilder<F> {
    fn into_dyn_node(self) -> Arc<dyn DynNode> {
        self.node.into_dyn_node()
    }

    fn into_parts(self) -> (Arc<dyn DynNode>, NodePolicies) {
        let (action, base) = self.node.into_parts();
        (action, merged(base, self.policies))
    }
}

#[diagnostic::do_not_recommend]
impl<S, C, M, N, F, H> IntoNode<S, C, NodeBuilderMarker<(M, N)>> for NodeBuilder<F, ErrorHandler<H>>
where
    F: IntoNode<S, C, M>,
    H: IntoNode<S, C, N>,
{
    fn into_dyn_node(self) -> Arc<dyn DynNode> {
        self.node.into_dyn_node()
    }

    fn into_parts(self) -> (Arc<dyn DynNode>, NodePolicies) {
        let (action, base) = self.node.into_parts();
        let on_error = Some(self.handler.0.into_dyn_node());
        (action, NodePolicies { on_error, ..merged(base, self.policies) })
    }
}

/// Merges policies; those of the builder override the node's own.
fn merged(base: NodePolicies, overrides: NodePolicies) -> NodePolicies {
    NodePolicies {
        retry: overrides.retry.or(base.retry),
        timeout: overrides.timeout.or(base.timeout),
        cache: overrides.cache.or(base.cache),
        on_error: overrides.on_error.or(base.on_error),
        concurrency: overrides.concurrency.or(base.concurrency),
        is_sync: overrides.is_sync || base.is_sync,
        subgraph: overrides.subgraph.or(base.subgraph),
        options: merged_options(base.options, overrides.options),
    }
}

fn merged_options(base: NodeOptions, mut overrides: NodeOptions) -> NodeOptions {
    if overrides.branch == BranchPolicy::default() {
        overrides.branch = base.branch;
    }
    overrides.defer |= base.defer;
    overrides.goto_targets = overrides.goto_targets.or(base.goto_targets);
    overrides.reads = overrides.reads.or(base.reads);
    overrides.writes = overrides.writes.or(base.writes);
    overrides.former_names.extend(base.former_names);
    overrides.tags.extend(base.tags);
    for (key, value) in base.metadata {
        overrides.metadata.entry(key).or_insert(value);
    }
    overrides.subgraph_diagram = overrides.subgraph_diagram.or(base.subgraph_diagram);
    overrides
}
