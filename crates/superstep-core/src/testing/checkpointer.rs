//! The contract of every checkpointer, as tests.
//!
//! One line in the tests of an implementation defines a test for each of them:
//! `mod conformance { superstep_core::checkpointer_conformance!(Memory::new); }`. A checkpointer that needs a
//! runtime passes a function that drives a future:
//! `checkpointer_conformance!(open, |future| RUNTIME.block_on(future))`. `open` returns an empty checkpointer each
//! time and is called inside that runtime.
//!
//! A check writes as the engine does: a schema reduces the states, commits contain the changes and the state after
//! them.

use crate::port::{BoxFuture, SharedCheckpointer};

pub mod atomic;
pub mod concurrency;
pub mod copy_thread;
pub mod delete_events;
pub mod events;
pub mod field_changes;
pub mod forks;
pub mod history;
pub mod leases;
pub mod metadata;
pub mod pending_entries;
pub mod prune;
pub mod prune_runs;
pub mod retention;
pub mod threads;
pub mod values;
mod writer;

/// Runs one check on an empty checkpointer.
pub fn check<C, F>(
    open: impl FnOnce() -> C + Send + 'static,
    drive: impl Fn(BoxFuture<'static, ()>),
    test: impl FnOnce(SharedCheckpointer) -> F + Send + 'static,
) where
    C: Into<SharedCheckpointer>,
    F: Future<Output = ()> + Send + 'static,
{
    drive(Box::pin(async move {
        let checkpointer = open().into();
        test(checkpointer).await;
    }));
}

/// Expands to one test for each guarantee of a checkpointer, in modules; invoke it in a module of its own.
///
/// The first argument opens an empty checkpointer. The second drives a future to completion and is only needed by
/// checkpointers that require a runtime.
#[macro_export]
macro_rules! checkpointer_conformance {
    ($open:expr) => {
        $crate::checkpointer_conformance!($open, $crate::testing::block_on);
    };
    ($open:expr, $drive:expr) => {
        $crate::checkpointer_atomic!($open, $drive);
        $crate::checkpointer_concurrency!($open, $drive);
        $crate::checkpointer_copy_thread!($open, $drive);
        $crate::checkpointer_delete_events!($open, $drive);
        $crate::checkpointer_events!($open, $drive);
        $crate::checkpointer_field_changes!($open, $drive);
        $crate::checkpointer_forks!($open, $drive);
        $crate::checkpointer_history!($open, $drive);
        $crate::checkpointer_leases!($open, $drive);
        $crate::checkpointer_metadata!($open, $drive);
        $crate::checkpointer_pending_entries!($open, $drive);
        $crate::checkpointer_prune!($open, $drive);
        $crate::checkpointer_prune_runs!($open, $drive);
        $crate::checkpointer_retention!($open, $drive);
        $crate::checkpointer_threads!($open, $drive);
        $crate::checkpointer_values!($open, $drive);
    };
}
