//! Response stream of a model, for use outside of graphs.
//!
//! The stream *is* the call: polling it drives the model, dropping it cancels the call. A slow reader slows the model
//! down; no chunk is skipped, and the buffer is bounded.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use superstep_core::error::{Error, Result};
use superstep_core::model::{ChatRequest, ChatResponse, MessageChunk};
use superstep_core::port::{BoxFuture, ChunkListener, ChunkSender, SharedModel};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Maximum number of buffered chunks; the model waits while the buffer is full.
const BUFFER_CAPACITY: usize = 16;

/// A streaming response. Created by [`ModelExt::stream`](super::ModelExt::stream).
///
/// ```
/// use superstep::models::{ModelExt, MessageChunk, ScriptedModel};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let mut stream = ScriptedModel::new(["It is noon."]).stream("How late is it?");
/// while let Some(chunk) = stream.next().await {
///     if let MessageChunk::Text(text) = chunk? {
///         print!("{text}");
///     }
/// }
/// assert_eq!(stream.finish().await?.message.text(), "It is noon.");
/// # Ok(()) }
/// ```
#[must_use = "a model call makes progress only while its stream is polled"]
pub struct ResponseStream {
    call: Option<BoxFuture<'static, Result<ChatResponse>>>,
    chunks: mpsc::Receiver<MessageChunk>,
    result: Option<Result<ChatResponse>>,
    error_emitted: bool,
}

impl ResponseStream {
    pub(super) fn new(model: SharedModel, request: ChatRequest) -> Self {
        let (sender, chunks) = mpsc::channel(BUFFER_CAPACITY);
        let mut listener = ChannelListener(sender);
        let call = Box::pin(async move { model.generate(&request, &mut ChunkSender::new(&mut listener)).await });
        Self { call: Some(call), chunks, result: None, error_emitted: false }
    }

    /// Returns the next chunk, or `None` at the end of the response. An error is the last item.
    ///
    /// # Cancel safety
    /// Dropping the future loses no chunk; the next call returns it.
    pub async fn next(&mut self) -> Option<Result<MessageChunk>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the complete response, after consuming the remaining chunks.
    ///
    /// # Errors
    /// Returns the error of the model, also if the stream has already returned it.
    pub async fn finish(mut self) -> Result<ChatResponse> {
        while self.next().await.is_some() {}
        self.result.unwrap_or_else(|| Err(Error::internal("the stream ended without a response")))
    }
}

impl Stream for ResponseStream {
    type Item = Result<MessageChunk>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<MessageChunk>>> {
        let this = &mut *self;
        if let Poll::Ready(Some(chunk)) = this.chunks.poll_recv(context) {
            return Poll::Ready(Some(Ok(chunk)));
        }
        if let Some(call) = &mut this.call
            && let Poll::Ready(result) = call.as_mut().poll(context)
        {
            this.result = Some(result);
            this.call = None;
        }
        match this.chunks.poll_recv(context) {
            Poll::Ready(Some(chunk)) => Poll::Ready(Some(Ok(chunk))),
            Poll::Pending if this.call.is_some() => Poll::Pending,
            _ => Poll::Ready(this.take_error()),
        }
    }
}

impl ResponseStream {
    /// Returns the error on the first call.
    fn take_error(&mut self) -> Option<Result<MessageChunk>> {
        match &self.result {
            Some(Err(error)) if !self.error_emitted => {
                self.error_emitted = true;
                Some(Err(error.clone()))
            }
            _ => None,
        }
    }
}

struct ChannelListener(mpsc::Sender<MessageChunk>);

impl ChunkListener for ChannelListener {
    fn on_chunk(&mut self, chunk: MessageChunk) -> Option<BoxFuture<'_, ()>> {
        match self.0.try_send(chunk) {
            Err(TrySendError::Full(chunk)) => Some(Box::pin(async move { drop(self.0.send(chunk).await) })),
            _ => None,
        }
    }
}
