//! Access control: host and origin checks, rate limits, owners of threads.

pub(crate) mod rate_limit;
pub(crate) mod security;
pub(crate) mod thread_owner;
