//! Runs of the server: requests, records, the worker that executes them, and recovery after a crash.

pub(crate) mod cancel;
pub(crate) mod handle;
pub(crate) mod record;
pub(crate) mod recovery;
pub(crate) mod repository;
pub(crate) mod request;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod worker;
