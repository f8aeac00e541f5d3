//! What is in a file: when it lapses, and the value.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use superstep_core::error::{Code, Error, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::describe;

/// When it lapses, and a checksum over that: a file that seems to have lapsed and has not would be a loss.
const HEAD: usize = 16;

/// The bytes before a value that lasts so long from now.
pub(super) fn head(lasts: Option<Duration>) -> [u8; HEAD] {
    let ends = lasts.map_or(u64::MAX, |lasts| now().saturating_add(millis(lasts)));
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&ends.to_le_bytes());
    head[8..].copy_from_slice(&xxh3_64(&ends.to_le_bytes()).to_le_bytes());
    head
}

/// The value of a file; `None` when there is none, or it has lapsed.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let Some((mut file, is_live)) = open(path)? else { return Ok(None) };
    if !is_live {
        return Ok(None);
    }
    let mut value = Vec::new();
    file.read_to_end(&mut value).map_err(|error| describe(&error, path))?;
    Ok(Some(value))
}

/// Whether a file has a value that has not lapsed. One that is damaged is there: nothing may take its place unseen.
pub(super) fn is_there(path: &Path) -> Result<bool> {
    match open(path) {
        Err(error) if error.code() == Code::CheckpointCorrupt => Ok(true),
        opened => Ok(opened?.is_some_and(|(_, is_live)| is_live)),
    }
}

/// Whether there is a file whose value has lapsed.
pub(super) fn has_lapsed(path: &Path) -> Result<bool> {
    match open(path) {
        Err(error) if error.code() == Code::CheckpointCorrupt => Ok(false),
        opened => Ok(opened?.is_some_and(|(_, is_live)| !is_live)),
    }
}

/// A file at the beginning of its value, and whether that is still one.
fn open(path: &Path) -> Result<Option<(File, bool)>> {
    let mut file = match File::open(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        opened => opened.map_err(|error| describe(&error, path))?,
    };
    let mut head = [0; HEAD];
    match file.read_exact(&mut head) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(damaged(path)),
        read => read.map_err(|error| describe(&error, path))?,
    }
    let (ends, sum) = head.split_at(8);
    if xxh3_64(ends).to_le_bytes() != *sum {
        return Err(damaged(path));
    }
    let ends = u64::from_le_bytes(ends.try_into().unwrap_or_default());
    Ok(Some((file, ends == u64::MAX || now() < ends)))
}

fn damaged(path: &Path) -> Error {
    Error::new(Code::CheckpointCorrupt, format!("the file `{}` is damaged: its head does not fit", path.display()))
        .help("other threads are not touched by this; restore the file from a copy")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX - 1).max(1)
}
