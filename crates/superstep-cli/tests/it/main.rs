//! Integration tests of the command line: the real binary, in temporary folders.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod assistant;
#[cfg(unix)]
mod cancellation;
mod completions;
mod debate_http;
mod demo;
mod doctor;
mod errors;
mod help;
#[cfg(unix)]
mod interrupts;
mod reference_page;
mod runs;
mod scheduler;
mod serve;
mod server_kill;
mod server_process;
mod suggestions;
mod support;
#[cfg(unix)]
mod terminal;
mod threads;
