//! Code that the long-term stores in SQLite and PostgreSQL share, without SQL: the clock, index terms, values as
//! text.
//!
//! The meaning of an operation is defined in core; a database stores items and selects the candidates that core then
//! filters.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{BoxFuture, Clock, PreparedOperation};
use superstep_core::store::{IndexFields, Item, PutOp, StoreNamespace, StoreOp, StoreOptions, index_term, words};

/// Maximum number of expired items that a writing batch removes.
pub(crate) const SWEEP_BATCH: i64 = 100;

/// Options and clock of an open store.
pub(crate) struct StoreSetup {
    pub(crate) options: StoreOptions,
    clock: Arc<dyn Clock>,
    model: String,
}

impl StoreSetup {
    pub(crate) fn new(options: StoreOptions) -> Self {
        let clock = options.clock.clone().unwrap_or_else(|| Arc::new(SystemClock));
        let named = options.embedder.as_ref().map(|embedder| format!("{}/{}", embedder.name(), embedder.dimension()));
        Self { options, clock, model: named.unwrap_or_default() }
    }

    pub(crate) fn now(&self) -> i64 {
        self.clock.now()
    }

    /// Returns name and dimension of the embedding model; empty if there is none.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }
}

/// The clock of the machine.
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0, |time| i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
    }

    /// Returns a future that never completes: a store does not sleep.
    fn sleep(&self, _time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// Returns true if the operations change no item. Reads may still extend the TTL of items.
pub(crate) fn is_read_only(prepared: &[PreparedOperation]) -> bool {
    !prepared.iter().any(|prepared| matches!(prepared.operation, StoreOp::Put(_) | StoreOp::Delete(_)))
}

/// Returns the distinct index terms of an item; empty if the item is not indexed.
pub(crate) fn index_terms(put: &PutOp) -> Vec<String> {
    let texts = put.index.texts(&put.value);
    let distinct: BTreeSet<String> = texts.iter().flat_map(|text| words(text)).map(|word| index_term(&word)).collect();
    distinct.into_iter().collect()
}

/// Returns the index terms of a query.
pub(crate) fn query_terms(words: &[String]) -> Vec<String> {
    words.iter().map(|word| index_term(word)).collect()
}

/// The columns of an item row.
pub(crate) struct ItemColumns<'a> {
    pub(crate) space: &'a [u8],
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) expires: Option<i64>,
}

impl ItemColumns<'_> {
    /// Decodes the item. The error for a corrupt row names the item.
    pub(crate) fn read(&self, location: &dyn std::fmt::Display) -> Result<Item> {
        let corrupt_error = || {
            let (space, key) = (String::from_utf8_lossy(self.space), String::from_utf8_lossy(self.key));
            let name = format!("{}/{key}", space.replace('\0', "."));
            Error::new(ErrorCode::CheckpointCorrupt, format!("item `{}` in {location} is corrupt", name.escape_debug()))
                .with_help("other items are not affected; delete this one, or restore it from a backup")
        };
        Ok(Item {
            namespace: StoreNamespace::from_bytes(self.space).ok_or_else(corrupt_error)?,
            key: String::from_utf8(self.key.to_vec()).map_err(|_| corrupt_error())?,
            value: serde_json::from_slice(self.value).map_err(|_| corrupt_error())?,
            created_at: self.created,
            updated_at: self.updated,
            expires_at: self.expires,
        })
    }
}

/// Serializes the index configuration of an item for storage.
pub(crate) fn write_index(index: &IndexFields) -> Option<String> {
    index.to_json().map(|form| form.to_string())
}

/// Parses the result of [`write_index`]; text that is not valid yields no index.
pub(crate) fn read_index(stored: Option<&str>) -> IndexFields {
    IndexFields::from_json(stored.and_then(|text| serde_json::from_str(text).ok()).as_ref())
}
