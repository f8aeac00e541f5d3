//! Workloads and their expected results.

/// Final length of the list of the loop.
pub const LIST: i64 = 100;
/// Number of workers of the fan-out.
pub const FAN_OUT: i64 = 100;
/// Number of invocations of the fan-out in one repetition.
const INVOKES: i64 = 100;

/// One of the three workloads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// a → b → c and back to a while the counter is below the limit. Each node reads the counter and writes it plus
    /// 1; while the counter is below `LIST` it also appends it to the list, by a reducer.
    Loop,
    /// source → `FAN_OUT` workers in one superstep → join, repeatedly. Worker k adds k to the counter and appends k
    /// to the list, both by reducers; the source and the join add 1 to the counter each.
    FanOut,
    /// The loop with the peer's in-memory checkpointer; every node is saved before the next one runs.
    LoopCheckpointed,
}

/// Result of a run.
pub struct End {
    pub counter: i64,
    pub list: Vec<i64>,
    /// Number of checkpoints in the checkpointer afterwards, if there is one.
    pub checkpoints: Option<usize>,
}

impl End {
    pub fn unsaved(counter: i64, list: Vec<i64>) -> Self {
        Self { counter, list, checkpoints: None }
    }

    pub fn saved(counter: i64, list: Vec<i64>, checkpoints: usize) -> Self {
        Self { counter, list, checkpoints: Some(checkpoints) }
    }
}

impl Workload {
    pub fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::FanOut => "fanout",
            Self::LoopCheckpointed => "loop_ckpt",
        }
    }

    /// Returns the number of invocations in one repetition.
    pub fn invokes(self) -> i64 {
        if self == Self::FanOut { INVOKES } else { 1 }
    }

    /// Returns the limit of the loop counter; not used by the fan-out.
    pub fn limit(self) -> i64 {
        if self == Self::Loop { 10_002 } else { 1_002 }
    }

    /// Returns the number of node executions in one repetition.
    pub fn executions(self) -> i64 {
        match self {
            Self::Loop | Self::LoopCheckpointed => self.limit(),
            Self::FanOut => (FAN_OUT + 2) * INVOKES,
        }
    }

    /// Returns the difference between a result and the expected one, if there is any.
    pub(crate) fn mismatch(self, end: &End) -> Option<String> {
        let (counter, length) = match self {
            Self::Loop | Self::LoopCheckpointed => (self.limit(), LIST),
            Self::FanOut => ((0..FAN_OUT).sum::<i64>() + 2, FAN_OUT),
        };
        if end.counter != counter {
            return Some(format!("the counter is {} and not {counter}", end.counter));
        }
        if !end.list.iter().copied().eq(0..length) {
            let mut sorted = end.list.clone();
            sorted.sort_unstable();
            let is_order = sorted.into_iter().eq(0..length);
            return Some(if is_order { "the list is out of order" } else { "the list lacks items" }.to_owned());
        }
        let saved = end.checkpoints.and_then(|saved| i64::try_from(saved).ok());
        match saved {
            Some(saved) if saved < self.executions() => Some(format!("{saved} checkpoints for {counter} executions")),
            None if self == Self::LoopCheckpointed => Some("nothing is saved".to_owned()),
            _ => None,
        }
    }
}
