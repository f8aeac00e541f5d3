//! A node with what is said about it: retry, timeout, cache, limits, visibility.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::graph::{BranchPolicy, Endpoint, NodeOptions};
use tokio::sync::Semaphore;

use crate::cache::CachePolicy;
use crate::handler::{Action, IntoNode};
use crate::program::Program;
use crate::retry::Retry;

/// How long a node may take.
#[derive(Debug, Clone, Default)]
pub struct Timeout {
    pub(crate) run: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    pub(crate) heartbeat_only: bool,
}

impl Timeout {
    /// At most this long for one attempt.
    #[must_use]
    pub fn run(time: Duration) -> Self {
        Self { run: Some(time), ..Self::default() }
    }

    /// At most this long without a sign of life: output, a recorded result, a heartbeat.
    #[must_use]
    pub fn idle(time: Duration) -> Self {
        Self { idle: Some(time), ..Self::default() }
    }

    /// Also at most this long without a sign of life.
    #[must_use]
    pub fn and_idle(mut self, time: Duration) -> Self {
        self.idle = Some(time);
        self
    }

    /// Only [`crate::Cx::heartbeat`] counts as a sign of life.
    #[must_use]
    pub fn heartbeat_only(mut self) -> Self {
        self.heartbeat_only = true;
        self
    }
}

impl From<Duration> for Timeout {
    fn from(time: Duration) -> Self {
        Self::run(time)
    }
}

/// What is said about a node, besides what it does.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Policies {
    pub(crate) retry: Option<Vec<Retry>>,
    pub(crate) timeout: Option<Timeout>,
    pub(crate) cache: Option<CachePolicy>,
    pub(crate) on_error: Option<Arc<dyn Action>>,
    pub(crate) concurrency: Option<Arc<Semaphore>>,
    /// It is a plain function, which runs in one go.
    pub(crate) at_once: bool,
    /// The graph it is, where it is one.
    pub(crate) inner: Option<Arc<Program>>,
    pub(crate) options: NodeOptions,
}

impl Policies {
    /// What cannot be had as it is asked for.
    pub(crate) fn problems(&self, name: &str, has_cache: bool) -> Vec<String> {
        let mut problems = Vec::new();
        if self.cache.is_some() && !has_cache {
            problems.push(format!("node `{name}` has a cache policy, and the graph has no cache: add `cache(..)`"));
        }
        if self.timeout.is_some() && self.at_once {
            let help = "make it `async`, or wrap it in `blocking(..)`";
            problems.push(format!("node `{name}` has a timeout, and nothing can stop a plain function: {help}"));
        }
        problems
    }
}

/// A node with what is said about it. Starts with [`node`].
#[must_use = "give it to a graph"]
pub struct NodeWith<F, H = ()> {
    pub(crate) node: F,
    pub(crate) handler: H,
    pub(crate) policies: Policies,
}

/// A handler for what a node has failed with for good.
pub struct Handler<H>(H);

/// Says more about a node than what it does.
///
/// ```
/// use std::time::Duration;
/// use superstep::prelude::*;
/// # #[derive(State, Clone, Serialize, Deserialize)] struct Page { text: String }
/// async fn fetch() -> Result<PageUpdate, std::io::Error> { Ok(Page::update().text("…")) }
/// let mut graph = Graph::<Page>::new("page");
/// let fetch = graph.node("fetch", node(fetch).retry(Retry::exponential(4)).timeout(Duration::from_secs(30)));
/// # graph.edge(START, fetch); graph.edge(fetch, END); graph.compile().unwrap();
/// ```
pub fn node<F>(node: F) -> NodeWith<F> {
    NodeWith { node, handler: (), policies: Policies::default() }
}

impl<F> NodeWith<F> {
    /// Runs this when the node has failed for good; its output counts in place of the node's.
    pub fn on_error<H>(self, handler: H) -> NodeWith<F, Handler<H>> {
        NodeWith { node: self.node, handler: Handler(handler), policies: self.policies }
    }
}

impl<F, H> NodeWith<F, H> {
    /// Tries again when it fails. Given several times, the first policy that matches a failure applies.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.policies.retry.get_or_insert_default().push(retry);
        self
    }

    /// Stops it when it takes too long. Refused for a plain function, which nothing can stop; the work of
    /// [`crate::blocking`] is left behind, and what it still gives is thrown away.
    pub fn timeout(mut self, timeout: impl Into<Timeout>) -> Self {
        self.policies.timeout = Some(timeout.into());
        self
    }

    /// Uses the result of an earlier equal call. Needs a cache on the graph.
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.policies.cache = Some(policy);
        self
    }

    /// At most this many of its tasks run at once, over all runs of the graph.
    pub fn max_concurrency(mut self, tasks: usize) -> Self {
        self.policies.concurrency = Some(Arc::new(Semaphore::new(tasks.max(1))));
        self
    }

    /// Waits until nothing else is due, then runs once.
    pub fn defer(mut self) -> Self {
        self.policies.options.defer = true;
        self
    }

    /// What the failure of one of its tasks means for the others of the same superstep.
    pub fn branches(mut self, policy: BranchPolicy) -> Self {
        self.policies.options.branch = policy;
        self
    }

    /// Where its commands may lead, for checks and drawings.
    pub fn goto(mut self, targets: impl IntoIterator<Item = impl Into<Endpoint>>) -> Self {
        self.policies.options.goto = Some(targets.into_iter().map(Into::into).collect());
        self
    }

    /// The fields it reads. Private fields are hidden from it unless they are named here.
    pub fn reads(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.policies.options.reads = Some(fields.into_iter().map(Into::into).collect());
        self
    }

    /// The fields it writes. It must not write private fields unless they are named here.
    pub fn writes(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.policies.options.writes = Some(fields.into_iter().map(Into::into).collect());
        self
    }

    /// A name it had before: stored threads that are due there go on here.
    pub fn was(mut self, name: impl Into<String>) -> Self {
        self.policies.options.was.push(name.into());
        self
    }

    /// A label for streams.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.policies.options.tags.push(tag.into());
        self
    }

    /// Free data for drawings and streams.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.policies.options.metadata.insert(key.into(), value.into());
        self
    }
}

/// Marks nodes that come with policies.
pub struct With<M>(std::marker::PhantomData<M>);

#[diagnostic::do_not_recommend]
impl<S, C, M, F: IntoNode<S, C, M>> IntoNode<S, C, With<M>> for NodeWith<F> {
    fn into_action(self) -> Arc<dyn Action> {
        self.node.into_action()
    }

    fn into_parts(self) -> (Arc<dyn Action>, Policies) {
        let (action, own) = self.node.into_parts();
        (action, merged(own, self.policies))
    }
}

#[diagnostic::do_not_recommend]
impl<S, C, M, N, F, H> IntoNode<S, C, With<(M, N)>> for NodeWith<F, Handler<H>>
where
    F: IntoNode<S, C, M>,
    H: IntoNode<S, C, N>,
{
    fn into_action(self) -> Arc<dyn Action> {
        self.node.into_action()
    }

    fn into_parts(self) -> (Arc<dyn Action>, Policies) {
        let (action, own) = self.node.into_parts();
        let on_error = Some(self.handler.0.into_action());
        (action, Policies { on_error, ..merged(own, self.policies) })
    }
}

/// What is said about a node, on top of what it says itself.
fn merged(own: Policies, said: Policies) -> Policies {
    Policies {
        retry: said.retry.or(own.retry),
        timeout: said.timeout.or(own.timeout),
        cache: said.cache.or(own.cache),
        on_error: said.on_error.or(own.on_error),
        concurrency: said.concurrency.or(own.concurrency),
        at_once: said.at_once || own.at_once,
        inner: said.inner.or(own.inner),
        options: merged_options(own.options, said.options),
    }
}

fn merged_options(own: NodeOptions, mut said: NodeOptions) -> NodeOptions {
    if said.branch == BranchPolicy::default() {
        said.branch = own.branch;
    }
    said.defer |= own.defer;
    said.goto = said.goto.or(own.goto);
    said.reads = said.reads.or(own.reads);
    said.writes = said.writes.or(own.writes);
    said.was.extend(own.was);
    said.tags.extend(own.tags);
    for (key, value) in own.metadata {
        said.metadata.entry(key).or_insert(value);
    }
    said.inner = said.inner.or(own.inner);
    said
}
