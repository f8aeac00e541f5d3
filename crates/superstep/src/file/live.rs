//! A graph file in service: changes are taken over while runs go on.
//!
//! A run takes the version that is current when it starts, and ends on it. A file that is broken, half written or gone
//! changes nothing: the version before stays in service, and what is wrong can be read.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{ThreadId, derive};
use superstep_core::machine::Answers;
use superstep_core::port::Clock;
use superstep_core::record::Record;
use superstep_core::state::IntoDraft;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::load::Loader;
use super::{GraphFile, Parts};
use crate::call::Run;
use crate::clock::SystemClock;
use crate::compiled::Compiled;
use crate::context::lock;
use crate::executor::run_blocking;
use crate::threads::Threads;

/// How often files are looked at, unless told.
const EVERY: Duration = Duration::from_millis(200);

/// How much of a file is looked at: one byte more than any of them may have.
const LOOKED_AT: u64 = 1024 * 1024 + 1;

/// What became of a look at the files.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Reload {
    /// The files are as they were.
    Unchanged,
    /// New runs take a new version.
    Replaced {
        /// How many versions there have been, this one included.
        version: u64,
    },
    /// The files are not right; the version before stays in service.
    Refused(Error),
}

/// A graph file in service.
///
/// ```no_run
/// use superstep::file::{LiveGraph, Parts, Reload};
/// # async fn f() -> superstep::Result<()> {
/// let live = LiveGraph::open("triage.toml", Parts::new())?;
/// live.on_reload(|reload| if let Reload::Refused(error) = reload { eprintln!("{error}") });
/// live.watch()?;                                                       // until `live` is dropped
/// let done = live.run(serde_json::json!({ "ticket": "no light" })).await?;   // on the version of now
/// # let _ = done; Ok(()) }
/// ```
pub struct LiveGraph {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    every: Duration,
    watcher: Mutex<JoinSet<()>>,
}

type Hear = Arc<dyn Fn(&Reload) + Send + Sync>;

struct Shared {
    path: PathBuf,
    parts: Parts,
    current: Mutex<Current>,
    /// One change at a time; the current version can be read meanwhile.
    changing: Mutex<()>,
    versions: watch::Sender<u64>,
    hears: Mutex<Vec<Hear>>,
}

struct Current {
    file: Arc<GraphFile>,
    graph: Compiled<Record>,
    error: Option<Error>,
    /// The files as they were when they were last read, whether they were right or not.
    seen: Vec<Seen>,
}

/// A file as it was seen.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    path: PathBuf,
    /// Where the name leads, and the hash of what is there; nothing where there is nothing.
    content: Option<(PathBuf, u128)>,
}

impl LiveGraph {
    /// Reads the file and puts it into service. Nothing is watched yet.
    ///
    /// # Errors
    /// When the file is not right, or a part is missing.
    pub fn open(path: impl Into<PathBuf>, parts: Parts) -> Result<Self> {
        let path = path.into();
        let (seen, read) = read(&path);
        let file = Arc::new(read?);
        let graph = file.build(&parts)?;
        let current = Mutex::new(Current { file, graph, error: None, seen });
        let (changing, hears) = (Mutex::default(), Mutex::default());
        let shared = Shared { path, parts, current, changing, versions: watch::Sender::new(1), hears };
        let clock = Arc::new(SystemClock);
        Ok(Self { shared: Arc::new(shared), clock, every: EVERY, watcher: Mutex::default() })
    }

    /// How often files are looked at once they are watched; five times a second unless told.
    #[must_use]
    pub fn every(mut self, time: Duration) -> Self {
        self.every = time;
        self
    }

    /// The clock the looks are timed by.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Tells every replacement and every refusal.
    pub fn on_reload(&self, hear: impl Fn(&Reload) + Send + Sync + 'static) {
        lock(&self.shared.hears).push(Arc::new(hear));
    }

    /// Looks at the files again and again, in a task that ends with this value.
    ///
    /// A change is taken over once it has been the same for two looks, so that a file is not read while it is written.
    ///
    /// # Errors
    /// When there is no async runtime.
    pub fn watch(&self) -> Result<()> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| {
            Error::new(Code::ConfigInvalid, "files are watched in an async runtime, and there is none")
                .help("call `reload` where there is none")
        })?;
        let mut watcher = lock(&self.watcher);
        watcher.abort_all();
        watcher.spawn_on(look_again(self.shared.clone(), self.clock.clone(), self.every), &runtime);
        Ok(())
    }

    /// Looks at the files now, and takes them over if they have changed.
    pub fn reload(&self) -> Reload {
        self.shared.reload()
    }

    /// The version that new runs take.
    #[must_use]
    pub fn graph(&self) -> Compiled<Record> {
        lock(&self.shared.current).graph.clone()
    }

    /// The file that version was read from.
    #[must_use]
    pub fn file(&self) -> Arc<GraphFile> {
        lock(&self.shared.current).file.clone()
    }

    /// How many versions there have been, this one included.
    #[must_use]
    pub fn version(&self) -> u64 {
        *self.shared.versions.borrow()
    }

    /// What is wrong with the files as they are now; nothing where they are in service.
    #[must_use]
    pub fn last_error(&self) -> Option<Error> {
        lock(&self.shared.current).error.clone()
    }

    /// Waits until there have been at least this many versions.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn reached(&self, version: u64) {
        let mut versions = self.shared.versions.subscribe();
        // The sender lives as long as this value.
        _ = versions.wait_for(|reached| *reached >= version).await;
    }

    /// Runs the version of now. See [`Compiled::run`].
    pub fn run(&self, input: impl IntoDraft) -> Run<Record> {
        self.graph().run(input)
    }

    /// Goes on where a thread stands, with the version of now. See [`Compiled::go_on`].
    pub fn go_on(&self, thread: impl Into<ThreadId>) -> Run<Record> {
        self.graph().go_on(thread)
    }

    /// Answers the open question of a thread, with the version of now. See [`Compiled::resume`].
    pub fn resume(&self, thread: impl Into<ThreadId>, answer: impl serde::Serialize) -> Run<Record> {
        self.graph().resume(thread, answer)
    }

    /// Answers open questions of a thread by id, with the version of now. See [`Compiled::resume_with`].
    pub fn resume_with(&self, thread: impl Into<ThreadId>, answers: Answers) -> Run<Record> {
        self.graph().resume_with(thread, answers)
    }

    /// What is saved of threads, as the version of now reads it.
    #[must_use]
    pub fn threads(&self) -> Threads<Record> {
        self.graph().threads()
    }
}

impl Shared {
    fn reload(&self) -> Reload {
        let one_at_a_time = lock(&self.changing);
        let known = lock(&self.current).seen.clone();
        if look(&known) == known {
            return Reload::Unchanged;
        }
        let (seen, read) = read(&self.path);
        let built = read.and_then(|file| file.build(&self.parts).map(|graph| (Arc::new(file), graph)));
        let mut current = lock(&self.current);
        let reload = match built {
            Ok((file, mut graph)) => {
                // A thread that runs on the old version makes runs on the new one wait, as it would on one graph.
                graph.lanes = current.graph.lanes.clone();
                *current = Current { file, graph, error: None, seen };
                let mut reached = 0;
                self.versions.send_modify(|version| {
                    *version += 1;
                    reached = *version;
                });
                Reload::Replaced { version: reached }
            }
            Err(error) => {
                (current.error, current.seen) = (Some(error.clone()), seen);
                Reload::Refused(error)
            }
        };
        drop((current, one_at_a_time));
        // Whoever hears of it may look at the graph, or reload it.
        let hears = lock(&self.hears).clone();
        hears.iter().for_each(|hear| hear(&reload));
        reload
    }
}

/// The task that watches.
async fn look_again(shared: Arc<Shared>, clock: Arc<dyn Clock>, every: Duration) {
    let mut before = None;
    loop {
        clock.sleep(every).await;
        let (watched, last) = (shared.clone(), before.take());
        let looked = run_blocking(move || {
            let known = lock(&watched.current).seen.clone();
            let now = look(&known);
            if now == known {
                return None;
            }
            if last.as_ref() == Some(&now) {
                watched.reload();
                return None;
            }
            Some(now)
        });
        before = looked.await.ok().flatten();
    }
}

/// Reads the file with all it leads to, and says which files that were, as they were before they were read: a change
/// in between is found by the next look.
fn read(path: &Path) -> (Vec<Seen>, Result<GraphFile>) {
    let mut files = vec![path.to_owned()];
    loop {
        let seen: Vec<Seen> = files.iter().map(|path| see(path)).collect();
        let mut loader = Loader::default();
        let read = loader.open(path);
        let found = loader.seen();
        if found.iter().all(|file| files.contains(file)) {
            return (seen, read.map(|file| GraphFile { files: found, ..file }));
        }
        files = found;
    }
}

fn look(known: &[Seen]) -> Vec<Seen> {
    known.iter().map(|seen| see(&seen.path)).collect()
}

/// A file as it is now. Its time says too little: two changes may have the same one.
fn see(path: &Path) -> Seen {
    let content = path.canonicalize().ok().and_then(|real| {
        fs::metadata(&real).ok().filter(fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        fs::File::open(&real).ok()?.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
        Some((real, derive(&[&bytes])))
    });
    Seen { path: path.to_owned(), content }
}
