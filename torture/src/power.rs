//! The power goes at every moment at which something was told: what a disk would hold then must have all of it.
//!
//! A victim runs under strace; its writes and syncs are replayed into images of the disk, once with everything lost that
//! was not synced, once with all of it, and with random parts of it. Each image is opened with the real store. The power
//! also goes between two reports, in the middle of whatever is written then. The test of the test: where one sync is
//! ignored that was needed, or the store was told not to wait for the disk, something must be found lost.

mod disk;
mod trace;

use std::path::Path;

use crate::check;
use crate::child::{Child, command};
use crate::folder::Folder;
use crate::random::Random;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;
use crate::told::Told;
use crate::tools;
use crate::victim::Order;
use crate::work::THREAD;

use disk::{Disk, Image, Lies, Unsynced};
use trace::Step;

/// Images with random parts of what was not synced, at each moment.
const GUESSES: usize = 2;
/// Runs whose writes are replayed: laps, weight, and how many of the moments are tried (one in so many).
const SHAPES: [(u64, u64, u32); 2] = [(3, 2_000, 1), (4, 200_000, 6)];
/// Of the moments between two reports one in so many is tried.
const BETWEEN: u32 = 12;
/// How many needed syncs are ignored, one at a time.
const LIES: usize = 12;

/// Cuts the power.
///
/// # Errors
/// When the proof cannot be performed.
pub(crate) fn prove(stage: &Stage) -> Result<Report, String> {
    tools::need("strace", "strace")?;
    let mut report = Report::new("power");
    let mut seed = stage.seed;
    while report.of("moments") < stage.times(100) {
        for shape in SHAPES {
            let steps = record(shape, Place::sqlite_in)?;
            replay(&steps, shape.2, seed, &mut report)?;
            if shape.2 == 1 {
                lie(&steps, seed, &mut report)?;
            }
        }
        seed += 1;
    }
    neglect(stage.seed, &mut report)?;
    // A report may lag behind a sync that is newer than what it speaks of; that one is not missed.
    let (ignored, found) = (report.of("ignored syncs"), report.of("ignored syncs found out"));
    if ignored == 0 || found * 4 < ignored * 3 {
        report.find(stage.seed, format!("{found} of {ignored} ignored syncs were found out: the tester is half blind"));
    }
    report.must_have(stage.seed, "writes of the database itself", 1);
    Ok(report)
}

/// Runs a victim under strace.
fn record((laps, weight, _): (u64, u64, u32), place: fn(&Path) -> Place) -> Result<Vec<Step>, String> {
    let (folder, logs) = (Folder::new("power")?, Folder::new("trace")?);
    let log = logs.join("log");
    let order = Order { threads: vec![THREAD.to_owned()], laps, weight, ..Order::default() };
    let tool = ["strace", "-f", "-xx", "-s", trace::LONGEST, "-e", trace::CALLS, "-o"];
    let mut words: Vec<String> = tool.map(str::to_owned).to_vec();
    words.push(tools::text(&log));
    words.extend(command("victim", &place(folder.path()), &order)?);
    let end = Child::start(&words)?.end()?;
    if !end.status.success() {
        return Err(format!("a victim under strace ended with {}", end.spoken()));
    }
    let text = std::fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    trace::read(&text, &tools::text(folder.path()))
}

/// Cuts the power at moments of a run.
fn replay(steps: &[Step], one_in: u32, seed: u64, report: &mut Report) -> Result<(), String> {
    let mut random = Random::apart(seed, 2);
    let (mut disk, mut told) = (Disk::new(Lies::None), Vec::new());
    for (place, step) in steps.iter().enumerate() {
        disk.take(step);
        count_write(step, report);
        let is_end = place + 1 == steps.len();
        let rarity = match step {
            Step::Told(one) => {
                told.push(one.clone());
                one_in
            }
            _ => one_in * BETWEEN,
        };
        if !random.one_in(rarity) && !is_end {
            continue;
        }
        report.count("moments", u64::from(matches!(step, Step::Told(_))));
        report.count("moments between", u64::from(!matches!(step, Step::Told(_))));
        report.count("moments with unsynced writes", u64::from(disk.is_dirty()));
        let mut images = vec![disk.image(Unsynced::Lost)];
        if disk.is_dirty() {
            images.push(disk.image(Unsynced::Kept));
            images.extend((0..GUESSES).map(|_| disk.image(Unsynced::Some(&mut random))));
        }
        for image in images {
            report.count("images opened", 1);
            let (damage, lost) = open(&image, &told)?;
            report.count("acknowledgements lost", lost.len() as u64);
            let lost = damage.into_iter().chain(lost);
            report.find_all(seed, lost.map(|lost| format!("power cut after {} reports: {lost}", told.len())));
        }
    }
    Ok(())
}

/// Log and database are written in turn; a run in which the log was never carried over proves half.
fn count_write(step: &Step, report: &mut Report) {
    if let Step::Write { file, .. } = step {
        let is_database = !file.ends_with("-wal") && !file.ends_with("-journal");
        report.count("writes of the database itself", u64::from(is_database));
    }
}

/// Ignores syncs that were needed: each time something must be lost.
fn lie(steps: &[Step], seed: u64, report: &mut Report) -> Result<(), String> {
    let needed = needed_syncs(steps);
    let mut random = Random::apart(seed, 3);
    for _ in 0..LIES.min(needed.len()) {
        let (number, place) = needed[random.below(needed.len() as u32) as usize];
        let found = loses(&steps[..=place], Lies::One(number))?;
        report.count("ignored syncs", 1);
        report.count("ignored syncs found out", u64::from(found));
    }
    let last = needed.last().map_or(0, |(_, place)| *place);
    if !loses(&steps[..=last], Lies::Of("-wal"))? {
        report.find(seed, "with no sync of the log at all nothing was found lost: the tester is blind");
    }
    Ok(())
}

/// A store that does not wait for the disk: what was told is lost, but the file stays whole.
fn neglect(seed: u64, report: &mut Report) -> Result<(), String> {
    let steps = record(SHAPES[0], |folder| Place::SqliteNormal(folder.join(Place::FILE)))?;
    let (mut disk, mut told) = (Disk::new(Lies::None), Vec::new());
    for step in &steps {
        disk.take(step);
        let Step::Told(one) = step else { continue };
        told.push(one.clone());
        let (damage, lost) = open(&disk.image(Unsynced::Lost), &told)?;
        report.count("moments without waiting", 1);
        report.count("of which with losses", u64::from(!lost.is_empty()));
        report.find_all(seed, damage.into_iter().map(|damage| format!("without waiting for the disk: {damage}")));
    }
    let (moments, found) = (report.of("moments without waiting"), report.of("of which with losses"));
    if found * 2 < moments {
        report.find(seed, format!("{found} losses in {moments} moments without syncs: the tester is half blind"));
    }
    Ok(())
}

/// The syncs of the log that carried something and were followed by a report that counts, with the place of that.
fn needed_syncs(steps: &[Step]) -> Vec<(usize, usize)> {
    let (mut needed, mut number, mut last, mut is_written) = (Vec::new(), 0, None, false);
    for (place, step) in steps.iter().enumerate() {
        match step {
            Step::Write { file, .. } => is_written = is_written || file.ends_with("-wal"),
            Step::SyncEnds { .. } => {
                last = is_written.then_some(number);
                (number, is_written) = (number + 1, false);
            }
            Step::Told(Told::Checkpoint { .. } | Told::Values { .. } | Told::Done { .. }) => {
                needed.extend(last.take().map(|sync| (sync, place)));
            }
            _ => {}
        }
    }
    needed
}

/// Whether something is lost when the power goes after these steps, on a disk that lies.
fn loses(steps: &[Step], lies: Lies) -> Result<bool, String> {
    let mut disk = Disk::new(lies);
    steps.iter().for_each(|step| disk.take(step));
    let told = steps.iter().filter_map(|step| if let Step::Told(told) = step { Some(told.clone()) } else { None });
    let (damage, lost) = open(&disk.image(Unsynced::Lost), &told.collect::<Vec<_>>())?;
    Ok(!damage.is_empty() || !lost.is_empty())
}

/// Opens an image with the real store: what is wrong with it, and what was told and is not there.
fn open(image: &Image, told: &[Told]) -> Result<(Vec<String>, Vec<String>), String> {
    let folder = Folder::new("image")?;
    for (name, bytes) in image {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let stored = check::read_thread(&Place::sqlite_in(folder.path()))?;
    Ok((stored.problems(), stored.lost(THREAD, told)))
}
