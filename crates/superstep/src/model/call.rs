//! How a node asks a model: pieces reach whoever watches, the cost is counted, and the answer says who gave it.

use std::borrow::Cow;
use std::future::IntoFuture;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use superstep_core::error::Result;
use superstep_core::id::{RunId, derive};
use superstep_core::message::{MessageId, close_unanswered};
use superstep_core::model::{Answer, AnswerFormat, Piece, Request, ToolChoice, estimate};
use superstep_core::port::{BoxFuture, Listener, Pieces, SharedModel};
use superstep_core::tool::ToolSpec;

use super::redacted::{Redacted, redact_request};
use crate::context::{Cx, Kind};
use crate::extract::Writer;
use crate::stream::{HIDDEN, ModelCall, ModelEvent, NO_STREAM};
use crate::telemetry::watched_model;

/// A call of a model in the making. Await it for the answer.
///
/// ```
/// use superstep::model::{Scripted, SharedModel};
/// use superstep::prelude::*;
///
/// #[derive(State, Clone, Serialize, Deserialize)]
/// struct Chat {
///     #[reduce(messages)]
///     messages: Messages,
/// }
///
/// async fn think(chat: View<Chat>, model: Ctx<SharedModel>, cx: Cx) -> Result<ChatUpdate, NodeError> {
///     let answer = cx.model(&model).messages(&chat.messages).temperature(0.0).await?;
///     Ok(Chat::update().messages(answer.message))
/// }
///
/// let mut graph = Graph::<Chat, SharedModel>::new("chat");
/// let think = graph.node("think", think);
/// graph.edge(START, think).edge(think, END);
/// let chat = graph.compile()?;
/// let done = chat.run(Chat::input().messages("Hi")).context(Scripted::new(["Hello!"]).into()).wait()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "Hello!");
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "a model is only asked when the call is awaited"]
pub struct Asked {
    pub(crate) cx: Cx,
    pub(crate) model: SharedModel,
    pub(crate) request: Request,
    tags: Vec<String>,
}

impl Cx {
    /// Asks a model. What it says is streamed to whoever watches the run, and its tokens count against the run's budget.
    pub fn model(&self, model: &SharedModel) -> Asked {
        Asked { cx: self.clone(), model: model.clone(), request: Request::default(), tags: Vec::new() }
    }
}

impl Writer {
    /// Asks a model, as [`Cx::model`].
    pub fn model(&self, model: &SharedModel) -> Asked {
        self.0.model(model)
    }
}

impl Asked {
    /// Asks all of this, in place of what was set before.
    pub fn request(mut self, request: impl Into<Request>) -> Self {
        self.request = request.into();
        self
    }

    /// Adds what was said so far.
    pub fn messages(mut self, messages: impl Into<Request>) -> Self {
        self.request.messages.extend(messages.into().messages);
        self
    }

    /// Adds what the model is told to be, in front of all that was said.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.request.messages.insert(0, Arc::new(superstep_core::message::Message::system(text.into())));
        self
    }

    /// Adds tools that the model may ask for.
    pub fn tools<T: Into<Arc<ToolSpec>>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.request = self.request.tools(tools);
        self
    }

    /// Says whether the model must ask for tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.request.tool_choice = choice;
        self
    }

    /// Sets how much chance there is in the answer.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.request.temperature = Some(temperature);
        self
    }

    /// Sets the longest answer, in tokens.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.request.max_tokens = Some(tokens);
        self
    }

    /// A label of this call for streams; `nostream` keeps its words out of them while they come, `hidden` the whole call.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// An answer of a type: its JSON Schema is asked for, and the answer is checked against it.
    ///
    /// # Errors
    /// As awaiting the call, and when the answer is not of the type.
    pub async fn structured<T: DeserializeOwned + schemars::JsonSchema>(mut self) -> Result<T> {
        let format = AnswerFormat::of::<T>();
        self.request.format = Some(format.clone());
        let answer = self.await?;
        answer.check(&format)?;
        answer.parse()
    }

    /// What is asked, in words that may be told.
    pub(crate) fn told(&self) -> Request {
        let request = self.request.clone();
        self.cx.0.shared.told_without().fold(request, |request, redaction| redact_request(redaction, request))
    }

    pub(crate) async fn ask(self) -> Result<Answer> {
        let Self { cx, mut model, mut request, tags } = self;
        // Providers refuse a list in which a call is left open.
        if let Cow::Owned(closed) = close_unanswered(&request.messages, "the run went on without it") {
            request.messages = closed;
        }
        if let Some(redaction) = cx.0.shared.redaction() {
            request = redact_request(redaction, request);
            model = Redacted::new(model, redaction.clone()).into();
        }
        let call = Arc::new(call(&cx, &model, tags));
        let request = Arc::new(request);
        let mut told = Told { cx: &cx, call: &call, index: 0 };
        told.tell(ModelEvent::Started { request: request.clone() }).await;
        let is_heard = told.is_heard();
        let mut pieces = if is_heard { Pieces::to(&mut told) } else { Pieces::unheard() };
        let answered = model.answer(&request, &mut pieces).await;
        let answered = answered.and_then(|answer| stamped(&cx, &call, &request, answer));
        match answered {
            Ok(answer) => {
                if cx.0.shared.sink.as_ref().is_some_and(|sink| sink.wants(|interest| interest.calls)) {
                    told.tell(ModelEvent::Ended { answer: Arc::new(answer.clone()) }).await;
                }
                Ok(answer)
            }
            Err(error) => {
                told.tell(ModelEvent::Failed { error: error.clone() }).await;
                Err(error)
            }
        }
    }
}

impl IntoFuture for Asked {
    type Output = Result<Answer>;
    type IntoFuture = BoxFuture<'static, Result<Answer>>;

    fn into_future(self) -> Self::IntoFuture {
        match self.cx.0.shared.watch.clone() {
            None => Box::pin(self.ask()),
            Some(watch) => Box::pin(watched_model(watch, self)),
        }
    }
}

/// The call, with ids that are the same when the node runs again after a crash. Each attempt has its own: what one said
/// before it failed is not continued by the next.
fn call(cx: &Cx, model: &SharedModel, tags: Vec<String>) -> ModelCall {
    let place = cx.0.cell.number(Kind::Model);
    let task = cx.task_id();
    let (number, attempt) = (place.number.to_le_bytes(), cx.attempt().to_le_bytes());
    let id = derive(&[b"model", &task.bits().to_le_bytes(), place.step.as_bytes(), &number, &attempt]);
    let message = MessageId::from(format!("run-{}", RunId::from_bits(id)));
    let (node, step) = (cx.node().into(), cx.step());
    ModelCall { id: RunId::from_bits(id), node, task, step, model: model.info(), message, tags }
}

/// The answer with its id, who gave it, and what it cost; the cost is counted.
fn stamped(cx: &Cx, call: &ModelCall, request: &Request, mut answer: Answer) -> Result<Answer> {
    let message = &mut answer.message;
    // Its pieces were told under this id, whatever the provider calls it.
    if let Some(theirs) = message.id.replace(call.message.clone()).filter(|id| *id != call.message) {
        message.metadata.entry("provider_id".to_owned()).or_insert_with(|| theirs.as_str().into());
    }
    if let Ok(info) = serde_json::to_value(&answer.model) {
        message.metadata.insert("model".to_owned(), info);
    }
    if message.usage.is_none() {
        message.usage = Some(estimate(request, message));
    }
    let tokens = message.usage.as_ref().map_or(0, |usage| usage.total_tokens);
    cx.0.shared.spent.count(cx, &answer);
    cx.spend(tokens)?;
    Ok(answer)
}

/// Tells whoever watches the run.
struct Told<'a> {
    cx: &'a Cx,
    call: &'a Arc<ModelCall>,
    index: u64,
}

impl Told<'_> {
    /// Whether anybody wants the answer piece by piece.
    fn is_heard(&self) -> bool {
        let shared = &self.cx.0.shared;
        let node = self.cx.node();
        shared.sink.as_ref().is_some_and(|sink| sink.hears(|interest| interest.pieces))
            && !self.call.tags.iter().any(|tag| tag == NO_STREAM || tag == HIDDEN)
            && shared.graph.as_ref().is_some_and(|graph| !graph.silences(node) && !graph.hides(node))
    }

    async fn tell(&self, what: ModelEvent) {
        let is_hidden = self.call.tags.iter().any(|tag| tag == HIDDEN);
        if let Some(sink) = self.cx.0.shared.sink.as_ref().filter(|_| !is_hidden) {
            Box::pin(sink.model(self.cx, self.call, what)).await;
        }
    }
}

impl Listener for Told<'_> {
    fn hear(&mut self, piece: Piece) -> Option<BoxFuture<'_, ()>> {
        let index = self.index;
        self.index += 1;
        self.cx.heartbeat_if_watched();
        let sink = self.cx.0.shared.sink.as_ref()?;
        let late = sink.try_piece(self.cx, self.call, ModelEvent::Piece { piece, index })?;
        Some(Box::pin(sink.model(self.cx, self.call, late)))
    }
}
