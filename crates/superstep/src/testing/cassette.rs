//! Cassette of a run: responses of its models and tools, recorded once and replayed in tests.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::canonical::sort_keys;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::message::Message;
use superstep_core::model::{ChatRequest, ChatResponse, ModelInfo};
use superstep_core::port::{ChunkSender, Model, SharedModel, SharedTool, Tool, ToolInvocation};
use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};

use crate::engine::context::lock;
use crate::models::{RecordingModel, ReplayModel};

/// Environment variable that enables recording.
const RECORD_VARIABLE: &str = "SUPERSTEP_RECORD";
const MODELS_FILE: &str = "models.jsonl";
const TOOLS_FILE: &str = "tools.jsonl";

/// Responses of models and tools of a run, in a folder: recorded once with the real ones, then replayed, so that the
/// same run happens offline and without delays, with identical content.
///
/// A call is found by its content: a model call by its request, a tool call by name and arguments. Repeated calls get
/// their responses in order. A call that was not recorded is rejected, and the real model or tool is never called.
///
/// ```
/// use superstep::models::{ModelExt, ScriptedModel};
/// use superstep::testing::Cassette;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("superstep-tape-doc-{}", std::process::id()));
/// let real = ScriptedModel::new(["Noon."]); // in your program: a provider
/// Cassette::record(&folder)?.model(real.clone())?.complete("How late is it?").await?;
///
/// let replay = Cassette::replay(&folder)?.model(real.clone())?;
/// assert_eq!(replay.complete("How late is it?").await?.message.text(), "Noon.");
/// assert_eq!(real.requests().len(), 1); // called once, while recording
/// # let _ = std::fs::remove_dir_all(&folder);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Cassette {
    folder: PathBuf,
    /// `None` during recording.
    playback: Option<Arc<Playback>>,
}

/// State of the playback.
#[derive(Default)]
struct Playback {
    /// Tool results by call.
    tools: Mutex<BTreeMap<String, RecordedToolResult>>,
    /// Models by name, so that repeated requests for one model share a position.
    models: Mutex<BTreeMap<String, SharedModel>>,
}

#[derive(Debug, Default)]
struct RecordedToolResult {
    outputs: Vec<RecordedToolOutcome>,
    replayed: usize,
}

/// Recorded tool call.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CassetteLine {
    tool: String,
    args: Value,
    #[serde(rename = "said")]
    outcome: RecordedToolOutcome,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedToolOutcome {
    Output {
        /// Encoded as a message, whose format can represent all kinds of content.
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

impl Cassette {
    /// Records to a folder, and replaces its content.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written.
    pub fn record(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        let create_files = || {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(MODELS_FILE), "")?;
            std::fs::write(folder.join(TOOLS_FILE), "")
        };
        create_files().map_err(|error| cassette_error(&folder, format!("failed to write: {error}")))?;
        Ok(Self { folder, playback: None })
    }

    /// Replays the content of a folder.
    ///
    /// # Errors
    /// Returns an error if nothing was recorded there, or if it cannot be read.
    pub fn replay(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        let text = std::fs::read_to_string(folder.join(TOOLS_FILE)).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                cassette_error(&folder, "the cassette does not exist".to_owned()).with_help(format!(
                    "set {RECORD_VARIABLE}=1 where the test uses `Cassette::open`, or record it with `Cassette::record`"
                ))
            }
            _ => cassette_error(&folder, format!("failed to read: {error}")),
        })?;
        let mut results: BTreeMap<String, RecordedToolResult> = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line: CassetteLine = serde_json::from_str(line)
                .map_err(|error| cassette_error(&folder, format!("line {} of {TOOLS_FILE}: {error}", number + 1)))?;
            results.entry(key(&line.tool, &line.args)).or_default().outputs.push(line.outcome);
        }
        let playback = Playback { tools: Mutex::new(results), ..Playback::default() };
        Ok(Self { folder, playback: Some(Arc::new(playback)) })
    }

    /// Records if the environment contains `SUPERSTEP_RECORD=1`, otherwise replays.
    ///
    /// # Errors
    /// Same as [`record`](Self::record) and [`replay`](Self::replay).
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self> {
        #[expect(
            clippy::disallowed_methods,
            reason = "tests have no settings file; the environment variable \
             configures them"
        )]
        let is_recording = std::env::var(RECORD_VARIABLE).is_ok_and(|value| value == "1");
        if is_recording { Self::record(folder) } else { Self::replay(folder) }
    }

    /// Wraps a model. During playback, a model without recorded calls rejects every request.
    ///
    /// # Errors
    /// Returns an error if the cassette cannot be written or read.
    pub fn model(&self, model: impl Into<SharedModel>) -> Result<SharedModel> {
        let (model, path) = (model.into(), self.folder.join(MODELS_FILE));
        let Some(playback) = &self.playback else { return Ok(RecordingModel::open(model, path)?.into()) };
        let info = model.info();
        let name = format!("{}/{}", info.provider, info.name);
        let mut models = lock(&playback.models);
        if let Some(existing) = models.get(&name) {
            return Ok(existing.clone());
        }
        let replay: SharedModel = match ReplayModel::has_model(&path, &name)? {
            true => ReplayModel::open_model(path, &name)?.into(),
            false => UnrecordedModel { info, folder: self.folder.clone() }.into(),
        };
        models.insert(name, replay.clone());
        Ok(replay)
    }

    /// Wraps a tool with external effects. Commands of a tool are not recorded.
    pub fn tool(&self, tool: impl Into<SharedTool>) -> SharedTool {
        let tool = tool.into();
        let spec = (**tool.spec()).clone();
        SharedTool::from(CassetteTool { tool, spec, cassette: self.clone() })
    }

    fn append_line(&self, line: &CassetteLine) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| cassette_error(&self.folder, error.to_string()))?;
        bytes.push(b'\n');
        let append = || OpenOptions::new().append(true).open(self.folder.join(TOOLS_FILE))?.write_all(&bytes);
        append().map_err(|error| cassette_error(&self.folder, format!("failed to write: {error}")))
    }
}

impl std::fmt::Debug for Cassette {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Cassette({}, {})",
            self.folder.display(),
            if self.playback.is_some() { "played" } else { "recorded" }
        )
    }
}

/// A model without recorded calls.
struct UnrecordedModel {
    info: ModelInfo,
    folder: PathBuf,
}

impl Model for UnrecordedModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn generate(&self, _request: &ChatRequest, _out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let fact = format!("`{}` received no call when the cassette was recorded", self.info);
        Err(cassette_error(&self.folder, fact).with_help("record it again"))
    }
}

struct CassetteTool {
    tool: SharedTool,
    spec: ToolSpec,
    cassette: Cassette,
}

impl CassetteTool {
    async fn record(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let args = sort_keys(Value::Object(call.args.clone()));
        let result = self.tool.call(call).await;
        let outcome = match &result {
            Ok(output) if output.command.is_some() => {
                let fact = format!("`{}` returned a command, which cannot be recorded", self.spec.name);
                return Err(passthrough_error(cassette_error(&self.cassette.folder, fact)));
            }
            Ok(output) => RecordedToolOutcome::Output {
                message: output.content.clone().map(|content| Box::new(Message::tool("", content))),
                artifact: output.artifact.clone(),
                is_error: output.is_error,
                metadata: output.metadata.clone(),
            },
            // An interrupt or the end of the run: the tool has no result.
            Err(error) if error.passthrough.is_some() => return result,
            Err(error) => RecordedToolOutcome::Failure { message: error.message.clone(), retryable: error.retryable },
        };
        self.cassette
            .append_line(&CassetteLine { tool: self.spec.name.clone(), args, outcome })
            .map_err(passthrough_error)?;
        result
    }

    fn replay(
        &self,
        results: &Mutex<BTreeMap<String, RecordedToolResult>>,
        call: &ToolInvocation,
    ) -> Result<ToolOutput, ToolError> {
        let args = Value::Object(call.args.clone());
        let mut results = lock(results);
        let recorded = results.get_mut(&key(&self.spec.name, &args));
        let Some((entry, count)) =
            recorded.and_then(|entry| Some((entry.outputs.get(entry.replayed)?.clone(), &mut entry.replayed)))
        else {
            let fact = format!("the call {}({args}) was not recorded, or was recorded fewer times", self.spec.name);
            return Err(passthrough_error(cassette_error(&self.cassette.folder, fact).with_help("record it again")));
        };
        *count += 1;
        match entry {
            RecordedToolOutcome::Output { message, artifact, is_error, metadata } => {
                let mut output = ToolOutput::default();
                (output.content, output.artifact) = (message.map(|message| message.content), artifact);
                (output.is_error, output.metadata) = (is_error, metadata);
                Ok(output)
            }
            RecordedToolOutcome::Failure { message, retryable: true } => Err(ToolError::new(message).retryable()),
            RecordedToolOutcome::Failure { message, .. } => Err(ToolError::new(message)),
        }
    }
}

impl Tool for CassetteTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        match &self.cassette.playback {
            None => self.record(call).await,
            Some(playback) => self.replay(&playback.tools, &call),
        }
    }
}

/// Returns the key of a call.
fn key(tool: &str, args: &Value) -> String {
    format!("{tool} {}", sort_keys(args.clone()))
}

/// Wraps an error that the model must not receive, because the test is wrong.
fn passthrough_error(error: Error) -> ToolError {
    let message = error.message().to_owned();
    ToolError { passthrough: Some(Box::new(crate::NodeError::from(error))), ..ToolError::new(message) }
}

fn cassette_error(folder: &Path, fact: String) -> Error {
    Error::new(ErrorCode::ConfigInvalid, format!("cassette `{}`: {fact}", folder.display()))
}
