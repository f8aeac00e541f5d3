//! The thread on which requests are made, with a runtime of its own: the store can be asked from any executor, and its
//! connections outlive whoever opened them.
//!
//! What changes something is finished even when whoever asked for it does not wait any more; a question is dropped then.

use std::pin::Pin;
use std::thread::JoinHandle;

use superstep_core::error::{Code, Error, Result};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The thread. Dropped, it ends once all that was begun is done.
pub(crate) struct Room {
    /// Whose it is, as its users know it.
    store: &'static str,
    jobs: Option<UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Room {
    /// # Errors
    /// When the machine has no thread left.
    pub(crate) fn new(store: &'static str) -> Result<Self> {
        let (jobs, inbox) = unbounded_channel();
        let failed =
            |error: std::io::Error| Error::new(Code::StoreUnavailable, format!("no thread for the store: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        // The runtime ends on its thread: one that ends in a task of another takes that down with it.
        let work = move || runtime.block_on(work(inbox));
        let name = format!("superstep-{}", store.to_lowercase());
        let thread = std::thread::Builder::new().name(name).spawn(work).map_err(failed)?;
        Ok(Self { store, jobs: Some(jobs), thread: Some(thread) })
    }

    /// Asks; forgotten when nobody waits for the answer.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (mut told, answer) = oneshot::channel();
        let job = async move {
            let answer = tokio::select! {
                answer = question => answer,
                () = told.closed() => return,
            };
            drop(told.send(answer));
        };
        self.submit(Box::pin(job))?;
        answer.await.map_err(|_| self.ended())?
    }

    /// Changes something; done to the end whoever waits.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        change: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (told, answer) = oneshot::channel();
        let job = async move { drop(told.send(change.await)) };
        self.submit(Box::pin(job))?;
        answer.await.map_err(|_| self.ended())?
    }

    fn submit(&self, job: Job) -> Result<()> {
        let sent = self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok());
        sent.ok_or_else(|| self.ended())
    }

    fn ended(&self) -> Error {
        Error::new(Code::StoreUnavailable, format!("the thread of the {} store gave no answer", self.store))
            .help("this may or may not be saved, everything told before it is; try again")
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It only panics for a bug of ours, of which whoever waited was told.
            drop(thread.join());
        }
    }
}

/// Does what comes in, all at once, until nothing can come any more.
async fn work(mut inbox: UnboundedReceiver<Job>) {
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            job = inbox.recv() => match job {
                Some(job) => drop(under_way.spawn(job)),
                None => break,
            },
            Some(_) = under_way.join_next(), if !under_way.is_empty() => {}
        }
    }
    while under_way.join_next().await.is_some() {}
}
