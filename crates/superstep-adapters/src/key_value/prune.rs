//! Removing old checkpoints: what goes is decided by the log of changes and becomes one record; after that its values go.

use superstep_core::error::{Code, Error, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::{KeyValue, PruneReport, Retention};

use super::read::{self, Bodies, with_bodies};
use super::record::{Record, Removed};
use super::room::Room;
use super::tables::{LineTable, Tables};
use super::thread::Log;
use crate::log::{Candidate, Holdings, prune as decide};

/// How often it is thought about anew because somebody wrote the thread.
const TRIES: usize = 64;
/// Records of a thread beyond those it needs, before it is condensed.
const SLACK: u64 = 16;

/// Removes old checkpoints of every graph of a thread.
pub(super) async fn prune<K: KeyValue>(
    room: &Room<K>,
    thread: &ThreadId,
    retention: &Retention,
) -> Result<PruneReport> {
    let Some(mut log) = room.look(thread).await? else { return Ok(PruneReport::default()) };
    log.check_whole()?;
    for _ in 0..TRIES {
        let read = |tables: &Tables, bodies: &mut Bodies| decide_all(tables, retention, bodies);
        let (report, removed) = with_bodies(room, &mut log, read).await?;
        if retention.dry_run {
            return Ok(report);
        }
        if removed.is_empty() || log.append(room, Record::Pruned(removed)).await? {
            condense_or_clear(room, &mut log).await?;
            return Ok(report);
        }
    }
    Err(written_again(thread, "it was pruned"))
}

/// Removes what no record needs any longer; also what somebody who died has left.
pub(super) async fn condense_or_clear<K: KeyValue>(room: &Room<K>, log: &mut Log) -> Result<()> {
    if log.is_long(SLACK) { log.condense(room).await } else { log.clear(room).await }
}

pub(super) fn written_again(thread: &ThreadId, what: &str) -> Error {
    let message = format!("thread `{thread}` was written again and again while {what}");
    Error::new(Code::StoreUnavailable, message).help("nothing was removed; try again")
}

/// What goes from all graphs of a thread; `None` while something is missing that has to be looked at.
fn decide_all(
    tables: &Tables,
    retention: &Retention,
    bodies: &mut Bodies,
) -> Result<Option<(PruneReport, Vec<Removed>)>> {
    let (mut report, mut removed, mut is_known) = (PruneReport::default(), Vec::new(), true);
    for line in &tables.lines {
        let Some(candidates) = candidates(line, retention, bodies)? else {
            is_known = false;
            continue;
        };
        let holdings = Holdings {
            remnants: line.remnants.values().cloned().collect(),
            parts: line.parts.iter().map(|(number, part)| (*number, (part.field, part.before))).collect(),
        };
        let pruning = decide(candidates, holdings, retention)?;
        if pruning.gone.is_empty() {
            continue;
        }
        let unneeded = line.parts.values().filter(|part| !pruning.parts.contains(&part.number));
        report.checkpoints += pruning.gone.len();
        report.bytes += pruning.bytes + unneeded.clone().map(|part| part.body.length()).sum::<u64>();
        removed.push(Removed {
            namespace: line.namespace.clone(),
            gone: pruning.gone,
            heads: pruning.rewritten.into_iter().map(|row| (row.number, row.heads)).collect(),
            remnants: pruning.remnants,
            parts: unneeded.map(|part| part.number).collect(),
            origins: line.origins.keys().filter(|number| !pruning.origins.contains(number)).copied().collect(),
        });
    }
    Ok(is_known.then_some((report, removed)))
}

fn candidates(line: &LineTable, retention: &Retention, bodies: &mut Bodies) -> Result<Option<Vec<Candidate>>> {
    let (mut candidates, mut is_known) = (Vec::new(), true);
    for row in line.rows.values() {
        let origin = if retention.asks_for_origin() { Some(read::origin(line, row)?) } else { None };
        match read::pending(line, row, bodies)? {
            Some(pending) => candidates.push(Candidate::new(row.clone(), origin.as_deref(), &pending)),
            None => is_known = false,
        }
    }
    Ok(is_known.then_some(candidates))
}
