//! What can be done with every model: share it, ask it, stream it, put another one around it.

use superstep_core::error::Result;
use superstep_core::model::{Answer, Request};
use superstep_core::port::SharedModel;
use superstep_core::redact::Redaction;

use super::{AnswerStream, Budget, Budgeted, Fallback, Redacted, Retrying};
use crate::retry::Retry;

/// What can be done with every model, whether it is a type of its own or shared already.
///
/// The first one around a model is asked last: `model.retrying(..).budget(..)` keeps one budget for all attempts,
/// `model.budget(..).retrying(..)` one for each.
pub trait ModelExt: Into<SharedModel> + Sized {
    /// Behind one pointer.
    fn share(self) -> SharedModel {
        self.into()
    }

    /// Asks again when it fails in a way that may pass.
    fn retrying(self, retry: Retry) -> Retrying {
        Retrying::new(self, retry)
    }

    /// Asks another one where this one cannot answer.
    fn or(self, other: impl Into<SharedModel>) -> Fallback {
        Fallback::new(self).or(other)
    }

    /// Limits what one call may take.
    fn budget(self, budget: Budget) -> Budgeted {
        Budgeted::new(self, budget)
    }

    /// Takes secrets and personal data out of what it is asked and of what it says.
    fn redacted(self, redaction: Redaction) -> Redacted {
        Redacted::new(self, redaction)
    }

    /// The whole answer, with nobody listening on the way.
    ///
    /// # Errors
    /// When the model fails; see [`superstep_core::model::Trouble`].
    fn complete(&self, request: impl Into<Request> + Send) -> impl Future<Output = Result<Answer>> + Send
    where
        Self: Clone,
    {
        let (model, request): (SharedModel, Request) = (self.clone().into(), request.into());
        async move { model.complete(request).await }
    }

    /// The answer piece by piece.
    fn stream(&self, request: impl Into<Request>) -> AnswerStream
    where
        Self: Clone,
    {
        AnswerStream::new(self.clone().into(), request.into())
    }
}

impl<M: Into<SharedModel>> ModelExt for M {}
