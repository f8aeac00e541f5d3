//! Values under keys: what each method of the port asks of the service, in which order and under which conditions.
//!
//! Whoever puts writes a token of its own into the object. So a put whose answer was lost is recognised, and no two objects
//! have the same ETag: whoever takes the place of one that has lapsed takes it from no other.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use superstep_core::port::{Put, is_key};
use tokio::task::JoinSet;

use super::form::{HEAD, Head, may_lapse, object};
use super::service::{Fence, Service};
use super::trouble::{careless, contended, corrupt, strange};
use crate::remote::{Pauses, token, unsure};

/// The most objects of one list; more are never given.
const PAGE: usize = 1_000;
/// How many requests are under way at once, for one call.
const AT_ONCE: usize = 16;

/// The values of a folder.
#[derive(Clone)]
pub(super) struct Values(pub(super) Arc<Service>);

impl Values {
    pub(super) async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        check(key)?;
        let Some(answer) = self.0.get(&self.0.address.name(key), None).await? else { return Ok(None) };
        let head = Head::read(&answer.body).ok_or_else(|| corrupt(key))?;
        Ok((!head.has_lapsed(self.now())).then(|| head.value(answer.body)))
    }

    /// One after the other, as the port wants it.
    pub(super) async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            values.push(self.get(key).await?);
        }
        Ok(values)
    }

    pub(super) async fn put(&self, key: &str, value: &[u8], put: Put) -> Result<bool> {
        check(key)?;
        let (name, writer) = (self.0.address.name(key), token()?);
        let ends = put.lasts.map(|lasts| self.now().saturating_add(millis(lasts)));
        let object = object(&writer, ends, value);
        if !put.only_new {
            return self.0.put(&name, &Fence::None, object).await;
        }
        let (mut fence, mut pauses) = (Fence::Absent, Pauses::new(self.0.patience));
        loop {
            if self.0.put(&name, &fence, object.clone()).await? {
                return Ok(true);
            }
            fence = match self.look(key).await.map_err(unsure)? {
                // An earlier try went through and its answer was lost.
                Some((head, _)) if head.writer == writer => return Ok(true),
                Some((head, _)) if !head.has_lapsed(self.now()) => return Ok(false),
                Some((_, tag)) => Fence::Unchanged(tag),
                None => Fence::Absent,
            };
            if !pauses.wait(None).await {
                return Err(contended(key, self.0.patience));
            }
        }
    }

    pub(super) async fn delete(&self, keys: &[String]) -> Result<()> {
        keys.iter().try_for_each(|key| check(key))?;
        let remove = |key: String, values: Self| async move { values.0.delete(&values.0.address.name(&key)).await };
        self.each(keys.to_vec(), remove).await.map(drop)
    }

    pub(super) async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        // What no key has in it begins none.
        if !prefix.is_empty() && !is_key(prefix) {
            return Ok(Vec::new());
        }
        let address = &self.0.address;
        let after = after.filter(|after| *after >= prefix && !after.is_empty()).map(|after| address.name(after));
        let (mut keys, mut next) = (Vec::new(), None);
        while keys.len() < limit {
            let most = PAGE.min(limit - keys.len());
            let page = self.0.list(&address.name(prefix), after.as_deref(), next, most).await?;
            let found = page.objects.iter().filter_map(|(name, size)| Some((address.key(name)?, *size)));
            let alive = self.each(found.collect(), |(key, size), values: Self| async move {
                let is_alive = !may_lapse(size) || values.is_alive(&key).await?;
                Ok(is_alive.then_some(key))
            });
            keys.extend(alive.await?.into_iter().flatten());
            next = page.next;
            if next.is_none() {
                break;
            }
        }
        // A server that gives more than it was asked for is not believed.
        keys.truncate(limit);
        Ok(keys)
    }

    async fn is_alive(&self, key: &str) -> Result<bool> {
        Ok(self.look(key).await?.is_some_and(|(head, _)| !head.has_lapsed(self.now())))
    }

    /// What an object says before its value, and its ETag.
    async fn look(&self, key: &str) -> Result<Option<(Head, String)>> {
        let Some(answer) = self.0.get(&self.0.address.name(key), Some(HEAD)).await? else { return Ok(None) };
        let head = Head::read(&answer.body).ok_or_else(|| corrupt(key))?;
        let tag = answer.header("etag").ok_or_else(|| strange(&self.0.address.spoken()))?;
        Ok(Some((head, tag.to_owned())))
    }

    /// Asks the bucket once, and sees that the server looks at the conditions of a put: one that does not would let everybody
    /// win, and nobody would notice.
    pub(super) async fn try_out(&self) -> Result<()> {
        let (service, place) = (&self.0, self.0.address.spoken());
        service.list(&service.address.name(""), None, None, 1).await?;
        let (name, body) = (service.address.sample(), |writer: String| object(&writer, None, b""));
        let is_new = service.put(&name, &Fence::Absent, body(token()?)).await?;
        if is_new && service.put(&name, &Fence::Absent, body(token()?)).await? {
            return Err(careless(&place, "If-None-Match"));
        }
        let nobody = Fence::Unchanged(format!("\"{}\"", "0".repeat(32)));
        if service.put(&name, &nobody, body(token()?)).await? {
            return Err(careless(&place, "If-Match"));
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.clock.now()).unwrap_or_default()
    }

    /// Does something with each of some things, several at once; what comes of it is in their order.
    async fn each<I, T, F>(&self, things: Vec<I>, work: impl Fn(I, Self) -> F) -> Result<Vec<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (mut under_way, mut done) = (JoinSet::new(), Vec::with_capacity(things.len()));
        let mut rest = things.into_iter().enumerate();
        loop {
            for (number, thing) in rest.by_ref().take(AT_ONCE - under_way.len()) {
                let work = work(thing, self.clone());
                under_way.spawn(async move { (number, work.await) });
            }
            let Some(ended) = under_way.join_next().await else { break };
            let (number, result) = ended.map_err(|_| Error::internal("a request to S3 did not end"))?;
            done.push((number, result?));
        }
        done.sort_by_key(|(number, _)| *number);
        Ok(done.into_iter().map(|(_, result)| result).collect())
    }
}

fn check(key: &str) -> Result<()> {
    if is_key(key) { Ok(()) } else { Err(Error::new(Code::InputInvalid, format!("`{key}` is not a key"))) }
}

fn millis(time: Duration) -> u64 {
    // The last number says that something never ends.
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, u64::MAX / 2)
}
