//! What goes wrong in a schedule, and which schedules a seed has.

use std::fmt;

use superstep::Code;

use crate::random::Random;

/// What goes wrong in a schedule. Await points and calls of the store are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Plan {
    /// Nothing.
    Calm,
    /// Nothing, but tasks end in another order.
    Reorder,
    /// The process dies at an await point.
    Crash { at: u32 },
    /// The process dies, and so does the next one, at an await point of its own.
    CrashTwice { at: u32, then: u32 },
    /// The process dies, and the next one makes the same ids again.
    Clash { at: u32 },
    /// Another process takes the thread over, and the first does not know.
    TakeOver { at: u32 },
    /// The run is cancelled.
    Cancel { at: u32 },
    /// The run is asked to stop at the next step boundary.
    Drain { at: u32 },
    /// A call of the store fails.
    Store { call: u32, fault: StoreFault },
}

/// How a call of the store fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StoreFault {
    /// All later calls fail too, until the store is repaired.
    pub(crate) lasts: bool,
    /// It happened all the same, and only the answer was lost.
    pub(crate) kept: bool,
    /// What the store says.
    pub(crate) code: Code,
}

/// What a failing store says; the run must not care.
const CODES: [Code; 4] = [Code::StoreUnavailable, Code::Timeout, Code::TooLarge, Code::Internal];

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calm => f.write_str("nothing goes wrong"),
            Self::Reorder => f.write_str("nothing goes wrong, in another order"),
            Self::Crash { at } => write!(f, "crash at await {at}"),
            Self::CrashTwice { at, then } => write!(f, "crash at await {at}, and at await {then} of the recovery"),
            Self::Clash { at } => write!(f, "crash at await {at}, and the next process makes the same ids"),
            Self::TakeOver { at } => write!(f, "takeover at await {at}"),
            Self::Cancel { at } => write!(f, "cancel at await {at}"),
            Self::Drain { at } => write!(f, "drain at await {at}"),
            Self::Store { call, fault } => {
                let (lasts, kept) = (fault.lasts, fault.kept);
                let how = if lasts { "fails from then on" } else { "fails" };
                let what = if kept { "the answer is lost" } else { "nothing is done" };
                write!(f, "store call {call} {how} with {}, {what}", fault.code)
            }
        }
    }
}

/// Up to this many await points, a second crash is tried at every one of the recovery.
const SMALL: u32 = 30;
/// How many seeded points a run is cancelled at.
const POINTS: u32 = 16;

/// What is known of a run without faults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length {
    pub(crate) awaits: u32,
    pub(crate) calls: u32,
}

/// What the scenario of a seed can stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fit {
    /// Whether a former owner may go on beside the next.
    pub(crate) takeover: bool,
}

/// The schedules of a seed that depend on the run without faults only: all but the second crashes.
pub(crate) fn plans(seed: u64, length: Length, fit: Fit) -> Vec<Plan> {
    let mut random = Random::apart(seed, u64::MAX);
    let mut plans = vec![Plan::Reorder; 3];
    plans.extend((1..=length.awaits).map(|at| Plan::Crash { at }));
    if fit.takeover {
        plans.extend((1..=length.awaits).map(|at| Plan::TakeOver { at }));
    }
    let mut points = |many: u32, plan: fn(u32) -> Plan, plans: &mut Vec<Plan>| {
        plans.extend((0..many).map(|_| plan(random.below(length.awaits) + 1)));
    };
    points(POINTS, |at| Plan::Cancel { at }, &mut plans);
    points(2, |at| Plan::Drain { at }, &mut plans);
    points(2, |at| Plan::Clash { at }, &mut plans);
    for call in 1..=length.calls {
        for (lasts, kept) in [(false, false), (false, true), (true, false), (true, true)] {
            let code = CODES[random.below(CODES.len() as u32) as usize];
            plans.push(Plan::Store { call, fault: StoreFault { lasts, kept, code } });
        }
    }
    plans
}

/// Second crashes after a first one whose recovery had so many await points.
pub(crate) fn second_crashes(seed: u64, length: Length, at: u32, recovery: u32) -> Vec<Plan> {
    if recovery == 0 {
        return Vec::new();
    }
    if length.awaits <= SMALL {
        return (1..=recovery).map(|then| Plan::CrashTwice { at, then }).collect();
    }
    let then = Random::apart(seed, u64::from(at) << 32).below(recovery) + 1;
    vec![Plan::CrashTwice { at, then }]
}
