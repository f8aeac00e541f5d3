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
use crate::invariants::{Counters, Fact, Rule, Violation};
use crate::scenario::ScenarioInstance;
use crate::schedule::{ScheduleResult, perform};
use crate::simulation::SimulationState;

/// State that a worker reuses between schedules: its graphs, and the correct histories.
pub(crate) struct SeedWorker {
    flows: Vec<Arc<ProcessGraphs>>,
    right: Mutex<BTreeMap<BaselineKey, Arc<[ThreadHistory]>>>,
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
    pub(crate) tally: Counters,
    pub(crate) violation: Option<FoundViolation>,
    /// Trace of the selected schedule.
    pub(crate) trace: Vec<String>,
}

impl SeedWorker {
    pub(crate) fn new() -> superstep::Result<Self> {
        let three = |drawing: &GraphKind| Ok([drawing.compile()?, drawing.compile()?, drawing.compile()?].into());
        let flows = GraphKind::ALL.iter().map(three).collect::<superstep::Result<_>>()?;
        Ok(Self { flows, right: Mutex::default() })
    }

    fn client(&self, case: &ScenarioInstance) -> Client {
        Client { case: Arc::new(case.clone()), flows: self.flows[case.drawing() as usize].clone() }
    }

    /// Returns the correct histories of a scenario: those of runs without faults, in graph order.
    async fn right(&self, case: &ScenarioInstance) -> Result<Arc<[ThreadHistory]>, Violation> {
        let key = (case.number, case.rounds, case.width);
        let cached = self.right.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(cached) = cached {
            return Ok(cached);
        }
        let mut lines = Vec::new();
        for model in case.models() {
            let played =
                guarded(&self.client(&model), SimulationState::new(0, 0, FaultPlan::Calm, HistoryMatcher::default()))
                    .await;
            played.violation.map_or(Ok(()), Err)?;
            lines.push(played.line);
        }
        let lines: Arc<[ThreadHistory]> = lines.into();
        self.right.lock().unwrap_or_else(PoisonError::into_inner).insert(key, lines.clone());
        Ok(lines)
    }
}

/// Runs a schedule; a panic of the engine counts as a violation.
async fn guarded(client: &Client, course: SimulationState) -> ScheduleResult {
    let mut played = pin!(perform(client, course));
    std::future::poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| played.as_mut().poll(context))).unwrap_or_else(|panic| {
            let text = format!("the engine panicked: {}", panic_message(&*panic));
            Poll::Ready(ScheduleResult::failed(Violation { rule: Rule::Ends, text }))
        })
    })
    .await
}

/// Runs the schedules of a seed, all of them or up to the traced one. Stops at a violation.
pub(crate) async fn perform_seed(bench: Arc<SeedWorker>, seed: u64, traced: Option<u32>) -> SeedResult {
    let case = ScenarioInstance::of(seed);
    let mut seed_run = SeedRun { seed, traced, client: bench.client(&case), end: SeedResult::default() };
    match bench.right(&case).await {
        Ok(right) => seed_run.perform(&right).await,
        Err(violation) => {
            seed_run.end.tally.count(Fact::Schedules);
            seed_run.find(0, FaultPlan::Calm, violation);
        }
    }
    seed_run.end
}

/// A seed in progress.
struct SeedRun {
    seed: u64,
    traced: Option<u32>,
    client: Client,
    end: SeedResult,
}

impl SeedRun {
    async fn perform(&mut self, right: &Arc<[ThreadHistory]>) {
        let Some(calm) = self.play(0, FaultPlan::Calm, right).await else { return };
        let length = BaselineCounts { awaits: calm.awaits, calls: calm.calls };
        let mut waiting = plans(self.seed, length, ScenarioLimits { takeover: !self.client.case.is_pair() });
        let mut number = 0;
        while let Some(plan) = waiting.get(number).copied() {
            number += 1;
            let Some(played) = self.play(number as u32, plan, right).await else { return };
            if let FaultPlan::Crash { at } = plan {
                waiting.extend(second_crashes(self.seed, length, at, played.recovery));
            }
        }
    }

    /// Runs one schedule. Returns `None` if no further schedule is needed.
    async fn play(&mut self, number: u32, plan: FaultPlan, right: &Arc<[ThreadHistory]>) -> Option<ScheduleResult> {
        // A queued run starts after the run before it has failed, and drops the next tasks of that run.
        let drops = matches!(plan, FaultPlan::Store { .. } | FaultPlan::Cancel { .. } | FaultPlan::Drain { .. });
        let right = Some(right.clone()).filter(|_| !(drops && self.client.case.is_pair()));
        let mut course = SimulationState::new(self.seed, number, plan, HistoryMatcher::new(right));
        let is_wanted = self.traced == Some(number);
        course.trace = is_wanted.then(|| vec![self.title(plan)]);
        let mut played = guarded(&self.client, course).await;
        self.end.tally.merge(&played.tally);
        if let Some(violation) = played.violation.take() {
            self.find(number, plan, violation);
        }
        self.end.trace = std::mem::take(&mut played.trace);
        (self.end.violation.is_none() && !is_wanted).then_some(played)
    }

    fn title(&self, plan: FaultPlan) -> String {
        format!("{:?}: {plan}", self.client.case)
    }

    fn find(&mut self, schedule: u32, plan: FaultPlan, violation: Violation) {
        let scenario = self.client.case.scenario().name;
        self.end.violation = Some(FoundViolation { seed: self.seed, schedule, scenario, plan, violation });
    }
}
