//! Keys as paths: each piece between two `/` is a folder, the last one a file.
//!
//! Names hold on every disk: only small letters, digits, `_` and `-` stand for themselves, everything else is `=` and two
//! digits, so that no two keys differ by case alone and none is `..`. A name ends with what it is: `=v` for a file, `=c`
//! for a folder that has only the first part of a long piece. An empty piece is `=e`.

use std::path::{Path, PathBuf};

/// The longest part of a name.
const LONGEST: usize = 200;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// A folder whose name goes on inside.
    Continued,
}

/// The file of a key.
pub(super) fn of_key(root: &Path, key: &str) -> PathBuf {
    let (folders, name) = key.rsplit_once('/').map_or((None, key), |(folders, name)| (Some(folders), name));
    let mut path = folders.map_or_else(|| root.to_owned(), |folders| of_folders(root, folders));
    push(&mut path, name, "=v");
    path
}

/// The folder of the keys that begin with these pieces.
pub(super) fn of_folders(root: &Path, folders: &str) -> PathBuf {
    let mut path = root.to_owned();
    folders.split('/').for_each(|piece| push(&mut path, piece, ""));
    path
}

fn push(path: &mut PathBuf, piece: &str, end: &str) {
    let mut name = String::new();
    for byte in piece.bytes() {
        if name.len() >= LONGEST {
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

/// What a name stands for; `None` when it is none of ours.
pub(super) fn read(name: &str) -> Option<(String, Kind)> {
    let (name, kind) = match name.strip_suffix("=v") {
        Some(name) => (name, Kind::File),
        None => match name.strip_suffix("=c") {
            Some(name) => (name, Kind::Continued),
            None => (name, Kind::Folder),
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
            if kind == Kind::Folder {
                key.push('/');
            }
        }
        key
    }

    #[test]
    fn keys_come_back_from_their_paths_and_no_two_share_one() {
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
