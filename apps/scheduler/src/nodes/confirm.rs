//! Writes the calendar: an event, a change, or that something is not. Everything is checked again while nobody else can
//! write.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::time::Time;
use superstep::{Ask, Code, Ctx, Cx, Error, NodeError, Result, View};

use super::told::{ended, json, or_failed, proposed, reject};
use crate::agents::{may_change_which, title_for, words, zone_of};
use crate::audit::{Entry, Kind};
use crate::calendar::series::{self, Which};
use crate::calendar::{Board, Event, Span};
use crate::home::{self, Home};
use crate::models::{EventStatus, EventType, ProposedEvent};
use crate::notes::{self, Given};
use crate::plan::Target;
use crate::state::{Scheduler, SchedulerUpdate, Step, WorkflowStatus};
use crate::store::Once;
use crate::workflow::{stepped, validate_state_transition};

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
    let given = match notes::given(&state) {
        // It was answered, and then the calendar could not be reached.
        Some(given) => given,
        None => {
            let question = cx.once("question", asked(&state, &home, is_cancel)).await;
            let question: Option<String> = match question {
                Ok(question) => question,
                Err(error) => return or_failed(Err(error.into_error()), (&state, "confirm_event"), &home, &cx).await,
            };
            let confirm = match question {
                Some(question) => answered(&state, &ask, question).await?,
                None => true,
            };
            Given { confirm, task: cx.idempotency_key().to_string() }
        }
    };
    let worked = match (given.confirm, is_cancel) {
        (false, _) => declined(&state, &home, &cx).await,
        (true, true) => cancelled(&state, &home, &cx, &given.task).await,
        (true, false) => confirmed(&state, &home, &cx, &given.task).await,
    };
    match worked {
        Ok(update) => Ok(update),
        failed => {
            let update = or_failed(failed, (&state, "confirm_event"), &home, &cx).await?;
            Ok(update.notes((notes::GIVEN.to_owned(), json(&given)?)))
        }
    }
}

async fn answered(state: &Scheduler, ask: &Ask, question: String) -> Result<bool, NodeError> {
    let shown = json!({ "kind": "confirmation", "question": question, "understood": state.parsed_event_data });
    let answer: Confirming = ask.person("confirmation", shown).await?;
    Ok(answer.confirm)
}

/// What the user is asked, where they are.
async fn asked(state: &Scheduler, home: &Home, is_cancel: bool) -> Result<Option<String>> {
    let board = home.board().await?;
    let zone = zone_of(&board, &state.user_id)?;
    if !is_cancel {
        let Some(event) = state.proposed_event.as_ref().filter(|_| notes::must_ask(state)) else { return Ok(None) };
        let span = Span { start: event.start_time, end: event.end_time };
        return Ok(Some(format!("Shall I plan {} for {}?", words::quoted(&event.title), words::stretch(&zone, &span))));
    }
    let target = Target::of(&notes::understood(state)?, &board).ok();
    let target = target.and_then(|target| Some((board.events.get(&target.event)?, target)));
    // Nobody is asked about what is gone; whether it went by this request is found when it is cancelled.
    let Some((event, target)) = target else { return Ok(None) };
    let is_theirs = event.owner == state.user_id && !board.family.always_ask;
    let (title, when) = (words::quoted(&event.title), words::stretch(&zone, &target.seen));
    let is_series = event.recurrence.is_some() || event.exception_of.is_some();
    let what = match target.which {
        Which::All if is_series => format!("all of {title}"),
        Which::Following(_) => format!("{title} on {when} and all that follow"),
        Which::All | Which::This(_) => format!("{title} on {when}"),
    };
    Ok((!is_theirs).then(|| format!("Shall I cancel {what}?")))
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

async fn cancelled(state: &Scheduler, home: &Home, cx: &Cx, task: &str) -> Result<SchedulerUpdate> {
    let (now, understood, who) = (home::now(cx)?, notes::understood(state)?, state.user_id.clone());
    let title = understood.data.title.clone().unwrap_or_else(|| "It".to_owned());
    let cancel = move |board: &Board| {
        let target = Target::of(&understood, board)?;
        check_right(board, &who, &target, "cancel")?;
        series::cancel(board, &target.event, target.which, now)
    };
    // What this request cancelled already is not cancelled again: it may run anew after a crash.
    home.calendars.change_once(&home.family, (&state.user_id, "cancel"), task, cancel).await?;
    Ok(over(state, &format!("{} is cancelled.", words::quoted(&title)), now))
}

async fn confirmed(state: &Scheduler, home: &Home, cx: &Cx, task: &str) -> Result<SchedulerUpdate> {
    validate_state_transition(state, "confirm_event").map_err(|why| Error::new(Code::TypeMismatch, why))?;
    // What can fail is done before it is written: what is written is never told to have failed.
    let (now, board) = (home::now(cx)?, home.board().await?);
    let zone = zone_of(&board, &state.user_id)?;
    let Some(event) = write(state, home, task, now).await? else {
        // Somebody was faster: what stands in the way now is looked at anew, and asked about anew.
        let update = stepped(Scheduler::update(), state.current_step, Step::ResourceCheck, now);
        let update = update.workflow_status(WorkflowStatus::InProgress);
        return Ok(update.notes((notes::GIVEN.to_owned(), Value::Null)));
    };
    let (title, when) = (words::quoted(&event.title), words::stretch(&zone, &event.span));
    let is_change = state.parsed_event_data.as_ref().is_some_and(|data| data.event_type == EventType::Modify);
    let is_given_up = event.status == EventStatus::Rejected;
    let answer = match (is_given_up, &event.recurrence) {
        (true, _) if is_change => format!("{title} stays as it is."),
        (true, _) => format!("{title} is not planned."),
        (false, None) => format!("{title} is on the calendar: {when}."),
        (false, Some(_)) if is_change => format!("{title} is on the calendar, next on {when}."),
        (false, Some(_)) => format!("{title} is on the calendar, first on {when}."),
    };
    let status = if is_given_up { EventStatus::Rejected } else { EventStatus::Confirmed };
    let update = over(state, &answer, now).proposed_event(Some(proposed(&event, status)));
    Ok(update.notes((notes::DECLINED.to_owned(), is_given_up.into())))
}

/// Writes the plan if nothing blocks it, and gives the event as people are told of it; nothing where something does.
async fn write(state: &Scheduler, home: &Home, task: &str, now: Time) -> Result<Option<Event>> {
    let (seen, plan, who) = (Arc::new(OnceLock::new()), notes::plan(state)?, state.user_id.clone());
    let decided = seen.clone();
    let decide = move |board: &Board| {
        let drawn = plan.on(board, &who, now)?;
        if let Some(target) = plan.target() {
            check_right(board, &who, target, "change")?;
        }
        if drawn.standing(board, &who, now)?.is_blocking() {
            return Ok(Vec::new());
        }
        // It is decided once.
        let _ = decided.set(drawn.shown(now)?);
        Ok(drawn.confirmed())
    };
    let done = home.calendars.change_once(&home.family, (&state.user_id, "confirm"), task, decide).await?;
    match (done, &state.proposed_event) {
        (Once::Before(entry), Some(event)) => remembered(&entry, event).map(Some),
        _ => Ok(seen.get().cloned()),
    }
}

/// The event as it was written before, told as it was proposed.
fn remembered(entry: &Entry, proposed: &ProposedEvent) -> Result<Event> {
    let image = entry.images.iter().find(|image| image.kind == Kind::Event && image.id == proposed.event_id);
    let image = image.and_then(|image| image.after.clone()).unwrap_or_default();
    let event: Event = serde_json::from_value(image).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Event { span: Span { start: proposed.start_time, end: proposed.end_time }, ..event })
}

fn check_right(board: &Board, who: &str, target: &Target, what: &str) -> Result<()> {
    let is_barred = |event: &&Arc<Event>| !may_change_which(board, who, event, target.which);
    match board.events.get(&target.event).filter(is_barred) {
        None => Ok(()),
        Some(event) => {
            let fact = format!("{} is not yours to {what}", words::quoted(&title_for(board, who, event)));
            Err(Error::new(Code::PolicyRefused, fact))
        }
    }
}

fn over(state: &Scheduler, answer: &str, now: Time) -> SchedulerUpdate {
    let update = stepped(Scheduler::update(), state.current_step, Step::Confirmation, now);
    ended(update.workflow_status(WorkflowStatus::InProgress), WorkflowStatus::Completed, answer, now)
}
