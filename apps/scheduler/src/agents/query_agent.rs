//! Answers queries about the calendar. Nothing is written.

use serde_json::Value;
use superstep::{NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::{AgentFinding, CERTAIN, confidence, json, or_record_error, with_final_answer};
use crate::agents::query::{CalendarQuery, answer_query};
use crate::agents::{format, time_zone_of};
use crate::calendar::{CalendarSnapshot, TimeRange};
use crate::context::SchedulerContext;
use crate::models::{QueryData, QueryType};
use crate::planning::event_request::EventRequest;
use crate::state::request_state;
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};

/// Maximum number of entries listed in an answer.
const MAX_LISTED: usize = 5;

/// Answers a query.
pub(crate) async fn query(
    state: View<FamilySchedulerState>,
    context: RunContext<SchedulerContext>,
    cx: TaskContext,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let result = run_query(&state, &context, &cx).await;
    or_record_error(result, (&state, AgentName::Query.name()), &context, &cx).await
}

async fn run_query(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
) -> Result<FamilySchedulerStateUpdate> {
    let (now, snapshot) = (context.now(cx)?, context.snapshot().await?);
    let parsed = request_state::parsed_request(state)?;
    let data = &parsed.data;
    let mut calendar_query = CalendarQuery::new(parsed.query.unwrap_or(QueryType::EventLookup));
    calendar_query.span = data.start_time.zip(data.end_time).and_then(|(start, end)| TimeRange::new(start, end));
    calendar_query.people.clone_from(&data.participants);
    calendar_query.resources.clone_from(&data.resources);
    calendar_query.text = data.title.clone().unwrap_or_default();
    if calendar_query.kind == QueryType::ConflictCheck && !parsed.asks_existing_conflicts {
        calendar_query.is_open =
            data.title.is_some() && (parsed.time_window.is_some() || calendar_query.span.is_none());
        let mut requested = parsed.clone();
        if calendar_query.is_open {
            // The duration is the default of such an event, not the length of the time window in which it is
            // searched.
            (requested.data.start_time, requested.data.end_time) = (None, None);
        }
        let id = request_state::event_id(state).unwrap_or_default();
        let event_request =
            EventRequest { snapshot: &snapshot, user_id: &state.user_id, parsed: &requested, id: &id, now };
        calendar_query.event = Some(event_request.hypothetical_event()?);
    }
    let result = answer_query(&snapshot, &state.user_id, &calendar_query, now)?;
    let text = match parsed.asks_existing_conflicts {
        true => describe_conflicts(&result),
        false => describe_result(&result, &snapshot, (&state.user_id, &calendar_query.people))?,
    };
    let finding = AgentFinding {
        agent: AgentName::Query,
        step: WorkflowStep::Query,
        data: json(&result)?,
        explanation: text.clone(),
        confidence: confidence(CERTAIN),
        reasoning: format!("query type: {:?}", result.query_type),
    };
    Ok(with_final_answer(finding.into_update(state, now), WorkflowStatus::Completed, &text, now))
}

/// Describes the existing conflicts of the calendar.
fn describe_conflicts(result: &QueryData) -> String {
    let conflicts = result.results.get("conflicts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let listed: Vec<&str> =
        conflicts.iter().filter_map(|conflict| conflict["details"].as_str()).take(MAX_LISTED).collect();
    match (listed.is_empty(), conflicts.len() - listed.len()) {
        (true, _) => "There are no conflicts.".to_owned(),
        (false, 0) => listed.join(" "),
        (false, more) => format!("{} And {more} more.", listed.join(" ")),
    }
}

/// Returns the answer to a query for free times without a result. `people` are the queried members; empty means all.
fn no_common_time(people: &[String], snapshot: &CalendarSnapshot) -> String {
    let all: Vec<String> = snapshot.members.keys().cloned().collect();
    match if people.is_empty() { &all } else { people } {
        [member] => format!("{} has no free time in this period.", format::names(snapshot, &[member])),
        several => format!("{} have no free time in common in this period.", format::names(snapshot, several)),
    }
}

/// Describes the result of a query in one or two sentences.
fn describe_result(
    result: &QueryData,
    snapshot: &CalendarSnapshot,
    (user_id, people): (&str, &[String]),
) -> Result<String> {
    let zone = time_zone_of(snapshot, user_id)?;
    let list = |key: &str| result.results.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let span = |entry: &Value, (start, end): (&str, &str)| -> Option<String> {
        let time = |key: &str| superstep::core::time::Time::parse(entry[key].as_str()?).ok();
        Some(format::format_range(&zone, &TimeRange::new(time(start)?, time(end)?)?))
    };
    let times = || list("slots").iter().filter_map(|slot| span(slot, ("start_time", "end_time"))).collect::<Vec<_>>();
    Ok(match result.query_type {
        QueryType::Availability => {
            let free: Vec<String> =
                list("free").iter().filter_map(|range| span(range, ("start", "end"))).take(MAX_LISTED).collect();
            if free.is_empty() { no_common_time(people, snapshot) } else { format!("Free: {}.", free.join("; ")) }
        }
        QueryType::EventLookup => {
            let events = list("events");
            let describe = |entry: &Value| {
                let when = span(entry, ("start", "end")).or_else(|| span(entry, ("start_time", "end_time")))?;
                Some(format!("{} on {when}", format::quoted(entry["title"].as_str()?)))
            };
            let listed: Vec<String> = events.iter().filter_map(describe).take(MAX_LISTED).collect();
            match (listed.is_empty(), events.len() - listed.len().min(events.len())) {
                (true, _) => "I found no matching event.".to_owned(),
                (false, 0) => format!("{}.", listed.join("; ")),
                (false, more) => format!("{}; and {more} more.", listed.join("; ")),
            }
        }
        QueryType::ResourceStatus => {
            let describe = |entry: &Value| {
                let free = entry["available"].as_bool()?;
                Some(format!(
                    "{} is {}",
                    format::resource_as_subject(entry["resource_name"].as_str()?),
                    if free { "free" } else { "taken" }
                ))
            };
            format!("{}.", list("resources").iter().filter_map(describe).collect::<Vec<_>>().join("; "))
        }
        QueryType::ConflictCheck => match result.results.get("fits") {
            Some(Value::Bool(true)) => match times().first() {
                Some(when) => format!("Yes, for example on {when}."),
                None => "Yes, that fits.".to_owned(),
            },
            _ => {
                let details: Vec<String> = list("conflicts")
                    .iter()
                    .filter_map(|conflict| conflict["details"].as_str().map(str::to_owned))
                    .collect();
                if details.is_empty() {
                    "No, there is no free time for it.".to_owned()
                } else {
                    format!("No: {}", details.join(" "))
                }
            }
        },
    })
}
