//! Which graphs are served, and what can be asked of each without knowing its state or its context.
//!
//! A graph is wrapped once ([`served`]); from then on the server, the desk and every route see [`Served`] alone. Nothing
//! here drives a run: that is the worker's business.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep::core::drawing::Drawing;
use superstep::core::id::{CheckpointId, RunId, ThreadId};
use superstep::core::port::BoxFuture;
use superstep::core::suggest::known_names;
use superstep::telemetry::Metrics;
use superstep::{Control, EventsQuery, HistoryQuery, KeptEvent, ThreadStatus};

mod graph;
mod order;
mod running;
mod shown;

pub use graph::{served, served_noting};
pub use order::{Order, What, fresh_run, fresh_thread};
pub use running::{Ended, Running};
pub(crate) use shown::outward;
pub use shown::{Shown, ShownQuestion, ShownTask};

use crate::config::Stores;
use crate::problem::Problem;

/// What an asynchronous question to a graph gives.
pub type Asked<'a, T> = BoxFuture<'a, Result<T, Problem>>;

/// A graph as the server knows it: any state, any context.
pub trait Served: Send + Sync + 'static {
    /// The name it is asked for by.
    fn name(&self) -> &str;

    /// The graph as a drawing.
    fn drawing(&self) -> Drawing;

    /// JSON Schema of its input.
    fn input_schema(&self) -> Value;

    /// JSON Schema of its output.
    fn output_schema(&self) -> Value;

    /// The same graph with its threads in these stores.
    fn kept_in(&self, stores: &Stores) -> Arc<dyn Served>;

    /// An order that begins a thread, with what the application notes of it and whoever gave it has not said: a title for
    /// lists, options.
    fn noted(&self, order: Order) -> Order;

    /// Looks at an order before anything is written down.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn check<'a>(&'a self, order: &'a Order) -> Asked<'a, ()>;

    /// A run in the making; it does nothing until it is asked for its first event.
    ///
    /// # Errors
    /// When the order does not fit the graph.
    fn run(&self, order: &Order, terms: Terms) -> Result<Running, Problem>;

    /// The newest state of a thread.
    fn state<'a>(&'a self, thread: &'a ThreadId) -> Asked<'a, Shown>;

    /// The states of a thread, newest first.
    fn history<'a>(&'a self, thread: &'a ThreadId, query: &'a HistoryQuery) -> Asked<'a, Vec<Shown>>;

    /// The events that were kept of a thread.
    fn events<'a>(&'a self, thread: &'a ThreadId, query: &'a EventsQuery) -> Asked<'a, Vec<KeptEvent>>;

    /// How a thread stands; nothing when there is none.
    fn status<'a>(&'a self, thread: &'a ThreadId) -> Asked<'a, Option<ThreadStatus>>;

    /// Changes the state of a thread from outside, as nobody or as a node.
    fn update<'a>(&'a self, thread: &'a ThreadId, values: Value, as_node: Option<String>) -> Asked<'a, CheckpointId>;

    /// Removes everything of a thread.
    fn delete<'a>(&'a self, thread: &'a ThreadId) -> Asked<'a, ()>;

    /// Whether a run has saved a checkpoint on a thread.
    fn has_saved<'a>(&'a self, thread: &'a ThreadId, run: RunId) -> Asked<'a, bool> {
        Box::pin(async move {
            let query = HistoryQuery { run: Some(run), limit: Some(1), ..HistoryQuery::default() };
            self.history(thread, &query).await.map(|found| !found.is_empty())
        })
    }
}

/// What the server adds to a run.
#[derive(Clone)]
#[non_exhaustive]
pub struct Terms {
    /// A hand to stop it with.
    pub control: Control,
    /// Where it is measured.
    pub metrics: Metrics,
    /// At most this long.
    pub timeout: Option<Duration>,
}

/// The graphs that are served, by name.
#[derive(Clone)]
pub struct Registry(Arc<BTreeMap<String, Arc<dyn Served>>>);

impl Registry {
    /// These graphs.
    ///
    /// # Errors
    /// When two have the same name.
    pub fn new(graphs: impl IntoIterator<Item = Arc<dyn Served>>) -> Result<Self, superstep::Error> {
        let mut named: BTreeMap<String, Arc<dyn Served>> = BTreeMap::new();
        for graph in graphs {
            let name = graph.name().to_owned();
            if named.insert(name.clone(), graph).is_some() {
                let message = format!("two graphs are called `{name}`");
                return Err(superstep::Error::new(superstep::Code::ConfigInvalid, message).help("rename one of them"));
            }
        }
        Ok(Self(Arc::new(named)))
    }

    /// The graph of this name.
    ///
    /// # Errors
    /// 404 with the names there are, the nearest first.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Served>, Problem> {
        self.0.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            Problem::not_found(format!("no graph `{name}`")).hint(known_names(name, &known))
        })
    }

    /// Every graph, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Served>> {
        self.0.values()
    }
}
