//! `local/weights`: the model that users open and hand to a graph. Says what it cannot do instead of leaving it out.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use superstep_core::error::{Code, Error, Result};
use superstep_core::message::{Content, Message, Part, Role, Usage};
use superstep_core::model::{Answer, ModelInfo, ModelKind, Request, ToolChoice, Trouble};
use superstep_core::port::{Model, Pieces};

use crate::engine::{Engine, Failure, Question};
use crate::sampler::Sampler;
use crate::tokens::Turn;
use crate::worker::{Said, Worker, gone};

/// The variable of the environment that names a file of weights.
pub const VARIABLE: &str = "SUPERSTEP_WEIGHTS";

/// The longest answer unless the request says otherwise, in tokens.
const MOST_TOKENS: u32 = 256;

const HOW_TO_GET: &str = "set `SUPERSTEP_WEIGHTS` to a GGUF file that you have; in the repository of superstep \
                          `cargo xtask model` gets a small one and prints its path";

/// A language model that runs in this process, out of a GGUF file.
///
/// Its weights are in memory once, converted to 8 bits each, and one thread of its own runs it, one request at a time, in the
/// order of asking. Without a temperature an answer is always the same on a machine; with one, it is the same for a seed, and
/// requests without a seed each get another.
///
/// # Cancel safety
/// Whoever drops an answer that is under way stops it within a token.
pub struct Weights {
    info: ModelInfo,
    worker: Worker,
    asked: AtomicU64,
}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weights({})", self.info)
    }
}

impl Weights {
    /// Opens a file. Reads and converts all of it, which takes some seconds; call it before the runtime has work to do, or
    /// where it may block.
    ///
    /// # Errors
    /// When there is no such file, or it is damaged, or of a kind that is not understood.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = there(path.as_ref())?;
        let (engine, name) = Engine::open(path).map_err(|problem| unusable(fact(path, &problem)))?;
        Self::start(path, name, || Ok(engine))
    }

    /// Looks at the head of a file, which takes no time, and reads the rest of it when the first question comes, on the thread
    /// that answers. For programs that may not ask at all.
    ///
    /// # Errors
    /// When there is no such file, or its head is damaged, or of a kind that is not understood. What is wrong further behind
    /// is the error of whoever asks.
    pub fn lazy(path: impl AsRef<Path>) -> Result<Self> {
        let path = there(path.as_ref())?;
        let name = Engine::name(path).map_err(|problem| unusable(fact(path, &problem)))?;
        let later = path.to_owned();
        Self::start(path, name, move || {
            Engine::open(&later).map(|(engine, _)| engine).map_err(|problem| fact(&later, &problem))
        })
    }

    /// Opens the file that the environment names (`SUPERSTEP_WEIGHTS`); see [`Weights::open`].
    ///
    /// # Errors
    /// When it names none, or what it names cannot be used.
    pub fn from_env() -> Result<Self> {
        Self::open(named()?)
    }

    /// The same file, read when the first question comes; see [`Weights::lazy`].
    ///
    /// # Errors
    /// When the environment names none, or what it names cannot be used.
    pub fn lazy_from_env() -> Result<Self> {
        Self::lazy(named()?)
    }

    fn start(
        path: &Path,
        name: Option<String>,
        load: impl FnOnce() -> std::result::Result<Engine, String> + Send + 'static,
    ) -> Result<Self> {
        let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let info = ModelInfo::new("local", name.unwrap_or_else(stem), ModelKind::Weights);
        Ok(Self { info, worker: Worker::start(load)?, asked: AtomicU64::new(0) })
    }

    fn question(&self, request: &Request) -> Result<Question> {
        let refused = |what: &str, help: &str| {
            let fact = format!("model `{}/{}` {what}", self.info.provider, self.info.name);
            Err(Error::new(Code::ConfigInvalid, fact).help(help))
        };
        if !request.tools.is_empty() || matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) {
            return refused("knows no tools", "ask without tools, or use a model that knows them");
        }
        if request.format.is_some() {
            return refused("cannot be held to a format", "ask without one, or use a model that knows schemas");
        }
        if request.max_tokens == Some(0) {
            return refused("is asked for no tokens at all", "let the answer have one token or more");
        }
        let Some(turns) = request.messages.iter().map(|message| turn(message)).collect() else {
            return refused("reads only text", "leave out pictures, sounds and files, or use a model that reads them");
        };
        Ok(Question {
            turns,
            sampler: Sampler::new(request, self.asked.fetch_add(1, Ordering::Relaxed))?,
            most_tokens: request.max_tokens.unwrap_or(MOST_TOKENS) as usize,
            stops: request.stop.clone(),
        })
    }

    fn failed(&self, failure: Failure) -> Error {
        match failure {
            Failure::TooLong { tokens, context } => {
                let fact = format!("the messages have {tokens} tokens, and it has {context} in view, answer included");
                Trouble::ContextTooLong.error(&self.info, fact)
            }
            Failure::Broken(problem) => Trouble::BadAnswer.error(&self.info, problem).retryable(false),
            Failure::Unusable(fact) => unusable(fact),
            Failure::Panicked => Error::internal("running the weights panicked"),
            // Only said to those who no longer listen.
            Failure::Unwanted => gone(),
        }
    }
}

impl Model for Weights {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let mut said = self.worker.ask(self.question(request)?)?;
        let mut text = String::new();
        loop {
            match said.recv().await.ok_or_else(gone)? {
                Said::Text(more) => {
                    out.text(&more).await;
                    text.push_str(&more);
                }
                Said::End(end) => {
                    let end = end.map_err(|failure| self.failed(failure))?;
                    let usage = Usage::new(end.input_tokens as u64, end.output_tokens as u64);
                    let answer = Answer::new(Message::assistant(text), self.info());
                    return Ok(answer.with_stop(end.stop).with_usage(usage));
                }
            }
        }
    }
}

/// The file that the environment names.
fn named() -> Result<OsString> {
    let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
    named.ok_or_else(|| Error::new(Code::ConfigInvalid, format!("`{VARIABLE}` is not set")).help(HOW_TO_GET))
}

fn there(path: &Path) -> Result<&Path> {
    match path.is_file() {
        true => Ok(path),
        false => {
            let fact = format!("there are no weights at `{}`", path.display());
            Err(Error::new(Code::ConfigInvalid, fact).help(HOW_TO_GET))
        }
    }
}

fn fact(path: &Path, problem: &str) -> String {
    format!("`{}` cannot be used as weights: {problem}", path.display())
}

fn unusable(fact: String) -> Error {
    Error::new(Code::ConfigInvalid, fact).help(
        "use a whole GGUF file of a llama model that talks in ChatML, such as SmolLM2; `cargo xtask model` gets one",
    )
}

/// A message as the model can read it; none when it holds more than text. Calls and results of tools, which ChatML has no
/// words for, are told as text.
fn turn(message: &Message) -> Option<Turn> {
    if let Content::Parts(parts) = &message.content
        && !parts.iter().all(|part| matches!(part, Part::Text { .. }))
    {
        return None;
    }
    let text = message.text();
    let (role, text) = match message.role {
        Role::System => ("system", text.into_owned()),
        Role::Assistant => {
            let calls =
                message.tool_calls.iter().map(|call| format!("I call the tool `{}` with {}.", call.name, call.args));
            let said = (!text.is_empty()).then(|| text.into_owned());
            ("assistant", said.into_iter().chain(calls).collect::<Vec<_>>().join("\n"))
        }
        Role::Tool => {
            let name = message.name.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default();
            ("user", format!("The tool{name} answered: {text}"))
        }
        _ => ("user", text.into_owned()),
    };
    Some(Turn { role, text })
}

#[cfg(test)]
mod tests {
    use superstep_core::message::ToolCall;

    use super::*;

    #[test]
    fn what_tools_did_is_told_as_text() {
        let call = ToolCall::new("1", "weather", serde_json::json!({"city": "Paris"}));
        let check = |message: Message, role: &'static str, text: &str| {
            assert_eq!(turn(&message), Some(Turn { role, text: text.to_owned() }));
        };
        check(
            Message::assistant("Let me look.").with_tool_calls([call]),
            "assistant",
            "Let me look.\nI call the tool `weather` with {\"city\":\"Paris\"}.",
        );
        check(Message::tool("1", "sunny").with_name("weather"), "user", "The tool `weather` answered: sunny");
        check(Message::system("Be short."), "system", "Be short.");
        assert_eq!(turn(&Message::user(vec![Part::Other(serde_json::json!({"type": "image"}))])), None);
    }
}
