//! What the long-term stores in databases have in common, without SQL: the clock, the marks of words, values as text.
//!
//! What an operation means is decided in core; a database keeps items and narrows down which of them core looks at.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use superstep_core::error::{Code, Error, Result};
use superstep_core::port::{BoxFuture, Clock, Prepared};
use superstep_core::store::{Index, Item, Namespace, Operation, Options, Put, mark, words};

/// How much of what has expired goes with every batch that writes.
pub(crate) const SWEPT_AT_ONCE: i64 = 100;

/// How a store was opened.
pub(crate) struct Setup {
    pub(crate) options: Options,
    clock: Arc<dyn Clock>,
    model: String,
}

impl Setup {
    pub(crate) fn new(options: Options) -> Self {
        let clock = options.clock.clone().unwrap_or_else(|| Arc::new(MachineClock));
        let named = options.embedder.as_ref().map(|embedder| format!("{}/{}", embedder.name(), embedder.dimension()));
        Self { options, clock, model: named.unwrap_or_default() }
    }

    pub(crate) fn now(&self) -> i64 {
        self.clock.now()
    }

    /// Who makes vectors, and how long they are; empty when nobody does.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }
}

/// The clock of the machine.
struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0, |time| i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
    }

    /// Nobody sleeps in a store.
    fn sleep(&self, _time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// Whether nothing of this changes what is kept, but for how long.
pub(crate) fn only_reads(prepared: &[Prepared]) -> bool {
    !prepared.iter().any(|prepared| matches!(prepared.operation, Operation::Put(_) | Operation::Delete(_)))
}

/// The marks of the words of an item, each once; none when it is not searched for.
pub(crate) fn marks(put: &Put) -> Vec<String> {
    let texts = put.index.texts(&put.value);
    let distinct: BTreeSet<String> = texts.iter().flat_map(|text| words(text)).map(|word| mark(&word)).collect();
    distinct.into_iter().collect()
}

/// The marks of the words of a query.
pub(crate) fn marks_of(words: &[String]) -> Vec<String> {
    words.iter().map(|word| mark(word)).collect()
}

/// What a row has of an item.
pub(crate) struct Columns<'a> {
    pub(crate) space: &'a [u8],
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) expires: Option<i64>,
}

impl Columns<'_> {
    /// The item, or an error that names it.
    pub(crate) fn read(&self, place: &dyn std::fmt::Display) -> Result<Item> {
        let spoilt = || {
            let (space, key) = (String::from_utf8_lossy(self.space), String::from_utf8_lossy(self.key));
            let name = format!("{}/{key}", space.replace('\0', "."));
            Error::new(Code::CheckpointCorrupt, format!("item `{}` in {place} is damaged", name.escape_debug()))
                .help("other items are whole; delete this one, or restore it from a copy")
        };
        Ok(Item {
            namespace: Namespace::from_bytes(self.space).ok_or_else(spoilt)?,
            key: String::from_utf8(self.key.to_vec()).map_err(|_| spoilt())?,
            value: serde_json::from_slice(self.value).map_err(|_| spoilt())?,
            created_at: self.created,
            updated_at: self.updated,
            expires_at: self.expires,
        })
    }
}

/// How an item is indexed, as it is kept.
pub(crate) fn write_index(index: &Index) -> Option<String> {
    index.to_json().map(|form| form.to_string())
}

/// Reads [`write_index`]; what cannot be read is no index.
pub(crate) fn read_index(kept: Option<&str>) -> Index {
    Index::from_json(kept.and_then(|text| serde_json::from_str(text).ok()).as_ref())
}
