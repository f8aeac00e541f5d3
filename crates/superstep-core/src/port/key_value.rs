//! The key-value port: the smallest backend.
//!
//! Besides reads and writes, callers need one guarantee: if several writers put a new key at once, one of them
//! succeeds. So an implementation can be as simple as a folder of files.

use std::time::Duration;

use crate::error::Result;

/// A store of values under keys. Implement it with `async fn`.
///
/// A key has 1 to [`MAX_KEY_BYTES`] bytes of `A-Z a-z 0-9 _ . : / -`; it is never a pattern. A put is durable when the
/// call returns, and complete: no reader ever sees part of a value. After a retryable error the result of a put or
/// delete is unknown, and the operation may still take effect; after any other error it did not happen. A text that is
/// not a key is rejected ([`is_valid_key`]). Every implementation runs the tests of `testing::key_value`, behind the
/// feature `testing`.
pub trait KeyValue: Send + Sync + 'static {
    /// Returns the value under a key.
    fn get(&self, key: &str) -> impl Future<Output = Result<Option<Vec<u8>>>> + Send;

    /// Returns the values under several keys, in their order. Implementations that can should read all of them at
    /// once; otherwise they are read one after the other in this order.
    fn get_many(&self, keys: &[String]) -> impl Future<Output = Result<Vec<Option<Vec<u8>>>>> + Send {
        async move {
            let mut values = Vec::with_capacity(keys.len());
            for key in keys {
                values.push(self.get(key).await?);
            }
            Ok(values)
        }
    }

    /// Puts a value under a key; returns false if `put` requires a new key and the key exists.
    fn put(&self, key: &str, value: &[u8], put: PutOptions) -> impl Future<Output = Result<bool>> + Send;

    /// Removes keys; missing keys are no error. Not one transaction: after an error, some of them may be removed.
    fn delete(&self, keys: &[String]) -> impl Future<Output = Result<()>> + Send;

    /// Returns at most `limit` keys that begin with `prefix`, ascending byte by byte, after the key `after`, which
    /// need not exist. The prefix may be empty, and may end anywhere in a key.
    fn list(&self, prefix: &str, after: Option<&str>, limit: usize)
    -> impl Future<Output = Result<Vec<String>>> + Send;
}

/// Maximum length of a key in bytes.
pub const MAX_KEY_BYTES: usize = 512;

/// Returns true if a text is a valid key for every implementation.
#[must_use]
pub fn is_valid_key(text: &str) -> bool {
    (1..=MAX_KEY_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte))
}

/// Options of a put. The default replaces the value, without a TTL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PutOptions {
    /// True if the key must not exist yet. Of several concurrent puts one succeeds.
    pub if_absent: bool,
    /// Time to live; after that the key counts as deleted, for every method. `None`: no expiry.
    pub ttl: Option<Duration>,
}
