//! Counts of redacted matches, by kind. Never contains the matches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The number of redacted matches, by the name of the kind.
///
/// ```
/// use superstep_core::redaction::{RedactionCounts, Redaction};
///
/// let mut counts = RedactionCounts::default();
/// let _ = Redaction::default().redact_text_counted("ada@example.com, bob@example.com", &mut counts);
/// assert_eq!((counts.get("mail"), counts.total()), (2, 2));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RedactionCounts(BTreeMap<String, u64>);

impl RedactionCounts {
    /// Returns the count of one kind.
    #[must_use]
    pub fn get(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or_default()
    }

    /// Returns the count of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns true if nothing was redacted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over every kind with a match, with its count.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(kind, count)| (kind.as_str(), *count))
    }

    /// Adds the counts of another value.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(kind, count)| self.add(kind, count));
    }

    pub(super) fn add(&mut self, kind: &str, count: u64) {
        match self.0.get_mut(kind) {
            Some(total) => *total += count,
            None => drop(self.0.insert(kind.to_owned(), count)),
        }
    }
}

impl From<&RedactionCounts> for Value {
    fn from(counts: &RedactionCounts) -> Self {
        Self::Object(counts.iter().map(|(kind, count)| (kind.to_owned(), count.into())).collect())
    }
}
