//! What a disk holds when the power goes: all that was synced, and of the rest whatever it likes.
//!
//! The entry of a file in its folder counts as durable once the file was synced, and the removal of a file as soon as
//! it happened. A write may be torn between sectors of 512 bytes, and never changes bytes beside it.

use std::collections::BTreeMap;

use super::trace::Step;
use crate::random::Random;

/// What is written at once, or not.
const SECTOR: usize = 512;

/// The files of a folder.
pub(crate) type Image = BTreeMap<String, Vec<u8>>;

/// A disk.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    files: BTreeMap<String, File>,
    /// Syncs that were asked for, by thread: the file, and how many of its changes they cover.
    syncs: BTreeMap<u32, (String, usize)>,
    /// How often a sync was done.
    synced: usize,
    /// Syncs that are said to be done and are not.
    lies: Lies,
}

/// Which syncs only say that they are done.
#[derive(Debug, Default, Clone)]
pub(crate) enum Lies {
    #[default]
    None,
    /// This one.
    One(usize),
    /// All of files whose names end so.
    Of(&'static str),
}

#[derive(Debug, Default)]
struct File {
    /// What is safe; `None` until it was synced once.
    synced: Option<Vec<u8>>,
    /// What is not, in the order it was asked for.
    pending: Vec<Change>,
    /// How many changes are safe.
    safe: usize,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Cut(usize),
}

/// What becomes of changes that were not synced.
pub(crate) enum Unsynced<'a> {
    /// All are lost.
    Lost,
    /// All are kept.
    Kept,
    /// Some are kept, whole or torn.
    Some(&'a mut Random),
}

impl Disk {
    /// An empty disk whose syncs may lie.
    pub(crate) fn new(lies: Lies) -> Self {
        Self { lies, ..Self::default() }
    }

    /// Takes the next step of a trace.
    pub(crate) fn take(&mut self, step: &Step) {
        match step {
            Step::Told(_) => {}
            Step::Write { file, at, bytes } => self.change(file, Change::Write(*at, bytes.clone())),
            Step::Cut { file, length } => self.change(file, Change::Cut(*length)),
            Step::SyncBegins { file, thread } => {
                let state = self.files.entry(file.clone()).or_default();
                self.syncs.insert(*thread, (file.clone(), state.safe + state.pending.len()));
            }
            Step::SyncEnds { thread } => {
                if let Some((file, covers)) = self.syncs.remove(thread) {
                    self.sync(&file, covers);
                }
            }
            Step::Remove { file } => _ = self.files.remove(file),
        }
    }

    fn change(&mut self, file: &str, change: Change) {
        self.files.entry(file.to_owned()).or_default().pending.push(change);
    }

    fn sync(&mut self, name: &str, covers: usize) {
        let number = self.synced;
        self.synced += 1;
        let is_lie = match &self.lies {
            Lies::None => false,
            Lies::One(lie) => *lie == number,
            Lies::Of(ending) => name.ends_with(ending),
        };
        let Some(file) = self.files.get_mut(name).filter(|_| !is_lie) else { return };
        let bytes = file.synced.get_or_insert_default();
        let count = covers.saturating_sub(file.safe).min(file.pending.len());
        file.pending.drain(..count).for_each(|change| change.apply(bytes));
        file.safe += count;
    }

    /// What is found after the power went.
    pub(crate) fn image(&self, mut unsynced: Unsynced<'_>) -> Image {
        let files = self.files.iter().filter_map(|(name, file)| Some((name.clone(), file.image(&mut unsynced)?)));
        files.collect()
    }

    /// Whether something could be lost.
    pub(crate) fn is_dirty(&self) -> bool {
        self.files.values().any(|file| !file.pending.is_empty())
    }
}

impl File {
    fn image(&self, unsynced: &mut Unsynced<'_>) -> Option<Vec<u8>> {
        let mut bytes = self.synced.clone();
        for change in &self.pending {
            let kept = match unsynced {
                Unsynced::Lost => None,
                Unsynced::Kept => Some(change.clone()),
                Unsynced::Some(random) => random.one_in(2).then(|| change.torn(random)),
            };
            if let Some(change) = kept {
                change.apply(bytes.get_or_insert_default());
            }
        }
        bytes
    }
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Cut(length) => file.resize(*length, 0),
            Self::Write(at, bytes) => {
                let end = at + bytes.len();
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[*at..end].copy_from_slice(bytes);
            }
        }
    }

    /// As it is, or without its first or last sectors.
    fn torn(&self, random: &mut Random) -> Self {
        let Self::Write(at, bytes) = self else { return self.clone() };
        // Where the sectors of the disk end, seen from the beginning of the write.
        let ends: Vec<usize> = (1..bytes.len()).filter(|place| (at + place).is_multiple_of(SECTOR)).collect();
        if ends.is_empty() || random.one_in(2) {
            return self.clone();
        }
        let place = ends[random.below(ends.len() as u32) as usize];
        if random.one_in(4) {
            Self::Write(at + place, bytes[place..].to_vec())
        } else {
            Self::Write(*at, bytes[..place].to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(at: usize, bytes: &[u8]) -> Step {
        Step::Write { file: "f".into(), at, bytes: bytes.to_vec() }
    }

    fn sync() -> [Step; 2] {
        [Step::SyncBegins { file: "f".into(), thread: 1 }, Step::SyncEnds { thread: 1 }]
    }

    fn after(steps: &[Step], lies: Lies) -> Disk {
        let mut disk = Disk::new(lies);
        steps.iter().for_each(|step| disk.take(step));
        disk
    }

    #[test]
    fn only_what_was_asked_for_before_a_sync_is_safe() {
        let [begins, ends] = sync();
        let disk = after(&[write(0, b"ab"), begins, write(1, b"cd"), ends], Lies::None);
        assert_eq!(disk.image(Unsynced::Lost)["f"], b"ab");
        assert_eq!(disk.image(Unsynced::Kept)["f"], b"acd");
        assert!(disk.is_dirty());
    }

    #[test]
    fn a_file_that_was_never_synced_is_not_there() {
        let disk = after(&[write(0, b"ab")], Lies::None);
        assert!(disk.image(Unsynced::Lost).is_empty());
        let [begins, ends] = sync();
        let lied = after(&[write(0, b"ab"), begins.clone(), ends.clone()], Lies::One(0));
        assert!(lied.image(Unsynced::Lost).is_empty());
        let gone = after(&[write(0, b"ab"), begins, ends, Step::Remove { file: "f".into() }], Lies::None);
        assert!(gone.image(Unsynced::Kept).is_empty());
    }

    #[test]
    fn a_torn_write_ends_at_a_sector() {
        let mut random = Random::apart(1, 1);
        let change = Change::Write(100, vec![1; 2_000]);
        for _ in 0..200 {
            let Change::Write(at, bytes) = change.torn(&mut random) else { unreachable!("a write stays one") };
            assert!(at == 100 || at.is_multiple_of(SECTOR));
            assert!(at + bytes.len() == 2_100 || (at + bytes.len()).is_multiple_of(SECTOR));
        }
    }
}
