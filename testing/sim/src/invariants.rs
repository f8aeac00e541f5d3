//! The invariants of every schedule, and counters that show that each invariant was checked.

use std::fmt;

/// A violation of an invariant in a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The violated invariant.
    pub(crate) rule: Rule,
    /// Description of the violation.
    pub(crate) text: String,
}

/// Result of a check.
pub(crate) type CheckResult = Result<(), Violation>;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $counter:ident;)*) => {
        /// An invariant, with the guarantee of `book/src/guarantees.md` that it belongs to.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Rule { $($(#[$doc])* $name,)* }

        impl Rule {
            /// All invariants.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the number of the guarantee and the text of the invariant.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Returns the counter of situations in which the invariant could have been violated.
            pub(crate) const fn checked_by(self) -> Counter {
                match self { $(Self::$name => Counter::$counter,)* }
            }
        }
    };
}

rules! {
    /// Readers see complete supersteps only.
    CompleteSupersteps = "guarantee 1: readers see complete supersteps", Reads;
    /// Everything reported is saved.
    ReportedIsSaved = "guarantee 2: everything reported is saved", ReportsChecked;
    /// A finished task does not run again.
    FinishedNotRerun = "guarantee 3: a finished task never runs again", ResultsReused;
    /// A task has one idempotency key.
    OneKey = "guarantee 4: a task has one idempotency key", SecondExecutions;
    /// A recorded result is not computed again.
    OnceNotRepeated = "guarantee 4: a recorded result is not computed again", RecordsReused;
    /// Every accepted run ends.
    Ends = "guarantee 5: an accepted run ends", Recoveries;
    /// A stale lease does not write.
    OneWriter = "guarantee 6: a stale lease never writes", StaleLeasesRejected;
    /// Task order and faults do not change the history.
    HistoryUnchanged = "guarantee 7: faults do not change the history", HistoriesCompared;
    /// A resume value is applied once.
    ResumedOnce = "guarantee 8: a resume value is applied once", SecondResumesRejected;
    /// Cancellation keeps finished tasks.
    CancelKeepsResults = "guarantee 10: cancellation keeps finished tasks", CancelsEnded;
    /// A failing checkpointer is never reported as success.
    FailureReported = "guarantee 11: a failing checkpointer is never reported as success", StoreFailures;
}

impl Rule {
    /// Returns a violation of this invariant.
    pub(crate) fn broken<T>(self, text: impl Into<String>) -> Result<T, Violation> {
        Err(Violation { rule: self, text: text.into() })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A counter.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Counter { $($(#[$doc])* $name,)* }

        impl Counter {
            /// All counters in the order of the report.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the name of the counter in the report.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

counters! {
    /// Executed schedules.
    Schedules = "schedules";
    /// Passed await points.
    Awaits = "await points";
    /// Calls of the checkpointer.
    Calls = "checkpointer calls";
    /// Process crashes.
    Crashes = "crashes";
    /// Process crashes during recovery.
    DoubleCrashes = "double crashes";
    /// Threads taken over from a process that continued.
    Takeovers = "takeovers";
    /// Finished tasks started again by a previous lease holder.
    ZombieStarts = "tasks started by a previous lease holder";
    /// Commits rejected because of a stale lease.
    StaleLeasesRejected = "stale leases rejected";
    /// Cancelled runs.
    Cancels = "cancels";
    /// Runs that ended as cancelled.
    CancelsEnded = "runs ended as cancelled";
    /// Drained runs.
    Drains = "drains";
    /// Failed calls of the checkpointer.
    StoreFailures = "checkpointer failures";
    /// Commits that took effect although an error was returned.
    UnknownCommits = "commits with unknown outcome";
    /// Schedules with such a commit that ended correctly.
    UnknownResolved = "commits with unknown outcome resolved";
    /// Checkpoints rejected because their id exists.
    IdConflictsRejected = "id conflicts rejected";
    /// Client restarts.
    Recoveries = "recoveries";
    /// Reads by other processes during a run.
    Reads = "reads by others";
    /// Results and events compared with the stored data.
    ReportsChecked = "reports checked";
    /// Results that were found in the stored data and not computed again.
    ResultsReused = "saved results reused";
    /// Repeated executions of a task.
    SecondExecutions = "repeated executions";
    /// Recorded results that were used instead of new ones.
    RecordsReused = "recorded results reused";
    /// Saved resume values.
    ResumesSaved = "resume values saved";
    /// Rejected second resume values of an interrupt.
    SecondResumesRejected = "second resume values rejected";
    /// Histories compared with the history without faults.
    HistoriesCompared = "histories compared";
}

/// Values of all counters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counters([u64; Counter::ALL.len()]);

impl Counters {
    /// Increments a counter.
    pub(crate) fn count(&mut self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Adds to a counter.
    pub(crate) fn add(&mut self, counter: Counter, more: u64) {
        self.0[counter as usize] += more;
    }

    /// Returns the value of a counter.
    pub(crate) fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// Adds the values of other counters.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Returns the invariants that were never checked.
    pub(crate) fn unchecked(&self) -> Vec<Rule> {
        Rule::ALL.iter().copied().filter(|rule| self.get(rule.checked_by()) == 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchecked_invariant_is_named() {
        let mut counters = Counters::default();
        assert_eq!(counters.unchecked(), Rule::ALL);
        Rule::ALL.iter().skip(1).for_each(|rule| counters.count(rule.checked_by()));
        assert_eq!(counters.unchecked(), [Rule::CompleteSupersteps]);
        let mut twice = counters.clone();
        twice.merge(&counters);
        assert_eq!(twice.get(Counter::ReportsChecked), 2);
    }
}
