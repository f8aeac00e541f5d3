//! Runs a tool for a client: checks the arguments, says how far it is, and puts what it gives into words of MCP.
//!
//! Whatever a tool does, its caller gets an answer: a failure, a panic and a refusal are results, too.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use serde_json::{Map, Value};
use superstep_core::message::Content;
use superstep_core::port::{BoxFuture, Invocation, Progress, Watcher};
use superstep_core::tool::{ToolError, ToolOutput};

use super::Offer;
use crate::mcp::content;

/// The most that may be said to a tool.
const ARGUMENTS: usize = 256 * 1024;
/// How many problems of arguments are told.
const PROBLEMS: usize = 10;

/// One call.
pub(super) async fn run(offer: &Offer, id: String, args: Map<String, Value>, progress: Progress) -> CallToolResult {
    let args = match admit(offer, args) {
        Ok(args) => args,
        Err(problem) => return failure(problem),
    };
    let call = Invocation { id, args, progress, host: None };
    let running = unharmed(offer.tool.call(call));
    let output = match offer.tool.spec().timeout {
        None => running.await,
        Some(limit) => match tokio::time::timeout(limit, running).await {
            Ok(output) => output,
            Err(_) => Err(ToolError::new(format!("the tool took longer than {} s", limit.as_secs_f64()))),
        },
    };
    match output {
        Ok(output) => result(output),
        Err(error) if error.passes.is_some() => failure("this tool can only be called within a run".to_owned()),
        Err(error) => failure(error.message),
    }
}

/// The arguments, if they fit.
fn admit(offer: &Offer, args: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let args = Value::Object(args);
    let length = serde_json::to_string(&args).map_or(usize::MAX, |text| text.len());
    if length > ARGUMENTS {
        return Err(format!("the arguments have {length} bytes, and {ARGUMENTS} is the limit"));
    }
    if let Err(faults) = offer.arguments.check(&args) {
        let name = &offer.tool.spec().name;
        let lines = faults.iter().take(PROBLEMS).map(|fault| {
            let place = if fault.pointer.is_empty() { "/" } else { &fault.pointer };
            format!("\n- {place}: {}", fault.message)
        });
        return Err(format!("the arguments do not fit the tool `{name}`:{}", lines.collect::<String>()));
    }
    match args {
        Value::Object(args) => Ok(args),
        _ => Ok(Map::new()),
    }
}

/// A panic of a tool is a failure of it, and of nothing else.
async fn unharmed(call: impl Future<Output = Result<ToolOutput, ToolError>>) -> Result<ToolOutput, ToolError> {
    let mut call = pin!(call);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))) {
        Ok(poll) => poll,
        // What it said is for us and not for whoever called.
        Err(_) => Poll::Ready(Err(ToolError::new("the tool panicked"))),
    })
    .await
}

fn result(output: ToolOutput) -> CallToolResult {
    let content = match (&output.content, &output.artifact, &output.command) {
        (Some(content), ..) => content::blocks(content),
        (None, Some(artifact), _) => content::blocks(&Content::Text(artifact.to_string())),
        (None, None, None) => Vec::new(),
        (None, None, Some(_)) => return failure("this tool can only be called within a run".to_owned()),
    };
    let mut result = if output.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    // The protocol knows structure only as an object.
    result.structured_content = output.artifact.filter(Value::is_object);
    result
}

fn failure(message: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// Where a tool says to a client how far it is.
pub(super) struct Teller {
    client: Peer<RoleServer>,
    token: ProgressToken,
    said: Mutex<f64>,
}

impl Teller {
    /// Tells the client of the call that has this token.
    pub(super) fn to(client: Peer<RoleServer>, token: Option<ProgressToken>) -> Progress {
        let teller = |token| Progress::to(Arc::new(Self { client, token, said: Mutex::new(0.0) }));
        token.map(teller).unwrap_or_default()
    }

    /// A number is how far it is, an object may say `progress`, `total` and `message`, anything else is a message.
    fn words(&self, value: &Value) -> ProgressNotificationParam {
        let (number, message) = match value {
            Value::Number(number) => (number.as_f64(), None),
            Value::Object(fields) if fields.contains_key("progress") => {
                (fields["progress"].as_f64(), fields.get("message").and_then(Value::as_str).map(str::to_owned))
            }
            Value::String(text) => (None, Some(text.clone())),
            other => (None, Some(other.to_string())),
        };
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        // The protocol wants a number that grows.
        *said = number.unwrap_or(*said + 1.0);
        let mut words = ProgressNotificationParam::new(self.token.clone(), *said);
        words.total = value.get("total").and_then(Value::as_f64);
        words.message = message;
        words
    }
}

impl Watcher for Teller {
    fn progress(&self, value: Value) -> BoxFuture<'_, ()> {
        let words = self.words(&value);
        Box::pin(async move {
            // Progress is news: nobody fails because it is not heard.
            let _ = self.client.notify_progress(words).await;
        })
    }
}
