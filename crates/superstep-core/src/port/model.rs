//! Who answers: the door to language models, and to rules that stand in for them.

use std::sync::Arc;

use super::BoxFuture;
use crate::error::Result;
use crate::model::{Answer, ModelInfo, Piece, Request, ToolCallPiece};

/// Answers requests. Write it with `async fn`; whoever holds it boxes it once.
///
/// ```
/// use superstep_core::error::Result;
/// use superstep_core::message::Message;
/// use superstep_core::model::{Answer, ModelInfo, ModelKind, Request};
/// use superstep_core::port::{Model, Pieces};
///
/// struct Echo;
///
/// impl Model for Echo {
///     fn info(&self) -> ModelInfo {
///         ModelInfo::new("local", "echo", ModelKind::Rules)
///     }
///
///     async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
///         let said = request.messages.last().map(|message| message.text().into_owned()).unwrap_or_default();
///         out.text(&said).await;
///         Ok(Answer::new(Message::assistant(said), self.info()))
///     }
/// }
/// ```
pub trait Model: Send + Sync + 'static {
    /// Who answers.
    fn info(&self) -> ModelInfo;

    /// Answers. What is told to `out` on the way, joined, is the message of the answer; a model that nobody listens to
    /// ([`Pieces::wants`]) need not tell anything on the way.
    fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> impl Future<Output = Result<Answer>> + Send;
}

/// Where a model tells what it says while it says it.
pub struct Pieces<'a> {
    listener: Option<&'a mut dyn Listener>,
    told: bool,
}

/// Somebody who listens to a model.
pub trait Listener: Send {
    /// Takes a piece; gives something to wait for when it is behind.
    fn hear(&mut self, piece: Piece) -> Option<BoxFuture<'_, ()>>;
}

impl<'a> Pieces<'a> {
    /// Nobody listens.
    #[must_use]
    pub fn unheard() -> Self {
        Self { listener: None, told: false }
    }

    /// This one listens.
    pub fn to(listener: &'a mut dyn Listener) -> Self {
        Self { listener: Some(listener), told: false }
    }

    /// Whether anybody listens.
    #[must_use]
    pub fn wants(&self) -> bool {
        self.listener.is_some()
    }

    /// Whether something was told already: then the same request cannot be given to another model without it being seen.
    #[must_use]
    pub fn has_told(&self) -> bool {
        self.told
    }

    /// Tells a piece; waits while the listener is behind.
    pub async fn tell(&mut self, piece: Piece) {
        let Some(listener) = &mut self.listener else { return };
        self.told = true;
        if let Some(wait) = listener.hear(piece) {
            wait.await;
        }
    }

    /// Tells more of the text.
    pub async fn text(&mut self, text: &str) {
        if self.wants() && !text.is_empty() {
            self.tell(Piece::Text(text.to_owned())).await;
        }
    }

    /// Tells more of what the model thinks before it answers.
    pub async fn reasoning(&mut self, text: &str) {
        if self.wants() && !text.is_empty() {
            self.tell(Piece::Reasoning(text.to_owned())).await;
        }
    }

    /// Tells more of a call of a tool.
    pub async fn tool_call(&mut self, piece: ToolCallPiece) {
        if self.wants() {
            self.tell(Piece::ToolCall(piece)).await;
        }
    }
}

/// A model behind one pointer: what programs hold and hand on.
#[derive(Clone)]
pub struct SharedModel(Arc<dyn Erased>);

trait Erased: Send + Sync {
    fn info(&self) -> ModelInfo;
    fn answer<'a>(&'a self, request: &'a Request, out: &'a mut Pieces<'_>) -> BoxFuture<'a, Result<Answer>>;
}

impl<M: Model> Erased for M {
    fn info(&self) -> ModelInfo {
        Model::info(self)
    }

    fn answer<'a>(&'a self, request: &'a Request, out: &'a mut Pieces<'_>) -> BoxFuture<'a, Result<Answer>> {
        Box::pin(Model::answer(self, request, out))
    }
}

impl<M: Model> From<M> for SharedModel {
    fn from(model: M) -> Self {
        Self(Arc::new(model))
    }
}

impl std::fmt::Debug for SharedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedModel({})", self.info())
    }
}

impl SharedModel {
    /// See [`Model::info`].
    #[must_use]
    pub fn info(&self) -> ModelInfo {
        self.0.info()
    }

    /// See [`Model::answer`].
    ///
    /// # Errors
    /// When the model fails; see [`crate::model::Trouble`].
    pub async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        self.0.answer(request, out).await
    }

    /// The whole answer, with nobody listening on the way.
    ///
    /// # Errors
    /// When the model fails; see [`crate::model::Trouble`].
    pub async fn complete(&self, request: impl Into<Request>) -> Result<Answer> {
        self.answer(&request.into(), &mut Pieces::unheard()).await
    }
}
