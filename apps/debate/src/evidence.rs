//! The evidence folder: Markdown and text files that voices quote and claims are held against.

pub use superstep_documents::{Documents as Evidence, Passage};
