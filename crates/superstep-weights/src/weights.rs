//! `local/weights`: the model that users open and add to a graph. Unsupported requests are rejected instead of
//! being partly ignored.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::message::{Content, ContentPart, Message, Role, TokenUsage};
use superstep_core::model::{ChatRequest, ChatResponse, ModelErrorKind, ModelInfo, ModelKind, ToolChoice};
use superstep_core::port::{ChunkSender, Model};

use crate::engine::{Engine, Failure, GenerationRequest};
use crate::sampler::Sampler;
use crate::tokens::ChatMlMessage;
use crate::worker::{ResponseEvent, Worker, thread_ended_error};

/// Environment variable with the path of a weights file.
pub const VARIABLE: &str = "SUPERSTEP_WEIGHTS";

/// Default maximum length of a response in tokens.
const DEFAULT_MAX_TOKENS: u32 = 256;

const MISSING_FILE_HELP: &str = "set `SUPERSTEP_WEIGHTS` to the path of a GGUF file; in the superstep repository, \
                                 `cargo xtask model` downloads a small one and prints its path";

/// A language model that runs in this process, from a GGUF file.
///
/// Its weights are in memory once, converted to 8 bits each, and one thread of its own executes requests one at a
/// time, in their order of arrival. Without a temperature the response is always the same on a machine; with one,
/// it is the same for a seed, and requests without a seed each get a different one.
///
/// # Cancel safety
/// Dropping a response in progress stops its generation within a token.
pub struct Weights {
    info: ModelInfo,
    worker: Worker,
    request_count: AtomicU64,
}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weights({})", self.info)
    }
}

impl Weights {
    /// Opens a file. Reads and converts all of it, which blocks for some seconds; call it before the runtime
    /// starts, or on a thread that may block.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, is corrupt, or is of an unsupported kind.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = existing_file(path.as_ref())?;
        let (engine, name) =
            Engine::open(path).map_err(|reason| unusable_file_error(unusable_file_message(path, &reason)))?;
        Self::start(path, name, || Ok(engine))
    }

    /// Opens a file lazily: reads only the header, which is fast, and loads the rest at the first request, on the
    /// inference thread. For programs that may never call the model.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, or if its header is corrupt or of an unsupported kind. Errors
    /// in the rest of the file are returned by the requests.
    pub fn lazy(path: impl AsRef<Path>) -> Result<Self> {
        let path = existing_file(path.as_ref())?;
        let name = Engine::name(path).map_err(|reason| unusable_file_error(unusable_file_message(path, &reason)))?;
        let lazy_path = path.to_owned();
        Self::start(path, name, move || {
            Engine::open(&lazy_path)
                .map(|(engine, _)| engine)
                .map_err(|reason| unusable_file_message(&lazy_path, &reason))
        })
    }

    /// Opens the file that the environment names (`SUPERSTEP_WEIGHTS`); see [`Weights::open`].
    ///
    /// # Errors
    /// Returns an error if the variable is not set, or if the file cannot be used.
    pub fn from_env() -> Result<Self> {
        Self::open(path_from_env()?)
    }

    /// Opens the file that the environment names lazily; see [`Weights::lazy`].
    ///
    /// # Errors
    /// Returns an error if the variable is not set, or if the file cannot be used.
    pub fn lazy_from_env() -> Result<Self> {
        Self::lazy(path_from_env()?)
    }

    fn start(
        path: &Path,
        name: Option<String>,
        load: impl FnOnce() -> std::result::Result<Engine, String> + Send + 'static,
    ) -> Result<Self> {
        let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let info = ModelInfo::new("local", name.unwrap_or_else(stem), ModelKind::Weights);
        Ok(Self { info, worker: Worker::start(load)?, request_count: AtomicU64::new(0) })
    }

    fn generation_request(&self, request: &ChatRequest) -> Result<GenerationRequest> {
        let reject = |reason: &str, help: &str| {
            let message = format!("model `{}/{}` {reason}", self.info.provider, self.info.name);
            Err(Error::new(ErrorCode::ConfigInvalid, message).with_help(help))
        };
        if !request.tools.is_empty() || matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) {
            return reject("does not support tools", "omit the tools, or use a model that supports them");
        }
        if request.format.is_some() {
            return reject(
                "does not support a response format",
                "omit the format, or use a model that supports schemas",
            );
        }
        if request.max_tokens == Some(0) {
            return reject("cannot generate a response with `max_tokens` 0", "set `max_tokens` to 1 or more");
        }
        let Some(messages) = request.messages.iter().map(|message| to_chat_ml(message)).collect() else {
            return reject("supports only text", "omit images, audio and files, or use a model that supports them");
        };
        Ok(GenerationRequest {
            messages,
            sampler: Sampler::new(request, self.request_count.fetch_add(1, Ordering::Relaxed))?,
            max_output_tokens: request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS) as usize,
            stop_sequences: request.stop.clone(),
        })
    }

    fn to_error(&self, failure: Failure) -> Error {
        match failure {
            Failure::TooLong { tokens, context } => {
                let message = format!("the messages have {tokens} tokens; the context window has {context}");
                ModelErrorKind::ContextLengthExceeded.error(&self.info, message)
            }
            Failure::Model(reason) => ModelErrorKind::InvalidResponse.error(&self.info, reason).with_retryable(false),
            Failure::Unusable(message) => unusable_file_error(message),
            Failure::Panicked => Error::internal("inference panicked"),
            // The caller has dropped the request, so it never receives this error.
            Failure::Cancelled => thread_ended_error(),
        }
    }
}

impl Model for Weights {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let mut events = self.worker.submit(self.generation_request(request)?)?;
        let mut text = String::new();
        loop {
            match events.recv().await.ok_or_else(thread_ended_error)? {
                ResponseEvent::Text(chunk) => {
                    out.text(&chunk).await;
                    text.push_str(&chunk);
                }
                ResponseEvent::End(end) => {
                    let end = end.map_err(|failure| self.to_error(failure))?;
                    let usage = TokenUsage::new(end.input_tokens as u64, end.output_tokens as u64);
                    let response = ChatResponse::new(Message::assistant(text), self.info());
                    return Ok(response.with_stop(end.stop).with_usage(usage));
                }
            }
        }
    }
}

/// Returns the path in the environment variable.
fn path_from_env() -> Result<OsString> {
    let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
    path.ok_or_else(|| {
        Error::new(ErrorCode::ConfigInvalid, format!("`{VARIABLE}` is not set")).with_help(MISSING_FILE_HELP)
    })
}

fn existing_file(path: &Path) -> Result<&Path> {
    match path.is_file() {
        true => Ok(path),
        false => {
            let message = format!("weights file `{}` not found", path.display());
            Err(Error::new(ErrorCode::ConfigInvalid, message).with_help(MISSING_FILE_HELP))
        }
    }
}

fn unusable_file_message(path: &Path, reason: &str) -> String {
    format!("`{}` is not a usable weights file: {reason}", path.display())
}

fn unusable_file_error(message: String) -> Error {
    Error::new(ErrorCode::ConfigInvalid, message).with_help(
        "use a complete GGUF file of a ChatML llama model, such as SmolLM2; `cargo xtask model` downloads one",
    )
}

/// Converts a message to ChatML; `None` if it contains more than text. Tool calls and results, which ChatML cannot
/// represent, become text.
fn to_chat_ml(message: &Message) -> Option<ChatMlMessage> {
    if let Content::Parts(parts) = &message.content
        && !parts.iter().all(|part| matches!(part, ContentPart::Text { .. }))
    {
        return None;
    }
    let text = message.text();
    let (role, text) = match message.role {
        Role::System => ("system", text.into_owned()),
        Role::Assistant => {
            let calls =
                message.tool_calls.iter().map(|call| format!("I call the tool `{}` with {}.", call.name, call.args));
            let content = (!text.is_empty()).then(|| text.into_owned());
            ("assistant", content.into_iter().chain(calls).collect::<Vec<_>>().join("\n"))
        }
        Role::Tool => {
            let name = message.name.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default();
            ("user", format!("The tool{name} answered: {text}"))
        }
        _ => ("user", text.into_owned()),
    };
    Some(ChatMlMessage { role, text })
}

#[cfg(test)]
mod tests {
    use superstep_core::message::ToolCall;

    use super::*;

    #[test]
    fn tool_calls_and_results_become_text() {
        let call = ToolCall::new("1", "weather", serde_json::json!({"city": "Paris"}));
        let check = |message: Message, role: &'static str, text: &str| {
            assert_eq!(to_chat_ml(&message), Some(ChatMlMessage { role, text: text.to_owned() }));
        };
        check(
            Message::assistant("Let me look.").with_tool_calls([call]),
            "assistant",
            "Let me look.\nI call the tool `weather` with {\"city\":\"Paris\"}.",
        );
        check(Message::tool("1", "sunny").with_name("weather"), "user", "The tool `weather` answered: sunny");
        check(Message::system("Be short."), "system", "Be short.");
        assert_eq!(to_chat_ml(&Message::user(vec![ContentPart::Other(serde_json::json!({"type": "image"}))])), None);
    }
}
