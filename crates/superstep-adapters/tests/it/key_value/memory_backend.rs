//! A minimal key-value store in memory, as an application might implement it, with hooks for fault injection.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use superstep::core::error::{Error, ErrorCode, Result};
use superstep::core::port::{KeyValue, PutOptions, is_valid_key};
use superstep_adapters::key_value::KeyValueCheckpointer;

/// Outcome of a put.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PutOutcome {
    Done,
    /// The put is executed and its response is lost.
    ResponseLost,
    /// The put is not executed and its response is lost.
    Lost,
}

/// The values with their expiry.
type Values = BTreeMap<String, (Vec<u8>, Option<Instant>)>;
type PutHook = Box<dyn FnMut(&str) -> PutOutcome + Send>;

/// A key-value store. Clones share the values; each may have its own hook.
#[derive(Clone, Default)]
pub(super) struct MemoryKeyValue {
    values: Arc<Mutex<Values>>,
    put_hook: Arc<Mutex<Option<PutHook>>>,
    read: Arc<AtomicUsize>,
}

impl MemoryKeyValue {
    /// Returns the same values without the hook, as another process sees them.
    pub(super) fn other(&self) -> Self {
        Self { values: self.values.clone(), ..Self::default() }
    }

    /// Sets a hook that decides the outcome of every put through this store.
    pub(super) fn set_put_hook(&self, put_hook: impl FnMut(&str) -> PutOutcome + Send + 'static) {
        *self.put_hook.lock().unwrap() = Some(Box::new(put_hook));
    }

    /// Returns all keys.
    pub(super) fn keys(&self) -> Vec<String> {
        self.values.lock().unwrap().keys().cloned().collect()
    }

    /// Changes the values directly.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Values) -> T) -> T {
        change(&mut self.values.lock().unwrap())
    }

    /// Returns the number of value bytes read through this store.
    pub(super) fn read(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }

    fn live(&self, key: &str) -> Option<Vec<u8>> {
        let values = self.values.lock().unwrap();
        values
            .get(key)
            .filter(|(_, expires_at)| expires_at.is_none_or(|expires_at| expires_at > Instant::now()))
            .map(|(value, _)| value.clone())
    }
}

impl KeyValue for MemoryKeyValue {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let value = self.live(key);
        self.read.fetch_add(value.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        Ok(value)
    }

    async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        if !is_valid_key(key) {
            return Err(Error::new(ErrorCode::InputInvalid, format!("`{key}` is not a key")));
        }
        // The hook is removed while it runs, because it may use the store itself.
        let put_hook = self.put_hook.lock().unwrap().take();
        let outcome = match put_hook {
            Some(mut put_hook) => {
                let outcome = put_hook(key);
                self.put_hook.lock().unwrap().get_or_insert(put_hook);
                outcome
            }
            None => PutOutcome::Done,
        };
        let mut values = self.values.lock().unwrap();
        let exists = values
            .get(key)
            .is_some_and(|(_, expires_at)| expires_at.is_none_or(|expires_at| expires_at > Instant::now()));
        let is_put = !put.if_absent || !exists;
        if is_put && outcome != PutOutcome::Lost {
            values.insert(key.to_owned(), (value.to_vec(), put.ttl.map(|ttl| Instant::now() + ttl)));
        }
        if outcome == PutOutcome::Done {
            Ok(is_put)
        } else {
            Err(Error::new(ErrorCode::StoreUnavailable, "the line went dead"))
        }
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        keys.iter().for_each(|key| drop(self.values.lock().unwrap().remove(key)));
        Ok(())
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let keys = self.keys();
        let matching =
            keys.into_iter().filter(|key| key.starts_with(prefix) && after.is_none_or(|after| **key > *after));
        Ok(matching.filter(|key| self.live(key).is_some()).take(limit).collect())
    }
}

mod values {
    use super::*;

    superstep_core::key_value_conformance!(MemoryKeyValue::default);
}

mod checkpoints {
    use super::*;

    superstep_core::checkpointer_conformance!(|| KeyValueCheckpointer::open(MemoryKeyValue::default()).unwrap());
}

/// R-FWK-33, R-FWK-39: with one cached thread, so that all others have to be read again.
mod one_at_a_time {
    use super::*;

    superstep_core::checkpointer_conformance!(|| {
        KeyValueCheckpointer::options().cached_threads(1).open(MemoryKeyValue::default()).unwrap()
    });
}
