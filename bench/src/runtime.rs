//! The tokio runtime of a variant, and the function with which workloads run a graph on it.

use superstep::{GraphState, Outcome, RunBuilder};

/// Current-thread runtime: all tasks are polled in place.
pub(crate) const INLINE: &str = "inline";
/// Multi-thread runtime with two workers, in addition to the calling thread.
pub(crate) const THREADS: &str = "threads";

/// A runtime and the name of its variant.
pub(crate) struct Runtime {
    pub(crate) variant: String,
    tokio: tokio::runtime::Runtime,
}

impl Runtime {
    pub(crate) fn new(variant: &str) -> Self {
        let mut builder = match variant {
            THREADS => tokio::runtime::Builder::new_multi_thread(),
            _ => tokio::runtime::Builder::new_current_thread(),
        };
        let tokio = builder.worker_threads(2).enable_all().build().expect("the system gives a runtime its threads");
        Self { variant: variant.to_owned(), tokio }
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.tokio.block_on(work)
    }

    /// Runs a graph to its end.
    pub(crate) fn finish<S: GraphState, C: Send + Sync + 'static>(&self, run: RunBuilder<S, C>) -> Outcome<S> {
        self.block_on(run.into_future()).expect("the workload succeeds")
    }
}
