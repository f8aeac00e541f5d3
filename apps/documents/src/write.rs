//! Writes files that come with a program, next to those that people changed.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io, process};

/// Writes a file with the folders above it, whole or not at all: half a file would count as one that somebody changed. One
/// that is there stays as it is. Several programs may do so at once.
///
/// # Errors
/// When it cannot be written.
pub fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if path.exists() {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    // A name of its own for each: who shares one would move away what the other still writes.
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}-{number}.partial", process::id()));
    let partial = path.with_file_name(name);
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, path));
    written.inspect_err(|_| drop(fs::remove_file(&partial)))
}
