//! Adapters for databases, model providers and other services: one feature and one folder for each of them.
//!
//! Depends on `superstep-core` and no other crate of the workspace. All features are off by default.

#[cfg(any(feature = "key-value", feature = "postgres", feature = "sqlite"))]
#[cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, unused_imports, reason = "only table-based checkpointers use the checksums of rows")
)]
mod change_log;
#[cfg(any(
    feature = "key-value",
    feature = "postgres",
    feature = "encrypted",
    feature = "offloaded",
    feature = "sqlite"
))]
mod compression;
#[cfg(feature = "encrypted")]
pub mod encrypted;
#[cfg(any(feature = "key-value", feature = "sqlite"))]
mod filesystem;
#[cfg(feature = "firestore")]
pub mod firestore;
#[cfg(any(feature = "firestore", feature = "mcp", feature = "models", feature = "otlp", feature = "s3"))]
mod http;
#[cfg(feature = "key-value")]
pub mod key_value;
#[cfg(feature = "langgraph-import")]
pub mod langgraph;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "models")]
pub mod models;
#[cfg(feature = "offloaded")]
pub mod offloaded;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod store_rows;
#[cfg(any(feature = "encrypted", feature = "offloaded"))]
mod value_visitor;
#[cfg(feature = "sqlite")]
mod wal;
