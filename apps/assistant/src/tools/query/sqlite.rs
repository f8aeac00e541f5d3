//! Runs a query on the local data, behind the second check: a read-only connection, an authorizer for every column
//! that is read, and limits on time and size.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode};
use serde_json::Value;
use superstep::ToolError;
use superstep::core::suggest::did_you_mean_or_list;

use super::guard::is_internal;
use super::{QueryResult, functions};
use crate::data::{self, Dataset};
use crate::tools::caller::DataAccess;
use crate::tools::error::{ambiguous, forbidden, invalid, not_allowed, timeout, unavailable, unknown};

/// Number of SQLite steps between two checks of the deadline. A function call is one step, however long it takes,
/// so this module and the guard limit the arguments of functions.
const STEPS_PER_CHECK: i32 = 100;
/// Maximum length of a value in bytes.
const MAX_VALUE_BYTES: i32 = 256 * 1024;
/// Maximum length of a `LIKE` or `GLOB` pattern in bytes. The run time grows with its length times the length of
/// the text.
const MAX_PATTERN_BYTES: i32 = 200;
/// Maximum total size of all values in bytes.
const MAX_RESULT_BYTES: usize = 2 * 1024 * 1024;

/// A query that passed the guard.
pub(super) struct LocalQuery {
    pub(super) data: Arc<Dataset>,
    pub(super) sql: String,
    pub(super) tables: Vec<String>,
    pub(super) access: DataAccess,
    pub(super) limit: usize,
    pub(super) timeout: Duration,
}

/// Cancels the query when the caller stops waiting for the result.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a query on a blocking thread. Dropping the future cancels the query.
pub(super) async fn run(task: LocalQuery) -> Result<QueryResult, ToolError> {
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let cancel_guard = CancelOnDrop(is_cancelled.clone());
    let result = tokio::task::spawn_blocking(move || task.run(&is_cancelled)).await;
    drop(cancel_guard);
    result.map_err(|_| unavailable("the query could not be run"))?
}

impl LocalQuery {
    fn run(&self, is_cancelled: &Arc<AtomicBool>) -> Result<QueryResult, ToolError> {
        let denied = Arc::new(Mutex::new(None));
        let mut connection =
            self.data.connect().map_err(|cause| unavailable(format_args!("the data cannot be read: {cause}")))?;
        let installed = self.install_authorizer(&mut connection, &denied, is_cancelled);
        installed.and_then(|()| self.read(&connection)).map_err(|cause| {
            let denied = denied.lock().unwrap_or_else(PoisonError::into_inner).take();
            denied.unwrap_or_else(|| self.query_error(&cause))
        })
    }

    fn install_authorizer(
        &self,
        connection: &mut Connection,
        denied: &FirstDenial,
        is_cancelled: &Arc<AtomicBool>,
    ) -> rusqlite::Result<()> {
        // Otherwise SQLite treats an unknown name in double quotes as a string, so a misspelt column would become a
        // value.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        let (deadline, is_cancelled) = (Instant::now() + self.timeout, is_cancelled.clone());
        let must_stop = move || is_cancelled.load(Ordering::Relaxed) || Instant::now() >= deadline;
        connection.progress_handler(STEPS_PER_CHECK, Some(must_stop))?;
        let (access, denied) = (self.access.clone(), denied.clone());
        connection.authorizer(Some(move |auth: AuthContext<'_>| match authorize(&access, &auth.action) {
            Ok(()) => Authorization::Allow,
            Err(problem) => {
                denied.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
                Authorization::Deny
            }
        }))
    }

    fn read(&self, connection: &Connection) -> rusqlite::Result<QueryResult> {
        let mut statement = connection.prepare(&self.sql)?;
        if !statement.readonly() {
            return Err(rusqlite::Error::InvalidQuery);
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let (mut rows, mut bytes, mut is_truncated) = (Vec::new(), 0, false);
        let mut result_rows = statement.query([])?;
        while let Some(row) = result_rows.next()? {
            let values = (0..columns.len()).map(|index| row.get_ref(index).map(data::json));
            let values: Vec<Value> = values.collect::<rusqlite::Result<_>>()?;
            bytes += values.iter().map(|value| value.as_str().map_or(8, str::len)).sum::<usize>();
            if rows.len() == self.limit || bytes > MAX_RESULT_BYTES {
                is_truncated = true;
                break;
            }
            rows.push(values);
        }
        Ok(QueryResult { columns, rows, is_truncated })
    }

    /// Converts an SQLite error into a `ToolError`.
    fn query_error(&self, cause: &rusqlite::Error) -> ToolError {
        if matches!(cause, rusqlite::Error::MultipleStatement | rusqlite::Error::InvalidQuery) {
            return not_allowed("only one SELECT is allowed");
        }
        match cause.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                return timeout(format_args!("the query took longer than {} s", self.timeout.as_secs_f32()));
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                return unavailable("the data is being written at the moment").retryable();
            }
            Some(ErrorCode::ReadOnly | ErrorCode::AuthorizationForStatementDenied) => {
                return not_allowed("only SELECT is allowed; queries cannot modify the data");
            }
            _ => {}
        }
        let message = match cause {
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
            other => other.to_string(),
        };
        if let Some(name) = message.strip_prefix("no such column: ") {
            // SQLite appends advice to a name in double quotes.
            let name = name.split(" - should").next().unwrap_or(name);
            return self.unknown_column(name.trim_matches('"'));
        }
        if let Some(name) = message.strip_prefix("ambiguous column name: ") {
            return ambiguous(format_args!("more than one table has a column `{name}`; write `table.{name}`"));
        }
        invalid(message)
    }

    fn unknown_column(&self, name: &str) -> ToolError {
        let bare = name.rsplit('.').next().unwrap_or(name);
        let tables = self.tables.iter().filter_map(|table| self.data.catalog().table(table));
        let columns = tables.flat_map(|table| table.columns.iter().map(move |column| (table, column)));
        let visible = columns.filter(|(table, column)| !self.access.denies_column(&table.name, &column.name));
        let mut names: Vec<&str> = visible.map(|(_, column)| column.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        unknown(format_args!("column `{name}` not found; {}", did_you_mean_or_list(bare, &names)))
    }
}

/// First denied access.
type FirstDenial = Arc<Mutex<Option<ToolError>>>;

/// Decides if SQLite may perform an action.
fn authorize(access: &DataAccess, action: &AuthAction<'_>) -> Result<(), ToolError> {
    match action {
        AuthAction::Select | AuthAction::Recursive => Ok(()),
        AuthAction::Function { function_name } if is_operator(function_name) => Ok(()),
        AuthAction::Function { function_name } if functions::is_pure_function(&function_name.to_lowercase()) => Ok(()),
        AuthAction::Function { function_name } => {
            Err(not_allowed(format_args!("the function `{function_name}` is not allowed")))
        }
        AuthAction::Read { table_name, .. } if functions::is_table_function(&table_name.to_lowercase()) => Ok(()),
        AuthAction::Read { table_name, .. } if is_internal(table_name) => {
            Err(not_allowed(format_args!("`{table_name}` is a system table")))
        }
        AuthAction::Read { table_name, .. } if access.denies_table(table_name) => {
            Err(forbidden(format_args!("you do not have access to the table `{table_name}`")))
        }
        AuthAction::Read { table_name, column_name } if access.denies_column(table_name, column_name) => {
            Err(forbidden(format_args!(
                "you do not have access to `{table_name}.{column_name}`; select the other columns by name"
            )))
        }
        AuthAction::Read { .. } => Ok(()),
        _ => Err(not_allowed("only SELECT is allowed; queries cannot modify the data")),
    }
}

/// Returns true for operators, which SQLite reports as functions.
fn is_operator(name: &str) -> bool {
    matches!(name, "->" | "->>" | "like" | "glob" | "regexp" | "match")
}
