//! `kill -9` on a process that writes to a folder, again and again: whatever it told as saved is there.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use superstep_adapters::key_value::{Files, KeyValueStore};

use super::{Diary, diary, folder, once_free, pages};

/// Where a victim works; only set for one.
const PLACE: &str = "SUPERSTEP_TEST_VICTIM";
const KILLS: usize = 24;

fn open(folder: &Path) -> KeyValueStore<Files> {
    KeyValueStore::options().lapse_after(Duration::from_millis(200)).open(Files::open(folder).unwrap()).unwrap()
}

/// What the test below starts and kills: writes pages for ever, and says each time how many are saved.
#[test]
fn victim() {
    let Some(folder) = std::env::var_os(PLACE) else { return };
    let graph = diary(open(Path::new(&folder)), 1_500);
    let mut held = once_free(|| match pages(&graph, "t") {
        Err(error) if error.code() == superstep::Code::NotFound => Ok(0),
        held => held,
    });
    loop {
        held = once_free(|| graph.run(Diary::input().wanted(held + 2)).thread("t").wait()).state.pages.len();
        println!("saved {held}");
    }
}

/// How many pages a victim told of before it was killed, after this many words and a moment.
fn kill_after(folder: &Path, words: usize, moment: Duration) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "key_value::crash::victim", "--nocapture"])
        .env(PLACE, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = 0;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut hear = |told: &mut usize| {
        let line = lines.next()?.ok()?;
        // The first word shares its line with the name of the test.
        *told = line.rsplit_once("saved ").and_then(|(_, number)| number.parse().ok()).unwrap_or(*told);
        Some(())
    };
    while told == 0 {
        hear(&mut told).expect("the victim lives until it is killed");
    }
    (0..words).for_each(|_| hear(&mut told).expect("the victim lives until it is killed"));
    std::thread::sleep(moment);
    child.kill().unwrap();
    child.wait().unwrap();
    while hear(&mut told).is_some() {}
    told
}

/// P1, R-FWK-39: after each of many kills everything that was told is there, whole, and the next process goes on.
#[test]
fn nothing_that_was_told_is_lost_by_a_kill() {
    let folder = folder();
    let mut seed = 7_u64;
    for kill in 0..KILLS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let told = kill_after(&folder, (seed >> 33) as usize % 3, Duration::from_micros((seed >> 40) % 9_000));
        let found = pages(&diary(open(&folder), 1_500), "t").unwrap();
        assert!(found >= told, "kill {kill}: {told} pages were told and {found} are there");
    }
}
