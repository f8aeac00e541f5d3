//! Graph files: parsed, validated, built, reloaded at run time, generated as Rust.

mod codegen;
mod invalid;
mod limits;
mod node_kinds;
mod reload;
mod samples;
