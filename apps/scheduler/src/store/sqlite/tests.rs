//! A change whose connection is lost at any of its steps, and steps of tables that fail.

use superstep::core::time::Time;

use super::*;
use crate::calendar::{Calendar, Change, Family, Visibility, WeekStart};
use crate::store::plan::Author;

/// A session that is lost at one of its calls: before the database has heard of it, or before its answer.
struct Lossy<'a> {
    inner: Open<'a>,
    /// How many calls still go well.
    left: usize,
    is_heard: bool,
}

impl Lossy<'_> {
    /// Whether this is the call that is lost.
    fn is_lost(&mut self) -> bool {
        self.left = self.left.wrapping_sub(1);
        self.left == usize::MAX
    }
}

fn lost() -> Trouble {
    Trouble::Database(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR), None))
}

macro_rules! lossy {
    ($self:ident, $call:expr) => {{
        let is_lost = $self.is_lost();
        if is_lost && !$self.is_heard {
            return Err(lost());
        }
        let answer = $call.await;
        if is_lost { Err(lost()) } else { answer }
    }};
}

impl Session for Lossy<'_> {
    type Failure = Trouble;

    const LOCK: &'static str = "";

    fn tables(&self) -> Statement {
        self.inner.tables()
    }

    async fn begin(&mut self, access: Access) -> Result<(), Trouble> {
        lossy!(self, self.inner.begin(access))
    }

    async fn ask(&mut self, statements: Vec<Statement>) -> Result<Answers, Trouble> {
        lossy!(self, self.inner.ask(statements))
    }

    async fn script(&mut self, sql: &str) -> Result<(), Trouble> {
        self.inner.script(sql).await
    }

    async fn commit(&mut self) -> Result<(), Trouble> {
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

fn calendar(number: u64) -> Change {
    let (id, name) = (format!("c{number}"), "Home".to_owned());
    Change::Calendar(Calendar { id, name, owner: None, visibility: Visibility::Family })
}

/// Adds a calendar that is called by the revision it was decided on: done twice, there are two.
fn work(who: &str, creation: Option<Family>) -> Work {
    let at = Time::from_unix_micros(5).unwrap();
    let first = creation.clone();
    Work {
        family: "smith".to_owned(),
        creation,
        author: Author { who: who.to_owned(), action: "add".to_owned(), at, task: None },
        since: None,
        scan: None,
        known: None,
        decide: Some(Box::new(move |board, _| {
            let changes = first.into_iter().map(Change::Family).chain([calendar(board.revision)]);
            Ok(changes.collect::<Vec<_>>().into())
        })),
        decided: None,
        planned: None,
    }
}

async fn made() -> Option<Connection> {
    let place = Place(None);
    let mut connection = None;
    let session = &mut Open::new(&mut connection, &place).unwrap();
    migrations::migrate(session, migrations::SQLITE, "here").await.unwrap();
    flow::change(session, &mut work("mom", Some(family()))).await.unwrap();
    connection
}

fn count(connection: &Option<Connection>, table: &str) -> i64 {
    let statement = format!("SELECT count(*) FROM {table}");
    connection.as_ref().unwrap().query_row(&statement, [], |row| row.get(0)).unwrap()
}

/// R-FAM-132: a change whose connection is lost at any call, heard or not, is written once when it is tried again.
#[tokio::test]
async fn a_change_that_is_lost_anywhere_is_written_once() {
    for is_heard in [false, true] {
        for left in 0.. {
            let (mut connection, mut work) = (made().await, work("mom", None));
            let inner = Open::new(&mut connection, &Place(None)).unwrap();
            let mut session = Lossy { inner, left, is_heard };
            let first = flow::change(&mut session, &mut work).await;
            let was_lost = first.is_err();
            let changed = match first {
                Ok(changed) => changed,
                Err(_) => flow::change(&mut session, &mut work).await.unwrap(),
            };
            let ids: Vec<_> = changed.board.calendars.keys().cloned().collect();
            assert_eq!((changed.board.revision, ids), (2, vec!["c0".to_owned(), "c1".to_owned()]), "{left} {is_heard}");
            // The family and its first calendar, and ours.
            assert_eq!((count(&connection, "calendars"), count(&connection, "audit")), (2, 3), "{left} {is_heard}");
            if !was_lost {
                assert!(left > 4, "a change has more than {left} calls");
                break;
            }
        }
    }
}

/// R-FAM-132: when somebody else was faster after a connection was lost, nothing is written on top of it unseen.
#[tokio::test]
async fn a_lost_change_is_not_written_over_that_of_somebody_else() {
    let (mut connection, mut work) = (made().await, work("mom", None));
    let inner = Open::new(&mut connection, &Place(None)).unwrap();
    // Lost with its statements: begin, lock and board went well.
    let mut session = Lossy { inner, left: 3, is_heard: true };
    assert!(flow::change(&mut session, &mut work).await.is_err());
    flow::change(&mut session, &mut super::tests::work("dad", None)).await.unwrap();
    let Err(Trouble::Refused(error)) = flow::change(&mut session, &mut work).await else { panic!("it was written") };
    assert_eq!((error.code(), error.http_status()), (Code::StoreUnavailable, 503));
    assert_eq!(count(&connection, "audit"), 3);
}

/// R-FAM-95: tables of an older version go on from there, and a step that fails leaves those before it.
#[tokio::test]
async fn each_step_of_the_tables_is_done_whole_or_not_at_all() {
    let mut connection = None;
    let session = &mut Open::new(&mut connection, &Place(None)).unwrap();
    let (one, two) = ("CREATE TABLE a (x)", "CREATE TABLE b (x)");
    let broken = "CREATE TABLE c (x); CREATE TABLE a (x)";
    migrations::migrate(session, &[one], "here").await.unwrap();
    assert!(migrations::migrate(session, &[one, two, broken], "here").await.is_err());
    assert_eq!((count(&connection, "b"), count(&connection, "migrations")), (0, 2));
    assert_eq!(count(&connection, "sqlite_schema WHERE name = 'c'"), 0);
    let session = &mut Open::new(&mut connection, &Place(None)).unwrap();
    migrations::migrate(session, &[one, two, "CREATE TABLE c (x)"], "here").await.unwrap();
    assert_eq!((count(&connection, "c"), count(&connection, "migrations")), (0, 3));
}
