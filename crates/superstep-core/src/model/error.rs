//! The kinds of model errors: each has its error code, its help text, and a retry rule.

use std::fmt;
use std::sync::Arc;

use super::ModelInfo;
use crate::error::{Error, ErrorCode};

/// The kind of a model error.
///
/// ```
/// use superstep_core::model::{ModelInfo, ModelKind, ModelErrorKind};
///
/// let info = ModelInfo::new("openai", "gpt-5-mini", ModelKind::Remote);
/// let error = ModelErrorKind::Connection.error(&info, "connection refused");
/// assert!(error.is_retryable());
/// assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::Connection));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The API key is missing.
    MissingApiKey,
    /// The provider rejected the API key.
    InvalidApiKey,
    /// Too many requests; the error has the delay before a retry if the provider named one.
    RateLimited,
    /// The provider is overloaded, or failed internally.
    Overloaded,
    /// The provider has no such model, or not for this key.
    ModelNotFound,
    /// The messages exceed the context length of the model.
    ContextLengthExceeded,
    /// The provider refuses this content.
    ContentFiltered,
    /// The provider rejected the request as invalid.
    BadRequest,
    /// The response is invalid.
    InvalidResponse,
    /// The response ended before it was complete.
    StreamInterrupted,
    /// The provider cannot be reached.
    Connection,
    /// The response exceeded its timeout.
    Timeout,
    /// The response would exceed the budget of the call.
    BudgetExceeded,
}

impl ModelErrorKind {
    /// Builds the error, with its code and help text.
    pub fn error(self, model: &ModelInfo, message: impl fmt::Display) -> Error {
        let (code, hint, retry) = self.code_and_hint();
        Error::new(code, format!("model `{}/{}`: {message}", model.provider, model.name))
            .with_help(hint)
            .with_retryable(retry)
            .with_source(Arc::new(self) as Arc<dyn std::error::Error + Send + Sync>)
    }

    /// Returns the kind of a model error; `None` for other errors.
    #[must_use]
    pub fn from_error(error: &Error) -> Option<Self> {
        std::error::Error::source(error)?.downcast_ref().copied()
    }

    fn code_and_hint(self) -> (ErrorCode, &'static str, bool) {
        match self {
            Self::MissingApiKey => {
                (ErrorCode::ModelAuth, "set the API key in the environment or in the secrets file", false)
            }
            Self::InvalidApiKey => {
                (ErrorCode::ModelAuth, "the provider rejected the API key; check it, or create a new one", false)
            }
            Self::RateLimited => {
                (ErrorCode::ModelRateLimited, "wait as long as the provider requests, or request a higher limit", true)
            }
            Self::Overloaded => (ErrorCode::ModelUnavailable, "try again later, or configure a fallback model", true),
            Self::ModelNotFound => {
                (ErrorCode::ConfigInvalid, "check the model name and the permissions of the API key", false)
            }
            Self::ContextLengthExceeded => {
                (ErrorCode::TooLarge, "trim the messages (`trim`), or use a model with a larger context", false)
            }
            Self::ContentFiltered => {
                (ErrorCode::PolicyRefused, "the provider rejected the content; rephrase the request", false)
            }
            Self::BadRequest => (ErrorCode::ConfigInvalid, "check that the model supports tools and schemas", false),
            Self::InvalidResponse => {
                (ErrorCode::ModelBadAnswer, "try again, or describe the expected format more precisely", true)
            }
            Self::StreamInterrupted => (
                ErrorCode::ModelUnavailable,
                "the stream was interrupted and its content was discarded; try again",
                true,
            ),
            Self::Connection => (
                ErrorCode::ModelUnavailable,
                "check the URL and the network; without a network use a local model",
                true,
            ),
            Self::Timeout => (ErrorCode::Timeout, "raise the timeout, or use a faster model", true),
            Self::BudgetExceeded => {
                (ErrorCode::TooLarge, "raise the budget of the call, or send fewer messages", false)
            }
        }
    }
}

impl fmt::Display for ModelErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MissingApiKey => "missing API key",
            Self::InvalidApiKey => "invalid API key",
            Self::RateLimited => "rate limited",
            Self::Overloaded => "overloaded",
            Self::ModelNotFound => "model not found",
            Self::ContextLengthExceeded => "context length exceeded",
            Self::ContentFiltered => "content filtered",
            Self::BadRequest => "bad request",
            Self::InvalidResponse => "invalid response",
            Self::StreamInterrupted => "stream interrupted",
            Self::Connection => "connection failed",
            Self::Timeout => "timeout",
            Self::BudgetExceeded => "budget exceeded",
        })
    }
}

impl std::error::Error for ModelErrorKind {}
