//! Why a source gave nothing at all.

use std::fmt;

/// A source that could not be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// Which: `m365`, `docs`, `issues` or `posts`.
    pub source: &'static str,
    /// Why, for a person.
    pub reason: String,
    /// Why, for a program.
    pub kind: UnavailableKind,
}

/// The kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum UnavailableKind {
    /// Nobody set it up.
    NotConfigured,
    /// It does not know who asks.
    Unauthorized,
    /// Who asks may not.
    Forbidden,
    /// It is asked too often; a later try helps.
    TooMany,
    /// It failed; a later try may help.
    Failed,
}

impl Unavailable {
    pub(crate) fn not_configured(source: &'static str, reason: impl Into<String>) -> Self {
        Self { source, reason: reason.into(), kind: UnavailableKind::NotConfigured }
    }

    pub(crate) fn failed(source: &'static str, reason: impl Into<String>) -> Self {
        Self { source, reason: reason.into(), kind: UnavailableKind::Failed }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be searched: {}", self.source, self.reason)
    }
}

impl std::error::Error for Unavailable {}
