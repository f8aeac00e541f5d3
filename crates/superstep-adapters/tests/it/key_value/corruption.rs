//! Tests of corrupt records and values in key-value stores.

use std::path::{Path, PathBuf};

use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::error::Error;
use superstep::core::id::CheckpointId;
use superstep::core::port::{
    CheckpointSelector, Checkpointer, HistoryQuery, KeyValue, PutOptions, Retention, ThreadsQuery,
};
use superstep::core::testing::block_on;
use superstep::{CompiledGraph, ErrorCode};
use superstep_adapters::key_value::{FileKeyValue, KeyValueCheckpointer};

use super::memory_backend::MemoryKeyValue;
use super::{Diary, diary, folder, pages, run, write};

/// Number of checkpoints of a thread of five pages.
const CHECKPOINTS: usize = 6;

/// Opens a checkpointer without compression, so that long values stay long.
fn store_in<K: KeyValue>(values: K) -> KeyValueCheckpointer<K> {
    KeyValueCheckpointer::options().compression(false).open(values).unwrap()
}

fn open(folder: &Path) -> CompiledGraph<Diary> {
    diary(store_in(FileKeyValue::open(folder).unwrap()), 2_000)
}

/// Returns the files of a thread's records or long values.
fn files(folder: &Path, thread: &str, kind: &str) -> Vec<PathBuf> {
    let folder = folder.join("=keys/superstep/in").join(thread).join(kind);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// Writes two threads of a few pages, corrupts the first one, and returns the resulting error.
fn corruption_error(name: &str, corrupt: impl FnOnce(&Path)) -> Error {
    let folder = folder().join(name);
    let graph = open(&folder);
    write(&graph, "t", 5);
    write(&graph, "other", 5);
    drop(graph);
    corrupt(&folder);
    let graph = open(&folder);
    let error = pages(&graph, "t").map(|pages| panic!("{name}: {pages} pages are there")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{name}: {error}");
    let run_error =
        graph.invoke(Diary::input().target(9)).thread("t").wait_blocking().map(|done| done.supersteps).unwrap_err();
    assert_eq!(run_error.code(), ErrorCode::CheckpointCorrupt, "{name}: {run_error}");
    assert_eq!(pages(&graph, "other").unwrap(), 5, "{name}");
    assert_eq!(write(&graph, "other", 7), 7, "{name}");
    drop(graph);
    let graph = open(&folder);
    block_on(graph.threads().delete("t")).unwrap();
    assert_eq!(write(&graph, "t", 2), 2, "{name}: the recreated thread contains data of the deleted one");
    assert_eq!((pages(&graph, "t").unwrap(), pages(&graph, "other").unwrap()), (2, 7), "{name}");
    error
}

/// Returns the checkpoints of a thread, oldest first.
fn checkpoints(graph: &CompiledGraph<Diary>, thread: &str) -> Vec<CheckpointId> {
    let history = block_on(graph.threads().get_state_history(thread, &HistoryQuery::default())).unwrap();
    history.iter().rev().map(|snapshot| snapshot.id()).collect()
}

/// Returns the number of readable checkpoints of thread `t`, from the oldest; these must be unchanged, and the others
/// corrupt.
fn readable<K: KeyValue>(store: &KeyValueCheckpointer<K>, ids: &[CheckpointId]) -> usize {
    let graph = diary(store.clone(), 2_000);
    let read: Vec<bool> = ids
        .iter()
        .enumerate()
        .map(|(number, id)| {
            let read = block_on(graph.threads().get_state_at("t", *id));
            assert!(!read.as_ref().is_ok_and(|snapshot| snapshot.state.pages.len() != number), "checkpoint {number}");
            read.map_err(|error| assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{error}")).is_ok()
        })
        .collect();
    let count = read.iter().take_while(|is_read| **is_read).count();
    assert!(read[count..].iter().all(|is_read| !is_read), "{read:?}");
    count
}

/// Checks two threads of five pages after the log of `t` was corrupted after `readable_count` checkpoints: the checkpoints
/// before are readable, writes are rejected, and `other` is not affected.
fn check_corrupt<K: KeyValue>(store: &KeyValueCheckpointer<K>, ids: &[CheckpointId], readable_count: usize) {
    let (t, root) = ("t".into(), CheckpointNamespace::root());
    let corrupt = |error: Error| assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{error}");
    assert_eq!(readable(store, ids), readable_count);
    let before = |id| HistoryQuery { before: id, ..HistoryQuery::default() };
    corrupt(block_on(store.load(&t, &root, CheckpointSelector::Latest)).map(|_| ()).unwrap_err());
    corrupt(block_on(store.history(&t, &root, &before(None))).map(|_| ()).unwrap_err());
    match readable_count {
        0 => corrupt(block_on(store.namespaces(&t)).unwrap_err()),
        _ => {
            let newest = ids[readable_count - 1];
            let earlier = block_on(store.history(&t, &root, &before(Some(newest)))).unwrap();
            assert!(
                earlier.iter().rev().map(|loaded| loaded.checkpoint.id).eq(ids[..readable_count - 1].iter().copied())
            );
            assert_eq!(block_on(store.namespaces(&t)).unwrap(), [CheckpointNamespace::root()]);
            let error = block_on(store.load(&t, &root, CheckpointSelector::Latest)).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains(&format!("up to checkpoint {newest}")), "{error}");
        }
    }
    if readable_count < ids.len() {
        corrupt(block_on(store.history(&t, &root, &before(Some(ids[readable_count])))).map(|_| ()).unwrap_err());
    }
    corrupt(block_on(store.acquire(&t, run(9))).unwrap_err());
    corrupt(block_on(store.prune(&t, &Retention { keep_last: 1, ..Retention::default() })).unwrap_err());
    corrupt(block_on(store.copy_thread(&t, &"copy".into())).unwrap_err());
    corrupt(block_on(store.copy_thread(&"other".into(), &t)).unwrap_err());
    assert_eq!(block_on(store.threads(&ThreadsQuery::default())).unwrap(), ["other".into(), "t".into()]);
    let stats = block_on(store.stats()).unwrap();
    assert_eq!((stats.threads, stats.checkpoints), (2, (CHECKPOINTS + readable_count) as u64));
    assert_eq!(block_on(store.sweep_expired()).unwrap(), 0);
    assert_eq!(pages(&diary(store.clone(), 2_000), "other").unwrap(), 5);
}

/// Checks that a corrupt thread can be deleted completely and created again.
fn check_deleted<K: KeyValue>(store: &KeyValueCheckpointer<K>, ids: &[CheckpointId]) {
    super::once_free(|| block_on(store.delete_thread(&"t".into())));
    assert_eq!(block_on(store.threads(&ThreadsQuery::default())).unwrap(), ["other".into()]);
    assert_eq!(block_on(store.status(&"t".into())).unwrap(), None);
    assert!(block_on(store.key_value().list("superstep/in/t/part/", None, 9)).unwrap().is_empty());
    assert_eq!(
        block_on(store.key_value().list("superstep/in/t/log/", None, 9)).unwrap().len(),
        1,
        "only the record of the deletion remains"
    );
    let graph = diary(store.clone(), 2_000);
    assert_eq!(write(&graph, "t", 3), 3);
    assert!(
        block_on(graph.threads().get_state_at("t", ids[0])).is_err(),
        "a checkpoint of the deleted thread is readable"
    );
    assert_eq!((pages(&graph, "t").unwrap(), pages(&graph, "other").unwrap()), (3, 5));
}

/// Writes two threads of five pages, closes the checkpointer, and returns the checkpoints of `t`.
fn written<K: KeyValue>(values: K) -> Vec<CheckpointId> {
    let graph = diary(store_in(values), 2_000);
    write(&graph, "t", 5);
    write(&graph, "other", 5);
    let ids = checkpoints(&graph, "t");
    assert_eq!(ids.len(), CHECKPOINTS);
    ids
}

fn flip(path: &Path, offset_of: impl FnOnce(usize) -> usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let offset = offset_of(bytes.len());
    bytes[offset] ^= 4;
    std::fs::write(path, bytes).unwrap();
}

/// R-FWK-46a: a flipped bit anywhere in a record or a long value is detected and reported with its key.
#[test]
fn a_flipped_bit_is_noticed_and_named() {
    for (number, offset) in [0, 7, 15, 16, 19, 20, 30, 60, 100].into_iter().enumerate() {
        let error = corruption_error(&format!("flipped-{number}"), |folder| {
            flip(&files(folder, "t", "log")[3], |_| offset);
        });
        assert!(error.message().contains("0000000000000003"), "{error}");
    }
    let error = corruption_error("flipped-part", |folder| {
        files(folder, "t", "part").iter().for_each(|path| flip(path, |length| length - 5));
    });
    assert!(error.message().contains("in/t/part/"), "{error}");
}

/// R-FWK-46a: a truncated file is detected and reported with its key, at any length.
#[test]
fn a_cut_file_is_noticed_and_named() {
    for length in [0, 10, 16, 20, 27, 40, 90] {
        let error = corruption_error(&format!("cut-{length}"), |folder| {
            let path = &files(folder, "t", "log")[4];
            std::fs::File::options().write(true).open(path).unwrap().set_len(length).unwrap();
        });
        assert!(error.message().contains("0000000000000004"), "{error}");
    }
}

/// R-FWK-46a: a missing record or value is detected and reported with its key, including the first and the second to
/// last.
#[test]
fn a_missing_record_is_detected_and_named() {
    for number in [0, 2, 5] {
        let error = corruption_error(&format!("missing-{number}"), |folder| {
            std::fs::remove_file(&files(folder, "t", "log")[number]).unwrap();
        });
        assert!(error.message().contains(&format!("{number:016x}")) && error.message().contains("missing"), "{error}");
    }
    let error = corruption_error("missing-part", |folder| {
        files(folder, "t", "part").iter().for_each(|path| std::fs::remove_file(path).unwrap());
    });
    assert!(error.message().contains("in/t/part/") && error.message().contains("missing"), "{error}");
}

/// R-FWK-46a: a record or a value at the location of another one is detected, including one of another thread.
#[test]
fn a_misplaced_record_is_detected_and_named() {
    let moves: [(&str, &str, usize, &str, usize); 4] = [
        ("number", "log", 2, "t", 4),
        ("thread", "log", 4, "other", 4),
        ("last", "log", 3, "t", 7),
        ("value", "part", 1, "t", 0),
    ];
    for (name, kind, from, thread, to) in moves {
        let error = corruption_error(&format!("moved-{name}"), |folder| {
            let target = files(folder, "t", kind)[to].clone();
            std::fs::copy(&files(folder, thread, kind)[from], target).unwrap();
        });
        assert!(error.message().contains(&format!("in/t/{}/", kind)), "{name}: {error}");
        assert!(error.message().contains("belongs to `in/"), "{name}: {error}");
    }
}

/// R-FWK-46a: a mixture of two histories is detected: each record contains the checksum of the one before.
#[test]
fn records_of_two_histories_do_not_mix() {
    let stores = [0, 1].map(|_| MemoryKeyValue::default());
    for (number, store) in stores.iter().enumerate() {
        write(&diary(KeyValueCheckpointer::open(store.clone()).unwrap(), 10 + number), "t", 5);
    }
    let key = "superstep/in/t/log/0000000000000003";
    let foreign = stores[1].change(|values| values[key].clone());
    stores[0].change(|values| values.insert(key.to_owned(), foreign));
    let store = KeyValueCheckpointer::open(stores[0].other()).unwrap();
    let error =
        block_on(store.load(&"t".into(), &CheckpointNamespace::root(), CheckpointSelector::Latest)).unwrap_err();
    assert_eq!(
        (error.code(), error.message().contains("does not follow")),
        (ErrorCode::CheckpointCorrupt, true),
        "{error}"
    );
    assert!(block_on(store.acquire(&"t".into(), run(1))).is_err());
}

/// R-FWK-46a: wherever the log of a thread is corrupt, the checkpoints before stay readable, writes are rejected, and
/// the thread can be deleted; other threads are not affected. Checks each kind of corruption at each record.
#[test]
fn checkpoints_before_the_corruption_stay_readable() {
    type Corruption = (&'static str, fn(&Path));
    let corruptions: [Corruption; 5] = [
        ("flipped-head", |path| flip(path, |_| 3)),
        ("flipped", |path| flip(path, |length| length - 2)),
        ("cut", |path| std::fs::File::options().write(true).open(path).unwrap().set_len(30).unwrap()),
        ("emptied", |path| std::fs::write(path, "").unwrap()),
        ("removed", |path| std::fs::remove_file(path).unwrap()),
    ];
    let folder = folder();
    for (name, corrupt) in corruptions {
        // The records: one acquired lease, six commits, one released lease.
        for record in 0..8 {
            if (name, record) == ("removed", 7) {
                // Without its last record, a reopened log looks complete.
                continue;
            }
            let directory = folder.join(format!("{name}-{record}"));
            let ids = written(FileKeyValue::open(&directory).unwrap());
            corrupt(&files(&directory, "t", "log")[record]);
            let store = store_in(FileKeyValue::open(&directory).unwrap());
            let readable_count = record.saturating_sub(1);
            assert_eq!(ids.len(), 6);
            check_corrupt(&store, &ids, readable_count);
            check_corrupt(&store, &ids, readable_count);
            check_deleted(&store, &ids);
        }
    }
}

/// R-FWK-46a: a gap in a log is detected, whatever its size.
#[test]
fn a_gap_of_any_size_is_detected() {
    let backend = MemoryKeyValue::default();
    write(&diary(KeyValueCheckpointer::open(backend.clone()).unwrap(), 10), "t", 60);
    backend.change(|values| values.retain(|key, _| number(key).is_none_or(|number| !(4..50).contains(&number))));
    let store = KeyValueCheckpointer::open(backend.other()).unwrap();
    for _ in 0..2 {
        let error = block_on(store.load(&"t".into(), &CheckpointNamespace::root(), CheckpointSelector::Latest))
            .map(|_| ())
            .unwrap_err();
        assert!(error.message().contains("0000000000000004") && error.message().contains("missing"), "{error}");
    }
}

/// Returns the number of a record by its key or its file.
fn number(key: &str) -> Option<usize> {
    usize::from_str_radix(key.split_once("/log/")?.1.get(..16)?, 16).ok()
}

/// R-FWK-46a: if the log of a thread was compacted to one record and that record is corrupt, nothing is readable.
#[test]
fn nothing_of_a_corrupt_compacted_log_is_readable_and_it_can_be_deleted() {
    let folder = folder();
    let ids = written(FileKeyValue::open(&folder).unwrap());
    let store = store_in(FileKeyValue::open(&folder).unwrap());
    for number in 0..60 {
        let lease = super::once_free(|| block_on(store.acquire(&"t".into(), run(number))));
        store.release(&lease);
    }
    super::once_free(|| block_on(store.prune(&"t".into(), &Retention { keep_last: 5, ..Retention::default() })));
    drop(store);
    let records = files(&folder, "t", "log");
    assert!(number(&records[0].display().to_string()).unwrap() > 8, "{records:?}");
    flip(&records[0], |length| length / 2);
    let store = store_in(FileKeyValue::open(&folder).unwrap());
    check_corrupt(&store, &ids, 0);
    check_deleted(&store, &ids);
}

/// R-FWK-46a: a corrupt long value affects only the checkpoints that need it.
#[test]
fn a_corrupt_long_value_affects_only_checkpoints_that_need_it() {
    let folder = folder();
    for (page, name) in ["flipped", "cut", "removed"].into_iter().enumerate().map(|(number, name)| (number + 2, name)) {
        let directory = folder.join(name);
        let ids = written(FileKeyValue::open(&directory).unwrap());
        let path = &files(&directory, "t", "part")[page - 1];
        match name {
            "flipped" => flip(path, |length| length / 2),
            "cut" => std::fs::File::options().write(true).open(path).unwrap().set_len(5).unwrap(),
            _ => std::fs::remove_file(path).unwrap(),
        }
        let store = store_in(FileKeyValue::open(&directory).unwrap());
        assert_eq!(
            readable(&store, &ids),
            page,
            "{name}: the checkpoints without the page are not the only readable ones"
        );
        assert_eq!(block_on(store.stats()).unwrap().checkpoints, 2 * CHECKPOINTS as u64);
        let error = block_on(store.copy_thread(&"t".into(), &"copy".into())).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{error}");
        check_deleted(&store, &ids);
    }
}

/// R-FWK-46a: a process that has read a thread detects that its last record was corrupted since, and can delete the
/// thread although it wrote it last.
#[test]
fn corruption_is_detected_by_the_last_writer_and_heals_when_the_record_is_restored() {
    let folder = folder();
    let store = store_in(FileKeyValue::open(&folder).unwrap());
    let graph = diary(store.clone(), 2_000);
    write(&graph, "other", 5);
    write(&graph, "t", 5);
    let ids = checkpoints(&graph, "t");
    super::until(|| (files(&folder, "t", "log").len() == 8).then_some(()));
    let last = files(&folder, "t", "log").pop().unwrap();
    let copy = std::fs::read(&last).unwrap();
    flip(&last, |length| length - 1);
    check_corrupt(&store, &ids, CHECKPOINTS);
    std::fs::write(&last, copy).unwrap();
    assert_eq!(write(&graph, "t", 7), 7);
    super::until(|| (files(&folder, "t", "log").len() == 13).then_some(()));
    flip(&files(&folder, "t", "log")[9], |length| length - 1);
    flip(&files(&folder, "t", "log")[12], |length| length - 1);
    assert_eq!(pages(&graph, "t").unwrap_err().code(), ErrorCode::CheckpointCorrupt);
    check_deleted(&store, &ids);
}

/// A corrupt thread is not deleted while a process that had read it before holds its lease.
#[test]
fn a_corrupt_thread_with_a_lease_is_not_deleted() {
    let backend = MemoryKeyValue::default();
    let ids = written(backend.other());
    let (holder, other) = (store_in(backend.clone()), store_in(backend.other()));
    let lease = super::once_free(|| block_on(holder.acquire(&"t".into(), run(1))));
    backend.change(|values| values.get_mut("superstep/in/t/log/0000000000000003").unwrap().0[20] ^= 1);
    assert_eq!(block_on(other.delete_thread(&"t".into())).unwrap_err().code(), ErrorCode::ThreadBusy);
    holder.release(&lease);
    super::once_free(|| block_on(other.delete_thread(&"t".into())));
    assert_eq!(
        write(&diary(holder.clone(), 2_000), "t", 1),
        1,
        "the checkpointer that cached the thread did not notice its deletion"
    );
    super::once_free(|| block_on(holder.delete_thread(&"t".into())));
    check_deleted(&other, &ids);
}

/// R-FWK-46a: the same in a table of an SQLite file.
#[cfg(feature = "sqlite")]
#[test]
fn a_corrupt_row_of_a_table_leaves_the_records_before_it() {
    let path = folder().join("keys.db");
    let open = || superstep_adapters::key_value::SqliteKeyValue::open(&path).unwrap();
    let ids = written(open());
    let (values, key) = (open(), "superstep/in/t/log/0000000000000004");
    let bytes = block_on(values.get(key)).unwrap().unwrap();
    block_on(values.put(key, &bytes[..bytes.len() - 1], PutOptions::default())).unwrap();
    let store = store_in(values);
    assert!(
        block_on(store.load(&"t".into(), &CheckpointNamespace::root(), CheckpointSelector::Id(ids[0])))
            .unwrap()
            .is_some()
    );
    check_corrupt(&store, &ids, 3);
    check_deleted(&store, &ids);
}

/// R-FWK-46a: a corrupt entry of the thread index or a corrupt heartbeat does not affect threads.
#[test]
fn corruption_outside_of_the_threads_does_not_affect_them() {
    let folder = folder();
    let ids = written(FileKeyValue::open(&folder).unwrap());
    let store = store_in(FileKeyValue::open(&folder).unwrap());
    let listing = folder.join("=keys/superstep/threads/t=v");
    assert!(listing.exists());
    for offset in [3, 17] {
        flip(&listing, |_| offset);
        assert_eq!(block_on(store.threads(&ThreadsQuery::default())).unwrap().len(), 2);
        assert_eq!((block_on(store.stats()).unwrap().threads, readable(&store, &ids)), (2, CHECKPOINTS));
    }
    assert_eq!(write(&diary(store.clone(), 2_000), "t", 6), 6);
    let previous_holder = store_in(FileKeyValue::open(&folder).unwrap());
    let lease = super::once_free(|| block_on(previous_holder.acquire(&"t".into(), run(1))));
    let holders = folder.join("=keys/superstep/holders");
    std::fs::read_dir(holders).unwrap().for_each(|file| std::fs::write(file.unwrap().path(), "").unwrap());
    let new_lease = block_on(store.acquire(&"t".into(), run(2))).unwrap();
    assert!(new_lease.fence > lease.fence);
}
