//! Operations on whole threads: delete, copy, list, count, and removal of expired threads.

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::{CheckpointerStats, KeyValue, ThreadStatus, ThreadsQuery, errors};

use super::backend::{Backend, PAGE};
use super::envelope::{encode, is_corruption};
use super::keys::{part_name, part_path};
use super::lease::check_not_leased;
use super::log_record::LogRecord;
use super::thread_index::{IndexState, index_states};
use super::thread_log::long_values;
use super::thread_tables::{ThreadTables, ValueBody};

/// Maximum number of attempts to delete or copy a thread while other processes write to it.
const MAX_ATTEMPTS: usize = 64;

fn concurrent_write_error(thread: &ThreadId) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("thread `{thread}` was repeatedly written during the operation"))
        .with_help("nothing was changed; try again")
        .with_thread(Some(thread))
}

/// Deletes a thread. Returns an error while a run holds a lease on it.
pub(super) async fn delete_thread<K: KeyValue>(backend: &Backend<K>, thread: &ThreadId) -> Result<()> {
    if !thread.is_valid() {
        return Ok(());
    }
    let cell = backend.thread(thread);
    let mut log = cell.lock().await;
    log.refresh_readable(backend).await?;
    for _ in 0..MAX_ATTEMPTS {
        if log.corruption.is_some() {
            if log.delete_corrupt_thread(backend).await? {
                return Ok(());
            }
            continue;
        }
        if log.next() == 0 {
            return Ok(());
        }
        check_not_leased(backend, &log, None).await?;
        if log.tables.status.is_some() && !log.is_expired(backend).await? {
            log.put_index_entry(backend, false).await?;
        }
        if log.write_tombstone(backend).await? {
            return Ok(());
        }
    }
    Err(concurrent_write_error(thread))
}

/// Copies a thread to one that does not exist yet.
pub(super) async fn copy_thread<K: KeyValue>(backend: &Backend<K>, from: &ThreadId, to: &ThreadId) -> Result<()> {
    for _ in 0..MAX_ATTEMPTS {
        let Some(source) = read_all(backend, from).await? else { continue };
        let cell = backend.thread(to);
        let mut log = cell.lock().await;
        log.refresh(backend).await?;
        let is_expired = log.is_expired(backend).await?;
        if !is_expired && (log.tables.status.is_some() || log.is_leased(backend).await?) {
            return Err(errors::thread_already_exists(to));
        }
        let number = log.next();
        let ThreadTables { histories, events, last_event, .. } = source.0;
        let mut copy = ThreadTables {
            histories,
            events,
            last_event,
            ttl_millis: backend.ttl_millis(),
            ..log.tables.restarted(number)
        };
        // No run holds a lease on the copy.
        copy.status =
            source.0.status.map(|status| if status == ThreadStatus::Busy { ThreadStatus::Idle } else { status });
        for (body, value) in copy.bodies_mut().filter(|body| body.name().is_some()).zip(source.1) {
            let name = part_name(number, backend.next_unique());
            let (bytes, _) = encode(&part_path(to, &name), &value);
            backend.put(&backend.keys.part(to, &name), &bytes, None).await?;
            *body = ValueBody::Long { name, length: value.len() as u64 };
        }
        log.renew_ttl(backend, number).await?;
        log.put_index_entry(backend, false).await?;
        if log.append(backend, LogRecord::Full(Box::new(copy))).await? {
            if number > 0 {
                log.begin_at(backend, number).await?;
            }
            return log.put_index_entry(backend, true).await;
        }
    }
    Err(concurrent_write_error(to))
}

/// Returns a thread with all its long values, in the order of its bodies; `None` if it was pruned during the read.
async fn read_all<K: KeyValue>(
    backend: &Backend<K>,
    thread: &ThreadId,
) -> Result<Option<(ThreadTables, Vec<Vec<u8>>)>> {
    let Some(mut log) = backend.read_thread(thread).await? else {
        return Err(errors::source_thread_not_found(thread));
    };
    log.check_not_corrupt()?;
    let names: Vec<String> = log.tables.bodies().filter_map(|body| body.name().map(str::to_owned)).collect();
    let values: Option<Vec<Vec<u8>>> = long_values(backend, thread, &names).await?.into_iter().collect();
    let before = log.next();
    if values.is_none() {
        log.refresh(backend).await?;
        if log.next() == before {
            return Err(super::envelope::corrupt_value_error(&format!("in/{thread}"), "one of its values is missing"));
        }
    }
    Ok(values.map(|values| (log.tables.clone(), values)))
}

/// Lists the ids of threads in ascending order.
pub(super) async fn threads<K: KeyValue>(backend: &Backend<K>, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
    let (folder, limit) = (backend.keys.index_prefix(), query.limit.unwrap_or(usize::MAX));
    let mut after = query.after.as_ref().map(|thread| backend.keys.index_key(thread));
    let mut threads = Vec::new();
    while threads.len() < limit {
        let keys = backend.list(&folder, after.as_deref(), PAGE).await?;
        let Some(last) = keys.last() else { break };
        after = Some(last.clone());
        let listed: Vec<ThreadId> = keys.iter().map(|key| ThreadId::from(&key[folder.len()..])).collect();
        for (thread, state) in listed.iter().zip(index_states(backend, &listed).await?) {
            let thread_exists = match state {
                IndexState::Absent => false,
                IndexState::Exists => true,
                IndexState::Uncertain => threads.len() < limit && exists(backend, thread).await?,
            };
            if thread_exists && threads.len() < limit {
                threads.push(thread.clone());
            }
        }
    }
    Ok(threads)
}

/// Returns true if the thread exists, even if it is corrupt.
async fn exists<K: KeyValue>(backend: &Backend<K>, thread: &ThreadId) -> Result<bool> {
    match backend.read_thread(thread).await {
        Err(error) if is_corruption(&error) => Ok(true),
        result => Ok(result?.is_some()),
    }
}

/// Counts the readable content of the store. Reads every thread.
pub(super) async fn stats<K: KeyValue>(backend: &Backend<K>) -> Result<CheckpointerStats> {
    let mut stats = CheckpointerStats::default();
    for thread in threads(backend, &ThreadsQuery::default()).await? {
        let log = match backend.read_thread(&thread).await {
            Err(error) if is_corruption(&error) => {
                stats.threads += 1;
                continue;
            }
            result => result?,
        };
        let Some(log) = log else { continue };
        stats.threads += 1;
        stats.checkpoints += log.tables.checkpoints() as u64;
        stats.bytes += log.tables.histories.iter().map(bytes).sum::<u64>();
        stats.bytes += log.tables.events.values().map(|event| event.body.length()).sum::<u64>();
    }
    Ok(stats)
}

fn bytes(history: &super::thread_tables::HistoryTable) -> u64 {
    let values = history.rows.values().map(|row| row.values.len() as u64);
    let retained = history.retained_values.values().map(|row| row.values.len() as u64);
    values.chain(retained).chain(history.parts.values().map(|part| part.body.length())).sum()
}

/// Removes the remains of expired threads and returns their number.
pub(super) async fn sweep<K: KeyValue>(backend: &Backend<K>) -> Result<usize> {
    let (folder, mut after, mut removed) = (backend.keys.threads_prefix(), None::<String>, 0);
    loop {
        let keys = backend.list(&folder, after.as_deref(), PAGE).await?;
        let mut threads: Vec<ThreadId> =
            keys.iter().filter_map(|key| backend.keys.thread_of(key)).map(ThreadId::from).collect();
        threads.dedup();
        let Some(last) = threads.last() else { return Ok(removed) };
        after = Some(backend.keys.range_end(last.as_str()));
        for (thread, state) in threads.iter().zip(index_states(backend, &threads).await?) {
            if state != IndexState::Exists && delete_if_expired(backend, thread, state).await? {
                removed += 1;
            }
        }
    }
}

async fn delete_if_expired<K: KeyValue>(backend: &Backend<K>, thread: &ThreadId, state: IndexState) -> Result<bool> {
    let cell = backend.thread(thread);
    let mut log = cell.lock().await;
    log.refresh_readable(backend).await?;
    // For a corrupt thread the time to live may be in an unreadable record, so it is not removed.
    if log.corruption.is_some() {
        return Ok(false);
    }
    let is_expired = log.is_expired(backend).await?;
    if state == IndexState::Absent && log.tables.status.is_some() && !is_expired {
        // The process that deleted the previous incarnation died before it wrote the index entry again.
        log.put_index_entry(backend, false).await?;
    }
    // A thread that was deleted but not removed completely, because the process died, is not counted.
    let is_partially_deleted = log.tables.status.is_none() && log.length() > 1 && !log.is_leased(backend).await?;
    let is_deleted = (is_expired || is_partially_deleted) && log.write_tombstone(backend).await?;
    Ok(is_deleted && is_expired)
}
