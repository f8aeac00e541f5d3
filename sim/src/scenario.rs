//! What clients want of a thread, and in which setting.

use superstep::core::state::Draft;
use superstep::core::state::IntoDraft;

use crate::graphs::Drawing;
use crate::random::Random;
use crate::work::Work;

/// One thing a client wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    /// A run with an input.
    Input(u64),
    /// An update from outside, when the thread rests.
    Note(u64),
    /// Two runs at once, from two clients.
    Pair(u64, u64),
}

/// What is wanted of a thread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    drawing: Drawing,
    items: &'static [Item],
    /// An update from outside as soon as so many questions are open.
    note_at: Option<usize>,
}

const fn simple(name: &'static str, drawing: Drawing) -> Scenario {
    Scenario { name, drawing, items: &[Item::Input(1)], note_at: None }
}

/// Every scenario.
pub(crate) const SCENARIOS: [Scenario; 16] = [
    simple("chain", Drawing::Chain),
    simple("fan-out", Drawing::Fan),
    simple("sends", Drawing::Sends),
    simple("deferred", Drawing::Deferred),
    simple("question", Drawing::Question),
    simple("questions in one node", Drawing::Questions),
    simple("parallel questions", Drawing::Parallel),
    simple("inner graph", Drawing::Inner),
    simple("inner graph that stays", Drawing::Lodger),
    simple("recorded results", Drawing::Once),
    simple("retry and handler", Drawing::Retry),
    simple("waiting", Drawing::Wait),
    Scenario {
        name: "update between runs",
        drawing: Drawing::Chain,
        items: &[Item::Input(1), Item::Note(1), Item::Input(2)],
        note_at: None,
    },
    Scenario { note_at: Some(1), ..simple("update at a question", Drawing::Question) },
    Scenario { note_at: Some(1), ..simple("update between answers", Drawing::Parallel) },
    Scenario { name: "two clients", drawing: Drawing::Chain, items: &[Item::Pair(1, 2)], note_at: None },
];

/// Which scenario a seed has, by its remainder: each in turn, then those once more that are soon done.
const TURNS: [usize; 24] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 3, 4, 8, 9, 10, 11];

/// A scenario in a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) number: usize,
    pub(crate) items: Vec<Item>,
    pub(crate) laps: u64,
    pub(crate) width: u64,
    /// How many tasks may run at once.
    pub(crate) at_once: usize,
    /// Whether values come back from the disk as plain data.
    pub(crate) is_cold: bool,
}

impl Case {
    /// The case of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let number = TURNS[(seed % TURNS.len() as u64) as usize];
        let mut random = Random::apart(seed, u64::MAX - 1);
        let scenario = &SCENARIOS[number];
        let most_laps = if scenario.items.len() == 1 && scenario.items[0] == Item::Input(1) { 2 } else { 1 };
        Self {
            number,
            items: scenario.items.to_vec(),
            laps: 1 + u64::from(random.below(most_laps)),
            width: 12 + u64::from(random.below(3)),
            at_once: if random.one_in(4) { 2 } else { usize::MAX },
            is_cold: random.one_in(4),
        }
    }

    pub(crate) fn scenario(&self) -> &'static Scenario {
        &SCENARIOS[self.number]
    }

    pub(crate) fn drawing(&self) -> Drawing {
        self.scenario().drawing
    }

    /// The update from outside that is due while so many questions are open.
    pub(crate) fn note_at(&self, open: usize) -> Option<u64> {
        self.scenario().note_at.filter(|at| *at == open).map(|_| 1)
    }

    /// Whether questions are answered one by one.
    pub(crate) fn is_patient(&self) -> bool {
        self.scenario().note_at.is_some()
    }

    /// Whether two clients meet.
    pub(crate) fn is_pair(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Pair(..)))
    }

    /// The cases whose end is as good as that of this one: without faults, and one client after the other.
    pub(crate) fn models(&self) -> Vec<Self> {
        let calm = Self { at_once: usize::MAX, is_cold: false, ..self.clone() };
        match calm.items[..] {
            [Item::Pair(one, other)] => {
                let order =
                    |first, second| Self { items: vec![Item::Input(first), Item::Input(second)], ..calm.clone() };
                vec![order(one, other), order(other, one)]
            }
            _ => vec![calm],
        }
    }

    /// The input with this number.
    pub(crate) fn input(&self, number: u64) -> Draft {
        Work::input().inputs(number).laps(self.laps).width(self.width).round(0_u64).into_draft()
    }

    /// The inputs and notes that a thread has in the end.
    pub(crate) fn wanted(&self) -> (Vec<u64>, Vec<u64>) {
        let (mut inputs, mut notes) = (Vec::new(), Vec::new());
        for item in &self.items {
            match item {
                Item::Input(number) => inputs.push(*number),
                Item::Note(number) => notes.push(*number),
                Item::Pair(one, other) => inputs.extend([*one, *other]),
            }
        }
        notes.extend(self.scenario().note_at.map(|_| 1));
        inputs.sort_unstable();
        (inputs, notes)
    }
}
