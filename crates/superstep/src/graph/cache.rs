//! Cache of node results by key, so that an equal call does not run again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep_core::canonical::sort_keys;
use superstep_core::command::TaskOutput;
use superstep_core::field::AnyState;
use superstep_core::schema::Schema;
use superstep_core::value::AnyValue;

use crate::engine::context::lock;

/// Function that computes the key of a call from the input of the node.
pub(crate) type CacheKeyFn = Arc<dyn Fn(&Schema, &AnyState, Option<&AnyValue>) -> Option<String> + Send + Sync>;

/// Policy of a node cache: the key of a call, and the lifetime of a result.
#[derive(Clone)]
pub struct CachePolicy {
    pub(crate) key: CacheKeyFn,
    pub(crate) ttl: Option<Duration>,
}

impl CachePolicy {
    /// Creates a policy that uses the state, or the payload of a `SendTo`, as key.
    #[must_use]
    pub fn by_input() -> Self {
        Self {
            key: Arc::new(|schema, state, payload| match payload {
                Some(payload) => payload.to_json().ok().map(|value| sort_keys(value).to_string()),
                None => schema.to_json(state).ok().map(|value| sort_keys(value).to_string()),
            }),
            ttl: None,
        }
    }

    /// Creates a policy with a function that computes the key from the state.
    #[must_use]
    pub fn with_key<S: 'static>(key: impl Fn(&S) -> String + Send + Sync + 'static) -> Self {
        Self { key: Arc::new(move |_, state, _| state.downcast_ref::<S>().map(&key)), ttl: None }
    }

    /// Sets the lifetime of a result. Default: no limit.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }
}

/// In-memory cache of node results by graph, node and key. Shared by all threads of a process.
#[derive(Clone, Default)]
pub struct Cache(Arc<Mutex<BTreeMap<CacheKey, CacheEntry>>>);

/// Graph, node and key of a call.
pub(crate) type CacheKey = (Arc<str>, Arc<str>, String);

struct CacheEntry {
    output: TaskOutput,
    expires_at: Option<i64>,
}

impl Cache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes the results of a node, or of all nodes.
    pub fn clear(&self, node: Option<&str>) {
        lock(&self.0).retain(|(_, cached_node, _), _| node.is_some_and(|node| node != &**cached_node));
    }

    pub(crate) fn get(&self, key: &CacheKey, now: i64) -> Option<TaskOutput> {
        let entries = lock(&self.0);
        let entry = entries.get(key).filter(|entry| entry.expires_at.is_none_or(|expires_at| now < expires_at))?;
        Some(entry.output.clone())
    }

    pub(crate) fn put(&self, key: CacheKey, output: TaskOutput, ttl: Option<Duration>, now: i64) {
        let expires_at = ttl.map(|ttl| now.saturating_add(i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX)));
        let mut entries = lock(&self.0);
        // Expired entries are removed on some insertions, so that the cache does not grow over time.
        if entries.len() % 256 == 255 {
            entries.retain(|_, entry| entry.expires_at.is_none_or(|expires_at| now < expires_at));
        }
        entries.insert(key, CacheEntry { output, expires_at });
    }
}
