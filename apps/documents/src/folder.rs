//! Lists and reads the files of the folder, and none outside of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use superstep::{Code, Error, Result};

/// The largest file that is read.
const LARGEST: u64 = 1024 * 1024;
/// The most files that are read.
const MOST: usize = 2_000;
/// How deep folders are looked into.
const DEEPEST: usize = 8;

/// A file as it was seen; another one when it has changed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Its path inside the folder, with `/` between the parts.
    pub(crate) name: String,
    length: u64,
    modified: Option<SystemTime>,
    kind: Kind,
}

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Markdown,
    Html,
    Text,
}

/// A file, read.
pub(crate) struct Document {
    /// Its path inside the folder, with `/` between the parts.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

/// What a folder holds.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<File>,
    pub(crate) skipped: Vec<String>,
}

/// The folder itself, wherever links lead.
pub(crate) fn root(folder: &Path) -> Result<PathBuf> {
    let shown = folder.display();
    let root = folder.canonicalize().map_err(|cause| unreadable(folder, cause))?;
    if !root.is_dir() {
        let fact = format!("cannot read documents in `{shown}`: it is no folder");
        return Err(Error::new(Code::ConfigInvalid, fact).help("name a folder with `.md`, `.html` or `.txt` files"));
    }
    Ok(root)
}

/// What is there now.
pub(crate) fn list(root: &Path) -> Result<Found> {
    let mut found = Found::default();
    walk(root, root, 0, &mut found).map_err(|cause| unreadable(root, cause))?;
    Ok(found)
}

fn walk(root: &Path, folder: &Path, depth: usize, found: &mut Found) -> io::Result<()> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    // The order of a file system is its own; that of results must not be.
    paths.sort();
    for path in paths {
        let name = name_in(root, &path);
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden {
            continue;
        }
        match visit(root, &path, depth, found) {
            Ok(None) => {}
            Ok(Some(reason)) => found.skipped.push(format!("{name}: {reason}")),
            Err(cause) => found.skipped.push(format!("{name}: {}", cannot(cause))),
        }
    }
    Ok(())
}

/// Takes one path in; says why it was left out.
fn visit(root: &Path, path: &Path, depth: usize, found: &mut Found) -> io::Result<Option<String>> {
    let is_link = fs::symlink_metadata(path)?.is_symlink();
    if is_link && !path.canonicalize()?.starts_with(root) {
        return Ok(Some("it is a link out of the folder".to_owned()));
    }
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        // A link to a folder inside is met again where the folder is, and could lead in a circle.
        return match (is_link, depth >= DEEPEST) {
            (true, _) => Ok(Some("it is a link to a folder".to_owned())),
            (_, true) => Ok(Some(format!("folders are read {DEEPEST} deep"))),
            _ => walk(root, path, depth + 1, found).map(|()| None),
        };
    }
    let kind = path.extension().map(|kind| kind.to_string_lossy().to_lowercase()).unwrap_or_default();
    let kind = match kind.as_str() {
        _ if !metadata.is_file() => None,
        "md" | "markdown" => Some(Kind::Markdown),
        "html" | "htm" => Some(Kind::Html),
        "txt" => Some(Kind::Text),
        _ => None,
    };
    let Some(kind) = kind else { return Ok(Some("it is neither Markdown, HTML nor text".to_owned())) };
    if metadata.len() > LARGEST {
        return Ok(Some(format!("it has {} bytes, more than {LARGEST}", metadata.len())));
    }
    if found.files.len() >= MOST {
        return Ok(Some(format!("{MOST} files are read already")));
    }
    let (length, modified) = (metadata.len(), metadata.modified().ok());
    found.files.push(File { name: name_in(root, path), length, modified, kind });
    Ok(None)
}

impl File {
    /// Its text, or why it is left out.
    pub(crate) fn read(&self, root: &Path) -> Result<Document, String> {
        let bytes = fs::read(root.join(&self.name)).map_err(cannot)?;
        let text = text_of(bytes).ok_or("it is not text in UTF-8")?;
        Ok(Document { name: self.name.clone(), text, kind: self.kind })
    }
}

fn cannot(cause: io::Error) -> String {
    format!("cannot be read ({cause})")
}

fn unreadable(folder: &Path, cause: io::Error) -> Error {
    let fact = format!("cannot read documents in `{}`", folder.display());
    let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(cause);
    Error::new(Code::ConfigInvalid, fact).caused_by(cause)
}

fn text_of(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    (!text.contains('\0')).then_some(text)
}

fn name_in(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
