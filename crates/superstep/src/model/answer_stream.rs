//! An answer piece by piece, for programs outside of graphs.
//!
//! The stream *is* the call: polling it drives the model, dropping it drops the call. A reader that is behind holds the
//! model back; nothing is skipped and nothing piles up.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use superstep_core::error::{Error, Result};
use superstep_core::model::{Answer, Piece, Request};
use superstep_core::port::{BoxFuture, Listener, Pieces, SharedModel};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// How many pieces wait for a reader before the model does.
const BUFFER: usize = 16;

/// An answer under way. Made by [`ModelExt::stream`](super::ModelExt::stream).
///
/// ```
/// use superstep::model::{ModelExt, Piece, Scripted};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let mut stream = Scripted::new(["It is noon."]).stream("How late is it?");
/// while let Some(piece) = stream.next().await {
///     if let Piece::Text(text) = piece? {
///         print!("{text}");
///     }
/// }
/// assert_eq!(stream.finish().await?.message.text(), "It is noon.");
/// # Ok(()) }
/// ```
#[must_use = "a stream drives its model only while it is polled"]
pub struct AnswerStream {
    call: Option<BoxFuture<'static, Result<Answer>>>,
    pieces: mpsc::Receiver<Piece>,
    result: Option<Result<Answer>>,
    has_told_error: bool,
}

impl AnswerStream {
    pub(super) fn new(model: SharedModel, request: Request) -> Self {
        let (sender, pieces) = mpsc::channel(BUFFER);
        let mut teller = Teller(sender);
        let call = Box::pin(async move { model.answer(&request, &mut Pieces::to(&mut teller)).await });
        Self { call: Some(call), pieces, result: None, has_told_error: false }
    }

    /// The next piece, or `None` when the answer has ended. An error is the last thing that is told.
    ///
    /// # Cancel safety
    /// Dropping the future loses no piece; the next call returns it.
    pub async fn next(&mut self) -> Option<Result<Piece>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The whole answer, after the pieces that are left.
    ///
    /// # Errors
    /// What the model failed with, also when it was told before.
    pub async fn finish(mut self) -> Result<Answer> {
        while self.next().await.is_some() {}
        self.result.unwrap_or_else(|| Err(Error::internal("a stream ended without an answer")))
    }
}

impl Stream for AnswerStream {
    type Item = Result<Piece>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Piece>>> {
        let this = &mut *self;
        if let Poll::Ready(Some(piece)) = this.pieces.poll_recv(context) {
            return Poll::Ready(Some(Ok(piece)));
        }
        if let Some(call) = &mut this.call
            && let Poll::Ready(result) = call.as_mut().poll(context)
        {
            this.result = Some(result);
            this.call = None;
        }
        match this.pieces.poll_recv(context) {
            Poll::Ready(Some(piece)) => Poll::Ready(Some(Ok(piece))),
            Poll::Pending if this.call.is_some() => Poll::Pending,
            _ => Poll::Ready(this.last_word()),
        }
    }
}

impl AnswerStream {
    /// The error, once.
    fn last_word(&mut self) -> Option<Result<Piece>> {
        match &self.result {
            Some(Err(error)) if !self.has_told_error => {
                self.has_told_error = true;
                Some(Err(error.clone()))
            }
            _ => None,
        }
    }
}

struct Teller(mpsc::Sender<Piece>);

impl Listener for Teller {
    fn hear(&mut self, piece: Piece) -> Option<BoxFuture<'_, ()>> {
        match self.0.try_send(piece) {
            Err(TrySendError::Full(piece)) => Some(Box::pin(async move { drop(self.0.send(piece).await) })),
            _ => None,
        }
    }
}
