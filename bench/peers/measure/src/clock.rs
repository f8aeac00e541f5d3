//! The two clocks: wall time, and the CPU time of all threads of this process.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// Elapsed seconds on both clocks.
#[derive(Clone, Copy)]
pub(crate) struct Elapsed {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

pub(crate) struct Clocks {
    wall: Instant,
    cpu: f64,
}

impl Clocks {
    pub(crate) fn start() -> Self {
        Self { cpu: cpu_now(), wall: Instant::now() }
    }

    pub(crate) fn read(&self) -> Elapsed {
        Elapsed { wall: self.wall.elapsed().as_secs_f64(), cpu: cpu_now() - self.cpu }
    }
}

fn cpu_now() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns minimum, median and maximum.
pub(crate) fn spread(seconds: impl Iterator<Item = f64>) -> Value {
    let mut sorted: Vec<f64> = seconds.collect();
    sorted.sort_by(f64::total_cmp);
    let (middle, last) = (sorted.len() / 2, sorted.len() - 1);
    let median = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
    json!({ "min": sorted[0], "median": median, "max": sorted[last] })
}
