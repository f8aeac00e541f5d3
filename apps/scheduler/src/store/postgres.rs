//! Calendars in PostgreSQL, for a server of many processes.
//!
//! Where the server is, how it is spoken to and how long it is waited for is the matter of [`Connections`]. Nothing is left
//! in a session, so a pooler in transaction mode may stand in between. Statements that do not wait for each other are sent
//! one behind the other.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use superstep::Result;
use superstep::postgres::{Connections, Failure, Postgres as Server};
use tokio::sync::Mutex;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::Changed;
use super::cell::{Cell, Row, Statement, damaged};
use super::flow::{self, Access, Session, Work};
use super::migrations;
use super::read::Answers;

/// The lock of whoever makes tables, any schema; held until its transaction ends.
const LOCK: i64 = 0x6361_6c65_6e64_6172;
/// How many statements are on their way at once.
const AT_ONCE: usize = 64;

/// Calendars on a server.
pub(super) struct Postgres {
    connections: Connections,
    patience: Duration,
}

impl Postgres {
    pub(super) async fn open(url: &str, schema: &str, patience: Duration) -> Result<Self> {
        let connections = Server::options().schema(schema).patience(patience).connections_to(url)?;
        let opened = Self { connections, patience };
        let place = format!("schema `{schema}`");
        let migrated = opened.connections.ask(|client| {
            let (mut session, place) = (opened.session(client), place.clone());
            async move { migrations::migrate(&mut session, migrations::POSTGRES, &place).await }
        });
        migrated.await?;
        Ok(opened)
    }

    pub(super) async fn change(&self, work: Work) -> Result<Changed> {
        // Asked again, it goes on with what was decided.
        let work = Arc::new(Mutex::new(work));
        let changing = self.connections.ask(|client| {
            let (mut session, work) = (self.session(client), work.clone());
            async move { flow::change(&mut session, &mut *work.lock().await).await }
        });
        changing.await
    }

    pub(super) async fn look(&self, statements: Vec<Statement>) -> Result<Answers> {
        let looking = self.connections.ask(|client| {
            let (session, statements) = (self.session(client), statements.clone());
            async move { session.look(&statements).await }
        });
        looking.await
    }

    fn session(&self, client: Arc<Client>) -> Open {
        Open { client, schema: self.connections.schema().to_owned(), patience: self.patience }
    }
}

/// A connection while somebody uses it.
struct Open {
    client: Arc<Client>,
    /// Quoted.
    schema: String,
    patience: Duration,
}

impl Open {
    /// Reads one state of all tables, in one journey to the server.
    async fn look(&self, statements: &[Statement]) -> Result<Answers, Failure> {
        let begin = self.beginning(" ISOLATION LEVEL REPEATABLE READ READ ONLY");
        let send = async |sql: &str| self.client.batch_execute(sql).await.map(|()| Vec::new()).map_err(Failure::from);
        let mut asked: Vec<Asking<'_>> = vec![Box::pin(send(&begin))];
        asked.extend(statements.iter().map(|statement| -> Asking<'_> { Box::pin(rows(&self.client, statement)) }));
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

impl Session for Open {
    type Failure = Failure;

    const LOCK: &'static str = " FOR UPDATE";

    fn tables(&self) -> Statement {
        let sql = "SELECT c.relname::text FROM pg_catalog.pg_class c \
                   JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'";
        Statement::new(sql, [self.schema.trim_matches('"').into()])
    }

    async fn begin(&mut self, access: Access) -> Result<(), Failure> {
        self.client.batch_execute(&self.beginning("")).await?;
        if access == Access::Migrate {
            self.client.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await?;
            let name = self.schema.trim_matches('"');
            let found = "SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1";
            if self.client.query_typed(found, &[(&name, Type::TEXT)]).await?.is_empty() {
                self.client.batch_execute(&format!("CREATE SCHEMA {}", self.schema)).await?;
            }
        }
        Ok(())
    }

    async fn ask(&mut self, statements: Vec<Statement>) -> Result<Answers, Failure> {
        let mut answers = Vec::with_capacity(statements.len());
        for some in statements.chunks(AT_ONCE) {
            let asked = some.iter().map(|statement| -> Asking<'_> { Box::pin(rows(&self.client, statement)) });
            answers.extend(in_order(asked.collect()).await?);
        }
        Ok(answers)
    }

    async fn script(&mut self, sql: &str) -> Result<(), Failure> {
        Ok(self.client.batch_execute(sql).await?)
    }

    async fn commit(&mut self) -> Result<(), Failure> {
        Ok(self.client.batch_execute("COMMIT").await?)
    }

    async fn rollback(&mut self) {
        // What cannot be rolled back goes with the connection.
        let _ = self.client.batch_execute("ROLLBACK").await;
    }
}

type Asking<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Failure>> + Send + 'a>>;

/// Waits for all, having sent them in their order; the first that fails is what is told.
async fn in_order(mut asked: Vec<Asking<'_>>) -> Result<Answers, Failure> {
    let mut answers: Vec<Option<Result<Vec<Row>, Failure>>> = asked.iter().map(|_| None).collect();
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

async fn rows(client: &Client, statement: &Statement) -> Result<Vec<Row>, Failure> {
    let parameters: Vec<_> = statement.cells.iter().map(parameter).collect();
    let found = client.query_typed(&statement.sql, &parameters).await?;
    found
        .iter()
        .map(|row| (0..row.len()).map(|column| cell(row, column)).collect::<Result<_, _>>().map(Row::new))
        .collect()
}

fn parameter(cell: &Cell) -> (&(dyn ToSql + Sync), Type) {
    match cell {
        Cell::Text(text) => (text, Type::TEXT),
        Cell::Number(number) => (number, Type::INT8),
        Cell::Flag(flag) => (flag, Type::BOOL),
    }
}

fn cell(row: &tokio_postgres::Row, column: usize) -> Result<Cell, Failure> {
    match row.columns().get(column).map(|column| column.type_().clone()) {
        Some(Type::TEXT) => Ok(Cell::Text(row.try_get(column)?)),
        Some(Type::INT8) => Ok(Cell::Number(row.try_get(column)?)),
        Some(Type::BOOL) => Ok(Cell::Flag(row.try_get(column)?)),
        _ => Err(damaged("a column of another type").into()),
    }
}
