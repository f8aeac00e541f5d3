//! The fault of a schedule, and the schedules of a seed.

use std::fmt;

use superstep::ErrorCode;

use crate::random::Random;

/// The fault of a schedule. Await points and calls of the checkpointer are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FaultPlan {
    /// No fault.
    NoFault,
    /// No fault, but tasks end in another order.
    Reorder,
    /// The process crashes at an await point.
    Crash { at: u32 },
    /// The process crashes at an await point, and so does the next one.
    CrashTwice { at: u32, then: u32 },
    /// The process crashes, and the next one generates the same ids.
    IdConflict { at: u32 },
    /// Another process takes over the thread while the first one continues.
    TakeOver { at: u32 },
    /// The run is cancelled.
    Cancel { at: u32 },
    /// The run is drained.
    Drain { at: u32 },
    /// A call of the checkpointer fails.
    Store { call: u32, fault: StoreFault },
}

/// Kind of a checkpointer failure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StoreFault {
    /// True if all later calls fail too, until the checkpointer is repaired.
    pub(crate) persists: bool,
    /// True if the call takes effect and only its response is lost.
    pub(crate) applied: bool,
    /// Error code of the failure.
    pub(crate) code: ErrorCode,
}

/// Error codes of failures, which must not make a difference for the run.
const FAULT_CODES: [ErrorCode; 4] =
    [ErrorCode::StoreUnavailable, ErrorCode::Timeout, ErrorCode::TooLarge, ErrorCode::Internal];

impl fmt::Display for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFault => f.write_str("no fault"),
            Self::Reorder => f.write_str("no fault, tasks end in another order"),
            Self::Crash { at } => write!(f, "crash at await {at}"),
            Self::CrashTwice { at, then } => write!(f, "crash at await {at}, and at await {then} of the recovery"),
            Self::IdConflict { at } => write!(f, "crash at await {at}, and the next process generates the same ids"),
            Self::TakeOver { at } => write!(f, "takeover at await {at}"),
            Self::Cancel { at } => write!(f, "cancel at await {at}"),
            Self::Drain { at } => write!(f, "drain at await {at}"),
            Self::Store { call, fault } => {
                let (persists, applied) = (fault.persists, fault.applied);
                let duration = if persists { "fails from then on" } else { "fails" };
                let effect = if applied { "its response is lost" } else { "it has no effect" };
                write!(f, "checkpointer call {call} {duration} with {}, {effect}", fault.code)
            }
        }
    }
}

/// Number of await points up to which a second crash is tried at every one of the recovery.
const MAX_AWAITS_FOR_ALL_SECOND_CRASHES: u32 = 30;
/// Number of random points at which a run is cancelled.
const CANCEL_POINTS: u32 = 16;

/// Counts of a run without faults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BaselineCounts {
    pub(crate) awaits: u32,
    pub(crate) calls: u32,
}

/// Faults that the scenario of a seed supports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScenarioLimits {
    /// True if a previous lease holder may continue concurrently.
    pub(crate) takeover: bool,
}

/// Returns the schedules of a seed that depend only on the run without faults: all except second crashes.
pub(crate) fn plans(seed: u64, baseline: BaselineCounts, limits: ScenarioLimits) -> Vec<FaultPlan> {
    let mut random = Random::for_stream(seed, u64::MAX);
    let mut plans = vec![FaultPlan::Reorder; 3];
    plans.extend((1..=baseline.awaits).map(|at| FaultPlan::Crash { at }));
    if limits.takeover {
        plans.extend((1..=baseline.awaits).map(|at| FaultPlan::TakeOver { at }));
    }
    let mut points = |count: u32, plan: fn(u32) -> FaultPlan, plans: &mut Vec<FaultPlan>| {
        plans.extend((0..count).map(|_| plan(random.below(baseline.awaits) + 1)));
    };
    points(CANCEL_POINTS, |at| FaultPlan::Cancel { at }, &mut plans);
    points(2, |at| FaultPlan::Drain { at }, &mut plans);
    points(2, |at| FaultPlan::IdConflict { at }, &mut plans);
    for call in 1..=baseline.calls {
        for (persists, applied) in [(false, false), (false, true), (true, false), (true, true)] {
            let code = FAULT_CODES[random.below(FAULT_CODES.len() as u32) as usize];
            plans.push(FaultPlan::Store { call, fault: StoreFault { persists, applied, code } });
        }
    }
    plans
}

/// Returns second crashes after a first one whose recovery had this number of await points.
pub(crate) fn second_crashes(seed: u64, baseline: BaselineCounts, at: u32, recovery: u32) -> Vec<FaultPlan> {
    if recovery == 0 {
        return Vec::new();
    }
    if baseline.awaits <= MAX_AWAITS_FOR_ALL_SECOND_CRASHES {
        return (1..=recovery).map(|then| FaultPlan::CrashTwice { at, then }).collect();
    }
    let then = Random::for_stream(seed, u64::from(at) << 32).below(recovery) + 1;
    vec![FaultPlan::CrashTwice { at, then }]
}
