//! The doors, each through its public side.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[cfg(any(feature = "key-value", feature = "postgres", feature = "sealed", feature = "sqlite"))]
mod events;
#[cfg(feature = "firestore")]
mod firestore;
#[cfg(feature = "key-value")]
mod key_value;
#[cfg(all(feature = "langgraph-import", feature = "postgres", feature = "sqlite"))]
mod langgraph;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "models")]
mod models;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod recorded;
#[cfg(feature = "s3")]
mod s3;
#[cfg(feature = "sealed")]
mod sealed;
#[cfg(any(feature = "firestore", feature = "s3"))]
mod server;
#[cfg(all(feature = "sealed", feature = "spilled"))]
mod spilled;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(all(feature = "sealed", feature = "sqlite"))]
mod transfer;
