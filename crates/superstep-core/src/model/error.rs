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
    pub fn error(self, model: &ModelInfo, fact: impl fmt::Display) -> Error {
        let (code, hint, retry) = self.code_and_hint();
        Error::new(code, format!("model `{}/{}`: {fact}", model.provider, model.name))
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
                (ErrorCode::ModelAuth, "set the key in the environment or in the secrets file", false)
            }
            Self::InvalidApiKey => (
                ErrorCode::ModelAuth,
                "the provider does not know the key: make a new one, or set the right one",
                false,
            ),
            Self::RateLimited => {
                (ErrorCode::ModelRateLimited, "wait as long as the provider asks, or ask for a higher limit", true)
            }
            Self::Overloaded => {
                (ErrorCode::ModelUnavailable, "try again later, or name another model to fall back to", true)
            }
            Self::ModelNotFound => {
                (ErrorCode::ConfigInvalid, "look at the name of the model, and at what the key may use", false)
            }
            Self::ContextLengthExceeded => {
                (ErrorCode::TooLarge, "trim the messages (`trim`), or use a model that reads more", false)
            }
            Self::ContentFiltered => {
                (ErrorCode::PolicyRefused, "the provider does not answer this: say it in another way", false)
            }
            Self::BadRequest => (
                ErrorCode::ConfigInvalid,
                "the provider did not understand the request: does the model know tools and schemas?",
                false,
            ),
            Self::InvalidResponse => {
                (ErrorCode::ModelBadAnswer, "ask again, or say more clearly which form the answer must have", true)
            }
            Self::StreamInterrupted => {
                (ErrorCode::ModelUnavailable, "the answer broke off and nothing of it is kept: ask again", true)
            }
            Self::Connection => (
                ErrorCode::ModelUnavailable,
                "look at the address and the network; without one use a model that runs here",
                true,
            ),
            Self::Timeout => (ErrorCode::Timeout, "give the call more time, or use a faster model", true),
            Self::BudgetExceeded => {
                (ErrorCode::TooLarge, "raise the budget of the call, or send fewer messages", false)
            }
        }
    }
}

impl fmt::Display for ModelErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MissingApiKey => "no key",
            Self::InvalidApiKey => "key refused",
            Self::RateLimited => "rate limited",
            Self::Overloaded => "overloaded",
            Self::ModelNotFound => "no such model",
            Self::ContextLengthExceeded => "context too long",
            Self::ContentFiltered => "content refused",
            Self::BadRequest => "request not understood",
            Self::InvalidResponse => "bad answer",
            Self::StreamInterrupted => "answer broke off",
            Self::Connection => "no network",
            Self::Timeout => "too slow",
            Self::BudgetExceeded => "over budget",
        })
    }
}

impl std::error::Error for ModelErrorKind {}
