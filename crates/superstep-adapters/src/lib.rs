//! Doors to the outside: one feature and one folder for each store or provider.
//!
//! Uses `superstep-core` and nothing else of ours. No feature is on unless asked for.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod log;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sealed")]
pub mod sealed;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "sealed")]
mod squeeze;
#[cfg(feature = "sealed")]
mod walk;
