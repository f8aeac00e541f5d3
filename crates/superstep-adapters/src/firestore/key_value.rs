//! The operations of the key-value port as requests to Firestore, with their order and preconditions.
//!
//! Every put writes a unique token into the document, so that a put whose response was lost recognizes its own
//! document. A document is replaced or removed only if it is unchanged since it was read: an abandoned request
//! that arrives late changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::error::{Error, Result};
use superstep_core::port::PutOptions;

use super::chunked_values::{self, MAX_PART_BYTES};
use super::client::FirestoreClient;
use super::documents::{Document, DocumentBody, DocumentWrite, HEADER_FIELDS, Precondition, check_key, delete_if};
use super::error::{self, contention_error};
use crate::http::request::{Backoff, outcome_unknown, token};

/// Number of documents per request when values are included. The first request has a fixed size because the lengths
/// are unknown; later sizes are `BYTES_AT_ONCE` divided by the longest value of the request before.
const FIRST_BATCH: usize = 20;
const MAX_VALUE_BATCH: usize = 100;
const MIN_VALUE_BATCH: usize = 4;
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of documents per request or commit without values.
pub(super) const MAX_BATCH: usize = 400;

/// Operations on the documents of a collection.
#[derive(Clone)]
pub(super) struct KeyValueOps(pub(super) Arc<FirestoreClient>);

/// Result of writing a document.
enum PutOutcome {
    /// The document was written and replaced this one, if any.
    Done(Option<Document>),
    /// The key exists already.
    AlreadyExists,
}

impl KeyValueOps {
    pub(super) async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let (mut values, mut size) = (Vec::with_capacity(keys.len()), FIRST_BATCH);
        while values.len() < keys.len() {
            let remaining = &keys[values.len()..];
            let batch = &remaining[..size.min(remaining.len())];
            let (documents, now) = self.get_documents(batch, &[]).await?;
            let longest = documents.values().map(Document::length).max().unwrap_or(0);
            size = (BATCH_BYTES / longest.max(1)).clamp(MIN_VALUE_BATCH, MAX_VALUE_BATCH);
            for key in batch {
                values.push(match documents.get(key) {
                    Some(document) => self.value(key, document.clone(), now).await?,
                    None => None,
                });
            }
        }
        Ok(values)
    }

    /// Reads the documents of some keys, with the read time of the server.
    pub(super) async fn get_documents(
        &self,
        keys: &[String],
        mask: &[&str],
    ) -> Result<(BTreeMap<String, Document>, i64)> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let names: Vec<String> = keys.iter().map(|key| self.0.paths.document(key)).collect();
        let (items, now) = self.0.batch_get(&names, mask).await?;
        let documents = items.into_iter().filter_map(|item| item.document);
        Ok((documents.map(|document| (document.key().to_owned(), document)).collect(), now))
    }

    /// Reads the document of one key without its value.
    async fn get_header(&self, key: &str) -> Result<(Option<Document>, i64)> {
        let (mut documents, now) = self.get_documents(&[key.to_owned()], &HEADER_FIELDS).await?;
        Ok((documents.remove(key), now))
    }

    async fn value(&self, key: &str, mut document: Document, mut now: i64) -> Result<Option<Vec<u8>>> {
        loop {
            if document.is_expired(now) {
                return Ok(None);
            }
            if document.parts() == 0 {
                let value = document.value().ok_or_else(|| error::corrupt_value(key, "is not a byte string"))?;
                return Ok(Some(value));
            }
            if let Some(value) = chunked_values::read(&self.0, &document).await? {
                return Ok(Some(value));
            }
            // Parts are missing only if the value was replaced or removed after its document was read.
            let (documents, read_at) = self.get_documents(&[key.to_owned()], &[]).await?;
            match documents.into_values().next() {
                Some(other) if other.is_same(&document) => return Err(error::corrupt_value(key, "is incomplete")),
                Some(other) => (document, now) = (other, read_at),
                None => return Ok(None),
            }
        }
    }

    pub(super) async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        check_key(key)?;
        let writer = token()?;
        let chunks = if value.len() > MAX_PART_BYTES { value.chunks(MAX_PART_BYTES).len() } else { 0 };
        let body = if chunks == 0 { DocumentBody::Full(value) } else { DocumentBody::Parts(chunks) };
        let mut entry = DocumentWrite { key, writer: &writer, expires: None, body };
        if chunks > 0 {
            chunked_values::write(&self.0, &entry, value).await?;
        }
        if let Some(ttl) = put.ttl {
            let ttl = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
            entry.expires = Some(self.0.now().await?.saturating_add(ttl));
        }
        let outcome = self.put_document(&entry, put.if_absent).await;
        // Parts that cannot be removed now, because the server is unreachable, are removed by a sweep.
        match &outcome {
            Ok(PutOutcome::Done(Some(replaced))) => {
                drop(chunked_values::remove(&self.0, replaced.writer(), replaced.parts()).await);
            }
            Ok(PutOutcome::Done(None)) => {}
            Ok(PutOutcome::AlreadyExists) => drop(chunked_values::remove(&self.0, &writer, chunks).await),
            Err(error) if !error.is_retryable() => drop(chunked_values::remove(&self.0, &writer, chunks).await),
            Err(_) => {}
        }
        outcome.map(|outcome| matches!(outcome, PutOutcome::Done(_)))
    }

    /// Writes the document of a key.
    async fn put_document(&self, entry: &DocumentWrite<'_>, if_absent: bool) -> Result<PutOutcome> {
        // A key that must be new rarely exists, so its document is read only after a failed commit.
        let mut previous = if if_absent { None } else { self.get_header(entry.key).await?.0 };
        let mut backoff = Backoff::new(self.0.retry_timeout);
        loop {
            let precondition = previous.as_ref().map_or(Precondition::Absent, Document::unchanged);
            let mut writes = vec![self.0.paths.put(entry, &precondition)?];
            if let DocumentBody::Parts(_) = entry.body {
                writes.push(self.0.paths.mark_part_used(entry.writer));
            }
            if self.0.commit(writes).await? {
                return Ok(PutOutcome::Done(previous));
            }
            let (existing, now) = self.get_header(entry.key).await.map_err(outcome_unknown)?;
            match existing {
                // An earlier attempt succeeded and its response was lost.
                Some(existing) if existing.writer() == entry.writer => return Ok(PutOutcome::Done(previous)),
                Some(existing) if if_absent && !existing.is_expired(now) => return Ok(PutOutcome::AlreadyExists),
                other => previous = other,
            }
            if !backoff.wait(None).await {
                return Err(contention_error(entry.key, self.0.retry_timeout));
            }
        }
    }

    pub(super) async fn delete(&self, keys: &[String]) -> Result<()> {
        for keys in keys.chunks(MAX_BATCH) {
            let (documents, _) = self.get_documents(keys, &HEADER_FIELDS).await?;
            self.remove(documents).await?;
        }
        Ok(())
    }

    /// Removes documents that were read before. A document that has changed since belongs to another put and is left.
    pub(super) async fn remove(&self, previous: BTreeMap<String, Document>) -> Result<()> {
        let mut remaining = previous.clone();
        while !remaining.is_empty() {
            let writes: Vec<Value> =
                remaining.values().map(|document| delete_if(&document.name, &document.unchanged())).collect();
            if self.0.commit(writes).await? {
                break;
            }
            let keys: Vec<String> = remaining.keys().cloned().collect();
            let (documents, _) = self.get_documents(&keys, &HEADER_FIELDS).await.map_err(outcome_unknown)?;
            let before = remaining.len();
            remaining.retain(|key, document| documents.get(key).is_some_and(|other| other.is_same(document)));
            if remaining.len() == before {
                return Err(Error::internal("Firestore rejected the removal of unchanged documents"));
            }
        }
        for document in previous.values() {
            drop(chunked_values::remove(&self.0, document.writer(), document.parts()).await);
        }
        Ok(())
    }

    pub(super) async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let mut keys: Vec<String> = Vec::new();
        let mut after = after.map(ToOwned::to_owned);
        while keys.len() < limit {
            let page_size = (limit - keys.len()).min(MAX_BATCH);
            let (items, now) = self.0.query(&self.0.paths.keys(prefix, after.as_deref(), page_size)).await?;
            let page: Vec<Document> = items.into_iter().filter_map(|item| item.document).collect();
            let is_last = page.len() < page_size;
            if let Some(last) = page.last() {
                after = Some(last.key().to_owned());
            }
            keys.extend(
                page.iter().filter(|document| !document.is_expired(now)).map(|document| document.key().to_owned()),
            );
            if is_last {
                break;
            }
        }
        Ok(keys)
    }
}
