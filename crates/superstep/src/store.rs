//! Long-term store: items outside of checkpoints, shared by all threads.
//!
//! Contains the operations and the in-memory store; other stores are adapters. Operations of the in-memory store
//! never wait once an embedder has responded: no lock is held across an await point. The in-memory store is also the
//! reference for tests of other stores.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use superstep_core::error::Result;
use superstep_core::port::{Clock, PreparedOperation, prepare};

pub use superstep_core::port::{Embedder, SharedEmbedder, SharedStore, Store};
pub use superstep_core::store::{
    DeleteOp, Filter, GetOp, IndexFields, Item, LexicalEmbedder, ListNamespacesOp, MatchSource, OpResult, PutOp,
    SearchItem, SearchMode, SearchOp, StoreNamespace, StoreOp, StoreOptions, Ttl, ValuePath,
};
use superstep_core::store::{SearchCollector, SearchQuery, is_expired, select, similarity};

use crate::engine::context::lock;
use crate::engine::environment::SystemClock;

/// An in-memory store for the lifetime of a process. Clones share the same items.
///
/// ```
/// use superstep::store::{MemoryStore, SearchOp, Store};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// store.put(["users", "mia"], "food", "likes green curry").await?;
/// store.put(["users", "mia"], "pets", "has two cats").await?;
/// let items = store.search(SearchOp::new(["users", "mia"]).query("curry")).await?;
/// assert_eq!((items.len(), items[0].item.key.as_str()), (1, "food"));
/// # Ok::<(), superstep::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct MemoryStore(Arc<StoreInner>);

struct StoreInner {
    options: StoreOptions,
    clock: Arc<dyn Clock>,
    state: Mutex<StoreState>,
}

struct StoreState {
    items: ItemMap,
    /// Earliest expiry of an item, in microseconds since 1970.
    next_expiry: i64,
}

/// Items by namespace and key.
type ItemMap = BTreeMap<StoreNamespace, BTreeMap<String, StoredItem>>;

struct StoredItem {
    item: Arc<Item>,
    /// Time to live in microseconds.
    ttl: Option<i64>,
    index: IndexFields,
    vectors: Vec<Vec<f32>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::with_options(StoreOptions::default())
    }
}

impl MemoryStore {
    /// Creates an empty store that searches by text, with items that do not expire by default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty store with an embedder, a clock or a default time to live.
    #[must_use]
    pub fn with_options(options: StoreOptions) -> Self {
        let clock = options.clock.clone().unwrap_or_else(|| Arc::new(SystemClock));
        Self(Arc::new(StoreInner {
            options,
            clock,
            state: Mutex::new(StoreState { items: ItemMap::new(), next_expiry: i64::MAX }),
        }))
    }
}

impl Store for MemoryStore {
    async fn batch(&self, operations: Vec<StoreOp>) -> Result<Vec<OpResult>> {
        let prepared = prepare(&self.0.options, operations).await?;
        let mut state = lock(&self.0.state);
        let mut executor = BatchExecutor { state: &mut state, options: &self.0.options, now: self.0.clock.now() };
        executor.sweep_expired();
        Ok(prepared.into_iter().map(|prepared| executor.execute(prepared)).collect())
    }

    async fn sweep_ttl(&self) -> Result<u64> {
        let mut state = lock(&self.0.state);
        Ok(BatchExecutor { state: &mut state, options: &self.0.options, now: self.0.clock.now() }.sweep_expired())
    }
}

/// Execution of one batch.
struct BatchExecutor<'a> {
    state: &'a mut StoreState,
    options: &'a StoreOptions,
    now: i64,
}

impl BatchExecutor<'_> {
    fn execute(&mut self, PreparedOperation { operation, vectors, query }: PreparedOperation) -> OpResult {
        match operation {
            StoreOp::Put(put) => {
                self.put(put, vectors);
                OpResult::Done
            }
            StoreOp::Get(get) => {
                let refreshes = self.options.should_refresh(get.refresh_ttl);
                OpResult::Item(self.get(&get.namespace, &get.key, refreshes))
            }
            StoreOp::Delete(delete) => OpResult::Deleted(self.delete(&delete)),
            StoreOp::Search(search) => OpResult::Hits(self.search(&search, &query)),
            StoreOp::Namespaces(list) => {
                let namespaces =
                    self.state.items.iter().filter(|(_, items)| items.values().any(|entry| self.is_live(entry)));
                OpResult::Namespaces(select(namespaces.map(|(namespace, _)| namespace.clone()), &list))
            }
        }
    }

    fn is_live(&self, entry: &StoredItem) -> bool {
        !is_expired(entry.item.expires_at, self.now)
    }

    fn put(&mut self, put: PutOp, vectors: Vec<Vec<f32>>) {
        let (now, life) = (self.now, self.options.ttl_micros(&put));
        let before = self.state.items.get(&put.namespace).and_then(|items| items.get(&put.key));
        let created_at = before.filter(|entry| self.is_live(entry)).map_or(now, |entry| entry.item.created_at);
        let PutOp { namespace, key, value, index, .. } = put;
        let expires_at = life.map(|life| now.saturating_add(life));
        let item =
            Item { namespace: namespace.clone(), key: key.clone(), value, created_at, updated_at: now, expires_at };
        let entry = StoredItem { item: Arc::new(item), ttl: life, index, vectors };
        self.state.next_expiry = self.state.next_expiry.min(expires_at.unwrap_or(i64::MAX));
        self.state.items.entry(namespace).or_default().insert(key, entry);
    }

    fn get(&mut self, namespace: &StoreNamespace, key: &str, refreshes: bool) -> Option<Item> {
        let entry = self.state.items.get_mut(namespace)?.get_mut(key)?;
        if is_expired(entry.item.expires_at, self.now) {
            return None;
        }
        if let (true, Some(life)) = (refreshes, entry.ttl) {
            Arc::make_mut(&mut entry.item).expires_at = Some(self.now.saturating_add(life));
        }
        Some((*entry.item).clone())
    }

    fn delete(&mut self, delete: &DeleteOp) -> bool {
        let Some(items) = self.state.items.get_mut(&delete.namespace) else { return false };
        let removed = items.remove(&delete.key);
        if items.is_empty() {
            self.state.items.remove(&delete.namespace);
        }
        removed.is_some_and(|entry| self.is_live(&entry))
    }

    fn search(&mut self, search: &SearchOp, query: &SearchQuery) -> Vec<SearchItem> {
        let mut finder = SearchCollector::new(search, query);
        let spaces = self.state.items.range(search.prefix.clone()..);
        let spaces = spaces.take_while(|(namespace, _)| namespace.starts_with(&search.prefix));
        for entry in spaces.flat_map(|(_, items)| items.values()).filter(|entry| self.is_live(entry)) {
            match query {
                SearchQuery::Nothing => finder.add_item(entry.item.clone()),
                SearchQuery::Words(_) => finder.add_text_match(entry.item.clone(), &entry.index),
                SearchQuery::Vector(query_vector) => {
                    let cosines = entry.vectors.iter().map(|vector| similarity(query_vector, vector));
                    if let Some(best) = cosines.reduce(f64::max) {
                        finder.add_vector_match(entry.item.clone(), best);
                    }
                }
            }
        }
        let mut hits = finder.finish();
        if self.options.should_refresh(search.refresh_ttl) {
            for hit in hits.iter_mut().filter(|hit| hit.item.expires_at.is_some()) {
                if let Some(item) = self.get(&hit.item.namespace, &hit.item.key, true) {
                    hit.item.expires_at = item.expires_at;
                }
            }
        }
        hits
    }

    /// Removes expired items. Scans the items only if one of them may have expired.
    fn sweep_expired(&mut self) -> u64 {
        if self.now < self.state.next_expiry {
            return 0;
        }
        let (now, mut swept, mut next_expiry) = (self.now, 0, i64::MAX);
        self.state.items.retain(|_, items| {
            let before = items.len();
            items.retain(|_, entry| !is_expired(entry.item.expires_at, now));
            swept += before - items.len();
            next_expiry = items.values().filter_map(|entry| entry.item.expires_at).fold(next_expiry, i64::min);
            !items.is_empty()
        });
        self.state.next_expiry = next_expiry;
        swept as u64
    }
}

#[cfg(test)]
mod tests {
    mod conformance {
        superstep_core::store_conformance!(crate::store::MemoryStore::with_options);
    }
}
