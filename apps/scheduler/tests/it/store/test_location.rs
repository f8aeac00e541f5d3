//! Location of a test's store: a file, or a separate schema on the shared PostgreSQL server.

use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use superstep::Result;
use superstep_cluster::{PostgresServer, server_dir, unique_name};
use superstep_scheduler::store::{CalendarStore, StoreOptions};

/// A store that can be opened more than once.
pub(crate) enum TestLocation {
    Sqlite(PathBuf),
    Postgres { cluster: PostgresServer, schema: String },
}

impl TestLocation {
    pub(crate) fn sqlite() -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-scheduler-{}", unique_name()));
        Self::Sqlite(folder.join("family.db"))
    }

    pub(crate) fn postgres() -> Self {
        Self::Postgres { cluster: shared(), schema: format!("test_{}", unique_name()) }
    }

    /// Opens another handle on the same store.
    pub(crate) async fn open(&self, options: StoreOptions) -> Result<CalendarStore> {
        match self {
            Self::Sqlite(path) => options.open_sqlite(path).await,
            Self::Postgres { cluster, schema } => options.schema(schema).open_postgres(&cluster.url()).await,
        }
    }

    /// Returns the first value of an SQL query.
    pub(crate) fn value(&self, statement: &str) -> String {
        match self {
            Self::Sqlite(path) => {
                let value: rusqlite::types::Value =
                    Connection::open(path).unwrap().query_row(statement, [], |row| row.get(0)).unwrap();
                match value {
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    other => panic!("{other:?}"),
                }
            }
            Self::Postgres { .. } => {
                let output = self.psql(statement);
                output.lines().find(|line| !line.is_empty() && *line != "SET").unwrap_or_default().trim().to_owned()
            }
        }
    }

    /// Executes SQL without going through the store.
    pub(crate) fn run(&self, statements: &str) {
        match self {
            Self::Sqlite(path) => {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                Connection::open(path).unwrap().execute_batch(statements).unwrap();
            }
            Self::Postgres { schema, .. } => {
                drop(self.psql(&format!("CREATE SCHEMA IF NOT EXISTS {schema}; {statements}")));
            }
        }
    }

    fn psql(&self, statements: &str) -> String {
        let Self::Postgres { cluster, schema } = self else { panic!("no server") };
        cluster.query(&format!("SET search_path = {schema}; {statements}")).unwrap()
    }
}

impl Drop for TestLocation {
    fn drop(&mut self) {
        if let Self::Sqlite(path) = self {
            let _ = std::fs::remove_dir_all(path.parent().unwrap());
        }
    }
}

/// Returns the PostgreSQL server shared by all tests; the first caller starts it.
fn shared() -> PostgresServer {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("postgres.lock")).unwrap();
    lock.lock().unwrap();
    let folder = server_dir(parent_id(), "shared");
    let port = folder.join("port");
    if let Ok(port) = std::fs::read_to_string(&port) {
        return PostgresServer::at(folder, port.trim().parse().unwrap());
    }
    let cluster = PostgresServer::start(folder, parent_id()).unwrap();
    std::fs::write(port, cluster.port().to_string()).unwrap();
    cluster
}
