//! Building and compiling graphs: nodes, edges, policies, functions as nodes.

pub(crate) mod builder;
pub(crate) mod cache;
pub(crate) mod compiled;
pub(crate) mod extract;
pub(crate) mod functional;
pub(crate) mod handler;
pub(crate) mod node;
pub(crate) mod output;
pub(crate) mod program;
pub(crate) mod retry;
pub(crate) mod routing;
