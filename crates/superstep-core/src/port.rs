//! Ports: the traits that adapters implement.
//!
//! The engine performs I/O only through them. Each has one conformance suite in `testing` that every implementation
//! must pass.

mod checkpointer;
mod clock;
mod delegate;
mod embedder;
pub mod errors;
mod events;
mod export_thread;
mod import_thread;
mod key_value;
mod model;
mod retention;
mod store;
mod tool;

pub use checkpointer::{
    CheckpointSelector, CheckpointTuple, Checkpointer, CheckpointerStats, Commit, FieldLog, HistoryQuery, Lease,
    PruneReport, SharedCheckpointer, StateRef, ThreadStatus, ThreadsQuery, WeakCheckpointer,
};
pub use clock::Clock;
pub use embedder::{Embedder, PreparedOperation, SharedEmbedder, prepare};
pub use events::{EventsQuery, StoredEvent, count_duplicates, sort_events};
pub use export_thread::export_thread;
pub use import_thread::import_thread;
pub use key_value::{KeyValue, MAX_KEY_BYTES, PutOptions, is_valid_key};
pub use model::{ChunkListener, ChunkSender, Model, SharedModel};
pub use retention::{KeepRule, PruneCandidate, Retention};
pub use store::{SharedStore, Store};
pub use tool::{ProgressListener, SharedTool, Tool, ToolInvocation, ToolProgress};

/// A boxed future; the engine boxes each call of a port once.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
