//! Validation of the agents' data.

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use superstep_scheduler::models::{
    AgentOutput, Conflict, ConflictDetectionData, ErrorInfo, Message, NlParserData, ProposedEvent, ProposedResolution,
    QueryData, ResolutionChange, ResolutionData, ResourceAvailability, ResourceManagerData, SchedulingData, TimeSlot,
    ValidationResult, from_json,
};

use crate::fixtures::NOW;

/// Deserializes a value and checks that serializing it returns the same JSON.
fn round<T: Serialize + DeserializeOwned>(value: &Value) -> T {
    let read: T = from_json(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), *value);
    read
}

/// Returns pointer and message of the validation error.
fn validation_error<T: DeserializeOwned + std::fmt::Debug>(value: Value) -> String {
    let error = from_json::<T>(value).unwrap_err();
    let problem = &error.diagnostics()[0];
    format!("{} {}", problem.pointer, problem.message)
}

fn output(confidence: Value) -> Value {
    json!({ "data": {}, "explanation": "Because.", "confidence": confidence, "reasoning": "r", "timestamp": NOW })
}

fn slot(start: &str, end: &str, score: f64) -> Value {
    json!({
        "start_time": start, "end_time": end, "score": score, "available_participants": ["emma"],
        "constraint_violations": [],
    })
}

fn conflict(id: &str, severity: &str) -> Value {
    json!({
        "id": id, "type": "time_conflict", "severity": severity, "conflicting_event_id": "evt_1",
        "conflicting_event_title": "Dentist", "participants_affected": ["emma"], "details": "Emma is at the dentist.",
    })
}

fn resolution_json(id: &str) -> Value {
    json!({
        "resolution_id": id, "strategy": "move_event", "score": 0.9, "description": "Move it.",
        "changes": [{ "event_id": "evt_2", "field": "start_time", "old_value": "a", "new_value": "b", "action": "move" }],
        "conflicts_resolved": ["c1"], "side_effects": [],
    })
}

/// R-FAM-25: an agent output has five fields, and a confidence from 0 to 1.
#[test]
fn agent_outputs_are_validated() {
    for sure in [0.0, 0.88, 1.0] {
        assert!((round::<AgentOutput>(&output(json!(sure))).confidence.value() - sure).abs() < f64::EPSILON);
    }
    for invalid in [json!(-0.1), json!(1.1)] {
        let message = validation_error::<AgentOutput>(output(invalid));
        assert!(message.starts_with("/confidence confidence is"), "{message}");
    }
    assert!(validation_error::<AgentOutput>(output(Value::Null)).starts_with("/confidence"));
    assert!(superstep_scheduler::models::Confidence::new(f64::NAN).is_none());
    let mut lacking = output(json!(0.5));
    lacking.as_object_mut().unwrap().remove("reasoning");
    assert!(validation_error::<AgentOutput>(lacking).contains("reasoning"));
}

proptest! {
    /// R-FAM-25: any number is accepted unchanged or rejected with its field.
    #[test]
    fn any_confidence_is_accepted_or_rejected(sure in any::<f64>()) {
        let is_fine = (0.0..=1.0).contains(&sure);
        prop_assert_eq!(superstep_scheduler::models::Confidence::new(sure).is_some(), is_fine);
        if sure.is_finite() {
            prop_assert_eq!(from_json::<AgentOutput>(output(json!(sure))).is_ok(), is_fine);
        }
    }

    /// R-FAM-36: a slot must end after it starts.
    #[test]
    fn any_slot_ends_after_its_start(start in 0_u32..48, end in 0_u32..48) {
        let at = |half: u32| format!("2026-01-{:02}T{:02}:{:02}:00Z", 10 + half / 24, half % 24, 30);
        prop_assert_eq!(from_json::<TimeSlot>(slot(&at(start), &at(end), 0.5)).is_ok(), start < end);
    }
}

/// R-FAM-28, R-FAM-29, R-FAM-30, R-FAM-31, R-FAM-32, R-FAM-33, R-FAM-34, R-FAM-35: parser data; all fields but the
/// event type have defaults.
#[test]
fn parser_data_has_defaults() {
    let minimal: NlParserData = from_json(json!({ "event_type": "query" })).unwrap();
    let full = json!({
        "event_type": "query", "title": null, "start_time": null, "end_time": null, "participants": [], "resources": [],
        "recurrence_rule": null, "priority": null, "flexibility": null,
    });
    assert_eq!(serde_json::to_value(&minimal).unwrap(), full);
    round::<NlParserData>(&json!({
        "event_type": "create", "title": "Soccer", "start_time": "2026-01-10T14:00:00-05:00",
        "end_time": "2026-01-10T15:00:00-05:00", "participants": ["emma"], "resources": ["car"],
        "recurrence_rule": "FREQ=WEEKLY", "priority": "high", "flexibility": "fixed",
    }));
    assert!(validation_error::<NlParserData>(json!({})).contains("event_type"));
}

/// R-FAM-68: unknown enum values are rejected with the field and the allowed values.
#[test]
fn unknown_enum_values_are_rejected() {
    let messages = [
        validation_error::<NlParserData>(json!({ "event_type": "delete" })),
        validation_error::<NlParserData>(json!({ "event_type": "create", "priority": "urgent" })),
        validation_error::<NlParserData>(json!({ "event_type": "create", "flexibility": "some" })),
        validation_error::<Conflict>(conflict("c1", "bad")),
        validation_error::<QueryData>(json!({ "query_type": "weather", "results": {} })),
        validation_error::<Message>(json!({ "role": "tool", "content": "x", "timestamp": NOW })),
        validation_error::<ValidationResult>(json!({ "step": "cooking", "passed": true, "timestamp": NOW })),
    ];
    insta::assert_snapshot!(messages.join("\n"), @r"
    /event_type unknown variant `delete`, expected one of `create`, `modify`, `cancel`, `query`
    /priority unknown variant `urgent`, expected one of `low`, `medium`, `high`, `critical`
    /flexibility unknown variant `some`, expected one of `fixed`, `preferred`, `flexible`
    /severity unknown variant `bad`, expected one of `low`, `medium`, `high`, `critical`
    /query_type unknown variant `weather`, expected one of `availability`, `event_lookup`, `resource_status`, `conflict_check`
    /role unknown variant `tool`, expected one of `user`, `assistant`, `system`
    /step unknown variant `cooking`, expected one of `nl_parsing`, `scheduling`, `resource_check`, `conflict_detection`, `resolution`
    ");
}

/// R-FAM-36, R-FAM-37, R-FAM-38, R-FAM-39, R-FAM-40, R-FAM-41: scheduling data with candidate slots.
#[test]
fn time_slots_are_validated() {
    let good = slot("2026-01-10T14:00:00Z", "2026-01-10T15:00:00Z", 1.0);
    round::<SchedulingData>(&json!({ "candidate_times": [good], "recommended_time": "2026-01-10T14:00:00Z" }));
    let backwards = validation_error::<TimeSlot>(slot("2026-01-10T15:00:00Z", "2026-01-10T15:00:00Z", 1.0));
    assert!(backwards.contains("end_time"), "{backwards}");
    let score = validation_error::<TimeSlot>(slot("2026-01-10T14:00:00Z", "2026-01-10T15:00:00Z", 1.5));
    assert!(score.contains("score is 1.5"), "{score}");
    let minimal: SchedulingData = from_json(json!({ "candidate_times": [] })).unwrap();
    assert_eq!(minimal.recommended_time, None);
    let mut lacking = good_slot();
    lacking.as_object_mut().unwrap().remove("available_participants");
    assert!(validation_error::<TimeSlot>(lacking).contains("available_participants"));
}

fn good_slot() -> Value {
    slot("2026-01-10T14:00:00Z", "2026-01-10T15:00:00Z", 1.0)
}

/// R-FAM-42, R-FAM-43, R-FAM-44, R-FAM-45, R-FAM-46, R-FAM-47: resource availability.
#[test]
fn resource_availability_is_validated() {
    let car = json!({
        "resource_id": "car", "resource_name": "Car", "available": false, "current_capacity": 1, "max_capacity": 1,
        "conflicts": ["evt_1"],
    });
    round::<ResourceManagerData>(&json!({ "resource_availability": [car], "all_resources_available": false }));
    let mut less = car;
    less["current_capacity"] = json!(-1);
    assert!(validation_error::<ResourceAvailability>(less).starts_with("/current_capacity"));
}

/// R-FAM-48, R-FAM-49, R-FAM-50, R-FAM-51, R-FAM-52, R-FAM-53, R-FAM-54: conflicts, and the consistency of their
/// fields.
#[test]
fn conflicts_are_validated() {
    let (high, low) = (conflict("c1", "high"), conflict("c2", "low"));
    let data: ConflictDetectionData =
        round(&json!({ "conflicts": [high, low], "has_conflicts": true, "blocking_conflicts": ["c1"] }));
    assert_eq!(ConflictDetectionData::from(data.conflicts.clone()), data);
    let none = json!({ "conflicts": [], "has_conflicts": true, "blocking_conflicts": [] });
    assert!(validation_error::<ConflictDetectionData>(none).contains("has_conflicts"));
    let some = json!({ "conflicts": [high], "has_conflicts": false, "blocking_conflicts": [] });
    assert!(validation_error::<ConflictDetectionData>(some).contains("has_conflicts"));
    let unknown_id = json!({ "conflicts": [high], "has_conflicts": true, "blocking_conflicts": ["c9"] });
    assert!(validation_error::<ConflictDetectionData>(unknown_id).contains("`c9`"));
    let minimal: Conflict =
        from_json(json!({ "id": "c", "type": "resource_conflict", "severity": "low", "details": "d" })).unwrap();
    assert_eq!((minimal.conflicting_event_id, minimal.conflicting_event_title), (None, None));
    assert_eq!(minimal.participants_affected, Vec::<String>::new());
}

/// R-FAM-55, R-FAM-56, R-FAM-57, R-FAM-58, R-FAM-59, R-FAM-60, R-FAM-61: resolutions; the recommended one must
/// exist.
#[test]
fn resolutions_round_trip() {
    let empty: ResolutionChange = from_json(json!({})).unwrap();
    assert_eq!(empty, ResolutionChange::default());
    round::<ResolutionData>(
        &json!({ "proposed_resolutions": [resolution_json("res_1")], "recommended_resolution": "res_1" }),
    );
    let unknown_id = json!({ "proposed_resolutions": [resolution_json("res_1")], "recommended_resolution": "res_2" });
    assert!(validation_error::<ResolutionData>(unknown_id).contains("`res_2`"));
    let none: ResolutionData = from_json(json!({ "proposed_resolutions": [] })).unwrap();
    assert_eq!(none.recommended_resolution, None);
    for strategy in
        ["move_event", "shorten_event", "split_event", "cancel_event", "override_constraint", "alternative_resource"]
    {
        let mut resolution = resolution_json("res_1");
        resolution["strategy"] = json!(strategy);
        round::<ProposedResolution>(&resolution);
    }
    for action in ["move", "cancel", "shorten", "split"] {
        let read: ResolutionChange = from_json(json!({ "action": action })).unwrap();
        assert_eq!(serde_json::to_value(read.action).unwrap(), action);
    }
}

/// R-FAM-62, R-FAM-63: query data has a type and a map of results.
#[test]
fn query_data_is_validated() {
    for kind in ["availability", "event_lookup", "resource_status", "conflict_check"] {
        round::<QueryData>(&json!({ "query_type": kind, "results": { "free": [] } }));
    }
    assert!(
        validation_error::<QueryData>(json!({ "query_type": "availability", "results": [] })).starts_with("/results")
    );
}

/// R-FAM-64, R-FAM-65, R-FAM-66, R-FAM-67: proposed events, validation results, errors and messages.
#[test]
fn proposed_events_validation_results_errors_and_messages_round_trip() {
    for status in ["proposed", "validated", "confirmed", "rejected"] {
        round::<ProposedEvent>(&json!({
            "event_id": "evt_1", "title": "Soccer", "start_time": NOW, "end_time": NOW, "participants": [],
            "resources": [], "status": status, "created_at": NOW,
        }));
    }
    let minimal: ValidationResult =
        from_json(json!({ "step": "resource_check", "passed": true, "timestamp": NOW })).unwrap();
    assert_eq!(minimal.issues, Vec::<String>::new());
    round::<ErrorInfo>(&json!({
        "step": "scheduling", "error_type": "Timeout", "message": "m", "timestamp": NOW, "retryable": true,
    }));
    let message: Message = round(&json!({ "role": "user", "content": "Hi", "timestamp": NOW }));
    assert_eq!(Message::from_chat_message(&message.to_chat_message()), Some(message));
    assert!(validation_error::<Message>(json!({ "role": "user", "content": "Hi" })).contains("timestamp"));
}
