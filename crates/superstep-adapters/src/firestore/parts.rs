//! Values that are too long for one document: their parts, and the round that removes parts nobody refers to.
//!
//! Parts are written before the document that refers to them, which marks the first of them in the same commit. A sweep
//! removes the parts of a value only if the first is unmarked since it looked: so either the document is refused or the
//! parts stay. All parts of a value go at once.

use std::time::Duration;

use serde_json::Value;
use superstep_core::error::{Code, Error, Result};

use super::form::{Document, Entry, HEAD, check_key, delete, delete_if};
use super::service::Service;
use super::values::{MOST, Values};

/// The most bytes of a value in one document. Firestore allows 1 MiB for all that is in it.
pub(super) const PIECE: usize = 900 * 1024;
/// The most parts written or read at once: the emulator takes requests of up to 4 MiB, and Firestore of up to 10.
const PIECES_AT_ONCE: usize = 4;
/// The most parts a value may have, so that one commit removes them all.
const MOST_PIECES: usize = MOST;

/// What [`Firestore::sweep`](super::Firestore::sweep) removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// Values whose time was over.
    pub expired: usize,
    /// Values that were written in parts and that no key refers to.
    pub unreferenced: usize,
}

/// Writes the parts of a value.
pub(super) async fn write(service: &Service, entry: &Entry<'_>, value: &[u8]) -> Result<()> {
    if value.len() > PIECE * MOST_PIECES {
        let message = format!("a value of {} bytes is too long for Firestore", value.len());
        let help = format!("nothing of it was saved; keep it below {} bytes", PIECE * MOST_PIECES);
        return Err(Error::new(Code::TooLarge, message).help(help));
    }
    let pieces: Vec<(usize, &[u8])> = value.chunks(PIECE).enumerate().collect();
    for pieces in pieces.chunks(PIECES_AT_ONCE) {
        let writes = pieces.iter().map(|(number, piece)| service.place.put_part(entry, *number, piece));
        service.commit(writes.collect()).await?;
    }
    Ok(())
}

/// The value that a document has in parts; `None` when one of them is gone.
pub(super) async fn read(service: &Service, document: &Document) -> Result<Option<Vec<u8>>> {
    let names: Vec<String> =
        (0..document.parts()).map(|number| service.place.part(document.writer(), number)).collect();
    let mut value = Vec::with_capacity(names.len() * PIECE);
    for names in names.chunks(PIECES_AT_ONCE) {
        let (items, _) = service.batch_get(names, &["value"]).await?;
        let mut found: Vec<Document> = items.into_iter().filter_map(|item| item.document).collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        for name in names {
            let part = found.iter().find(|part| part.name == *name).and_then(Document::value);
            let Some(part) = part else { return Ok(None) };
            value.extend(part);
        }
    }
    Ok(Some(value))
}

/// Removes the parts of a value that nobody refers to any more. A token is never used twice, so this needs no precondition.
pub(super) async fn remove(service: &Service, token: &str, parts: usize) -> Result<()> {
    let writes: Vec<Value> =
        (0..parts.min(MOST_PIECES)).map(|number| delete(&service.place.part(token, number))).collect();
    if !writes.is_empty() {
        service.commit(writes).await?;
    }
    Ok(())
}

/// Removes what is over, and parts older than `age` that nobody refers to.
pub(super) async fn sweep(values: &Values, age: Duration) -> Result<Swept> {
    let mut swept = Swept { expired: remove_expired(values).await?, ..Swept::default() };
    let service = &values.0;
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    let mut after: Option<String> = None;
    loop {
        let (items, now) = service.query(&service.place.all_parts(after.as_deref(), MOST)).await?;
        let page: Vec<Document> = items.into_iter().filter_map(|item| item.document).collect();
        let is_old = |part: &Document| part.made_at().is_some_and(|made| made <= now.saturating_sub(age));
        let first =
            |part: &&Document| service.place.token_of_first(&part.name).is_some() && check_key(part.key()).is_ok();
        let old: Vec<&Document> = page.iter().filter(first).filter(|part| is_old(part)).collect();
        swept.unreferenced += remove_unreferenced(values, &old).await?;
        match page.last() {
            Some(last) if page.len() == MOST => after = Some(last.name.clone()),
            _ => return Ok(swept),
        }
    }
}

/// Removes values by their first parts, where no document refers to them.
async fn remove_unreferenced(values: &Values, firsts: &[&Document]) -> Result<usize> {
    let (service, mut removed) = (&values.0, 0);
    let keys: Vec<String> = firsts.iter().map(|first| first.key().to_owned()).collect();
    if keys.is_empty() {
        return Ok(0);
    }
    let (found, _) = values.look(&keys, &HEAD).await?;
    for first in firsts {
        let Some(token) = service.place.token_of_first(&first.name) else { continue };
        if found.get(first.key()).is_some_and(|document| document.writer() == token) {
            continue;
        }
        let others = (1..first.parts().min(MOST_PIECES)).map(|number| delete(&service.place.part(token, number)));
        let writes = std::iter::once(delete_if(&first.name, &first.unchanged())).chain(others);
        // Refused when a document has come to refer to it.
        if service.commit(writes.collect()).await? {
            removed += 1;
        }
    }
    Ok(removed)
}

async fn remove_expired(values: &Values) -> Result<usize> {
    let (service, mut removed) = (&values.0, 0);
    // The server's own word of now: what it looked at last, and not what we reckon.
    let (_, now) = service.batch_get(&[service.place.nothing()], &["key"]).await?;
    loop {
        let (items, _) = service.query(&service.place.over(now, MOST)?).await?;
        let found: Vec<Document> = items.into_iter().filter_map(|item| item.document).collect();
        if found.is_empty() {
            return Ok(removed);
        }
        removed += found.len();
        values.remove(found.into_iter().map(|document| (document.key().to_owned(), document)).collect()).await?;
    }
}
