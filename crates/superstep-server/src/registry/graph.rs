//! A compiled graph behind [`Served`]: the one place that still knows its state and its context.

use std::sync::Arc;

use serde_json::{Map, Value};
use superstep::core::drawing::Drawing;
use superstep::core::error::Problem as Found;
use superstep::core::fault::Fault;
use superstep::core::id::{CheckpointId, ThreadId};
use superstep::{
    AsNode, Code, Compiled, Error, EventsQuery, HistoryQuery, KeptEvent, Run, State, ThreadStatus, Threads, WhenBusy,
};

use super::shown::shown;
use super::{Asked, Order, Running, Served, Shown, Terms, What};
use crate::config::Stores;
use crate::problem::{Problem, ProblemPart};

/// A graph that can be served. `context` makes what the nodes of a run need out of what was asked of it.
///
/// ```
/// use superstep::prelude::*;
/// use superstep_server::served;
///
/// #[derive(State, Clone, Serialize, Deserialize)]
/// struct Count { #[reduce(add)] n: u64 }
///
/// let mut graph = Graph::<Count>::new("count");
/// let one = graph.node("one", || Count::update().n(1u64));
/// graph.edge(START, one);
/// graph.edge(one, END);
/// let count = served(graph.compile()?, |_| Ok(()));
/// assert_eq!(count.name(), "count");
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn served<S: State, C: Send + Sync + 'static>(
    graph: Compiled<S, C>,
    context: impl Fn(&Order) -> Result<C, Problem> + Send + Sync + 'static,
) -> Arc<dyn Served> {
    served_noting(graph, context, |order| order)
}

/// As [`served`], for a graph whose application notes something of its threads, such as a title: `note` adds to an order
/// that begins one what whoever gave it has not said.
pub fn served_noting<S: State, C: Send + Sync + 'static>(
    graph: Compiled<S, C>,
    context: impl Fn(&Order) -> Result<C, Problem> + Send + Sync + 'static,
    note: impl Fn(Order) -> Order + Send + Sync + 'static,
) -> Arc<dyn Served> {
    Arc::new(Graph { graph, context: Arc::new(context), note: Arc::new(note), stores: None })
}

type MakeContext<C> = Arc<dyn Fn(&Order) -> Result<C, Problem> + Send + Sync>;
type Note = Arc<dyn Fn(Order) -> Order + Send + Sync>;

struct Graph<S, C> {
    graph: Compiled<S, C>,
    context: MakeContext<C>,
    note: Note,
    stores: Option<Stores>,
}

impl<S: State, C: Send + Sync + 'static> Graph<S, C> {
    fn threads(&self) -> Threads<S, C> {
        let threads = self.graph.threads();
        match &self.stores {
            Some(stores) => threads.checkpointer(stores.checkpoints.clone()),
            None => threads,
        }
    }

    fn begin(&self, order: &Order) -> Run<S, C> {
        match &order.what {
            What::Start(input) => self.graph.run(input.clone()).thread(&order.thread),
            What::Answer(answers) => self.graph.resume_with(&order.thread, answers.clone()),
            What::GoOn => self.graph.go_on(&order.thread),
        }
    }
}

impl<S: State, C: Send + Sync + 'static> Served for Graph<S, C> {
    fn name(&self) -> &str {
        self.graph.name()
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
        let (graph, context, note) = (self.graph.clone(), self.context.clone(), self.note.clone());
        Arc::new(Self { graph, context, note, stores: Some(stores.clone()) })
    }

    fn noted(&self, order: Order) -> Order {
        (self.note)(order)
    }

    fn check<'a>(&'a self, order: &'a Order) -> Asked<'a, ()> {
        Box::pin(async move {
            if !order.thread.is_valid() {
                let detail = format!("`{}` cannot be the id of a thread", order.thread);
                return Err(Problem::invalid(detail, []).hint("use 1 to 128 letters, digits and `_ . : -`"));
            }
            match &order.what {
                What::Start(Value::Object(input)) => {
                    let is_new = self.threads().status(&order.thread).await?.is_none();
                    self.check_input(input, is_new)
                }
                What::Start(other) => {
                    let message = format!("expected an object, found {}", kind(other));
                    Err(Problem::invalid("the input is not valid", [ProblemPart::from(Fault::new(message))]))
                }
                What::Answer(_) | What::GoOn => Ok(()),
            }
        })
    }

    fn run(&self, order: &Order, terms: Terms) -> Result<Running, Problem> {
        let context = (self.context)(order)?;
        // Also one that is taken up: whoever moves the thread by now may have done what was asked of it.
        let mut run = self.begin(order).run_id(order.run).context(context).when_busy(WhenBusy::Reject);
        run = run.control(terms.control).metrics(&terms.metrics);
        for (key, value) in &order.metadata {
            run = run.metadata(key.clone(), value.clone());
        }
        if let Some(time) = terms.timeout {
            run = run.timeout(time);
        }
        if let Some(stores) = &self.stores {
            run = run.checkpointer(stores.checkpoints.clone()).store(stores.items.clone());
        }
        Ok(Running::new(run.keep_events().stream_events().as_kept()))
    }

    fn state<'a>(&'a self, thread: &'a ThreadId) -> Asked<'a, Shown> {
        Box::pin(async move { shown(self.graph.schema(), &self.threads().state(thread).await?) })
    }

    fn history<'a>(&'a self, thread: &'a ThreadId, query: &'a HistoryQuery) -> Asked<'a, Vec<Shown>> {
        Box::pin(async move {
            let states = self.threads().history(thread, query).await?;
            states.iter().map(|state| shown(self.graph.schema(), state)).collect()
        })
    }

    fn events<'a>(&'a self, thread: &'a ThreadId, query: &'a EventsQuery) -> Asked<'a, Vec<KeptEvent>> {
        Box::pin(async move { Ok(self.threads().events(thread, query).await?) })
    }

    fn status<'a>(&'a self, thread: &'a ThreadId) -> Asked<'a, Option<ThreadStatus>> {
        Box::pin(async move { Ok(self.threads().status(thread).await?) })
    }

    fn update<'a>(&'a self, thread: &'a ThreadId, values: Value, as_node: Option<String>) -> Asked<'a, CheckpointId> {
        Box::pin(async move {
            let as_node = as_node.map_or(AsNode::Nobody, |node| AsNode::from(node.as_str()));
            Ok(self.threads().update(thread, values).as_node(as_node).await?)
        })
    }

    fn delete<'a>(&'a self, thread: &'a ThreadId) -> Asked<'a, ()> {
        Box::pin(async move { Ok(self.threads().delete(thread).await?) })
    }
}

impl<S: State, C: Send + Sync + 'static> Graph<S, C> {
    /// Everything that is wrong with an input; the engine looks again when the run begins.
    fn check_input(&self, input: &Map<String, Value>, is_new: bool) -> Result<(), Problem> {
        let (schema, open) = (self.graph.schema(), self.graph.input_schema());
        let is_open = |name: &str| open["properties"].get(name).is_some();
        let mut found = schema.read_update(input.clone(), &mut Vec::new()).err().unwrap_or_default();
        for name in input.keys().filter(|name| schema.find(name).is_some() && !is_open(name)) {
            let message = format!("field `{name}` is not part of the input");
            found.push(Found { pointer: format!("/{name}"), message, help: None });
        }
        for (_, field) in schema.iter().filter(|(_, field)| is_new && field.flags.required && is_open(&field.name)) {
            if !input.contains_key(&*field.name) {
                let message = format!("required field `{}` is missing", field.name);
                found.push(Found { pointer: format!("/{}", field.name), message, help: None });
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        let error = Error::listing(Code::InputInvalid, "the input is not valid", found);
        Err(error.help("nothing ran: correct the input and run again").into())
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
