//! Measures one peer: the three workloads with what each must end with, both runtimes, the clocks, the JSON line.
//!
//! Knows no engine. A peer says how to make ready, how to run once, and how to look at the end; only the run is timed,
//! and a run that ends wrong is told as wrong beside its time.

mod clock;
mod workload;

use std::fmt::Display;

use serde_json::{Value, json};

use crate::clock::{Clocks, Spent};
pub use crate::workload::{End, FAN_OUT, LIST, Workload};

/// At least this many repetitions, after one that is not counted.
const REPETITIONS: usize = 7;
/// More repetitions of short units, until this many seconds are used or there are `MOST` of them.
const SECONDS: f64 = 0.5;
const MOST: usize = 41;

/// An engine in one version.
pub struct Peer {
    name: &'static str,
    version: &'static str,
}

/// How a peer does one workload.
pub struct Steps<R, U, L> {
    /// Makes what a repetition needs. Not timed.
    pub ready: R,
    /// One repetition. Timed.
    pub run: U,
    /// Looks at what a repetition ended with. Not timed.
    pub look: L,
}

impl Peer {
    pub fn new(name: &'static str, version: &'static str) -> Self {
        Self { name, version }
    }

    /// Measures a workload on both runtimes of tokio and prints a line for each.
    pub fn measure<G, T, E, R, U, L>(&self, workload: Workload, steps: &Steps<R, U, L>)
    where
        E: Display,
        R: AsyncFn() -> G,
        U: AsyncFn(&G) -> Result<T, E>,
        L: AsyncFn(&G, T) -> End,
    {
        for (runtime, mut builder) in [
            ("current_thread", tokio::runtime::Builder::new_current_thread()),
            ("multi_thread", tokio::runtime::Builder::new_multi_thread()),
        ] {
            let tokio = builder.worker_threads(2).enable_all().build().expect("the system gives a runtime its threads");
            let (times, wrong) = tokio.block_on(repeat(workload, steps));
            println!("{}", self.line(workload, runtime, &times, &wrong));
        }
    }

    /// Says that a peer has nothing to measure here, and why.
    pub fn lacks(&self, workload: Workload, why: &str) {
        println!(
            "{}",
            json!({ "peer": self.name, "version": self.version, "workload": workload.name(), "lacks": why })
        );
    }

    fn line(&self, workload: Workload, runtime: &str, times: &[Spent], wrong: &Option<String>) -> Value {
        json!({
            "peer": self.name, "version": self.version, "workload": workload.name(), "runtime": runtime,
            "executions": workload.executions(), "repetitions": times.len(),
            "cpu_s": clock::spread(times.iter().map(|spent| spent.cpu)),
            "wall_s": clock::spread(times.iter().map(|spent| spent.wall)),
            "ok": wrong.is_none(), "wrong": wrong,
        })
    }
}

/// The times of all repetitions, and the first thing that was wrong in any of them.
async fn repeat<G, T, E, R, U, L>(workload: Workload, steps: &Steps<R, U, L>) -> (Vec<Spent>, Option<String>)
where
    E: Display,
    R: AsyncFn() -> G,
    U: AsyncFn(&G) -> Result<T, E>,
    L: AsyncFn(&G, T) -> End,
{
    let (mut times, mut used, mut wrong) = (Vec::new(), 0.0, None);
    let mut is_warm = false;
    while times.len() < REPETITIONS || (used < SECONDS && times.len() < MOST) {
        let given = (steps.ready)().await;
        let clocks = Clocks::start();
        let result = (steps.run)(&given).await;
        let spent = clocks.read();
        let problem = match result {
            Ok(result) => workload.problem(&(steps.look)(&given, result).await),
            Err(error) => Some(format!("failed: {error}")),
        };
        wrong = wrong.or(problem);
        if is_warm {
            times.push(spent);
            used += spent.cpu.max(spent.wall);
        }
        is_warm = true;
    }
    (times, wrong)
}
