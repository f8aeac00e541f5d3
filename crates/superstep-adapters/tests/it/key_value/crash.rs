//! Repeated `kill -9` of a process that writes to a folder: everything it reported as saved is still stored.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use superstep_adapters::key_value::{FileKeyValue, KeyValueCheckpointer};

use super::{Diary, diary, folder, once_free, pages, until};

/// Environment variable with the folder of the child process; only set for the child.
const FOLDER_VARIABLE: &str = "SUPERSTEP_TEST_VICTIM";
const KILLS: usize = 24;

fn open(folder: &Path) -> KeyValueCheckpointer<FileKeyValue> {
    KeyValueCheckpointer::options()
        .lease_timeout(Duration::from_millis(200))
        .open(FileKeyValue::open(folder).unwrap())
        .unwrap()
}

/// Child process of the test below: writes pages forever and prints the number of saved pages.
#[test]
fn child_process() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let graph = diary(open(Path::new(&folder)), 1_500);
    let mut page_count = once_free(|| match pages(&graph, "t") {
        Err(error) if error.code() == superstep::ErrorCode::NotFound => Ok(0),
        page_count => page_count,
    });
    loop {
        page_count = once_free(|| graph.invoke(Diary::input().target(page_count + 2)).thread("t").wait_blocking())
            .state
            .pages
            .len();
        println!("saved {page_count}");
    }
}

/// Returns the number and the total length of the files in a folder and its subfolders.
fn folder_size(folder: &Path) -> (usize, u64) {
    let (mut count, mut bytes) = (0, 0);
    // The child process removes files and folders at any time.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        let size = if metadata.is_dir() { folder_size(&entry.path()) } else { (1, metadata.len()) };
        (count, bytes) = (count + size.0, bytes + size.1);
    }
    (count, bytes)
}

/// Kills a child process after a number of messages and of changes in the folder; returns the last number it reported.
fn kill_after(folder: &Path, messages: usize, changes: usize) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "key_value::crash::child_process", "--nocapture"])
        .env(FOLDER_VARIABLE, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reported = 0;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut read_line = |count: &mut usize| {
        let line = lines.next()?.ok()?;
        // The first message is on the same line as the name of the test.
        *count = line.rsplit_once("saved ").and_then(|(_, number)| number.parse().ok()).unwrap_or(*count);
        Some(())
    };
    while reported == 0 {
        read_line(&mut reported).expect("the child process runs until it is killed");
    }
    (0..messages).for_each(|_| read_line(&mut reported).expect("the child process runs until it is killed"));
    for _ in 0..changes {
        let before = folder_size(folder);
        until(|| (folder_size(folder) != before).then_some(()));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    while read_line(&mut reported).is_some() {}
    reported
}

/// R-FWK-39: after each of many kills everything reported is stored completely, and the next process continues.
#[test]
fn nothing_that_was_reported_is_lost_by_a_kill() {
    let folder = folder();
    let mut seed = 7_u64;
    for kill in 0..KILLS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let reported = kill_after(&folder, (seed >> 33) as usize % 3, (seed >> 40) as usize % 9);
        let stored = pages(&diary(open(&folder), 1_500), "t").unwrap();
        assert!(stored >= reported, "kill {kill}: {reported} saved pages reported, {stored} found");
    }
}
