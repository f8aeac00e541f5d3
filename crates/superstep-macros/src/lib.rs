//! Derives for superstep. Expands to paths of the `superstep` crate; holds no logic of its own.
