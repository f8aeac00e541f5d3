//! Threads for work that blocks, so that no runtime is held up by a disk.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use superstep_core::error::{Code, Error, Result};
use tokio::sync::oneshot;

type Work = Box<dyn FnOnce() + Send>;

/// Threads that do what they are given, each one thing at a time.
pub(super) struct Workers {
    works: Option<Sender<Work>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    pub(super) fn start(name: &str, count: usize) -> Result<Self> {
        let (works, inbox) = channel();
        let inbox = Arc::new(Mutex::new(inbox));
        let mut threads = Vec::with_capacity(count);
        for _ in 0..count {
            let inbox = inbox.clone();
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&inbox));
            threads
                .push(thread.map_err(|error| {
                    Error::new(Code::StoreUnavailable, format!("no thread for the store: {error}"))
                })?);
        }
        Ok(Self { works: Some(works), threads })
    }

    /// Does something that blocks. It is done also when nobody waits for it any more.
    pub(super) async fn perform<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        if let Some(works) = &self.works {
            // When no thread is left nobody replies, and whoever waits is told so.
            drop(works.send(Box::new(move || drop(reply.send(work())))));
        }
        answer.await.unwrap_or_else(|_| {
            Err(Error::new(Code::StoreUnavailable, "the store is closed").help("this may not be saved; open it anew"))
        })
    }
}

fn work(inbox: &Mutex<Receiver<Work>>) {
    loop {
        let work = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match work {
            Ok(work) => work(),
            Err(_) => return,
        }
    }
}

/// What is on its way is still done.
impl Drop for Workers {
    fn drop(&mut self) {
        drop(self.works.take());
        for thread in self.threads.drain(..) {
            // A panic was told to whoever waited.
            drop(thread.join());
        }
    }
}
