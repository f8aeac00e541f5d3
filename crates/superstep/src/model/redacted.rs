//! A model that hears and says nothing that must not leave.

use std::sync::Arc;

use superstep_core::error::Result;
use superstep_core::message::Message;
use superstep_core::model::{Answer, ModelInfo, Piece, Request, ToolCallPiece};
use superstep_core::port::{BoxFuture, Listener, Model, Pieces, SharedModel};
use superstep_core::redact::{Counts, Redaction, RedactionStream};

/// A model that is asked without secrets and personal data, and whose answers have none. Made by
/// [`ModelExt::redacted`](super::ModelExt::redacted).
///
/// Pieces come as soon as it is certain that they are no part of something that must go. In pieces of the arguments of a
/// call, paths of fields do not hold; in the answer they do.
///
/// ```
/// use superstep::model::{ModelExt, Scripted};
/// use superstep::redact::Redaction;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let script = Scripted::new(["Write to bob@example.com."]);
/// let model = script.clone().redacted(Redaction::default());
/// let answer = model.complete("I am ada@example.com. Who can help?").await?;
/// assert_eq!(answer.message.text(), "Write to [REDACTED:mail].");
/// assert_eq!(script.requests()[0].messages[0].text(), "I am [REDACTED:mail]. Who can help?");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Redacted {
    model: SharedModel,
    redaction: Redaction,
}

impl Redacted {
    pub(super) fn new(model: impl Into<SharedModel>, redaction: Redaction) -> Self {
        Self { model: model.into(), redaction }
    }
}

impl Model for Redacted {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let request = redact_request(&self.redaction, request.clone());
        let answered = match out.wants() {
            false => self.model.answer(&request, out).await,
            true => {
                let mut held = Held::new(&self.redaction, out);
                let answered = self.model.answer(&request, &mut Pieces::to(&mut held)).await;
                held.finish().await;
                answered
            }
        };
        let mut answer = answered.map_err(|error| self.redaction.error(error))?;
        self.redaction.message(&mut answer.message, &mut Counts::default());
        Ok(answer)
    }
}

/// What is asked, without what must not leave. Messages that have nothing of it stay shared.
pub(super) fn redact_request(redaction: &Redaction, mut request: Request) -> Request {
    for message in &mut request.messages {
        let (mut redacted, mut counts) = (Message::clone(message), Counts::default());
        redaction.message(&mut redacted, &mut counts);
        if !counts.is_empty() {
            *message = Arc::new(redacted);
        }
    }
    request
}

/// Holds pieces back until it is certain what they are.
struct Held<'a, 'b> {
    out: &'a mut Pieces<'b>,
    stream: RedactionStream,
    /// What the held text is part of.
    open: Option<Source>,
}

/// What a piece is more of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Text,
    Reasoning,
    Call(usize),
}

impl Source {
    fn of(piece: &Piece) -> Option<Self> {
        match piece {
            Piece::Text(_) => Some(Self::Text),
            Piece::Reasoning(_) => Some(Self::Reasoning),
            Piece::ToolCall(call) => Some(Self::Call(call.index)),
            _ => None,
        }
    }

    fn piece(self, text: String) -> Piece {
        match self {
            Self::Text => Piece::Text(text),
            Self::Reasoning => Piece::Reasoning(text),
            Self::Call(index) => Piece::ToolCall(ToolCallPiece { index, args: text, ..ToolCallPiece::default() }),
        }
    }
}

impl<'a, 'b> Held<'a, 'b> {
    fn new(redaction: &Redaction, out: &'a mut Pieces<'b>) -> Self {
        Self { out, stream: RedactionStream::new(redaction.clone()), open: None }
    }

    /// The piece as far as it is certain; nothing where nothing is.
    fn certain(&mut self, piece: Piece) -> Option<Piece> {
        let said = |text: String| Some(text).filter(|text| !text.is_empty());
        match piece {
            Piece::Text(text) => said(self.stream.push(&text)).map(Piece::Text),
            Piece::Reasoning(text) => said(self.stream.push(&text)).map(Piece::Reasoning),
            Piece::ToolCall(mut call) => {
                call.args = self.stream.push(&call.args);
                let says = call.id.is_some() || call.name.is_some() || !call.args.is_empty();
                says.then_some(Piece::ToolCall(call))
            }
            other => Some(other),
        }
    }

    /// What is still held back; nothing where nothing is.
    fn rest(&mut self) -> Option<Piece> {
        let source = self.open.take()?;
        let text = self.stream.finish();
        (!text.is_empty()).then(|| source.piece(text))
    }

    /// Tells what was held back.
    async fn finish(&mut self) {
        if let Some(rest) = self.rest() {
            self.out.tell(rest).await;
        }
    }
}

impl Listener for Held<'_, '_> {
    /// What is held back of something else is told first: pieces stay in order.
    fn hear(&mut self, piece: Piece) -> Option<BoxFuture<'_, ()>> {
        let source = Source::of(&piece);
        let rest = if source == self.open { None } else { self.rest() };
        self.open = source;
        let piece = self.certain(piece);
        if rest.is_none() && piece.is_none() {
            return None;
        }
        Some(Box::pin(async move {
            for piece in rest.into_iter().chain(piece) {
                self.out.tell(piece).await;
            }
        }))
    }
}
