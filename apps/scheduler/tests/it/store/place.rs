//! Where a test keeps its calendars: a file, or a schema of its own on the server that all tests share.

use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use superstep::Result;
use superstep_cluster::{Cluster, folder, own_name};
use superstep_scheduler::store::{Calendars, Options};

/// Calendars that can be opened more than once.
pub(crate) enum Place {
    Sqlite(PathBuf),
    Postgres { cluster: Cluster, schema: String },
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-scheduler-{}", own_name()));
        Self::Sqlite(folder.join("family.db"))
    }

    pub(crate) fn postgres() -> Self {
        Self::Postgres { cluster: shared(), schema: format!("test_{}", own_name()) }
    }

    /// Another handle on the same calendars.
    pub(crate) async fn open(&self, options: Options) -> Result<Calendars> {
        match self {
            Self::Sqlite(path) => options.open_sqlite(path).await,
            Self::Postgres { cluster, schema } => options.schema(schema).open_postgres(&cluster.url()).await,
        }
    }

    /// The first value that a statement finds.
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
                let found = self.psql(statement);
                found.lines().find(|line| !line.is_empty() && *line != "SET").unwrap_or_default().trim().to_owned()
            }
        }
    }

    /// Runs statements behind the back of the calendars.
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

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Sqlite(path) = self {
            let _ = std::fs::remove_dir_all(path.parent().unwrap());
        }
    }
}

/// The server that all tests share; whoever comes first starts it.
fn shared() -> Cluster {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("postgres.lock")).unwrap();
    lock.lock().unwrap();
    let folder = folder(parent_id(), "shared");
    let port = folder.join("port");
    if let Ok(port) = std::fs::read_to_string(&port) {
        return Cluster::at(folder, port.trim().parse().unwrap());
    }
    let cluster = Cluster::start(folder, parent_id()).unwrap();
    std::fs::write(port, cluster.port().to_string()).unwrap();
    cluster
}
