//! The evidence folder: what is read, what is left out, what is found.

use std::fs;
use std::path::Path;

use superstep::Code;
use superstep_debate::evidence::Evidence;

use crate::stage::{evidence, folder, sample};

/// R-DEB-41, R-DEB-44: passages are found by their words, in whatever form, and named by file and heading.
#[test]
fn passages_are_found_by_their_words() {
    let evidence = sample();
    assert_eq!((evidence.documents(), evidence.skipped()), (5, &[][..]));
    for (query, expected) in [
        ("Should AI be regulated?", "ai-regulation.md#"),
        ("working remotely", "remote-work.md#"),
        ("uniform", "school-uniforms.md#"),
        ("Chernobyl", "nuclear-energy.md#risks"),
        ("dividend of Alaska", "basic-income.md#benefits"),
    ] {
        let found = evidence.passages(query, 3);
        assert!(found.first().is_some_and(|passage| passage.source.starts_with(expected)), "{query}: {found:#?}");
        assert!(found.len() <= 3);
    }
    assert!(evidence.passages("zebra", 3).is_empty());
    assert!(evidence.passages("uniform", 0).is_empty());
}

/// R-DEB-41: a query is words and nothing else: no sign of a query language does anything.
#[test]
fn a_query_is_words_and_nothing_else() {
    let evidence = evidence("query", &[("a.md", "# One\nApples are red.\n# Two\nPears are green.")]);
    for query in [
        "apples\" OR \"pears",
        "apples NOT pears",
        "source:apples",
        "apples* AND",
        "'; DROP TABLE passage; -- apples",
        "\"(^apples",
    ] {
        let found = evidence.passages(query, 5);
        assert!(found.iter().any(|passage| passage.source == "a.md#one"), "{query}: {found:?}");
    }
    for query in ["", "  ", "\"", "*", "🍕", "()^:-"] {
        assert!(evidence.passages(query, 5).is_empty(), "{query}");
    }
    assert_eq!(evidence.passages("pears", 5).len(), 1, "the index is still there");
}

/// R-DEB-41: what is too large, no text, of another kind or outside is left out and named; the rest is read.
#[test]
fn what_is_left_out_is_named() {
    let folder = folder("left-out");
    let outside = folder.parent().unwrap().join("left-out-secret.md");
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
    let evidence = Evidence::open(&folder).unwrap();
    let mut sources: Vec<String> = evidence.passages("lemons", 20).into_iter().map(|passage| passage.source).collect();
    sources.sort();
    assert_eq!(sources, ["inner/good.txt#top", "same.txt#top"]);
    assert!(evidence.passages("xylophone", 5).is_empty());
    let notes = evidence.skipped().join("\n");
    for (name, reason) in [
        ("large.md", "more than"),
        ("binary.md", "not text"),
        ("latin.txt", "not text"),
        ("table.csv", "neither"),
        ("out.md", "link out"),
        ("up", "link out"),
        ("circle", "link to a folder"),
    ] {
        let is_named = notes.lines().any(|line| line.starts_with(&format!("{name}: ")) && line.contains(reason));
        assert!(is_named, "{name}: {notes}");
    }
    assert_eq!(evidence.skipped().len(), 7, "{notes}");
}

fn link(target: &Path, place: &Path) {
    std::os::unix::fs::symlink(target, place).unwrap();
}

/// R-DEB-44: a folder that is none is refused by its name.
#[test]
fn a_folder_that_is_none_is_refused() {
    let folder = folder("refused");
    fs::write(folder.join("file.md"), "text").unwrap();
    for path in [folder.join("missing"), folder.join("file.md")] {
        let refused = Evidence::open(&path).unwrap_err();
        assert_eq!(refused.code(), Code::ConfigInvalid);
        assert!(refused.message().contains(&path.display().to_string()), "{refused}");
    }
    assert_eq!(Evidence::open(&folder.join("..").join("refused")).unwrap().documents(), 1);
}
