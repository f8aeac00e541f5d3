//! All schedules of one seed.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use superstep::core::error::panic_message;

use crate::client::{Client, ProcessGraphs};
use crate::fault_plan::{BaselineCounts, FaultPlan, ScenarioLimits, plans, second_crashes};
use crate::graphs::GraphKind;
use crate::history::{HistoryMatcher, ThreadHistory};
use crate::invariants::{Counter, Counters, Rule, Violation};
use crate::scenario::ScenarioInstance;
use crate::schedule::{ScheduleResult, perform};
use crate::simulation::SimulationState;

/// State that a worker reuses between schedules: its graphs, and the correct histories.
pub(crate) struct SeedWorker {
    graphs: Vec<Arc<ProcessGraphs>>,
    expected: Mutex<BTreeMap<BaselineKey, Arc<[ThreadHistory]>>>,
}

/// Key of the correct histories: scenario, rounds and width.
type BaselineKey = (usize, u64, u64);

/// A violation and the schedule in which it occurred.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoundViolation {
    pub(crate) seed: u64,
    pub(crate) schedule: u32,
    pub(crate) scenario: &'static str,
    pub(crate) plan: FaultPlan,
    pub(crate) violation: Violation,
}

/// Result of a seed.
#[derive(Default)]
pub(crate) struct SeedResult {
    pub(crate) counters: Counters,
    pub(crate) violation: Option<FoundViolation>,
    /// Trace of the selected schedule.
    pub(crate) trace: Vec<String>,
}

impl SeedWorker {
    pub(crate) fn new() -> superstep::Result<Self> {
        let compile_three =
            |graph_kind: &GraphKind| Ok([graph_kind.compile()?, graph_kind.compile()?, graph_kind.compile()?].into());
        let graphs = GraphKind::ALL.iter().map(compile_three).collect::<superstep::Result<_>>()?;
        Ok(Self { graphs, expected: Mutex::default() })
    }

    fn client(&self, case: &ScenarioInstance) -> Client {
        Client { case: Arc::new(case.clone()), graphs: self.graphs[case.graph_kind() as usize].clone() }
    }

    /// Returns the correct histories of a scenario: those of runs without faults, in graph order.
    async fn expected(&self, case: &ScenarioInstance) -> Result<Arc<[ThreadHistory]>, Violation> {
        let key = (case.number, case.rounds, case.width);
        let cached = self.expected.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(cached) = cached {
            return Ok(cached);
        }
        let mut histories = Vec::new();
        for variant in case.fault_free_variants() {
            let result = perform_catching_panics(
                &self.client(&variant),
                SimulationState::new(0, 0, FaultPlan::NoFault, HistoryMatcher::default()),
            )
            .await;
            result.violation.map_or(Ok(()), Err)?;
            histories.push(result.history);
        }
        let histories: Arc<[ThreadHistory]> = histories.into();
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).insert(key, histories.clone());
        Ok(histories)
    }
}

/// Runs a schedule; a panic of the engine counts as a violation.
async fn perform_catching_panics(client: &Client, state: SimulationState) -> ScheduleResult {
    let mut schedule = pin!(perform(client, state));
    std::future::poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| schedule.as_mut().poll(context))).unwrap_or_else(|panic| {
            let text = format!("the engine panicked: {}", panic_message(&*panic));
            Poll::Ready(ScheduleResult::failed(Violation { rule: Rule::Ends, text }))
        })
    })
    .await
}

/// Runs the schedules of a seed, all of them or up to the traced one. Stops at a violation.
pub(crate) async fn perform_seed(worker: Arc<SeedWorker>, seed: u64, traced: Option<u32>) -> SeedResult {
    let case = ScenarioInstance::for_seed(seed);
    let mut seed_run = SeedRun { seed, traced, client: worker.client(&case), result: SeedResult::default() };
    match worker.expected(&case).await {
        Ok(expected) => seed_run.perform(&expected).await,
        Err(violation) => {
            seed_run.result.counters.count(Counter::Schedules);
            seed_run.record_violation(0, FaultPlan::NoFault, violation);
        }
    }
    seed_run.result
}

/// A seed in progress.
struct SeedRun {
    seed: u64,
    traced: Option<u32>,
    client: Client,
    result: SeedResult,
}

impl SeedRun {
    async fn perform(&mut self, expected: &Arc<[ThreadHistory]>) {
        let Some(fault_free) = self.run_schedule(0, FaultPlan::NoFault, expected).await else { return };
        let baseline = BaselineCounts { awaits: fault_free.awaits, calls: fault_free.calls };
        let mut queue = plans(self.seed, baseline, ScenarioLimits { takeover: !self.client.case.is_pair() });
        let mut number = 0;
        while let Some(plan) = queue.get(number).copied() {
            number += 1;
            let Some(result) = self.run_schedule(number as u32, plan, expected).await else { return };
            if let FaultPlan::Crash { at } = plan {
                queue.extend(second_crashes(self.seed, baseline, at, result.recovery));
            }
        }
    }

    /// Runs one schedule. Returns `None` if no further schedule is needed.
    async fn run_schedule(
        &mut self,
        number: u32,
        plan: FaultPlan,
        expected: &Arc<[ThreadHistory]>,
    ) -> Option<ScheduleResult> {
        // A queued run starts after the run before it has failed, and drops the next tasks of that run.
        let loses_next_tasks =
            matches!(plan, FaultPlan::Store { .. } | FaultPlan::Cancel { .. } | FaultPlan::Drain { .. });
        let expected = Some(expected.clone()).filter(|_| !(loses_next_tasks && self.client.case.is_pair()));
        let mut state = SimulationState::new(self.seed, number, plan, HistoryMatcher::new(expected));
        let is_traced = self.traced == Some(number);
        state.trace = is_traced.then(|| vec![self.title(plan)]);
        let mut result = perform_catching_panics(&self.client, state).await;
        self.result.counters.merge(&result.counters);
        if let Some(violation) = result.violation.take() {
            self.record_violation(number, plan, violation);
        }
        self.result.trace = std::mem::take(&mut result.trace);
        (self.result.violation.is_none() && !is_traced).then_some(result)
    }

    fn title(&self, plan: FaultPlan) -> String {
        format!("{:?}: {plan}", self.client.case)
    }

    fn record_violation(&mut self, schedule: u32, plan: FaultPlan, violation: Violation) {
        let scenario = self.client.case.scenario().name;
        self.result.violation = Some(FoundViolation { seed: self.seed, schedule, scenario, plan, violation });
    }
}
