//! Fallback between models: each model is called if the previous one fails.

use std::sync::Arc;

use superstep_core::error::{Diagnostic, Error, ErrorCode, Result};
use superstep_core::model::{ChatRequest, ChatResponse, ModelErrorKind, ModelInfo};
use superstep_core::port::{ChunkSender, Model, SharedModel};

/// A list of models: the next one is called if the previous one fails.
///
/// The next model is called after a missing or rejected key, a rate limit, an overload, a lost connection, an invalid
/// response, a timeout, and for a model that does not exist. After rejected content or too long messages, the next
/// model is called only if [`fallback_on`](Self::fallback_on) requests it. Once a chunk of a response was published, no
/// other model is called.
///
/// Created by [`ModelExt::with_fallback`](super::ModelExt::with_fallback). The response names the model that created
/// it.
#[derive(Clone)]
pub struct FallbackModel {
    models: Vec<SharedModel>,
    extra_kinds: Vec<ModelErrorKind>,
}

impl FallbackModel {
    pub(super) fn new(first: impl Into<SharedModel>) -> Self {
        Self { models: vec![first.into()], extra_kinds: Vec::new() }
    }

    /// Adds a model that is called if all previous models fail.
    #[must_use]
    pub fn fallback_to(mut self, model: impl Into<SharedModel>) -> Self {
        self.models.push(model.into());
        self
    }

    /// Adds an error after which the next model is called.
    #[must_use]
    pub fn fallback_on(mut self, kind: ModelErrorKind) -> Self {
        self.extra_kinds.push(kind);
        self
    }

    fn should_fall_back(&self, error: &Error) -> bool {
        match ModelErrorKind::from_error(error) {
            Some(kind) => self.extra_kinds.contains(&kind) || is_fallback_error(kind),
            None => matches!(
                error.code(),
                ErrorCode::ModelAuth
                    | ErrorCode::ModelRateLimited
                    | ErrorCode::ModelUnavailable
                    | ErrorCode::ModelBadAnswer
                    | ErrorCode::Timeout
            ),
        }
    }
}

/// Returns true if another model may succeed after this error.
fn is_fallback_error(kind: ModelErrorKind) -> bool {
    matches!(
        kind,
        ModelErrorKind::MissingApiKey
            | ModelErrorKind::InvalidApiKey
            | ModelErrorKind::RateLimited
            | ModelErrorKind::Overloaded
            | ModelErrorKind::ModelNotFound
            | ModelErrorKind::InvalidResponse
            | ModelErrorKind::StreamInterrupted
            | ModelErrorKind::Connection
            | ModelErrorKind::Timeout
    )
}

impl Model for FallbackModel {
    /// Info of the first model, which normally responds.
    fn info(&self) -> ModelInfo {
        self.models[0].info()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let mut earlier = Vec::new();
        for model in &self.models {
            let error = match model.generate(request, out).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let uses_next = self.should_fall_back(&error) && !out.has_sent() && earlier.len() + 1 < self.models.len();
            if !uses_next {
                return Err(combined_error(earlier, (model.info(), error)));
            }
            earlier.push((model.info(), error));
        }
        Err(Error::internal("a fallback requires at least one model"))
    }
}

type ModelFailure = (ModelInfo, Error);

/// Returns the last error; if several models were called, with the error of each.
fn combined_error(mut earlier: Vec<ModelFailure>, last: ModelFailure) -> Error {
    if earlier.is_empty() {
        return last.1;
    }
    let (code, kind) = (last.1.code(), ModelErrorKind::from_error(&last.1));
    earlier.push(last);
    let fact = format!("all {} models failed", earlier.len());
    let mut error = Error::with_diagnostics(code, fact, earlier.iter().map(diagnostic).collect())
        .with_retryable(earlier.iter().any(|(_, error)| error.is_retryable()));
    if let Some(delay) = earlier.iter().filter_map(|(_, error)| error.retry_after()).min() {
        error = error.with_retry_after(delay);
    }
    match kind {
        Some(kind) => error.with_source(Arc::new(kind) as Arc<dyn std::error::Error + Send + Sync>),
        None => error,
    }
}

/// Returns the error of one model as a diagnostic with its name.
fn diagnostic((model, error): &ModelFailure) -> Diagnostic {
    let name = format!("`{}/{}`", model.provider, model.name);
    let message = match error.message() {
        named if named.contains(&name) => named.to_owned(),
        unnamed => format!("model {name}: {unnamed}"),
    };
    Diagnostic { pointer: String::new(), message, help: error.help().map(str::to_owned) }
}
