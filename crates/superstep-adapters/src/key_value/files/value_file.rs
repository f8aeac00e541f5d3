//! The content of a file: its expiry and its value.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use superstep_core::error::{Error, ErrorCode, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::io_error;

/// Length of the header in bytes: the expiry and a checksum of the expiry, because a corrupt expiry could make a
/// valid value disappear.
const HEADER_BYTES: usize = 16;

/// Returns the header of a value with this time to live from now.
pub(super) fn header(ttl: Option<Duration>) -> [u8; HEADER_BYTES] {
    let expires_at = ttl.map_or(u64::MAX, |ttl| now().saturating_add(millis(ttl)));
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&expires_at.to_le_bytes());
    header[8..].copy_from_slice(&xxh3_64(&expires_at.to_le_bytes()).to_le_bytes());
    header
}

/// Reads the value of a file; `None` if the file does not exist or is expired.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let Some((mut file, is_live)) = open(path)? else { return Ok(None) };
    if !is_live {
        return Ok(None);
    }
    let mut value = Vec::new();
    file.read_to_end(&mut value).map_err(|error| io_error(&error, path))?;
    Ok(Some(value))
}

/// Returns true if a file exists and is not expired. A corrupt file counts as existing, so that no put replaces it
/// silently.
pub(super) fn exists(path: &Path) -> Result<bool> {
    match open(path) {
        Err(error) if error.code() == ErrorCode::CheckpointCorrupt => Ok(true),
        opened => Ok(opened?.is_some_and(|(_, is_live)| is_live)),
    }
}

/// Returns true if a file exists and is expired.
pub(super) fn is_expired(path: &Path) -> Result<bool> {
    match open(path) {
        Err(error) if error.code() == ErrorCode::CheckpointCorrupt => Ok(false),
        opened => Ok(opened?.is_some_and(|(_, is_live)| !is_live)),
    }
}

/// Opens a file at the beginning of its value; the flag is true if the value is not expired.
fn open(path: &Path) -> Result<Option<(File, bool)>> {
    let mut file = match File::open(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        opened => opened.map_err(|error| io_error(&error, path))?,
    };
    let mut header = [0; HEADER_BYTES];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(corrupt_file_error(path)),
        read => read.map_err(|error| io_error(&error, path))?,
    }
    let (expires_at, sum) = header.split_at(8);
    if xxh3_64(expires_at).to_le_bytes() != *sum {
        return Err(corrupt_file_error(path));
    }
    let expires_at = u64::from_le_bytes(expires_at.try_into().unwrap_or_default());
    Ok(Some((file, expires_at == u64::MAX || now() < expires_at)))
}

fn corrupt_file_error(path: &Path) -> Error {
    Error::new(
        ErrorCode::CheckpointCorrupt,
        format!("the file `{}` is corrupt: its header does not match its checksum", path.display()),
    )
    .with_help("other threads are not affected; restore the file from a backup")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX - 1).max(1)
}
