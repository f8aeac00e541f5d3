//! `read_file`: reads text files inside the allowed folders only.
//!
//! A path must be relative and without `..`. After all links are resolved, it must refer to a regular file inside
//! an allowed folder.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use serde_json::json;
use superstep::core::suggest::nearest;
use superstep::tools::{Tool, ToolInvocation, ToolSpec};
use superstep::{Error, ErrorCode, Result, ToolError, ToolOutput};

use super::arguments::required;
use super::error::{invalid, not_allowed, unavailable};

/// Maximum number of bytes that are read from a file.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Maximum number of file names that are searched for a suggestion.
const MAX_NAMES: usize = 500;

/// The `read_file` tool.
pub(super) struct ReadFile {
    /// Canonical paths of the allowed folders.
    folders: Vec<PathBuf>,
}

impl ReadFile {
    /// Creates the tool for these folders.
    ///
    /// # Errors
    /// Returns an error if a folder does not exist.
    pub(super) fn new(folders: &[PathBuf]) -> Result<Self> {
        let root = |folder: &PathBuf| {
            let canonical = folder.canonicalize().ok().filter(|folder| folder.is_dir());
            let message = || format!("cannot read files in `{}`: not a folder", folder.display());
            canonical.ok_or_else(|| Error::new(ErrorCode::ConfigInvalid, message()))
        };
        Ok(Self { folders: folders.iter().map(root).collect::<Result<_>>()? })
    }

    fn read(&self, path: &str) -> Result<ToolOutput, ToolError> {
        let (folder, resolved) = self.find(path)?;
        if !resolved.starts_with(folder) {
            return Err(not_allowed(format_args!(
                "`{path}` is a symbolic link to a target outside the allowed folders"
            )));
        }
        let is_file = fs::metadata(&resolved).is_ok_and(|metadata| metadata.is_file());
        if !is_file {
            return Err(not_allowed(format_args!("`{path}` is not a file")));
        }
        let read_error = |cause: std::io::Error| unavailable(format_args!("`{path}` cannot be read: {cause}"));
        let file = File::open(&resolved).map_err(read_error)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(read_error)?;
        let is_cut = bytes.len() as u64 > MAX_FILE_BYTES;
        let text = decode_text(bytes, is_cut).ok_or_else(|| invalid(format_args!("`{path}` is not valid UTF-8")))?;
        Ok(json!({"path": path, "text": text, "truncated": is_cut}).into())
    }

    /// Resolves a path to its allowed folder and file.
    fn find(&self, path: &str) -> Result<(&Path, PathBuf), ToolError> {
        let relative = relative_path(path)?;
        for folder in &self.folders {
            // The path may start with the name of the folder.
            let name = folder.file_name().map(PathBuf::from).unwrap_or_default();
            let rest = relative.strip_prefix(&name).ok().filter(|rest| !rest.as_os_str().is_empty());
            for candidate in [Some(relative.as_path()), rest].into_iter().flatten() {
                if let Ok(resolved) = folder.join(candidate).canonicalize() {
                    return Ok((folder, resolved));
                }
            }
        }
        let names = self.names();
        let suggestion = nearest(path, names.iter().map(String::as_str));
        let suggestion = suggestion.map(|suggestion| format!("; did you mean `{suggestion}`?")).unwrap_or_default();
        Err(invalid(format_args!("file `{path}` not found{suggestion}")))
    }

    /// Returns the names of existing files.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for folder in &self.folders {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            names.extend(entries.take(MAX_NAMES).map(|entry| entry.file_name().to_string_lossy().into_owned()));
        }
        names.sort();
        names
    }
}

/// Rejects paths that are not lexically inside a folder.
fn relative_path(path: &str) -> Result<PathBuf, ToolError> {
    let has_forbidden_character = path.contains(['\\', '\0', ':', '~']);
    let parts: Vec<Component<'_>> = Path::new(path).components().collect();
    let is_plain = |part: &Component<'_>| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        Component::CurDir => true,
        _ => false,
    };
    if has_forbidden_character || parts.is_empty() || !parts.iter().all(is_plain) {
        let excerpt: String = path.chars().take(200).collect();
        return Err(not_allowed(format_args!("`{}` is not a path inside the allowed folders", excerpt.escape_debug())));
    }
    Ok(parts.into_iter().filter(|part| matches!(part, Component::Normal(_))).collect())
}

fn decode_text(mut bytes: Vec<u8>, is_cut: bool) -> Option<String> {
    if is_cut {
        // The cut may have split a character.
        let valid = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
        if valid + 4 < bytes.len() {
            return None;
        }
        bytes.truncate(valid);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
            "path": {"type": "string", "description": "Path of the file, inside the allowed folders."},
        }});
        let about = "Reads a text file inside the allowed folders.";
        let spec = ToolSpec::new("read_file", about).with_input_schema(schema).read_only();
        spec.timeout(super::CALL_TIMEOUT).retries(super::MAX_RETRIES)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let path = required(&call, "path")?.to_owned();
        let reader = Self { folders: self.folders.clone() };
        let read = tokio::task::spawn_blocking(move || reader.read(&path)).await;
        read.map_err(|_| unavailable("the file could not be read"))?
    }
}
