//! What can be asked of a store, as values: so several things are one transaction, and a server can hand them on.

use std::time::Duration;

use serde_json::Value;

use super::{Filter, Hit, Index, Item, Namespace};
use crate::error::{Code, Error, Result};

/// The most bytes a key has.
pub const LONGEST_KEY: usize = 1_024;
/// The most levels a value has.
const DEEPEST: usize = 100;
/// The longest anything lasts that does not last for ever: a thousand years.
pub(super) const LONGEST_LIFE: Duration = Duration::from_secs(1_000 * 366 * 24 * 3_600);

/// How long an item lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lasts {
    /// As long as the store says.
    #[default]
    AsStore,
    /// Until it is deleted.
    Forever,
    /// So long, from when it was put or last read.
    For(Duration),
}

/// Sets a value; an item of that name is replaced, and with it how it is indexed and how long it lasts.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Put {
    /// Where.
    pub namespace: Namespace,
    /// The name there.
    pub key: String,
    /// The value.
    pub value: Value,
    /// What of it can be searched for.
    pub index: Index,
    /// How long it lasts.
    pub lasts: Lasts,
}

impl Put {
    /// Sets a value that can be searched for as a whole and lasts as long as the store says.
    pub fn new(namespace: impl Into<Namespace>, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let (namespace, key, value) = (namespace.into(), key.into(), value.into());
        Self { namespace, key, value, index: Index::All, lasts: Lasts::AsStore }
    }

    /// What of it can be searched for.
    pub fn index(mut self, index: Index) -> Self {
        self.index = index;
        self
    }

    /// How long it lasts, from now or from when it is last read.
    pub fn lasts(mut self, time: Duration) -> Self {
        self.lasts = Lasts::For(time);
        self
    }

    /// As [`Put::lasts`], in minutes, as LangGraph counts. What is not a time is taken for none at all.
    pub fn lasts_minutes(self, minutes: f64) -> Self {
        let seconds = (minutes * 60.0).clamp(0.0, LONGEST_LIFE.as_secs_f64());
        // A number that is none stays none in the clamp.
        self.lasts(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }

    /// Lasts until it is deleted, whatever the store says.
    pub fn forever(mut self) -> Self {
        self.lasts = Lasts::Forever;
        self
    }
}

/// Reads an item.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Get {
    /// Where.
    pub namespace: Namespace,
    /// The name there.
    pub key: String,
    /// Whether it lasts anew from now on; as the store says where it is `None`.
    pub refresh: Option<bool>,
}

impl Get {
    /// Reads an item.
    pub fn new(namespace: impl Into<Namespace>, key: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), key: key.into(), refresh: None }
    }

    /// Whether it lasts anew from now on.
    pub fn refresh(mut self, refresh: bool) -> Self {
        self.refresh = Some(refresh);
        self
    }
}

/// Removes an item.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// Where.
    pub namespace: Namespace,
    /// The name there.
    pub key: String,
}

impl Delete {
    /// Removes an item.
    pub fn new(namespace: impl Into<Namespace>, key: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), key: key.into() }
    }
}

/// How a query is compared with items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// By vector where the store has an embedder, by text where not.
    #[default]
    Best,
    /// By words.
    Text,
    /// By vector; refused where the store has no embedder.
    Vector,
}

/// Finds items. Without a query the newest come first; with one the best do, and only what can be searched for.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Search {
    /// The first labels of the namespaces that are looked at; none for all.
    pub prefix: Namespace,
    /// What must hold.
    pub filter: Filter,
    /// What is looked for, in words.
    pub query: Option<String>,
    /// How the query is compared with items.
    pub by: By,
    /// At most so many.
    pub limit: usize,
    /// Without the first so many.
    pub offset: usize,
    /// Whether what is found lasts anew from now on; as the store says where it is `None`.
    pub refresh: Option<bool>,
}

impl Search {
    /// Everything under a namespace, the newest ten.
    pub fn new(prefix: impl Into<Namespace>) -> Self {
        let (filter, query, by) = (Filter::default(), None, By::Best);
        Self { prefix: prefix.into(), filter, query, by, limit: 10, offset: 0, refresh: None }
    }

    /// Everything in the store, the newest ten.
    pub fn everywhere() -> Self {
        Self::new(Namespace::default())
    }

    /// What must hold.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// What is looked for, in words.
    pub fn query(mut self, query: impl Into<String>) -> Self {
        self.query = Some(query.into());
        self
    }

    /// How the query is compared with items.
    pub fn by(mut self, by: By) -> Self {
        self.by = by;
        self
    }

    /// At most so many; 10 unless told.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Without the first so many.
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Whether what is found lasts anew from now on.
    pub fn refresh(mut self, refresh: bool) -> Self {
        self.refresh = Some(refresh);
        self
    }
}

/// Lists namespaces that have items, ascending label by label.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ListNamespaces {
    /// The first labels; `*` is any label.
    pub prefix: Namespace,
    /// The last labels; `*` is any label.
    pub suffix: Namespace,
    /// Deeper ones are cut, and told once.
    pub max_depth: Option<usize>,
    /// At most so many.
    pub limit: usize,
    /// Without the first so many.
    pub offset: usize,
}

impl Default for ListNamespaces {
    fn default() -> Self {
        let (prefix, suffix) = (Namespace::default(), Namespace::default());
        Self { prefix, suffix, max_depth: None, limit: 100, offset: 0 }
    }
}

impl ListNamespaces {
    /// The labels up to the first `*`: where a store has to look.
    #[must_use]
    pub fn place(&self) -> Namespace {
        self.prefix.cut(self.prefix.labels().iter().take_while(|label| *label != "*").count())
    }
}

/// One thing asked of a store.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Sets a value.
    Put(Put),
    /// Reads an item.
    Get(Get),
    /// Removes an item.
    Delete(Delete),
    /// Finds items.
    Search(Search),
    /// Lists namespaces.
    Namespaces(ListNamespaces),
}

impl Operation {
    /// Refuses what no store does.
    ///
    /// # Errors
    /// When a namespace, a key or a path is not one.
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
            1..=LONGEST_KEY => Ok(()),
            0 => Err(Error::new(Code::InputInvalid, format!("a key of `{namespace}` is empty")).help("give it a name")),
            _ => Err(Error::new(
                Code::InputInvalid,
                format!("a key of `{namespace}` is longer than {LONGEST_KEY} bytes"),
            )
            .help("use a shorter name, such as a hash, and keep the long one in the value")),
        }
    }
}

/// Refuses a value that could be written and not be read again.
fn check_depth(value: &Value) -> Result<()> {
    let mut level = vec![value];
    for _ in 0..DEEPEST {
        level = level.into_iter().flat_map(below).collect();
        if level.is_empty() {
            return Ok(());
        }
    }
    Err(Error::new(Code::InputInvalid, format!("a value has more than {DEEPEST} levels"))
        .help("keep its parts as items of their own"))
}

fn below(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

/// What a store says to an operation, in kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// To a put.
    Done,
    /// To a get.
    Item(Option<Item>),
    /// To a delete: whether there was one.
    Deleted(bool),
    /// To a search.
    Hits(Vec<Hit>),
    /// To a list of namespaces.
    Namespaces(Vec<Namespace>),
}

macro_rules! operations {
    ($($name:ident: $kind:ty),*) => {$(
        impl From<$kind> for Operation {
            fn from(asked: $kind) -> Self {
                Self::$name(asked)
            }
        }
    )*};
}

operations!(Put: Put, Get: Get, Delete: Delete, Search: Search, Namespaces: ListNamespaces);

/// Of the namespaces a store has, ascending and each once, those that a list asks for.
#[must_use]
pub fn select(namespaces: impl IntoIterator<Item = Namespace>, list: &ListNamespaces) -> Vec<Namespace> {
    let (prefix, suffix) = (list.prefix.labels(), list.suffix.labels());
    let fits = |labels: &[String]| {
        labels.len() >= prefix.len().max(suffix.len())
            && Namespace::fits(&labels[..prefix.len()], prefix)
            && Namespace::fits(&labels[labels.len() - suffix.len()..], suffix)
    };
    let mut selected: Vec<Namespace> = Vec::new();
    for namespace in namespaces.into_iter().filter(|namespace| fits(namespace.labels())) {
        let cut = namespace.cut(list.max_depth.unwrap_or(usize::MAX));
        // What is cut the same stands side by side, as the shorter sorts before the longer.
        if selected.last() != Some(&cut) {
            selected.push(cut);
        }
    }
    selected.into_iter().skip(list.offset).take(list.limit).collect()
}
