//! Models without providers: scripts, recordings, rules, and what stands around a model.

mod around;
mod budgets;
mod prompts;
mod replaying;
mod rules;
mod scripts;
mod streaming;
mod trials;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::Result;
use superstep::core::port::{BoxFuture, Clock};
use superstep::model::{
    Answer, Listener, Model, ModelInfo, ModelKind, Piece, Pieces, Request, Scripted, SharedModel, ToolCallPiece,
};

/// A script that says of itself to be a model behind an address.
#[derive(Clone)]
pub(crate) struct Remote(pub(crate) &'static str, pub(crate) Scripted);

impl Model for Remote {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", self.0, ModelKind::Remote)
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let mut answer = self.1.answer(request, out).await?;
        answer.model = self.info();
        Ok(answer)
    }
}

/// Somebody who remembers everything.
#[derive(Default)]
pub(crate) struct Ear(pub(crate) Vec<Piece>);

impl Listener for Ear {
    fn hear(&mut self, piece: Piece) -> Option<BoxFuture<'_, ()>> {
        self.0.push(piece);
        None
    }
}

impl Ear {
    pub(crate) fn texts(&self) -> Vec<&str> {
        let texts = self.0.iter().filter_map(|piece| if let Piece::Text(text) = piece { Some(&**text) } else { None });
        texts.collect()
    }

    pub(crate) fn calls(&self) -> Vec<&ToolCallPiece> {
        let calls = self.0.iter().filter_map(|piece| if let Piece::ToolCall(call) = piece { Some(call) } else { None });
        calls.collect()
    }
}

/// Asks with somebody listening.
pub(crate) async fn heard(model: impl Into<SharedModel>, request: impl Into<Request>) -> (Ear, Result<Answer>) {
    let mut ear = Ear::default();
    let answer = model.into().answer(&request.into(), &mut Pieces::to(&mut ear)).await;
    (ear, answer)
}

/// A clock on which nothing takes time, and that knows for how long everybody wanted to wait.
#[derive(Clone, Default)]
pub(crate) struct Waits(Arc<Mutex<Vec<Duration>>>);

impl Waits {
    pub(crate) fn millis(&self) -> Vec<u128> {
        self.0.lock().unwrap().iter().map(Duration::as_millis).collect()
    }
}

impl Clock for Waits {
    fn now(&self) -> i64 {
        0
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(time);
        Box::pin(std::future::ready(()))
    }
}
