//! Parsed request and pending interrupt in the form that pages display.

use serde_json::{Value, json};
use superstep_server::{RunStatus, ThreadRecord, ThreadState};

use super::requester::Requester;
use crate::models::{NlParserData, ProposedResolution, ResolutionChange};
use crate::parser::{ParsedSpan, SpanKind};
use crate::state::FamilySchedulerState;
use crate::state::request_state;

/// Returns the pending interrupt of a conversation; `None` if it is not waiting.
pub(super) fn pending_interrupt_json(
    record: &ThreadRecord,
    state: Option<&ThreadState>,
    conversation: &FamilySchedulerState,
    requester: &Requester,
) -> Option<Value> {
    let interrupt = state?.interrupts().next().filter(|_| record.status == RunStatus::AwaitingInput)?;
    let payload = &interrupt.value;
    let parsed = request_state::parsed_request(conversation).ok();
    let spans: Vec<Value> = parsed.iter().flat_map(|parsed| &parsed.spans).filter_map(span_json).collect();
    let list = |name: &str| payload[name].as_array().cloned().unwrap_or_default();
    let data = conversation.parsed_event_data.as_ref().map(|data| in_local_time(data, requester));
    Some(json!({
        "question_id": interrupt.id.to_string(),
        "kind": payload["kind"],
        "question": payload["question"],
        "understood": data,
        "found": spans,
        "missing": list("missing"),
        "choices": list("choices"),
        "resolutions": list("resolutions").into_iter().map(|resolution| localized_resolution(resolution, requester)).collect::<Vec<_>>(),
        "recommended": payload["recommended"],
        "conflicts": list("conflicts"),
    }))
}

/// Returns the parse of the last request.
pub(super) fn parsed_request_json(conversation: &FamilySchedulerState, requester: &Requester) -> Option<Value> {
    let parsed = request_state::parsed_request(conversation).ok()?;
    let spans: Vec<Value> = parsed.spans.iter().filter_map(span_json).collect();
    Some(json!({ "data": in_local_time(&parsed.data, requester), "confidence": parsed.confidence, "found": spans }))
}

/// Returns a parsed span under the name that pages use; `None` for filler words.
fn span_json(span: &ParsedSpan) -> Option<Value> {
    let part = match span.part {
        SpanKind::Filler => return None,
        SpanKind::Length => json!("duration"),
        SpanKind::Repeat => json!("recurrence"),
        SpanKind::Person => json!("people"),
        SpanKind::Resource => json!("resources"),
        part => json!(part),
    };
    Some(json!({ "part": part, "text": span.text, "value": span.value }))
}

/// Converts the times of a parsed request to the time zone of the requester.
fn in_local_time(data: &NlParserData, requester: &Requester) -> NlParserData {
    let localize = |time: Option<_>| time.map(|time| requester.in_local_time(time));
    NlParserData { start_time: localize(data.start_time), end_time: localize(data.end_time), ..data.clone() }
}

/// Converts the times of a resolution likewise. A resolution that cannot be deserialized is returned unchanged.
fn localized_resolution(value: Value, requester: &Requester) -> Value {
    let Ok(mut resolution) = serde_json::from_value::<ProposedResolution>(value.clone()) else { return value };
    resolution.changes.iter_mut().for_each(|change| localize_change(change, requester));
    json!(resolution)
}

fn localize_change(change: &mut ResolutionChange, requester: &Requester) {
    let is_time = |field: &str| matches!(field, "start_time" | "end_time");
    if !change.field.as_deref().is_some_and(is_time) {
        return;
    }
    for text in [&mut change.old_value, &mut change.new_value].into_iter().flatten() {
        if let Ok(time) = superstep::core::time::Time::parse(text) {
            *text = requester.in_local_time(time).to_string();
        }
    }
}
