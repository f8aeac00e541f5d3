//! Looks what stands in the way; where nothing does, the event is validated.

use superstep::core::time::Time;
use superstep::{Code, Ctx, Cx, Error, NodeError, Result, View};

use super::told::{CERTAIN, Finding, json, or_failed, proposed, sure, validated};
use crate::agents::conflicts::Standing;
use crate::agents::may_change;
use crate::calendar::{Board, Change, Event};
use crate::home::{self, Home};
use crate::models::{Conflict, ConflictDetectionData, EventStatus, ValidationStep};
use crate::notes;
use crate::plan::{Drawn, Plan, Wish};
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step, WorkflowStatus};
use crate::workflow::{SURE, validate_state_transition};

/// Looks what stands in the way.
pub(crate) async fn conflict_detection(
    state: View<Scheduler>,
    home: Ctx<Home>,
    cx: Cx,
) -> Result<SchedulerUpdate, NodeError> {
    let worked = look(&state, &home, &cx).await;
    or_failed(worked, (&state, Agent::ConflictDetection.name()), &home, &cx).await
}

async fn look(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    validate_state_transition(state, "conflict_detection").map_err(|why| Error::new(Code::TypeMismatch, why))?;
    let (now, board) = (home::now(cx)?, home.board().await?);
    let Looked { plan, drawn, standing, harmed } = Looked::at(notes::plan(state)?, &board, &state.user_id, now)?;
    let details: Vec<String> = harmed.iter().chain(&standing).map(|conflict| conflict.details.clone()).collect();
    let found = ConflictDetectionData::from(standing);
    let explanation = match details.as_slice() {
        [] => "Nothing stands in the way.".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} And {} more.", rest.len()),
    };
    let has_conflicts = found.has_conflicts;
    let finding = Finding {
        agent: Agent::ConflictDetection,
        step: Step::ConflictDetection,
        data: json(&found)?,
        explanation,
        confidence: sure(CERTAIN),
        reasoning: format!("people, things and rules; {} found", found.conflicts.len()),
    };
    // Who chose a way out does not get another one unasked.
    let is_open = !harmed.is_empty() || must_ask(state, &board, &plan);
    let must_ask = !has_conflicts && !drawn.is_given_up() && is_open;
    let waits = has_conflicts || must_ask;
    let status = if waits { WorkflowStatus::AwaitingUser } else { WorkflowStatus::InProgress };
    let event_status = match found.blocking_conflicts.is_empty() {
        _ if drawn.is_given_up() => EventStatus::Rejected,
        true => EventStatus::Validated,
        false => EventStatus::Proposed,
    };
    if event_status == EventStatus::Validated {
        mark_validated(state, home, &plan, now).await?;
    }
    let mut update = finding.told(state, now);
    if !harmed.is_empty() {
        update = update.selected_resolution(None).notes((notes::PLAN.to_owned(), json(&plan)?));
    }
    Ok(update
        .detected_conflicts(Some(found))
        .proposed_event(Some(proposed(&drawn.shown(now)?, event_status)))
        .workflow_status(status)
        .notes((notes::MUST_ASK.to_owned(), must_ask.into()))
        .validation_results(validated(ValidationStep::ConflictDetection, now, details)))
}

/// A plan, held against the calendar.
struct Looked {
    plan: Plan,
    drawn: Drawn,
    standing: Vec<Conflict>,
    /// What would stand in the way of other events with the way out that was chosen; the plan is without it then.
    harmed: Vec<Conflict>,
}

impl Looked {
    fn at(mut plan: Plan, board: &Board, who: &str, now: Time) -> Result<Self> {
        let drawn = plan.on(board, who, now)?;
        let Standing { mut own, others } = drawn.standing(board, who, now)?;
        if others.is_empty() || plan.ways.is_empty() {
            own.extend(others);
            return Ok(Self { plan, drawn, standing: own, harmed: Vec::new() });
        }
        // Something came where the last way out puts another event: it is none any more, and what was asked for is looked
        // at anew.
        plan.ways.pop();
        Ok(Self { harmed: others, ..Self::at(plan, board, who, now)? })
    }
}

/// Whether the user confirms: when the family wants it so, when somebody is not sure, and when the calendar is not theirs.
fn must_ask(state: &Scheduler, board: &Board, plan: &Plan) -> bool {
    let is_sure =
        state.agent_outputs.values().all(|output| output.confidence.value() >= SURE) || notes::is_confirmed(state);
    let target = plan.target().and_then(|target| board.events.get(&target.event));
    let is_theirs = target.is_none_or(|event| may_change(board, &state.user_id, event));
    board.family.always_ask || !is_sure || !is_theirs
}

/// A new event is one step further; a change is written only at the end.
async fn mark_validated(state: &Scheduler, home: &Home, plan: &Plan, now: Time) -> Result<()> {
    let Wish::New(event) = &plan.wish else { return Ok(()) };
    let id = event.id.clone();
    let further = move |board: &Board| {
        let event = board.events.get(&id).filter(|event| event.status == EventStatus::Proposed);
        let event = event.map(|event| Event { status: EventStatus::Validated, updated_at: now, ..(**event).clone() });
        Ok(event.into_iter().map(|event| Change::Event(Box::new(event))).collect())
    };
    home.calendars.change(&home.family, &state.user_id, "validate", further).await.map(drop)
}
