//! A pool of threads for blocking work, so that disk access does not block the async runtime.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use superstep_core::error::{Error, ErrorCode, Result};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// Worker threads that run queued jobs, one at a time each.
pub(super) struct BlockingPool {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl BlockingPool {
    pub(super) fn start(name: &str, count: usize) -> Result<Self> {
        let (jobs, inbox) = channel();
        let inbox = Arc::new(Mutex::new(inbox));
        let mut threads = Vec::with_capacity(count);
        for _ in 0..count {
            let inbox = inbox.clone();
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&inbox));
            threads.push(thread.map_err(|error| {
                Error::new(
                    ErrorCode::StoreUnavailable,
                    format!("failed to start the background OS thread of the file key-value backend: {error}"),
                )
            })?);
        }
        Ok(Self { jobs: Some(jobs), threads })
    }

    /// Runs a blocking job. The job is finished even if the future is dropped.
    pub(super) async fn perform<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, response) = oneshot::channel();
        if let Some(jobs) = &self.jobs {
            // If no worker is left, `reply` is dropped with the job and the caller receives an error.
            drop(jobs.send(Box::new(move || drop(reply.send(work())))));
        }
        response.await.unwrap_or_else(|_| {
            Err(Error::new(ErrorCode::StoreUnavailable, "the file key-value backend is closed")
                .with_help("this write may be lost; create a new checkpointer"))
        })
    }
}

fn work(inbox: &Mutex<Receiver<Job>>) {
    loop {
        let work = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match work {
            Ok(work) => work(),
            Err(_) => return,
        }
    }
}

/// Finishes the jobs that are already queued.
impl Drop for BlockingPool {
    fn drop(&mut self) {
        drop(self.jobs.take());
        for thread in self.threads.drain(..) {
            // The callers of a panicked job have received an error.
            drop(thread.join());
        }
    }
}
