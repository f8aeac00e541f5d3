//! What was understood of a sentence, and what is asked back, as pages show it.

use serde_json::{Value, json};
use superstep_server::{RunStatus, Shown, ThreadRecord};

use super::asker::Asker;
use crate::models::{NlParserData, ProposedResolution, ResolutionChange};
use crate::notes;
use crate::parser::{Found, Part};
use crate::state::Scheduler;

/// What a conversation waits for; nothing where it does not.
pub(super) fn waiting(record: &ThreadRecord, state: Option<&Shown>, talk: &Scheduler, asker: &Asker) -> Option<Value> {
    let asked = state?.questions().next().filter(|_| record.status == RunStatus::Waiting)?;
    let shown = &asked.value;
    let understood = notes::understood(talk).ok();
    let found: Vec<Value> = understood.iter().flat_map(|understood| &understood.found).filter_map(piece).collect();
    let list = |name: &str| shown[name].as_array().cloned().unwrap_or_default();
    let data = talk.parsed_event_data.as_ref().map(|data| here(data, asker));
    Some(json!({
        "question_id": asked.id.to_string(),
        "kind": shown["kind"],
        "question": shown["question"],
        "understood": data,
        "found": found,
        "missing": list("missing"),
        "choices": list("choices"),
        "resolutions": list("resolutions").into_iter().map(|one| way_out(one, asker)).collect::<Vec<_>>(),
        "recommended": shown["recommended"],
        "conflicts": list("conflicts"),
    }))
}

/// What was understood of the last request.
pub(super) fn understood(talk: &Scheduler, asker: &Asker) -> Option<Value> {
    let understood = notes::understood(talk).ok()?;
    let found: Vec<Value> = understood.found.iter().filter_map(piece).collect();
    Some(json!({ "data": here(&understood.data, asker), "confidence": understood.confidence, "found": found }))
}

/// A piece of what was understood, under the name that pages know; what means nothing is left out.
fn piece(found: &Found) -> Option<Value> {
    let part = match found.part {
        Part::Filler => return None,
        Part::Length => json!("duration"),
        Part::Repeat => json!("recurrence"),
        Part::Person => json!("people"),
        Part::Resource => json!("resources"),
        part => json!(part),
    };
    Some(json!({ "part": part, "text": found.text, "value": found.value }))
}

/// With the times that clocks of who asks show.
fn here(data: &NlParserData, asker: &Asker) -> NlParserData {
    let written = |time: Option<_>| time.map(|time| asker.written(time));
    NlParserData { start_time: written(data.start_time), end_time: written(data.end_time), ..data.clone() }
}

/// The same for a way out; one that cannot be read stays as it is.
fn way_out(value: Value, asker: &Asker) -> Value {
    let Ok(mut way) = serde_json::from_value::<ProposedResolution>(value.clone()) else { return value };
    way.changes.iter_mut().for_each(|change| retime(change, asker));
    json!(way)
}

fn retime(change: &mut ResolutionChange, asker: &Asker) {
    let is_time = |field: &str| matches!(field, "start_time" | "end_time");
    if !change.field.as_deref().is_some_and(is_time) {
        return;
    }
    for text in [&mut change.old_value, &mut change.new_value].into_iter().flatten() {
        if let Ok(time) = superstep::core::time::Time::parse(text) {
            *text = asker.written(time).to_string();
        }
    }
}
