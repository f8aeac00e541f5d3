//! The contract of every long-term store, as tests.
//!
//! One line in the tests of an implementation defines a test for each guarantee:
//! `mod conformance { superstep_core::store_conformance!(MemoryStore::with_options); }`. The argument opens an empty
//! store with options each time; a store that needs a runtime passes a function that drives a future, as for
//! `checkpointer_conformance!`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::port::{BoxFuture, Clock, SharedStore};
use crate::store::{SearchItem, SearchOp, StoreOptions};

pub mod batches;
pub mod differential;
pub mod filters;
pub mod items;
pub mod list_namespaces;
pub mod search;
pub mod text_search;
pub mod ttl;
pub mod vector_search;

/// Initial time of the clock of a check, in microseconds since 1970.
pub const START_TIME: i64 = 1_000_000_000_000_000;

/// A clock that only advances when a check advances it.
#[derive(Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl Default for ManualClock {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(START_TIME)))
    }
}

impl ManualClock {
    /// Advances the clock.
    pub fn advance(&self, seconds: u64) {
        self.0.fetch_add(i64::try_from(seconds * 1_000_000).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep(&self, _time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// A factory for the empty store of a check.
pub struct StoreFactory(Box<dyn FnOnce(StoreOptions) -> SharedStore + Send>);

impl StoreFactory {
    /// Opens a store, and returns it with its clock.
    pub fn open(self) -> (SharedStore, ManualClock) {
        self.with(|options| options)
    }

    /// Opens a store with options, and returns it with its clock.
    pub fn with(self, change: impl FnOnce(StoreOptions) -> StoreOptions) -> (SharedStore, ManualClock) {
        let clock = ManualClock::default();
        let options = change(StoreOptions::default().clock(Arc::new(clock.clone())));
        ((self.0)(options), clock)
    }
}

/// Runs one check on an empty store.
pub fn check<S, F>(
    open: impl FnOnce(StoreOptions) -> S + Send + 'static,
    drive: impl Fn(BoxFuture<'static, ()>),
    test: impl FnOnce(StoreFactory) -> F + Send + 'static,
) where
    S: Into<SharedStore>,
    F: Future<Output = ()> + Send + 'static,
{
    let factory = StoreFactory(Box::new(move |options| open(options).into()));
    drive(Box::pin(async move { test(factory).await }));
}

/// Returns the keys of results, in their order.
fn keys(hits: &[SearchItem]) -> Vec<&str> {
    hits.iter().map(|hit| hit.item.key.as_str()).collect()
}

/// Puts values under `00`, `01` and so on in the namespace `n`.
async fn put_all(store: &SharedStore, values: &[Value]) {
    for (index, value) in values.iter().enumerate() {
        store.put("n", key_at(index), value.clone()).await.expect("put");
    }
}

/// Returns the key of the value at an index.
fn key_at(index: usize) -> String {
    format!("{:02}", index)
}

/// Returns the indices of the values that a search finds, ascending.
async fn search_indices(store: &SharedStore, search: SearchOp) -> Vec<usize> {
    let hits = store.search(search.limit(1_000)).await.expect("search");
    let mut indices: Vec<usize> = keys(&hits).into_iter().map(|key| key.parse().expect("an index")).collect();
    indices.sort_unstable();
    indices
}

/// Expands to one test for each guarantee of a long-term store, in modules; invoke it in a module of its own.
///
/// The first argument opens an empty store with [`StoreOptions`](crate::store::StoreOptions). The second drives a
/// future to completion and is only needed by stores that require a runtime.
#[macro_export]
macro_rules! store_conformance {
    ($open:expr) => {
        $crate::store_conformance!($open, $crate::testing::block_on);
    };
    ($open:expr, $drive:expr) => {
        $crate::store_batches!($open, $drive);
        $crate::store_filters!($open, $drive);
        $crate::store_items!($open, $drive);
        $crate::store_ttl!($open, $drive);
        $crate::store_list_namespaces!($open, $drive);
        $crate::store_searches!($open, $drive);
        $crate::store_text_search!($open, $drive);
        $crate::store_vector_search!($open, $drive);
    };
}

/// Expands to a module with one test for each named check.
#[doc(hidden)]
#[macro_export]
macro_rules! store_tests {
    ($open:expr, $drive:expr, $module:ident: $($name:ident),* $(,)?) => {
        mod $module {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;

            $(
                /// R-FWK-87: documented at the check function of the same name.
                #[test]
                fn $name() {
                    $crate::testing::store::check($open, $drive, $crate::testing::store::$module::$name);
                }
            )*
        }
    };
}
