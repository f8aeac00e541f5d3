//! The engine through its public door: every test here does what a user would do.

mod crash;
mod smoke;
