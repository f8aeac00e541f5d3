//! One model after the other until one answers.

use std::sync::Arc;

use superstep_core::error::{Code, Error, Problem, Result};
use superstep_core::model::{Answer, ModelInfo, Request, Trouble};
use superstep_core::port::{Model, Pieces, SharedModel};

/// Several models: the next is asked where the one before it cannot answer.
///
/// Another model may survive a missing or refused key, a rate limit, an overload, a lost connection, a bad answer, a slow
/// one, and a model that does not exist. Content that was refused and messages that are too long go on to the next only
/// when [`also_on`](Self::also_on) says so. Once a piece of an answer was told, nobody else is asked.
///
/// Made by [`ModelExt::or`](super::ModelExt::or). The answer names who really gave it.
#[derive(Clone)]
pub struct Fallback {
    models: Vec<SharedModel>,
    also: Vec<Trouble>,
}

impl Fallback {
    pub(super) fn new(first: impl Into<SharedModel>) -> Self {
        Self { models: vec![first.into()], also: Vec::new() }
    }

    /// Adds one that is asked when all before it could not answer.
    #[must_use]
    pub fn or(mut self, next: impl Into<SharedModel>) -> Self {
        self.models.push(next.into());
        self
    }

    /// The next is asked after this trouble too.
    #[must_use]
    pub fn also_on(mut self, trouble: Trouble) -> Self {
        self.also.push(trouble);
        self
    }

    fn may_survive(&self, error: &Error) -> bool {
        match Trouble::of(error) {
            Some(trouble) => self.also.contains(&trouble) || survives(trouble),
            None => matches!(
                error.code(),
                Code::ModelAuth
                    | Code::ModelRateLimited
                    | Code::ModelUnavailable
                    | Code::ModelBadAnswer
                    | Code::Timeout
            ),
        }
    }
}

/// Whether another model may survive what this one did not.
fn survives(trouble: Trouble) -> bool {
    matches!(
        trouble,
        Trouble::NoKey
            | Trouble::KeyRefused
            | Trouble::RateLimited
            | Trouble::Overloaded
            | Trouble::NoSuchModel
            | Trouble::BadAnswer
            | Trouble::BrokenOff
            | Trouble::NoNetwork
            | Trouble::TooSlow
    )
}

impl Model for Fallback {
    /// The first one, which answers as a rule.
    fn info(&self) -> ModelInfo {
        self.models[0].info()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let mut earlier = Vec::new();
        for model in &self.models {
            let error = match model.answer(request, out).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let goes_on = self.may_survive(&error) && !out.has_told() && earlier.len() + 1 < self.models.len();
            if !goes_on {
                return Err(all_said(earlier, (model.info(), error)));
            }
            earlier.push((model.info(), error));
        }
        Err(Error::internal("a fallback without models"))
    }
}

type Said = (ModelInfo, Error);

/// The last error, with what each model said where there were several.
fn all_said(mut earlier: Vec<Said>, last: Said) -> Error {
    if earlier.is_empty() {
        return last.1;
    }
    let (code, trouble) = (last.1.code(), Trouble::of(&last.1));
    earlier.push(last);
    let fact = format!("none of the {} models that were asked answered", earlier.len());
    let mut error = Error::listing(code, fact, earlier.iter().map(problem).collect())
        .retryable(earlier.iter().any(|(_, error)| error.is_retryable()));
    if let Some(wait) = earlier.iter().filter_map(|(_, error)| error.wait()).min() {
        error = error.retry_after(wait);
    }
    match trouble {
        Some(trouble) => error.caused_by(Arc::new(trouble) as Arc<dyn std::error::Error + Send + Sync>),
        None => error,
    }
}

/// What one model said, in its name.
fn problem((model, error): &Said) -> Problem {
    let name = format!("`{}/{}`", model.provider, model.name);
    let message = match error.message() {
        named if named.contains(&name) => named.to_owned(),
        unnamed => format!("model {name}: {unnamed}"),
    };
    Problem { pointer: String::new(), message, help: error.advice().map(str::to_owned) }
}
