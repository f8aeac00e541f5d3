//! graph-flow: tasks over a shared map, one current task for each session.
//!
//! It has no reducers: in the fan-out the workers return their number as a response, and the join combines them.

use std::sync::Arc;

use async_trait::async_trait;
use graph_flow::{Context, ExecutionStatus, FanOutTask, Graph, GraphBuilder, NextAction, Session, Task, TaskResult};
use measure::{End, FAN_OUT, LIST, Peer, Steps, Workload};

struct Step {
    name: &'static str,
    limit: i64,
}

#[async_trait]
impl Task for Step {
    fn id(&self) -> &str {
        self.name
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        let counter: i64 = context.get("counter").unwrap_or(0);
        context.set("counter", counter + 1)?;
        if counter < LIST {
            let mut list: Vec<i64> = context.get("list").unwrap_or_default();
            list.push(counter);
            context.set("list", list)?;
        }
        let is_done = self.name == "c" && counter + 1 >= self.limit;
        Ok(TaskResult::new(None, if is_done { NextAction::End } else { NextAction::ContinueAndExecute }))
    }
}

fn cycle(workload: Workload) -> Graph {
    let limit = workload.limit();
    let mut graph = GraphBuilder::new("laps");
    for name in ["a", "b", "c"] {
        graph = graph.add_task(Arc::new(Step { name, limit }));
    }
    let is_below = move |context: &Context| context.get::<i64>("counter").unwrap_or(0) < limit;
    let graph = graph.add_edge("a", "b").add_edge("b", "c").add_conditional_edge("c", is_below, "a", "a");
    graph.build().expect("the cycle builds")
}

struct Source;

#[async_trait]
impl Task for Source {
    fn id(&self) -> &str {
        "source"
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        context.set("counter", 1_i64)?;
        Ok(TaskResult::new(None, NextAction::ContinueAndExecute))
    }
}

struct Worker {
    name: String,
    number: i64,
}

#[async_trait]
impl Task for Worker {
    fn id(&self) -> &str {
        &self.name
    }

    async fn run(&self, _context: Context) -> graph_flow::Result<TaskResult> {
        Ok(TaskResult::new(Some(self.number.to_string()), NextAction::End))
    }
}

struct Join;

#[async_trait]
impl Task for Join {
    fn id(&self) -> &str {
        "join"
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        let responses =
            (0..FAN_OUT).filter_map(|number| context.get::<String>(&format!("fanout.w{number:03}.response")));
        let list: Vec<i64> = responses.filter_map(|number| number.parse().ok()).collect();
        let counter: i64 = context.get("counter").unwrap_or(0);
        context.set("counter", counter + list.iter().sum::<i64>() + 1)?;
        context.set("list", list)?;
        Ok(TaskResult::new(None, NextAction::End))
    }
}

fn fan() -> Graph {
    let worker = |number| Arc::new(Worker { name: format!("w{number:03}"), number }) as Arc<dyn Task>;
    let workers = FanOutTask::new("fan", (0..FAN_OUT).map(worker).collect());
    let workers = workers.with_next_action(NextAction::ContinueAndExecute);
    let graph = GraphBuilder::new("fan").add_task(Arc::new(Source)).add_task(workers).add_task(Arc::new(Join));
    graph.add_edge("source", "fan").add_edge("fan", "join").build().expect("the fan-out builds")
}

async fn finish(graph: &Graph, first: &str) -> Result<Session, String> {
    let mut session = Session::new_from_task("s".to_owned(), first);
    let result = graph.execute_session(&mut session).await.map_err(|error| error.to_string())?;
    match result.status {
        ExecutionStatus::Completed => Ok(session),
        other => Err(format!("stopped as {other:?}")),
    }
}

fn end(session: &Session) -> End {
    End::unsaved(session.context.get("counter").unwrap_or(-1), session.context.get("list").unwrap_or_default())
}

fn main() {
    let peer = Peer::new("graph-flow", "0.8.1");
    let graph = cycle(Workload::Loop);
    peer.measure(
        Workload::Loop,
        &Steps {
            ready: async || (),
            run: async |_: &()| finish(&graph, "a").await,
            inspect: async |_: &(), session: Session| end(&session),
        },
    );
    let graph = fan();
    peer.measure(
        Workload::FanOut,
        &Steps {
            ready: async || (),
            run: async |_: &()| {
                for _ in 1..Workload::FanOut.invokes() {
                    finish(&graph, "source").await?;
                }
                finish(&graph, "source").await
            },
            inspect: async |_: &(), session: Session| end(&session),
        },
    );
    peer.lacks(Workload::LoopCheckpointed, "keeps the newest session, no checkpoint for each step");
}
