//! A model that hears and says nothing that must not leave.

use std::collections::BTreeMap;
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
    text: RedactionStream,
    reasoning: RedactionStream,
    calls: BTreeMap<usize, RedactionStream>,
    redaction: &'a Redaction,
}

impl<'a, 'b> Held<'a, 'b> {
    fn new(redaction: &'a Redaction, out: &'a mut Pieces<'b>) -> Self {
        let stream = || RedactionStream::new(redaction.clone());
        Self { out, text: stream(), reasoning: stream(), calls: BTreeMap::new(), redaction }
    }

    /// The piece as far as it is certain; nothing where nothing is.
    fn certain(&mut self, piece: Piece) -> Option<Piece> {
        let said = |text: String| Some(text).filter(|text| !text.is_empty());
        match piece {
            Piece::Text(text) => said(self.text.push(&text)).map(Piece::Text),
            Piece::Reasoning(text) => said(self.reasoning.push(&text)).map(Piece::Reasoning),
            Piece::ToolCall(mut call) => {
                let stream =
                    self.calls.entry(call.index).or_insert_with(|| RedactionStream::new(self.redaction.clone()));
                call.args = stream.push(&call.args);
                let says = call.id.is_some() || call.name.is_some() || !call.args.is_empty();
                says.then_some(Piece::ToolCall(call))
            }
            other => Some(other),
        }
    }

    /// Tells what was held back.
    async fn finish(&mut self) {
        let (reasoning, text) = (self.reasoning.finish(), self.text.finish());
        let mut rest = vec![(Piece::Reasoning(reasoning.clone()), reasoning.is_empty())];
        rest.push((Piece::Text(text.clone()), text.is_empty()));
        for (index, stream) in &mut self.calls {
            let args = stream.finish();
            let is_empty = args.is_empty();
            rest.push((Piece::ToolCall(ToolCallPiece { index: *index, args, ..ToolCallPiece::default() }), is_empty));
        }
        for (piece, _) in rest.into_iter().filter(|(_, is_empty)| !is_empty) {
            self.out.tell(piece).await;
        }
    }
}

impl Listener for Held<'_, '_> {
    fn hear(&mut self, piece: Piece) -> Option<BoxFuture<'_, ()>> {
        let piece = self.certain(piece)?;
        Some(Box::pin(self.out.tell(piece)))
    }
}
