//! Values under keys: what each method of the port asks of the service, in which order and under which preconditions.
//!
//! Whoever puts writes a token of its own into the document, so that a put whose answer was lost is recognised. Whoever
//! replaces or removes a document does so only if it still is the one that was seen: a request that was given up and
//! arrives late changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::error::{Error, Result};
use superstep_core::port::Put;

use super::form::{Body, Document, Entry, Fence, HEAD, check_key, delete_if};
use super::parts::{self, PIECE};
use super::service::Service;
use super::trouble::{self, contended};
use crate::remote::{Pauses, token, unsure};

/// How many documents are asked for at once with their values: first, when it is not known how long they are, and then
/// as many as come to so many bytes if they are like the longest of those before.
const FIRST_VALUES: usize = 20;
const MOST_VALUES: usize = 100;
const FEWEST_VALUES: usize = 4;
const BYTES_AT_ONCE: usize = 4 * 1024 * 1024;
/// The most documents asked for, found or written at once without.
pub(super) const MOST: usize = 400;

/// The values of a collection.
#[derive(Clone)]
pub(super) struct Values(pub(super) Arc<Service>);

/// What came of a put.
enum Placed {
    /// It is there, instead of this.
    Done(Option<Document>),
    /// There is such a key already.
    Taken,
}

impl Values {
    pub(super) async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let (mut values, mut size) = (Vec::with_capacity(keys.len()), FIRST_VALUES);
        while values.len() < keys.len() {
            let left = &keys[values.len()..];
            let some = &left[..size.min(left.len())];
            let (found, now) = self.look(some, &[]).await?;
            let longest = found.values().map(Document::length).max().unwrap_or(0);
            size = (BYTES_AT_ONCE / longest.max(1)).clamp(FEWEST_VALUES, MOST_VALUES);
            for key in some {
                values.push(match found.get(key) {
                    Some(document) => self.value(key, document.clone(), now).await?,
                    None => None,
                });
            }
        }
        Ok(values)
    }

    /// The documents of some keys, and when they were looked at.
    pub(super) async fn look(&self, keys: &[String], mask: &[&str]) -> Result<(BTreeMap<String, Document>, i64)> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let names: Vec<String> = keys.iter().map(|key| self.0.place.document(key)).collect();
        let (items, now) = self.0.batch_get(&names, mask).await?;
        let found = items.into_iter().filter_map(|item| item.document);
        Ok((found.map(|document| (document.key().to_owned(), document)).collect(), now))
    }

    /// What a document says of one key, without its value.
    async fn look_at(&self, key: &str) -> Result<(Option<Document>, i64)> {
        let (mut found, now) = self.look(&[key.to_owned()], &HEAD).await?;
        Ok((found.remove(key), now))
    }

    async fn value(&self, key: &str, mut document: Document, mut now: i64) -> Result<Option<Vec<u8>>> {
        loop {
            if document.is_over(now) {
                return Ok(None);
            }
            if document.parts() == 0 {
                let value = document.value().ok_or_else(|| trouble::corrupt(key, "is no bytes"))?;
                return Ok(Some(value));
            }
            if let Some(value) = parts::read(&self.0, &document).await? {
                return Ok(Some(value));
            }
            // A value whose parts are gone was replaced or removed since it was looked at.
            let (found, later) = self.look(&[key.to_owned()], &[]).await?;
            match found.into_values().next() {
                Some(other) if other.is_same(&document) => return Err(trouble::corrupt(key, "lacks a part")),
                Some(other) => (document, now) = (other, later),
                None => return Ok(None),
            }
        }
    }

    pub(super) async fn put(&self, key: &str, value: &[u8], put: Put) -> Result<bool> {
        check_key(key)?;
        let writer = token()?;
        let pieces = if value.len() > PIECE { value.chunks(PIECE).len() } else { 0 };
        let body = if pieces == 0 { Body::Whole(value) } else { Body::Parts(pieces) };
        let mut entry = Entry { key, writer: &writer, expires: None, body };
        if pieces > 0 {
            parts::write(&self.0, &entry, value).await?;
        }
        if let Some(lasts) = put.lasts {
            let lasts = i64::try_from(lasts.as_micros()).unwrap_or(i64::MAX);
            entry.expires = Some(self.0.now().await?.saturating_add(lasts));
        }
        let placed = self.place(&entry, put.only_new).await;
        // What is not removed now, because the server is gone, is removed by a sweep.
        match &placed {
            Ok(Placed::Done(Some(replaced))) => {
                drop(parts::remove(&self.0, replaced.writer(), replaced.parts()).await);
            }
            Ok(Placed::Done(None)) => {}
            Ok(Placed::Taken) => drop(parts::remove(&self.0, &writer, pieces).await),
            Err(error) if !error.is_retryable() => drop(parts::remove(&self.0, &writer, pieces).await),
            Err(_) => {}
        }
        placed.map(|placed| matches!(placed, Placed::Done(_)))
    }

    /// Puts the document of a key.
    async fn place(&self, entry: &Entry<'_>, only_new: bool) -> Result<Placed> {
        // A new key is mostly new, so it is looked at only when it is not.
        let mut seen = if only_new { None } else { self.look_at(entry.key).await?.0 };
        let mut pauses = Pauses::new(self.0.patience);
        loop {
            let fence = seen.as_ref().map_or(Fence::Absent, Document::unchanged);
            let mut writes = vec![self.0.place.put(entry, &fence)?];
            if let Body::Parts(_) = entry.body {
                writes.push(self.0.place.pin(entry.writer));
            }
            if self.0.commit(writes).await? {
                return Ok(Placed::Done(seen));
            }
            let (found, now) = self.look_at(entry.key).await.map_err(unsure)?;
            match found {
                // An earlier try went through and its answer was lost.
                Some(found) if found.writer() == entry.writer => return Ok(Placed::Done(seen)),
                Some(found) if only_new && !found.is_over(now) => return Ok(Placed::Taken),
                other => seen = other,
            }
            if !pauses.wait(None).await {
                return Err(contended(entry.key, self.0.patience));
            }
        }
    }

    pub(super) async fn delete(&self, keys: &[String]) -> Result<()> {
        for keys in keys.chunks(MOST) {
            let (found, _) = self.look(keys, &HEAD).await?;
            self.remove(found).await?;
        }
        Ok(())
    }

    /// Removes documents that were seen. One that was changed since was replaced by somebody else, and is not the one.
    pub(super) async fn remove(&self, seen: BTreeMap<String, Document>) -> Result<()> {
        let mut left = seen.clone();
        while !left.is_empty() {
            let writes: Vec<Value> =
                left.values().map(|document| delete_if(&document.name, &document.unchanged())).collect();
            if self.0.commit(writes).await? {
                break;
            }
            let keys: Vec<String> = left.keys().cloned().collect();
            let (found, _) = self.look(&keys, &HEAD).await.map_err(unsure)?;
            let before = left.len();
            left.retain(|key, document| found.get(key).is_some_and(|other| other.is_same(document)));
            if left.len() == before {
                return Err(Error::internal("Firestore refused to remove documents that nobody changed"));
            }
        }
        for document in seen.values() {
            drop(parts::remove(&self.0, document.writer(), document.parts()).await);
        }
        Ok(())
    }

    pub(super) async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let mut keys: Vec<String> = Vec::new();
        let mut after = after.map(ToOwned::to_owned);
        while keys.len() < limit {
            let wanted = (limit - keys.len()).min(MOST);
            let (items, now) = self.0.query(&self.0.place.keys(prefix, after.as_deref(), wanted)).await?;
            let found: Vec<Document> = items.into_iter().filter_map(|item| item.document).collect();
            let is_last = found.len() < wanted;
            if let Some(last) = found.last() {
                after = Some(last.key().to_owned());
            }
            keys.extend(found.iter().filter(|found| !found.is_over(now)).map(|found| found.key().to_owned()));
            if is_last {
                break;
            }
        }
        Ok(keys)
    }
}
