//! The promises every long-term store keeps, as tests.
//!
//! One line in the tests of an implementation makes each of them a test of its own:
//! `mod conformance { superstep_core::store_conformance!(MemoryStore::with); }`. What is given opens an empty store with
//! options each time; a store that needs a runtime says how a future is driven, as for `checkpointer_conformance!`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::port::{BoxFuture, Clock, SharedStore};
use crate::store::{Hit, Options, Search};

pub mod batches;
pub mod filters;
pub mod items;
pub mod lifetimes;
pub mod listing;
pub mod mixed;
pub mod searches;
pub mod texts;
pub mod vectors;

/// When the clock of a check begins, in microseconds since 1970.
pub const BEGIN: i64 = 1_000_000_000_000_000;

/// A clock that stands still until a check moves it.
#[derive(Clone)]
pub struct Hand(Arc<AtomicI64>);

impl Default for Hand {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(BEGIN)))
    }
}

impl Hand {
    /// Moves the clock on.
    pub fn advance(&self, seconds: u64) {
        self.0.fetch_add(i64::try_from(seconds * 1_000_000).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep(&self, _time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// Opens the empty store of a check.
pub struct Opener(Box<dyn FnOnce(Options) -> SharedStore + Send>);

impl Opener {
    /// A store, and its clock.
    pub fn open(self) -> (SharedStore, Hand) {
        self.with(|options| options)
    }

    /// A store with options, and its clock.
    pub fn with(self, change: impl FnOnce(Options) -> Options) -> (SharedStore, Hand) {
        let clock = Hand::default();
        let options = change(Options::default().clock(Arc::new(clock.clone())));
        ((self.0)(options), clock)
    }
}

/// Runs one check on an empty store.
pub fn check<S, F>(
    open: impl FnOnce(Options) -> S + Send + 'static,
    drive: impl Fn(BoxFuture<'static, ()>),
    test: impl FnOnce(Opener) -> F + Send + 'static,
) where
    S: Into<SharedStore>,
    F: Future<Output = ()> + Send + 'static,
{
    let opener = Opener(Box::new(move |options| open(options).into()));
    drive(Box::pin(async move { test(opener).await }));
}

/// The keys of hits, in their order.
fn keys(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.item.key.as_str()).collect()
}

/// Puts values under `a`, `b` and so on in the namespace `n`, and says which of them a search there finds.
async fn put_all(store: &SharedStore, values: &[Value]) {
    for (place, value) in values.iter().enumerate() {
        store.put("n", name(place), value.clone()).await.expect("put");
    }
}

/// The name of the value at a place.
fn name(place: usize) -> String {
    format!("{:02}", place)
}

/// What a search finds, by place in ascending order.
async fn found(store: &SharedStore, search: Search) -> Vec<usize> {
    let hits = store.search(search.limit(1_000)).await.expect("search");
    let mut places: Vec<usize> = keys(&hits).into_iter().map(|key| key.parse().expect("a place")).collect();
    places.sort_unstable();
    places
}

/// Expands to one test for each promise of a long-term store, in modules; put it in a module of its own.
///
/// The first argument opens an empty store with [`Options`](crate::store::Options). The second drives a future to its end
/// and is only needed by stores that live on a runtime.
#[macro_export]
macro_rules! store_conformance {
    ($open:expr) => {
        $crate::store_conformance!($open, $crate::testing::block_on);
    };
    ($open:expr, $drive:expr) => {
        $crate::store_batches!($open, $drive);
        $crate::store_filters!($open, $drive);
        $crate::store_items!($open, $drive);
        $crate::store_lifetimes!($open, $drive);
        $crate::store_listing!($open, $drive);
        $crate::store_searches!($open, $drive);
        $crate::store_texts!($open, $drive);
        $crate::store_vectors!($open, $drive);
    };
}

/// Expands to a module with one test for each named check.
#[doc(hidden)]
#[macro_export]
macro_rules! store_tests {
    ($open:expr, $drive:expr, $room:ident: $($name:ident),* $(,)?) => {
        mod $room {
            #[allow(unused_imports, reason = "what opens a store may stand anywhere")]
            use super::*;

            $(
                /// R-FWK-87: the promise that the name says.
                #[test]
                fn $name() {
                    $crate::testing::store::check($open, $drive, $crate::testing::store::$room::$name);
                }
            )*
        }
    };
}
