//! Folders that go when they are let go.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of our own, removed with all that is in it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes a folder where temporary files go.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("superstep-torture-{}-{number}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is litter, not a finding.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
