//! The evidence folder: Markdown and text files for quotes and fact checks.

pub use superstep_documents::{Documents as Evidence, Passage};
