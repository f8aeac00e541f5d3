//! The command line `superstep` as a library, so that other programs can extend it.
//!
//! Arguments are in `args`; each command has a file of its own. Results go to stdout, everything else to stderr
//! (`output`); errors become a `CliError`, which determines the printed text and the exit code. Only commands that run
//! something start a runtime, and only commands that need settings or storage read them. Optional parts of a build are
//! in [`Extensions`].

mod apps;
mod args;
mod cli_config;
mod completions;
mod config;
mod demo;
mod dispatch;
mod doctor;
mod error;
mod eval;
mod explain;
mod extensions;
mod graph;
mod graphs;
mod interrupt_prompt;
mod live_region;
mod log;
mod man;
mod mcp;
mod models;
mod output;
mod resume;
mod run;
mod run_driver;
mod runtime;
mod serve;
mod signals;
mod text;
mod threads;
mod usage;
mod version;

pub use dispatch::main;
pub use extensions::Extensions;
