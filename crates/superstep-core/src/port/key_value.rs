//! The smallest store: values under keys.
//!
//! What is built on it needs one thing of it beyond reading and writing: that of many who put a new key at once, one
//! wins. So a store of this kind can be as simple as a folder of files.

use std::time::Duration;

use crate::error::Result;

/// A place that keeps values under keys. Write it with `async fn`.
///
/// A key has 1 to [`LONGEST_KEY`] bytes of `A-Z a-z 0-9 _ . : / -`; it is never a pattern. What is put is durable when
/// the answer comes, and whole: nobody ever reads half of a value. An error that is retryable leaves open whether
/// something was put or deleted, and may still become so; any other says that it was not. Another text than a key is
/// refused ([`is_key`]). Whoever implements it runs the tests of `testing::key_value`, behind the feature `testing`.
pub trait KeyValue: Send + Sync + 'static {
    /// The value under a key.
    fn get(&self, key: &str) -> impl Future<Output = Result<Option<Vec<u8>>>> + Send;

    /// The values under several keys, in their order. Better in one go where the store can: read at one moment, or one
    /// after the other in this order.
    fn get_many(&self, keys: &[String]) -> impl Future<Output = Result<Vec<Option<Vec<u8>>>>> + Send {
        async move {
            let mut values = Vec::with_capacity(keys.len());
            for key in keys {
                values.push(self.get(key).await?);
            }
            Ok(values)
        }
    }

    /// Puts a value under a key; false when `put` asked for a new key and there is one already.
    fn put(&self, key: &str, value: &[u8], put: Put) -> impl Future<Output = Result<bool>> + Send;

    /// Removes keys; those that are not there are no error. Not one transaction: a part of them may be gone after an
    /// error.
    fn delete(&self, keys: &[String]) -> impl Future<Output = Result<()>> + Send;

    /// At most `limit` keys that begin with `prefix`, ascending byte by byte, of those after `after`, which need not be
    /// there. The prefix may be empty, and may end anywhere in a key.
    fn list(&self, prefix: &str, after: Option<&str>, limit: usize)
    -> impl Future<Output = Result<Vec<String>>> + Send;
}

/// The longest key, in bytes.
pub const LONGEST_KEY: usize = 512;

/// Whether a text is a key that every store takes.
#[must_use]
pub fn is_key(text: &str) -> bool {
    (1..=LONGEST_KEY).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte))
}

/// How a value is put. The default replaces what is there, and lasts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Put {
    /// Only when there is no such key. Of many who try at once one succeeds.
    pub only_new: bool,
    /// How long it is there; after that the key is as good as deleted, for every method. `None` for ever.
    pub lasts: Option<Duration>,
}
