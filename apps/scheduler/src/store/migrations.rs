//! Schema migrations of the calendar store: creates missing tables, upgrades older ones, and rejects tables of a
//! newer version or of another program.

use superstep::{Error, ErrorCode, Result};

use super::sql_value::SqlStatement;
use super::transaction::{DatabaseSession, TransactionMode};

/// SQLite migrations; each upgrades the tables by one version, the first one from nothing. Numbers are never
/// reused.
pub(super) const SQLITE: &[&str] = &[include_str!("sqlite/001_tables.sql"), include_str!("sqlite/002_once.sql")];
/// PostgreSQL migrations.
pub(super) const POSTGRES: &[&str] = &[include_str!("postgres/001_tables.sql"), include_str!("postgres/002_once.sql")];

/// Applies all pending migrations, each in its own transaction.
pub(super) async fn migrate<S: DatabaseSession>(
    session: &mut S,
    steps: &[&str],
    location: &str,
) -> Result<(), S::Failure> {
    let mut is_done = false;
    while !is_done {
        session.begin(TransactionMode::Migrate).await?;
        let mut result = apply_next(session, steps, location).await;
        if result.is_ok()
            && let Err(failure) = session.commit().await
        {
            result = Err(failure);
        }
        if result.is_err() {
            session.rollback().await;
        }
        is_done = result?;
    }
    Ok(())
}

/// Applies one pending migration. Returns true if none is left.
async fn apply_next<S: DatabaseSession>(session: &mut S, steps: &[&str], location: &str) -> Result<bool, S::Failure> {
    let tables = session.tables();
    let tables = session.execute(vec![tables]).await?.into_iter().flatten();
    let tables = tables.map(|mut row| row.text()).collect::<Result<Vec<String>>>()?;
    let has_migrations_table = tables.iter().any(|table| table == "migrations");
    if !has_migrations_table && !tables.is_empty() {
        return Err(foreign_tables(location).into());
    }
    if !has_migrations_table {
        session.script("CREATE TABLE migrations (version bigint PRIMARY KEY)").await?;
    }
    let statement = SqlStatement::new("SELECT max(version) FROM migrations", []);
    let newest_row = session.execute(vec![statement]).await?.into_iter().flatten().next();
    let applied: usize = newest_row.map(|mut row| row.maybe_number()).transpose()?.flatten().unwrap_or(0);
    if applied > steps.len() {
        return Err(too_new(location, applied, steps.len()).into());
    }
    let Some(step) = steps.get(applied) else { return Ok(true) };
    session.script(step).await?;
    let version = u64::try_from(applied + 1).unwrap_or(u64::MAX);
    session.execute(vec![SqlStatement::new("INSERT INTO migrations (version) VALUES ($1)", [version.into()])]).await?;
    Ok(applied + 1 == steps.len())
}

fn too_new(location: &str, applied: usize, supported: usize) -> Error {
    let message = format!("{location} has schema version {applied}; this program supports {supported}");
    Error::new(ErrorCode::CheckpointTooNew, message).with_help("open it with the version that wrote it, or a newer one")
}

fn foreign_tables(location: &str) -> Error {
    Error::new(ErrorCode::ConfigInvalid, format!("{location} has tables of another program"))
        .with_help("set another location for the calendars; nothing was changed here")
}
