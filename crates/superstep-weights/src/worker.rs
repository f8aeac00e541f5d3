//! The one thread that a model runs on, and the queue before it.
//!
//! Inference holds a core for seconds, so it never runs on a thread of the runtime. One question at a time: two at once would
//! share the core and both be late. Who no longer waits is passed over, in the queue and in the middle of an answer. The
//! thread ends when its model is dropped.

use std::cell::LazyCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use superstep_core::error::{Error, Result};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::engine::{End, Engine, Failure, Hearer, Question};

/// What comes back for a question, in order.
#[derive(Debug)]
pub(crate) enum Said {
    /// More text.
    Text(String),
    /// Nothing more.
    End(std::result::Result<End, Failure>),
}

/// Who is asked.
pub(crate) struct Worker(mpsc::Sender<Job>);

struct Job {
    question: Question,
    // An answer is as long as it may be at most, so the way back needs no limit, and a slow listener holds nobody up.
    back: UnboundedSender<Said>,
}

impl Worker {
    /// Starts the thread; `load` gives the engine, or why there is none, when the first question comes.
    pub(crate) fn start(load: impl FnOnce() -> std::result::Result<Engine, String> + Send + 'static) -> Result<Self> {
        let (sender, jobs) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new().name("superstep-weights".to_owned());
        let started = thread.spawn(move || {
            let engine = LazyCell::new(load);
            for Job { question, back } in jobs {
                if back.listens() {
                    let end = match &*engine {
                        // The engine is only read, so it is as good as before for whoever asks next.
                        Ok(engine) => catch_unwind(AssertUnwindSafe(|| engine.answer(question, &back)))
                            .unwrap_or(Err(Failure::Panicked)),
                        Err(fact) => Err(Failure::Unusable(fact.clone())),
                    };
                    // Nobody may be there to hear it.
                    drop(back.send(Said::End(end)));
                }
            }
        });
        started.map_err(|error| Error::internal(format!("the thread for weights does not start: {error}")))?;
        Ok(Self(sender))
    }

    /// Asks; the answer comes out of what this gives, and whoever drops that no longer wants it.
    pub(crate) fn ask(&self, question: Question) -> Result<UnboundedReceiver<Said>> {
        let (back, said) = unbounded_channel();
        self.0.send(Job { question, back }).map_err(|_| gone())?;
        Ok(said)
    }
}

/// The thread ended in the middle of an answer: only a bug does that.
pub(crate) fn gone() -> Error {
    Error::internal("the thread that runs the weights has ended")
}

impl Hearer for UnboundedSender<Said> {
    fn hear(&self, text: String) -> bool {
        if text.is_empty() { self.listens() } else { self.send(Said::Text(text)).is_ok() }
    }

    fn listens(&self) -> bool {
        !self.is_closed()
    }
}
