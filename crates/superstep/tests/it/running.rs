//! Running graphs: start, limits, and error handling of runs.

mod branches;
mod caching;
mod cancelling;
mod error_handlers;
mod limits;
mod multitask;
mod panics;
mod parallel;
mod retries;
mod start;
mod supersteps;
mod timeouts;
