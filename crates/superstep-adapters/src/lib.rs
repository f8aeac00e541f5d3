//! Doors to the outside: one feature and one folder for each store or provider.
//!
//! Uses `superstep-core` and nothing else of ours. No feature is on unless asked for.

#[cfg(any(feature = "key-value", feature = "sqlite"))]
mod disk;
#[cfg(feature = "firestore")]
pub mod firestore;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod items;
#[cfg(feature = "key-value")]
pub mod key_value;
#[cfg(feature = "langgraph-import")]
pub mod langgraph;
#[cfg(any(feature = "key-value", feature = "postgres", feature = "sqlite"))]
#[cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, unused_imports, reason = "checksums of rows are for stores of tables")
)]
mod log;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "models")]
pub mod models;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "firestore", feature = "s3"))]
mod remote;
#[cfg(any(feature = "firestore", feature = "s3"))]
mod room;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(feature = "sealed")]
pub mod sealed;
#[cfg(feature = "spilled")]
pub mod spilled;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(any(feature = "key-value", feature = "postgres", feature = "sealed", feature = "spilled", feature = "sqlite"))]
mod squeeze;
#[cfg(any(feature = "sealed", feature = "spilled"))]
mod walk;
#[cfg(any(feature = "firestore", feature = "mcp", feature = "models", feature = "otlp", feature = "s3"))]
mod web;
#[cfg(feature = "sqlite")]
mod write_ahead;
