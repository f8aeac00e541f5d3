//! What is done to whole threads: deleting, copying, listing, counting, and removing those that outlived their time.

use superstep_core::error::{Code, Error, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::{KeyValue, Stats, ThreadStatus, ThreadsQuery, refusal};

use super::frame::{close, is_damage};
use super::keys::{part_name, part_place};
use super::lease::check_free;
use super::listing::{Standing, standings};
use super::record::Record;
use super::room::{PAGE, Room};
use super::tables::{Body, Tables};
use super::thread::long_values;

/// How often it is tried to delete or copy a thread that others write to.
const TRIES: usize = 64;

fn written_again(thread: &ThreadId) -> Error {
    Error::new(Code::StoreUnavailable, format!("thread `{thread}` was written again and again"))
        .help("nothing of this was done; try again")
        .on_thread(Some(thread))
}

/// Removes everything of a thread. Refused while a run moves it.
pub(super) async fn delete_thread<K: KeyValue>(room: &Room<K>, thread: &ThreadId) -> Result<()> {
    if !thread.is_valid() {
        return Ok(());
    }
    let cell = room.thread(thread);
    let mut log = cell.lock().await;
    log.read_up(room).await?;
    for _ in 0..TRIES {
        if log.damage.is_some() {
            if log.bury_damaged(room).await? {
                return Ok(());
            }
            continue;
        }
        if log.next() == 0 {
            return Ok(());
        }
        check_free(room, &log, None).await?;
        if log.tables.status.is_some() && !log.is_gone(room).await? {
            log.put_listing(room, false).await?;
        }
        if log.bury(room).await? {
            return Ok(());
        }
    }
    Err(written_again(thread))
}

/// Copies everything of a thread to one that does not exist yet.
pub(super) async fn copy_thread<K: KeyValue>(room: &Room<K>, from: &ThreadId, to: &ThreadId) -> Result<()> {
    for _ in 0..TRIES {
        let Some(source) = read_all(room, from).await? else { continue };
        let cell = room.thread(to);
        let mut log = cell.lock().await;
        log.catch_up(room).await?;
        let is_gone = log.is_gone(room).await?;
        if !is_gone && (log.tables.status.is_some() || log.is_moved(room).await?) {
            return Err(refusal::exists(to));
        }
        let number = log.next();
        let Tables { lines, events, last_event, .. } = source.0;
        let mut copy = Tables { lines, events, last_event, lasts: room.lasts(), ..log.tables.anew(number) };
        // Nobody moves the copy.
        copy.status =
            source.0.status.map(|status| if status == ThreadStatus::Busy { ThreadStatus::Idle } else { status });
        for (body, value) in copy.bodies_mut().filter(|body| body.name().is_some()).zip(source.1) {
            let name = part_name(number, room.unique());
            let (bytes, _) = close(&part_place(to, &name), &value);
            room.put(&room.keys.part(to, &name), &bytes, None).await?;
            *body = Body::Long { name, length: value.len() as u64 };
        }
        log.prolong(room, number).await?;
        log.put_listing(room, false).await?;
        if log.append(room, Record::Whole(Box::new(copy))).await? {
            if number > 0 {
                log.begin_at(room, number).await?;
            }
            return log.put_listing(room, true).await;
        }
    }
    Err(written_again(to))
}

/// A thread with all its long values, in their order; `None` when somebody pruned it meanwhile.
async fn read_all<K: KeyValue>(room: &Room<K>, thread: &ThreadId) -> Result<Option<(Tables, Vec<Vec<u8>>)>> {
    let Some(mut log) = room.look(thread).await? else {
        return Err(refusal::nothing_to_copy(thread));
    };
    log.check_whole()?;
    let names: Vec<String> = log.tables.bodies().filter_map(|body| body.name().map(str::to_owned)).collect();
    let values: Option<Vec<Vec<u8>>> = long_values(room, thread, &names).await?.into_iter().collect();
    let before = log.next();
    if values.is_none() {
        log.catch_up(room).await?;
        if log.next() == before {
            return Err(super::frame::damaged(&format!("in/{thread}"), "one of its values is missing"));
        }
    }
    Ok(values.map(|values| (log.tables.clone(), values)))
}

/// The ids of threads, ascending.
pub(super) async fn threads<K: KeyValue>(room: &Room<K>, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
    let (folder, most) = (room.keys.listed(), query.limit.unwrap_or(usize::MAX));
    let mut after = query.after.as_ref().map(|thread| room.keys.listing(thread));
    let mut threads = Vec::new();
    while threads.len() < most {
        let keys = room.list(&folder, after.as_deref(), PAGE).await?;
        let Some(last) = keys.last() else { break };
        after = Some(last.clone());
        let listed: Vec<ThreadId> = keys.iter().map(|key| ThreadId::from(&key[folder.len()..])).collect();
        for (thread, standing) in listed.iter().zip(standings(room, &listed).await?) {
            let is_there = match standing {
                Standing::Absent => false,
                Standing::Sure => true,
                Standing::Doubt => threads.len() < most && exists(room, thread).await?,
            };
            if is_there && threads.len() < most {
                threads.push(thread.clone());
            }
        }
    }
    Ok(threads)
}

/// Whether there is such a thread, be it damaged.
async fn exists<K: KeyValue>(room: &Room<K>, thread: &ThreadId) -> Result<bool> {
    match room.look(thread).await {
        Err(error) if is_damage(&error) => Ok(true),
        found => Ok(found?.is_some()),
    }
}

/// What the store holds, as far as it can be read. Reads every thread.
pub(super) async fn stats<K: KeyValue>(room: &Room<K>) -> Result<Stats> {
    let mut stats = Stats::default();
    for thread in threads(room, &ThreadsQuery::default()).await? {
        let log = match room.look(&thread).await {
            Err(error) if is_damage(&error) => {
                stats.threads += 1;
                continue;
            }
            found => found?,
        };
        let Some(log) = log else { continue };
        stats.threads += 1;
        stats.checkpoints += log.tables.checkpoints() as u64;
        stats.bytes += log.tables.lines.iter().map(bytes).sum::<u64>();
        stats.bytes += log.tables.events.values().map(|event| event.body.length()).sum::<u64>();
    }
    Ok(stats)
}

fn bytes(line: &super::tables::LineTable) -> u64 {
    let values = line.rows.values().map(|row| row.values.len() as u64);
    let remnants = line.remnants.values().map(|remnant| remnant.values.len() as u64);
    values.chain(remnants).chain(line.parts.values().map(|part| part.body.length())).sum()
}

/// Removes what is left of threads that outlived their time; says how many.
pub(super) async fn sweep<K: KeyValue>(room: &Room<K>) -> Result<usize> {
    let (folder, mut after, mut swept) = (room.keys.threads(), None::<String>, 0);
    loop {
        let keys = room.list(&folder, after.as_deref(), PAGE).await?;
        let mut threads: Vec<ThreadId> =
            keys.iter().filter_map(|key| room.keys.thread_of(key)).map(ThreadId::from).collect();
        threads.dedup();
        let Some(last) = threads.last() else { return Ok(swept) };
        after = Some(room.keys.end_of(last.as_str()));
        for (thread, standing) in threads.iter().zip(standings(room, &threads).await?) {
            if standing != Standing::Sure && bury_if_gone(room, thread, standing).await? {
                swept += 1;
            }
        }
    }
}

async fn bury_if_gone<K: KeyValue>(room: &Room<K>, thread: &ThreadId, standing: Standing) -> Result<bool> {
    let cell = room.thread(thread);
    let mut log = cell.lock().await;
    log.read_up(room).await?;
    // How long it was to last may be said behind the damage.
    if log.damage.is_some() {
        return Ok(false);
    }
    let is_gone = log.is_gone(room).await?;
    if standing == Standing::Absent && log.tables.status.is_some() && !is_gone {
        // Somebody who removed the thread before it died too early to put this one in the list again.
        log.put_listing(room, false).await?;
    }
    // One that was deleted and not cleared away, because whoever did it died, is not counted.
    let is_left = log.tables.status.is_none() && log.length() > 1 && !log.is_moved(room).await?;
    let is_buried = (is_gone || is_left) && log.bury(room).await?;
    Ok(is_buried && is_gone)
}
