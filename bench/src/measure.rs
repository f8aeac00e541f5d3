//! Time measurement: repetitions of units on the wall clock and the CPU clock of the process, and the JSON line
//! with the result.
//!
//! The rules are those of the suite: a warm-up, then repetitions until the budget is used; short units are run
//! several times in one repetition, and the time is divided.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::runtime::Runtime;

/// Times of one unit over all repetitions.
pub(crate) struct Times {
    wall: Vec<f64>,
    cpu: Vec<f64>,
    iterations: u32,
}

/// Limits of a measurement.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) repetitions: usize,
    /// Maximum number of units in one repetition.
    pub(crate) iterations: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { repetitions: 25, iterations: u32::MAX }
    }
}

/// Times units back to back.
pub(crate) fn time_batches<T>(mut unit: impl FnMut() -> T) -> (Times, T) {
    time_with_setup(Bounds::default(), || (), |()| unit())
}

/// Times units back to back, with an untimed setup before each repetition.
pub(crate) fn time_with_setup<A, T>(
    bounds: Bounds,
    mut setup: impl FnMut() -> A,
    mut unit: impl FnMut(&A) -> T,
) -> (Times, T) {
    repeat(bounds, |iterations| {
        let input = setup();
        let clock = Clocks::start();
        let mut last = unit(&input);
        for _ in 1..iterations {
            last = unit(&input);
        }
        (clock.read(), last)
    })
}

/// Times each unit on its own, with an untimed setup before and drop after it.
pub(crate) fn time_each<A, T>(mut setup: impl FnMut() -> A, mut unit: impl FnMut(&A) -> T) -> (Times, (A, T)) {
    repeat(Bounds::default(), |iterations| {
        let mut sum = Elapsed::default();
        let mut time_one = || {
            let input = setup();
            let clock = Clocks::start();
            let result = unit(&input);
            let spent = clock.read();
            (sum.wall, sum.cpu) = (sum.wall + spent.wall, sum.cpu + spent.cpu);
            (input, result)
        };
        let mut last = Some(time_one());
        for _ in 1..iterations {
            // Dropped before the next unit, so that peak memory covers only one.
            drop(last.take());
            last = Some(time_one());
        }
        (sum, last.expect("a unit was run"))
    })
}

/// Repeats a measurement; `call` runs the given number of units and returns their total time.
fn repeat<T>(bounds: Bounds, mut call: impl FnMut(u32) -> (Elapsed, T)) -> (Times, T) {
    let budget = budget();
    let mut times = Times { wall: Vec::new(), cpu: Vec::new(), iterations: 1 };
    let (first, last) = call(1);
    let (mut used, mut last) = (first.cpu, Some(last));
    let unit = first.cpu.max(first.wall).max(1e-8);
    if first.cpu >= 2.0 || first.wall >= 6.0 {
        times.add(first);
    } else if unit < 0.02 {
        let trial_iterations = ((0.005 / unit).ceil() as u32).clamp(1, bounds.iterations);
        drop(last.take());
        let cpu = call(trial_iterations).0.cpu / f64::from(trial_iterations);
        times.iterations = ((0.05 / cpu.max(1e-9)).ceil() as u32).clamp(1, bounds.iterations);
    }
    while times.wall.len() < bounds.repetitions {
        let is_enough = times.wall.len() >= 5 && used >= budget;
        let is_too_much = !times.wall.is_empty() && used >= 4.0 * budget;
        if is_enough || is_too_much {
            break;
        }
        drop(last.take());
        let (spent, result) = call(times.iterations);
        times.add(spent);
        used += spent.cpu;
        last = Some(result);
    }
    (times, last.expect("the budget allows a repetition"))
}

fn budget() -> f64 {
    std::env::var("BENCH_BUDGET_S").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(3.0)
}

impl Times {
    /// Returns the CPU seconds of the fastest repetition.
    pub(crate) fn min_cpu(&self) -> f64 {
        self.cpu.iter().copied().fold(f64::MAX, f64::min)
    }

    fn add(&mut self, spent: Elapsed) {
        self.wall.push(spent.wall / f64::from(self.iterations));
        self.cpu.push(spent.cpu / f64::from(self.iterations));
    }
}

/// Elapsed seconds on both clocks.
#[derive(Clone, Copy, Default)]
struct Elapsed {
    wall: f64,
    cpu: f64,
}

struct Clocks {
    wall: Instant,
    cpu: f64,
}

impl Clocks {
    fn start() -> Self {
        Self { cpu: cpu_now(), wall: Instant::now() }
    }

    fn read(&self) -> Elapsed {
        Elapsed { wall: self.wall.elapsed().as_secs_f64(), cpu: cpu_now() - self.cpu }
    }
}

/// Returns the CPU seconds of all threads of this process.
pub(crate) fn cpu_now() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the peak memory of this process in MB; `ru_maxrss` would include that of the parent.
pub(crate) fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|value| value.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (kilobytes / 1024.0 * 10.0).round() / 10.0
}

pub(crate) fn spread(values: &[f64]) -> Value {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (middle, last) = (sorted.len() / 2, sorted.len() - 1);
    let median = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
    json!({ "min": sorted[0], "median": median, "max": sorted[last] })
}

/// Results of a workload other than its times.
pub(crate) struct Report {
    pub(crate) params: Value,
    pub(crate) result: Value,
    pub(crate) bytes: Option<u64>,
    pub(crate) extra: Value,
}

impl Report {
    pub(crate) fn new(params: Value, result: Value) -> Self {
        Self { params, result, bytes: None, extra: json!({}) }
    }

    pub(crate) fn print(self, id: &str, runtime: &Runtime, times: &Times) {
        let line = json!({
            "peer": "ours", "variant": runtime.variant, "workload": id, "params": self.params,
            "reps": times.wall.len(), "iters": times.iterations,
            "wall_s": spread(&times.wall), "cpu_s": spread(&times.cpu),
            "peak_rss_mb": peak_rss_mb(), "bytes": self.bytes, "result": self.result, "extra": self.extra,
        });
        println!("{line}");
    }
}
