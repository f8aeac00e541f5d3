//! The secret in the address of the feed: drawn once, kept with what the server keeps, compared without telling how far.

use superstep::Error;
use superstep::store::{Index, Put};
use superstep_server::{Desk, Problem};

use super::GRAPH;
use crate::app::Office;

/// The namespace of the long-term store that it is kept in.
const PLACE: [&str; 2] = [GRAPH, "feed"];

/// The secret of the family's feed; drawn when somebody asks first.
///
/// # Errors
/// When the store of the server cannot be reached.
pub(super) async fn key<'a>(desk: &Desk, office: &'a Office) -> Result<&'a str, Problem> {
    let kept = office.feed().get_or_try_init(|| kept(desk, office.family())).await;
    Ok(kept.map(String::as_str)?)
}

async fn kept(desk: &Desk, family: &str) -> superstep::Result<String> {
    let store = &desk.config().stores.items;
    let known = store.get(PLACE, family).await?;
    if let Some(key) = known.and_then(|item| item.value["key"].as_str().map(str::to_owned)) {
        return Ok(key);
    }
    let key = drawn()?;
    let put = Put::new(PLACE, family, serde_json::json!({ "key": key })).index(Index::None).forever();
    store.put_with(put).await?;
    Ok(key)
}

/// 32 hexadecimal digits that nobody can guess.
fn drawn() -> superstep::Result<String> {
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
pub(super) fn is_same(given: &str, key: &str) -> bool {
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
