//! The port for values that outlive threads.
//!
//! `crate::store` defines the semantics of the operations; an implementation stores items and executes several
//! operations as one. The contract of every implementation is the test suite `testing::store`.

use std::sync::Arc;

use serde_json::Value;

use super::BoxFuture;
use crate::error::{Error, Result};
use crate::store::{
    DeleteOp, GetOp, Item, ListNamespacesOp, OpResult, PutOp, SearchItem, SearchOp, StoreNamespace, StoreOp,
};

/// Extracts the result of the kind that belongs to an operation.
macro_rules! single_result {
    ($store:expr, $operation:expr, $kind:pat => $result:expr) => {{
        let operations = vec![StoreOp::from($operation)];
        async move {
            match $store.batch(operations).await?.pop() {
                Some($kind) => Ok($result),
                _ => Err(Error::internal("the store returned a result of another operation")),
            }
        }
    }};
}

/// Defines the single operations, for a store and for a shared store.
macro_rules! single_operations {
    ($($public:tt)?) => {
        /// Puts a value with the default index and the default TTL of the store.
        $($public)? fn put(
            &self,
            namespace: impl Into<StoreNamespace>,
            key: impl Into<String>,
            value: impl Into<Value>,
        ) -> impl Future<Output = Result<()>> + Send {
            single_result!(self, PutOp::new(namespace, key, value), OpResult::Done => ())
        }

        /// Puts a value with options.
        $($public)? fn put_with(&self, put: PutOp) -> impl Future<Output = Result<()>> + Send {
            single_result!(self, put, OpResult::Done => ())
        }

        /// Reads an item.
        $($public)? fn get(
            &self,
            namespace: impl Into<StoreNamespace>,
            key: impl Into<String>,
        ) -> impl Future<Output = Result<Option<Item>>> + Send {
            single_result!(self, GetOp::new(namespace, key), OpResult::Item(item) => item)
        }

        /// Reads an item with options, such as the refresh of its TTL.
        $($public)? fn get_with(&self, get: GetOp) -> impl Future<Output = Result<Option<Item>>> + Send {
            single_result!(self, get, OpResult::Item(item) => item)
        }

        /// Deletes an item; returns true if it existed.
        $($public)? fn delete(
            &self,
            namespace: impl Into<StoreNamespace>,
            key: impl Into<String>,
        ) -> impl Future<Output = Result<bool>> + Send {
            single_result!(self, DeleteOp::new(namespace, key), OpResult::Deleted(existed) => existed)
        }

        /// Searches items.
        $($public)? fn search(&self, search: SearchOp) -> impl Future<Output = Result<Vec<SearchItem>>> + Send {
            single_result!(self, search, OpResult::Hits(hits) => hits)
        }

        /// Lists namespaces that have items.
        $($public)? fn list_namespaces(
            &self,
            list: ListNamespacesOp,
        ) -> impl Future<Output = Result<Vec<StoreNamespace>>> + Send {
            single_result!(self, list, OpResult::Namespaces(namespaces) => namespaces)
        }
    };
}

/// A store of values that outlive threads, by namespace and key. Implement it with `async fn`; the engine boxes
/// each call once.
///
/// An implementation provides [`Store::batch`] and [`Store::sweep_ttl`]; the other methods build on them. A batch
/// starts with [`prepare`](crate::port::prepare), which checks the operations and calls the embedder.
pub trait Store: Send + Sync + 'static {
    /// Executes several operations in their order, as one transaction: all of them or none. A later operation sees
    /// the effects of earlier ones. Results are in the order of operations.
    ///
    /// A put is durable when the call returns. After a retryable error the result of the batch is unknown.
    fn batch(&self, operations: Vec<StoreOp>) -> impl Future<Output = Result<Vec<OpResult>>> + Send;

    /// Removes expired items, and returns their number. Affects only disk space: an expired item is absent for
    /// every operation, and each put removes some of them.
    fn sweep_ttl(&self) -> impl Future<Output = Result<u64>> + Send;

    single_operations!();
}

/// A shared, type-erased store, as used by nodes.
#[derive(Clone)]
pub struct SharedStore(Arc<dyn DynStore>);

trait DynStore: Send + Sync {
    fn batch(&self, operations: Vec<StoreOp>) -> BoxFuture<'_, Result<Vec<OpResult>>>;
    fn sweep_ttl(&self) -> BoxFuture<'_, Result<u64>>;
}

impl<S: Store> DynStore for S {
    fn batch(&self, operations: Vec<StoreOp>) -> BoxFuture<'_, Result<Vec<OpResult>>> {
        Box::pin(Store::batch(self, operations))
    }

    fn sweep_ttl(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(Store::sweep_ttl(self))
    }
}

impl<S: Store> From<S> for SharedStore {
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

impl SharedStore {
    /// Wraps a store.
    pub fn new(store: impl Store) -> Self {
        Self(Arc::new(store))
    }

    /// Calls [`Store::batch`].
    pub fn batch(&self, operations: Vec<StoreOp>) -> BoxFuture<'_, Result<Vec<OpResult>>> {
        self.0.batch(operations)
    }

    /// Calls [`Store::sweep_ttl`].
    pub fn sweep_ttl(&self) -> BoxFuture<'_, Result<u64>> {
        self.0.sweep_ttl()
    }

    single_operations!(pub);
}
