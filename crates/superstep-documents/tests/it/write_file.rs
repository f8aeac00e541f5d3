//! Tests of bundled files.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use superstep_documents::write_if_missing;

/// A reader sees a file completely or not at all while others write it, all writers succeed,
/// and no other file is left. An existing file stays.
#[test]
fn a_file_is_written_completely_or_not_at_all() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("documents-write-new");
    fs::remove_dir_all(&folder).ok();
    let (path, content, is_done) = (folder.join("a/b.csv"), vec![b'x'; 4 << 20], AtomicBool::new(false));
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let seen = fs::read(&path).map_or(content.len(), |read| read.len());
                assert_eq!(seen, content.len());
            }
        });
        let writers: Vec<_> = (0..8).map(|_| scope.spawn(|| write_if_missing(&path, &content))).collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        is_done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        assert!(written.iter().all(Result::is_ok), "{written:?}");
    });
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    write_if_missing(&path, b"other").unwrap();
    assert_eq!(fs::read(&path).unwrap(), content);
    assert!(write_if_missing(&path.join("below-a-file"), b"x").is_err());
}
