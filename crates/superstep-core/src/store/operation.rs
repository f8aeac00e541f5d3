//! The operations of a store, as values: several of them can form one transaction, and a server can forward them.

use std::time::Duration;

use serde_json::Value;

use super::{Filter, IndexFields, Item, SearchItem, StoreNamespace};
use crate::error::{Error, ErrorCode, Result};

/// Maximum length of a key in bytes.
pub const MAX_KEY_BYTES: usize = 1_024;
/// Maximum nesting depth of a value.
const MAX_VALUE_DEPTH: usize = 100;
/// Maximum TTL: a thousand years.
pub(super) const MAX_TTL: Duration = Duration::from_secs(1_000 * 366 * 24 * 3_600);

/// The time to live of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ttl {
    /// Default TTL of the store.
    #[default]
    StoreDefault,
    /// No expiry.
    Forever,
    /// This TTL, counted from the last put or read.
    For(Duration),
}

/// Sets a value; an existing item of that name is replaced, with its index and its TTL.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct PutOp {
    /// Namespace of the item.
    pub namespace: StoreNamespace,
    /// Key within the namespace.
    pub key: String,
    /// Value to store.
    pub value: Value,
    /// Searchable part of the value.
    pub index: IndexFields,
    /// Time to live.
    pub ttl: Ttl,
}

impl PutOp {
    /// Sets a value that is searchable as a whole, with the default TTL of the store.
    pub fn new(namespace: impl Into<StoreNamespace>, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let (namespace, key, value) = (namespace.into(), key.into(), value.into());
        Self { namespace, key, value, index: IndexFields::All, ttl: Ttl::StoreDefault }
    }

    /// Sets the searchable part of the value.
    pub fn index(mut self, index: IndexFields) -> Self {
        self.index = index;
        self
    }

    /// Sets the TTL, counted from the put or the last read.
    pub fn ttl(mut self, time: Duration) -> Self {
        self.ttl = Ttl::For(time);
        self
    }

    /// Sets the TTL like [`PutOp::ttl`], in minutes as in LangGraph. Negative values and NaN count as zero.
    pub fn ttl_minutes(self, minutes: f64) -> Self {
        let seconds = (minutes * 60.0).clamp(0.0, MAX_TTL.as_secs_f64());
        // NaN stays NaN in the clamp.
        self.ttl(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }

    /// Disables expiry, regardless of the default of the store.
    pub fn no_ttl(mut self) -> Self {
        self.ttl = Ttl::Forever;
        self
    }
}

/// Reads an item.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct GetOp {
    /// Namespace of the item.
    pub namespace: StoreNamespace,
    /// Key within the namespace.
    pub key: String,
    /// True if the read restarts the TTL; `None`: the default of the store.
    pub refresh_ttl: Option<bool>,
}

impl GetOp {
    /// Reads an item.
    pub fn new(namespace: impl Into<StoreNamespace>, key: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), key: key.into(), refresh_ttl: None }
    }

    /// Sets whether the read restarts the TTL.
    pub fn refresh(mut self, refresh: bool) -> Self {
        self.refresh_ttl = Some(refresh);
        self
    }
}

/// Deletes an item.
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteOp {
    /// Namespace of the item.
    pub namespace: StoreNamespace,
    /// Key within the namespace.
    pub key: String,
}

impl DeleteOp {
    /// Deletes an item.
    pub fn new(namespace: impl Into<StoreNamespace>, key: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), key: key.into() }
    }
}

/// The search mode of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMode {
    /// By vector if the store has an embedder, otherwise by text.
    #[default]
    Auto,
    /// By words.
    Text,
    /// By vector; rejected if the store has no embedder.
    Vector,
}

/// Searches items. Without a query the newest come first; with a query the best, and only searchable items.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct SearchOp {
    /// Prefix of the searched namespaces; empty for all.
    pub prefix: StoreNamespace,
    /// Condition on the values.
    pub filter: Filter,
    /// Query text.
    pub query: Option<String>,
    /// Search mode of the query.
    pub mode: SearchMode,
    /// Maximum number of results.
    pub limit: usize,
    /// Number of results to skip.
    pub offset: usize,
    /// True if the search restarts the TTL of the results; `None`: the default of the store.
    pub refresh_ttl: Option<bool>,
}

impl SearchOp {
    /// Searches everything under a namespace; returns the newest ten.
    pub fn new(prefix: impl Into<StoreNamespace>) -> Self {
        let (filter, query, mode) = (Filter::default(), None, SearchMode::Auto);
        Self { prefix: prefix.into(), filter, query, mode, limit: 10, offset: 0, refresh_ttl: None }
    }

    /// Searches the whole store; returns the newest ten.
    pub fn all_namespaces() -> Self {
        Self::new(StoreNamespace::default())
    }

    /// Sets the condition on the values.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Sets the query text.
    pub fn query(mut self, query: impl Into<String>) -> Self {
        self.query = Some(query.into());
        self
    }

    /// Sets the search mode of the query.
    pub fn mode(mut self, mode: SearchMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the maximum number of results. Default: 10.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the number of results to skip.
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Sets whether the search restarts the TTL of the results.
    pub fn refresh(mut self, refresh: bool) -> Self {
        self.refresh_ttl = Some(refresh);
        self
    }
}

/// Lists namespaces that have items, ascending label by label.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ListNamespacesOp {
    /// The first labels; `*` is any label.
    pub prefix: StoreNamespace,
    /// The last labels; `*` is any label.
    pub suffix: StoreNamespace,
    /// Maximum depth; deeper namespaces are truncated to it and listed once.
    pub max_depth: Option<usize>,
    /// Maximum number of namespaces.
    pub limit: usize,
    /// Number of namespaces to skip.
    pub offset: usize,
}

impl Default for ListNamespacesOp {
    fn default() -> Self {
        let (prefix, suffix) = (StoreNamespace::default(), StoreNamespace::default());
        Self { prefix, suffix, max_depth: None, limit: 100, offset: 0 }
    }
}

impl ListNamespacesOp {
    /// Returns the labels up to the first `*`: the prefix that a store has to scan.
    #[must_use]
    pub fn literal_prefix(&self) -> StoreNamespace {
        self.prefix.cut(self.prefix.labels().iter().take_while(|label| *label != "*").count())
    }
}

/// One operation of a store.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreOp {
    /// Sets a value.
    Put(PutOp),
    /// Reads an item.
    Get(GetOp),
    /// Deletes an item.
    Delete(DeleteOp),
    /// Searches items.
    Search(SearchOp),
    /// Lists namespaces.
    Namespaces(ListNamespacesOp),
}

impl StoreOp {
    /// Rejects operations that are invalid for every store.
    ///
    /// # Errors
    /// Returns an error if a namespace, a key, a path or a value is invalid.
    pub fn check(&self) -> Result<()> {
        let (namespace, key) = match self {
            Self::Put(put) => {
                put.index.check()?;
                check_depth(&put.value)?;
                (&put.namespace, &put.key)
            }
            Self::Get(get) => (&get.namespace, &get.key),
            Self::Delete(delete) => (&delete.namespace, &delete.key),
            Self::Search(search) => return search.prefix.check_labels(),
            Self::Namespaces(list) => {
                list.prefix.check_labels()?;
                return list.suffix.check_labels();
            }
        };
        namespace.check()?;
        match key.len() {
            1..=MAX_KEY_BYTES => Ok(()),
            0 => Err(Error::new(ErrorCode::InputInvalid, format!("empty key in namespace `{namespace}`"))
                .with_help("use a non-empty key")),
            _ => Err(Error::new(
                ErrorCode::InputInvalid,
                format!("key in namespace `{namespace}` exceeds {MAX_KEY_BYTES} bytes"),
            )
            .with_help("use a shorter key, such as a hash, and store the long one in the value")),
        }
    }
}

/// Rejects a value that could be written but not parsed again.
fn check_depth(value: &Value) -> Result<()> {
    let mut level = vec![value];
    for _ in 0..MAX_VALUE_DEPTH {
        level = level.into_iter().flat_map(children).collect();
        if level.is_empty() {
            return Ok(());
        }
    }
    Err(Error::new(ErrorCode::InputInvalid, format!("the value has more than {MAX_VALUE_DEPTH} levels"))
        .with_help("store its parts as separate items"))
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

/// The result of an operation, by kind.
#[derive(Debug, Clone, PartialEq)]
pub enum OpResult {
    /// Result of a put.
    Done,
    /// Result of a get.
    Item(Option<Item>),
    /// Result of a delete: true if the item existed.
    Deleted(bool),
    /// Result of a search.
    Hits(Vec<SearchItem>),
    /// Result of a list of namespaces.
    Namespaces(Vec<StoreNamespace>),
}

macro_rules! operations {
    ($($name:ident: $kind:ty),*) => {$(
        impl From<$kind> for StoreOp {
            fn from(operation: $kind) -> Self {
                Self::$name(operation)
            }
        }
    )*};
}

operations!(Put: PutOp, Get: GetOp, Delete: DeleteOp, Search: SearchOp, Namespaces: ListNamespacesOp);

/// Selects the namespaces that a list requests; expects them ascending and without duplicates.
#[must_use]
pub fn select(namespaces: impl IntoIterator<Item = StoreNamespace>, list: &ListNamespacesOp) -> Vec<StoreNamespace> {
    let (prefix, suffix) = (list.prefix.labels(), list.suffix.labels());
    let fits = |labels: &[String]| {
        labels.len() >= prefix.len().max(suffix.len())
            && StoreNamespace::fits(&labels[..prefix.len()], prefix)
            && StoreNamespace::fits(&labels[labels.len() - suffix.len()..], suffix)
    };
    let mut selected: Vec<StoreNamespace> = Vec::new();
    for namespace in namespaces.into_iter().filter(|namespace| fits(namespace.labels())) {
        let cut = namespace.cut(list.max_depth.unwrap_or(usize::MAX));
        // Namespaces with the same truncated form are adjacent, because the shorter sorts before the longer.
        if selected.last() != Some(&cut) {
            selected.push(cut);
        }
    }
    selected.into_iter().skip(list.offset).take(list.limit).collect()
}
