//! The door to models, with servers on this machine that speak as the providers do.

mod anthropic;
mod faults;
mod google;
mod openai;
mod relatives;
mod server;
mod settings;

use serde_json::{Value, json};
use superstep_adapters::models::Provider;
use superstep_core::error::Result;
use superstep_core::message::{Message, ToolCall};
use superstep_core::model::{Answer, Piece, Request};
use superstep_core::port::{BoxFuture, Listener, Model, Pieces};
use superstep_core::tool::ToolSpec;

/// A key that must never be seen outside of a request's head.
const KEY: &str = "sk-very-secret-0123456789";

/// One that remembers what it heard.
#[derive(Default)]
struct Ear(Vec<Piece>);

impl Listener for Ear {
    fn hear(&mut self, piece: Piece) -> Option<BoxFuture<'_, ()>> {
        self.0.push(piece);
        None
    }
}

/// Asks while somebody listens.
async fn listen(model: &Provider, request: &Request) -> (Result<Answer>, Vec<Piece>) {
    let mut ear = Ear::default();
    let answer = model.answer(request, &mut Pieces::to(&mut ear)).await;
    (answer, ear.0)
}

/// Asks while nobody listens.
async fn ask(model: &Provider, request: &Request) -> Result<Answer> {
    model.answer(request, &mut Pieces::unheard()).await
}

/// Asks while somebody listens; what was heard, joined, must be the answer.
async fn heard(model: &Provider, request: &Request) -> (Answer, Vec<Piece>) {
    let (answer, pieces) = listen(model, request).await;
    let answer = answer.unwrap();
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::<(String, String, String)>::new());
    for piece in &pieces {
        match piece {
            Piece::Text(more) => text.push_str(more),
            Piece::Reasoning(more) => reasoning.push_str(more),
            Piece::ToolCall(piece) => {
                if piece.index == calls.len() {
                    calls.push((piece.id.clone().unwrap(), piece.name.clone().unwrap(), String::new()));
                }
                calls[piece.index].2.push_str(&piece.args);
            }
            other => panic!("{other:?}"),
        }
    }
    let told = answer.message.metadata.get("reasoning").and_then(Value::as_str).unwrap_or_default();
    assert_eq!((text.as_str(), reasoning.as_str()), (&*answer.message.text(), told));
    assert_eq!(calls.len(), answer.message.tool_calls.len());
    for ((id, name, args), call) in calls.iter().zip(&answer.message.tool_calls) {
        assert_eq!((id, name), (&call.id, &call.name));
        let read = if args.is_empty() { json!({}) } else { serde_json::from_str(args).unwrap_or(args.clone().into()) };
        assert_eq!(read, call.args);
    }
    (answer, pieces)
}

/// The tool that every provider is told of.
fn weather() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    ToolSpec::new("weather", "How the weather is.").with_input(schema)
}

/// A conversation with everything in it: two calls, one that failed, and one that nobody answered.
fn conversation() -> Vec<Message> {
    let call = |id: &str, city: &str| ToolCall::new(id, "weather", json!({"city": city}));
    vec![
        Message::system("Be short."),
        Message::user("Weather in Paris, Rome and Oslo?"),
        Message::assistant("I look.").with_tool_calls([call("a", "Paris"), call("b", "Rome"), call("c", "Oslo")]),
        Message::tool("a", "sunny"),
        Message::tool("b", "no such city").with_status(superstep_core::message::ToolStatus::Error),
        Message::user("Well?"),
    ]
}

/// The ids, names and arguments of the calls of an answer.
fn calls(answer: &Answer) -> Vec<(&str, &str, Value)> {
    let calls = answer.message.tool_calls.iter();
    calls.map(|call| (call.id.as_str(), call.name.as_str(), call.args.clone())).collect()
}
