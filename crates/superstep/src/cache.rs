//! Results of nodes by key, so that an equal call need not run again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep_core::canonical::sorted;
use superstep_core::command::Output;
use superstep_core::datum::Datum;
use superstep_core::field::AnyState;
use superstep_core::schema::Schema;

use crate::context::lock;

/// The key of a call, from what the node is given.
pub(crate) type KeyOfCall = Arc<dyn Fn(&Schema, &AnyState, Option<&Datum>) -> Option<String> + Send + Sync>;

/// Which calls of a node count as equal, and for how long.
#[derive(Clone)]
pub struct CachePolicy {
    pub(crate) key: KeyOfCall,
    pub(crate) ttl: Option<Duration>,
}

impl CachePolicy {
    /// Calls with the same state, or the same payload of a `Send`, are equal.
    #[must_use]
    pub fn by_input() -> Self {
        Self {
            key: Arc::new(|schema, state, payload| match payload {
                Some(payload) => payload.to_json().ok().map(|value| sorted(value).to_string()),
                None => schema.to_json(state).ok().map(|value| sorted(value).to_string()),
            }),
            ttl: None,
        }
    }

    /// Calls with the same key are equal.
    #[must_use]
    pub fn by<S: 'static>(key: impl Fn(&S) -> String + Send + Sync + 'static) -> Self {
        Self { key: Arc::new(move |_, state, _| state.downcast_ref::<S>().map(&key)), ttl: None }
    }

    /// How long a result counts.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }
}

/// Results by graph, node and key, for the length of a process. Shared by all threads.
#[derive(Clone, Default)]
pub struct Cache(Arc<Mutex<BTreeMap<CallKey, Kept>>>);

/// Graph, node and key of a call.
pub(crate) type CallKey = (Arc<str>, Arc<str>, String);

struct Kept {
    output: Output,
    until: Option<i64>,
}

impl Cache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the results of a node, or of all nodes.
    pub fn clear(&self, node: Option<&str>) {
        lock(&self.0).retain(|(_, kept, _), _| node.is_some_and(|node| node != &**kept));
    }

    pub(crate) fn get(&self, key: &CallKey, now: i64) -> Option<Output> {
        let kept = lock(&self.0);
        let found = kept.get(key).filter(|kept| kept.until.is_none_or(|until| now < until))?;
        Some(found.output.clone())
    }

    pub(crate) fn put(&self, key: CallKey, output: Output, ttl: Option<Duration>, now: i64) {
        let until = ttl.map(|ttl| now.saturating_add(i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX)));
        let mut kept = lock(&self.0);
        // What has run out goes when something new comes, so the cache does not grow with time.
        if kept.len() % 256 == 255 {
            kept.retain(|_, kept| kept.until.is_none_or(|until| now < until));
        }
        kept.insert(key, Kept { output, until });
    }
}
