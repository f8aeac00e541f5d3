//! Values that are not what was put.

use std::path::{Path, PathBuf};

use superstep::core::checkpoint::Namespace;
use superstep::core::error::Error;
use superstep::core::port::{At, Checkpointer};
use superstep::core::testing::block_on;
use superstep::{Code, Compiled};
use superstep_adapters::key_value::{Files, KeyValueStore};

use super::plain::Plain;
use super::{Diary, diary, folder, pages, run, write};

/// Nothing squeezed, so that long values are long.
fn open(folder: &Path) -> Compiled<Diary> {
    diary(KeyValueStore::options().compression(false).open(Files::open(folder).unwrap()).unwrap(), 2_000)
}

/// The files of a thread's records, or of its long values.
fn files(folder: &Path, thread: &str, kind: &str) -> Vec<PathBuf> {
    let folder = folder.join("=keys/superstep/in").join(thread).join(kind);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// Two threads of a few pages; damages the first, and gives what is then said of it.
fn damaged(name: &str, damage: impl FnOnce(&Path)) -> Error {
    let folder = folder().join(name);
    let graph = open(&folder);
    write(&graph, "t", 5);
    write(&graph, "other", 5);
    drop(graph);
    damage(&folder);
    let graph = open(&folder);
    let error = pages(&graph, "t").map(|pages| panic!("{name}: {pages} pages are there")).unwrap_err();
    assert_eq!(error.code(), Code::CheckpointCorrupt, "{name}: {error}");
    let going_on = graph.run(Diary::input().wanted(9)).thread("t").wait().map(|done| done.supersteps).unwrap_err();
    assert_eq!(going_on.code(), Code::CheckpointCorrupt, "{name}: {going_on}");
    assert_eq!(pages(&graph, "other").unwrap(), 5, "{name}");
    assert_eq!(write(&graph, "other", 7), 7, "{name}");
    error
}

fn flip(path: &Path, place: impl FnOnce(usize) -> usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let place = place(bytes.len());
    bytes[place] ^= 4;
    std::fs::write(path, bytes).unwrap();
}

/// R-FWK-46: a flipped bit anywhere in a record or a long value is noticed and named.
#[test]
fn a_flipped_bit_is_noticed_and_named() {
    for (number, place) in [0, 7, 15, 16, 19, 20, 30, 60, 100].into_iter().enumerate() {
        let error = damaged(&format!("flipped-{number}"), |folder| {
            flip(&files(folder, "t", "log")[3], |_| place);
        });
        assert!(error.message().contains("0000000000000003"), "{error}");
    }
    let error = damaged("flipped-part", |folder| {
        files(folder, "t", "part").iter().for_each(|path| flip(path, |length| length - 5));
    });
    assert!(error.message().contains("in/t/part/"), "{error}");
}

/// R-FWK-46: a file that was cut is noticed and named, wherever it was cut.
#[test]
fn a_cut_file_is_noticed_and_named() {
    for length in [0, 10, 16, 20, 27, 40, 90] {
        let error = damaged(&format!("cut-{length}"), |folder| {
            let path = &files(folder, "t", "log")[4];
            std::fs::File::options().write(true).open(path).unwrap().set_len(length).unwrap();
        });
        assert!(error.message().contains("0000000000000004"), "{error}");
    }
}

/// R-FWK-46: a record or a value that is missing is noticed and named, the first and one before the last as well.
#[test]
fn what_is_missing_is_noticed_and_named() {
    for number in [0, 2, 5] {
        let error = damaged(&format!("missing-{number}"), |folder| {
            std::fs::remove_file(&files(folder, "t", "log")[number]).unwrap();
        });
        assert!(error.message().contains(&format!("{number:016x}")) && error.message().contains("missing"), "{error}");
    }
    let error = damaged("missing-part", |folder| {
        files(folder, "t", "part").iter().for_each(|path| std::fs::remove_file(path).unwrap());
    });
    assert!(error.message().contains("in/t/part/") && error.message().contains("missing"), "{error}");
}

/// R-FWK-46: a record or a value in the place of another is noticed, and so is one of another thread.
#[test]
fn what_is_in_the_wrong_place_is_noticed_and_named() {
    let moves: [(&str, &str, usize, &str, usize); 4] = [
        ("number", "log", 2, "t", 4),
        ("thread", "log", 4, "other", 4),
        ("last", "log", 3, "t", 7),
        ("value", "part", 1, "t", 0),
    ];
    for (name, kind, from, thread, to) in moves {
        let error = damaged(&format!("moved-{name}"), |folder| {
            let target = files(folder, "t", kind)[to].clone();
            std::fs::copy(&files(folder, thread, kind)[from], target).unwrap();
        });
        assert!(error.message().contains(&format!("in/t/{}/", kind)), "{name}: {error}");
        assert!(error.message().contains("belongs to `in/"), "{name}: {error}");
    }
}

/// R-FWK-46: two histories that were mixed are noticed: each record knows the one before it.
#[test]
fn records_of_two_histories_do_not_mix() {
    let stores = [0, 1].map(|_| Plain::default());
    for (number, store) in stores.iter().enumerate() {
        write(&diary(KeyValueStore::open(store.clone()).unwrap(), 10 + number), "t", 5);
    }
    let key = "superstep/in/t/log/0000000000000003";
    let foreign = stores[1].change(|values| values[key].clone());
    stores[0].change(|values| values.insert(key.to_owned(), foreign));
    let store = KeyValueStore::open(stores[0].other()).unwrap();
    let error = block_on(store.load(&"t".into(), &Namespace::root(), At::Latest)).unwrap_err();
    assert_eq!((error.code(), error.message().contains("does not follow")), (Code::CheckpointCorrupt, true), "{error}");
    assert!(block_on(store.acquire(&"t".into(), run(1))).is_err());
}
