//! Secret key in the address of the calendar feed: generated once, kept in the long-term store, compared in
//! constant time.
//!
//! Processes that start at the same time may each generate a key. All keys are kept and valid, so that no published
//! address stops working; the oldest key is published from then on.

use superstep::store::{IndexFields, PutOp, SearchOp};
use superstep::{Error, Result};
use superstep_server::RunService;

use super::GRAPH;
use crate::app::SchedulerAppState;

/// Namespace of the keys in the long-term store, before the family.
const NAMESPACE: [&str; 2] = [GRAPH, "feed"];
/// Maximum number of keys read; more than processes ever start at once.
const MAX_KEYS: usize = 100;

/// Returns the key of the family's feed, and generates it on first use.
///
/// # Errors
/// Returns an error if the long-term store is unavailable.
pub(super) async fn get_or_create_key(runs: &RunService, app: &SchedulerAppState) -> Result<String> {
    if let Some(key) = stored_keys(runs, app).await?.into_iter().next() {
        return Ok(key);
    }
    let key = generate_key()?;
    let put = PutOp::new(namespace(app), &key, true).index(IndexFields::None).no_ttl();
    runs.config().storage.store.put_with(put).await?;
    // Another process may have stored a key first.
    Ok(stored_keys(runs, app).await?.into_iter().next().unwrap_or(key))
}

/// Returns true if the key is valid for the family's feed.
///
/// # Errors
/// Returns an error if the long-term store is unavailable.
pub(super) async fn is_valid_key(runs: &RunService, app: &SchedulerAppState, candidate: &str) -> Result<bool> {
    Ok(stored_keys(runs, app).await?.iter().any(|key| is_same(candidate, key)))
}

/// Returns all keys of the family, oldest first.
async fn stored_keys(runs: &RunService, app: &SchedulerAppState) -> Result<Vec<String>> {
    let mut hits = runs.config().storage.store.search(SearchOp::new(namespace(app)).limit(MAX_KEYS)).await?;
    hits.sort_by(|a, b| (a.item.created_at, &a.item.key).cmp(&(b.item.created_at, &b.item.key)));
    Ok(hits.into_iter().map(|hit| hit.item.key).collect())
}

/// Returns the namespace of the keys of a family. The family id is hex-encoded, because labels allow fewer
/// characters.
fn namespace(app: &SchedulerAppState) -> [String; 3] {
    let family = app.family().bytes().map(|byte| format!("{byte:02x}")).collect();
    [NAMESPACE[0].to_owned(), NAMESPACE[1].to_owned(), family]
}

/// Generates a random key of 32 hexadecimal digits.
fn generate_key() -> Result<String> {
    let mut bytes = [0; 16];
    let failed = |error| Error::internal(format!("the system returned no random bytes: {error}"));
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Returns the address of the feed.
pub(super) fn address(key: &str) -> String {
    format!("/api/scheduler/calendar.ics?key={key}")
}

/// Compares two keys in a time that does not depend on where they differ.
fn is_same(candidate: &str, key: &str) -> bool {
    let differ = candidate.bytes().zip(key.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    candidate.len() == key.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FAM-99: only the full key opens the feed, and no two keys are equal.
    #[test]
    fn only_the_complete_key_is_accepted() {
        let (key, other) = (generate_key().unwrap(), generate_key().unwrap());
        assert_ne!(key, other);
        assert!(key.len() == 32 && is_same(&key, &key));
        for invalid in ["", &key[..31], &other, &format!("{key}0")] {
            assert!(!is_same(invalid, &key), "{invalid}");
        }
    }
}
