//! Running graphs: how runs start, what bounds them, what happens when something goes wrong.

mod branches;
mod busy;
mod caching;
mod cancelling;
mod handlers;
mod limits;
mod panics;
mod parallel;
mod retries;
mod starting;
mod supersteps;
mod timeouts;
