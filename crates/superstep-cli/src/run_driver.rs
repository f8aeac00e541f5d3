//! Executes one run to its end through the run service: forwards its events to the display, handles Ctrl-C, collects
//! the result.

use std::time::{Duration, Instant};

use serde_json::Value;
use superstep::HistoryQuery;
use superstep::core::id::{RunId, ThreadId};
use superstep_server::{
    CancelMode, Problem, PublishedEvent, RunError, RunRequest, RunService, RunStatus, SubscriptionEnd, ThreadInterrupt,
    ThreadState,
};

use crate::error::CliError;
use crate::signals::ShutdownSignals;

/// Exit code of a process stopped by Ctrl-C.
pub(crate) const STOPPED: u8 = 130;

/// Delay before a run is subscribed to again after a transient error.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Display of a run.
pub(crate) trait RunDisplay {
    /// Handles an event.
    fn on_event(&mut self, published: &PublishedEvent);

    /// Handles the state after a superstep; only called if [`RunDisplay::wants_values`] returns true.
    fn on_values(&mut self, _state: &ThreadState) {}

    fn wants_values(&self) -> bool {
        false
    }

    /// Updates the display as time passes.
    fn tick(&mut self);

    /// Shows that a stop was requested.
    fn on_stop_requested(&mut self);

    /// Clears the live display.
    fn clear(&mut self);
}

/// Summary of a run that has ended.
pub(crate) struct RunSummary {
    pub(crate) thread: ThreadId,
    pub(crate) run: RunId,
    pub(crate) graph: String,
    pub(crate) status: RunStatus,
    pub(crate) output: Value,
    pub(crate) interrupts: Vec<ThreadInterrupt>,
    pub(crate) failure: Option<RunError>,
    pub(crate) tokens: u64,
    pub(crate) duration: Duration,
}

/// Executes a run to its end.
pub(crate) async fn run_to_end(
    runs: &RunService,
    request: RunRequest,
    view: &mut dyn RunDisplay,
) -> Result<RunSummary, CliError> {
    let (thread, run, graph) = (request.thread.clone(), request.run, request.graph.clone());
    let (mut signals, started) = (ShutdownSignals::new()?, Instant::now());
    let after = runs.last_event_number(&thread).await?;
    runs.start(request).await?;
    let mut progress = RunProgress { after, ..RunProgress::default() };
    while progress.follow_events(runs, &thread, view, &mut signals).await? {}
    view.clear();
    let (record, served_graph) = (runs.get_thread(&thread).await?, runs.graph(&graph)?);
    let interrupts = match record.status {
        RunStatus::AwaitingInput => served_graph.state(&thread).await?.interrupts().cloned().collect(),
        _ => Vec::new(),
    };
    let RunProgress { output, tokens, .. } = progress;
    let (status, failure, duration) = (record.status, record.error, started.elapsed());
    Ok(RunSummary { thread, run, graph, status, output, interrupts, failure, tokens, duration })
}

#[derive(Default)]
struct RunProgress {
    after: u64,
    output: Value,
    tokens: u64,
    is_stopping: bool,
}

impl RunProgress {
    /// Follows the events of a run. Returns true if more follow, because the subscription lagged or the storage
    /// failed for a moment.
    async fn follow_events(
        &mut self,
        runs: &RunService,
        thread: &ThreadId,
        view: &mut dyn RunDisplay,
        signals: &mut ShutdownSignals,
    ) -> Result<bool, CliError> {
        let mut subscription = runs.subscribe(thread, Some(self.after)).await?;
        let mut ticks = tokio::time::interval(Duration::from_millis(80));
        loop {
            tokio::select! {
                event = subscription.next() => match event {
                    Some(event) => self.handle_event(runs, thread, &event, view).await?,
                    None => break,
                },
                _ = ticks.tick() => view.tick(),
                () = signals.next() => self.stop(runs, thread, view).await,
            }
        }
        match subscription.end() {
            Some(SubscriptionEnd::Lagged) => Ok(true),
            Some(SubscriptionEnd::Failed(problem)) if problem.is_retryable() => {
                tokio::select! {
                    () = tokio::time::sleep(RETRY_DELAY) => {}
                    () = signals.next() => self.stop(runs, thread, view).await,
                }
                Ok(true)
            }
            Some(SubscriptionEnd::Failed(problem)) => {
                Err(CliError::from(Problem::clone(problem)).with_resume_hint(thread))
            }
            _ => Ok(false),
        }
    }

    async fn handle_event(
        &mut self,
        runs: &RunService,
        thread: &ThreadId,
        published: &PublishedEvent,
        view: &mut dyn RunDisplay,
    ) -> Result<(), CliError> {
        self.after = published.number();
        let event = published.event();
        match published.event_type() {
            "on_chain_end" if event["parent_ids"].as_array().is_some_and(Vec::is_empty) => {
                self.output = event["data"]["output"].clone();
                if let Value::Object(output) = &mut self.output {
                    output.remove("__interrupt__");
                }
            }
            "on_chat_model_end" => self.tokens += event["data"]["usage"]["total_tokens"].as_u64().unwrap_or(0),
            "on_checkpoint" if view.wants_values() && event["metadata"]["path"] == "" => {
                if let Some(state) = state_at(runs, thread, &event["data"]).await? {
                    view.on_values(&state);
                }
            }
            _ => {}
        }
        view.on_event(published);
        Ok(())
    }

    /// Handles Ctrl-C: the first stops the run at its last checkpoint, the second exits without waiting.
    async fn stop(&mut self, runs: &RunService, thread: &ThreadId, view: &mut dyn RunDisplay) {
        if std::mem::replace(&mut self.is_stopping, true) {
            view.clear();
            std::process::exit(i32::from(STOPPED));
        }
        view.on_stop_requested();
        // The run may have ended at this moment; then there is nothing to stop.
        if runs.active_run(thread).is_some() {
            let _ = runs.cancel(thread, CancelMode::Immediate).await;
        }
    }
}

async fn state_at(runs: &RunService, thread: &ThreadId, checkpoint: &Value) -> Result<Option<ThreadState>, CliError> {
    let record = runs.get_thread(thread).await?;
    let query = HistoryQuery { step: checkpoint["step"].as_i64(), ..HistoryQuery::default() };
    let states = runs.graph(&record.graph)?.history(thread, &query).await?;
    let id = checkpoint["checkpoint_id"].as_str().unwrap_or_default();
    Ok(states.into_iter().find(|state| state.checkpoint_id.to_string() == id))
}
