//! Extension methods of models: share, call, stream, wrap.

use superstep_core::error::Result;
use superstep_core::model::{ChatRequest, ChatResponse};
use superstep_core::port::SharedModel;
use superstep_core::redaction::Redaction;

use super::{BudgetedModel, CallBudget, FallbackModel, RedactedModel, ResponseStream, RetryingModel};
use crate::graph::retry::RetryPolicy;

/// Extension methods for every model, whether it is a type of its own or already shared.
///
/// The wrapper that is added last is called first: `model.with_retry(..).with_budget(..)` has one budget for all
/// attempts, `model.with_budget(..).with_retry(..)` one for each attempt.
pub trait ModelExt: Into<SharedModel> + Sized {
    /// Converts to a shared model.
    fn share(self) -> SharedModel {
        self.into()
    }

    /// Retries calls that fail with a transient error.
    fn with_retry(self, retry: RetryPolicy) -> RetryingModel {
        RetryingModel::new(self, retry)
    }

    /// Calls another model if this one fails.
    fn with_fallback(self, other: impl Into<SharedModel>) -> FallbackModel {
        FallbackModel::new(self).fallback_to(other)
    }

    /// Limits tokens, cost and time of each call.
    fn with_budget(self, budget: CallBudget) -> BudgetedModel {
        BudgetedModel::new(self, budget)
    }

    /// Redacts secrets and personal data in requests and responses.
    fn with_redaction(self, redaction: Redaction) -> RedactedModel {
        RedactedModel::new(self, redaction)
    }

    /// Returns the complete response, without streaming.
    ///
    /// # Errors
    /// Returns an error if the model fails; see [`superstep_core::model::ModelErrorKind`].
    fn complete(&self, request: impl Into<ChatRequest> + Send) -> impl Future<Output = Result<ChatResponse>> + Send
    where
        Self: Clone,
    {
        let (model, request): (SharedModel, ChatRequest) = (self.clone().into(), request.into());
        async move { model.complete(request).await }
    }

    /// Returns the response as a stream of chunks.
    fn stream(&self, request: impl Into<ChatRequest>) -> ResponseStream
    where
        Self: Clone,
    {
        ResponseStream::new(self.clone().into(), request.into())
    }
}

impl<M: Into<SharedModel>> ModelExt for M {}
