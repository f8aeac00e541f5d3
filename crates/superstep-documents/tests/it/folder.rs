//! Tests of the files that are read, skipped, and found.

use std::fs;
use std::path::Path;

use superstep::ErrorCode;
use superstep_documents::Documents;

use crate::{empty_folder, sources};

/// R-DEB-41, R-PLN-54: a query consists of words only: no character acts as an operator.
#[test]
fn a_query_is_words_and_nothing_else() {
    let folder = empty_folder("query");
    fs::write(folder.join("a.md"), "# One\nApples are red.\n# Two\nPears are green.").unwrap();
    let documents = Documents::open(&folder).unwrap();
    for query in [
        "apples\" OR \"pears",
        "apples NOT pears",
        "source:apples",
        "apples* AND",
        "'; DROP TABLE passage; -- apples",
        "\"(^apples",
    ] {
        let actual = sources(&documents, query);
        assert!(actual.contains(&"a.md#one".to_owned()), "{query}: {actual:?}");
    }
    for query in ["", "  ", "\"", "*", "🍕", "()^:-"] {
        assert!(documents.passages(query, 5).is_empty(), "{query}");
    }
    assert_eq!(documents.passages("pears", 5).len(), 1, "the index still returns results");
    assert!(documents.passages("pears", 0).is_empty());
}

/// R-DEB-41: a file that is too large, not text, of another kind or outside of the folder is skipped and reported;
/// the rest is read.
#[test]
fn skipped_files_are_reported() {
    let folder = empty_folder("left-out");
    let outside = folder.parent().unwrap().join("documents-left-out-secret.md");
    fs::write(&outside, "# Secret\nThe secret word is xylophone.").unwrap();
    fs::create_dir(folder.join("inner")).unwrap();
    fs::write(folder.join("inner/good.txt"), "Plain text about lemons.").unwrap();
    fs::write(folder.join("large.md"), "lemons ".repeat(200_000)).unwrap();
    fs::write(folder.join("binary.md"), b"lemons \0 lemons").unwrap();
    fs::write(folder.join("latin.txt"), b"lemons \xff").unwrap();
    fs::write(folder.join("table.csv"), "lemons").unwrap();
    fs::write(folder.join(".hidden.md"), "lemons").unwrap();
    link(&outside, &folder.join("out.md"));
    link(outside.parent().unwrap(), &folder.join("up"));
    link(&folder, &folder.join("circle"));
    link(&folder.join("inner/good.txt"), &folder.join("same.txt"));
    let documents = Documents::open(&folder).unwrap();
    let mut actual = sources(&documents, "lemons");
    actual.sort();
    assert_eq!(actual, ["inner/good.txt#top", "same.txt#top"]);
    assert!(documents.passages("xylophone", 5).is_empty());
    let notes = documents.skipped().join("\n");
    for (name, reason) in [
        ("large.md", "the maximum is"),
        ("binary.md", "not valid UTF-8"),
        ("latin.txt", "not valid UTF-8"),
        ("table.csv", "not a Markdown"),
        ("out.md", "link out"),
        ("up", "link out"),
        ("circle", "link to a folder"),
    ] {
        let is_named = notes.lines().any(|line| line.starts_with(&format!("{name}: ")) && line.contains(reason));
        assert!(is_named, "{name}: {notes}");
    }
    assert_eq!(documents.skipped().len(), 7, "{notes}");
}

fn link(target: &Path, path: &Path) {
    std::os::unix::fs::symlink(target, path).unwrap();
}

/// R-DEB-44: an invalid folder is rejected by its name.
#[test]
fn an_invalid_folder_is_rejected() {
    let folder = empty_folder("refused");
    fs::write(folder.join("file.md"), "text").unwrap();
    for path in [folder.join("missing"), folder.join("file.md")] {
        let error = Documents::open(&path).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid);
        assert!(error.message().contains(&path.display().to_string()), "{error}");
    }
    assert_eq!(Documents::open(&folder.join("..").join("documents-refused")).unwrap().documents(), 1);
}

/// R-PLN-54: an HTML page is found like any other document, by its headings and their anchors.
#[test]
fn a_page_is_a_document() {
    let folder = empty_folder("page");
    let html = "<title>Webhooks</title><h1>Webhooks</h1><p>Sent to <b>you</b>.</p><h2 id=retry>Retries</h2>
        <ul><li>After a minute.</li><li>After an hour.</li></ul><script>var hour = 1</script>";
    fs::write(folder.join("hooks.html"), html).unwrap();
    let documents = Documents::open(&folder).unwrap();
    let passages = documents.passages("hour", 5);
    assert_eq!(passages.len(), 1);
    assert_eq!((passages[0].source.as_str(), passages[0].title.as_str()), ("hooks.html#retry", "Webhooks"));
    assert_eq!(passages[0].text, "After a minute.\n\nAfter an hour.");
}
