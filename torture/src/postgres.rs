//! A real PostgreSQL under victims: processes are killed, their connections are ended, the server itself is killed.
//!
//! The server is our own, with a port and a folder that go with it, and waits for the disk. Several victims run side by
//! side on it, each on its own thread. What must hold in the end is in `trial`; here, also that a victim that was not
//! killed never fails: it waits for the server and goes on by itself.

mod admin;
mod side;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use superstep_cluster::{Private, postgres, run};

use crate::check;
use crate::child::{Child, Heard};
use crate::folder::Folder;
use crate::kill::undisturbed;
use crate::random::Random;
use crate::reader::Question;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;
use crate::told::Told;
use crate::tools;
use crate::trial::{Course, Trial, spin};
use admin::Admin;
use side::side_by_side;

/// How often each is done in a test run.
const CLIENT_KILLS: u64 = 50;
const TERMINATIONS: u64 = 50;
const POSTMASTER_KILLS: u64 = 3;
/// How many run at once: killed ones mostly wait until the server misses who was before them.
const KILLED: usize = 8;
const DISCONNECTED: usize = 3;
const STRUCK: usize = 4;
/// How often a graph goes round, and how much it carries: long enough to be disturbed several times.
const SIZE: (u64, u64) = (3, 2_000);
const LONG: (u64, u64) = (12, 2_000);
/// Acknowledgements that were not waited for must be seen to be lost within so many kills of the server.
const PLANTED_RUNS: u64 = 10;

/// Kills, ends and strikes.
///
/// # Errors
/// When the proof cannot be performed.
pub(crate) fn prove(stage: &Stage) -> Result<Report, String> {
    let server = Server::start()?;
    let mut report = server.kill_clients(stage);
    report.join(server.end_backends(stage));
    report.join(server.kill_postmasters(stage)?);
    server.plant(stage, &mut report)?;
    if let Err(problem) = server.amcheck() {
        report.find(stage.seed, format!("the server finds its own files damaged: {problem}"));
    }
    for (name, least) in [
        ("client kills", stage.times(CLIENT_KILLS)),
        ("backend terminations", stage.times(TERMINATIONS)),
        ("postmaster kills", stage.times(POSTMASTER_KILLS)),
        ("victims that waited for the server", 1),
    ] {
        report.must_have(stage.seed, name, least);
    }
    Ok(report)
}

/// The server, and what runs on it should come to.
struct Server {
    cluster: Private,
    folder: Folder,
    expected: [String; 2],
}

impl Server {
    fn start() -> Result<Self, String> {
        if postgres("initdb").is_err() {
            tools::install("postgresql");
        }
        let expected = [undisturbed(SIZE)?, undisturbed(LONG)?];
        Ok(Self { cluster: Private::start()?, folder: Folder::new("postgres")?, expected })
    }

    /// The address by which connections of one victim can be told from others.
    fn url(&self, name: &str) -> String {
        format!("{}&application_name={name}", self.cluster.url())
    }

    fn trial(&self, thread: String, size: (u64, u64)) -> Trial<'_> {
        Trial {
            place: Place::Postgres(self.url(&thread)),
            effects: self.folder.join(&thread),
            thread,
            size,
            planted: None,
            expected: &self.expected[usize::from(size == LONG)],
        }
    }

    /// SIGKILL, again and again until the run has ended.
    fn kill_clients(&self, stage: &Stage) -> Report {
        let enough = ("client kills", stage.times(CLIENT_KILLS));
        side_by_side(stage.seed, KILLED, enough, |seed, report| {
            let trial = self.trial(format!("killed-{seed}"), SIZE);
            let course = trial.kill_until_over(&mut Random::apart(seed, 8))?;
            report.count("client kills", course.kills);
            trial.judge(course, report)
        })
    }

    /// The server ends the connections of a victim while it works.
    fn end_backends(&self, stage: &Stage) -> Report {
        let enough = ("backend terminations", stage.times(TERMINATIONS));
        side_by_side(stage.seed, DISCONNECTED, enough, |seed, report| {
            let trial = self.trial(format!("ended-{seed}"), LONG);
            let mut random = Random::apart(seed, 9);
            let admin = Admin::connect(&self.cluster.url())?;
            let mut left = 1 + random.below(20);
            let course = follow(trial.start(1)?, || {
                left -= 1;
                if left == 0 {
                    left = 1 + random.below(20);
                    spin(Duration::from_micros(u64::from(random.below(2_000))));
                    let ended = admin.terminate(&trial.thread)?;
                    report.count("backend terminations", u64::from(ended > 0));
                    report.count("backends terminated", ended);
                }
                Ok(())
            })?;
            trial.judge(course, report)
        })
    }

    /// The server dies with all of its processes, and is started again, while victims work.
    fn kill_postmasters(&self, stage: &Stage) -> Result<Report, String> {
        let mut report = Report::new("postgres");
        let (mut seed, enough) = (stage.seed, stage.times(POSTMASTER_KILLS));
        while report.of("postmaster kills") < enough && report.violations.is_empty() {
            let problems = self.strike(seed, enough, &mut report)?;
            report.find_all(seed, problems);
            seed += 1;
        }
        Ok(report)
    }

    /// Some victims from their beginning to their end.
    fn strike(&self, seed: u64, enough: u64, report: &mut Report) -> Result<Vec<String>, String> {
        let trials: Vec<Trial> =
            (0..STRUCK).map(|number| self.trial(format!("struck-{seed}-{number}"), LONG)).collect();
        let (reports, alive) = (AtomicU64::new(0), AtomicU64::new(STRUCK as u64));
        let courses = std::thread::scope(|scope| {
            let listen = |trial: &Trial| {
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
            let join = |listener: std::thread::ScopedJoinHandle<'_, Result<Course, String>>| {
                listener.join().unwrap_or_else(|_| Err("a listener panicked".to_owned()))
            };
            listeners.into_iter().map(join).collect::<Result<Vec<_>, String>>()
        })?;
        let judged = trials.iter().zip(courses).map(|(trial, course)| trial.judge(course, report));
        Ok(judged.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The test of the test: a server that is told not to wait for its disk must be seen to lose what was told.
    fn plant(&self, stage: &Stage, report: &mut Report) -> Result<(), String> {
        for seed in stage.seed..stage.seed + PLANTED_RUNS {
            let mut trial = self.trial(format!("planted-{seed}"), LONG);
            trial.place = Place::Postgres(format!("{}&options=-c%20synchronous_commit%3Doff", self.url("planted")));
            let mut child = trial.start(1)?;
            let (mut told, enough) = (Vec::new(), 60 + Random::apart(seed, 11).below(60) as usize);
            while told.len() < enough
                && let Heard::Told(one) = child.hear()?
            {
                told.push(one);
            }
            self.cluster.kill()?;
            child.kill();
            told.extend(child.end()?.told);
            self.cluster.restart()?;
            let question = Question { threads: vec![trial.thread.clone()], ..Question::default() };
            let lost = check::read(&trial.place, &question)?.lost(&trial.thread, &told);
            if !lost.is_empty() {
                report.count("planted losses found", 1);
                return Ok(());
            }
        }
        report.find(stage.seed, format!("nothing was lost in {PLANTED_RUNS} kills of a server that did not wait"));
        Ok(())
    }

    /// What the server's own program says of its tables and indexes.
    fn amcheck(&self) -> Result<(), String> {
        let port = self.cluster.port().to_string();
        let place = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-d", "postgres"];
        run(postgres("pg_amcheck")?.arg("--install-missing").args(place)).map(drop)
    }
}

/// Hears a victim that nobody kills to its end; `each` is called after each thing it said.
fn follow(mut child: Child, mut each: impl FnMut() -> Result<(), String>) -> Result<Course, String> {
    let mut course = Course::default();
    loop {
        match child.hear() {
            Ok(Heard::Told(told)) => course.heard.push((1, told)),
            Ok(Heard::End) => break,
            Err(stuck) => {
                course.problems.push(stuck);
                return Ok(course);
            }
        }
        each()?;
    }
    let end = child.end()?;
    match course.heard.last() {
        Some((_, Told::Ended { .. })) if end.status.success() => {}
        Some((_, Told::Failed { code, message })) => {
            course.problems.push(format!("a victim that was not killed failed: {code}: {message}"));
        }
        _ => course.problems.push(format!("a victim that was not killed ended with {}", end.spoken())),
    }
    Ok(course)
}
