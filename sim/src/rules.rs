//! What must hold in every schedule, and what is counted so that each rule is known to have been tried.

use std::fmt;

/// What went wrong in a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The rule that was broken.
    pub(crate) rule: Rule,
    /// What happened.
    pub(crate) text: String,
}

/// Whether a rule was kept.
pub(crate) type Verdict = Result<(), Violation>;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $proof:ident;)*) => {
        /// A rule, after the promise it belongs to.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Rule { $($(#[$doc])* $name,)* }

        impl Rule {
            /// Every rule.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// The promise and what it says.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What is counted whenever the rule could have been broken.
            pub(crate) const fn tried_by(self) -> Fact {
                match self { $(Self::$name => Fact::$proof,)* }
            }
        }
    };
}

rules! {
    /// Readers see whole steps only.
    WholeSteps = "P1 readers see whole steps", Reads;
    /// What was told is saved.
    ToldIsSaved = "P2 what was told is saved", Told;
    /// What is finished does not run again.
    DoneIsDone = "P3 a finished task never runs again", KeptResults;
    /// A task has one key.
    OneKey = "P4 one key for all executions of a task", SecondExecutions;
    /// A recorded result is not made again.
    OnceIsOnce = "P4 what is recorded is not done again", RecordsServed;
    /// Everything ends.
    Ends = "P5 an accepted run ends", Recoveries;
    /// A stale lease does not write.
    OneWriter = "P6 a stale fence never writes", FencesRefused;
    /// Order and faults do not show.
    SameLine = "P8 the same checkpoints whatever happened", LinesCompared;
    /// An answer counts once.
    AnsweredOnce = "P9 an answer is applied once", SecondAnswersRefused;
    /// Cancelling leaves a clean thread.
    CleanCancel = "P11 cancelling keeps what is finished", CancelsEnded;
    /// A failing store is no success.
    LoudFailure = "P12 a failing store is never a success", StoreFailures;
}

impl Rule {
    /// That the rule was broken, and how.
    pub(crate) fn broken<T>(self, text: impl Into<String>) -> Result<T, Violation> {
        Err(Violation { rule: self, text: text.into() })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! facts {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// Something that is counted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Fact { $($(#[$doc])* $name,)* }

        impl Fact {
            /// Everything that is counted, in the order of the report.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in the report.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

facts! {
    /// Schedules that ran.
    Schedules = "schedules";
    /// Await points that were passed.
    Awaits = "await points";
    /// Calls of the store.
    Calls = "store calls";
    /// Processes that died.
    Crashes = "crashes";
    /// Processes that died while they recovered.
    DoubleCrashes = "double crashes";
    /// Threads that were taken over from a process that went on.
    Takeovers = "takeovers";
    /// Tasks that a former owner started although they were done.
    ZombieStarts = "tasks started by a former owner";
    /// Commits that were refused because their lease was stale.
    FencesRefused = "fences refused";
    /// Runs that were cancelled.
    Cancels = "cancels";
    /// Runs that ended as cancelled.
    CancelsEnded = "runs ended as cancelled";
    /// Runs that were asked to stop at a boundary.
    Drains = "drains";
    /// Calls of the store that failed.
    StoreFailures = "store failures";
    /// Commits that happened although the store said they failed.
    UnknownCommits = "unknown commits";
    /// Schedules with such a commit that ended as they should.
    UnknownResolved = "unknown commits resolved";
    /// Checkpoints that were refused because another has their id.
    ClashesRefused = "id clashes refused";
    /// Times that a client had to start again.
    Recoveries = "recoveries";
    /// Reads in the middle of a run.
    Reads = "reads by others";
    /// Results and events that were held against the disk.
    Told = "things told and checked";
    /// Results that were found on the disk and not made again.
    KeptResults = "kept results found";
    /// Executions of a task that had run before.
    SecondExecutions = "second executions";
    /// Recorded results that were given in place of a second one.
    RecordsServed = "records served";
    /// Answers that were saved.
    Answers = "answers saved";
    /// Second answers to a question.
    SecondAnswersRefused = "second answers refused";
    /// Histories that were held against the one without faults.
    LinesCompared = "histories compared";
}

/// How often things happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally([u64; Fact::ALL.len()]);

impl Tally {
    /// One more.
    pub(crate) fn count(&mut self, fact: Fact) {
        self.add(fact, 1);
    }

    /// So many more.
    pub(crate) fn add(&mut self, fact: Fact, more: u64) {
        self.0[fact as usize] += more;
    }

    /// How often it happened.
    pub(crate) fn of(&self, fact: Fact) -> u64 {
        self.0[fact as usize]
    }

    /// Adds what another tally counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The rules that nothing has put to the test.
    pub(crate) fn untried(&self) -> Vec<Rule> {
        Rule::ALL.iter().copied().filter(|rule| self.of(rule.tried_by()) == 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_nobody_tried_is_named() {
        let mut tally = Tally::default();
        assert_eq!(tally.untried(), Rule::ALL);
        Rule::ALL.iter().skip(1).for_each(|rule| tally.count(rule.tried_by()));
        assert_eq!(tally.untried(), [Rule::WholeSteps]);
        let mut twice = tally.clone();
        twice.merge(&tally);
        assert_eq!(twice.of(Fact::Told), 2);
    }
}
