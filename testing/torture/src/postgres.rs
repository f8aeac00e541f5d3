//! Faults with a real PostgreSQL server: workers are killed, their connections are terminated, the server itself is
//! killed.
//!
//! The server has its own port and folder and syncs to disk. Several workers run concurrently, each on its own
//! thread. The final checks are in `kill_loop`; in addition, a worker that was not killed must never fail: it waits
//! for the server and continues.

mod parallel;
mod terminate;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use superstep_cluster::{TempPostgresServer, postgres, run};

use crate::checkpointer::CheckpointerLocation;
use crate::child_process::{ChildOutput, ChildProcess};
use crate::kill_loop::{FaultRun, FaultRunResult, busy_wait};
use crate::options::TestOptions;
use crate::process_kill::expected_digest;
use crate::protocol::ChildMessage;
use crate::random::Random;
use crate::reader::ReaderArgs;
use crate::report::Report;
use crate::temp_dir::TempDir;
use crate::tools;
use crate::verify;
use parallel::run_concurrently;
use terminate::AdminConnection;

/// Number of each kind of fault in a test run.
const CLIENT_KILLS: u64 = 50;
const TERMINATIONS: u64 = 50;
const POSTMASTER_KILLS: u64 = 3;
/// Numbers of concurrent workers: killed ones mostly wait until the lease of their predecessor expires.
const KILLED_WORKERS: usize = 8;
const DISCONNECTED_WORKERS: usize = 3;
const WORKERS_PER_SERVER_KILL: usize = 4;
/// Rounds and weight of the runs; long runs are disturbed several times.
const SIZE: (u64, u64) = (3, 2_000);
const LONG_SIZE: (u64, u64) = (12, 2_000);
/// Number of server kills within which the loss of unsynced acknowledgements must be detected.
const SEEDED_BUG_RUNS: u64 = 10;

/// Runs the PostgreSQL test.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn run_test(options: &TestOptions) -> Result<Report, String> {
    let server = Server::start()?;
    let mut report = server.kill_clients(options);
    report.merge(server.terminate_backends(options));
    report.merge(server.kill_postmasters(options)?);
    server.find_seeded_bugs(options, &mut report)?;
    if let Err(error) = server.amcheck() {
        report.add_violation(options.seed, format!("`pg_amcheck` found corruption: {error}"));
    }
    for (name, minimum) in [
        ("client kills", options.times(CLIENT_KILLS)),
        ("backend terminations", options.times(TERMINATIONS)),
        ("postmaster kills", options.at_least(POSTMASTER_KILLS)),
        ("victims that waited for the server", 1),
    ] {
        report.require_count(options.seed, name, minimum);
    }
    Ok(report)
}

/// The server and the expected results of the runs.
struct Server {
    cluster: TempPostgresServer,
    folder: TempDir,
    expected: [String; 2],
}

impl Server {
    fn start() -> Result<Self, String> {
        if postgres("initdb").is_err() {
            tools::install("postgresql");
        }
        let expected = [expected_digest(SIZE)?, expected_digest(LONG_SIZE)?];
        Ok(Self { cluster: TempPostgresServer::start()?, folder: TempDir::new("postgres")?, expected })
    }

    /// Returns a URL that identifies the connections of one worker.
    fn url(&self, name: &str) -> String {
        format!("{}&application_name={name}", self.cluster.url())
    }

    fn fault_run(&self, thread: String, size: (u64, u64)) -> FaultRun<'_> {
        FaultRun {
            location: CheckpointerLocation::Postgres(self.url(&thread)),
            effects: self.folder.join(&thread),
            thread,
            size,
            seeded_bug: None,
            expected: &self.expected[usize::from(size == LONG_SIZE)],
        }
    }

    /// Kills workers repeatedly until their runs have ended.
    fn kill_clients(&self, options: &TestOptions) -> Report {
        let enough = ("client kills", options.times(CLIENT_KILLS));
        run_concurrently(options.seed, KILLED_WORKERS, enough, |seed, report| {
            let fault_run = self.fault_run(format!("killed-{seed}"), SIZE);
            let result = fault_run.kill_until_finished(&mut Random::for_stream(seed, 8))?;
            report.count("client kills", result.kills);
            fault_run.verify(result, report)
        })
    }

    /// Terminates the connections of a worker while it runs.
    fn terminate_backends(&self, options: &TestOptions) -> Report {
        let enough = ("backend terminations", options.times(TERMINATIONS));
        run_concurrently(options.seed, DISCONNECTED_WORKERS, enough, |seed, report| {
            let fault_run = self.fault_run(format!("ended-{seed}"), LONG_SIZE);
            let mut random = Random::for_stream(seed, 9);
            let admin = AdminConnection::connect(&self.cluster.url())?;
            let mut left = 1 + random.below(20);
            let result = collect_messages(fault_run.start(1)?, || {
                left -= 1;
                if left == 0 {
                    left = 1 + random.below(20);
                    busy_wait(Duration::from_micros(u64::from(random.below(2_000))));
                    let ended = admin.terminate(&fault_run.thread)?;
                    report.count("backend terminations", u64::from(ended > 0));
                    report.count("backends terminated", ended);
                }
                Ok(())
            })?;
            fault_run.verify(result, report)
        })
    }

    /// Kills the server with all its processes and restarts it while workers run.
    fn kill_postmasters(&self, options: &TestOptions) -> Result<Report, String> {
        let mut report = Report::new("postgres");
        let (mut seed, enough) = (options.seed, options.at_least(POSTMASTER_KILLS));
        while report.get("postmaster kills") < enough && report.violations.is_empty() {
            let violations = self.kill_server_under_workers(seed, enough, &mut report)?;
            report.add_violations(seed, violations);
            seed += 1;
        }
        Ok(report)
    }

    /// Runs several workers from start to end during server kills.
    fn kill_server_under_workers(&self, seed: u64, enough: u64, report: &mut Report) -> Result<Vec<String>, String> {
        let fault_runs: Vec<FaultRun> = (0..WORKERS_PER_SERVER_KILL)
            .map(|number| self.fault_run(format!("server-kill-{seed}-{number}"), LONG_SIZE))
            .collect();
        let (reports, running) = (AtomicU64::new(0), AtomicU64::new(WORKERS_PER_SERVER_KILL as u64));
        let results = std::thread::scope(|scope| {
            let collect = |fault_run: &FaultRun| {
                let result = fault_run.start(1).and_then(|child| {
                    collect_messages(child, || {
                        reports.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    })
                });
                running.fetch_sub(1, Ordering::Relaxed);
                result
            };
            let collectors: Vec<_> =
                fault_runs.iter().map(|fault_run| scope.spawn(move || collect(fault_run))).collect();
            let mut random = Random::for_stream(seed, 10);
            while report.get("postmaster kills") < enough {
                let next = reports.load(Ordering::Relaxed) + 20 + u64::from(random.below(150));
                while reports.load(Ordering::Relaxed) < next && running.load(Ordering::Relaxed) > 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if running.load(Ordering::Relaxed) == 0 {
                    break;
                }
                self.cluster.kill()?;
                std::thread::sleep(Duration::from_millis(u64::from(random.below(300))));
                report.count("postmaster kills", 1);
                report.count("victims that waited for the server", running.load(Ordering::Relaxed));
                self.cluster.restart()?;
            }
            let join = |collector: std::thread::ScopedJoinHandle<'_, Result<FaultRunResult, String>>| {
                collector.join().unwrap_or_else(|_| Err("a collector panicked".to_owned()))
            };
            collectors.into_iter().map(join).collect::<Result<Vec<_>, String>>()
        })?;
        let violations = fault_runs.iter().zip(results).map(|(fault_run, result)| fault_run.verify(result, report));
        Ok(violations.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Tests the test: with a server that does not sync to disk, the loss of acknowledged data must be detected.
    fn find_seeded_bugs(&self, options: &TestOptions, report: &mut Report) -> Result<(), String> {
        for seed in options.seed..options.seed + SEEDED_BUG_RUNS {
            let mut fault_run = self.fault_run(format!("seeded-{seed}"), LONG_SIZE);
            fault_run.location = CheckpointerLocation::Postgres(format!(
                "{}&options=-c%20synchronous_commit%3Doff",
                self.url("seeded_bugs")
            ));
            let mut child = fault_run.start(1)?;
            let (mut messages, enough) = (Vec::new(), 60 + Random::for_stream(seed, 11).below(60) as usize);
            while messages.len() < enough
                && let ChildOutput::Message(message) = child.next_message()?
            {
                messages.push(message);
            }
            self.cluster.kill()?;
            child.kill();
            messages.extend(child.wait()?.messages);
            self.cluster.restart()?;
            let args = ReaderArgs { threads: vec![fault_run.thread.clone()], ..ReaderArgs::default() };
            let lost = verify::read(&fault_run.location, &args)?.missing(&fault_run.thread, &messages);
            if !lost.is_empty() {
                report.count("seeded losses found", 1);
                return Ok(());
            }
        }
        report.add_violation(
            options.seed,
            format!("nothing was lost in {SEEDED_BUG_RUNS} kills of a server without syncs"),
        );
        Ok(())
    }

    /// Runs the server's own check of its tables and indexes.
    fn amcheck(&self) -> Result<(), String> {
        let port = self.cluster.port().to_string();
        let connection_args = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-d", "postgres"];
        run(postgres("pg_amcheck")?.arg("--install-missing").args(connection_args)).map(drop)
    }
}

/// Reads the messages of a worker until its end; `on_message` is called after each message.
fn collect_messages(
    mut child: ChildProcess,
    mut on_message: impl FnMut() -> Result<(), String>,
) -> Result<FaultRunResult, String> {
    let mut result = FaultRunResult::default();
    loop {
        match child.next_message() {
            Ok(ChildOutput::Message(message)) => result.reported.push((1, message)),
            Ok(ChildOutput::End) => break,
            Err(stuck) => {
                result.violations.push(stuck);
                return Ok(result);
            }
        }
        on_message()?;
    }
    let exit = child.wait()?;
    match result.reported.last() {
        Some((_, ChildMessage::Ended { .. })) if exit.status.success() => {}
        Some((_, ChildMessage::Failed { code, message })) => {
            result.violations.push(format!("a worker that was not killed failed: {code}: {message}"));
        }
        _ => result.violations.push(format!("a worker that was not killed ended with {}", exit.describe())),
    }
    Ok(result)
}
