//! Writes the threads of `tests/it/stored_fixtures/threads.rs` in the formats of this version, as fixtures for all
//! later versions.
//!
//! Started by `cargo xtask record`. Writes a new folder and never changes an existing one.

#[path = "../tests/it/stored_fixtures/threads.rs"]
mod workshop;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use superstep_adapters::postgres::PostgresCheckpointer;
use superstep_adapters::sqlite::SqliteCheckpointer;
use superstep_cluster::{TempPostgresServer, postgres, run};
use superstep_core::port::SharedCheckpointer;

/// Error of any step.
type StepError = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let recorded = match std::env::args().nth(1) {
        Some(folder) => Box::pin(record(PathBuf::from(folder))).await,
        None => Err("name the folder of the new version, such as `testing/fixtures/stores/v2`".into()),
    };
    match recorded {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn record(folder: PathBuf) -> Result<(), StepError> {
    if folder.exists() {
        return Err(format!("{} is there already, and a recording is never made twice", folder.display()).into());
    }
    std::fs::create_dir_all(&folder)?;
    let expected = in_sqlite(&folder.join("sqlite.db")).await?;
    if in_postgres(&folder.join("postgres.sql")).await? != expected {
        return Err("the two stores hold something else".into());
    }
    std::fs::write(folder.join("expected.json"), serde_json::to_string_pretty(&expected)? + "\n")?;
    Ok(())
}

async fn in_sqlite(path: &Path) -> Result<serde_json::Value, StepError> {
    let store: SharedCheckpointer = SqliteCheckpointer::open(path)?.into();
    workshop::record(&store).await?;
    Ok(workshop::stored_content(&store).await?)
}

async fn in_postgres(path: &Path) -> Result<serde_json::Value, StepError> {
    let cluster = TempPostgresServer::start()?;
    let store: SharedCheckpointer = PostgresCheckpointer::options().connect(&cluster.url()).await?.into();
    workshop::record(&store).await?;
    let expected = workshop::stored_content(&store).await?;
    drop(store);
    let plain = ["--no-owner", "--no-privileges", "--schema=superstep"];
    let dump = run(postgres("pg_dump")?.args(plain).arg(cluster.url()))?;
    // Newer `psql` clients use restricted mode; older ones do not know these commands.
    let lines = dump.lines().filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
    std::fs::write(path, lines.map(|line| format!("{line}\n")).collect::<String>())?;
    Ok(expected)
}
