//! The inference thread of a model, and its queue.
//!
//! Inference occupies a core for seconds, so it never runs on a thread of the runtime. Requests run one at a time:
//! two at once would share the core, and both would be late. A request that its caller has dropped is skipped in the
//! queue, and stopped during generation. The thread ends when its model is dropped.

use std::cell::LazyCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use superstep_core::error::{Error, Result};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::engine::{End, Engine, Failure, GenerationRequest, TextReceiver};

/// Messages of a response, in order.
#[derive(Debug)]
pub(crate) enum ResponseEvent {
    /// Generated text.
    Text(String),
    /// End of the response.
    End(std::result::Result<End, Failure>),
}

/// Handle of the inference thread.
pub(crate) struct Worker(mpsc::Sender<Job>);

struct Job {
    request: GenerationRequest,
    // Unbounded, because a response has a maximum length, and a slow receiver must not block the thread.
    event_sender: UnboundedSender<ResponseEvent>,
}

impl Worker {
    /// Starts the thread; `load` returns the engine, or an error, at the first request.
    pub(crate) fn start(load: impl FnOnce() -> std::result::Result<Engine, String> + Send + 'static) -> Result<Self> {
        let (sender, jobs) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new().name("superstep-weights".to_owned());
        let started = thread.spawn(move || {
            let engine = LazyCell::new(load);
            for Job { request, event_sender } in jobs {
                if event_sender.is_open() {
                    let end = match &*engine {
                        // The engine is immutable, so a panic does not affect later requests.
                        Ok(engine) => catch_unwind(AssertUnwindSafe(|| engine.generate(request, &event_sender)))
                            .unwrap_or(Err(Failure::Panicked)),
                        Err(message) => Err(Failure::Unusable(message.clone())),
                    };
                    // The caller may have dropped the request.
                    drop(event_sender.send(ResponseEvent::End(end)));
                }
            }
        });
        started.map_err(|error| Error::internal(format!("failed to start the inference thread: {error}")))?;
        Ok(Self(sender))
    }

    /// Queues a request, and returns the receiver of its response. Dropping the receiver cancels the request.
    pub(crate) fn submit(&self, request: GenerationRequest) -> Result<UnboundedReceiver<ResponseEvent>> {
        let (event_sender, events) = unbounded_channel();
        self.0.send(Job { request, event_sender }).map_err(|_| thread_ended_error())?;
        Ok(events)
    }
}

/// Returns the error for a thread that ended during a response, which only a bug can cause.
pub(crate) fn thread_ended_error() -> Error {
    Error::internal("the inference thread has ended")
}

impl TextReceiver for UnboundedSender<ResponseEvent> {
    fn receive(&self, text: String) -> bool {
        if text.is_empty() { self.is_open() } else { self.send(ResponseEvent::Text(text)).is_ok() }
    }

    fn is_open(&self) -> bool {
        !self.is_closed()
    }
}
