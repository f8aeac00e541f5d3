//! A key-value store in a folder with one file per key. Needs no server, and any tool can read or copy the files.
//!
//! A value is written to a temporary file, synced, and renamed into place; then the folder is synced. So a value is
//! stored completely or not at all, also on power loss. `path` maps keys to files, `list` lists them, `value_file`
//! defines their content.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Error as IoError, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{KeyValue, PutOptions, is_valid_key};

mod list;
mod path;
mod value_file;

use super::blocking_pool::BlockingPool;
use crate::filesystem;

/// Number of threads that write values.
const WORKERS: usize = 4;
/// Maximum number of cached folders that are known to be synced.
const MAX_SYNCED_FOLDERS: usize = 4_096;
/// Maximum number of attempts to rename a file into a folder that is being removed.
const MAX_ATTEMPTS: usize = 64;
/// Name and content of the file that identifies the folder and its format.
const FORMAT_FILE: (&str, &str) = ("=form", "superstep keys 1\n");
/// Age after which a temporary file is assumed to belong to a dead process.
const TEMP_FILE_MAX_AGE: Duration = Duration::from_secs(3_600);

/// A key-value store in a folder of files. Clones share one store.
///
/// Several processes of one machine may use one folder. A folder on a network filesystem is rejected.
#[derive(Clone)]
pub struct FileKeyValue(Arc<FilesInner>);

struct FilesInner {
    folder: Arc<Folder>,
    workers: BlockingPool,
}

struct Folder {
    root: PathBuf,
    count: AtomicU64,
    token: u64,
    synced: Mutex<BTreeSet<PathBuf>>,
    /// True after a failed sync: the content of the disk is then unknown.
    write_failed: AtomicBool,
}

impl FileKeyValue {
    /// Opens a folder and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created or written, contains other files, was written by a newer
    /// version, or is on a network filesystem.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let root = folder.as_ref().to_owned();
        let failed = |error: IoError| io_error(&error, &root);
        std::fs::create_dir_all(&root).map_err(failed)?;
        let root = root.canonicalize().map_err(failed)?;
        filesystem::reject_network_filesystem(&root, &root.display().to_string())?;
        let mut bits = [0_u8; 8];
        getrandom::fill(&mut bits)
            .map_err(|error| Error::internal(format!("the system returned no random bytes: {error}")))?;
        let (token, count) = (u64::from_le_bytes(bits), AtomicU64::new(0));
        let folder = Folder { root, count, token, synced: Mutex::default(), write_failed: AtomicBool::new(false) };
        folder.prepare()?;
        Ok(Self(Arc::new(FilesInner {
            folder: Arc::new(folder),
            workers: BlockingPool::start("superstep-files", WORKERS)?,
        })))
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0.folder.root
    }

    async fn perform<T: Send + 'static>(&self, work: impl FnOnce(&Folder) -> Result<T> + Send + 'static) -> Result<T> {
        let folder = self.0.folder.clone();
        self.0.workers.perform(move || work(&folder)).await
    }
}

impl std::fmt::Debug for FileKeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FileKeyValue").field(&self.0.folder.root).finish()
    }
}

impl KeyValue for FileKeyValue {
    // Read on the calling thread: reading a file from the page cache takes less time than passing the job to a
    // worker.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.0.folder.check()?;
        value_file::read(&self.0.folder.path(key)?)
    }

    async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        let (path, value) = (self.0.folder.path(key)?, value.to_vec());
        self.perform(move |folder| folder.put(&path, &value, put)).await
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        let paths = keys.iter().map(|key| self.0.folder.path(key)).collect::<Result<Vec<_>>>()?;
        self.perform(move |folder| folder.delete(&paths)).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        self.0.folder.check()?;
        let (prefix, after) = (prefix.to_owned(), after.map(str::to_owned));
        self.perform(move |folder| list::list(&folder.keys(), &prefix, after.as_deref(), limit)).await
    }
}

impl Folder {
    fn keys(&self) -> PathBuf {
        self.root.join("=keys")
    }

    fn temp_folder(&self) -> PathBuf {
        self.root.join("=moving")
    }

    fn path(&self, key: &str) -> Result<PathBuf> {
        if is_valid_key(key) {
            return Ok(path::of_key(&self.keys(), key));
        }
        Err(Error::new(ErrorCode::InputInvalid, format!("`{key}` is not a valid key")))
    }

    fn check(&self) -> Result<()> {
        match self.write_failed.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Error::new(
                ErrorCode::StoreUnavailable,
                format!("an earlier sync of `{}` failed", self.root.display()),
            )
            .with_help("all acknowledged writes are saved; check the disk, then create a new checkpointer")),
        }
    }

    /// Creates the folders, or checks that the folder belongs to this store.
    fn prepare(&self) -> Result<()> {
        let format_file = self.root.join(FORMAT_FILE.0);
        let failed = |error: IoError| io_error(&error, &self.root);
        match std::fs::read_to_string(&format_file) {
            Ok(text) if text == FORMAT_FILE.1 => {}
            Ok(text) => {
                let message = format!(
                    "`{}` has the format `{}`, which this version does not support",
                    self.root.display(),
                    text.trim()
                );
                return Err(Error::new(ErrorCode::CheckpointTooNew, message)
                    .with_help("open it with the version that wrote it, or a newer one"));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let mut entries = std::fs::read_dir(&self.root).map_err(failed)?;
                if entries.any(|entry| entry.is_ok_and(|entry| !entry.file_name().to_string_lossy().starts_with('='))) {
                    let message = format!("`{}` contains files of another program", self.root.display());
                    return Err(Error::new(ErrorCode::ConfigInvalid, message).with_help("use an empty or a new folder"));
                }
            }
            Err(error) => return Err(failed(error)),
        }
        for folder in [self.keys(), self.temp_folder()] {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        self.write(&format_file, FORMAT_FILE.1.as_bytes()).map_err(failed)?;
        if let Some(parent) = self.root.parent() {
            sync_folder(parent).map_err(failed)?;
        }
        self.sweep();
        Ok(())
    }

    /// Removes temporary files of dead processes. A file that cannot be removed is left for a later sweep.
    fn sweep(&self) {
        for file in std::fs::read_dir(self.temp_folder()).into_iter().flatten().flatten() {
            let age = file.metadata().and_then(|data| data.modified()).map(|time| time.elapsed().unwrap_or_default());
            if age.is_ok_and(|age| age > TEMP_FILE_MAX_AGE) {
                drop(std::fs::remove_file(file.path()));
            }
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let temp_file = self.write_temp_file(&[bytes])?;
        std::fs::rename(temp_file, path)?;
        sync_folder(&self.root)
    }

    /// Writes a temporary file.
    fn write_temp_file(&self, pieces: &[&[u8]]) -> std::io::Result<PathBuf> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let path = self.temp_folder().join(format!("{:016x}-{number:x}", self.token));
        let written = File::create_new(&path).and_then(|mut file| {
            pieces.iter().try_for_each(|piece| file.write_all(piece))?;
            file.sync_data()
        });
        match written {
            Ok(()) => Ok(path),
            Err(error) => {
                drop(std::fs::remove_file(path));
                Err(error)
            }
        }
    }

    fn put(&self, path: &Path, value: &[u8], put: PutOptions) -> Result<bool> {
        self.check()?;
        // If the key exists, no file has to be written.
        if put.if_absent && value_file::exists(path)? {
            return Ok(false);
        }
        let temp_file =
            self.write_temp_file(&[&value_file::header(put.ttl), value]).map_err(|error| io_error(&error, path))?;
        let renamed = self.rename_into_place(&temp_file, path, put.if_absent);
        if !matches!(renamed, Ok(true)) {
            drop(std::fs::remove_file(temp_file));
        }
        if renamed? {
            self.sync(path)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Renames a file into place; returns false if the key exists and must not be replaced.
    fn rename_into_place(&self, temp_file: &Path, path: &Path, if_absent: bool) -> Result<bool> {
        let failed = |error: IoError| io_error(&error, path);
        for _ in 0..MAX_ATTEMPTS {
            let renamed = match if_absent {
                true => rename_if_absent(temp_file, path),
                // Removing an expired file is a check and a removal; the lock prevents a replacement between the two.
                false => self.lock(File::lock_shared).and_then(|_lock| std::fs::rename(temp_file, path)),
            };
            match renamed {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let folder = path.parent().unwrap_or(&self.root);
                    self.synced().retain(|synced| synced != folder);
                    std::fs::create_dir_all(folder).map_err(failed)?;
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if !value_file::is_expired(path)? {
                        // The file may have been removed since; the key existed at the time of the rename
                        // nevertheless.
                        return Ok(false);
                    }
                    let _lock = self.lock(File::lock).map_err(failed)?;
                    if value_file::is_expired(path)? {
                        std::fs::remove_file(path).map_err(failed)?;
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(Error::new(
            ErrorCode::StoreUnavailable,
            format!("the folder of `{}` was repeatedly removed while the file was written", path.display()),
        ))
    }

    fn lock(&self, kind: impl Fn(&File) -> std::io::Result<()>) -> std::io::Result<File> {
        let file = OpenOptions::new().create(true).append(true).open(self.root.join("=lock"))?;
        kind(&file)?;
        Ok(file)
    }

    fn synced(&self) -> std::sync::MutexGuard<'_, BTreeSet<PathBuf>> {
        self.synced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs the folder of a file and, if they are not known to be synced, all parent folders up to the root.
    fn sync(&self, path: &Path) -> Result<()> {
        let Some(folder) = path.parent() else { return Ok(()) };
        let is_synced = self.synced().contains(folder);
        let mut synced = sync_folder(folder);
        if !is_synced {
            for parent in folder.ancestors().skip(1).take_while(|parent| parent.starts_with(&self.root)) {
                synced = synced.and_then(|()| sync_folder(parent));
            }
        }
        match synced {
            // Another process has already deleted the file and its folder.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                // After a failed sync, a second sync may succeed without having written the data.
                self.write_failed.store(true, Ordering::Relaxed);
                return Err(io_error(&error, path));
            }
            Ok(()) => {}
        }
        let mut synced = self.synced();
        if synced.len() >= MAX_SYNCED_FOLDERS {
            synced.clear();
        }
        if !is_synced {
            synced.insert(folder.to_owned());
        }
        Ok(())
    }

    fn delete(&self, paths: &[PathBuf]) -> Result<()> {
        self.check()?;
        let mut folders = BTreeSet::new();
        for path in paths {
            match std::fs::remove_file(path) {
                Ok(()) => folders.extend(path.parent()),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => return Err(io_error(&error, path)),
            }
        }
        for folder in folders {
            match sync_folder(folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(io_error(&error, folder)),
                _ => {}
            }
            let keys = self.keys();
            for folder in folder.ancestors().take_while(|folder| **folder != keys && folder.starts_with(&keys)) {
                // A folder that is not empty stays.
                if std::fs::remove_dir(folder).is_err() {
                    break;
                }
                self.synced().remove(folder);
            }
        }
        Ok(())
    }
}

/// Renames a file atomically unless the target exists.
#[cfg(target_os = "linux")]
fn rename_if_absent(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every filesystem supports this flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => link_if_absent(from, to),
        renamed => Ok(renamed?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_if_absent(from: &Path, to: &Path) -> std::io::Result<()> {
    link_if_absent(from, to)
}

fn link_if_absent(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::hard_link(from, to)?;
    // A file that remains has only the temporary name and is removed by a sweep.
    drop(std::fs::remove_file(from));
    Ok(())
}

fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Converts an I/O error.
fn io_error(error: &IoError, path: &Path) -> Error {
    let (message, help, is_retryable) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            format!("the disk of `{}` is full", path.display()),
            "this commit was not saved; all earlier acknowledged commits are saved; free some space, then continue the \
             thread",
            true,
        ),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => (
            format!("`{}` cannot be read or written", path.display()),
            "nothing was saved; grant the process write permission for the folder",
            false,
        ),
        _ => (
            format!("reading or writing `{}` failed", path.display()),
            "this commit may be lost; all earlier acknowledged commits are saved; check the disk, then continue the \
             thread",
            true,
        ),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    Error::new(ErrorCode::StoreUnavailable, message)
        .with_help(help)
        .with_retryable(is_retryable)
        .with_source(Arc::from(cause))
}
