//! Ways out of a conflict (R-FAM-107, R-FAM-108).
//!
//! Six strategies make plans; each plan is carried out on a copy of the board, and conflicts are looked for again there.
//! Only what helps and harms nobody else is proposed. How a chosen way is carried out is in [`apply()`].

mod apply;
mod changed;
mod nearest;
mod others;
mod own;

use superstep::Result;
use superstep::core::time::Time;

pub use apply::apply;

use super::conflicts::{self, Standing, of_changes};
use super::finding::{Found, Telling};
use super::look::Look;
use super::moments::midnight;
use super::seen::Viewer;
use crate::calendar::{Board, Change, Event, Priority, Span};
use crate::models::{ChangeAction, Conflict, ProposedResolution, ResolutionChange, ResolutionData, Score, Strategy};
use crate::zone::Zone;

/// All ways out that work, the best first: `res_1`, which is recommended, `res_2` and so on.
///
/// `conflicts` are those that were found for the event. A way may solve only some of them; its score says so. They are
/// told to who asks, who need not be the owner of the event, and touch only what the asker may change.
///
/// # Errors
/// When a rule of repetition or a zone, of the event or on the board, cannot be read.
pub fn propose(board: &Board, event: &Event, conflicts: &[Conflict], asker: &str, now: Time) -> Result<ResolutionData> {
    if conflicts.is_empty() {
        return Ok(ResolutionData::default());
    }
    let desk = Desk::new(board, event, asker, now)?;
    let mut ways = Vec::new();
    for plan in desk.plans()? {
        ways.extend(desk.try_out(plan, conflicts)?);
    }
    let rank = |way: &ProposedResolution| (way.changes.len(), way.strategy);
    ways.sort_by(|a, b| b.score.value().total_cmp(&a.score.value()).then_with(|| rank(a).cmp(&rank(b))));
    for (place, way) in ways.iter_mut().enumerate() {
        way.resolution_id = format!("res_{}", place + 1);
    }
    let recommended_resolution = ways.first().map(|way| way.resolution_id.clone());
    Ok(ResolutionData { proposed_resolutions: ways, recommended_resolution })
}

/// What a way out would do, before it is tried.
#[derive(Debug)]
struct Plan {
    strategy: Strategy,
    description: String,
    changes: Vec<ResolutionChange>,
    side_effects: Vec<String>,
    /// By how many minutes something is at another time.
    shift: i64,
    /// The priorities of other events that it touches.
    touched: Vec<Priority>,
}

impl Plan {
    fn new(strategy: Strategy, description: String, changes: Vec<ResolutionChange>) -> Self {
        Self { strategy, description, changes, side_effects: Vec::new(), shift: 0, touched: Vec::new() }
    }

    fn losing(mut self, side_effect: String) -> Self {
        self.side_effects.push(side_effect);
        self
    }

    fn shifted_by(mut self, minutes: i64) -> Self {
        self.shift = minutes.abs();
        self
    }

    fn touching(mut self, other: &Event) -> Self {
        self.touched.push(other.priority);
        self
    }

    /// How good it is if it solves a share of the conflicts; all in hundredths until the end.
    fn score(&self, solved: usize, conflicts: usize) -> Score {
        let base = match self.strategy {
            Strategy::MoveEvent => 90,
            Strategy::ShortenEvent => 70,
            Strategy::SplitEvent => 60,
            Strategy::CancelEvent => 40,
            Strategy::OverrideConstraint => 55,
            Strategy::AlternativeResource => 85,
        };
        let matters = self.touched.iter().any(|priority| *priority >= Priority::High);
        let touched = 10 * self.touched.len() as i64 + if matters { 20 } else { 0 };
        let value = base - touched - 5 * (self.shift / 120).min(5);
        Score::near(value as f64 / 100.0 * solved as f64 / conflicts as f64)
    }
}

/// An event that has conflicts, and what is known around it.
struct Desk<'a> {
    board: &'a Board,
    event: &'a Event,
    asker: &'a str,
    now: Time,
    /// The board with the event on it.
    with_event: Board,
    /// The day of the event, or the 12 months of a series.
    look: Look<'a>,
    before: Vec<Found>,
    telling: Telling<'a>,
}

impl<'a> Desk<'a> {
    fn new(board: &'a Board, event: &'a Event, asker: &'a str, now: Time) -> Result<Self> {
        let zone = Zone::named(&board.family.zone)?;
        let horizon = if event.recurrence.is_some() {
            conflicts::horizon(event, now)?
        } else {
            let end = midnight(&zone, event.span.start, 1)?.max(event.span.end);
            Span { start: midnight(&zone, event.span.start, 0)?, end }
        };
        let look = Look::new(board, event, &horizon)?;
        let before = look.found(&look.moved(&event.span));
        let mut with_event = board.clone();
        with_event.apply(Change::Event(Box::new(event.clone())));
        let telling = Telling::to(board, Viewer::Member(asker))?;
        Ok(Self { board, event, asker, now, with_event, look, before, telling })
    }

    fn plans(&self) -> Result<Vec<Plan>> {
        let mut plans = Vec::new();
        plans.extend(self.move_it()?);
        plans.extend(self.move_others()?);
        plans.extend(self.shorten_it()?);
        plans.extend(self.split_it()?);
        plans.push(self.cancel_it());
        plans.extend(self.cancel_others()?);
        plans.extend(self.override_rules());
        plans.extend(self.use_other_things()?);
        Ok(plans)
    }

    /// Carries a plan out on a copy of the board; nothing if it solves nothing or gets somebody else into trouble.
    fn try_out(&self, plan: Plan, conflicts: &[Conflict]) -> Result<Option<ProposedResolution>> {
        let mut way = ProposedResolution {
            resolution_id: String::new(),
            strategy: plan.strategy,
            score: Score::near(0.0),
            description: plan.description.clone(),
            changes: plan.changes.clone(),
            conflicts_resolved: Vec::new(),
            side_effects: plan.side_effects.clone(),
        };
        let (after, changes) = apply(self.board, self.event, &way, self.asker, self.now)?;
        let mut copy = self.board.clone();
        changes.iter().for_each(|change| copy.apply(change.clone()));
        let Standing { own: left, others } =
            of_changes(&self.with_event, &copy, (&after, &changes), self.asker, self.now)?;
        let is_new = |one: &&Conflict| !conflicts.iter().any(|old| old.id == one.id);
        let is_left = |one: &&Conflict| left.iter().any(|left| left.id == one.id);
        let solved: Vec<String> = conflicts.iter().filter(|one| !is_left(one)).map(|one| one.id.clone()).collect();
        let harms = left.iter().filter(is_new).any(|one| one.severity.is_blocking());
        if solved.is_empty() || harms || !others.is_empty() {
            return Ok(None);
        }
        way.side_effects.extend(left.iter().filter(is_new).map(|one| one.details.clone()));
        let remaining = conflicts.iter().filter(is_left);
        way.side_effects.extend(remaining.map(|one| format!("This remains: {}", one.details)));
        way.score = plan.score(solved.len(), conflicts.len());
        way.conflicts_resolved = solved;
        Ok(Some(way))
    }

    /// How bad a time is: what blocks, and everything.
    fn badness(&self, spans: &[Span]) -> (usize, usize) {
        count(&self.look.found(spans))
    }

    /// Whether a time would be a way out: nothing blocks, and if nothing did before, less is in the way.
    fn is_way_out(&self, spans: &[Span]) -> bool {
        let ((blocking, total), before) = (self.badness(spans), count(&self.before));
        blocking == 0 && (before.0 > 0 || total < before.1)
    }
}

fn count(found: &[Found]) -> (usize, usize) {
    (found.iter().filter(|found| found.severity.is_blocking()).count(), found.len())
}

/// Both ends of an event at another time.
fn new_times(event: &str, old: &Span, new: &Span, action: ChangeAction) -> Vec<ResolutionChange> {
    vec![
        new_time(event, "start_time", Some(old.start), new.start, action),
        new_time(event, "end_time", Some(old.end), new.end, action),
    ]
}

fn new_time(event: &str, field: &str, old: Option<Time>, new: Time, action: ChangeAction) -> ResolutionChange {
    ResolutionChange {
        event_id: Some(event.to_owned()),
        field: Some(field.to_owned()),
        old_value: old.map(|old| old.to_string()),
        new_value: Some(new.to_string()),
        action: Some(action),
    }
}
