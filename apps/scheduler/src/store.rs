//! Where families keep their calendars: a file, or a server that many processes share.
//!
//! Everything is read as a [`Board`] and changed in one place, [`Calendars::change`]: one transaction in which the family is
//! locked, so that what was checked is what is written. How a change becomes rows is in `plan`, what is done in a
//! transaction in `flow`; both know no database. SQL is in `rows`, `read` and the files of the two databases.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::settings::Secret;
use superstep::{Code, Error, Result, SystemClock};
use tokio::sync::OnceCell;

use crate::audit::Entry;
use crate::calendar::{Board, Change, Family};
use crate::models::Conflict;

mod cell;
mod flow;
mod migrations;
mod once;
mod place;
mod plan;
mod postgres;
mod read;
mod rows;
mod sound;
mod sqlite;
mod stale;
mod undo;

use cell::Statement;
use flow::{Decide, Work, missing};
pub use once::Once;
use place::Database;
pub use place::Place;
use plan::Author;
use read::Answers;
pub use undo::Undone;

/// Finds all conflicts among the confirmed events of a board, from a moment on.
pub type Scan = fn(&Board, Time) -> Result<Vec<Conflict>>;

/// How calendars are opened; see [`Calendars::options`].
#[derive(Clone)]
#[must_use]
pub struct Options {
    patience: Duration,
    clock: Arc<dyn Clock>,
    scan: Option<Scan>,
    schema: String,
    first: Option<Arc<Board>>,
}

impl Default for Options {
    fn default() -> Self {
        let schema = "superstep_scheduler".to_owned();
        Self { patience: Duration::from_secs(5), clock: Arc::new(SystemClock), scan: None, schema, first: None }
    }
}

impl Options {
    /// How long a database that is locked or away is waited for before a call fails. 5 seconds unless told.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Where the times of the audit come from: the system unless told.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Looks for conflicts with every change of members, things, rules and events, and records them with it; a change that
    /// brings [`Change::Conflicts`] has looked itself. Nobody looks unless told.
    pub fn scan(mut self, scan: Scan) -> Self {
        self.scan = Some(scan);
        self
    }

    /// The schema that the tables are in on PostgreSQL, made when it is missing. `superstep_scheduler` unless told.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// A family that is made when the calendars are opened, with all that is on its board, where there is none of its id.
    pub fn family(mut self, family: impl Into<Arc<Board>>) -> Self {
        self.first = Some(family.into());
        self
    }

    /// Calendars that are opened when somebody first needs them; until then nothing is read or made. What cannot be opened
    /// is tried again by whoever comes next.
    #[must_use]
    pub fn open_later(self, place: Place) -> Calendars {
        let (database, boards) = (OnceCell::new(), Mutex::default());
        Calendars(Arc::new(Inner { place, database, boards, options: self }), Hand::Writes)
    }

    /// Opens a file, and makes it where it is missing.
    ///
    /// # Errors
    /// When it cannot be opened or written, and when it is of a newer version or of another program.
    pub async fn open_sqlite(self, path: impl AsRef<Path>) -> Result<Calendars> {
        self.open(Place::Sqlite(path.as_ref().to_owned())).await
    }

    /// Opens calendars that are gone with the last clone of them.
    ///
    /// # Errors
    /// When there is no memory.
    pub async fn open_sqlite_in_memory(self) -> Result<Calendars> {
        self.open(Place::Memory).await
    }

    /// Connects to a PostgreSQL server, with an address as checkpoints have it. To be used on this runtime only.
    ///
    /// # Errors
    /// When the address cannot be read, the server cannot be reached or refuses the user, and when the tables are of a
    /// newer version or of another program.
    pub async fn open_postgres(self, url: &str) -> Result<Calendars> {
        self.open(Place::Postgres(Secret::new(url))).await
    }

    async fn open(self, place: Place) -> Result<Calendars> {
        let calendars = self.open_later(place);
        calendars.database().await?;
        Ok(calendars)
    }
}

/// The calendars of all families. Clones are one and the same.
#[derive(Clone)]
pub struct Calendars(Arc<Inner>, Hand);

/// What somebody who has calendars may do with them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hand {
    Writes,
    Looks,
}

struct Inner {
    place: Place,
    /// Once somebody needed it.
    database: OnceCell<Database>,
    /// The newest board of each family that was seen here.
    boards: Mutex<BTreeMap<String, Arc<Board>>>,
    options: Options,
}

/// What a change has done.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// The calendar after it.
    pub board: Arc<Board>,
    /// What was written; nothing when all was so already.
    pub changes: Vec<Change>,
}

impl Calendars {
    /// Opens calendars in another way than the usual.
    pub fn options() -> Options {
        Options::default()
    }

    /// Opens a file, and makes it where it is missing.
    ///
    /// # Errors
    /// As [`Options::open_sqlite`].
    pub async fn open_sqlite(path: impl AsRef<Path>) -> Result<Self> {
        Options::default().open_sqlite(path).await
    }

    /// Opens calendars that are gone with the last clone of them.
    ///
    /// # Errors
    /// As [`Options::open_sqlite_in_memory`].
    pub async fn open_sqlite_in_memory() -> Result<Self> {
        Options::default().open_sqlite_in_memory().await
    }

    /// Connects to a PostgreSQL server.
    ///
    /// # Errors
    /// As [`Options::open_postgres`].
    pub async fn open_postgres(url: &str) -> Result<Self> {
        Options::default().open_postgres(url).await
    }

    /// The same calendars for somebody who only looks: every change is refused with `PolicyRefused`.
    #[must_use]
    pub fn looking(&self) -> Self {
        Self(self.0.clone(), Hand::Looks)
    }

    /// All families, by id.
    ///
    /// # Errors
    /// `StoreUnavailable` when the database is locked or gone for longer than [`Options::patience`].
    pub async fn families(&self) -> Result<Vec<Family>> {
        read::to_families(self.look(vec![read::families()]).await?)
    }

    /// Makes a family, together with what it has from the start.
    ///
    /// # Errors
    /// `InputInvalid` when there is a family of this id; else as [`Calendars::change`].
    pub async fn create_family(&self, who: &str, family: Family, first: Vec<Change>) -> Result<Changed> {
        self.run(self.creation(who, family, first)?).await
    }

    fn creation(&self, who: &str, family: Family, first: Vec<Change>) -> Result<Work> {
        let (id, creation) = (family.id.clone(), Some(family.clone()));
        let decide = move |board: &Board, _: &[Entry]| {
            if board.revision > 0 {
                let message = format!("there is a family `{}` already", board.family.id);
                return Err(Error::new(Code::InputInvalid, message));
            }
            let changes: Vec<Change> = std::iter::once(Change::Family(family)).chain(first).collect();
            Ok(changes.into())
        };
        let work = self.work(&id, (who, "create_family"), Box::new(decide))?;
        Ok(Work { creation, ..work })
    }

    /// The calendar of a family as it is now. While nothing changes, only its revision is read.
    ///
    /// # Errors
    /// `NotFound` when there is no such family, `StoreUnavailable` when the database is locked or gone for longer than
    /// [`Options::patience`].
    pub async fn board(&self, family: &str) -> Result<Arc<Board>> {
        let revision = read::to_revision(self.look(vec![read::revision(family)]).await?)?;
        let revision = revision.ok_or_else(|| missing(family))?;
        if let Some(board) = self.boards().get(family).filter(|board| board.revision == revision) {
            return Ok(board.clone());
        }
        let board = read::to_board(self.look(read::board(family)).await?)?;
        let board = Arc::new(board.ok_or_else(|| missing(family))?);
        self.keep(&board);
        Ok(board)
    }

    /// Changes the calendar of a family: `decide` sees it as it is while nobody else can change it, and says what is
    /// changed. All of it is written, with who did it and what it was before, or nothing.
    ///
    /// # Errors
    /// What `decide` refuses with; `NotFound` when there is no such family; `TypeMismatch` when an event names what is not
    /// there; `StoreUnavailable` when the database is locked or gone for longer than [`Options::patience`].
    ///
    /// # Cancel safety
    /// Dropped, it is written whole or not at all.
    pub async fn change(
        &self,
        family: &str,
        who: &str,
        action: &str,
        decide: impl FnOnce(&Board) -> Result<Vec<Change>> + Send + 'static,
    ) -> Result<Changed> {
        let decide = Box::new(move |board: &Board, _: &[Entry]| decide(board).map(Into::into));
        self.run(self.work(family, (who, action), decide)?).await
    }

    /// What was changed last, the newest first.
    ///
    /// # Errors
    /// `NotFound` when there is no such family, `StoreUnavailable` as for [`Calendars::board`].
    pub async fn audit(&self, family: &str, limit: u32) -> Result<Vec<Entry>> {
        let mut answers = self.look(vec![read::revision(family), read::entries(family, limit)]).await?;
        let entries = answers.split_off(1);
        read::to_revision(answers)?.ok_or_else(|| missing(family))?;
        read::to_entries(entries)
    }

    /// A change that nobody has begun.
    fn work(&self, family: &str, (who, action): (&str, &str), decide: Decide) -> Result<Work> {
        let author = Author { who: who.to_owned(), action: action.to_owned(), at: self.now()?, task: None };
        Ok(Work {
            family: family.to_owned(),
            creation: None,
            author,
            since: None,
            scan: self.0.options.scan,
            known: self.boards().get(family).cloned(),
            decide: Some(decide),
            decided: None,
            planned: None,
        })
    }

    async fn run(&self, work: Work) -> Result<Changed> {
        if self.1 == Hand::Looks {
            return Err(Error::new(Code::PolicyRefused, "a question changes nothing on the calendar"));
        }
        let changed = self.database().await?.change(work).await?;
        self.keep(&changed.board);
        Ok(changed)
    }

    async fn look(&self, statements: Vec<Statement>) -> Result<Answers> {
        self.database().await?.look(statements).await
    }

    async fn database(&self) -> Result<&Database> {
        self.0.database.get_or_try_init(|| Box::pin(self.opened())).await
    }

    /// Opens the database, with the family that is to be there from the start.
    async fn opened(&self) -> Result<Database> {
        let Inner { place, options, .. } = &*self.0;
        let database = Database::open(place, options).await?;
        let Some(first) = &options.first else { return Ok(database) };
        let is_there = read::to_revision(database.look(vec![read::revision(&first.family.id)]).await?)?.is_some();
        if !is_there {
            let work = self.creation("superstep", (*first.family).clone(), first.to_changes())?;
            match database.change(work).await {
                // Another process was quicker.
                Err(error) if error.code() == Code::InputInvalid => {}
                made => drop(made?),
            }
        }
        Ok(database)
    }

    fn now(&self) -> Result<Time> {
        Time::from_unix_micros(self.0.options.clock.now()).map_err(|fault| Error::internal(fault.to_string()))
    }

    fn boards(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Board>>> {
        self.0.boards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a board, also an older one: after a backup was put back that is how it is, and a board that is not the
    /// newest is only read again.
    fn keep(&self, board: &Arc<Board>) {
        self.boards().insert(board.family.id.clone(), board.clone());
    }
}

/// Without the password of a server.
impl std::fmt::Debug for Calendars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = match &self.0.place {
            Place::Memory | Place::Sqlite(_) => "Sqlite",
            Place::Postgres(_) => "Postgres",
        };
        f.debug_tuple("Calendars").field(&format_args!("{place}")).finish()
    }
}
