//! Temporary folders that are removed when dropped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary folder, removed with its content.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    /// Creates a temporary folder.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
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

impl Drop for TempDir {
    fn drop(&mut self) {
        // A folder that cannot be removed is not a test failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
