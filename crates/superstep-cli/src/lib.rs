//! The command line: `superstep`, as a library, so that a program can be the same command line with more in it.
//!
//! What can be asked for is in `args`; each command has a file of its own. Results go to stdout, everything else to
//! stderr (`out`); what goes wrong becomes a `Failure`, which knows how it is shown and how the process ends. Only
//! commands that run something start a runtime, and only those that need settings or stores read them. What not every
//! build has is in [`Extras`].

mod apps;
mod args;
mod ask;
mod completions;
mod config;
mod demo;
mod doctor;
mod drive;
mod eval;
mod explain;
mod extras;
mod failure;
mod graph;
mod graphs;
mod interrupts;
mod local;
mod log;
mod man;
mod mcp;
mod models;
mod out;
mod program;
mod resume;
mod run;
mod screen;
mod serve;
mod setup;
mod threads;
mod usage;
mod version;
mod words;

pub use extras::Extras;
pub use program::main;
