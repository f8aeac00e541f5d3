//! Searches in the sample and in test folders.

mod docs;
mod eval;
mod graph;
mod issues;
mod mirror;
mod post_validation;
mod posts;
mod query_expansion;
mod types;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use superstep::testing::ManualClock;
use superstep_suggestions::sample;
use superstep_suggestions::sources::{SourceSettings, Sources};

/// Temporary folder, deleted on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("superstep-suggestions-{}-{number}", std::process::id()));
        // Process ids are reused, and a process that was killed did not delete its folder.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Unpacks the sample with its posts; the clock is fixed at noon.
pub(crate) async fn sample() -> (Folder, Sources, ManualClock) {
    let (folder, clock) = (Folder::new(), noon());
    sample::unpack(folder.path()).unwrap();
    let settings = SourceSettings { clock: Arc::new(clock.clone()), ..SourceSettings::from_folder(folder.path()) };
    let sources = Sources::open(&settings).unwrap();
    sample::load_posts(&sources).await.unwrap();
    (folder, sources, clock)
}

pub(crate) fn noon() -> ManualClock {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(20_000 * 86_400 + 43_200));
    clock
}
