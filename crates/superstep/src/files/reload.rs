//! A graph file that reloads: changes apply while runs continue.
//!
//! A run uses the version that is current at its start, until it ends. An invalid, partially written or missing file
//! changes nothing: the previous version stays in use, and the error can be read.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep_core::dynamic_state::DynamicState;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{ThreadId, hash_id};
use superstep_core::machine::ResumeValues;
use superstep_core::port::Clock;
use superstep_core::state::IntoUpdate;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::load::FileLoader;
use super::{Components, GraphFile};
use crate::engine::context::lock;
use crate::engine::environment::SystemClock;
use crate::engine::executor::run_blocking;
use crate::graph::compiled::CompiledGraph;
use crate::run::builder::RunBuilder;
use crate::threads::Threads;

/// Default interval at which files are checked.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Number of bytes that are read of a file: one more than the maximum size of any file.
const MAX_FINGERPRINT_BYTES: u64 = 1024 * 1024 + 1;

/// Result of a reload.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ReloadResult {
    /// The files have not changed.
    Unchanged,
    /// New runs use a new version.
    Replaced {
        /// Number of versions so far, including this one.
        version: u64,
    },
    /// The files are invalid; the previous version stays in use.
    Rejected(Error),
}

/// A graph file that reloads.
///
/// ```no_run
/// use superstep::files::{ReloadingGraph, Components, ReloadResult};
/// # async fn f() -> superstep::Result<()> {
/// let live = ReloadingGraph::open("triage.toml", Components::new())?;
/// live.on_reload(|reload| if let ReloadResult::Rejected(error) = reload { eprintln!("{error}") });
/// live.watch()?;                                                       // until `live` is dropped
/// let done = live.invoke(serde_json::json!({ "ticket": "no light" })).await?;   // with the current version
/// # let _ = done; Ok(()) }
/// ```
pub struct ReloadingGraph {
    shared: Arc<ReloadShared>,
    clock: Arc<dyn Clock>,
    poll_interval: Duration,
    watcher: Mutex<JoinSet<()>>,
}

type ReloadCallback = Arc<dyn Fn(&ReloadResult) + Send + Sync>;

struct ReloadShared {
    path: PathBuf,
    components: Components,
    current: Mutex<CurrentVersion>,
    /// Serializes reloads; the current version can be read meanwhile.
    reload_lock: Mutex<()>,
    versions: watch::Sender<u64>,
    callbacks: Mutex<Vec<ReloadCallback>>,
}

struct CurrentVersion {
    file: Arc<GraphFile>,
    graph: CompiledGraph<DynamicState>,
    error: Option<Error>,
    /// The files as last read, valid or not.
    fingerprints: Vec<FileFingerprint>,
}

/// Fingerprint of a file.
#[derive(Debug, Clone, PartialEq)]
struct FileFingerprint {
    path: PathBuf,
    /// Resolved path and hash of the content; `None` if the file does not exist.
    content: Option<(PathBuf, u128)>,
}

impl ReloadingGraph {
    /// Reads the file and builds the graph. The file is not watched yet.
    ///
    /// # Errors
    /// Returns an error if the file is invalid, or if a component is missing.
    pub fn open(path: impl Into<PathBuf>, components: Components) -> Result<Self> {
        let path = path.into();
        let (fingerprints, read) = read(&path);
        let file = Arc::new(read?);
        let graph = file.build(&components)?;
        let current = Mutex::new(CurrentVersion { file, graph, error: None, fingerprints });
        let (reload_lock, callbacks) = (Mutex::default(), Mutex::default());
        let shared =
            ReloadShared { path, components, current, reload_lock, versions: watch::Sender::new(1), callbacks };
        let clock = Arc::new(SystemClock);
        Ok(Self { shared: Arc::new(shared), clock, poll_interval: DEFAULT_POLL_INTERVAL, watcher: Mutex::default() })
    }

    /// Sets the interval at which watched files are checked. Default: 200 ms.
    #[must_use]
    pub fn poll_interval(mut self, time: Duration) -> Self {
        self.poll_interval = time;
        self
    }

    /// Sets the clock of the interval.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Adds a callback for every replacement and every rejected version.
    pub fn on_reload(&self, callback: impl Fn(&ReloadResult) + Send + Sync + 'static) {
        lock(&self.shared.callbacks).push(Arc::new(callback));
    }

    /// Checks the files periodically, in a task that ends when this value is dropped.
    ///
    /// A change is applied after two checks in a row see the same content, so that a file is not read while it is
    /// written.
    ///
    /// # Errors
    /// Returns an error outside an async runtime.
    pub fn watch(&self) -> Result<()> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| {
            Error::new(ErrorCode::ConfigInvalid, "watching files requires an async runtime")
                .with_help("call `reload` instead")
        })?;
        let mut watcher = lock(&self.watcher);
        watcher.abort_all();
        watcher.spawn_on(poll_loop(self.shared.clone(), self.clock.clone(), self.poll_interval), &runtime);
        Ok(())
    }

    /// Checks the files now, and applies a change.
    pub fn reload(&self) -> ReloadResult {
        self.shared.reload()
    }

    /// Returns the graph that new runs use.
    #[must_use]
    pub fn graph(&self) -> CompiledGraph<DynamicState> {
        lock(&self.shared.current).graph.clone()
    }

    /// Returns the file from which the current version was read.
    #[must_use]
    pub fn file(&self) -> Arc<GraphFile> {
        lock(&self.shared.current).file.clone()
    }

    /// Returns the number of versions so far, including the current one.
    #[must_use]
    pub fn version(&self) -> u64 {
        *self.shared.versions.borrow()
    }

    /// Returns the error of the files as they are now, or `None` if they are in use.
    #[must_use]
    pub fn last_error(&self) -> Option<Error> {
        lock(&self.shared.current).error.clone()
    }

    /// Waits until there have been at least `version` versions.
    ///
    /// # Cancel safety
    /// This method is cancel safe.
    pub async fn wait_for_version(&self, version: u64) {
        let mut versions = self.shared.versions.subscribe();
        // The sender lives as long as this value.
        _ = versions.wait_for(|reached| *reached >= version).await;
    }

    /// Runs the current version. See [`CompiledGraph::invoke`].
    pub fn invoke(&self, input: impl IntoUpdate) -> RunBuilder<DynamicState> {
        self.graph().invoke(input)
    }

    /// Continues a thread with the current version. See [`CompiledGraph::continue_thread`].
    pub fn continue_thread(&self, thread: impl Into<ThreadId>) -> RunBuilder<DynamicState> {
        self.graph().continue_thread(thread)
    }

    /// Resumes the only open interrupt of a thread with the current version. See [`CompiledGraph::resume`].
    pub fn resume(&self, thread: impl Into<ThreadId>, value: impl serde::Serialize) -> RunBuilder<DynamicState> {
        self.graph().resume(thread, value)
    }

    /// Resumes open interrupts of a thread by id with the current version. See [`CompiledGraph::resume_with`].
    pub fn resume_with(&self, thread: impl Into<ThreadId>, values: ResumeValues) -> RunBuilder<DynamicState> {
        self.graph().resume_with(thread, values)
    }

    /// Returns the API of persisted threads, as read by the current version.
    #[must_use]
    pub fn threads(&self) -> Threads<DynamicState> {
        self.graph().threads()
    }
}

impl ReloadShared {
    fn reload(&self) -> ReloadResult {
        let reload_guard = lock(&self.reload_lock);
        let fingerprints = lock(&self.current).fingerprints.clone();
        if fingerprint_all(&fingerprints) == fingerprints {
            return ReloadResult::Unchanged;
        }
        let (read_fingerprints, read) = read(&self.path);
        let built = read.and_then(|file| file.build(&self.components).map(|graph| (Arc::new(file), graph)));
        let mut current = lock(&self.current);
        let reload = match built {
            Ok((file, mut graph)) => {
                // Runs of both versions share the thread queues, as runs of one graph do.
                graph.thread_queues = current.graph.thread_queues.clone();
                *current = CurrentVersion { file, graph, error: None, fingerprints: read_fingerprints };
                let mut reached = 0;
                self.versions.send_modify(|version| {
                    *version += 1;
                    reached = *version;
                });
                ReloadResult::Replaced { version: reached }
            }
            Err(error) => {
                (current.error, current.fingerprints) = (Some(error.clone()), read_fingerprints);
                ReloadResult::Rejected(error)
            }
        };
        drop((current, reload_guard));
        // Callbacks may read the graph or reload it, so the locks are released before.
        let callbacks = lock(&self.callbacks).clone();
        callbacks.iter().for_each(|callback| callback(&reload));
        reload
    }
}

/// Task that watches the files.
async fn poll_loop(shared: Arc<ReloadShared>, clock: Arc<dyn Clock>, interval: Duration) {
    let mut previous = None;
    loop {
        clock.sleep(interval).await;
        let (shared, last) = (shared.clone(), previous.take());
        let changed = run_blocking(move || {
            let fingerprints = lock(&shared.current).fingerprints.clone();
            let now = fingerprint_all(&fingerprints);
            if now == fingerprints {
                return None;
            }
            if last.as_ref() == Some(&now) {
                shared.reload();
                return None;
            }
            Some(now)
        });
        previous = changed.await.ok().flatten();
    }
}

/// Reads the file with all files that it references. Returns their fingerprints from before they were read, so that
/// the next check detects a change in between.
fn read(path: &Path) -> (Vec<FileFingerprint>, Result<GraphFile>) {
    let mut files = vec![path.to_owned()];
    loop {
        let fingerprints: Vec<FileFingerprint> = files.iter().map(|path| fingerprint(path)).collect();
        let mut loader = FileLoader::default();
        let read = loader.open(path);
        let loaded_files = loader.looked_up();
        if loaded_files.iter().all(|file| files.contains(file)) {
            return (fingerprints, read.map(|file| GraphFile { files: loaded_files, ..file }));
        }
        files = loaded_files;
    }
}

fn fingerprint_all(fingerprints: &[FileFingerprint]) -> Vec<FileFingerprint> {
    fingerprints.iter().map(|file| fingerprint(&file.path)).collect()
}

/// Returns the fingerprint of a file. The modification time is not sufficient: two changes may have the same one.
fn fingerprint(path: &Path) -> FileFingerprint {
    let content = path.canonicalize().ok().and_then(|resolved| {
        fs::metadata(&resolved).ok().filter(fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        fs::File::open(&resolved).ok()?.take(MAX_FINGERPRINT_BYTES).read_to_end(&mut bytes).ok()?;
        Some((resolved, hash_id(&[&bytes])))
    });
    FileFingerprint { path: path.to_owned(), content }
}
