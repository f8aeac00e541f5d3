//! Values in a folder, a file for each key: nothing to install, and any tool can look at it or copy it.
//!
//! A value is written to a file beside the others, synced, and moved to its place in one step; then the folder is synced.
//! So it is there whole or not at all, also when the power goes. `path` says which file a key has, `walk` lists them,
//! `value` says what is in them.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Error as IoError, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use superstep_core::port::{KeyValue, Put, is_key};

mod path;
mod value;
mod walk;

use super::workers::Workers;
use crate::disk;

/// How many values are written at the same time.
const WORKERS: usize = 4;
/// Folders that are known to be on the disk.
const KNOWN: usize = 4_096;
/// How often a folder may go while a file is put in it.
const TRIES: usize = 64;
/// Says whose folder this is, and in which form.
const FORM: (&str, &str) = ("=form", "superstep keys 1\n");
/// After so long a file on its way belongs to somebody who died.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// A folder of files, as a store of values under keys. Clones are one and the same.
///
/// Several processes may use one folder, on one machine. A folder on a network disk is refused.
#[derive(Clone)]
pub struct Files(Arc<Inner>);

struct Inner {
    folder: Arc<Folder>,
    workers: Workers,
}

struct Folder {
    root: PathBuf,
    count: AtomicU64,
    token: u64,
    synced: Mutex<BTreeSet<PathBuf>>,
    /// The disk failed to keep something: nobody knows what it has.
    is_spoilt: AtomicBool,
}

impl Files {
    /// Opens a folder, or makes it.
    ///
    /// # Errors
    /// When the folder cannot be made or written, holds something else, was written by a newer version, or is on a
    /// network disk.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let root = folder.as_ref().to_owned();
        let failed = |error: IoError| describe(&error, &root);
        std::fs::create_dir_all(&root).map_err(failed)?;
        let root = root.canonicalize().map_err(failed)?;
        disk::check(&root, &root.display().to_string())?;
        let mut bits = [0_u8; 8];
        getrandom::fill(&mut bits).map_err(|error| Error::internal(format!("no randomness: {error}")))?;
        let (token, count) = (u64::from_le_bytes(bits), AtomicU64::new(0));
        let folder = Folder { root, count, token, synced: Mutex::default(), is_spoilt: AtomicBool::new(false) };
        folder.prepare()?;
        Ok(Self(Arc::new(Inner { folder: Arc::new(folder), workers: Workers::start("superstep-files", WORKERS)? })))
    }

    /// Where the files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0.folder.root
    }

    async fn perform<T: Send + 'static>(&self, work: impl FnOnce(&Folder) -> Result<T> + Send + 'static) -> Result<T> {
        let folder = self.0.folder.clone();
        self.0.workers.perform(move || work(&folder)).await
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Files").field(&self.0.folder.root).finish()
    }
}

impl KeyValue for Files {
    // On the thread of whoever asks: a file that is in memory takes less than handing the question on.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.0.folder.check()?;
        value::read(&self.0.folder.path(key)?)
    }

    async fn put(&self, key: &str, value: &[u8], put: Put) -> Result<bool> {
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
        self.perform(move |folder| walk::list(&folder.keys(), &prefix, after.as_deref(), limit)).await
    }
}

impl Folder {
    fn keys(&self) -> PathBuf {
        self.root.join("=keys")
    }

    fn moving(&self) -> PathBuf {
        self.root.join("=moving")
    }

    fn path(&self, key: &str) -> Result<PathBuf> {
        if is_key(key) {
            return Ok(path::of_key(&self.keys(), key));
        }
        Err(Error::new(Code::InputInvalid, format!("`{key}` is not a key")))
    }

    fn check(&self) -> Result<()> {
        match self.is_spoilt.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Error::new(Code::StoreUnavailable, format!("the disk of `{}` failed", self.root.display()))
                .help("what was told before is saved; look at the disk, then open the store anew")),
        }
    }

    /// Makes the folders, or finds out whose they are.
    fn prepare(&self) -> Result<()> {
        let form = self.root.join(FORM.0);
        let failed = |error: IoError| describe(&error, &self.root);
        match std::fs::read_to_string(&form) {
            Ok(text) if text == FORM.1 => {}
            Ok(text) => {
                let message = format!("`{}` has the form `{}`", self.root.display(), text.trim());
                return Err(Error::new(Code::CheckpointTooNew, message)
                    .help("open it with the program that wrote it, or a newer one"));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let mut entries = std::fs::read_dir(&self.root).map_err(failed)?;
                if entries.any(|entry| entry.is_ok_and(|entry| !entry.file_name().to_string_lossy().starts_with('='))) {
                    let message = format!("`{}` has files of another program", self.root.display());
                    return Err(Error::new(Code::ConfigInvalid, message).help("name an empty folder, or a new one"));
                }
            }
            Err(error) => return Err(failed(error)),
        }
        for folder in [self.keys(), self.moving()] {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        self.write(&form, FORM.1.as_bytes()).map_err(failed)?;
        if let Some(parent) = self.root.parent() {
            sync_folder(parent).map_err(failed)?;
        }
        self.sweep();
        Ok(())
    }

    /// Removes files that were on their way when a process died. What cannot be removed now is litter until later.
    fn sweep(&self) {
        for file in std::fs::read_dir(self.moving()).into_iter().flatten().flatten() {
            let age = file.metadata().and_then(|data| data.modified()).map(|time| time.elapsed().unwrap_or_default());
            if age.is_ok_and(|age| age > ABANDONED) {
                drop(std::fs::remove_file(file.path()));
            }
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let moving = self.write_aside(&[bytes])?;
        std::fs::rename(moving, path)?;
        sync_folder(&self.root)
    }

    /// Writes a file that is not in its place yet.
    fn write_aside(&self, pieces: &[&[u8]]) -> std::io::Result<PathBuf> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let path = self.moving().join(format!("{:016x}-{number:x}", self.token));
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

    fn put(&self, path: &Path, value: &[u8], put: Put) -> Result<bool> {
        self.check()?;
        // Whoever comes too late need not write anything to find out.
        if put.only_new && value::is_there(path)? {
            return Ok(false);
        }
        let moving = self.write_aside(&[&value::head(put.lasts), value]).map_err(|error| describe(&error, path))?;
        let placed = self.place(&moving, path, put.only_new);
        if !matches!(placed, Ok(true)) {
            drop(std::fs::remove_file(moving));
        }
        if placed? {
            self.sync(path)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Moves a file to its place; false when there is one and that is not to be replaced.
    fn place(&self, moving: &Path, path: &Path, only_new: bool) -> Result<bool> {
        let failed = |error: IoError| describe(&error, path);
        for _ in 0..TRIES {
            let moved = match only_new {
                true => move_new(moving, path),
                // A file that lapsed is looked at and then removed; meanwhile nobody may put another in its place.
                false => self.lock(File::lock_shared).and_then(|_lock| std::fs::rename(moving, path)),
            };
            match moved {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let folder = path.parent().unwrap_or(&self.root);
                    self.synced().retain(|known| known != folder);
                    std::fs::create_dir_all(folder).map_err(failed)?;
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if !value::has_lapsed(path)? {
                        // It may have gone in this moment: then somebody was there all the same.
                        return Ok(false);
                    }
                    let _lock = self.lock(File::lock).map_err(failed)?;
                    if value::has_lapsed(path)? {
                        std::fs::remove_file(path).map_err(failed)?;
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(Error::new(Code::StoreUnavailable, format!("`{}` went again and again while it was put", path.display())))
    }

    fn lock(&self, kind: impl Fn(&File) -> std::io::Result<()>) -> std::io::Result<File> {
        let file = OpenOptions::new().create(true).append(true).open(self.root.join("=lock"))?;
        kind(&file)?;
        Ok(file)
    }

    fn synced(&self) -> std::sync::MutexGuard<'_, BTreeSet<PathBuf>> {
        self.synced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees that the place of a file is on the disk, with all folders on the way to it.
    fn sync(&self, path: &Path) -> Result<()> {
        let Some(folder) = path.parent() else { return Ok(()) };
        let is_known = self.synced().contains(folder);
        let mut synced = sync_folder(folder);
        if !is_known {
            for outer in folder.ancestors().skip(1).take_while(|outer| outer.starts_with(&self.root)) {
                synced = synced.and_then(|()| sync_folder(outer));
            }
        }
        match synced {
            // Somebody has deleted it already, and the folder with it.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                // After a sync that failed a second one may succeed and keep nothing.
                self.is_spoilt.store(true, Ordering::Relaxed);
                return Err(describe(&error, path));
            }
            Ok(()) => {}
        }
        let mut synced = self.synced();
        if synced.len() >= KNOWN {
            synced.clear();
        }
        if !is_known {
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
                Err(error) => return Err(describe(&error, path)),
            }
        }
        for folder in folders {
            match sync_folder(folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(describe(&error, folder)),
                _ => {}
            }
            let keys = self.keys();
            for folder in folder.ancestors().take_while(|folder| **folder != keys && folder.starts_with(&keys)) {
                // One that is not empty stays.
                if std::fs::remove_dir(folder).is_err() {
                    break;
                }
                self.synced().remove(folder);
            }
        }
        Ok(())
    }
}

/// Moves a file to where none is, in one step.
#[cfg(target_os = "linux")]
fn move_new(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every disk can.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => link_new(from, to),
        moved => Ok(moved?),
    }
}

#[cfg(not(target_os = "linux"))]
fn move_new(from: &Path, to: &Path) -> std::io::Result<()> {
    link_new(from, to)
}

fn link_new(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::hard_link(from, to)?;
    // What stays has another name and is removed later.
    drop(std::fs::remove_file(from));
    Ok(())
}

fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A failure of the disk as an error of ours.
fn describe(error: &IoError, path: &Path) -> Error {
    let (message, help, may_help) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            format!("the disk with `{}` is full", path.display()),
            "this was not saved, everything before it is; free some space and go on with the thread",
            true,
        ),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => (
            format!("`{}` cannot be read or written", path.display()),
            "nothing of this was saved; give the program the right to write the folder",
            false,
        ),
        _ => (
            format!("reading or writing `{}` failed", path.display()),
            "this may not be saved, everything told before it is; look at the disk, then go on with the thread",
            true,
        ),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    Error::new(Code::StoreUnavailable, message).help(help).retryable(may_help).caused_by(Arc::from(cause))
}
