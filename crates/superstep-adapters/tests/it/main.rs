//! Integration tests of the adapters through their public API.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[cfg(feature = "encrypted")]
mod encrypted;
#[cfg(any(feature = "key-value", feature = "postgres", feature = "encrypted", feature = "sqlite"))]
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
#[cfg(all(feature = "encrypted", feature = "offloaded"))]
mod offloaded;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "s3")]
mod s3;
#[cfg(any(feature = "firestore", feature = "s3"))]
mod server;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod stored_fixtures;
#[cfg(all(feature = "encrypted", feature = "sqlite"))]
mod transfer;
