//! HTTP client shared by the adapters for remote services, with its TLS settings.

#[cfg(any(feature = "firestore", feature = "mcp", feature = "models", feature = "otlp", feature = "s3"))]
pub(crate) mod client;
#[cfg(any(feature = "firestore", feature = "s3"))]
pub(crate) mod io_thread;
#[cfg(any(feature = "firestore", feature = "s3"))]
pub(crate) mod request;
