//! The engine through its public door: every test here does what a user would do.

mod compile_errors;
mod cost;
mod crash;
mod smoke;
mod state;
