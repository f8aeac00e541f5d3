//! A disk without room: the run fails and says so, reading goes on, and so does the run when there is room again.
//!
//! The disk is a small file system in memory, mounted in a namespace of its own, so that nobody else sees it. This program
//! starts itself there; ballast fills the disk up to a little, which the run uses up somewhere on its way.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::check::{self, Stored};
use crate::child::{Child, Heard, command};
use crate::effects;
use crate::folder::Folder;
use crate::kill::undisturbed;
use crate::random::Random;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;
use crate::told::Told;
use crate::tools;
use crate::victim::Order;
use crate::work::THREAD;

/// How often the disk fills up.
const TIMES: u64 = 8;
/// The run: laps and weight. Its log alone needs more than the room that is left.
const SIZE: (u64, u64) = (3, 150_000);
/// The least and the most room, in KiB.
const ROOM: (u32, u32) = (40, 800);

/// Fills disks.
///
/// # Errors
/// When the proof cannot be performed.
pub(crate) fn prove(stage: &Stage) -> Result<Report, String> {
    let mut report = Report::new("full");
    tools::need("unshare", "util-linux")?;
    if let Some(refusal) = tools::refuses_namespaces() {
        let why = format!("a disk of our own needs root, or user namespaces, and this system gives none: {refusal}");
        report.left_out = Some(why);
        return Ok(report);
    }
    let (folder, disk) = (Folder::new("full")?, Folder::new("disk")?);
    let program = std::env::current_exe().map_err(|error| format!("this program does not find itself: {error}"))?;
    let space = if tools::is_root() { "-m" } else { "-rm" };
    let mut inside = Command::new("unshare");
    inside.args([space, "--"]).arg(program).arg("full-inside");
    inside.args([folder.path(), disk.path()]).args([stage.seed.to_string(), stage.kills.to_string()]);
    let output = inside.output().map_err(|error| format!("`unshare` does not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the proof on a disk of our own ended with {}: {said}", output.status));
    }
    let whole = serde_json::from_slice(&output.stdout).map_err(|error| format!("the report of `full`: {error}"))?;
    report.take(&whole)?;
    report.must_have(stage.seed, "full disks", 1);
    Ok(report)
}

/// The proof, where mounting is our own business.
///
/// # Errors
/// When it cannot be performed.
pub(crate) fn prove_inside(folder: &str, disk: &str, stage: &Stage) -> Result<Report, String> {
    let mut report = Report::new("full");
    let expected = undisturbed(SIZE)?;
    for number in 0..stage.times(TIMES) {
        let seed = stage.seed + number;
        let mut random = Random::apart(seed, 6);
        let disk = Disk::mount(disk, 1 << (2 + random.below(3)))?;
        let room = ROOM.0 + random.below(ROOM.1 - ROOM.0);
        let effects = Path::new(folder).join(format!("effects {number}"));
        let problems = round(&disk, u64::from(room), &effects, &expected, &mut report);
        let problems = problems.unwrap_or_else(|problem| vec![problem]);
        report.find_all(seed, problems.into_iter().map(|problem| format!("with {room} KiB of room: {problem}")));
    }
    Ok(report)
}

/// A small disk, unmounted when it is let go.
struct Disk {
    path: PathBuf,
    mebibytes: u64,
}

impl Disk {
    fn mount(path: &str, mebibytes: u64) -> Result<Self, String> {
        let size = format!("size={mebibytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs", path]).status();
        match mounted {
            Ok(status) if status.success() => Ok(Self { path: path.into(), mebibytes }),
            other => Err(format!("no disk of our own: `mount` ended with {other:?}")),
        }
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }

    /// Leaves so much room.
    fn fill(&self, kibibytes: u64) -> Result<(), String> {
        let ballast = vec![1_u8; ((self.mebibytes << 10) - kibibytes) as usize * 1024];
        std::fs::write(self.ballast(), ballast).map_err(|error| format!("no ballast: {error}"))
    }

    fn empty(&self) -> Result<(), String> {
        std::fs::remove_file(self.ballast()).map_err(|error| format!("the ballast stays: {error}"))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // With the namespace it goes anyway.
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

/// One run on a disk that fills up and is freed.
fn round(disk: &Disk, room: u64, effects: &Path, expected: &str, report: &mut Report) -> Result<Vec<String>, String> {
    disk.fill(room)?;
    let place = Place::sqlite_in(&disk.path);
    let mut order = Order { threads: vec![THREAD.to_owned()], laps: SIZE.0, weight: SIZE.1, ..Order::default() };
    (order.effects, order.life, order.is_patient) = (Some(effects.to_owned()), 1, true);
    let mut child = Child::start(&command("victim", &place, &order)?)?;
    let (mut problems, mut heard) = (Vec::new(), Vec::new());
    // Until it has failed, and has told all that it can still read.
    while let Heard::Told(told) = child.hear()? {
        let is_read = matches!(told, Told::Read { .. } | Told::Unreadable { .. } | Told::Ended { .. });
        heard.push(told);
        if is_read {
            break;
        }
    }
    let failure = heard.iter().position(|told| matches!(told, Told::Failed { .. }));
    let Some(failure) = failure else { return Ok(vec!["the run was not stopped by a full disk".to_owned()]) };
    report.count("full disks", 1);
    let (told, read) = heard.split_at(failure);
    let told: Vec<Told> = told.to_vec();
    if told.contains(&Told::Opened) {
        problems.extend(unclean(&read[0]));
        report.count("readings while full", 1);
        let stored = Stored::heard(read[1..].to_vec());
        problems.extend(stored.problems().into_iter().map(|problem| format!("while full: {problem}")));
        problems.extend(stored.lost(THREAD, &told).into_iter().map(|lost| format!("while full: {lost}")));
    }
    disk.empty()?;
    // One that could not even open the store has ended; the others are told that there is room.
    let goes_on = told.contains(&Told::Opened) && child.say("there is room").is_ok();
    report.count("runs that went on in the same process", u64::from(goes_on));
    let first = child.end()?;
    // What it did after its failure is another life: tasks that were not saved begin again.
    let before = told.into_iter().map(|told| (1, told));
    let mut lives: effects::Heard = before.chain(first.told.into_iter().map(|told| (2, told))).collect();
    if !goes_on {
        order.life = 2;
        let second = Child::start(&command("victim", &place, &order)?)?.end()?;
        lives.extend(second.told.into_iter().map(|told| (2, told)));
    }
    if !matches!(lives.last(), Some((_, Told::Ended { digest })) if digest == expected) {
        problems.push(format!("the run did not go on to the right end: {:?}", lives.last()));
    }
    let stored = check::read_thread(&place)?;
    problems.extend(stored.problems());
    let lost = stored.lost(THREAD, lives.iter().map(|(_, told)| told));
    report.count("acknowledgements lost", lost.len() as u64);
    problems.extend(lost);
    problems.extend(effects::judge(&effects::read(effects)?, &lives).problems);
    Ok(problems)
}

/// The error must say that the disk is full, and that this was not saved.
fn unclean(told: &Told) -> Option<String> {
    let Told::Failed { code, message } = told else { return None };
    let is_clean = code == "StoreUnavailable" && message.contains("full") && message.contains("not saved");
    (!is_clean).then(|| format!("an error that does not say that the disk is full: {code}: {message}"))
}
