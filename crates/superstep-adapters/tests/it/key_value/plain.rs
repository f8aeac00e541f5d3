//! The smallest store there can be, in memory: what somebody else might write, and a place where tests can meddle.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use superstep::core::error::{Code, Error, Result};
use superstep::core::port::{KeyValue, Put, is_key};
use superstep_adapters::key_value::KeyValueStore;

/// What becomes of something that is put.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Done,
    /// It is done, and the answer is lost.
    Unheard,
    /// It is not done, and nobody knows.
    Lost,
}

/// The values, and when they lapse.
type Values = BTreeMap<String, (Vec<u8>, Option<Instant>)>;
type Meddle = Box<dyn FnMut(&str) -> Fate + Send>;

/// Values under keys. Clones share them; each may have a meddler of its own.
#[derive(Clone, Default)]
pub(super) struct Plain {
    values: Arc<Mutex<Values>>,
    meddler: Arc<Mutex<Option<Meddle>>>,
    read: Arc<AtomicUsize>,
}

impl Plain {
    /// The same values, for another process as it were.
    pub(super) fn other(&self) -> Self {
        Self { values: self.values.clone(), ..Self::default() }
    }

    /// Is asked about whatever is put through this one, before it is.
    pub(super) fn meddle(&self, meddler: impl FnMut(&str) -> Fate + Send + 'static) {
        *self.meddler.lock().unwrap() = Some(Box::new(meddler));
    }

    /// All keys there are.
    pub(super) fn keys(&self) -> Vec<String> {
        self.values.lock().unwrap().keys().cloned().collect()
    }

    /// Changes the values past everything.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Values) -> T) -> T {
        change(&mut self.values.lock().unwrap())
    }

    /// How many bytes of values were read through this one.
    pub(super) fn read(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }

    fn live(&self, key: &str) -> Option<Vec<u8>> {
        let values = self.values.lock().unwrap();
        values
            .get(key)
            .filter(|(_, ends)| ends.is_none_or(|ends| ends > Instant::now()))
            .map(|(value, _)| value.clone())
    }
}

impl KeyValue for Plain {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let value = self.live(key);
        self.read.fetch_add(value.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        Ok(value)
    }

    async fn put(&self, key: &str, value: &[u8], put: Put) -> Result<bool> {
        if !is_key(key) {
            return Err(Error::new(Code::InputInvalid, format!("`{key}` is not a key")));
        }
        // Taken out while it is asked: it may use the store itself.
        let meddler = self.meddler.lock().unwrap().take();
        let fate = match meddler {
            Some(mut meddler) => {
                let fate = meddler(key);
                self.meddler.lock().unwrap().get_or_insert(meddler);
                fate
            }
            None => Fate::Done,
        };
        let mut values = self.values.lock().unwrap();
        let is_there = values.get(key).is_some_and(|(_, ends)| ends.is_none_or(|ends| ends > Instant::now()));
        let is_put = !put.only_new || !is_there;
        if is_put && fate != Fate::Lost {
            values.insert(key.to_owned(), (value.to_vec(), put.lasts.map(|lasts| Instant::now() + lasts)));
        }
        if fate == Fate::Done { Ok(is_put) } else { Err(Error::new(Code::StoreUnavailable, "the line went dead")) }
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        keys.iter().for_each(|key| drop(self.values.lock().unwrap().remove(key)));
        Ok(())
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let keys = self.keys();
        let asked = keys.into_iter().filter(|key| key.starts_with(prefix) && after.is_none_or(|after| **key > *after));
        Ok(asked.filter(|key| self.live(key).is_some()).take(limit).collect())
    }
}

mod values {
    use super::*;

    superstep_core::key_value_conformance!(Plain::default);
}

mod checkpoints {
    use super::*;

    superstep_core::checkpointer_conformance!(|| KeyValueStore::open(Plain::default()).unwrap());
}

/// R-FWK-33, R-FWK-39: with one thread in memory at a time, so that every other has to be read again.
mod one_at_a_time {
    use super::*;

    superstep_core::checkpointer_conformance!(|| {
        KeyValueStore::options().threads_in_memory(1).open(Plain::default()).unwrap()
    });
}
