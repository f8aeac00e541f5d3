//! Lists and reads the files of a folder, and none outside of it.
//!
//! What is read is bounded in number and size; whatever is left out is noted, and the notes are bounded too.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use superstep::{Code, Error, Result};

/// How much of a folder is read. The rest is left out, and said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// At most this many files.
    pub files: usize,
    /// At most this many bytes of one file.
    pub largest: u64,
    /// At most this many bytes of all files together.
    pub total: u64,
    /// At most this many things out of all files together.
    pub things: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { files: 10_000, largest: 32 << 20, total: 128 << 20, things: 100_000 }
    }
}

/// How deep folders are looked into.
const DEEPEST: usize = 8;
/// How many files and folders are looked at, of whatever kind.
const MOST_ENTRIES: usize = 100_000;
/// How much of what was left out is named one by one.
const MOST_NOTES: usize = 200;

/// A file as it was seen; another one when it has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    path: PathBuf,
    length: u64,
    modified: Option<SystemTime>,
}

/// Which files are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// By their name.
    pub(crate) is_wanted: fn(&str) -> bool,
    /// Why others are left out; none where nobody needs to know.
    pub(crate) stranger: Option<&'static str>,
    pub(crate) bounds: Bounds,
}

/// What a folder holds.
#[derive(Default)]
pub(crate) struct Found {
    /// By their path inside the folder, with `/` between the parts.
    pub(crate) files: BTreeMap<String, File>,
    pub(crate) notes: Notes,
    bytes: u64,
    entries: usize,
}

/// What was left out, and why.
#[derive(Default)]
pub(crate) struct Notes {
    named: Vec<String>,
    others: usize,
}

impl Notes {
    pub(crate) fn add(&mut self, name: &str, reason: &str) {
        match self.named.len() < MOST_NOTES {
            true => self.named.push(format!("{name}: {reason}")),
            false => self.others += 1,
        }
    }

    pub(crate) fn list(&self) -> Vec<String> {
        let others = (self.others > 0).then(|| format!("and {} more were left out", self.others));
        self.named.iter().cloned().chain(others).collect()
    }
}

/// The folder itself, wherever links lead.
pub(crate) fn root(folder: &Path) -> Result<PathBuf> {
    let root = folder.canonicalize().map_err(|cause| unreadable(folder, cause))?;
    if !root.is_dir() {
        let fact = format!("cannot read the folder `{}`: it is none", folder.display());
        return Err(Error::new(Code::ConfigInvalid, fact).help("name a folder"));
    }
    Ok(root)
}

/// What is there now.
pub(crate) fn list(root: &Path, wanted: Wanted) -> Result<Found> {
    let mut walk = Walk { root, wanted, found: Found::default() };
    walk.enter(root, 0).map_err(|cause| unreadable(root, cause))?;
    if walk.found.entries > MOST_ENTRIES {
        walk.found.notes.add(".", &format!("there is more in it than {MOST_ENTRIES} files and folders"));
    }
    Ok(walk.found)
}

struct Walk<'a> {
    root: &'a Path,
    wanted: Wanted,
    found: Found,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        let entries = fs::read_dir(folder)?.take(MOST_ENTRIES);
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
        // The order of a file system is its own; that of results must not be.
        paths.sort();
        for path in paths {
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_hidden {
                continue;
            }
            self.found.entries += 1;
            if self.found.entries > MOST_ENTRIES {
                break;
            }
            let name = name_in(self.root, &path);
            match self.visit(path, &name, depth) {
                Ok(None) => {}
                Ok(Some(reason)) => self.found.notes.add(&name, &reason),
                Err(cause) => self.found.notes.add(&name, &cannot(cause)),
            }
        }
        Ok(())
    }

    /// Takes one path in; says why it was left out.
    fn visit(&mut self, path: PathBuf, name: &str, depth: usize) -> io::Result<Option<String>> {
        let is_link = fs::symlink_metadata(&path)?.is_symlink();
        if is_link && !path.canonicalize()?.starts_with(self.root) {
            return Ok(Some(OUTSIDE.to_owned()));
        }
        let metadata = fs::metadata(&path)?;
        if metadata.is_dir() {
            // A link to a folder inside is met again where the folder is, and could lead in a circle.
            return match (is_link, depth >= DEEPEST) {
                (true, _) => Ok(Some("it is a link to a folder".to_owned())),
                (_, true) => Ok(Some(format!("folders are read {DEEPEST} deep"))),
                _ => self.enter(&path, depth + 1).map(|()| None),
            };
        }
        if !metadata.is_file() || !(self.wanted.is_wanted)(name) {
            return Ok(self.wanted.stranger.map(str::to_owned));
        }
        let (length, modified) = (metadata.len(), metadata.modified().ok());
        let too_much = self.too_much(length);
        if too_much.is_none() {
            self.found.bytes += length;
            self.found.files.insert(name.to_owned(), File { path, length, modified });
        }
        Ok(too_much)
    }

    fn too_much(&self, length: u64) -> Option<String> {
        let Bounds { files, largest, total, .. } = self.wanted.bounds;
        if length > largest {
            return Some(format!("it has {length} bytes, more than {largest}"));
        }
        if self.found.files.len() >= files {
            return Some(format!("{files} files are read already, and that is the limit"));
        }
        let is_over = self.found.bytes + length > total;
        is_over.then(|| format!("with it more than {total} bytes would be read in all, and that is the limit"))
    }
}

impl File {
    /// What is in it, or why it cannot be read.
    pub(crate) fn read(&self, root: &Path) -> Result<Vec<u8>, String> {
        let path = self.path.canonicalize().map_err(cannot)?;
        // It may have become a link since it was listed, and it may grow while it is read.
        if !path.starts_with(root) {
            return Err(OUTSIDE.to_owned());
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(cannot)?;
        file.take(self.length).read_to_end(&mut bytes).map_err(cannot)?;
        Ok(bytes)
    }
}

const OUTSIDE: &str = "it is a link out of the folder";

fn cannot(cause: io::Error) -> String {
    format!("cannot be read ({cause})")
}

fn unreadable(folder: &Path, cause: io::Error) -> Error {
    let fact = format!("cannot read the folder `{}`", folder.display());
    let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(cause);
    Error::new(Code::ConfigInvalid, fact).caused_by(cause)
}

fn name_in(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
