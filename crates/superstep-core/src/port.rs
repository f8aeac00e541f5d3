//! The doors: traits the outside implements.
//!
//! The engine asks through them and never reaches past them. Each has one conformance suite in
//! `testing` that every implementation must pass.

mod checkpointer;
mod clock;
mod embedder;
mod events;
mod forward;
mod key_value;
mod model;
mod put_thread;
pub mod refusal;
mod retention;
mod store;
mod tool;
mod walk_thread;

pub use checkpointer::{
    At, Checkpointer, Commit, FieldLog, HistoryQuery, KnownCheckpointer, Lease, Loaded, PruneReport,
    SharedCheckpointer, StateRef, Stats, ThreadStatus, ThreadsQuery,
};
pub use clock::Clock;
pub use embedder::{Embedder, Prepared, SharedEmbedder, prepare};
pub use events::{EventsQuery, StoredEvent, events_in_order, events_known};
pub use key_value::{KeyValue, LONGEST_KEY, Put, is_key};
pub use model::{Listener, Model, Pieces, SharedModel};
pub use put_thread::put_thread;
pub use retention::{Candidate, Keep, Retention};
pub use store::{SharedStore, Store};
pub use tool::{Invocation, Progress, SharedTool, Tool, Watcher};
pub use walk_thread::walk_thread;

/// A future that is boxed once, at a door.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
