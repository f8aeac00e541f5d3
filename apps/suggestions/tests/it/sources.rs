//! The searches, on the sample and on folders made for the purpose.

mod docs;
mod eval;
mod graph;
mod issues;
mod mirror;
mod posts;
mod rules;
mod types;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use superstep::testing::ManualClock;
use superstep_suggestions::sample;
use superstep_suggestions::sources::{Settings, Sources};

/// A folder that is gone when the test is.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("superstep-suggestions-{}-{number}", std::process::id()));
        // The number of a process comes again, and one that died left its folder.
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

/// The sample, unpacked, with its posts, at noon of some day.
pub(crate) async fn sample() -> (Folder, Sources, ManualClock) {
    let (folder, clock) = (Folder::new(), noon());
    sample::unpack(folder.path()).unwrap();
    let settings = Settings { clock: Arc::new(clock.clone()), ..Settings::of_folder(folder.path()) };
    let sources = Sources::open(&settings).unwrap();
    sample::load_posts(&sources).await.unwrap();
    (folder, sources, clock)
}

pub(crate) fn noon() -> ManualClock {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(20_000 * 86_400 + 43_200));
    clock
}
