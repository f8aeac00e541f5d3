//! What goes wrong with models, told apart: each kind has its code, its hint, and whether trying again helps.

use std::fmt;
use std::sync::Arc;

use super::ModelInfo;
use crate::error::{Code, Error};

/// What went wrong with a model.
///
/// ```
/// use superstep_core::model::{ModelInfo, ModelKind, Trouble};
///
/// let info = ModelInfo::new("openai", "gpt-5-mini", ModelKind::Remote);
/// let error = Trouble::NoNetwork.error(&info, "connection refused");
/// assert!(error.is_retryable());
/// assert_eq!(Trouble::of(&error), Some(Trouble::NoNetwork));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Trouble {
    /// There is no key.
    NoKey,
    /// The key was refused.
    KeyRefused,
    /// Too many requests; the error says how long to wait where the provider did.
    RateLimited,
    /// The provider has too much to do, or failed inside.
    Overloaded,
    /// The provider has no such model, or not for this key.
    NoSuchModel,
    /// More was said than the model can read.
    ContextTooLong,
    /// The provider does not answer this.
    ContentRefused,
    /// The provider did not understand the request.
    BadRequest,
    /// The answer is not one.
    BadAnswer,
    /// The answer broke off.
    BrokenOff,
    /// There is no way to the provider.
    NoNetwork,
    /// No answer in time.
    TooSlow,
    /// The answer would cost more than the call may.
    OverBudget,
}

impl Trouble {
    /// The error, with its code and hint.
    pub fn error(self, model: &ModelInfo, fact: impl fmt::Display) -> Error {
        let (code, hint, retry) = self.means();
        Error::new(code, format!("model `{}/{}`: {fact}", model.provider, model.name))
            .help(hint)
            .retryable(retry)
            .caused_by(Arc::new(self) as Arc<dyn std::error::Error + Send + Sync>)
    }

    /// What went wrong, of an error that says so.
    #[must_use]
    pub fn of(error: &Error) -> Option<Self> {
        std::error::Error::source(error)?.downcast_ref().copied()
    }

    fn means(self) -> (Code, &'static str, bool) {
        match self {
            Self::NoKey => (Code::ModelAuth, "set the key in the environment or in the secrets file", false),
            Self::KeyRefused => {
                (Code::ModelAuth, "the provider does not know the key: make a new one, or set the right one", false)
            }
            Self::RateLimited => {
                (Code::ModelRateLimited, "wait as long as the provider asks, or ask for a higher limit", true)
            }
            Self::Overloaded => {
                (Code::ModelUnavailable, "try again later, or name another model to fall back to", true)
            }
            Self::NoSuchModel => {
                (Code::ConfigInvalid, "look at the name of the model, and at what the key may use", false)
            }
            Self::ContextTooLong => {
                (Code::TooLarge, "trim the messages (`trim`), or use a model that reads more", false)
            }
            Self::ContentRefused => {
                (Code::PolicyRefused, "the provider does not answer this: say it in another way", false)
            }
            Self::BadRequest => (
                Code::ConfigInvalid,
                "the provider did not understand the request: does the model know tools and schemas?",
                false,
            ),
            Self::BadAnswer => {
                (Code::ModelBadAnswer, "ask again, or say more clearly which form the answer must have", true)
            }
            Self::BrokenOff => {
                (Code::ModelUnavailable, "the answer broke off and nothing of it is kept: ask again", true)
            }
            Self::NoNetwork => (
                Code::ModelUnavailable,
                "look at the address and the network; without one use a model that runs here",
                true,
            ),
            Self::TooSlow => (Code::Timeout, "give the call more time, or use a faster model", true),
            Self::OverBudget => (Code::TooLarge, "raise the budget of the call, or send fewer messages", false),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoKey => "no key",
            Self::KeyRefused => "key refused",
            Self::RateLimited => "rate limited",
            Self::Overloaded => "overloaded",
            Self::NoSuchModel => "no such model",
            Self::ContextTooLong => "context too long",
            Self::ContentRefused => "content refused",
            Self::BadRequest => "request not understood",
            Self::BadAnswer => "bad answer",
            Self::BrokenOff => "answer broke off",
            Self::NoNetwork => "no network",
            Self::TooSlow => "too slow",
            Self::OverBudget => "over budget",
        })
    }
}

impl std::error::Error for Trouble {}
