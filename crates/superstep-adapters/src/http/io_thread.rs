//! The OS thread on which requests run, with a runtime of its own: the backend can be used from any executor, and
//! connections outlive the runtime of the caller.
//!
//! A write is finished even if its future is dropped; a read is cancelled.

use std::pin::Pin;
use std::thread::JoinHandle;

use superstep_core::error::{Error, ErrorCode, Result};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

type IoJob = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The OS thread of a backend. When dropped, it ends after all running jobs are done.
pub(crate) struct IoThread {
    /// Name of the backend in errors.
    backend: &'static str,
    jobs: Option<UnboundedSender<IoJob>>,
    thread: Option<JoinHandle<()>>,
}

impl IoThread {
    /// Starts the OS thread of a backend.
    ///
    /// # Errors
    /// Returns an error if the thread or its runtime cannot be created.
    pub(crate) fn new(backend: &'static str) -> Result<Self> {
        let (jobs, inbox) = unbounded_channel();
        let start_error = |error: std::io::Error| {
            Error::new(
                ErrorCode::StoreUnavailable,
                format!("failed to start the background OS thread of the {backend} backend: {error}"),
            )
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(start_error)?;
        // The runtime is dropped on its own thread: dropping a runtime inside a task of another runtime panics.
        let work = move || runtime.block_on(run_jobs(inbox));
        let name = format!("superstep-{}", backend.to_lowercase());
        let thread = std::thread::Builder::new().name(name).spawn(work).map_err(start_error)?;
        Ok(Self { backend, jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs a read, which is cancelled if the future is dropped.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        operation: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (mut sender, response) = oneshot::channel();
        let job = async move {
            let response = tokio::select! {
                response = operation => response,
                () = sender.closed() => return,
            };
            drop(sender.send(response));
        };
        self.submit(Box::pin(job))?;
        response.await.map_err(|_| self.ended())?
    }

    /// Runs a write, which is finished even if the future is dropped.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (sender, response) = oneshot::channel();
        let job = async move { drop(sender.send(operation.await)) };
        self.submit(Box::pin(job))?;
        response.await.map_err(|_| self.ended())?
    }

    fn submit(&self, job: IoJob) -> Result<()> {
        let sent = self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok());
        sent.ok_or_else(|| self.ended())
    }

    fn ended(&self) -> Error {
        Error::new(
            ErrorCode::StoreUnavailable,
            format!("the background OS thread of the {} backend ended", self.backend),
        )
        .with_help("the last write may or may not be committed; earlier writes are; try again")
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The thread panics only because of a bug; the waiting caller has received an error.
            drop(thread.join());
        }
    }
}

/// Runs jobs concurrently until the sender is dropped and all jobs are done.
async fn run_jobs(mut inbox: UnboundedReceiver<IoJob>) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            job = inbox.recv() => match job {
                Some(job) => drop(running.spawn(job)),
                None => break,
            },
            Some(_) = running.join_next(), if !running.is_empty() => {}
        }
    }
    while running.join_next().await.is_some() {}
}
