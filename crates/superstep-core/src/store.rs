//! The data and the operations of a long-term store: values outside of checkpoints, shared by all threads.
//!
//! Everything that defines the semantics of an operation is here, once for all stores: valid names, filters, the
//! words of a text, the order of results. A store only persists items and narrows down the candidates. Pure: the
//! time is a parameter, vectors come from the port `Embedder`.

mod compare;
mod filter;
mod index;
mod item;
mod lexical_embedder;
mod namespace;
mod operation;
mod options;
mod search;
mod vector;
mod words;

pub use filter::{Filter, ValuePath};
pub use index::IndexFields;
pub use item::{Item, MatchSource, SearchItem, is_expired};
pub use lexical_embedder::LexicalEmbedder;
pub use namespace::{MAX_NAMESPACE_LENGTH, StoreNamespace};
pub use operation::{
    DeleteOp, GetOp, ListNamespacesOp, MAX_KEY_BYTES, OpResult, PutOp, SearchMode, SearchOp, StoreOp, Ttl, select,
};
pub use options::StoreOptions;
pub use search::{SearchCollector, SearchQuery};
pub use vector::{from_bytes, similarity, to_bytes};
pub use words::{index_term, words};
