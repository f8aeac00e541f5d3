//! Several checkpointers on one file, as in several processes.

use std::time::Duration;

use superstep::core::error::ErrorCode;
use superstep::core::id::RunId;
use superstep::core::port::{Checkpointer, Commit, Lease, ThreadStatus};
use superstep::core::testing::block_on;
use superstep_adapters::sqlite::SqliteCheckpointer;

use super::fixtures::{diary, pages, write};
use super::{assert_opened_at_once, folder};

/// Longer than the last of all writers waits, even on a slow disk.
const LONG_BUSY_TIMEOUT: Duration = Duration::from_secs(60);

fn run(number: u128) -> RunId {
    RunId::from_bits(number)
}

/// A thread leased by one checkpointer cannot be acquired by another until the lease is released.
#[test]
fn a_leased_thread_cannot_be_acquired_by_another_checkpointer() {
    let path = folder().join("shared.db");
    let (one, two) = (SqliteCheckpointer::open(&path).unwrap(), SqliteCheckpointer::open(&path).unwrap());
    let lease = block_on(one.acquire(&"t".into(), run(1))).unwrap();
    let error = block_on(two.acquire(&"t".into(), run(2))).unwrap_err();
    assert_eq!((error.code(), error.message().contains(&run(1).to_string())), (ErrorCode::ThreadBusy, true));
    block_on(one.commit(&Commit { status: Some(ThreadStatus::Busy), ..Commit::empty(lease.clone(), "".into()) }))
        .unwrap();
    assert_eq!(block_on(two.status(&"t".into())).unwrap(), Some(ThreadStatus::Busy));
    assert_eq!(block_on(two.delete_thread(&"t".into())).unwrap_err().code(), ErrorCode::ThreadBusy);
    one.release(&lease);
    // A release is queued; the next job of the same writer runs after it.
    block_on(one.prune(&"t".into(), &superstep::core::port::Retention::keep_all())).unwrap();
    let new_lease = block_on(two.acquire(&"t".into(), run(2))).unwrap();
    assert!(new_lease.fence > lease.fence);
    assert_eq!(block_on(one.commit(&Commit::empty(lease, "".into()))).unwrap_err().code(), ErrorCode::ThreadBusy);
}

/// A thread that is acquired again right after its release, before the file is updated, belongs to the
/// new run only: the previous run, an old lease and another process are rejected, and commits of the new run are
/// stored.
#[test]
fn an_immediately_reacquired_thread_belongs_to_the_new_run() {
    let path = folder().join("again.db");
    let (one, two) = (SqliteCheckpointer::open(&path).unwrap(), SqliteCheckpointer::open(&path).unwrap());
    let busy = |lease: &Lease| Commit { status: Some(ThreadStatus::Busy), ..Commit::empty(lease.clone(), "".into()) };
    let mut before = block_on(one.acquire(&"t".into(), run(1))).unwrap();
    for number in 2..40 {
        one.release(&before);
        let lease = block_on(one.acquire(&"t".into(), run(number))).unwrap();
        assert!(lease.fence > before.fence);
        for other_run in [number - 1, number + 1] {
            let error = block_on(one.acquire(&"t".into(), run(other_run))).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ThreadBusy);
            assert!(error.message().contains(&run(number).to_string()), "{error}");
        }
        assert_eq!(block_on(two.acquire(&"t".into(), run(100))).unwrap_err().code(), ErrorCode::ThreadBusy);
        assert_eq!(block_on(two.delete_thread(&"t".into())).unwrap_err().code(), ErrorCode::ThreadBusy);
        assert!(block_on(one.commit(&busy(&before))).unwrap_err().message().starts_with("fenced"));
        block_on(one.commit(&busy(&lease))).unwrap();
        assert_eq!(block_on(two.status(&"t".into())).unwrap(), Some(ThreadStatus::Busy));
        before = lease;
    }
    one.release(&before);
    block_on(one.prune(&"t".into(), &superstep::core::port::Retention::default())).unwrap();
    let new_lease = block_on(two.acquire(&"t".into(), run(1))).unwrap();
    assert!(new_lease.fence > before.fence);
    assert!(block_on(one.commit(&busy(&before))).unwrap_err().message().starts_with("fenced"));
    block_on(two.commit(&busy(&new_lease))).unwrap();
}

/// The threads of a closed checkpointer can be acquired immediately.
#[test]
fn threads_of_a_closed_checkpointer_are_free() {
    let path = folder().join("closed.db");
    let (one, two) = (SqliteCheckpointer::open(&path).unwrap(), SqliteCheckpointer::open(&path).unwrap());
    block_on(one.acquire(&"t".into(), run(1))).unwrap();
    drop(one);
    block_on(two.acquire(&"t".into(), run(2))).unwrap();
}

/// After a power loss no thread is leased, because no process locks the files of the copy.
#[test]
fn a_copy_of_the_file_has_no_lease_holder() {
    let folder = folder();
    let (path, copy) = (folder.join("live.db"), folder.join("copy.db"));
    let live = SqliteCheckpointer::open(&path).unwrap();
    let lease = block_on(live.acquire(&"t".into(), run(1))).unwrap();
    block_on(live.commit(&Commit { status: Some(ThreadStatus::Busy), ..Commit::empty(lease, "".into()) })).unwrap();
    for end in ["", "-wal"] {
        let name = |path: &std::path::Path| format!("{}{end}", path.display());
        std::fs::copy(name(&path), name(&copy)).unwrap();
    }
    let restored = SqliteCheckpointer::open(&copy).unwrap();
    assert_eq!(block_on(restored.status(&"t".into())).unwrap(), Some(ThreadStatus::Idle));
    block_on(restored.acquire(&"t".into(), run(2))).unwrap();
}

/// A live process without heartbeats is taken over after a while, and its later writes are rejected.
#[test]
fn a_checkpointer_without_heartbeats_is_taken_over_and_fenced() {
    let path = folder().join("still.db");
    let one = SqliteCheckpointer::open(&path).unwrap();
    let two = SqliteCheckpointer::options().lease_timeout(Duration::from_millis(100)).open(&path).unwrap();
    let old = block_on(one.acquire(&"t".into(), run(1))).unwrap();
    let started = std::time::Instant::now();
    let new = loop {
        match block_on(two.acquire(&"t".into(), run(2))) {
            Ok(lease) => break lease,
            Err(error) => assert_eq!(error.code(), ErrorCode::ThreadBusy, "{error}"),
        }
        assert!(started.elapsed() < Duration::from_secs(60), "the thread was not taken over");
    };
    assert!(started.elapsed() >= Duration::from_millis(100) && new.fence > old.fence);
    let fenced_error = block_on(one.commit(&Commit::empty(old, "".into()))).unwrap_err();
    assert!(fenced_error.message().starts_with("fenced"), "{fenced_error}");
    block_on(two.commit(&Commit::empty(new, "".into()))).unwrap();
}

/// Two checkpointers write many threads of one file concurrently; each waits for the other, and nothing
/// is lost.
#[test]
fn two_stores_write_one_file_at_once() {
    let path = folder().join("both.db");
    let open = || SqliteCheckpointer::options().busy_timeout(LONG_BUSY_TIMEOUT).open(&path).unwrap();
    let stores = [open(), open()];
    std::thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                let graph = diary(store.clone(), 20);
                for thread in 0..4 {
                    assert_eq!(write(&graph, &format!("{number}-{thread}"), 25).pages.len(), 25);
                }
            });
        }
    });
    let graph = diary(SqliteCheckpointer::open(&path).unwrap(), 20);
    for thread in ["0-0", "0-3", "1-0", "1-3"] {
        assert_eq!(pages(&graph, thread).unwrap().len(), 25);
    }
}

/// Runs of two checkpointers alternate on one thread; each continues from the state that the other saved.
#[test]
fn runs_of_two_stores_take_turns_on_one_thread() {
    let path = folder().join("turns.db");
    let graphs = [0, 1].map(|_| diary(SqliteCheckpointer::open(&path).unwrap(), 4));
    for pages in 1..=20 {
        assert_eq!(write(&graphs[pages % 2], "t", pages).pages.len(), pages);
    }
    std::thread::scope(|scope| {
        for graph in &graphs {
            scope.spawn(move || {
                for _ in 0..10 {
                    let page_count = pages(graph, "t").unwrap().len();
                    write(graph, "t", page_count + 1);
                }
            });
        }
    });
    let pages = pages(&graphs[0], "t").unwrap();
    assert!(pages.iter().enumerate().all(|(number, page)| *page == format!("{number:0>4}")), "{pages:?}");
}

/// A release that could not be written while another process locked the file is written later: the thread is
/// free, and the checkpointer works as before.
#[test]
fn a_thread_released_while_the_file_was_locked_is_free_afterwards() {
    let path = folder().join("kept.db");
    let store = SqliteCheckpointer::options().busy_timeout(Duration::from_millis(1)).open(&path).unwrap();
    let lease = block_on(store.acquire(&"t".into(), run(1))).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.release(&lease);
    let error = block_on(store.acquire(&"another".into(), run(2))).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StoreUnavailable, "{error}");
    other.execute_batch("ROLLBACK").unwrap();
    let newer = block_on(store.acquire(&"t".into(), run(3))).unwrap();
    assert!(newer.fence > lease.fence);
    block_on(store.acquire(&"another".into(), run(4))).unwrap();
}

/// A thread that was acquired for a dropped future is free again.
#[test]
fn a_thread_acquired_for_a_dropped_future_is_free_again() {
    let path = folder().join("nobody.db");
    let store = SqliteCheckpointer::options().lease_timeout(Duration::from_millis(300)).open(&path).unwrap();
    let waker = std::task::Waker::noop();
    // No call can acquire a thread until all of them are dropped.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for number in 0..20 {
        let thread = format!("t{number}").into();
        let mut acquire = Box::pin(store.acquire(&thread, run(1)));
        assert!(acquire.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
    }
    other.execute_batch("ROLLBACK").unwrap();
    let started = std::time::Instant::now();
    for number in 0..20 {
        while block_on(store.acquire(&format!("t{number}").into(), run(2))).is_err() {
            assert!(started.elapsed() < Duration::from_secs(20), "the lease on t{number} was not released");
        }
    }
}

/// A file that is opened by two paths is recognized as one, so that leases are found.
#[test]
fn a_file_opened_by_two_paths_is_one_database() {
    let folder = folder();
    let (path, link) = (folder.join("real.db"), folder.join("link.db"));
    let one = SqliteCheckpointer::open(&path).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let lease = block_on(one.acquire(&"t".into(), run(1))).unwrap();
    let two = SqliteCheckpointer::open(&link).unwrap();
    assert_eq!(block_on(two.acquire(&"t".into(), run(2))).unwrap_err().code(), ErrorCode::ThreadBusy);
    block_on(one.commit(&Commit::empty(lease, "".into()))).unwrap();
}

/// While another process holds the write lock for too long, all callers fail after one wait, however many there
/// are.
#[test]
fn many_that_wait_for_a_locked_file_wait_once() {
    let path = folder().join("locked.db");
    let store = SqliteCheckpointer::options().busy_timeout(Duration::from_secs(2)).open(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = std::time::Instant::now();
    std::thread::scope(|scope| {
        // One wait after another would take 200 seconds.
        for number in 0..100 {
            let store = &store;
            scope.spawn(move || {
                let error = block_on(store.acquire(&format!("t{number}").into(), run(1))).unwrap_err();
                assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, true), "{error}");
            });
        }
    });
    assert!(started.elapsed() < Duration::from_secs(100), "{:?}", started.elapsed());
    other.execute_batch("ROLLBACK").unwrap();
    block_on(store.acquire(&"t0".into(), run(1))).unwrap();
}

/// Lock files of processes that died before they held a lease are removed by the next process that opens the
/// file; locked files and other files stay.
#[test]
fn lock_files_of_dead_processes_are_removed() {
    let folder = folder();
    let path = folder.join("swept.db");
    let open = SqliteCheckpointer::open(&path).unwrap();
    let initial = lock_names(&folder);
    assert_eq!(initial.len(), 1, "{initial:?}");
    let (unlocked, locked) = ("swept.db-holder-0123456789abcdef", "swept.db-holder-fedcba9876543210");
    let unrelated = ["swept.db-holder-mine", "swept.db-holder-0123456789ABCDEF", "other.db-holder-0123456789abcdef"];
    for name in unrelated.iter().chain([&unlocked, &locked]) {
        std::fs::write(folder.join(name), "").unwrap();
    }
    let lock = std::fs::File::open(folder.join(locked)).unwrap();
    lock.lock().unwrap();

    let another = SqliteCheckpointer::open(&path).unwrap();
    let names = lock_names(&folder);
    assert!(!names.iter().any(|name| name == unlocked), "{names:?}");
    assert!(unrelated.iter().chain([&locked]).all(|name| names.iter().any(|other| other == name)), "{names:?}");
    assert!(names.contains(&initial[0]), "an open checkpointer lost its lock file: {names:?}");
    drop((open, another, lock));

    drop(SqliteCheckpointer::open(&path).unwrap());
    assert_eq!(lock_names(&folder).len(), unrelated.len());
}

/// A new file that many callers open at once is created by one of them and works for all.
#[test]
fn a_new_file_is_opened_by_many_at_once() {
    assert_opened_at_once(|path| SqliteCheckpointer::options().busy_timeout(LONG_BUSY_TIMEOUT).open(path));
}

/// Checkpointers that are opened and closed repeatedly never remove a lock file that is being created.
#[test]
fn lock_files_being_created_are_not_removed() {
    let path = folder().join("busy.db");
    let open = || SqliteCheckpointer::options().busy_timeout(LONG_BUSY_TIMEOUT).open(&path).unwrap();
    drop(open());
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for _ in 0..10 {
                    let store = open();
                    let thread = format!("t{number}").as_str().into();
                    block_on(store.acquire(&thread, run(number))).unwrap();
                    let other = open();
                    let error = block_on(other.acquire(&thread, run(9))).unwrap_err();
                    assert_eq!(error.code(), ErrorCode::ThreadBusy, "{error}");
                }
            });
        }
    });
}

/// Returns the names of the lock files next to databases.
fn lock_names(folder: &std::path::Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("-holder-")).collect()
}
