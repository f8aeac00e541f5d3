//! How much was taken out, by kind. Never what.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How much was taken out, by the name of the kind.
///
/// ```
/// use superstep_core::redact::{Counts, Redaction};
///
/// let mut counts = Counts::default();
/// let _ = Redaction::default().text_counted("ada@example.com, bob@example.com", &mut counts);
/// assert_eq!((counts.of("mail"), counts.total()), (2, 2));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<String, u64>);

impl Counts {
    /// How much of one kind.
    #[must_use]
    pub fn of(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or_default()
    }

    /// How much of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// True when nothing was taken out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every kind that was found, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(kind, count)| (kind.as_str(), *count))
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(kind, count)| self.add(kind, count));
    }

    pub(super) fn add(&mut self, kind: &str, count: u64) {
        match self.0.get_mut(kind) {
            Some(known) => *known += count,
            None => drop(self.0.insert(kind.to_owned(), count)),
        }
    }
}

impl From<&Counts> for Value {
    fn from(counts: &Counts) -> Self {
        Self::Object(counts.iter().map(|(kind, count)| (kind.to_owned(), count.into())).collect())
    }
}
