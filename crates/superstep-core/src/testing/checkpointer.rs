//! The promises every checkpointer keeps, as tests.
//!
//! One line in the tests of an implementation makes each of them a test of its own:
//! `mod conformance { superstep_core::checkpointer_conformance!(Memory::new); }`. A store that needs a runtime says how
//! a future is driven: `checkpointer_conformance!(open, |future| RUNTIME.block_on(future))`. `open` gives an empty
//! store each time and is called inside that runtime.
//!
//! A check writes as the engine would: states are folded by a schema, commits carry the changes and the state after.

use crate::port::{BoxFuture, SharedCheckpointer};

pub mod atomic;
pub mod copies;
pub mod events;
pub mod forgetting;
pub mod growth;
pub mod history;
pub mod leases;
pub mod lineage;
pub mod parallel;
pub mod pending;
pub mod records;
pub mod retention;
pub mod runs;
pub mod threads;
pub mod upkeep;
pub mod values;
mod writer;

/// Runs one check on an empty store.
pub fn check<C, F>(
    open: impl FnOnce() -> C + Send + 'static,
    drive: impl Fn(BoxFuture<'static, ()>),
    test: impl FnOnce(SharedCheckpointer) -> F + Send + 'static,
) where
    C: Into<SharedCheckpointer>,
    F: Future<Output = ()> + Send + 'static,
{
    drive(Box::pin(async move {
        let store = open().into();
        test(store).await;
    }));
}

/// Expands to one test for each promise of a checkpointer, in modules; put it in a module of its own.
///
/// The first argument opens an empty store. The second drives a future to its end and is only needed by stores that
/// live on a runtime.
#[macro_export]
macro_rules! checkpointer_conformance {
    ($open:expr) => {
        $crate::checkpointer_conformance!($open, $crate::testing::block_on);
    };
    ($open:expr, $drive:expr) => {
        $crate::checkpointer_atomic!($open, $drive);
        $crate::checkpointer_copies!($open, $drive);
        $crate::checkpointer_events!($open, $drive);
        $crate::checkpointer_forgetting!($open, $drive);
        $crate::checkpointer_growth!($open, $drive);
        $crate::checkpointer_history!($open, $drive);
        $crate::checkpointer_leases!($open, $drive);
        $crate::checkpointer_lineage!($open, $drive);
        $crate::checkpointer_parallel!($open, $drive);
        $crate::checkpointer_pending!($open, $drive);
        $crate::checkpointer_records!($open, $drive);
        $crate::checkpointer_retention!($open, $drive);
        $crate::checkpointer_runs!($open, $drive);
        $crate::checkpointer_threads!($open, $drive);
        $crate::checkpointer_upkeep!($open, $drive);
        $crate::checkpointer_values!($open, $drive);
    };
}
