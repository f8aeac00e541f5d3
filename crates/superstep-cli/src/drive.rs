//! Drives one run through the desk: tells its events to whoever shows them, minds Ctrl-C, gathers how it ended.

use std::time::{Duration, Instant};

use serde_json::Value;
use superstep::HistoryQuery;
use superstep::core::id::{RunId, ThreadId};
use superstep_server::{Desk, FeedEnd, Order, Problem, RunFailure, RunStatus, Shown, ShownQuestion, Stop, Told};

use crate::failure::Failure;
use crate::interrupts::Interrupts;

/// How a process ends that was stopped by Ctrl-C.
pub(crate) const STOPPED: u8 = 130;

/// How long after a trouble that may pass a run is watched again.
const PAUSE: Duration = Duration::from_millis(500);

/// Whoever shows a run.
pub(crate) trait Watch {
    /// Something was said.
    fn tell(&mut self, told: &Told);

    /// A superstep is saved; only told when [`Watch::wants_values`].
    fn values(&mut self, _state: &Shown) {}

    fn wants_values(&self) -> bool {
        false
    }

    /// Time goes by.
    fn tick(&mut self);

    /// Somebody asked for it to stop.
    fn stopping(&mut self);

    /// There is nothing more to draw for now.
    fn pause(&mut self);
}

/// How a run ended.
pub(crate) struct Done {
    pub(crate) thread: ThreadId,
    pub(crate) run: RunId,
    pub(crate) graph: String,
    pub(crate) status: RunStatus,
    pub(crate) output: Value,
    pub(crate) questions: Vec<ShownQuestion>,
    pub(crate) failure: Option<RunFailure>,
    pub(crate) tokens: u64,
    pub(crate) took: Duration,
}

/// Drives a run to its end.
pub(crate) async fn drive(desk: &Desk, order: Order, view: &mut dyn Watch) -> Result<Done, Failure> {
    let (thread, run, graph) = (order.thread.clone(), order.run, order.graph.clone());
    let (mut interrupts, begun) = (Interrupts::new()?, Instant::now());
    let after = desk.last_event(&thread).await?;
    desk.start(order).await?;
    let mut heard = Heard { after, ..Heard::default() };
    while heard.listen(desk, &thread, view, &mut interrupts).await? {}
    view.pause();
    let (record, served) = (desk.known(&thread).await?, desk.served(&graph)?);
    let questions = match record.status {
        RunStatus::Waiting => served.state(&thread).await?.questions().cloned().collect(),
        _ => Vec::new(),
    };
    let Heard { output, tokens, .. } = heard;
    let (status, failure, took) = (record.status, record.failure, begun.elapsed());
    Ok(Done { thread, run, graph, status, output, questions, failure, tokens, took })
}

#[derive(Default)]
struct Heard {
    after: u64,
    output: Value,
    tokens: u64,
    is_stopping: bool,
}

impl Heard {
    /// Listens until the run is over; true when there is more to come, because this reader was too slow or
    /// the store in trouble for a moment.
    async fn listen(
        &mut self,
        desk: &Desk,
        thread: &ThreadId,
        view: &mut dyn Watch,
        interrupts: &mut Interrupts,
    ) -> Result<bool, Failure> {
        let mut feed = desk.watch(thread, Some(self.after)).await?;
        let mut ticks = tokio::time::interval(Duration::from_millis(80));
        loop {
            tokio::select! {
                told = feed.next() => match told {
                    Some(told) => self.take(desk, thread, &told, view).await?,
                    None => break,
                },
                _ = ticks.tick() => view.tick(),
                () = interrupts.next() => self.stop(desk, thread, view),
            }
        }
        match feed.end() {
            Some(FeedEnd::TooSlow) => Ok(true),
            Some(FeedEnd::Failed(problem)) if problem.is_retryable() => {
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => {}
                    () = interrupts.next() => self.stop(desk, thread, view),
                }
                Ok(true)
            }
            Some(FeedEnd::Failed(problem)) => Err(Failure::from(Problem::clone(problem)).saved(thread)),
            _ => Ok(false),
        }
    }

    async fn take(&mut self, desk: &Desk, thread: &ThreadId, told: &Told, view: &mut dyn Watch) -> Result<(), Failure> {
        self.after = told.number();
        let event = told.event();
        match told.kind() {
            "on_chain_end" if event["parent_ids"].as_array().is_some_and(Vec::is_empty) => {
                self.output = event["data"]["output"].clone();
                if let Value::Object(output) = &mut self.output {
                    output.remove("__interrupt__");
                }
            }
            "on_chat_model_end" => self.tokens += event["data"]["usage"]["total_tokens"].as_u64().unwrap_or(0),
            "on_checkpoint" if view.wants_values() && event["metadata"]["path"] == "" => {
                if let Some(state) = state_at(desk, thread, &event["data"]).await? {
                    view.values(&state);
                }
            }
            _ => {}
        }
        view.tell(told);
        Ok(())
    }

    /// Once: the run stops where it is saved. Twice: nobody waits for it.
    fn stop(&mut self, desk: &Desk, thread: &ThreadId, view: &mut dyn Watch) {
        if std::mem::replace(&mut self.is_stopping, true) {
            view.pause();
            std::process::exit(i32::from(STOPPED));
        }
        view.stopping();
        // It may have ended in this moment; then there is nothing to stop.
        let _ = desk.stop(thread, Stop::Now);
    }
}

async fn state_at(desk: &Desk, thread: &ThreadId, checkpoint: &Value) -> Result<Option<Shown>, Failure> {
    let record = desk.known(thread).await?;
    let query = HistoryQuery { step: checkpoint["step"].as_i64(), ..HistoryQuery::default() };
    let states = desk.served(&record.graph)?.history(thread, &query).await?;
    let id = checkpoint["checkpoint_id"].as_str().unwrap_or_default();
    Ok(states.into_iter().find(|state| state.checkpoint_id.to_string() == id))
}
