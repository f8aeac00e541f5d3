//! Tests of the limits for reading a folder, and of access to files outside of it.

use std::fs;
use std::os::unix::fs::symlink;

use superstep_documents::{DocumentLine, Documents, FileIndex, IndexedItem, ReadLimits, SearchFields};

use crate::empty_folder;

/// A line of a `.list` file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry(String);

impl IndexedItem for Entry {
    fn accepts_file(name: &str) -> bool {
        name.ends_with(".list")
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Self>, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{name} is not text"))?;
        Ok(text.lines().map(|line| Self(line.to_owned())).collect())
    }

    fn search_fields(&self) -> SearchFields<'_> {
        SearchFields { text: self.0.clone(), ..SearchFields::default() }
    }
}

/// Returns the number of files and items read, and the report of the rest.
fn read(name: &str, limits: ReadLimits) -> (usize, usize, Vec<String>) {
    let folder = empty_folder(name);
    for number in 0..6 {
        fs::write(folder.join(format!("{number}.list")), "lemons\nplums\n").unwrap();
    }
    let index = FileIndex::<Entry>::open(&folder, limits).unwrap();
    (index.files(), index.item_count(), index.skipped())
}

/// R-SUG-20, R-SUG-18: number and size of files, their total size and the number of items are limited; each limit
/// is reported.
#[test]
fn every_limit_applies_and_is_reported() {
    let defaults = ReadLimits::default();
    for (name, limits, files, message) in [
        ("files", ReadLimits { max_files: 4, ..defaults }, 4, "the limit of 4 files is reached"),
        ("largest", ReadLimits { max_file_bytes: 12, ..defaults }, 0, "it has 13 bytes; the maximum is 12"),
        ("total", ReadLimits { max_total_bytes: 40, ..defaults }, 3, "the limit of 40 bytes in total"),
        ("things", ReadLimits { max_items: 5, ..defaults }, 2, "the limit of 5 entries"),
    ] {
        let (read, items, skipped) = read(&format!("bounds-{name}"), limits);
        assert_eq!((read, items, skipped.len()), (files, files * 2, 6 - files), "{name}: {skipped:?}");
        assert!(skipped.iter().all(|skipped| skipped.contains(message)), "{name}: {skipped:?}");
    }
    assert_eq!(read("bounds-none", defaults), (6, 12, Vec::new()));
}

/// R-SUG-20: skipped files are reported by name up to a limit, and then counted.
#[test]
fn notes_are_bounded_too() {
    let folder = empty_folder("bounds-notes");
    for number in 0..250 {
        fs::write(folder.join(format!("{number:03}.list")), "lemons").unwrap();
    }
    let index = FileIndex::<Entry>::open(&folder, ReadLimits { max_files: 10, ..ReadLimits::default() }).unwrap();
    let skipped = index.skipped();
    assert_eq!((skipped.len(), skipped.last().map(String::as_str)), (201, Some("and 40 more")));
}

/// R-SUG-19: a document is read by its name if it is searched; nothing else inside or outside of the folder can be
/// read.
#[test]
fn only_indexed_documents_can_be_read() {
    let folder = empty_folder("bounds-read");
    let outside = folder.with_file_name("documents-bounds-outside.md");
    fs::write(&outside, "# Secret").unwrap();
    fs::create_dir(folder.join("inner")).unwrap();
    fs::write(folder.join("inner/a#b.md"), "# Größe\n- one\n\n```\ncode\n```\n").unwrap();
    fs::write(folder.join("table.csv"), "secret").unwrap();
    fs::write(folder.join(".hidden.md"), "secret").unwrap();
    fs::write(folder.join("swapped.md"), "# Before").unwrap();
    symlink(&outside, folder.join("link.md")).unwrap();
    let documents = Documents::open(&folder).unwrap();
    let expected = [
        DocumentLine::Heading { level: 1, text: "Größe".to_owned(), anchor: "größe".to_owned() },
        DocumentLine::Item("one".to_owned()),
        DocumentLine::Blank,
        DocumentLine::Code("code".to_owned()),
    ];
    assert_eq!(documents.read("inner/a#b.md").unwrap(), expected);
    for name in ["table.csv", ".hidden.md", "link.md", "../documents-bounds-outside.md", "inner", "", "none.md"] {
        assert_eq!(documents.read(name), None, "{name}");
    }
    // A file that is replaced by a link out of the folder after it was listed is not followed.
    assert!(documents.read("swapped.md").is_some());
    fs::remove_file(folder.join("swapped.md")).unwrap();
    symlink(&outside, folder.join("swapped.md")).unwrap();
    assert_eq!(documents.read("swapped.md"), None);
}
