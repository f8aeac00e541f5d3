//! Reads the files of the folder, and none outside of it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use superstep::{Code, Error, Result};

use super::broken;

/// The largest file that is read.
const LARGEST: u64 = 1024 * 1024;
/// The most files that are read.
const MOST: usize = 2_000;
/// How deep folders are looked into.
const DEEPEST: usize = 8;

/// A file, read.
pub(super) struct Document {
    /// Its path inside the folder, with `/` between the parts.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) is_markdown: bool,
}

/// What a folder holds.
#[derive(Default)]
pub(super) struct Found {
    pub(super) documents: Vec<Document>,
    pub(super) skipped: Vec<String>,
}

pub(super) fn read(folder: &Path) -> Result<Found> {
    let shown = folder.display();
    let root =
        folder.canonicalize().map_err(|cause| broken(format_args!("cannot read evidence in `{shown}`"), cause))?;
    if !root.is_dir() {
        let fact = format!("cannot read evidence in `{shown}`: it is no folder");
        return Err(Error::new(Code::ConfigInvalid, fact).help("name a folder with `.md` or `.txt` files"));
    }
    let mut found = Found::default();
    walk(&root, &root, 0, &mut found)
        .map_err(|cause| broken(format_args!("cannot read evidence in `{shown}`"), cause))?;
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
            Err(cause) => found.skipped.push(format!("{name}: cannot be read ({cause})")),
        }
    }
    Ok(())
}

/// Reads one path; says why it was left out.
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
    let is_markdown = matches!(kind.as_str(), "md" | "markdown");
    if !metadata.is_file() || !(is_markdown || kind == "txt") {
        return Ok(Some("it is neither Markdown nor text".to_owned()));
    }
    if metadata.len() > LARGEST {
        return Ok(Some(format!("it has {} bytes, more than {LARGEST}", metadata.len())));
    }
    if found.documents.len() >= MOST {
        return Ok(Some(format!("{MOST} files are read already")));
    }
    let Some(text) = text_of(fs::read(path)?) else { return Ok(Some("it is not text in UTF-8".to_owned())) };
    found.documents.push(Document { name: name_in(root, path), text, is_markdown });
    Ok(None)
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
