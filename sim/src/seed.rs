//! All schedules of one seed.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use superstep::core::error::panic_text;

use crate::client::{Client, Flows};
use crate::graphs::Drawing;
use crate::line::{Follow, Line};
use crate::plan::{Fit, Length, Plan, plans, second_crashes};
use crate::rules::{Fact, Rule, Tally, Violation};
use crate::scenario::Case;
use crate::schedule::{Played, perform};
use crate::sim::Course;

/// What a worker keeps from schedule to schedule: its graphs, and the ends that are right.
pub(crate) struct Bench {
    flows: Vec<Arc<Flows>>,
    right: Mutex<BTreeMap<Setting, Arc<[Line]>>>,
}

/// What the right ends of a case depend on: scenario, laps and width.
type Setting = (usize, u64, u64);

/// A rule that was broken, and where.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) seed: u64,
    pub(crate) schedule: u32,
    pub(crate) scenario: &'static str,
    pub(crate) plan: Plan,
    pub(crate) violation: Violation,
}

/// What came of a seed.
#[derive(Default)]
pub(crate) struct SeedEnd {
    pub(crate) tally: Tally,
    pub(crate) found: Option<Found>,
    /// What happened in the one schedule that was asked for.
    pub(crate) trace: Vec<String>,
}

impl Bench {
    pub(crate) fn new() -> superstep::Result<Self> {
        let three = |drawing: &Drawing| Ok([drawing.compile()?, drawing.compile()?, drawing.compile()?].into());
        let flows = Drawing::ALL.iter().map(three).collect::<superstep::Result<_>>()?;
        Ok(Self { flows, right: Mutex::default() })
    }

    fn client(&self, case: &Case) -> Client {
        Client { case: Arc::new(case.clone()), flows: self.flows[case.drawing() as usize].clone() }
    }

    /// The ends that are right for a case: those of runs without faults, in the order of the drawing.
    async fn right(&self, case: &Case) -> Result<Arc<[Line]>, Violation> {
        let key = (case.number, case.laps, case.width);
        let known = self.right.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let mut lines = Vec::new();
        for model in case.models() {
            let played = guarded(&self.client(&model), Course::new(0, 0, Plan::Calm, Follow::default())).await;
            played.violation.map_or(Ok(()), Err)?;
            lines.push(played.line);
        }
        let lines: Arc<[Line]> = lines.into();
        self.right.lock().unwrap_or_else(PoisonError::into_inner).insert(key, lines.clone());
        Ok(lines)
    }
}

/// A schedule; a panic of the engine is a broken rule like any other.
async fn guarded(client: &Client, course: Course) -> Played {
    let mut played = pin!(perform(client, course));
    std::future::poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| played.as_mut().poll(context))).unwrap_or_else(|panic| {
            let text = format!("the engine panicked: {}", panic_text(&*panic));
            Poll::Ready(Played::failed(Violation { rule: Rule::Ends, text }))
        })
    })
    .await
}

/// Performs the schedules of a seed, all of them or up to the one whose trace is wanted. Stops at a broken rule.
pub(crate) async fn perform_seed(bench: Arc<Bench>, seed: u64, traced: Option<u32>) -> SeedEnd {
    let case = Case::of(seed);
    let mut seed_run = SeedRun { seed, traced, client: bench.client(&case), end: SeedEnd::default() };
    match bench.right(&case).await {
        Ok(right) => seed_run.perform(&right).await,
        Err(violation) => {
            seed_run.end.tally.count(Fact::Schedules);
            seed_run.find(0, Plan::Calm, violation);
        }
    }
    seed_run.end
}

/// A seed under way.
struct SeedRun {
    seed: u64,
    traced: Option<u32>,
    client: Client,
    end: SeedEnd,
}

impl SeedRun {
    async fn perform(&mut self, right: &Arc<[Line]>) {
        let Some(calm) = self.play(0, Plan::Calm, right).await else { return };
        let length = Length { awaits: calm.awaits, calls: calm.calls };
        let mut waiting = plans(self.seed, length, Fit { takeover: !self.client.case.is_pair() });
        let mut number = 0;
        while let Some(plan) = waiting.get(number).copied() {
            number += 1;
            let Some(played) = self.play(number as u32, plan, right).await else { return };
            if let Plan::Crash { at } = plan {
                waiting.extend(second_crashes(self.seed, length, at, played.recovery));
            }
        }
    }

    /// Performs one schedule. `None` when there is no need for another.
    async fn play(&mut self, number: u32, plan: Plan, right: &Arc<[Line]>) -> Option<Played> {
        // A run that waits for its turn begins when the one before it has failed, and drops what that one left due.
        let drops = matches!(plan, Plan::Store { .. } | Plan::Cancel { .. } | Plan::Drain { .. });
        let right = Some(right.clone()).filter(|_| !(drops && self.client.case.is_pair()));
        let mut course = Course::new(self.seed, number, plan, Follow::new(right));
        let is_wanted = self.traced == Some(number);
        course.trace = is_wanted.then(|| vec![self.title(plan)]);
        let mut played = guarded(&self.client, course).await;
        self.end.tally.merge(&played.tally);
        if let Some(violation) = played.violation.take() {
            self.find(number, plan, violation);
        }
        self.end.trace = std::mem::take(&mut played.trace);
        (self.end.found.is_none() && !is_wanted).then_some(played)
    }

    fn title(&self, plan: Plan) -> String {
        format!("{:?}: {plan}", self.client.case)
    }

    fn find(&mut self, schedule: u32, plan: Plan, violation: Violation) {
        let scenario = self.client.case.scenario().name;
        self.end.found = Some(Found { seed: self.seed, schedule, scenario, plan, violation });
    }
}
