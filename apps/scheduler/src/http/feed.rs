//! The secret in the address of the feed: drawn once, kept with what the server keeps, compared without telling how far.
//!
//! Processes that start together may each draw one. All of them are kept and all of them open the feed, so that no address
//! that was given out is dead; the first of them is given out from then on.

use superstep::store::{Index, Put, Search};
use superstep::{Error, Result};
use superstep_server::Desk;

use super::GRAPH;
use crate::app::Office;

/// The namespace of the long-term store that they are kept in, before the family.
const PLACE: [&str; 2] = [GRAPH, "feed"];
/// More than processes ever start at once.
const MOST: usize = 100;

/// The secret in the address of the family's feed; drawn when somebody asks first.
///
/// # Errors
/// When the store of the server cannot be reached.
pub(super) async fn key(desk: &Desk, office: &Office) -> Result<String> {
    if let Some(key) = kept(desk, office).await?.into_iter().next() {
        return Ok(key);
    }
    let key = drawn()?;
    let put = Put::new(place(office), &key, true).index(Index::None).forever();
    desk.config().stores.items.put_with(put).await?;
    // Somebody else may have been quicker.
    Ok(kept(desk, office).await?.into_iter().next().unwrap_or(key))
}

/// Whether this opens the family's feed.
///
/// # Errors
/// When the store of the server cannot be reached.
pub(super) async fn opens(desk: &Desk, office: &Office, given: &str) -> Result<bool> {
    Ok(kept(desk, office).await?.iter().any(|key| is_same(given, key)))
}

/// All secrets of the family, the first that was drawn first.
async fn kept(desk: &Desk, office: &Office) -> Result<Vec<String>> {
    let mut found = desk.config().stores.items.search(Search::new(place(office)).limit(MOST)).await?;
    found.sort_by(|a, b| (a.item.created_at, &a.item.key).cmp(&(b.item.created_at, &b.item.key)));
    Ok(found.into_iter().map(|hit| hit.item.key).collect())
}

/// Where the secrets of a family are; an id may have any letter, a label not.
fn place(office: &Office) -> [String; 3] {
    let family = office.family().bytes().map(|byte| format!("{byte:02x}")).collect();
    [PLACE[0].to_owned(), PLACE[1].to_owned(), family]
}

/// 32 hexadecimal digits that nobody can guess.
fn drawn() -> Result<String> {
    let mut bytes = [0; 16];
    let failed = |error| Error::internal(format!("the system gives no random bytes: {error}"));
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Where the feed is.
pub(super) fn address(key: &str) -> String {
    format!("/api/scheduler/calendar.ics?key={key}")
}

/// Whether two secrets are the same, in a time that says nothing about where they differ.
fn is_same(given: &str, key: &str) -> bool {
    let differ = given.bytes().zip(key.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == key.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FAM-99: only the whole secret opens the feed, and no two are the same.
    #[test]
    fn only_the_whole_secret_is_the_secret() {
        let (key, other) = (drawn().unwrap(), drawn().unwrap());
        assert_ne!(key, other);
        assert!(key.len() == 32 && is_same(&key, &key));
        for wrong in ["", &key[..31], &other, &format!("{key}0")] {
            assert!(!is_same(wrong, &key), "{wrong}");
        }
    }
}
