//! The operations of the key-value port as requests to S3, with their order and preconditions.
//!
//! Every put writes a unique token into the object. So a put whose response was lost recognizes its own object, and
//! no two objects have the same ETag: replacing an expired object never replaces another one.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{PutOptions, is_valid_key};
use tokio::task::JoinSet;

use super::client::{Precondition, S3Client};
use super::error::{conditional_writes_unsupported, contention_error, corrupt, unexpected_response};
use super::object_format::{MAX_HEADER_BYTES, ObjectHeader, may_expire, object};
use crate::http::request::{Backoff, outcome_unknown, token};

/// Maximum number of objects per page, as limited by S3.
const MAX_PAGE_SIZE: usize = 1_000;
/// Maximum number of concurrent requests per call.
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// Operations on the objects of a folder.
#[derive(Clone)]
pub(super) struct KeyValueOps(pub(super) Arc<S3Client>);

impl KeyValueOps {
    pub(super) async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        check(key)?;
        let Some(response) = self.0.get(&self.0.address.name(key), None).await? else { return Ok(None) };
        let header = ObjectHeader::read(&response.body).ok_or_else(|| corrupt(key))?;
        Ok((!header.is_expired(self.now())).then(|| header.value(response.body)))
    }

    /// Reads one key after the other, as the port requires.
    pub(super) async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            values.push(self.get(key).await?);
        }
        Ok(values)
    }

    pub(super) async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        check(key)?;
        let (name, writer) = (self.0.address.name(key), token()?);
        let expires_at = put.ttl.map(|ttl| self.now().saturating_add(millis(ttl)));
        let object = object(&writer, expires_at, value);
        if !put.if_absent {
            return self.0.put(&name, &Precondition::None, object).await;
        }
        let (mut precondition, mut backoff) = (Precondition::Absent, Backoff::new(self.0.retry_timeout));
        loop {
            if self.0.put(&name, &precondition, object.clone()).await? {
                return Ok(true);
            }
            precondition = match self.read_header(key).await.map_err(outcome_unknown)? {
                // An earlier attempt succeeded and its response was lost.
                Some((header, _)) if header.writer == writer => return Ok(true),
                Some((header, _)) if !header.is_expired(self.now()) => return Ok(false),
                Some((_, etag)) => Precondition::Unchanged(etag),
                None => Precondition::Absent,
            };
            if !backoff.wait(None).await {
                return Err(contention_error(key, self.0.retry_timeout));
            }
        }
    }

    pub(super) async fn delete(&self, keys: &[String]) -> Result<()> {
        keys.iter().try_for_each(|key| check(key))?;
        let remove = |key: String, values: Self| async move { values.0.delete(&values.0.address.name(&key)).await };
        self.map_concurrent(keys.to_vec(), remove).await.map(drop)
    }

    pub(super) async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        // An invalid key cannot be a prefix of a valid one.
        if !prefix.is_empty() && !is_valid_key(prefix) {
            return Ok(Vec::new());
        }
        let address = &self.0.address;
        let after = after.filter(|after| *after >= prefix && !after.is_empty()).map(|after| address.name(after));
        let (mut keys, mut next) = (Vec::new(), None);
        while keys.len() < limit {
            let max_keys = MAX_PAGE_SIZE.min(limit - keys.len());
            let page = self.0.list(&address.name(prefix), after.as_deref(), next, max_keys).await?;
            let candidates = page.objects.iter().filter_map(|(name, size)| Some((address.key(name)?, *size)));
            let live_keys = self.map_concurrent(candidates.collect(), |(key, size), values: Self| async move {
                let is_alive = !may_expire(size) || values.is_not_expired(&key).await?;
                Ok(is_alive.then_some(key))
            });
            keys.extend(live_keys.await?.into_iter().flatten());
            next = page.next;
            if next.is_none() {
                break;
            }
        }
        // The server may return more objects than requested.
        keys.truncate(limit);
        Ok(keys)
    }

    async fn is_not_expired(&self, key: &str) -> Result<bool> {
        Ok(self.read_header(key).await?.is_some_and(|(header, _)| !header.is_expired(self.now())))
    }

    /// Reads the header line and the ETag of an object.
    async fn read_header(&self, key: &str) -> Result<Option<(ObjectHeader, String)>> {
        let Some(response) = self.0.get(&self.0.address.name(key), Some(MAX_HEADER_BYTES)).await? else {
            return Ok(None);
        };
        let header = ObjectHeader::read(&response.body).ok_or_else(|| corrupt(key))?;
        let etag = response.header("etag").ok_or_else(|| unexpected_response(&self.0.address.display_name()))?;
        Ok(Some((header, etag.to_owned())))
    }

    /// Reads the bucket once and checks that the server evaluates the conditions of a put: otherwise every concurrent
    /// put would succeed unnoticed.
    pub(super) async fn probe_conditional_writes(&self) -> Result<()> {
        let (service, address) = (&self.0, self.0.address.display_name());
        service.list(&service.address.name(""), None, None, 1).await?;
        let (name, body) = (service.address.probe_object(), |writer: String| object(&writer, None, b""));
        let is_new = service.put(&name, &Precondition::Absent, body(token()?)).await?;
        if is_new && service.put(&name, &Precondition::Absent, body(token()?)).await? {
            return Err(conditional_writes_unsupported(&address, "If-None-Match"));
        }
        let stale = Precondition::Unchanged(format!("\"{}\"", "0".repeat(32)));
        if service.put(&name, &stale, body(token()?)).await? {
            return Err(conditional_writes_unsupported(&address, "If-Match"));
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.clock.now()).unwrap_or_default()
    }

    /// Runs `work` for each element with limited concurrency; the results are in the order of the elements.
    async fn map_concurrent<I, T, F>(&self, items: Vec<I>, work: impl Fn(I, Self) -> F) -> Result<Vec<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (mut in_flight, mut results) = (JoinSet::new(), Vec::with_capacity(items.len()));
        let mut rest = items.into_iter().enumerate();
        loop {
            for (index, item) in rest.by_ref().take(MAX_CONCURRENT_REQUESTS - in_flight.len()) {
                let work = work(item, self.clone());
                in_flight.spawn(async move { (index, work.await) });
            }
            let Some(joined) = in_flight.join_next().await else { break };
            let (index, result) = joined.map_err(|_| Error::internal("a request to S3 was aborted"))?;
            results.push((index, result?));
        }
        results.sort_by_key(|(index, _)| *index);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }
}

fn check(key: &str) -> Result<()> {
    if is_valid_key(key) {
        Ok(())
    } else {
        Err(Error::new(ErrorCode::InputInvalid, format!("`{key}` is not a valid key")))
    }
}

fn millis(time: Duration) -> u64 {
    // The largest number means no expiry.
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, u64::MAX / 2)
}
