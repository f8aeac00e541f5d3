//! The event journal in checkpointers with their own format for it: corruption, offloaded events, remaining data
//! after deletion.

use serde_json::Value;
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::error::Result;
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::{Checkpointer, Commit, EventsQuery, Lease, StoredEvent};
use superstep::core::value::AnyValue;

#[cfg(feature = "encrypted")]
mod encrypted;
#[cfg(feature = "key-value")]
mod long_values;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

fn event(number: u64, body: Value) -> StoredEvent {
    StoredEvent { number, run: RunId::from_bits(1), payload: AnyValue::json(body) }
}

async fn acquire(store: &impl Checkpointer, thread: &str) -> Lease {
    store.acquire(&thread.into(), RunId::from_bits(1)).await.unwrap()
}

async fn commit_events(store: &impl Checkpointer, lease: &Lease, events: Vec<StoredEvent>) -> Result<()> {
    store.commit(&Commit { events, ..Commit::empty(lease.clone(), CheckpointNamespace::root()) }).await
}

async fn read_events(store: &impl Checkpointer, thread: &str) -> Result<Vec<StoredEvent>> {
    store.events(&ThreadId::from(thread), &EventsQuery::default()).await
}
