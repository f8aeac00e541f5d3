//! Graphs as files: read, checked, built, replaced while they run, written as Rust.

mod broken;
mod kinds;
mod limits;
mod live;
mod rust;
mod samples;
