//! PostgreSQL servers of the tests' own: one that all tests of a run share, and others for tests that kill theirs.
//!
//! Each is stopped and removed by a small watcher once the program that runs the tests is gone, however it went.

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A server.
pub(crate) struct Cluster {
    folder: PathBuf,
    port: u16,
}

impl Cluster {
    /// The one that all tests share; whoever comes first starts it.
    pub(crate) fn shared() -> Self {
        let _lock = lock();
        let folder = folder("shared");
        match std::fs::read_to_string(folder.join("port")) {
            Ok(port) => Self { port: port.trim().parse().unwrap(), folder },
            Err(_) => Self::start(folder),
        }
    }

    /// One that nobody else has.
    pub(crate) fn own(name: &str) -> Self {
        Self::start(folder(&format!("{name}-{}", std::process::id())))
    }

    fn start(folder: PathBuf) -> Self {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(&folder));
        }
        let data = folder.join("data");
        run(postgres("initdb").arg("-D").arg(&data).args([
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
        ]));
        let port = free_port();
        let cluster = Self { folder, port };
        cluster.watch();
        cluster.restart();
        std::fs::write(cluster.folder.join("port"), port.to_string()).unwrap();
        cluster
    }

    /// Starts the server again after it was killed.
    pub(crate) fn restart(&self) {
        let settings = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c max_connections=300 -c fsync=on",
            self.port,
            self.folder.display()
        );
        let mut start = postgres("pg_ctl");
        start.arg("-D").arg(self.folder.join("data")).arg("-l").arg(self.folder.join("log"));
        start.args(["-w", "-o", &settings, "start"]);
        // What is left of a server that was killed goes within moments; until then no other may have its memory.
        let begun = Instant::now();
        while let Err(problem) = try_run(&mut start) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{problem}");
        }
    }

    /// Kills the server and all that belongs to it without a word, as a power cut would.
    pub(crate) fn kill(&self) {
        let pid = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        let pid = pid.lines().next().unwrap().to_owned();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        run(Command::new("kill").args(["-9", &pid]));
        // Some may have ended by themselves.
        drop(try_run(Command::new("kill").arg("-9").args(children.split_whitespace())));
    }

    /// The address for a store.
    pub(crate) fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// The address through a port that leads to this server.
    pub(crate) fn url_at(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the server says to statements.
    pub(crate) fn query(&self, statements: &str) -> String {
        run(client(&self.url()).args(["-v", "ON_ERROR_STOP=1", "-c", statements]))
    }

    /// The port of a pgbouncer in transaction mode before this server; whoever comes first starts it.
    pub(crate) fn pooler(&self) -> u16 {
        let _lock = lock();
        let place = self.folder.join("pooler");
        if let Ok(port) = std::fs::read_to_string(&place) {
            return port.trim().parse().unwrap();
        }
        let port = free_port();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nauth_type = any\npool_mode = transaction\nunix_socket_dir =\n\
             max_client_conn = 1000\ndefault_pool_size = 40\nlogfile = {folder}/pooler.log\npidfile = {folder}/pooler.pid\n",
            self.port,
            folder = self.folder.display()
        );
        let file = self.folder.join("pgbouncer.ini");
        std::fs::write(&file, settings).unwrap();
        run(postgres("pgbouncer").arg("-d").arg(file));
        std::fs::write(place, port.to_string()).unwrap();
        port
    }

    /// Leaves somebody who cleans up when the tests have ended.
    fn watch(&self) {
        let stop = postgres("pg_ctl");
        let words = std::iter::once(stop.get_program()).chain(stop.get_args());
        let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
        let stop = format!("{} -D '{}/data' -m immediate stop", words.join(" "), self.folder.display());
        let script = format!(
            "cd /; while kill -0 {} 2>/dev/null; do sleep 1; done; {stop}; \
             kill $(cat '{folder}/pooler.pid'); rm -rf '{folder}'",
            parent_id(),
            folder = self.folder.display()
        );
        run(Command::new("setsid").args(["-f", "sh", "-c", &script]));
    }
}

/// Held by whoever starts something that all tests share.
fn lock() -> File {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("postgres.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Free now, and most probably still in a moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A folder of this run of the tests; short, because the path of a socket may not be long.
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("superstep-postgres-{}-{name}", parent_id()))
}

fn is_root() -> bool {
    // Whoever owns this process owns its entry.
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

/// A program of PostgreSQL, on the path or where Debian has it.
fn binary(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.extend(std::env::split_paths(&path));
    folders.push(PathBuf::from("/usr/sbin"));
    let found = folders.iter().rev().map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "there is no `{name}`: install it (Debian: `apt-get install postgresql pgbouncer`), or run `cargo xtask test`"
        )
    })
}

/// A program of PostgreSQL that refuses to be run by root.
pub(crate) fn postgres(name: &str) -> Command {
    if !is_root() {
        return Command::new(binary(name));
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(binary(name)).current_dir("/");
    command
}

/// The client that comes with PostgreSQL.
pub(crate) fn client(url: &str) -> Command {
    let mut psql = Command::new(binary("psql"));
    psql.args(["-X", "-q", "-A", "-t", url]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    psql
}

/// Runs a program to its end and gives what it said.
fn run(command: &mut Command) -> String {
    try_run(command).unwrap_or_else(|problem| panic!("{problem}"))
}

fn try_run(command: &mut Command) -> Result<String, String> {
    // A server that is started would keep a pipe open, so what it says goes to a file.
    let said = tempfile();
    let (out, err) = (said.try_clone().unwrap(), said.try_clone().unwrap());
    let status = command.stdin(Stdio::null()).stdout(out).stderr(err).status();
    let text = read(said);
    match status {
        Ok(status) if status.success() => Ok(text.trim().to_owned()),
        Ok(status) => Err(format!("{command:?} ended with {status}: {text}")),
        Err(error) => Err(format!("{command:?} could not be started: {error}")),
    }
}

/// A file without a name.
fn tempfile() -> File {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("said-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file
}

fn read(mut file: File) -> String {
    use std::io::{Read, Seek, SeekFrom};
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}
