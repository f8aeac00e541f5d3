//! Configuration of one run: builder, control, multitask strategy, outcome.

pub(crate) mod builder;
pub(crate) mod control;
pub(crate) mod multitask;
pub(crate) mod streaming;
