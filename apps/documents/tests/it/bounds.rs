//! How much of a folder is read, and that nothing else can be.

use std::fs;
use std::os::unix::fs::symlink;

use superstep_documents::{Bounds, Documents, Line, Shelf, Thing, Words};

use crate::fresh;

/// A line of a file `.list`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry(String);

impl Thing for Entry {
    fn is_in(name: &str) -> bool {
        name.ends_with(".list")
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Self>, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{name} is no text"))?;
        Ok(text.lines().map(|line| Self(line.to_owned())).collect())
    }

    fn words(&self) -> Words<'_> {
        Words { text: self.0.clone(), ..Words::default() }
    }
}

/// How many files and things are read, and what is said about the rest.
fn read(name: &str, bounds: Bounds) -> (usize, usize, Vec<String>) {
    let folder = fresh(name);
    for number in 0..6 {
        fs::write(folder.join(format!("{number}.list")), "lemons\nplums\n").unwrap();
    }
    let shelf = Shelf::<Entry>::open(&folder, bounds).unwrap();
    (shelf.files(), shelf.things(), shelf.skipped())
}

/// R-SUG-20, R-SUG-18: number and size of files, their sum and the number of things in them are bounded; each bound says so.
#[test]
fn every_bound_holds_and_says_so() {
    let usual = Bounds::default();
    for (name, bounds, files, said) in [
        ("files", Bounds { files: 4, ..usual }, 4, "4 files are read already"),
        ("largest", Bounds { largest: 12, ..usual }, 0, "it has 13 bytes, more than 12"),
        ("total", Bounds { total: 40, ..usual }, 3, "more than 40 bytes would be read in all"),
        ("things", Bounds { things: 5, ..usual }, 2, "there would be more than 5"),
    ] {
        let (read, things, skipped) = read(&format!("bounds-{name}"), bounds);
        assert_eq!((read, things, skipped.len()), (files, files * 2, 6 - files), "{name}: {skipped:?}");
        assert!(skipped.iter().all(|skipped| skipped.contains(said)), "{name}: {skipped:?}");
    }
    assert_eq!(read("bounds-none", usual), (6, 12, Vec::new()));
}

/// R-SUG-20: what is left out is named one by one up to a number, and then counted.
#[test]
fn notes_are_bounded_too() {
    let folder = fresh("bounds-notes");
    for number in 0..250 {
        fs::write(folder.join(format!("{number:03}.list")), "lemons").unwrap();
    }
    let shelf = Shelf::<Entry>::open(&folder, Bounds { files: 10, ..Bounds::default() }).unwrap();
    let skipped = shelf.skipped();
    assert_eq!((skipped.len(), skipped.last().map(String::as_str)), (201, Some("and 40 more were left out")));
}

/// R-SUG-19: a document is read by its name when it is one that is searched; nothing else of the folder is, or around it.
#[test]
fn only_what_is_searched_can_be_read() {
    let folder = fresh("bounds-read");
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
        Line::Heading { depth: 1, words: "Größe".to_owned(), anchor: "größe".to_owned() },
        Line::Item("one".to_owned()),
        Line::Blank,
        Line::Code("code".to_owned()),
    ];
    assert_eq!(documents.read("inner/a#b.md").unwrap(), expected);
    for name in ["table.csv", ".hidden.md", "link.md", "../documents-bounds-outside.md", "inner", "", "none.md"] {
        assert_eq!(documents.read(name), None, "{name}");
    }
    // What becomes a link out of the folder after it was seen is not followed.
    assert!(documents.read("swapped.md").is_some());
    fs::remove_file(folder.join("swapped.md")).unwrap();
    symlink(&outside, folder.join("swapped.md")).unwrap();
    assert_eq!(documents.read("swapped.md"), None);
}
