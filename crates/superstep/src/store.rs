//! The long-term store: values beside checkpoints, shared by all threads.
//!
//! Only the door and the in-memory store are here; other stores are adapters.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use superstep_core::error::Result;
use superstep_core::port::BoxFuture;

use crate::context::lock;

/// A place for values that outlive threads, by namespace and key.
pub trait Store: Send + Sync + 'static {
    /// The value of a key.
    fn get<'a>(&'a self, namespace: &'a [String], key: &'a str) -> BoxFuture<'a, Result<Option<Value>>>;
    /// Sets the value of a key.
    fn put<'a>(&'a self, namespace: &'a [String], key: &'a str, value: Value) -> BoxFuture<'a, Result<()>>;
    /// Removes a key; true when it was there.
    fn delete<'a>(&'a self, namespace: &'a [String], key: &'a str) -> BoxFuture<'a, Result<bool>>;
    /// The keys and values of a namespace, by key.
    fn list<'a>(&'a self, namespace: &'a [String]) -> BoxFuture<'a, Result<Vec<(String, Value)>>>;
}

/// A store behind one pointer: what a node takes as an argument.
#[derive(Clone)]
pub struct SharedStore(Arc<dyn Store>);

impl SharedStore {
    /// Puts a store behind a pointer.
    pub fn new(store: impl Store) -> Self {
        Self(Arc::new(store))
    }
}

impl std::ops::Deref for SharedStore {
    type Target = dyn Store;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl<S: Store> From<S> for SharedStore {
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

/// A store for the length of a process.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Items>>);

/// Values by namespace and key.
type Items = BTreeMap<(Vec<String>, String), Value>;

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn get<'a>(&'a self, namespace: &'a [String], key: &'a str) -> BoxFuture<'a, Result<Option<Value>>> {
        let found = lock(&self.0).get(&(namespace.to_vec(), key.to_owned())).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn put<'a>(&'a self, namespace: &'a [String], key: &'a str, value: Value) -> BoxFuture<'a, Result<()>> {
        lock(&self.0).insert((namespace.to_vec(), key.to_owned()), value);
        Box::pin(std::future::ready(Ok(())))
    }

    fn delete<'a>(&'a self, namespace: &'a [String], key: &'a str) -> BoxFuture<'a, Result<bool>> {
        let was_there = lock(&self.0).remove(&(namespace.to_vec(), key.to_owned())).is_some();
        Box::pin(std::future::ready(Ok(was_there)))
    }

    fn list<'a>(&'a self, namespace: &'a [String]) -> BoxFuture<'a, Result<Vec<(String, Value)>>> {
        let values = lock(&self.0);
        let mine = values.iter().filter(|((space, _), _)| space == namespace);
        let found = mine.map(|((_, key), value)| (key.clone(), value.clone())).collect();
        Box::pin(std::future::ready(Ok(found)))
    }
}
