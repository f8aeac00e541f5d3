//! The reason why a source returned no result at all.

use std::fmt;

/// A source that could not be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceUnavailable {
    /// Name of the source: `m365`, `docs`, `issues` or `posts`.
    pub source: &'static str,
    /// Reason for the user.
    pub reason: String,
    /// Machine-readable reason.
    pub kind: UnavailableReason,
}

/// Kinds of reasons, the most useful to the user first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum UnavailableReason {
    /// The source is not configured.
    NotConfigured,
    /// The token is missing or not accepted.
    Unauthorized,
    /// The owner of the token lacks permission.
    Forbidden,
    /// The rate limit of the source is exceeded; a later attempt helps.
    TooMany,
    /// The source failed; a later attempt may succeed.
    Failed,
}

impl SourceUnavailable {
    pub(crate) fn not_configured(source: &'static str, reason: impl Into<String>) -> Self {
        Self { source, reason: reason.into(), kind: UnavailableReason::NotConfigured }
    }

    pub(crate) fn failed(source: &'static str, reason: impl Into<String>) -> Self {
        Self { source, reason: reason.into(), kind: UnavailableReason::Failed }
    }
}

impl fmt::Display for SourceUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be searched: {}", self.source, self.reason)
    }
}

impl std::error::Error for SourceUnavailable {}
