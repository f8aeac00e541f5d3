//! Takes the way out that was chosen, on paper: the calendar is written when the event is confirmed.

use superstep::{Code, Ctx, Cx, Error, NodeError, Result, View};

use super::told::{json, or_failed, proposed};
use crate::home::{self, Home};
use crate::models::EventStatus;
use crate::notes;
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step};
use crate::workflow::stepped;

/// How often a way out is taken in one request.
const MOST_ROUNDS: u32 = 3;

/// Takes the way out.
pub(crate) async fn apply_resolution(
    state: View<Scheduler>,
    home: Ctx<Home>,
    cx: Cx,
) -> Result<SchedulerUpdate, NodeError> {
    let worked = take(&state, &home, &cx).await;
    or_failed(worked, (&state, Agent::Resolution.name()), &home, &cx).await
}

async fn take(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    let (now, board) = (home::now(cx)?, home.board().await?);
    let rounds = notes::rounds(state);
    if rounds >= MOST_ROUNDS {
        let fact = format!("after {MOST_ROUNDS} ways out there is still a conflict");
        return Err(Error::new(Code::PolicyRefused, fact));
    }
    let mut plan = notes::plan(state)?;
    plan.ways.extend(state.selected_resolution.clone());
    let event = plan.on(&board, &state.user_id, now)?.shown(now)?;
    // What is looked at next is the event as the way out makes it.
    let update = stepped(Scheduler::update(), state.current_step, Step::ResourceCheck, now);
    Ok(update
        .proposed_event(Some(proposed(&event, EventStatus::Proposed)))
        .notes((notes::PLAN.to_owned(), json(&plan)?))
        .notes((notes::ROUNDS.to_owned(), (rounds + 1).into())))
}
