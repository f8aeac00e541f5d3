//! What is done to whole threads: copying, listing, counting. Deleting asks who moves the thread and is in `lease`.

use superstep_core::error::Error;
use superstep_core::id::ThreadId;
use superstep_core::port::{Stats, ThreadsQuery};
use tokio_postgres::types::Type;

use super::room::Room;
use super::trouble::{Answer, Trouble};
use crate::log;

/// Copies everything of a thread to one that does not exist yet.
pub(super) async fn copy_thread(room: &Room, from: &ThreadId, to: &ThreadId) -> Answer<()> {
    let mut mark = [0_u8; 16];
    getrandom::fill(&mut mark).map_err(|error| Error::internal(format!("no randomness: {error}")))?;
    let (copy, mark) = (&room.address.fill("SELECT @schema@.copy_thread($1, $2, $3)"), &mark[..]);
    let row = room.ask(|client| async move {
        let given = [(&from.as_str() as _, Type::TEXT), (&to.as_str() as _, Type::TEXT), (&mark as _, Type::BYTEA)];
        Ok(client.query_typed_one(copy, &given).await?)
    });
    let error = match row.await?.try_get::<_, i32>(0)? {
        0 => return Ok(()),
        1 => log::nothing_to_copy(from),
        _ => log::exists(to),
    };
    Err(Trouble::Refused(error))
}

/// The ids of threads, ascending byte by byte.
pub(super) async fn threads(room: &Room, query: &ThreadsQuery) -> Answer<Vec<ThreadId>> {
    let asked = &room
        .address
        .fill("SELECT name FROM @schema@.thread WHERE status IS NOT NULL AND name > $1 ORDER BY name LIMIT $2");
    let after = query.after.as_ref().map_or("", ThreadId::as_str);
    let most = query.limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let rows =
        room.ask(
            |client| async move { Ok(client.query_typed(asked, &[(&after, Type::TEXT), (&most, Type::INT8)]).await?) },
        );
    rows.await?.iter().map(|row| Ok(row.try_get::<_, &str>(0)?.into())).collect()
}

/// What the tables hold.
pub(super) async fn stats(room: &Room) -> Answer<Stats> {
    let asked = &room.address.fill(
        "SELECT (SELECT count(*) FROM @schema@.thread WHERE status IS NOT NULL), \
         (SELECT count(*) FROM @schema@.checkpoint), \
         (SELECT coalesce(sum(length(vals)), 0) FROM @schema@.checkpoint)::bigint \
         + (SELECT coalesce(sum(length(vals)), 0) FROM @schema@.remnant)::bigint \
         + (SELECT coalesce(sum(length(body)), 0) FROM @schema@.part)::bigint \
         + (SELECT coalesce(sum(length(body)), 0) FROM @schema@.event)::bigint",
    );
    let row = room.ask(|client| async move { Ok(client.query_typed_one(asked, &[]).await?) }).await?;
    let number = |place: usize| row.try_get::<_, i64>(place).map(i64::cast_unsigned);
    Ok(Stats { threads: number(0)?, checkpoints: number(1)?, bytes: number(2)? })
}
