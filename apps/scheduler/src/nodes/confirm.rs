//! Writes the calendar: an event, a change, or that something is not. Everything is checked again while nobody else can
//! write.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::core::time::Time;
use superstep::{Ask, Code, Ctx, Cx, Error, NodeError, Result, View};

use super::told::{ended, or_failed, proposed, reject};
use crate::agents::{conflicts, may_change, words};
use crate::calendar::series::{self, Which};
use crate::calendar::{Board, Event};
use crate::home::{self, Home};
use crate::models::{EventStatus, EventType, ProposedEvent};
use crate::notes;
use crate::parser::Scope;
use crate::plan::Plan;
use crate::state::{Scheduler, SchedulerUpdate, Step, WorkflowStatus};
use crate::workflow::{stepped, validate_state_transition};
use crate::zone::Zone;

/// What the user says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirming {
    /// Whether the calendar is written.
    pub confirm: bool,
}

/// Writes the calendar, and asks first where it must.
pub(crate) async fn confirm_event(
    state: View<Scheduler>,
    home: Ctx<Home>,
    cx: Cx,
    ask: Ask,
) -> Result<SchedulerUpdate, NodeError> {
    let is_cancel = state.parsed_event_data.as_ref().is_some_and(|data| data.event_type == EventType::Cancel);
    let question = cx.once("question", asked(&state, &home, is_cancel)).await;
    let question: Option<String> = match question {
        Ok(question) => question,
        Err(error) => return or_failed(Err(error.into_error()), (&state, "confirm_event"), &home, &cx).await,
    };
    if let Some(question) = question {
        let shown = json!({ "kind": "confirmation", "question": question, "understood": state.parsed_event_data });
        let answer: Confirming = ask.person("confirmation", shown).await?;
        if !answer.confirm {
            let worked = declined(&state, &home, &cx).await;
            return or_failed(worked, (&state, "confirm_event"), &home, &cx).await;
        }
    }
    let worked = match is_cancel {
        true => cancelled(&state, &home, &cx).await,
        false => confirmed(&state, &home, &cx).await,
    };
    or_failed(worked, (&state, "confirm_event"), &home, &cx).await
}

/// What the user is asked, where they are.
async fn asked(state: &Scheduler, home: &Home, is_cancel: bool) -> Result<Option<String>> {
    let board = home.board().await?;
    let zone = Zone::named(&board.family.zone)?;
    if !is_cancel {
        let Some(event) = state.proposed_event.as_ref().filter(|_| notes::must_ask(state)) else { return Ok(None) };
        let span = crate::calendar::Span { start: event.start_time, end: event.end_time };
        return Ok(Some(format!("Shall I plan {} for {}?", words::quoted(&event.title), words::stretch(&zone, &span))));
    }
    let (event, _) = target(state, &board)?;
    let is_theirs = event.owner == state.user_id && !board.family.always_ask;
    let when = words::stretch(&zone, &notes::understood(state)?.instance.unwrap_or(event.span));
    Ok((!is_theirs).then(|| format!("Shall I cancel {} on {when}?", words::quoted(&event.title))))
}

/// The event that is not to be, and which of a series.
fn target(state: &Scheduler, board: &Board) -> Result<(Arc<Event>, Which)> {
    let understood = notes::understood(state)?;
    let event = understood.which.first().and_then(|id| board.events.get(id)).cloned();
    let event = event.ok_or_else(|| Error::new(Code::NotFound, "the event is no longer on the calendar"))?;
    let at = Zone::named(&event.zone)?.wall(understood.instance.unwrap_or(event.span).start);
    let which = match understood.scope {
        Some(Scope::Following) => Which::Following(at),
        Some(Scope::This) if event.recurrence.is_some() => Which::This(at),
        None if event.recurrence.is_some() && understood.instance.is_some() => Which::This(at),
        Some(Scope::All | Scope::This) | None => Which::All,
    };
    Ok((event, which))
}

async fn declined(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    let now = home::now(cx)?;
    let event = state.proposed_event.clone().map(|event| ProposedEvent { status: EventStatus::Rejected, ..event });
    if let Some(event) = &event {
        reject(home, &state.user_id, &event.event_id).await?;
    }
    let update = over(state, "All right, nothing was changed.", now).proposed_event(event);
    Ok(update.notes((notes::DECLINED.to_owned(), true.into())))
}

async fn cancelled(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    let (now, board) = (home::now(cx)?, home.board().await?);
    let (event, which) = target(state, &board)?;
    if !may_change(&board, &state.user_id, &event) {
        return Err(Error::new(Code::PolicyRefused, format!("{} is not yours to cancel", words::quoted(&event.title))));
    }
    let id = event.id.clone();
    // What is gone already stays so: this may run again after a crash.
    let cancel = move |board: &Board| match board.events.contains_key(&id) {
        true => series::cancel(board, &id, which, now),
        false => Ok(Vec::new()),
    };
    home.calendars.change(&home.family, &state.user_id, "cancel", cancel).await?;
    Ok(over(state, &format!("{} is cancelled.", words::quoted(&event.title)), now))
}

async fn confirmed(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    validate_state_transition(state, "confirm_event").map_err(|why| Error::new(Code::TypeMismatch, why))?;
    let (now, plan) = (home::now(cx)?, notes::plan(state)?);
    let (blocked, event) = write(state, home, &plan, now).await?;
    if blocked {
        // Somebody was faster: what stands in the way now is looked at anew.
        let update = stepped(Scheduler::update(), state.current_step, Step::ResourceCheck, now);
        return Ok(update.workflow_status(WorkflowStatus::InProgress));
    }
    let zone = Zone::named(&home.board().await?.family.zone)?;
    let when = words::stretch(&zone, &event.span);
    let answer = match (event.status, &event.recurrence) {
        (EventStatus::Rejected, _) => format!("{} is not planned.", words::quoted(&event.title)),
        (_, None) => format!("{} is on the calendar: {when}.", words::quoted(&event.title)),
        (_, Some(_)) => format!("{} is on the calendar, first on {when}.", words::quoted(&event.title)),
    };
    let status = if event.status == EventStatus::Rejected { EventStatus::Rejected } else { EventStatus::Confirmed };
    Ok(over(state, &answer, now).proposed_event(Some(proposed(&event, status))))
}

/// Writes the plan if nothing blocks it; else says so. Gives the event as it was written.
async fn write(state: &Scheduler, home: &Home, plan: &Plan, now: Time) -> Result<(bool, Event)> {
    let (seen, plan) = (Arc::new(OnceLock::new()), plan.clone());
    let (found, who) = (seen.clone(), state.user_id.clone());
    let decide = move |board: &Board| {
        let drawn = plan.on(board, now)?;
        let target = plan.target.as_ref().and_then(|target| board.events.get(&target.event));
        if let Some(event) = target.filter(|event| !may_change(board, &who, event)) {
            let fact = format!("{} is not yours to change", words::quoted(&event.title));
            return Err(Error::new(Code::PolicyRefused, fact));
        }
        let standing = conflicts::find_from(&drawn.board, &drawn.event, now)?;
        let is_blocked = standing.iter().any(|conflict| conflict.severity.is_blocking());
        let event = drawn.event.clone();
        let changes = if is_blocked { Vec::new() } else { drawn.confirmed() };
        // It is decided once.
        let _ = found.set((is_blocked, event));
        Ok(changes)
    };
    home.calendars.change(&home.family, &state.user_id, "confirm", decide).await?;
    seen.get().cloned().ok_or_else(|| Error::internal("nothing was decided"))
}

fn over(state: &Scheduler, answer: &str, now: Time) -> SchedulerUpdate {
    let update = stepped(Scheduler::update(), state.current_step, Step::Confirmation, now);
    ended(update.workflow_status(WorkflowStatus::InProgress), WorkflowStatus::Completed, answer, now)
}
