//! Tests of lost connections at every call of a change, and of failing migrations.

use superstep::core::time::Time;

use super::*;
use crate::calendar::{Calendar, CalendarChange, Family, Visibility, WeekStart};
use crate::store::write_plan::ChangeAuthor;

/// A session that loses its connection at one call: before the database receives the call, or before the response.
struct LossySession<'a> {
    inner: SqliteSession<'a>,
    /// Number of calls that still succeed.
    left: usize,
    is_executed: bool,
}

impl LossySession<'_> {
    /// Returns true if this call is the one that is lost.
    fn is_lost(&mut self) -> bool {
        self.left = self.left.wrapping_sub(1);
        self.left == usize::MAX
    }
}

fn lost() -> SqliteFailure {
    SqliteFailure::Database(rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR),
        None,
    ))
}

macro_rules! lossy {
    ($self:ident, $call:expr) => {{
        let is_lost = $self.is_lost();
        if is_lost && !$self.is_executed {
            return Err(lost());
        }
        let answer = $call.await;
        if is_lost { Err(lost()) } else { answer }
    }};
}

impl DatabaseSession for LossySession<'_> {
    type Failure = SqliteFailure;

    const LOCK: &'static str = "";

    fn tables(&self) -> SqlStatement {
        self.inner.tables()
    }

    async fn begin(&mut self, access: TransactionMode) -> Result<(), SqliteFailure> {
        lossy!(self, self.inner.begin(access))
    }

    async fn execute(&mut self, statements: Vec<SqlStatement>) -> Result<ResultSets, SqliteFailure> {
        lossy!(self, self.inner.execute(statements))
    }

    async fn script(&mut self, sql: &str) -> Result<(), SqliteFailure> {
        self.inner.script(sql).await
    }

    async fn commit(&mut self) -> Result<(), SqliteFailure> {
        lossy!(self, self.inner.commit())
    }

    async fn rollback(&mut self) {
        self.inner.rollback().await;
    }
}

fn family() -> Family {
    let (id, name, zone) = ("smith".to_owned(), "Smith".to_owned(), "UTC".to_owned());
    Family { id, name, zone, week_start: WeekStart::Monday, always_ask: false }
}

fn calendar(number: u64) -> CalendarChange {
    let (id, name) = (format!("c{number}"), "Home".to_owned());
    CalendarChange::Calendar(Calendar { id, name, owner: None, visibility: Visibility::Family })
}

/// Adds a calendar named after the revision on which the change was decided; two applications would create two
/// calendars.
fn change_job(actor: &str, creation: Option<Family>) -> ChangeJob {
    let at = Time::from_unix_micros(5).unwrap();
    let first = creation.clone();
    ChangeJob {
        family: "smith".to_owned(),
        creation,
        author: ChangeAuthor { actor: actor.to_owned(), action: "add".to_owned(), at, task: None },
        since: None,
        scan: None,
        last_seen_snapshot: None,
        decide: Some(Box::new(move |snapshot, _| {
            let changes = first.into_iter().map(CalendarChange::Family).chain([calendar(snapshot.revision)]);
            Ok(changes.collect::<Vec<_>>().into())
        })),
        decided: None,
        planned: None,
    }
}

async fn migrated_connection() -> Option<Connection> {
    let database_path = DatabasePath(None);
    let mut connection = None;
    let session = &mut SqliteSession::new(&mut connection, &database_path).unwrap();
    migrations::migrate(session, migrations::SQLITE, "here").await.unwrap();
    transaction::change(session, &mut change_job("mom", Some(family()))).await.unwrap();
    connection
}

fn count(connection: &Option<Connection>, table: &str) -> i64 {
    let statement = format!("SELECT count(*) FROM {table}");
    connection.as_ref().unwrap().query_row(&statement, [], |row| row.get(0)).unwrap()
}

/// R-FAM-132: a change that loses its connection at any call, before or after execution, is written once when
/// retried.
#[tokio::test]
async fn a_change_that_is_lost_anywhere_is_written_once() {
    for is_executed in [false, true] {
        for left in 0.. {
            let (mut connection, mut job) = (migrated_connection().await, change_job("mom", None));
            let inner = SqliteSession::new(&mut connection, &DatabasePath(None)).unwrap();
            let mut session = LossySession { inner, left, is_executed };
            let first = transaction::change(&mut session, &mut job).await;
            let was_lost = first.is_err();
            let changed = match first {
                Ok(changed) => changed,
                Err(_) => transaction::change(&mut session, &mut job).await.unwrap(),
            };
            let ids: Vec<_> = changed.snapshot.calendars.keys().cloned().collect();
            assert_eq!(
                (changed.snapshot.revision, ids),
                (2, vec!["c0".to_owned(), "c1".to_owned()]),
                "{left} {is_executed}"
            );
            // The family and its first calendar, and the new calendar.
            assert_eq!((count(&connection, "calendars"), count(&connection, "audit")), (2, 3), "{left} {is_executed}");
            if !was_lost {
                assert!(left > 4, "a change has more than {left} calls");
                break;
            }
        }
    }
}

/// R-FAM-132: if another change is written after a connection was lost, the retry does not overwrite it.
#[tokio::test]
async fn a_lost_change_does_not_overwrite_a_change_of_another_user() {
    let (mut connection, mut job) = (migrated_connection().await, change_job("mom", None));
    let inner = SqliteSession::new(&mut connection, &DatabasePath(None)).unwrap();
    // Lost at the call with the statements: begin, lock and snapshot have succeeded.
    let mut session = LossySession { inner, left: 3, is_executed: true };
    assert!(transaction::change(&mut session, &mut job).await.is_err());
    transaction::change(&mut session, &mut change_job("dad", None)).await.unwrap();
    let Err(SqliteFailure::Rejected(error)) = transaction::change(&mut session, &mut job).await else {
        panic!("it was written")
    };
    assert_eq!((error.code(), error.http_status()), (ErrorCode::StoreUnavailable, 503));
    assert_eq!(count(&connection, "audit"), 3);
}

/// R-FAM-95: older tables are upgraded, and a failing migration keeps the ones before it.
#[tokio::test]
async fn migrations_are_atomic() {
    let mut connection = None;
    let session = &mut SqliteSession::new(&mut connection, &DatabasePath(None)).unwrap();
    let (one, two) = ("CREATE TABLE a (x)", "CREATE TABLE b (x)");
    let broken = "CREATE TABLE c (x); CREATE TABLE a (x)";
    migrations::migrate(session, &[one], "here").await.unwrap();
    assert!(migrations::migrate(session, &[one, two, broken], "here").await.is_err());
    assert_eq!((count(&connection, "b"), count(&connection, "migrations")), (0, 2));
    assert_eq!(count(&connection, "sqlite_schema WHERE name = 'c'"), 0);
    let session = &mut SqliteSession::new(&mut connection, &DatabasePath(None)).unwrap();
    migrations::migrate(session, &[one, two, "CREATE TABLE c (x)"], "here").await.unwrap();
    assert_eq!((count(&connection, "c"), count(&connection, "migrations")), (0, 3));
}
