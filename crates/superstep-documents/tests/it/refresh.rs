//! Tests of files that appear, change and disappear while the documents are open.

use std::fs;

use superstep_documents::Documents;

use crate::{empty_folder, sources};

/// R-PLN-54: after a refresh, new files are found, changed files have their new content, and removed files are not
/// found.
#[test]
fn a_refresh_detects_new_changed_and_removed_files() {
    let folder = empty_folder("refresh");
    fs::write(folder.join("kept.md"), "# Kept\nAbout lemons.").unwrap();
    fs::write(folder.join("changed.md"), "# Old\nAbout plums.").unwrap();
    fs::write(folder.join("gone.md"), "# Gone\nAbout quinces.").unwrap();
    let documents = Documents::open(&folder).unwrap();
    assert_eq!(sources(&documents, "lemons plums quinces").len(), 3);

    fs::write(folder.join("new.html"), "<h1>New</h1><p>About cherries.</p>").unwrap();
    fs::write(folder.join("changed.md"), "# Changed for good\nAbout blackberries.").unwrap();
    fs::remove_file(folder.join("gone.md")).unwrap();
    documents.refresh().unwrap();

    assert_eq!(documents.documents(), 3);
    assert_eq!(sources(&documents, "lemons"), ["kept.md#kept"]);
    assert_eq!(sources(&documents, "cherries"), ["new.html#new"]);
    assert_eq!(sources(&documents, "blackberries"), ["changed.md#changed-for-good"]);
    assert!(sources(&documents, "plums quinces").is_empty());
}

/// R-PLN-54: a skipped file is read once it can be; if the folder disappears, the earlier content stays.
#[test]
fn a_file_is_read_once_it_can_be() {
    let folder = empty_folder("mended");
    fs::write(folder.join("a.md"), b"# A\nAbout figs. \xff").unwrap();
    let documents = Documents::open(&folder).unwrap();
    assert_eq!((documents.documents(), documents.skipped().len()), (0, 1));

    fs::write(folder.join("a.md"), "# A\nAbout figs.").unwrap();
    documents.refresh().unwrap();
    assert_eq!((documents.documents(), documents.skipped().len()), (1, 0));

    fs::remove_dir_all(&folder).unwrap();
    assert!(documents.refresh().is_err());
    assert_eq!(sources(&documents, "figs"), ["a.md#a"]);
}
