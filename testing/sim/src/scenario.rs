//! The goals of the clients of a thread, and the parameters of a schedule.

use superstep::core::state::IntoUpdate;
use superstep::core::state::UncheckedUpdate;

use crate::graphs::GraphKind;
use crate::random::Random;
use crate::state::SimState;

/// One goal of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientStep {
    /// A run with an input.
    Input(u64),
    /// An external update while the thread is idle.
    Update(u64),
    /// Two concurrent runs of two clients.
    Pair(u64, u64),
}

/// The goals for a thread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    graph_kind: GraphKind,
    items: &'static [ClientStep],
    /// Number of open interrupts at which an external update is made.
    update_at: Option<usize>,
}

const fn simple(name: &'static str, graph_kind: GraphKind) -> Scenario {
    Scenario { name, graph_kind, items: &[ClientStep::Input(1)], update_at: None }
}

/// All scenarios.
pub(crate) const SCENARIOS: [Scenario; 16] = [
    simple("chain", GraphKind::Chain),
    simple("fan-out", GraphKind::FanOut),
    simple("sends", GraphKind::Sends),
    simple("deferred", GraphKind::Deferred),
    simple("interrupt", GraphKind::Interrupt),
    simple("interrupts in one node", GraphKind::ConsecutiveInterrupts),
    simple("parallel interrupts", GraphKind::Parallel),
    simple("subgraph", GraphKind::Subgraph),
    simple("subgraph with persistent state", GraphKind::PersistentSubgraph),
    simple("recorded results", GraphKind::Once),
    simple("retry and handler", GraphKind::Retry),
    simple("waiting", GraphKind::Wait),
    Scenario {
        name: "update between runs",
        graph_kind: GraphKind::Chain,
        items: &[ClientStep::Input(1), ClientStep::Update(1), ClientStep::Input(2)],
        update_at: None,
    },
    Scenario { update_at: Some(1), ..simple("update at an interrupt", GraphKind::Interrupt) },
    Scenario { update_at: Some(1), ..simple("update between resume values", GraphKind::Parallel) },
    Scenario { name: "two clients", graph_kind: GraphKind::Chain, items: &[ClientStep::Pair(1, 2)], update_at: None },
];

/// Scenarios by the remainder of the seed: each one once, then the short ones again.
const SCENARIO_BY_SEED: [usize; 24] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 3, 4, 8, 9, 10, 11];

/// A scenario with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScenarioInstance {
    pub(crate) number: usize,
    pub(crate) items: Vec<ClientStep>,
    pub(crate) rounds: u64,
    pub(crate) width: u64,
    /// Largest number of concurrent tasks.
    pub(crate) max_concurrency: usize,
    /// True if values are read from the disk as plain data.
    pub(crate) is_cold: bool,
}

impl ScenarioInstance {
    /// Returns the scenario of a seed.
    pub(crate) fn for_seed(seed: u64) -> Self {
        let number = SCENARIO_BY_SEED[(seed % SCENARIO_BY_SEED.len() as u64) as usize];
        let mut random = Random::for_stream(seed, u64::MAX - 1);
        let scenario = &SCENARIOS[number];
        let max_rounds = if scenario.items.len() == 1 && scenario.items[0] == ClientStep::Input(1) { 2 } else { 1 };
        Self {
            number,
            items: scenario.items.to_vec(),
            rounds: 1 + u64::from(random.below(max_rounds)),
            width: 12 + u64::from(random.below(3)),
            max_concurrency: if random.one_in(4) { 2 } else { usize::MAX },
            is_cold: random.one_in(4),
        }
    }

    pub(crate) fn scenario(&self) -> &'static Scenario {
        &SCENARIOS[self.number]
    }

    pub(crate) fn graph_kind(&self) -> GraphKind {
        self.scenario().graph_kind
    }

    /// Returns the external update to make while this number of interrupts is open.
    pub(crate) fn update_at(&self, open: usize) -> Option<u64> {
        self.scenario().update_at.filter(|at| *at == open).map(|_| 1)
    }

    /// Returns true if interrupts are resumed one by one.
    pub(crate) fn resumes_one_by_one(&self) -> bool {
        self.scenario().update_at.is_some()
    }

    /// Returns true if two clients run concurrently.
    pub(crate) fn is_pair(&self) -> bool {
        self.items.iter().any(|item| matches!(item, ClientStep::Pair(..)))
    }

    /// Returns the scenarios with equally correct results: without faults, and with one client after the other.
    pub(crate) fn fault_free_variants(&self) -> Vec<Self> {
        let fault_free = Self { max_concurrency: usize::MAX, is_cold: false, ..self.clone() };
        match fault_free.items[..] {
            [ClientStep::Pair(one, other)] => {
                let order = |first, second| Self {
                    items: vec![ClientStep::Input(first), ClientStep::Input(second)],
                    ..fault_free.clone()
                };
                vec![order(one, other), order(other, one)]
            }
            _ => vec![fault_free],
        }
    }

    /// Returns the input with this number.
    pub(crate) fn input(&self, number: u64) -> UncheckedUpdate {
        SimState::input().inputs(number).rounds(self.rounds).width(self.width).round(0_u64).into_update()
    }

    /// Returns the inputs and external updates that the thread must have at the end.
    pub(crate) fn expected_values(&self) -> (Vec<u64>, Vec<u64>) {
        let (mut inputs, mut notes) = (Vec::new(), Vec::new());
        for item in &self.items {
            match item {
                ClientStep::Input(number) => inputs.push(*number),
                ClientStep::Update(number) => notes.push(*number),
                ClientStep::Pair(one, other) => inputs.extend([*one, *other]),
            }
        }
        notes.extend(self.scenario().update_at.map(|_| 1));
        inputs.sort_unstable();
        (inputs, notes)
    }
}
