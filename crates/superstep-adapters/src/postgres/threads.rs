//! Operations on whole threads: copy, list, count. Deleting checks the lease and is in `lease`.

use superstep_core::error::Error;
use superstep_core::id::ThreadId;
use superstep_core::port::{CheckpointerStats, ThreadsQuery};
use tokio_postgres::types::Type;

use super::error::{PgError, PgResult};
use super::pool::ConnectionPool;
use crate::change_log;

/// Copies a thread to one that does not exist yet.
pub(super) async fn copy_thread(pool: &ConnectionPool, from: &ThreadId, to: &ThreadId) -> PgResult<()> {
    let mut copy_token = [0_u8; 16];
    getrandom::fill(&mut copy_token)
        .map_err(|error| Error::internal(format!("the system returned no random bytes: {error}")))?;
    let (copy, copy_token) = (&pool.address.fill("SELECT @schema@.copy_thread($1, $2, $3)"), &copy_token[..]);
    let row = pool.with_connection(|client| async move {
        let arguments =
            [(&from.as_str() as _, Type::TEXT), (&to.as_str() as _, Type::TEXT), (&copy_token as _, Type::BYTEA)];
        Ok(client.query_typed_one(copy, &arguments).await?)
    });
    let error = match row.await?.try_get::<_, i32>(0)? {
        0 => return Ok(()),
        1 => change_log::source_thread_not_found(from),
        _ => change_log::thread_already_exists(to),
    };
    Err(PgError::Rejected(error))
}

/// Lists thread ids in ascending byte order.
pub(super) async fn threads(pool: &ConnectionPool, query: &ThreadsQuery) -> PgResult<Vec<ThreadId>> {
    let statement = &pool
        .address
        .fill("SELECT name FROM @schema@.thread WHERE status IS NOT NULL AND name > $1 ORDER BY name LIMIT $2");
    let after = query.after.as_ref().map_or("", ThreadId::as_str);
    let limit = query.limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let rows = pool.with_connection(|client| async move {
        Ok(client.query_typed(statement, &[(&after, Type::TEXT), (&limit, Type::INT8)]).await?)
    });
    rows.await?.iter().map(|row| Ok(row.try_get::<_, &str>(0)?.into())).collect()
}

/// Counts the content of the tables.
pub(super) async fn stats(pool: &ConnectionPool) -> PgResult<CheckpointerStats> {
    let statement = &pool.address.fill(
        "SELECT (SELECT count(*) FROM @schema@.thread WHERE status IS NOT NULL), \
         (SELECT count(*) FROM @schema@.checkpoint), \
         (SELECT coalesce(sum(length(vals)), 0) FROM @schema@.checkpoint)::bigint \
         + (SELECT coalesce(sum(length(vals)), 0) FROM @schema@.remnant)::bigint \
         + (SELECT coalesce(sum(length(body)), 0) FROM @schema@.part)::bigint \
         + (SELECT coalesce(sum(length(body)), 0) FROM @schema@.event)::bigint",
    );
    let row = pool.with_connection(|client| async move { Ok(client.query_typed_one(statement, &[]).await?) }).await?;
    let number = |column: usize| row.try_get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(CheckpointerStats { threads: number(0)?, checkpoints: number(1)?, bytes: number(2)? })
}
