//! Runs a query on the local data, behind the second wall: a connection that cannot write, SQLite's own word on every
//! column that is read, and an end for what takes too long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode};
use serde_json::Value;
use superstep::ToolError;
use superstep::core::suggest::known_names;

use super::guard::is_internal;
use super::{Rows, functions};
use crate::data::{self, Data};
use crate::tools::caller::Access;
use crate::tools::failure::{ambiguous, forbidden, invalid, refused, timeout, unavailable, unknown};

/// After how many steps of SQLite's machine the clock is looked at. A function is one step, however long it takes: what a
/// function can be given is bounded here and by the guard, so that each ends soon.
const STEPS: i32 = 100;
/// The longest single value, in bytes.
const LONGEST_VALUE: i32 = 256 * 1024;
/// The longest pattern of `LIKE` and `GLOB`, in bytes. Its length counts once for each letter of the text.
const LONGEST_PATTERN: i32 = 200;
/// The most bytes of all values together.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// A query that has passed the guard.
pub(super) struct Task {
    pub(super) data: Arc<Data>,
    pub(super) sql: String,
    pub(super) tables: Vec<String>,
    pub(super) access: Access,
    pub(super) limit: usize,
    pub(super) time: Duration,
}

/// Ends a query that nobody waits for any more.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a query on a thread where it may take its time. Dropping the future ends it.
pub(super) async fn run(task: Task) -> Result<Rows, ToolError> {
    let is_over = Arc::new(AtomicBool::new(false));
    let waiting = Waiting(is_over.clone());
    let done = tokio::task::spawn_blocking(move || task.run(&is_over)).await;
    drop(waiting);
    done.map_err(|_| unavailable("the query could not be run"))?
}

impl Task {
    fn run(&self, is_over: &Arc<AtomicBool>) -> Result<Rows, ToolError> {
        let denied = Arc::new(Mutex::new(None));
        let mut connection =
            self.data.connect().map_err(|cause| unavailable(format_args!("the data cannot be read: {cause}")))?;
        let walled = self.wall(&mut connection, &denied, is_over);
        walled.and_then(|()| self.read(&connection)).map_err(|cause| {
            let denied = denied.lock().unwrap_or_else(PoisonError::into_inner).take();
            denied.unwrap_or_else(|| self.failure(&cause))
        })
    }

    fn wall(&self, connection: &mut Connection, denied: &Denied, is_over: &Arc<AtomicBool>) -> rusqlite::Result<()> {
        // A name in double quotes that does not exist would be taken for a text, and a misspelt column for a value.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        let (deadline, is_over) = (Instant::now() + self.time, is_over.clone());
        let is_late = move || is_over.load(Ordering::Relaxed) || Instant::now() >= deadline;
        connection.progress_handler(STEPS, Some(is_late))?;
        let (access, denied) = (self.access.clone(), denied.clone());
        connection.authorizer(Some(move |asked: AuthContext<'_>| match verdict(&access, &asked.action) {
            Ok(()) => Authorization::Allow,
            Err(problem) => {
                denied.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
                Authorization::Deny
            }
        }))
    }

    fn read(&self, connection: &Connection) -> rusqlite::Result<Rows> {
        let mut statement = connection.prepare(&self.sql)?;
        if !statement.readonly() {
            return Err(rusqlite::Error::InvalidQuery);
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let (mut rows, mut bytes, mut is_truncated) = (Vec::new(), 0, false);
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let values = (0..columns.len()).map(|at| row.get_ref(at).map(data::json));
            let values: Vec<Value> = values.collect::<rusqlite::Result<_>>()?;
            bytes += values.iter().map(|value| value.as_str().map_or(8, str::len)).sum::<usize>();
            if rows.len() == self.limit || bytes > MOST_BYTES {
                is_truncated = true;
                break;
            }
            rows.push(values);
        }
        Ok(Rows { columns, rows, is_truncated })
    }

    /// What went wrong, in the words of this house.
    fn failure(&self, cause: &rusqlite::Error) -> ToolError {
        if matches!(cause, rusqlite::Error::MultipleStatement | rusqlite::Error::InvalidQuery) {
            return refused("only one SELECT is run at a time");
        }
        match cause.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                return timeout(format_args!("the query took longer than {} s", self.time.as_secs_f32()));
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                return unavailable("the data is being written at the moment").retryable();
            }
            Some(ErrorCode::ReadOnly | ErrorCode::AuthorizationForStatementDenied) => {
                return refused("only SELECT is run here; nothing is ever changed");
            }
            _ => {}
        }
        let message = match cause {
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
            other => other.to_string(),
        };
        if let Some(name) = message.strip_prefix("no such column: ") {
            // SQLite adds advice to a name in double quotes.
            let name = name.split(" - should").next().unwrap_or(name);
            return self.no_column(name.trim_matches('"'));
        }
        if let Some(name) = message.strip_prefix("ambiguous column name: ") {
            return ambiguous(format_args!("more than one table has a column `{name}`; write `table.{name}`"));
        }
        invalid(message)
    }

    fn no_column(&self, name: &str) -> ToolError {
        let bare = name.rsplit('.').next().unwrap_or(name);
        let tables = self.tables.iter().filter_map(|table| self.data.catalog().table(table));
        let columns = tables.flat_map(|table| table.columns.iter().map(move |column| (table, column)));
        let visible = columns.filter(|(table, column)| !self.access.denies_column(&table.name, &column.name));
        let mut names: Vec<&str> = visible.map(|(_, column)| column.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        unknown(format_args!("there is no column `{name}`; {}", known_names(bare, &names)))
    }
}

/// The first thing that was denied.
type Denied = Arc<Mutex<Option<ToolError>>>;

/// Whether SQLite may do what it is about to do.
fn verdict(access: &Access, action: &AuthAction<'_>) -> Result<(), ToolError> {
    match action {
        AuthAction::Select | AuthAction::Recursive => Ok(()),
        AuthAction::Function { function_name } if is_operator(function_name) => Ok(()),
        AuthAction::Function { function_name } if functions::is_harmless(&function_name.to_lowercase()) => Ok(()),
        AuthAction::Function { function_name } => {
            Err(refused(format_args!("the function `{function_name}` is not run here")))
        }
        AuthAction::Read { table_name, .. } if functions::is_table(&table_name.to_lowercase()) => Ok(()),
        AuthAction::Read { table_name, .. } if is_internal(table_name) => {
            Err(refused(format_args!("`{table_name}` belongs to the database itself")))
        }
        AuthAction::Read { table_name, .. } if access.denies_table(table_name) => {
            Err(forbidden(format_args!("you may not see the table `{table_name}`")))
        }
        AuthAction::Read { table_name, column_name } if access.denies_column(table_name, column_name) => {
            Err(forbidden(format_args!(
                "you may not see `{table_name}.{column_name}`; name the columns you need without it"
            )))
        }
        AuthAction::Read { .. } => Ok(()),
        _ => Err(refused("only SELECT is run here; nothing is ever changed")),
    }
}

/// Operators are functions for SQLite.
fn is_operator(name: &str) -> bool {
    matches!(name, "->" | "->>" | "like" | "glob" | "regexp" | "match")
}
