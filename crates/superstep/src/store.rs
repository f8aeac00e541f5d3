//! The long-term store: values beside checkpoints, shared by all threads.
//!
//! What can be asked of one, and the store in memory; other stores are adapters. Every operation of the store in memory
//! is immediate once an embedder has answered: no lock is held across an await. It is also what other stores are
//! compared with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use superstep_core::error::Result;
use superstep_core::port::{Clock, Prepared, prepare};

pub use superstep_core::port::{Embedder, SharedEmbedder, SharedStore, Store};
pub use superstep_core::store::{
    Answer, By, Delete, Filter, Get, Hit, Index, Item, Keys, Lasts, LexicalEmbedder, ListNamespaces, MatchedBy,
    Namespace, Operation, Options, Put, Search,
};
use superstep_core::store::{Finder, Query, is_gone, select, similarity};

use crate::clock::SystemClock;
use crate::context::lock;

/// A store for the length of a process. Clones are one and the same store.
///
/// ```
/// use superstep::store::{MemoryStore, Search, Store};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// store.put(["users", "mia"], "food", "likes green curry").await?;
/// store.put(["users", "mia"], "pets", "has two cats").await?;
/// let found = store.search(Search::new(["users", "mia"]).query("curry")).await?;
/// assert_eq!((found.len(), found[0].item.key.as_str()), (1, "food"));
/// # Ok::<(), superstep::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    options: Options,
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

struct Kept {
    items: Items,
    /// Nothing expires before this.
    due: i64,
}

/// Items by namespace and key.
type Items = BTreeMap<Namespace, BTreeMap<String, Entry>>;

struct Entry {
    item: Arc<Item>,
    /// How long it lasts, in microseconds.
    life: Option<i64>,
    index: Index,
    vectors: Vec<Vec<f32>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::with(Options::default())
    }
}

impl MemoryStore {
    /// An empty store that searches by text, and where items last for ever unless told.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store, with an embedder, a clock or a time to live.
    #[must_use]
    pub fn with(options: Options) -> Self {
        let clock = options.clock.clone().unwrap_or_else(|| Arc::new(SystemClock));
        Self(Arc::new(Inner { options, clock, kept: Mutex::new(Kept { items: Items::new(), due: i64::MAX }) }))
    }
}

impl Store for MemoryStore {
    async fn batch(&self, operations: Vec<Operation>) -> Result<Vec<Answer>> {
        let prepared = prepare(&self.0.options, operations).await?;
        let mut kept = lock(&self.0.kept);
        let mut desk = Desk { kept: &mut kept, options: &self.0.options, now: self.0.clock.now() };
        desk.sweep();
        Ok(prepared.into_iter().map(|prepared| desk.perform(prepared)).collect())
    }

    async fn sweep(&self) -> Result<u64> {
        let mut kept = lock(&self.0.kept);
        Ok(Desk { kept: &mut kept, options: &self.0.options, now: self.0.clock.now() }.sweep())
    }
}

/// One batch at work.
struct Desk<'a> {
    kept: &'a mut Kept,
    options: &'a Options,
    now: i64,
}

impl Desk<'_> {
    fn perform(&mut self, Prepared { operation, vectors, query }: Prepared) -> Answer {
        match operation {
            Operation::Put(put) => {
                self.put(put, vectors);
                Answer::Done
            }
            Operation::Get(get) => {
                let refreshes = self.options.refreshes(get.refresh);
                Answer::Item(self.get(&get.namespace, &get.key, refreshes))
            }
            Operation::Delete(delete) => Answer::Deleted(self.delete(&delete)),
            Operation::Search(search) => Answer::Hits(self.search(&search, &query)),
            Operation::Namespaces(list) => {
                let namespaces =
                    self.kept.items.iter().filter(|(_, items)| items.values().any(|entry| self.is_here(entry)));
                Answer::Namespaces(select(namespaces.map(|(namespace, _)| namespace.clone()), &list))
            }
        }
    }

    fn is_here(&self, entry: &Entry) -> bool {
        !is_gone(entry.item.expires_at, self.now)
    }

    fn put(&mut self, put: Put, vectors: Vec<Vec<f32>>) {
        let (now, life) = (self.now, self.options.life(&put));
        let before = self.kept.items.get(&put.namespace).and_then(|items| items.get(&put.key));
        let created_at = before.filter(|entry| self.is_here(entry)).map_or(now, |entry| entry.item.created_at);
        let Put { namespace, key, value, index, .. } = put;
        let expires_at = life.map(|life| now.saturating_add(life));
        let item =
            Item { namespace: namespace.clone(), key: key.clone(), value, created_at, updated_at: now, expires_at };
        let entry = Entry { item: Arc::new(item), life, index, vectors };
        self.kept.due = self.kept.due.min(expires_at.unwrap_or(i64::MAX));
        self.kept.items.entry(namespace).or_default().insert(key, entry);
    }

    fn get(&mut self, namespace: &Namespace, key: &str, refreshes: bool) -> Option<Item> {
        let entry = self.kept.items.get_mut(namespace)?.get_mut(key)?;
        if is_gone(entry.item.expires_at, self.now) {
            return None;
        }
        if let (true, Some(life)) = (refreshes, entry.life) {
            Arc::make_mut(&mut entry.item).expires_at = Some(self.now.saturating_add(life));
        }
        Some((*entry.item).clone())
    }

    fn delete(&mut self, delete: &Delete) -> bool {
        let Some(items) = self.kept.items.get_mut(&delete.namespace) else { return false };
        let removed = items.remove(&delete.key);
        if items.is_empty() {
            self.kept.items.remove(&delete.namespace);
        }
        removed.is_some_and(|entry| self.is_here(&entry))
    }

    fn search(&mut self, search: &Search, query: &Query) -> Vec<Hit> {
        let mut finder = Finder::new(search, query);
        let spaces = self.kept.items.range(search.prefix.clone()..);
        let spaces = spaces.take_while(|(namespace, _)| namespace.starts_with(&search.prefix));
        for entry in spaces.flat_map(|(_, items)| items.values()).filter(|entry| self.is_here(entry)) {
            match query {
                Query::Nothing => finder.offer(entry.item.clone()),
                Query::Words(_) => finder.offer_text(entry.item.clone(), &entry.index),
                Query::Vector(wanted) => {
                    let cosines = entry.vectors.iter().map(|vector| similarity(wanted, vector));
                    if let Some(best) = cosines.reduce(f64::max) {
                        finder.offer_vector(entry.item.clone(), best);
                    }
                }
            }
        }
        let mut hits = finder.finish();
        if self.options.refreshes(search.refresh) {
            for hit in hits.iter_mut().filter(|hit| hit.item.expires_at.is_some()) {
                if let Some(item) = self.get(&hit.item.namespace, &hit.item.key, true) {
                    hit.item.expires_at = item.expires_at;
                }
            }
        }
        hits
    }

    /// Removes what has expired. Looks at the items only when one of them may have.
    fn sweep(&mut self) -> u64 {
        if self.now < self.kept.due {
            return 0;
        }
        let (now, mut swept, mut due) = (self.now, 0, i64::MAX);
        self.kept.items.retain(|_, items| {
            let before = items.len();
            items.retain(|_, entry| !is_gone(entry.item.expires_at, now));
            swept += before - items.len();
            due = items.values().filter_map(|entry| entry.item.expires_at).fold(due, i64::min);
            !items.is_empty()
        });
        self.kept.due = due;
        swept as u64
    }
}

#[cfg(test)]
mod tests {
    mod conformance {
        superstep_core::store_conformance!(crate::store::MemoryStore::with);
    }
}
