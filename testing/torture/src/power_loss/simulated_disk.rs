//! A simulated disk at power loss: everything synced is kept, unsynced data may be lost.
//!
//! The directory entry of a file is durable once the file was synced, the removal of a file immediately. A write may
//! be partially lost at a boundary of 512-byte sectors, and never changes other bytes.

use std::collections::BTreeMap;

use super::strace::TraceStep;
use crate::random::Random;

/// Size of a sector, which is written atomically.
const SECTOR_SIZE: usize = 512;

/// Files of a folder.
pub(crate) type DiskImage = BTreeMap<String, Vec<u8>>;

/// A simulated disk.
#[derive(Debug, Default)]
pub(crate) struct SimulatedDisk {
    files: BTreeMap<String, SimulatedFile>,
    /// Requested syncs by thread: the file, and the number of its changes they cover.
    syncs: BTreeMap<u32, (String, usize)>,
    /// Number of completed syncs.
    completed_syncs: usize,
    /// Syncs that are reported as completed and have no effect.
    ignored: IgnoredSyncs,
}

/// Selection of ignored syncs.
#[derive(Debug, Default, Clone)]
pub(crate) enum IgnoredSyncs {
    #[default]
    None,
    /// The sync with this number.
    One(usize),
    /// All syncs of files with this suffix.
    WithSuffix(&'static str),
}

#[derive(Debug, Default)]
struct SimulatedFile {
    /// Durable content; `None` before the first sync.
    synced: Option<Vec<u8>>,
    /// Unsynced changes in order.
    pending: Vec<FileChange>,
    /// Number of durable changes.
    durable_changes: usize,
}

#[derive(Debug, Clone)]
enum FileChange {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

/// Treatment of unsynced changes.
pub(crate) enum UnsyncedPolicy<'a> {
    /// All are lost.
    Lost,
    /// All are kept.
    Retained,
    /// Some are kept, completely or partially.
    Some(&'a mut Random),
}

impl SimulatedDisk {
    /// Creates an empty disk with ignored syncs.
    pub(crate) fn new(ignored: IgnoredSyncs) -> Self {
        Self { ignored, ..Self::default() }
    }

    /// Applies the next step of a trace.
    pub(crate) fn apply_step(&mut self, step: &TraceStep) {
        match step {
            TraceStep::Message(_) => {}
            TraceStep::Write { file, offset, bytes } => self.change(file, FileChange::Write(*offset, bytes.clone())),
            TraceStep::Truncate { file, length } => self.change(file, FileChange::Truncate(*length)),
            TraceStep::SyncStarts { file, thread } => {
                let state = self.files.entry(file.clone()).or_default();
                self.syncs.insert(*thread, (file.clone(), state.durable_changes + state.pending.len()));
            }
            TraceStep::SyncEnds { thread } => {
                if let Some((file, covered_changes)) = self.syncs.remove(thread) {
                    self.sync(&file, covered_changes);
                }
            }
            TraceStep::Remove { file } => _ = self.files.remove(file),
        }
    }

    fn change(&mut self, file: &str, change: FileChange) {
        self.files.entry(file.to_owned()).or_default().pending.push(change);
    }

    fn sync(&mut self, name: &str, covered_changes: usize) {
        let number = self.completed_syncs;
        self.completed_syncs += 1;
        let is_ignored = match &self.ignored {
            IgnoredSyncs::None => false,
            IgnoredSyncs::One(index) => *index == number,
            IgnoredSyncs::WithSuffix(suffix) => name.ends_with(suffix),
        };
        let Some(file) = self.files.get_mut(name).filter(|_| !is_ignored) else { return };
        let bytes = file.synced.get_or_insert_default();
        let count = covered_changes.saturating_sub(file.durable_changes).min(file.pending.len());
        file.pending.drain(..count).for_each(|change| change.apply(bytes));
        file.durable_changes += count;
    }

    /// Returns the content after a power loss.
    pub(crate) fn image(&self, mut unsynced: UnsyncedPolicy<'_>) -> DiskImage {
        let files = self.files.iter().filter_map(|(name, file)| Some((name.clone(), file.image(&mut unsynced)?)));
        files.collect()
    }

    /// Returns true if there are unsynced changes.
    pub(crate) fn is_dirty(&self) -> bool {
        self.files.values().any(|file| !file.pending.is_empty())
    }
}

impl SimulatedFile {
    fn image(&self, unsynced: &mut UnsyncedPolicy<'_>) -> Option<Vec<u8>> {
        let mut bytes = self.synced.clone();
        for change in &self.pending {
            let surviving = match unsynced {
                UnsyncedPolicy::Lost => None,
                UnsyncedPolicy::Retained => Some(change.clone()),
                UnsyncedPolicy::Some(random) => random.one_in(2).then(|| change.partial(random)),
            };
            if let Some(change) = surviving {
                change.apply(bytes.get_or_insert_default());
            }
        }
        bytes
    }
}

impl FileChange {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Truncate(length) => file.resize(*length, 0),
            Self::Write(offset, bytes) => {
                let end = offset + bytes.len();
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[*offset..end].copy_from_slice(bytes);
            }
        }
    }

    /// Returns the change unchanged, or without its first or last sectors.
    fn partial(&self, random: &mut Random) -> Self {
        let Self::Write(offset, bytes) = self else { return self.clone() };
        // Sector boundaries relative to the beginning of the write.
        let ends: Vec<usize> = (1..bytes.len()).filter(|end| (offset + end).is_multiple_of(SECTOR_SIZE)).collect();
        if ends.is_empty() || random.one_in(2) {
            return self.clone();
        }
        let end = ends[random.below(ends.len() as u32) as usize];
        if random.one_in(4) {
            Self::Write(offset + end, bytes[end..].to_vec())
        } else {
            Self::Write(*offset, bytes[..end].to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: usize, bytes: &[u8]) -> TraceStep {
        TraceStep::Write { file: "f".into(), offset, bytes: bytes.to_vec() }
    }

    fn sync() -> [TraceStep; 2] {
        [TraceStep::SyncStarts { file: "f".into(), thread: 1 }, TraceStep::SyncEnds { thread: 1 }]
    }

    fn disk_after(steps: &[TraceStep], ignored: IgnoredSyncs) -> SimulatedDisk {
        let mut disk = SimulatedDisk::new(ignored);
        steps.iter().for_each(|step| disk.apply_step(step));
        disk
    }

    #[test]
    fn only_writes_before_a_sync_are_safe() {
        let [start, ends] = sync();
        let disk = disk_after(&[write(0, b"ab"), start, write(1, b"cd"), ends], IgnoredSyncs::None);
        assert_eq!(disk.image(UnsyncedPolicy::Lost)["f"], b"ab");
        assert_eq!(disk.image(UnsyncedPolicy::Retained)["f"], b"acd");
        assert!(disk.is_dirty());
    }

    #[test]
    fn a_file_that_was_never_synced_is_not_there() {
        let disk = disk_after(&[write(0, b"ab")], IgnoredSyncs::None);
        assert!(disk.image(UnsyncedPolicy::Lost).is_empty());
        let [start, ends] = sync();
        let ignored_sync = disk_after(&[write(0, b"ab"), start.clone(), ends.clone()], IgnoredSyncs::One(0));
        assert!(ignored_sync.image(UnsyncedPolicy::Lost).is_empty());
        let removed =
            disk_after(&[write(0, b"ab"), start, ends, TraceStep::Remove { file: "f".into() }], IgnoredSyncs::None);
        assert!(removed.image(UnsyncedPolicy::Retained).is_empty());
    }

    #[test]
    fn a_partial_write_ends_at_a_sector() {
        let mut random = Random::for_stream(1, 1);
        let change = FileChange::Write(100, vec![1; 2_000]);
        for _ in 0..200 {
            let FileChange::Write(offset, bytes) = change.partial(&mut random) else {
                unreachable!("a write stays one")
            };
            assert!(offset == 100 || offset.is_multiple_of(SECTOR_SIZE));
            assert!(offset + bytes.len() == 2_100 || (offset + bytes.len()).is_multiple_of(SECTOR_SIZE));
        }
    }
}
