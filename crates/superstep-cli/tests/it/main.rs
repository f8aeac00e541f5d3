//! The command line as people and programs meet it: the real binary, in folders of its own.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod assistant;
mod debates;
mod demos;
mod doctor;
mod errors;
mod help;
mod killed;
mod names;
#[cfg(unix)]
mod people;
mod runs;
mod scheduler;
mod served;
mod serving;
#[cfg(unix)]
mod stops;
mod suggestions;
mod support;
#[cfg(unix)]
mod terminal;
mod threads;
