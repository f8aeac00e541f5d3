//! File paths of keys: each segment of a key is a folder, the last segment is a file.
//!
//! Names are valid on every filesystem: only lowercase letters, digits, `_` and `-` stand for themselves, every other
//! byte becomes `=` and two hexadecimal digits, so that no two names differ only by case and none is `..`. The suffix
//! of a name is its kind: `=v` for a file, `=c` for a folder with only the first part of a long segment, none for a
//! whole segment. An empty segment is `=e`.

use std::path::{Path, PathBuf};

/// Maximum number of characters of an encoded segment in one name.
const MAX_NAME_BYTES: usize = 200;

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    File,
    Folder,
    /// A folder whose segment continues in the names inside it.
    Continued,
}

/// Returns the path of the file of a key.
pub(super) fn of_key(root: &Path, key: &str) -> PathBuf {
    let (folders, name) = key.rsplit_once('/').map_or((None, key), |(folders, name)| (Some(folders), name));
    let mut path = folders.map_or_else(|| root.to_owned(), |folders| of_folders(root, folders));
    push(&mut path, name, "=v");
    path
}

/// Returns the folder of the keys that begin with these segments.
pub(super) fn of_folders(root: &Path, folders: &str) -> PathBuf {
    let mut path = root.to_owned();
    folders.split('/').for_each(|piece| push(&mut path, piece, ""));
    path
}

fn push(path: &mut PathBuf, piece: &str, end: &str) {
    let mut name = String::new();
    for byte in piece.bytes() {
        if name.len() >= MAX_NAME_BYTES {
            path.push(name + "=c");
            name = String::new();
        }
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(byte)),
            other => name.push_str(&format!("={other:02x}")),
        }
    }
    if name.is_empty() {
        name.push_str("=e");
    }
    path.push(name + end);
}

/// Decodes a name; returns `None` if the name is not a valid encoding.
pub(super) fn read(name: &str) -> Option<(String, PathKind)> {
    let (name, kind) = match name.strip_suffix("=v") {
        Some(name) => (name, PathKind::File),
        None => match name.strip_suffix("=c") {
            Some(name) => (name, PathKind::Continued),
            None => (name, PathKind::Folder),
        },
    };
    if name == "=e" {
        return Some((String::new(), kind));
    }
    let (mut text, mut rest) = (String::new(), name);
    while let Some(first) = rest.chars().next() {
        if first == '=' {
            let byte = u8::from_str_radix(rest.get(1..3)?, 16).ok()?;
            text.push(char::from(byte));
            rest = &rest[3..];
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Some((text, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(path: &Path) -> String {
        let mut key = String::new();
        let names: Vec<_> = path.iter().map(|name| read(name.to_str().unwrap()).unwrap()).collect();
        for (text, kind) in names {
            key.push_str(&text);
            if kind == PathKind::Folder {
                key.push('/');
            }
        }
        key
    }

    #[test]
    fn keys_and_paths_convert_without_collisions() {
        let long = "Xy.".repeat(150);
        let keys = ["a", "A", "a/b", "a/B", "..", "../..", "/", "a//b", "a/", ".", ":", "=", "a.v", "con", &long];
        let mut paths: Vec<String> = Vec::new();
        for key in keys {
            let path = of_key(Path::new(""), key);
            assert_eq!(key_of(&path), key, "{}", path.display());
            assert!(path.iter().all(|name| name.len() < 255 && name != ".." && name != "."));
            paths.push(path.to_str().unwrap().to_lowercase());
        }
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), keys.len());
    }
}
