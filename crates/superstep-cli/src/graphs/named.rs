//! A graph under the name that the settings give it, whatever its file calls it.

use std::sync::Arc;

use serde_json::Value;
use superstep::core::drawing::Drawing;
use superstep::core::id::{CheckpointId, ThreadId};
use superstep::{EventsQuery, HistoryQuery, KeptEvent, ThreadStatus};
use superstep_server::{Asked, Order, Problem, Running, Served, Shown, Stores, Terms};

/// A graph under this name.
pub(super) fn named(name: &str, graph: Arc<dyn Served>) -> Arc<dyn Served> {
    match graph.name() == name {
        true => graph,
        false => Arc::new(Named { name: name.to_owned(), graph }),
    }
}

struct Named {
    name: String,
    graph: Arc<dyn Served>,
}

impl Served for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn drawing(&self) -> Drawing {
        self.graph.drawing()
    }

    fn input_schema(&self) -> Value {
        self.graph.input_schema()
    }

    fn output_schema(&self) -> Value {
        self.graph.output_schema()
    }

    fn kept_in(&self, stores: &Stores) -> Arc<dyn Served> {
        named(&self.name, self.graph.kept_in(stores))
    }

    fn noted(&self, order: Order) -> Order {
        self.graph.noted(order)
    }

    fn check<'a>(&'a self, order: &'a Order) -> Asked<'a, ()> {
        self.graph.check(order)
    }

    fn run(&self, order: &Order, terms: Terms) -> Result<Running, Problem> {
        self.graph.run(order, terms)
    }

    fn state<'a>(&'a self, thread: &'a ThreadId) -> Asked<'a, Shown> {
        self.graph.state(thread)
    }

    fn history<'a>(&'a self, thread: &'a ThreadId, query: &'a HistoryQuery) -> Asked<'a, Vec<Shown>> {
        self.graph.history(thread, query)
    }

    fn events<'a>(&'a self, thread: &'a ThreadId, query: &'a EventsQuery) -> Asked<'a, Vec<KeptEvent>> {
        self.graph.events(thread, query)
    }

    fn status<'a>(&'a self, thread: &'a ThreadId) -> Asked<'a, Option<ThreadStatus>> {
        self.graph.status(thread)
    }

    fn update<'a>(&'a self, thread: &'a ThreadId, values: Value, as_node: Option<String>) -> Asked<'a, CheckpointId> {
        self.graph.update(thread, values, as_node)
    }

    fn delete<'a>(&'a self, thread: &'a ThreadId) -> Asked<'a, ()> {
        self.graph.delete(thread)
    }
}
