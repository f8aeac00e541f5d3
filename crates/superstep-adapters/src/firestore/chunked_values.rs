//! Values that are too long for one document, stored in parts, and the sweep that removes unreferenced parts.
//!
//! Parts are written before the document that refers to them; the commit of that document also marks the first part
//! as used. A sweep removes the parts of a value only if the first part is unchanged since the sweep read it. So
//! either the commit of the document is rejected or the parts stay. All parts of a value are removed in one commit.

use std::time::Duration;

use serde_json::Value;
use superstep_core::error::{Error, ErrorCode, Result};

use super::client::FirestoreClient;
use super::documents::{Document, DocumentWrite, HEADER_FIELDS, check_key, delete, delete_if};
use super::key_value::{KeyValueOps, MAX_BATCH};

/// Maximum number of value bytes in one document. Firestore allows 1 MiB for the whole document.
pub(super) const MAX_PART_BYTES: usize = 900 * 1024;
/// Number of parts per request: the emulator accepts requests of up to 4 MiB, Firestore of up to 10 MiB.
const PARTS_PER_REQUEST: usize = 4;
/// Maximum number of parts of a value, so that one commit can remove all of them.
const MAX_PARTS: usize = MAX_BATCH;

/// Counts of the values that [`FirestoreKeyValue::sweep`](super::FirestoreKeyValue::sweep) removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweepReport {
    /// Number of expired values.
    pub expired: usize,
    /// Number of values stored in parts that no key refers to.
    pub unreferenced: usize,
}

/// Writes the parts of a value.
pub(super) async fn write(service: &FirestoreClient, entry: &DocumentWrite<'_>, value: &[u8]) -> Result<()> {
    if value.len() > MAX_PART_BYTES * MAX_PARTS {
        let message = format!("a value of {} bytes is too large for Firestore", value.len());
        let help = format!("nothing was saved; reduce the value to less than {} bytes", MAX_PART_BYTES * MAX_PARTS);
        return Err(Error::new(ErrorCode::TooLarge, message).with_help(help));
    }
    let chunks: Vec<(usize, &[u8])> = value.chunks(MAX_PART_BYTES).enumerate().collect();
    for chunks in chunks.chunks(PARTS_PER_REQUEST) {
        let writes = chunks.iter().map(|(number, chunk)| service.paths.put_part(entry, *number, chunk));
        service.commit(writes.collect()).await?;
    }
    Ok(())
}

/// Reads a value that is stored in parts; `None` if a part is missing.
pub(super) async fn read(service: &FirestoreClient, document: &Document) -> Result<Option<Vec<u8>>> {
    let names: Vec<String> =
        (0..document.parts()).map(|number| service.paths.part(document.writer(), number)).collect();
    let mut value = Vec::with_capacity(names.len() * MAX_PART_BYTES);
    for names in names.chunks(PARTS_PER_REQUEST) {
        let (items, _) = service.batch_get(names, &["value"]).await?;
        let mut parts: Vec<Document> = items.into_iter().filter_map(|item| item.document).collect();
        parts.sort_by(|left, right| left.name.cmp(&right.name));
        for name in names {
            let part = parts.iter().find(|part| part.name == *name).and_then(Document::value);
            let Some(part) = part else { return Ok(None) };
            value.extend(part);
        }
    }
    Ok(Some(value))
}

/// Removes the parts of a value that is no longer referenced. A token is never used twice, so no precondition is
/// needed.
pub(super) async fn remove(service: &FirestoreClient, token: &str, parts: usize) -> Result<()> {
    let writes: Vec<Value> =
        (0..parts.min(MAX_PARTS)).map(|number| delete(&service.paths.part(token, number))).collect();
    if !writes.is_empty() {
        service.commit(writes).await?;
    }
    Ok(())
}

/// Removes expired values, and unreferenced parts older than `age`.
pub(super) async fn sweep(values: &KeyValueOps, age: Duration) -> Result<SweepReport> {
    let mut report = SweepReport { expired: remove_expired(values).await?, ..SweepReport::default() };
    let service = &values.0;
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    let mut after: Option<String> = None;
    loop {
        let (items, now) = service.query(&service.paths.all_parts(after.as_deref(), MAX_BATCH)).await?;
        let page: Vec<Document> = items.into_iter().filter_map(|item| item.document).collect();
        let is_old =
            |part: &Document| part.created_at().is_some_and(|created_at| created_at <= now.saturating_sub(age));
        let first =
            |part: &&Document| service.paths.token_of_first(&part.name).is_some() && check_key(part.key()).is_ok();
        let old_parts: Vec<&Document> = page.iter().filter(first).filter(|part| is_old(part)).collect();
        report.unreferenced += remove_unreferenced(values, &old_parts).await?;
        match page.last() {
            Some(last) if page.len() == MAX_BATCH => after = Some(last.name.clone()),
            _ => return Ok(report),
        }
    }
}

/// Removes each value whose first part is in `firsts` and whose document does not refer to it.
async fn remove_unreferenced(values: &KeyValueOps, first_parts: &[&Document]) -> Result<usize> {
    let (service, mut removed) = (&values.0, 0);
    let keys: Vec<String> = first_parts.iter().map(|first| first.key().to_owned()).collect();
    if keys.is_empty() {
        return Ok(0);
    }
    let (documents, _) = values.get_documents(&keys, &HEADER_FIELDS).await?;
    for first in first_parts {
        let Some(token) = service.paths.token_of_first(&first.name) else { continue };
        if documents.get(first.key()).is_some_and(|document| document.writer() == token) {
            continue;
        }
        let others = (1..first.parts().min(MAX_PARTS)).map(|number| delete(&service.paths.part(token, number)));
        let writes = std::iter::once(delete_if(&first.name, &first.unchanged())).chain(others);
        // Rejected if a document has been committed that refers to this part.
        if service.commit(writes.collect()).await? {
            removed += 1;
        }
    }
    Ok(removed)
}

async fn remove_expired(values: &KeyValueOps) -> Result<usize> {
    let (service, mut removed) = (&values.0, 0);
    // Take the current time from a response of the server, not from the estimate of the cached clock.
    let (_, now) = service.batch_get(&[service.paths.absent_document()], &["key"]).await?;
    loop {
        let (items, _) = service.query(&service.paths.expired_query(now, MAX_BATCH)?).await?;
        let expired: Vec<Document> = items.into_iter().filter_map(|item| item.document).collect();
        if expired.is_empty() {
            return Ok(removed);
        }
        removed += expired.len();
        values.remove(expired.into_iter().map(|document| (document.key().to_owned(), document)).collect()).await?;
    }
}
