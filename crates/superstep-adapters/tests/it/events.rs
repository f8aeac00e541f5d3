//! Events in the stores that keep them in a form of their own: what damage says, what is beside, what is left.

use serde_json::Value;
use superstep::core::checkpoint::Namespace;
use superstep::core::datum::Datum;
use superstep::core::error::Result;
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::{Checkpointer, Commit, EventsQuery, Lease, StoredEvent};

#[cfg(feature = "key-value")]
mod beside;
#[cfg(feature = "postgres")]
mod in_postgres;
#[cfg(feature = "sqlite")]
mod in_sqlite;
#[cfg(feature = "sealed")]
mod sealed;

fn event(number: u64, body: Value) -> StoredEvent {
    StoredEvent { number, run: RunId::from_bits(1), body: Datum::json(body) }
}

async fn take(store: &impl Checkpointer, thread: &str) -> Lease {
    store.acquire(&thread.into(), RunId::from_bits(1)).await.unwrap()
}

async fn say(store: &impl Checkpointer, lease: &Lease, events: Vec<StoredEvent>) -> Result<()> {
    store.commit(&Commit { events, ..Commit::empty(lease.clone(), Namespace::root()) }).await
}

async fn heard(store: &impl Checkpointer, thread: &str) -> Result<Vec<StoredEvent>> {
    store.events(&ThreadId::from(thread), &EventsQuery::default()).await
}
