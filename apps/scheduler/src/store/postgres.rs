//! Calendar store in PostgreSQL, for several processes.
//!
//! [`Connections`] handles the address, the connections and their timeouts. No state is kept in a session, so that
//! a pooler in transaction mode works. Independent statements are pipelined.

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
use super::sql_value::{RowReader, SqlValue, Statement, damaged};
use super::transaction::{self, ChangeJob, DatabaseSession, TransactionMode};

/// Advisory lock of migrations in any schema, held until the transaction ends.
const LOCK: i64 = 0x6361_6c65_6e64_6172;
/// Maximum number of pipelined statements.
const AT_ONCE: usize = 64;

/// A PostgreSQL database.
pub(super) struct PostgresDatabase {
    connections: AppConnections,
    patience: Duration,
}

impl PostgresDatabase {
    pub(super) async fn open(url: &str, schema: &str, patience: Duration) -> Result<Self> {
        let connections = Server::options().schema(schema).retry_timeout(patience).app_connections(url)?;
        let opened = Self { connections, patience };
        let place = format!("schema `{schema}`");
        let migrated = opened.connections.with_connection(|client| {
            let (mut session, place) = (opened.session(client), place.clone());
            async move { migrations::migrate(&mut session, migrations::POSTGRES, &place).await }
        });
        migrated.await?;
        Ok(opened)
    }

    pub(super) async fn change(&self, work: ChangeJob) -> Result<ChangeResult> {
        // Shared by all attempts, so that a retry continues with the decision that was made.
        let work = Arc::new(Mutex::new(work));
        let changing = self.connections.with_connection(|client| {
            let (mut session, work) = (self.session(client), work.clone());
            async move { transaction::change(&mut session, &mut *work.lock().await).await }
        });
        changing.await
    }

    pub(super) async fn query(&self, statements: Vec<Statement>) -> Result<ResultSets> {
        let looking = self.connections.with_connection(|client| {
            let (session, statements) = (self.session(client), statements.clone());
            async move { session.query(&statements).await }
        });
        looking.await
    }

    fn session(&self, client: Arc<Client>) -> PostgresSession {
        PostgresSession { client, schema: self.connections.schema().to_owned(), patience: self.patience }
    }
}

/// A connection in use.
struct PostgresSession {
    client: Arc<Client>,
    /// Quoted name of the schema.
    schema: String,
    patience: Duration,
}

impl PostgresSession {
    /// Reads a consistent snapshot of all tables in one round trip.
    async fn query(&self, statements: &[Statement]) -> Result<ResultSets, QueryError> {
        let begin = self.beginning(" ISOLATION LEVEL REPEATABLE READ READ ONLY");
        let send =
            async |sql: &str| self.client.batch_execute(sql).await.map(|()| Vec::new()).map_err(QueryError::from);
        let mut asked: Vec<PendingQuery<'_>> = vec![Box::pin(send(&begin))];
        asked
            .extend(statements.iter().map(|statement| -> PendingQuery<'_> { Box::pin(rows(&self.client, statement)) }));
        asked.push(Box::pin(send("ROLLBACK")));
        let mut answers = in_order(asked).await?;
        answers.pop();
        answers.remove(0);
        Ok(answers)
    }

    fn beginning(&self, mode: &str) -> String {
        let (schema, patience) = (&self.schema, self.patience.as_millis().max(1));
        format!("BEGIN{mode}; SET LOCAL search_path = {schema}; SET LOCAL lock_timeout = {patience}")
    }
}

impl DatabaseSession for PostgresSession {
    type Failure = QueryError;

    const LOCK: &'static str = " FOR UPDATE";

    fn tables(&self) -> Statement {
        let sql = "SELECT c.relname::text FROM pg_catalog.pg_class c \
                   JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'";
        Statement::new(sql, [self.schema.trim_matches('"').into()])
    }

    async fn begin(&mut self, access: TransactionMode) -> Result<(), QueryError> {
        self.client.batch_execute(&self.beginning("")).await?;
        if access == TransactionMode::Migrate {
            self.client.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await?;
            let name = self.schema.trim_matches('"');
            let found = "SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1";
            if self.client.query_typed(found, &[(&name, Type::TEXT)]).await?.is_empty() {
                self.client.batch_execute(&format!("CREATE SCHEMA {}", self.schema)).await?;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, statements: Vec<Statement>) -> Result<ResultSets, QueryError> {
        let mut answers = Vec::with_capacity(statements.len());
        for some in statements.chunks(AT_ONCE) {
            let asked = some.iter().map(|statement| -> PendingQuery<'_> { Box::pin(rows(&self.client, statement)) });
            answers.extend(in_order(asked.collect()).await?);
        }
        Ok(answers)
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
async fn in_order(mut asked: Vec<PendingQuery<'_>>) -> Result<ResultSets, QueryError> {
    let mut answers: Vec<Option<Result<Vec<RowReader>, QueryError>>> = asked.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (asking, answer) in asked.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(done) = asking.as_mut().poll(context)
            {
                *answer = Some(done);
            }
        }
        if answers.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    answers.into_iter().flatten().collect()
}

async fn rows(client: &Client, statement: &Statement) -> Result<Vec<RowReader>, QueryError> {
    let parameters: Vec<_> = statement.cells.iter().map(parameter).collect();
    let found = client.query_typed(&statement.sql, &parameters).await?;
    found
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
        _ => Err(damaged("a column of another type").into()),
    }
}
