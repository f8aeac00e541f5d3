//! The tables: made once, by whoever comes first, brought up to this version where they are older, and refused when they
//! are of a newer program or of another.

use superstep::{Code, Error, Result};

use super::cell::Statement;
use super::flow::{Access, Session};

/// What makes tables of a version those of the next, from nothing. A number is never reused.
pub(super) const SQLITE: &[&str] = &[include_str!("sqlite/001_tables.sql"), include_str!("sqlite/002_once.sql")];
/// The same for PostgreSQL.
pub(super) const POSTGRES: &[&str] = &[include_str!("postgres/001_tables.sql"), include_str!("postgres/002_once.sql")];

/// Makes the tables what they are after all steps; each step is done whole or not at all.
pub(super) async fn migrate<S: Session>(session: &mut S, steps: &[&str], place: &str) -> Result<(), S::Failure> {
    let mut is_done = false;
    while !is_done {
        session.begin(Access::Migrate).await?;
        let mut stepped = step(session, steps, place).await;
        if stepped.is_ok()
            && let Err(failure) = session.commit().await
        {
            stepped = Err(failure);
        }
        if stepped.is_err() {
            session.rollback().await;
        }
        is_done = stepped?;
    }
    Ok(())
}

/// One step; true when there is none left.
async fn step<S: Session>(session: &mut S, steps: &[&str], place: &str) -> Result<bool, S::Failure> {
    let tables = session.tables();
    let tables = session.ask(vec![tables]).await?.into_iter().flatten();
    let tables = tables.map(|mut row| row.text()).collect::<Result<Vec<String>>>()?;
    let is_ours = tables.iter().any(|table| table == "migrations");
    if !is_ours && !tables.is_empty() {
        return Err(foreign(place).into());
    }
    if !is_ours {
        session.script("CREATE TABLE migrations (version bigint PRIMARY KEY)").await?;
    }
    let found = Statement::new("SELECT max(version) FROM migrations", []);
    let found = session.ask(vec![found]).await?.into_iter().flatten().next();
    let found: usize = found.map(|mut row| row.maybe_number()).transpose()?.flatten().unwrap_or(0);
    if found > steps.len() {
        return Err(too_new(place, found, steps.len()).into());
    }
    let Some(step) = steps.get(found) else { return Ok(true) };
    session.script(step).await?;
    let version = u64::try_from(found + 1).unwrap_or(u64::MAX);
    session.ask(vec![Statement::new("INSERT INTO migrations (version) VALUES ($1)", [version.into()])]).await?;
    Ok(found + 1 == steps.len())
}

fn too_new(place: &str, found: usize, known: usize) -> Error {
    let message = format!("{place} has calendars of version {found}; this program knows {known}");
    Error::new(Code::CheckpointTooNew, message).help("open it with the program that wrote it, or a newer one")
}

fn foreign(place: &str) -> Error {
    Error::new(Code::ConfigInvalid, format!("{place} has tables of another program"))
        .help("name another place for the calendars; nothing was changed in this one")
}
