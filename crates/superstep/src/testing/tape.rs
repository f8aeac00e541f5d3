//! A run on tape: what its models and tools said, written down once and given again in tests.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::canonical::sorted;
use superstep_core::error::{Code, Error, Result};
use superstep_core::message::Message;
use superstep_core::model::{Answer, ModelInfo, Request};
use superstep_core::port::{Invocation, Model, Pieces, SharedModel, SharedTool, Tool};
use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};

use crate::context::lock;
use crate::model::{Recorder, Replay};

/// Says that a tape is to be recorded.
const RECORD: &str = "SUPERSTEP_RECORD";
const MODELS: &str = "models.jsonl";
const TOOLS: &str = "tools.jsonl";

/// What models and tools said during a run, in a folder: recorded once with the real ones, then given again, so that the
/// same run happens offline, at once, and to the word.
///
/// A call is found by what is asked: a model by its request, a tool by its name and arguments. What was asked several times
/// is answered in the same order. What was never recorded is refused, and nothing is asked of the real model or tool.
///
/// ```
/// use superstep::model::{ModelExt, Scripted};
/// use superstep::testing::Tape;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("superstep-tape-doc-{}", std::process::id()));
/// let real = Scripted::new(["Noon."]); // in your program: a provider
/// Tape::record(&folder)?.model(real.clone())?.complete("How late is it?").await?;
///
/// let again = Tape::replay(&folder)?.model(real.clone())?;
/// assert_eq!(again.complete("How late is it?").await?.message.text(), "Noon.");
/// assert_eq!(real.requests().len(), 1); // asked once, when it was recorded
/// # let _ = std::fs::remove_dir_all(&folder);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Tape {
    folder: PathBuf,
    /// `None` while it is recorded.
    played: Option<Arc<Played>>,
}

/// What is given again, and how far it is.
#[derive(Default)]
struct Played {
    /// What tools said, by what was asked.
    tools: Mutex<BTreeMap<String, Said>>,
    /// Models by name: who asks for one twice shares its place.
    models: Mutex<BTreeMap<String, SharedModel>>,
}

#[derive(Debug, Default)]
struct Said {
    outputs: Vec<Spoken>,
    asked: usize,
}

/// One call of a tool, as it is written down.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Line {
    tool: String,
    args: Value,
    said: Spoken,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Spoken {
    Output {
        /// In the form of a message, which is the one that contents are read in.
        message: Option<Box<Message>>,
        artifact: Option<Value>,
        is_error: bool,
        metadata: BTreeMap<String, Value>,
    },
    Failure {
        message: String,
        retryable: bool,
    },
}

impl Tape {
    /// Records into a folder, in place of what it held.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn record(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        let begin = || {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(MODELS), "")?;
            std::fs::write(folder.join(TOOLS), "")
        };
        begin().map_err(|error| trouble(&folder, format!("cannot be written: {error}")))?;
        Ok(Self { folder, played: None })
    }

    /// Gives again what a folder holds.
    ///
    /// # Errors
    /// When nothing was recorded there, or it cannot be read.
    pub fn replay(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        let text = std::fs::read_to_string(folder.join(TOOLS)).map_err(|error| match error.kind() {
            ErrorKind::NotFound => trouble(&folder, "nothing is recorded there".to_owned())
                .help(format!("run it once with {RECORD}=1 where it uses `Tape::open`, or with `Tape::record`")),
            _ => trouble(&folder, format!("cannot be read: {error}")),
        })?;
        let mut said: BTreeMap<String, Said> = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line: Line = serde_json::from_str(line)
                .map_err(|error| trouble(&folder, format!("line {} of {TOOLS}: {error}", number + 1)))?;
            said.entry(key(&line.tool, &line.args)).or_default().outputs.push(line.said);
        }
        let played = Played { tools: Mutex::new(said), ..Played::default() };
        Ok(Self { folder, played: Some(Arc::new(played)) })
    }

    /// Records when the environment has `SUPERSTEP_RECORD=1`; gives again otherwise.
    ///
    /// # Errors
    /// As [`record`](Self::record) and [`replay`](Self::replay).
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "a test has no settings file, and is told by whoever starts it")]
        let is_recording = std::env::var(RECORD).is_ok_and(|value| value == "1");
        if is_recording { Self::record(folder) } else { Self::replay(folder) }
    }

    /// A model on this tape. One that was never asked while it was recorded refuses what it is asked now.
    ///
    /// # Errors
    /// When the tape cannot be written, or read.
    pub fn model(&self, model: impl Into<SharedModel>) -> Result<SharedModel> {
        let (model, path) = (model.into(), self.folder.join(MODELS));
        let Some(played) = &self.played else { return Ok(Recorder::open(model, path)?.into()) };
        let info = model.info();
        let name = format!("{}/{}", info.provider, info.name);
        let mut models = lock(&played.models);
        if let Some(known) = models.get(&name) {
            return Ok(known.clone());
        }
        let replay: SharedModel = match Replay::has(&path, &name)? {
            true => Replay::open_model(path, &name)?.into(),
            false => Silent { info, folder: self.folder.clone() }.into(),
        };
        models.insert(name, replay.clone());
        Ok(replay)
    }

    /// A tool on this tape: one that reaches outside. What a tool does to the graph, with a command, is not recorded.
    pub fn tool(&self, tool: impl Into<SharedTool>) -> SharedTool {
        let tool = tool.into();
        let spec = (**tool.spec()).clone();
        SharedTool::from(OnTape { tool, spec, tape: self.clone() })
    }

    fn keep(&self, line: &Line) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| trouble(&self.folder, error.to_string()))?;
        bytes.push(b'\n');
        let append = || OpenOptions::new().append(true).open(self.folder.join(TOOLS))?.write_all(&bytes);
        append().map_err(|error| trouble(&self.folder, format!("cannot be written: {error}")))
    }
}

impl std::fmt::Debug for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tape({}, {})", self.folder.display(), if self.played.is_some() { "played" } else { "recorded" })
    }
}

/// A model that said nothing while the tape was recorded.
struct Silent {
    info: ModelInfo,
    folder: PathBuf,
}

impl Model for Silent {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn answer(&self, _request: &Request, _out: &mut Pieces<'_>) -> Result<Answer> {
        let fact = format!("`{}` was not asked anything when it was recorded", self.info);
        Err(trouble(&self.folder, fact).help("record it again"))
    }
}

struct OnTape {
    tool: SharedTool,
    spec: ToolSpec,
    tape: Tape,
}

impl OnTape {
    async fn record(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        let args = sorted(Value::Object(call.args.clone()));
        let given = self.tool.call(call).await;
        let said = match &given {
            Ok(output) if output.command.is_some() => {
                let fact = format!("`{}` gives a command, which cannot be put on tape", self.spec.name);
                return Err(passing(trouble(&self.tape.folder, fact)));
            }
            Ok(output) => Spoken::Output {
                message: output.content.clone().map(|content| Box::new(Message::tool("", content))),
                artifact: output.artifact.clone(),
                is_error: output.is_error,
                metadata: output.metadata.clone(),
            },
            // A question to a person, or the end of the run: the tool has not spoken.
            Err(error) if error.passes.is_some() => return given,
            Err(error) => Spoken::Failure { message: error.message.clone(), retryable: error.retryable },
        };
        self.tape.keep(&Line { tool: self.spec.name.clone(), args, said }).map_err(passing)?;
        given
    }

    fn replay(&self, said: &Mutex<BTreeMap<String, Said>>, call: &Invocation) -> Result<ToolOutput, ToolError> {
        let args = Value::Object(call.args.clone());
        let mut said = lock(said);
        let known = said.get_mut(&key(&self.spec.name, &args));
        let Some((said, count)) = known.and_then(|said| Some((said.outputs.get(said.asked)?.clone(), &mut said.asked)))
        else {
            let fact = format!("the call {}({args}) was not recorded, or not as often", self.spec.name);
            return Err(passing(trouble(&self.tape.folder, fact).help("record it again")));
        };
        *count += 1;
        match said {
            Spoken::Output { message, artifact, is_error, metadata } => {
                let mut output = ToolOutput::default();
                (output.content, output.artifact) = (message.map(|message| message.content), artifact);
                (output.is_error, output.metadata) = (is_error, metadata);
                Ok(output)
            }
            Spoken::Failure { message, retryable: true } => Err(ToolError::new(message).retryable()),
            Spoken::Failure { message, .. } => Err(ToolError::new(message)),
        }
    }
}

impl Tool for OnTape {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        match &self.tape.played {
            None => self.record(call).await,
            Some(played) => self.replay(&played.tools, &call),
        }
    }
}

/// The name under which a call is found.
fn key(tool: &str, args: &Value) -> String {
    format!("{tool} {}", sorted(args.clone()))
}

/// Not for the model: the test is wrong.
fn passing(error: Error) -> ToolError {
    let message = error.message().to_owned();
    ToolError { passes: Some(Box::new(crate::NodeError::from(error))), ..ToolError::new(message) }
}

fn trouble(folder: &Path, fact: String) -> Error {
    Error::new(Code::ConfigInvalid, format!("the tape `{}`: {fact}", folder.display()))
}
