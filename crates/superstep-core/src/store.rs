//! What a long-term store keeps and how it is asked: values beside checkpoints, shared by all threads.
//!
//! Everything that decides what an operation means is here, once for all stores: which names are allowed, when a filter
//! holds, which words a text has, how what was found is ordered. A store only keeps items and narrows down which of them
//! are looked at. Pure: the time comes in as a number, vectors come from the port `Embedder`.

mod compare;
mod filter;
mod find;
mod index;
mod item;
mod lexical;
mod namespace;
mod operation;
mod options;
mod text;
mod vector;

pub use filter::{Filter, Keys};
pub use find::{Finder, Query};
pub use index::Index;
pub use item::{Hit, Item, MatchedBy, is_gone};
pub use lexical::LexicalEmbedder;
pub use namespace::{LONGEST_NAMESPACE, Namespace};
pub use operation::{Answer, By, Delete, Get, LONGEST_KEY, Lasts, ListNamespaces, Operation, Put, Search, select};
pub use options::Options;
pub use text::{mark, words};
pub use vector::{from_bytes, similarity, to_bytes};
