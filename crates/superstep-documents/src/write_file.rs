//! Writes bundled files without overwriting files that users have changed.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io, process};

/// Writes a file and its parent folders atomically: a partial file would count as changed by the user. An existing
/// file stays unchanged. Several programs may do so at once.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_if_missing(path: &Path, content: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if path.exists() {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    // A unique name for each writer: with a shared one, a writer would rename the file another one is still
    // writing.
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}-{number}.partial", process::id()));
    let partial = path.with_file_name(name);
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, path));
    written.inspect_err(|_| drop(fs::remove_file(&partial)))
}
