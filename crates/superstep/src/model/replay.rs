//! A model for tests that gives recorded answers, and refuses what was never recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use superstep_core::error::{Code, Error, Result};
use superstep_core::model::{Answer, ModelInfo, Request};
use superstep_core::port::{Model, Pieces};

use super::recording::{Line, differences, key, read, trouble};
use super::reply::tell;
use crate::context::lock;

/// Gives the answers that a [`Recorder`](super::Recorder) wrote down, by what is asked; clones share their place.
///
/// Where the same request was recorded several times, its answers come in their order, and the last one stays. A request
/// that was not recorded is refused, with what differs from the nearest that was. Answers name who gave them when they were
/// recorded.
///
/// ```
/// use superstep::model::{ModelExt, Recorder, Replay, Scripted};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// # let path = std::env::temp_dir().join(format!("superstep-replay-{}.jsonl", std::process::id()));
/// let real = Scripted::new(["Noon."]); // in your program: a provider
/// Recorder::open(real, &path)?.complete("How late is it?").await?;
///
/// let replay = Replay::open(&path)?;
/// assert_eq!(replay.complete("How late is it?").await?.message.text(), "Noon.");
/// assert!(replay.complete("How late was it?").await.is_err());
/// # let _ = std::fs::remove_file(&path);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Replay(Arc<Inner>);

struct Inner {
    path: PathBuf,
    info: ModelInfo,
    lines: BTreeMap<String, Vec<Line>>,
    /// How often each request was asked.
    asked: Mutex<BTreeMap<String, usize>>,
    note: Option<String>,
}

impl Replay {
    /// The answers in a file that has those of one model.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged or empty, or has answers of several models.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::new(path.as_ref(), None)
    }

    /// The answers of one model, named as `provider/name`, in a file that may have those of others.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or has none of this model.
    pub fn open_model(path: impl AsRef<Path>, model: &str) -> Result<Self> {
        Self::new(path.as_ref(), Some(model))
    }

    /// Whether a file has answers of this model, named as `provider/name`.
    #[cfg(feature = "testing")]
    pub(crate) fn has(path: &Path, model: &str) -> Result<bool> {
        Ok(read(path)?.0.iter().any(|line| name(&line.asked) == model))
    }

    /// What was left out when the file was read: a last line that is only half there.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.0.note.as_deref()
    }

    fn new(path: &Path, model: Option<&str>) -> Result<Self> {
        let (lines, note) = read(path)?;
        let names: BTreeSet<String> = lines.iter().map(|line| name(&line.asked)).collect();
        let found = lines.into_iter().filter(|line| model.is_none_or(|model| name(&line.asked) == model));
        let found: Vec<Line> = found.collect();
        let Some(info) = found.first().map(|line| line.asked.clone()) else {
            let of = model.map(|model| format!(" of `{model}`")).unwrap_or_default();
            return Err(trouble(path, format!("there are no answers{of}")).help(note.unwrap_or(has(&names))));
        };
        if model.is_none() && names.len() > 1 {
            let fact = "there are answers of several models".to_owned();
            return Err(trouble(path, fact).help(format!("say which with `Replay::open_model`; {}", has(&names))));
        }
        let mut lines: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for line in found {
            lines.entry(line.key().to_owned()).or_default().push(line);
        }
        Ok(Self(Arc::new(Inner { path: path.to_owned(), info, lines, asked: Mutex::default(), note })))
    }

    fn unknown(&self, request: &Value) -> Error {
        let recorded = self.0.lines.values().flatten().map(|line| &line.request);
        let fact = format!(
            "model `{}`: this request is not among the {} recorded in `{}`; beside the nearest one:",
            name(&self.0.info),
            self.0.lines.len(),
            self.0.path.display(),
        );
        let help = self.note().map_or_else(
            || "record it with `Recorder`, or ask what was recorded".to_owned(),
            |note| format!("record it with `Recorder`; {note}"),
        );
        Error::listing(Code::ConfigInvalid, fact, differences(request, recorded)).help(help)
    }
}

fn name(model: &ModelInfo) -> String {
    format!("{}/{}", model.provider, model.name)
}

fn has(names: &BTreeSet<String>) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "the file is empty".to_owned() } else { format!("the file has {}", names.join(", ")) }
}

impl Model for Replay {
    fn info(&self) -> ModelInfo {
        self.0.info.clone()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let request = request.canonical(&self.0.info);
        let key = key(&request);
        let lines = self.0.lines.get(&key).ok_or_else(|| self.unknown(&request))?;
        let answer = {
            let mut asked = lock(&self.0.asked);
            let times = asked.entry(key).or_default();
            let line = lines.get(*times).or(lines.last()).ok_or_else(|| self.unknown(&request))?;
            *times += 1;
            line.answer()
        };
        tell(&answer.message, None, out).await;
        Ok(answer)
    }
}
