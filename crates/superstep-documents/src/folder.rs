//! Lists and reads the files of a folder, and nothing outside of the folder.
//!
//! Number and size of the files are limited; skipped files are reported, and the report is limited too.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use superstep::{Error, ErrorCode, Result};

/// Limits for reading a folder. The rest is skipped and reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Maximum number of files.
    pub max_files: usize,
    /// Maximum size of one file in bytes.
    pub max_file_bytes: u64,
    /// Maximum size of all files together in bytes.
    pub max_total_bytes: u64,
    /// Maximum number of items in all files together.
    pub max_items: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { max_files: 10_000, max_file_bytes: 32 << 20, max_total_bytes: 128 << 20, max_items: 100_000 }
    }
}

/// Maximum depth of nested folders.
const MAX_DEPTH: usize = 8;
/// Maximum number of directory entries visited, of whatever kind.
const MAX_ENTRIES: usize = 100_000;
/// Maximum number of skipped files that are reported by name.
const MAX_REPORTED_FILES: usize = 200;

/// Path, size and modification time of a file; changes when the file changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileStamp {
    path: PathBuf,
    length: u64,
    modified: Option<SystemTime>,
}

/// Selection of the files to read.
#[derive(Clone, Copy)]
pub(crate) struct FileFilter {
    /// Returns true if a file of this name is selected.
    pub(crate) accepts_file: fn(&str) -> bool,
    /// Reason reported for other files; `None` if they need no report.
    pub(crate) skip_reason: Option<&'static str>,
    pub(crate) limits: ReadLimits,
}

/// Listing of a folder.
#[derive(Default)]
pub(crate) struct FolderListing {
    /// Files by their path inside the folder, with `/` as separator.
    pub(crate) files: BTreeMap<String, FileStamp>,
    pub(crate) skipped_files: SkippedFiles,
    bytes: u64,
    entries: usize,
}

/// Skipped files, with reasons.
#[derive(Default)]
pub(crate) struct SkippedFiles {
    named: Vec<String>,
    others: usize,
}

impl SkippedFiles {
    pub(crate) fn add(&mut self, name: &str, reason: &str) {
        match self.named.len() < MAX_REPORTED_FILES {
            true => self.named.push(format!("{name}: {reason}")),
            false => self.others += 1,
        }
    }

    pub(crate) fn list(&self) -> Vec<String> {
        let others = (self.others > 0).then(|| format!("and {} more", self.others));
        self.named.iter().cloned().chain(others).collect()
    }
}

/// Resolves the folder, with all symbolic links.
pub(crate) fn root(folder: &Path) -> Result<PathBuf> {
    let root = folder.canonicalize().map_err(|cause| unreadable(folder, cause))?;
    if !root.is_dir() {
        let message = format!("cannot read the folder `{}`: it is not a folder", folder.display());
        return Err(Error::new(ErrorCode::ConfigInvalid, message).with_help("specify a folder"));
    }
    Ok(root)
}

/// Lists the files that exist now.
pub(crate) fn list(root: &Path, filter: FileFilter) -> Result<FolderListing> {
    let mut walker = FolderWalker { root, filter, listing: FolderListing::default() };
    walker.walk_folder(root, 0).map_err(|cause| unreadable(root, cause))?;
    if walker.listing.entries > MAX_ENTRIES {
        walker.listing.skipped_files.add(".", &format!("the folder has more than {MAX_ENTRIES} files and folders"));
    }
    Ok(walker.listing)
}

struct FolderWalker<'a> {
    root: &'a Path,
    filter: FileFilter,
    listing: FolderListing,
}

impl FolderWalker<'_> {
    fn walk_folder(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        let entries = fs::read_dir(folder)?.take(MAX_ENTRIES);
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
        // The order of results must not depend on the file system.
        paths.sort();
        for path in paths {
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_hidden {
                continue;
            }
            self.listing.entries += 1;
            if self.listing.entries > MAX_ENTRIES {
                break;
            }
            let name = name_in(self.root, &path);
            match self.visit(path, &name, depth) {
                Ok(None) => {}
                Ok(Some(reason)) => self.listing.skipped_files.add(&name, &reason),
                Err(cause) => self.listing.skipped_files.add(&name, &read_error(cause)),
            }
        }
        Ok(())
    }

    /// Visits one path; returns the reason if it is skipped.
    fn visit(&mut self, path: PathBuf, name: &str, depth: usize) -> io::Result<Option<String>> {
        let is_link = fs::symlink_metadata(&path)?.is_symlink();
        if is_link && !path.canonicalize()?.starts_with(self.root) {
            return Ok(Some(OUTSIDE_REASON.to_owned()));
        }
        let metadata = fs::metadata(&path)?;
        if metadata.is_dir() {
            // A linked folder inside the root is visited at its own path, and a link could form a cycle.
            return match (is_link, depth >= MAX_DEPTH) {
                (true, _) => Ok(Some("it is a symbolic link to a folder".to_owned())),
                (_, true) => Ok(Some(format!("folders are nested more than {MAX_DEPTH} levels deep"))),
                _ => self.walk_folder(&path, depth + 1).map(|()| None),
            };
        }
        if !metadata.is_file() || !(self.filter.accepts_file)(name) {
            return Ok(self.filter.skip_reason.map(str::to_owned));
        }
        let (length, modified) = (metadata.len(), metadata.modified().ok());
        let limit_error = self.exceeds_limits(length);
        if limit_error.is_none() {
            self.listing.bytes += length;
            self.listing.files.insert(name.to_owned(), FileStamp { path, length, modified });
        }
        Ok(limit_error)
    }

    fn exceeds_limits(&self, length: u64) -> Option<String> {
        let ReadLimits { max_files, max_file_bytes, max_total_bytes, .. } = self.filter.limits;
        if length > max_file_bytes {
            return Some(format!("it has {length} bytes; the maximum is {max_file_bytes}"));
        }
        if self.listing.files.len() >= max_files {
            return Some(format!("the limit of {max_files} files is reached"));
        }
        let is_over = self.listing.bytes + length > max_total_bytes;
        is_over.then(|| format!("it exceeds the limit of {max_total_bytes} bytes in total"))
    }
}

impl FileStamp {
    /// Reads the file, or returns the reason why it cannot be read.
    pub(crate) fn read(&self, root: &Path) -> Result<Vec<u8>, String> {
        let path = self.path.canonicalize().map_err(read_error)?;
        // The file may have become a link since it was listed, and may grow while it is read.
        if !path.starts_with(root) {
            return Err(OUTSIDE_REASON.to_owned());
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(read_error)?;
        file.take(self.length).read_to_end(&mut bytes).map_err(read_error)?;
        Ok(bytes)
    }
}

const OUTSIDE_REASON: &str = "it is a symbolic link out of the folder";

fn read_error(cause: io::Error) -> String {
    format!("cannot be read ({cause})")
}

fn unreadable(folder: &Path, cause: io::Error) -> Error {
    let message = format!("cannot read the folder `{}`", folder.display());
    let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(cause);
    Error::new(ErrorCode::ConfigInvalid, message).with_source(cause)
}

fn name_in(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
