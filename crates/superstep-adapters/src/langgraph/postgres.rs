//! The tables of LangGraph's PostgreSQL checkpointer, read in one read-only transaction.

use std::time::Duration;

use serde_json::Value;
use superstep_core::error::{Error, ErrorCode, Result};
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::FromSql;
use tokio_postgres::{Client, Config, NoTls, Row};

use super::rows::{CheckpointBody, EncodedValue, RowContext, SourceCheckpointRow, SourceWriteRow, ThreadRows};

/// Connect timeout if the URL sets none.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Statements; `$1` is the thread id.
const THREADS: &str = "SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id";
const CHECKPOINTS: &str = "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint::text, metadata::text \
                           FROM checkpoints WHERE thread_id = $1 ORDER BY checkpoint_id COLLATE \"C\"";
const BLOBS: &str = "SELECT checkpoint_ns, channel, version, type, blob FROM checkpoint_blobs WHERE thread_id = $1";
const WRITES: &str = "SELECT checkpoint_ns, checkpoint_id, task_id, task_path, channel, type, blob \
                      FROM checkpoint_writes WHERE thread_id = $1 \
                      ORDER BY task_path COLLATE \"C\", task_id COLLATE \"C\", idx";

pub(super) struct PostgresSource {
    config: Config,
}

/// A connection, closed when this is dropped.
struct PgConnection {
    client: Client,
    task: JoinHandle<()>,
}

impl Drop for PgConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl PostgresSource {
    pub(super) async fn connect(url: &str) -> Result<Self> {
        // The URL may contain a password, so the error does not repeat it.
        let mut config: Config = url.parse().map_err(|_| {
            Error::new(ErrorCode::ConfigInvalid, "invalid PostgreSQL URL")
                .with_help("use the form `postgres://user:password@host:5432/database`")
        })?;
        if !matches!(config.get_ssl_mode(), SslMode::Disable | SslMode::Prefer) {
            let message = "the `sslmode` of the PostgreSQL URL requires TLS, which is not supported";
            return Err(Error::new(ErrorCode::ConfigInvalid, message)
                .with_help("use an encrypted tunnel, and set `sslmode=disable`"));
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        let server = Self { config };
        let connection = server.open_connection().await?;
        let tables = "SELECT count(*) FROM (VALUES (to_regclass('checkpoints')), (to_regclass('checkpoint_blobs')), \
                      (to_regclass('checkpoint_writes'))) AS tables (name) WHERE name IS NOT NULL";
        let table_count: i64 = connection
            .client
            .query_one(tables, &[])
            .await
            .map_err(|error| failed(&error))?
            .try_get(0)
            .map_err(|error| failed(&error))?;
        if table_count == 3 {
            return Ok(server);
        }
        Err(Error::new(ErrorCode::InputInvalid, "the database has no tables of LangGraph's PostgreSQL checkpointer")
            .with_help("check that `checkpoints`, `checkpoint_blobs` and `checkpoint_writes` are in the search path"))
    }

    async fn open_connection(&self) -> Result<PgConnection> {
        let (client, connection) = self.config.connect(NoTls).await.map_err(|error| failed(&error))?;
        // The caller receives connection errors from its query.
        let task = tokio::spawn(async move { drop(connection.await) });
        let connection = PgConnection { client, task };
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        connection.client.batch_execute(begin).await.map_err(|error| failed(&error))?;
        Ok(connection)
    }

    pub(super) async fn threads(&self) -> Result<Vec<String>> {
        let rows = self.open_connection().await?.client.query(THREADS, &[]).await;
        rows.map_err(|error| failed(&error))?.iter().map(|row| cell(row, 0)).collect()
    }

    pub(super) async fn read(&self, thread: &str) -> Result<ThreadRows> {
        let connection = self.open_connection().await?;
        let query = async |statement: &str| {
            connection.client.query(statement, &[&thread]).await.map_err(|error| failed(&error))
        };
        let mut rows = ThreadRows { thread: thread.to_owned(), ..ThreadRows::default() };
        for row in query(CHECKPOINTS).await? {
            rows.checkpoints.push(checkpoint(thread, &row)?);
        }
        for row in query(BLOBS).await? {
            let value = encoded_value(&row, 3)?;
            rows.blobs.insert((cell(&row, 0)?, cell(&row, 1)?, cell(&row, 2)?), value);
        }
        for row in query(WRITES).await? {
            let (task, path, channel) = (cell(&row, 2)?, cell(&row, 3)?, cell(&row, 4)?);
            let write = SourceWriteRow { task, path, channel, value: encoded_value(&row, 5)? };
            rows.writes.entry((cell(&row, 0)?, cell(&row, 1)?)).or_default().push(write);
        }
        Ok(rows)
    }
}

fn checkpoint(thread: &str, row: &Row) -> Result<SourceCheckpointRow> {
    let id: String = cell(row, 1)?;
    let json = |column: usize| -> Result<Value> {
        let context = RowContext { thread, checkpoint: &id };
        serde_json::from_str(cell(row, column)?).map_err(|error| context.unreadable(None, &error.to_string()))
    };
    let (checkpoint, metadata) = (CheckpointBody::Parts(json(3)?), json(4)?);
    Ok(SourceCheckpointRow { namespace: cell(row, 0)?, id: id.clone(), parent: cell(row, 2)?, checkpoint, metadata })
}

fn encoded_value(row: &Row, column: usize) -> Result<EncodedValue> {
    let (encoding, bytes): (Option<String>, Option<Vec<u8>>) = (cell(row, column)?, cell(row, column + 1)?);
    Ok(EncodedValue { encoding: encoding.unwrap_or_else(|| "json".to_owned()), bytes: bytes.unwrap_or_default() })
}

/// Returns the value of a column; an error if it is null or of another type.
fn cell<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|error| failed(&error))
}

fn failed(error: &tokio_postgres::Error) -> Error {
    let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    Error::new(ErrorCode::StoreUnavailable, format!("LangGraph's PostgreSQL database cannot be read: {cause}"))
        .with_help("nothing was imported; the database is unchanged")
}
