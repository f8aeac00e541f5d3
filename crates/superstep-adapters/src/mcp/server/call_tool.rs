//! Calls a tool for a client: validates the arguments, reports progress, and converts the output to MCP.
//!
//! Every call has a result: an error, a panic and invalid arguments are returned to the client as error results.

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
use superstep_core::port::{BoxFuture, ProgressListener, ToolInvocation, ToolProgress};
use superstep_core::tool::{ToolError, ToolOutput};

use super::OfferedTool;
use crate::mcp::content;

/// Maximum size of the arguments in bytes.
const MAX_ARGUMENTS_BYTES: usize = 256 * 1024;
/// Maximum number of argument errors in one result.
const MAX_REPORTED_ERRORS: usize = 10;

/// Runs one call.
pub(super) async fn run(
    offer: &OfferedTool,
    id: String,
    args: Map<String, Value>,
    progress: ToolProgress,
) -> CallToolResult {
    let args = match validate_args(offer, args) {
        Ok(args) => args,
        Err(message) => return failure(message),
    };
    let call = ToolInvocation { id, args, progress, task_context: None };
    let running = catch_panic(offer.tool.call(call));
    let output = match offer.tool.spec().timeout {
        None => running.await,
        Some(limit) => match tokio::time::timeout(limit, running).await {
            Ok(output) => output,
            Err(_) => Err(ToolError::new(format!("the tool timed out after {} s", limit.as_secs_f64()))),
        },
    };
    match output {
        Ok(output) => result(output),
        Err(error) if error.passthrough.is_some() => failure("this tool can only be called within a run".to_owned()),
        Err(error) => failure(error.message),
    }
}

/// Validates the arguments against size limit and schema.
fn validate_args(offer: &OfferedTool, args: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let args = Value::Object(args);
    let length = serde_json::to_string(&args).map_or(usize::MAX, |text| text.len());
    if length > MAX_ARGUMENTS_BYTES {
        return Err(format!("the arguments have {length} bytes; the maximum is {MAX_ARGUMENTS_BYTES}"));
    }
    if let Err(errors) = offer.arguments.check(&args) {
        let name = &offer.tool.spec().name;
        let lines = errors.iter().take(MAX_REPORTED_ERRORS).map(|error| {
            let pointer = if error.pointer.is_empty() { "/" } else { &error.pointer };
            format!("\n- {pointer}: {}", error.message)
        });
        return Err(format!("invalid arguments for the tool `{name}`:{}", lines.collect::<String>()));
    }
    match args {
        Value::Object(args) => Ok(args),
        _ => Ok(Map::new()),
    }
}

/// Converts a panic of a tool to an error.
async fn catch_panic(call: impl Future<Output = Result<ToolOutput, ToolError>>) -> Result<ToolOutput, ToolError> {
    let mut call = pin!(call);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))) {
        Ok(poll) => poll,
        // The panic message is not shown to the client.
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
    // The protocol allows only objects as structured content.
    result.structured_content = output.artifact.filter(Value::is_object);
    result
}

fn failure(message: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// Reporter of the progress of a tool to a client.
pub(super) struct ProgressReporter {
    client: Peer<RoleServer>,
    token: ProgressToken,
    last_progress: Mutex<f64>,
}

impl ProgressReporter {
    /// Returns a progress reporter for the call with this token.
    pub(super) fn to(client: Peer<RoleServer>, token: Option<ProgressToken>) -> ToolProgress {
        let reporter = |token| ToolProgress::new(Arc::new(Self { client, token, last_progress: Mutex::new(0.0) }));
        token.map(reporter).unwrap_or_default()
    }

    /// Converts a progress value: a number is the progress, an object may have `progress`, `total` and `message`, any
    /// other value is a message.
    fn to_notification(&self, value: &Value) -> ProgressNotificationParam {
        let (number, message) = match value {
            Value::Number(number) => (number.as_f64(), None),
            Value::Object(fields) if fields.contains_key("progress") => {
                (fields["progress"].as_f64(), fields.get("message").and_then(Value::as_str).map(str::to_owned))
            }
            Value::String(text) => (None, Some(text.clone())),
            other => (None, Some(other.to_string())),
        };
        let mut last_progress = self.last_progress.lock().unwrap_or_else(PoisonError::into_inner);
        // The protocol requires a growing number: a value without one counts as one more.
        *last_progress = number.unwrap_or(*last_progress + 1.0);
        let mut notification = ProgressNotificationParam::new(self.token.clone(), *last_progress);
        notification.total = value.get("total").and_then(Value::as_f64);
        notification.message = message;
        notification
    }
}

impl ProgressListener for ProgressReporter {
    fn on_progress(&self, value: Value) -> BoxFuture<'_, ()> {
        let notification = self.to_notification(&value);
        Box::pin(async move {
            // A lost notification does not fail the call.
            let _ = self.client.notify_progress(notification).await;
        })
    }
}
