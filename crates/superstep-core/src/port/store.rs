//! Where values are kept that outlive threads.
//!
//! What an operation means is decided in `crate::store`, once for all; a store keeps items and does several operations as
//! one. The promises every implementation keeps are the tests of `testing::store`.

use std::sync::Arc;

use serde_json::Value;

use super::BoxFuture;
use crate::error::{Error, Result};
use crate::store::{Answer, Delete, Get, Hit, Item, ListNamespaces, Namespace, Operation, Put, Search};

/// The answer of the kind that an operation has.
macro_rules! one {
    ($store:expr, $operation:expr, $kind:pat => $answer:expr) => {{
        let operations = vec![Operation::from($operation)];
        async move {
            match $store.batch(operations).await?.pop() {
                Some($kind) => Ok($answer),
                _ => Err(Error::internal("a store answered in another kind than it was asked")),
            }
        }
    }};
}

/// The operations one by one, for a store and for a pointer to one.
macro_rules! one_by_one {
    ($($public:tt)?) => {
        /// Sets a value that can be searched for as a whole and lasts as long as the store says.
        $($public)? fn put(
            &self,
            namespace: impl Into<Namespace>,
            key: impl Into<String>,
            value: impl Into<Value>,
        ) -> impl Future<Output = Result<()>> + Send {
            one!(self, Put::new(namespace, key, value), Answer::Done => ())
        }

        /// Sets a value, with all that can be said about it.
        $($public)? fn put_with(&self, put: Put) -> impl Future<Output = Result<()>> + Send {
            one!(self, put, Answer::Done => ())
        }

        /// Reads an item.
        $($public)? fn get(
            &self,
            namespace: impl Into<Namespace>,
            key: impl Into<String>,
        ) -> impl Future<Output = Result<Option<Item>>> + Send {
            one!(self, Get::new(namespace, key), Answer::Item(item) => item)
        }

        /// Reads an item, and says whether that makes it last anew.
        $($public)? fn get_with(&self, get: Get) -> impl Future<Output = Result<Option<Item>>> + Send {
            one!(self, get, Answer::Item(item) => item)
        }

        /// Removes an item; true when there was one.
        $($public)? fn delete(
            &self,
            namespace: impl Into<Namespace>,
            key: impl Into<String>,
        ) -> impl Future<Output = Result<bool>> + Send {
            one!(self, Delete::new(namespace, key), Answer::Deleted(was_there) => was_there)
        }

        /// Finds items.
        $($public)? fn search(&self, search: Search) -> impl Future<Output = Result<Vec<Hit>>> + Send {
            one!(self, search, Answer::Hits(hits) => hits)
        }

        /// Lists namespaces that have items.
        $($public)? fn list_namespaces(
            &self,
            list: ListNamespaces,
        ) -> impl Future<Output = Result<Vec<Namespace>>> + Send {
            one!(self, list, Answer::Namespaces(namespaces) => namespaces)
        }
    };
}

/// A place for values that outlive threads, by namespace and key. Write it with `async fn`; the engine boxes it once.
///
/// An implementation writes [`Store::batch`] and [`Store::sweep`]; the rest follows. It begins a batch with
/// [`prepare`](crate::port::prepare), which checks and asks the embedder.
pub trait Store: Send + Sync + 'static {
    /// Does several things in their order, as one: all of them or none. A later one sees what earlier ones did. Answers
    /// come in the order of operations.
    ///
    /// What was put is durable when the answer comes. After an error that is retryable nobody knows whether it was done.
    fn batch(&self, operations: Vec<Operation>) -> impl Future<Output = Result<Vec<Answer>>> + Send;

    /// Removes what is gone, and says how many items that were. Nothing depends on it but room: what has expired is absent
    /// for every operation, and some of it goes with every put.
    fn sweep(&self) -> impl Future<Output = Result<u64>> + Send;

    one_by_one!();
}

/// A store behind one pointer: what nodes have.
#[derive(Clone)]
pub struct SharedStore(Arc<dyn Erased>);

trait Erased: Send + Sync {
    fn batch(&self, operations: Vec<Operation>) -> BoxFuture<'_, Result<Vec<Answer>>>;
    fn sweep(&self) -> BoxFuture<'_, Result<u64>>;
}

impl<S: Store> Erased for S {
    fn batch(&self, operations: Vec<Operation>) -> BoxFuture<'_, Result<Vec<Answer>>> {
        Box::pin(Store::batch(self, operations))
    }

    fn sweep(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(Store::sweep(self))
    }
}

impl<S: Store> From<S> for SharedStore {
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

impl SharedStore {
    /// Puts a store behind a pointer.
    pub fn new(store: impl Store) -> Self {
        Self(Arc::new(store))
    }

    /// See [`Store::batch`].
    pub fn batch(&self, operations: Vec<Operation>) -> BoxFuture<'_, Result<Vec<Answer>>> {
        self.0.batch(operations)
    }

    /// See [`Store::sweep`].
    pub fn sweep(&self) -> BoxFuture<'_, Result<u64>> {
        self.0.sweep()
    }

    one_by_one!(pub);
}
