//! Calendar store in PostgreSQL, for several processes.
//!
//! [`AppConnections`] handles the address, the connections and their timeouts. No state is kept in a session, so that a
//! pooler in transaction mode works. Independent statements are pipelined.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use superstep::Result;
use superstep::postgres::{AppConnections, PostgresCheckpointer as Server, QueryError};
use tokio::sync::Mutex;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::ChangeResult;
use super::migrations;
use super::queries::ResultSets;
use super::sql_value::{RowReader, SqlStatement, SqlValue, corrupt_row};
use super::transaction::{self, ChangeJob, DatabaseSession, TransactionMode};

/// Advisory lock of migrations in any schema, held until the transaction ends.
const MIGRATION_LOCK: i64 = 0x6361_6c65_6e64_6172;
/// Maximum number of pipelined statements.
const MAX_PIPELINED: usize = 64;

/// A PostgreSQL database.
pub(super) struct PostgresDatabase {
    connections: AppConnections,
    timeout: Duration,
}

impl PostgresDatabase {
    pub(super) async fn open(url: &str, schema: &str, timeout: Duration) -> Result<Self> {
        let connections = Server::options().schema(schema).retry_timeout(timeout).app_connections(url)?;
        let opened = Self { connections, timeout };
        let location = format!("schema `{schema}`");
        let migrated = opened.connections.with_connection(|client| {
            let (mut session, location) = (opened.session(client), location.clone());
            async move { migrations::migrate(&mut session, migrations::POSTGRES, &location).await }
        });
        migrated.await?;
        Ok(opened)
    }

    pub(super) async fn change(&self, job: ChangeJob) -> Result<ChangeResult> {
        // Shared by all attempts, so that a retry continues with the decision that was made.
        let job = Arc::new(Mutex::new(job));
        let changed = self.connections.with_connection(|client| {
            let (mut session, job) = (self.session(client), job.clone());
            async move { transaction::change(&mut session, &mut *job.lock().await).await }
        });
        changed.await
    }

    pub(super) async fn query(&self, statements: Vec<SqlStatement>) -> Result<ResultSets> {
        let results = self.connections.with_connection(|client| {
            let (session, statements) = (self.session(client), statements.clone());
            async move { session.query(&statements).await }
        });
        results.await
    }

    fn session(&self, client: Arc<Client>) -> PostgresSession {
        PostgresSession { client, schema: self.connections.schema().to_owned(), timeout: self.timeout }
    }
}

/// A connection in use.
struct PostgresSession {
    client: Arc<Client>,
    /// Quoted name of the schema.
    schema: String,
    timeout: Duration,
}

impl PostgresSession {
    /// Reads a consistent snapshot of all tables in one round trip.
    async fn query(&self, statements: &[SqlStatement]) -> Result<ResultSets, QueryError> {
        let begin = self.begin_statement(" ISOLATION LEVEL REPEATABLE READ READ ONLY");
        let send =
            async |sql: &str| self.client.batch_execute(sql).await.map(|()| Vec::new()).map_err(QueryError::from);
        let mut pending: Vec<PendingQuery<'_>> = vec![Box::pin(send(&begin))];
        pending
            .extend(statements.iter().map(|statement| -> PendingQuery<'_> { Box::pin(rows(&self.client, statement)) }));
        pending.push(Box::pin(send("ROLLBACK")));
        let mut results = join_in_order(pending).await?;
        results.pop();
        results.remove(0);
        Ok(results)
    }

    fn begin_statement(&self, mode: &str) -> String {
        let (schema, timeout) = (&self.schema, self.timeout.as_millis().max(1));
        format!("BEGIN{mode}; SET LOCAL search_path = {schema}; SET LOCAL lock_timeout = {timeout}")
    }
}

impl DatabaseSession for PostgresSession {
    type Failure = QueryError;

    const LOCK: &'static str = " FOR UPDATE";

    fn tables(&self) -> SqlStatement {
        let sql = "SELECT c.relname::text FROM pg_catalog.pg_class c \
                   JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'";
        SqlStatement::new(sql, [self.schema.trim_matches('"').into()])
    }

    async fn begin(&mut self, access: TransactionMode) -> Result<(), QueryError> {
        self.client.batch_execute(&self.begin_statement("")).await?;
        if access == TransactionMode::Migrate {
            self.client.batch_execute(&format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")).await?;
            let name = self.schema.trim_matches('"');
            let schema_query = "SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1";
            if self.client.query_typed(schema_query, &[(&name, Type::TEXT)]).await?.is_empty() {
                self.client.batch_execute(&format!("CREATE SCHEMA {}", self.schema)).await?;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, statements: Vec<SqlStatement>) -> Result<ResultSets, QueryError> {
        let mut results = Vec::with_capacity(statements.len());
        for batch in statements.chunks(MAX_PIPELINED) {
            let pending = batch.iter().map(|statement| -> PendingQuery<'_> { Box::pin(rows(&self.client, statement)) });
            results.extend(join_in_order(pending.collect()).await?);
        }
        Ok(results)
    }

    async fn script(&mut self, sql: &str) -> Result<(), QueryError> {
        Ok(self.client.batch_execute(sql).await?)
    }

    async fn commit(&mut self) -> Result<(), QueryError> {
        Ok(self.client.batch_execute("COMMIT").await?)
    }

    async fn rollback(&mut self) {
        // A transaction that cannot be rolled back ends with the connection.
        let _ = self.client.batch_execute("ROLLBACK").await;
    }
}

type PendingQuery<'a> = Pin<Box<dyn Future<Output = Result<Vec<RowReader>, QueryError>> + Send + 'a>>;

/// Awaits all queries, which are sent in order. Returns the error of the first query in order that failed.
async fn join_in_order(mut pending: Vec<PendingQuery<'_>>) -> Result<ResultSets, QueryError> {
    let mut results: Vec<Option<Result<Vec<RowReader>, QueryError>>> = pending.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (query, answer) in pending.iter_mut().zip(&mut results) {
            if answer.is_none()
                && let Poll::Ready(done) = query.as_mut().poll(context)
            {
                *answer = Some(done);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}

async fn rows(client: &Client, statement: &SqlStatement) -> Result<Vec<RowReader>, QueryError> {
    let parameters: Vec<_> = statement.cells.iter().map(parameter).collect();
    let result_rows = client.query_typed(&statement.sql, &parameters).await?;
    result_rows
        .iter()
        .map(|row| (0..row.len()).map(|column| cell(row, column)).collect::<Result<_, _>>().map(RowReader::new))
        .collect()
}

fn parameter(cell: &SqlValue) -> (&(dyn ToSql + Sync), Type) {
    match cell {
        SqlValue::Text(text) => (text, Type::TEXT),
        SqlValue::Number(number) => (number, Type::INT8),
        SqlValue::Flag(flag) => (flag, Type::BOOL),
    }
}

fn cell(row: &tokio_postgres::Row, column: usize) -> Result<SqlValue, QueryError> {
    match row.columns().get(column).map(|column| column.type_().clone()) {
        Some(Type::TEXT) => Ok(SqlValue::Text(row.try_get(column)?)),
        Some(Type::INT8) => Ok(SqlValue::Number(row.try_get(column)?)),
        Some(Type::BOOL) => Ok(SqlValue::Flag(row.try_get(column)?)),
        _ => Err(corrupt_row("a column of another type").into()),
    }
}
