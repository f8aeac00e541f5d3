//! A test model that returns recorded responses, and rejects requests that were not recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::model::{ChatRequest, ChatResponse, ModelInfo};
use superstep_core::port::{ChunkSender, Model};

use super::recording_format::{RecordedCall, differences, key, read, recording_error};
use super::scripted_reply::send_message;
use crate::engine::context::lock;

/// A model that returns the responses of a [`RecordingModel`](super::RecordingModel) file, by request. Clones share
/// their position.
///
/// If the same request was recorded several times, its responses are returned in order, and the last one is repeated.
/// A request that was not recorded is rejected with the differences to the nearest one. Responses name the model that
/// created them when they were recorded.
///
/// ```
/// use superstep::models::{ModelExt, RecordingModel, ReplayModel, ScriptedModel};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// # let path = std::env::temp_dir().join(format!("superstep-replay-{}.jsonl", std::process::id()));
/// let real = ScriptedModel::new(["Noon."]); // in your program: a provider
/// RecordingModel::open(real, &path)?.complete("How late is it?").await?;
///
/// let replay = ReplayModel::open(&path)?;
/// assert_eq!(replay.complete("How late is it?").await?.message.text(), "Noon.");
/// assert!(replay.complete("How late was it?").await.is_err());
/// # let _ = std::fs::remove_file(&path);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ReplayModel(Arc<Inner>);

struct Inner {
    path: PathBuf,
    info: ModelInfo,
    lines: BTreeMap<String, Vec<RecordedCall>>,
    /// Number of calls of each request.
    call_counts: Mutex<BTreeMap<String, usize>>,
    note: Option<String>,
}

impl ReplayModel {
    /// Opens a file with the responses of one model.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is corrupt or empty, or contains responses of several models.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::new(path.as_ref(), None)
    }

    /// Opens the responses of one model, named as `provider/name`, from a file that may contain those of others.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is corrupt, or has no response of this model.
    pub fn open_model(path: impl AsRef<Path>, model: &str) -> Result<Self> {
        Self::new(path.as_ref(), Some(model))
    }

    /// Returns true if a file has responses of this model, named as `provider/name`.
    #[cfg(feature = "testing")]
    pub(crate) fn has_model(path: &Path, model: &str) -> Result<bool> {
        Ok(read(path)?.0.iter().any(|line| name(&line.requested_model) == model))
    }

    /// Returns a note about a partial last line that was skipped when the file was read.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.0.note.as_deref()
    }

    fn new(path: &Path, model: Option<&str>) -> Result<Self> {
        let (lines, note) = read(path)?;
        let names: BTreeSet<String> = lines.iter().map(|line| name(&line.requested_model)).collect();
        let matching = lines.into_iter().filter(|line| model.is_none_or(|model| name(&line.requested_model) == model));
        let matching: Vec<RecordedCall> = matching.collect();
        let Some(info) = matching.first().map(|line| line.requested_model.clone()) else {
            let suffix = model.map(|model| format!(" of `{model}`")).unwrap_or_default();
            return Err(recording_error(path, format!("no recorded responses{suffix}"))
                .with_help(note.unwrap_or(list_models(&names))));
        };
        if model.is_none() && names.len() > 1 {
            let fact = "recorded responses of several models".to_owned();
            return Err(recording_error(path, fact)
                .with_help(format!("select one with `ReplayModel::open_model`; {}", list_models(&names))));
        }
        let mut lines: BTreeMap<String, Vec<RecordedCall>> = BTreeMap::new();
        for line in matching {
            lines.entry(line.key().to_owned()).or_default().push(line);
        }
        Ok(Self(Arc::new(Inner { path: path.to_owned(), info, lines, call_counts: Mutex::default(), note })))
    }

    fn unknown(&self, request: &Value) -> Error {
        let recorded = self.0.lines.values().flatten().map(|line| &line.request);
        let fact = format!(
            "model `{}`: no match for this request among the {} recorded in `{}`; differences to the nearest one:",
            name(&self.0.info),
            self.0.lines.len(),
            self.0.path.display(),
        );
        let help = self.note().map_or_else(
            || "record it with `RecordingModel`, or send a recorded request".to_owned(),
            |note| format!("record it with `RecordingModel`; {note}"),
        );
        Error::with_diagnostics(ErrorCode::ConfigInvalid, fact, differences(request, recorded)).with_help(help)
    }
}

fn name(model: &ModelInfo) -> String {
    format!("{}/{}", model.provider, model.name)
}

fn list_models(names: &BTreeSet<String>) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "the file is empty".to_owned() } else { format!("the file contains {}", names.join(", ")) }
}

impl Model for ReplayModel {
    fn info(&self) -> ModelInfo {
        self.0.info.clone()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let request = request.canonical_json(&self.0.info);
        let key = key(&request);
        let lines = self.0.lines.get(&key).ok_or_else(|| self.unknown(&request))?;
        let response = {
            let mut call_counts = lock(&self.0.call_counts);
            let count = call_counts.entry(key).or_default();
            let line = lines.get(*count).or(lines.last()).ok_or_else(|| self.unknown(&request))?;
            *count += 1;
            line.response()
        };
        send_message(&response.message, None, out).await;
        Ok(response)
    }
}
