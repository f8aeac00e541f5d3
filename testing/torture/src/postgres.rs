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
use crate::process_kill::undisturbed;
use crate::protocol::ChildMessage;
use crate::random::Random;
use crate::reader::ReaderArgs;
use crate::report::Report;
use crate::temp_dir::TempDir;
use crate::tools;
use crate::verify;
use parallel::side_by_side;
use terminate::AdminConnection;

/// Number of each kind of fault in a test run.
const CLIENT_KILLS: u64 = 50;
const TERMINATIONS: u64 = 50;
const POSTMASTER_KILLS: u64 = 3;
/// Numbers of concurrent workers: killed ones mostly wait until the lease of their predecessor expires.
const KILLED: usize = 8;
const DISCONNECTED: usize = 3;
const STRUCK: usize = 4;
/// Rounds and weight of the runs; long runs are disturbed several times.
const SIZE: (u64, u64) = (3, 2_000);
const LONG: (u64, u64) = (12, 2_000);
/// Number of server kills within which the loss of unsynced acknowledgements must be detected.
const SEEDED_BUG_RUNS: u64 = 10;

/// Runs the PostgreSQL test.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn prove(stage: &TestOptions) -> Result<Report, String> {
    let server = Server::start()?;
    let mut report = server.kill_clients(stage);
    report.join(server.end_backends(stage));
    report.join(server.kill_postmasters(stage)?);
    server.plant(stage, &mut report)?;
    if let Err(problem) = server.amcheck() {
        report.add_violation(stage.seed, format!("`pg_amcheck` found corruption: {problem}"));
    }
    for (name, least) in [
        ("client kills", stage.times(CLIENT_KILLS)),
        ("backend terminations", stage.times(TERMINATIONS)),
        ("postmaster kills", stage.at_least(POSTMASTER_KILLS)),
        ("victims that waited for the server", 1),
    ] {
        report.require_count(stage.seed, name, least);
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
        let expected = [undisturbed(SIZE)?, undisturbed(LONG)?];
        Ok(Self { cluster: TempPostgresServer::start()?, folder: TempDir::new("postgres")?, expected })
    }

    /// Returns a URL that identifies the connections of one worker.
    fn url(&self, name: &str) -> String {
        format!("{}&application_name={name}", self.cluster.url())
    }

    fn trial(&self, thread: String, size: (u64, u64)) -> FaultRun<'_> {
        FaultRun {
            location: CheckpointerLocation::Postgres(self.url(&thread)),
            effects: self.folder.join(&thread),
            thread,
            size,
            seeded_bug: None,
            expected: &self.expected[usize::from(size == LONG)],
        }
    }

    /// Kills workers repeatedly until their runs have ended.
    fn kill_clients(&self, stage: &TestOptions) -> Report {
        let enough = ("client kills", stage.times(CLIENT_KILLS));
        side_by_side(stage.seed, KILLED, enough, |seed, report| {
            let trial = self.trial(format!("killed-{seed}"), SIZE);
            let course = trial.kill_until_finished(&mut Random::apart(seed, 8))?;
            report.count("client kills", course.kills);
            trial.verify(course, report)
        })
    }

    /// Terminates the connections of a worker while it runs.
    fn end_backends(&self, stage: &TestOptions) -> Report {
        let enough = ("backend terminations", stage.times(TERMINATIONS));
        side_by_side(stage.seed, DISCONNECTED, enough, |seed, report| {
            let trial = self.trial(format!("ended-{seed}"), LONG);
            let mut random = Random::apart(seed, 9);
            let admin = AdminConnection::connect(&self.cluster.url())?;
            let mut left = 1 + random.below(20);
            let course = follow(trial.start(1)?, || {
                left -= 1;
                if left == 0 {
                    left = 1 + random.below(20);
                    busy_wait(Duration::from_micros(u64::from(random.below(2_000))));
                    let ended = admin.terminate(&trial.thread)?;
                    report.count("backend terminations", u64::from(ended > 0));
                    report.count("backends terminated", ended);
                }
                Ok(())
            })?;
            trial.verify(course, report)
        })
    }

    /// Kills the server with all its processes and restarts it while workers run.
    fn kill_postmasters(&self, stage: &TestOptions) -> Result<Report, String> {
        let mut report = Report::new("postgres");
        let (mut seed, enough) = (stage.seed, stage.at_least(POSTMASTER_KILLS));
        while report.of("postmaster kills") < enough && report.violations.is_empty() {
            let problems = self.strike(seed, enough, &mut report)?;
            report.find_all(seed, problems);
            seed += 1;
        }
        Ok(report)
    }

    /// Runs several workers from start to end during server kills.
    fn strike(&self, seed: u64, enough: u64, report: &mut Report) -> Result<Vec<String>, String> {
        let trials: Vec<FaultRun> =
            (0..STRUCK).map(|number| self.trial(format!("struck-{seed}-{number}"), LONG)).collect();
        let (reports, alive) = (AtomicU64::new(0), AtomicU64::new(STRUCK as u64));
        let courses = std::thread::scope(|scope| {
            let listen = |trial: &FaultRun| {
                let course = trial.start(1).and_then(|child| {
                    follow(child, || {
                        reports.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    })
                });
                alive.fetch_sub(1, Ordering::Relaxed);
                course
            };
            let listeners: Vec<_> = trials.iter().map(|trial| scope.spawn(move || listen(trial))).collect();
            let mut random = Random::apart(seed, 10);
            while report.of("postmaster kills") < enough {
                let next = reports.load(Ordering::Relaxed) + 20 + u64::from(random.below(150));
                while reports.load(Ordering::Relaxed) < next && alive.load(Ordering::Relaxed) > 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if alive.load(Ordering::Relaxed) == 0 {
                    break;
                }
                self.cluster.kill()?;
                std::thread::sleep(Duration::from_millis(u64::from(random.below(300))));
                report.count("postmaster kills", 1);
                report.count("victims that waited for the server", alive.load(Ordering::Relaxed));
                self.cluster.restart()?;
            }
            let join = |listener: std::thread::ScopedJoinHandle<'_, Result<FaultRunResult, String>>| {
                listener.join().unwrap_or_else(|_| Err("a listener panicked".to_owned()))
            };
            listeners.into_iter().map(join).collect::<Result<Vec<_>, String>>()
        })?;
        let judged = trials.iter().zip(courses).map(|(trial, course)| trial.verify(course, report));
        Ok(judged.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Tests the test: with a server that does not sync to disk, the loss of acknowledged data must be detected.
    fn plant(&self, stage: &TestOptions, report: &mut Report) -> Result<(), String> {
        for seed in stage.seed..stage.seed + SEEDED_BUG_RUNS {
            let mut trial = self.trial(format!("seeded-{seed}"), LONG);
            trial.location = CheckpointerLocation::Postgres(format!(
                "{}&options=-c%20synchronous_commit%3Doff",
                self.url("seeded_bugs")
            ));
            let mut child = trial.start(1)?;
            let (mut messages, enough) = (Vec::new(), 60 + Random::apart(seed, 11).below(60) as usize);
            while messages.len() < enough
                && let ChildOutput::Message(one) = child.next_message()?
            {
                messages.push(one);
            }
            self.cluster.kill()?;
            child.kill();
            messages.extend(child.end()?.messages);
            self.cluster.restart()?;
            let question = ReaderArgs { threads: vec![trial.thread.clone()], ..ReaderArgs::default() };
            let lost = verify::read(&trial.location, &question)?.missing(&trial.thread, &messages);
            if !lost.is_empty() {
                report.count("seeded losses found", 1);
                return Ok(());
            }
        }
        report.add_violation(
            stage.seed,
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

/// Reads the messages of a worker until its end; `each` is called after each message.
fn follow(mut child: ChildProcess, mut each: impl FnMut() -> Result<(), String>) -> Result<FaultRunResult, String> {
    let mut course = FaultRunResult::default();
    loop {
        match child.next_message() {
            Ok(ChildOutput::Message(message)) => course.reported.push((1, message)),
            Ok(ChildOutput::End) => break,
            Err(stuck) => {
                course.problems.push(stuck);
                return Ok(course);
            }
        }
        each()?;
    }
    let end = child.end()?;
    match course.reported.last() {
        Some((_, ChildMessage::Ended { .. })) if end.status.success() => {}
        Some((_, ChildMessage::Failed { code, message })) => {
            course.problems.push(format!("a worker that was not killed failed: {code}: {message}"));
        }
        _ => course.problems.push(format!("a worker that was not killed ended with {}", end.describe())),
    }
    Ok(course)
}
