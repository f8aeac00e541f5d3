//! What a script or a rule answers: text, calls of tools, a whole message, or a failure; told piece by piece.

use serde_json::Value;
use superstep_core::error::{Error, Result};
use superstep_core::message::{Message, ToolCall, Usage};
use superstep_core::model::{Answer, ModelInfo, Request, StopReason, ToolCallPiece, Trouble, estimate};
use superstep_core::port::Pieces;

/// What a script or a rule answers.
///
/// ```
/// use superstep::model::Reply;
///
/// let plain: Reply = "It rains.".into();
/// let asks = Reply::call("weather", serde_json::json!({ "city": "Paris" }));
/// # let _ = (plain, asks);
/// ```
#[derive(Debug, Clone)]
#[must_use = "a reply does nothing until a model gives it"]
pub struct Reply {
    what: What,
    pieces: Option<Vec<String>>,
    stop: Option<StopReason>,
    usage: Option<Usage>,
    breaks_off: Option<Trouble>,
}

#[derive(Debug, Clone)]
enum What {
    Message(Box<Message>),
    Trouble(Trouble, String),
    Error(Error),
}

impl Reply {
    /// A text, told word by word.
    pub fn text(text: impl Into<String>) -> Self {
        Message::assistant(text.into()).into()
    }

    /// A text, told in these pieces.
    pub fn pieces<P: Into<String>>(pieces: impl IntoIterator<Item = P>) -> Self {
        let pieces: Vec<String> = pieces.into_iter().map(Into::into).collect();
        Self { pieces: Some(pieces.clone()), ..Self::text(pieces.concat()) }
    }

    /// Asks for a tool to be run. The call gets the next id that the conversation does not have yet.
    pub fn call(tool: impl Into<String>, args: impl Into<Value>) -> Self {
        Self::text("").and_call(tool, args)
    }

    /// Asks for one more tool to be run. A failure stays one.
    pub fn and_call(self, tool: impl Into<String>, args: impl Into<Value>) -> Self {
        self.with_call(ToolCall::new("", tool, args))
    }

    /// Fails like this, in the name of the model.
    pub fn trouble(trouble: Trouble, fact: impl Into<String>) -> Self {
        What::Trouble(trouble, fact.into()).into()
    }

    /// Says why the answer stops, in place of what it looks like.
    pub fn with_stop(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Says what the answer cost, in place of an estimate.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Tells everything and then fails like this, as a connection that is lost on the way.
    pub fn breaking_off(mut self, trouble: Trouble) -> Self {
        self.breaks_off = Some(trouble);
        self
    }

    fn with_call(mut self, call: ToolCall) -> Self {
        if let What::Message(message) = &mut self.what {
            message.tool_calls.push(call);
        }
        self
    }

    /// Tells the pieces and gives the answer.
    pub(super) async fn give(self, request: &Request, model: ModelInfo, out: &mut Pieces<'_>) -> Result<Answer> {
        let mut message = match self.what {
            What::Message(message) => *message,
            What::Trouble(trouble, fact) => return Err(trouble.error(&model, fact)),
            What::Error(error) => return Err(error),
        };
        name_calls(&mut message, request);
        let usage = self.usage.or_else(|| message.usage.take()).unwrap_or_else(|| estimate(request, &message));
        tell(&message, self.pieces, out).await;
        if let Some(trouble) = self.breaks_off {
            return Err(trouble.error(&model, format!("{trouble} after {} letters", message.text().chars().count())));
        }
        let answer = Answer::new(message, model).with_usage(usage);
        Ok(match self.stop {
            Some(stop) => answer.with_stop(stop),
            None => answer,
        })
    }
}

/// Gives ids to calls that have none: `call_1`, `call_2` and so on, through the whole conversation.
fn name_calls(message: &mut Message, request: &Request) {
    let earlier: usize = request.messages.iter().map(|message| message.tool_calls.len()).sum();
    for (index, call) in message.tool_calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
        call.id = format!("call_{}", earlier + index + 1);
    }
}

/// Tells a message that is whole already: its text in these pieces or word by word, then its calls.
pub(super) async fn tell(message: &Message, pieces: Option<Vec<String>>, out: &mut Pieces<'_>) {
    if !out.wants() {
        return;
    }
    let text = message.text();
    match pieces {
        Some(pieces) => {
            for piece in &pieces {
                out.text(piece).await;
            }
        }
        None => {
            for word in text.split_inclusive(char::is_whitespace) {
                out.text(word).await;
            }
        }
    }
    for (index, call) in message.tool_calls.iter().enumerate() {
        let (id, name) = (Some(call.id.clone()), Some(call.name.clone()));
        out.tool_call(ToolCallPiece { index, id, name, args: String::new() }).await;
        out.tool_call(ToolCallPiece { index, args: call.args.to_string(), ..ToolCallPiece::default() }).await;
    }
}

impl From<What> for Reply {
    fn from(what: What) -> Self {
        Self { what, pieces: None, stop: None, usage: None, breaks_off: None }
    }
}

impl From<Message> for Reply {
    fn from(message: Message) -> Self {
        What::Message(Box::new(message)).into()
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<ToolCall> for Reply {
    fn from(call: ToolCall) -> Self {
        Self::text("").with_call(call)
    }
}

impl From<Trouble> for Reply {
    fn from(trouble: Trouble) -> Self {
        Self::trouble(trouble, trouble.to_string())
    }
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        What::Error(error).into()
    }
}
