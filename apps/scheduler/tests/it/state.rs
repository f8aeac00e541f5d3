//! State of a conversation: initial values, reducers, serialization.

use serde_json::json;
use superstep::prelude::*;
use superstep::{END, START, TaskContext};
use superstep_scheduler::models::{
    Message, MessageRole, ProposedEvent, ProposedResolution, TimeSlot, ValidationResult, ValidationStep, from_json,
};
use superstep_scheduler::state::{FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};
use superstep_scheduler::state_utils::{add_error, new_turn, update_state_with_agent_output};

use crate::fixtures::{after, folded, now, object, output, time, try_folded};

fn started_state() -> FamilySchedulerState {
    folded(&FamilySchedulerState::default(), [new_turn("Schedule soccer", "mom", "conv_0123456789abcdef", now())])
}

/// R-FAM-1, R-FAM-2, R-FAM-3, R-FAM-4, R-FAM-5, R-FAM-6, R-FAM-8, R-FAM-9, R-FAM-10, R-FAM-11, R-FAM-12, R-FAM-13,
/// R-FAM-14, R-FAM-15, R-FAM-16, R-FAM-17, R-FAM-18, R-FAM-19, R-FAM-21: the initial values as JSON.
#[test]
fn a_new_state_has_defaults() {
    let mut written = serde_json::to_value(started_state()).unwrap();
    let messages = written.as_object_mut().unwrap().remove("messages").unwrap();
    assert_eq!(messages.as_array().unwrap().len(), 1);
    let expected = json!({
      "agent_outputs": {},
      "audit_log": [],
      "conversation_id": "conv_0123456789abcdef",
      "created_at": "2026-01-08T20:30:00Z",
      "current_step": "start",
      "detected_conflicts": null,
      "errors": [],
      "next_action": "nl_parser",
      "notes": {},
      "parsed_event_data": null,
      "proposed_event": null,
      "retry_count": 0,
      "selected_resolution": null,
      "selected_time_slot": null,
      "updated_at": "2026-01-08T20:30:00Z",
      "user_id": "mom",
      "user_input": "Schedule soccer",
      "validation_results": [],
      "workflow_status": "in_progress"
    });
    assert_eq!(written, expected);
}

/// R-FAM-7, R-FAM-21, R-FAM-67: messages are serialized with their time and deserialized unchanged.
#[test]
fn messages_are_json() {
    let state = started_state();
    let written = serde_json::to_string(&state).unwrap();
    let read: FamilySchedulerState = serde_json::from_str(&written).unwrap();
    assert_eq!(read, state);
    let messages: Vec<Message> = read.messages.iter().filter_map(Message::from_chat_message).collect();
    assert_eq!(messages, [Message::new(MessageRole::User, "Schedule soccer", now())]);
}

/// R-FAM-8, R-FAM-10, R-FAM-15, R-FAM-19, R-FAM-20: two agents can write in one superstep.
#[test]
fn two_agents_write_in_one_superstep() {
    let input = started_state();
    let before = input.clone();
    let checked = |step| {
        let result = ValidationResult { step, passed: true, timestamp: now(), issues: Vec::new() };
        FamilySchedulerState::update().validation_results(result)
    };
    let state = folded(
        &input,
        [
            checked(ValidationStep::Scheduling),
            checked(ValidationStep::ResourceCheck),
            update_state_with_agent_output("scheduling", output(0.9, json!({}))),
            update_state_with_agent_output("resource_manager", output(0.8, json!({}))),
            add_error("scheduling", "Slow", "took long", true, now()),
            add_error("resource_manager", "Slow", "took long", true, now()),
        ],
    );
    assert_eq!(state.agent_outputs.keys().collect::<Vec<_>>(), ["resource_manager", "scheduling"]);
    assert_eq!((state.errors.len(), state.audit_log.len(), state.validation_results.len()), (2, 2, 2));
    assert_eq!(input, before, "an update changes nobody else's state");
}

/// R-FAM-12, R-FAM-14, R-FAM-16: the choice and the number of retries are overwritten; a number below zero is rejected.
#[test]
fn choices_and_retries_are_overwritten() {
    let slot = |hour: u32| {
        let time = |minute: &str| format!("2026-01-10T{hour}:{minute}:00-05:00");
        from_json::<TimeSlot>(json!({ "start_time": time("00"), "end_time": time("45"), "score": 0.9,
            "available_participants": ["emma"], "constraint_violations": [] }))
        .unwrap()
    };
    let resolution = |id: &str| {
        from_json::<ProposedResolution>(json!({ "resolution_id": id, "strategy": "move_event", "score": 0.9,
            "description": "Later.", "changes": [], "conflicts_resolved": [], "side_effects": [] }))
        .unwrap()
    };
    let chosen = |hour: u32, id: &str, retries: u32| {
        let update = FamilySchedulerState::update()
            .selected_time_slot(Some(slot(hour)))
            .selected_resolution(Some(resolution(id)));
        update.retry_count(retries)
    };
    let first = folded(&started_state(), [chosen(14, "res_1", 2)]);
    let second = folded(&first, [chosen(16, "res_2", 1)]);
    assert_eq!((first.retry_count, second.retry_count), (2, 1));
    assert_eq!(
        (&second.selected_time_slot, &second.selected_resolution),
        (&Some(slot(16)), &Some(resolution("res_2")))
    );
    let cleared = folded(&second, [FamilySchedulerState::update().selected_time_slot(None).selected_resolution(None)]);
    assert_eq!((&cleared.selected_time_slot, &cleared.selected_resolution), (&None, &None));
    let mut written = serde_json::to_value(&second).unwrap();
    written["retry_count"] = json!(-1);
    assert!(serde_json::from_value::<FamilySchedulerState>(written).is_err());
}

/// R-FAM-18: the latest change time wins, in any order.
#[test]
fn the_latest_change_time_wins() {
    let (later, earlier) = (time("2026-01-08T21:00:00Z"), time("2026-01-08T19:00:00Z"));
    let touch = |at| FamilySchedulerState::update().updated_at(Some(at));
    assert_eq!(folded(&started_state(), [touch(later), touch(earlier)]).updated_at, Some(later));
}

/// R-FAM-5: a failed request cannot become completed, and a completed one cannot be reopened, except by a new
/// request.
#[test]
fn ended_requests_are_not_reopened() {
    let to = |state: &FamilySchedulerState, status| {
        try_folded(state, [FamilySchedulerState::update().workflow_status(status)])
    };
    let failed = to(&started_state(), WorkflowStatus::Failed).unwrap();
    let error = to(&failed, WorkflowStatus::Completed).unwrap_err().to_string();
    assert!(error.contains("a request cannot change from `failed` to `completed`"), "{error}");
    let waiting = to(&started_state(), WorkflowStatus::AwaitingUser).unwrap();
    let done = to(&to(&waiting, WorkflowStatus::InProgress).unwrap(), WorkflowStatus::Completed).unwrap();
    assert!(to(&done, WorkflowStatus::AwaitingUser).is_err());
    let anew = folded(&failed, [new_turn("Again", "mom", &failed.conversation_id, now())]);
    assert_eq!(anew.workflow_status, WorkflowStatus::InProgress);
}

/// R-FAM-3, R-FAM-17, R-FAM-22, R-FAM-23: a further request keeps conversation id, creation time, messages, errors
/// and audit log; all other fields are reset. Other conversations are independent.
#[tokio::test]
async fn turns_and_conversations() {
    let mut graph = StateGraph::<FamilySchedulerState>::new("turns");
    let work = graph.add_node("work", async |state: View<FamilySchedulerState>, _: TaskContext| {
        let message = Message::new(MessageRole::Assistant, "Done.", now());
        update_state_with_agent_output("nl_parser", output(0.9, json!({ "said": state.user_input })))
            .messages(message.to_chat_message())
            .errors(superstep_scheduler::models::ErrorInfo {
                step: "nl_parser".to_owned(),
                error_type: "Test".to_owned(),
                message: state.user_input.clone(),
                timestamp: now(),
                retryable: false,
            })
            .retry_count(2_u32)
            .current_step(WorkflowStep::Done)
            .workflow_status(WorkflowStatus::Completed)
            .notes(("confirmed".to_owned(), json!(true)))
    });
    graph.add_edge(START, work).add_edge(work, END).checkpointer(MemoryCheckpointer::new());
    let graph = graph.compile().unwrap();
    let turn = async |words: &str, thread: &str, at: &str| {
        graph.invoke(new_turn(words, "mom", thread, time(at))).thread(thread).await.unwrap().state
    };
    let (one, other) = ("conv_0000000000000001", "conv_0000000000000002");
    turn("first", one, "2026-01-08T20:30:00Z").await;
    let elsewhere = turn("elsewhere", other, "2026-01-08T20:31:00Z").await;
    let state = turn("second", one, "2026-01-08T20:40:00Z").await;
    assert_eq!(state.conversation_id, one);
    assert_eq!(state.created_at, Some(now()));
    let texts: Vec<String> = state.messages.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["first", "Done.", "second", "Done."]);
    assert_eq!(state.errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(state.audit_log.len(), 2);
    assert_eq!(state.agent_outputs["nl_parser"].data, object(json!({ "said": "second" })));
    assert_eq!(elsewhere.messages.len(), 2);
    assert_eq!(elsewhere.conversation_id, other);
    let third_turn = folded(&state, [new_turn("third", "dad", one, now())]);
    assert_eq!(
        (third_turn.retry_count, third_turn.current_step, third_turn.user_id.as_str()),
        (0, WorkflowStep::Start, "dad")
    );
    assert!(third_turn.agent_outputs.is_empty() && third_turn.validation_results.is_empty());
}

/// R-FAM-26: third-party agents write under their own names, next to the six built-in ones.
#[test]
fn third_party_agents_have_their_own_outputs() {
    let state = after(&started_state(), &[("nl_parser", 0.9), ("weather", 0.4)]);
    assert_eq!(state.agent_outputs.keys().collect::<Vec<_>>(), ["nl_parser", "weather"]);
}

/// R-FAM-85: each step has one name, and the agent's name of the third step is accepted too.
#[test]
fn step_names_round_trip() {
    for step in WorkflowStep::ALL {
        assert_eq!(serde_json::to_value(step).unwrap(), step.name());
        assert_eq!(serde_json::from_value::<WorkflowStep>(json!(step.name())).unwrap(), step);
    }
    assert_eq!(serde_json::from_value::<WorkflowStep>(json!("resource_manager")).unwrap(), WorkflowStep::ResourceCheck);
    assert!(serde_json::from_value::<WorkflowStep>(json!("cooking")).is_err());
}

/// R-FAM-134: the state is one typed struct. Agent outputs are one map by agent name, and no agent has separate
/// fields or state; control fields and work data are siblings; a proposed event is stored completely, not as a row
/// id. An update through the generated type changes only the fields it sets.
#[test]
fn the_state_is_one_typed_struct() {
    let schema = superstep_scheduler::state_graph().compile().unwrap().schema().clone();
    let names: Vec<&str> = schema.fields().iter().map(|field| &*field.name).collect();
    let control = ["user_input", "user_id", "conversation_id", "current_step", "workflow_status", "next_action"];
    let results = ["messages", "agent_outputs", "proposed_event", "validation_results", "parsed_event_data"];
    let chosen = ["selected_time_slot", "detected_conflicts", "selected_resolution"];
    let rest = ["errors", "retry_count", "created_at", "updated_at", "audit_log", "notes"];
    assert_eq!(names, [&control[..], &results, &chosen, &rest].concat());
    for agent in ["nl_parser", "scheduling", "resource_manager", "conflict_detection", "resolution", "query"] {
        assert!(!names.iter().any(|name| name.starts_with(agent)), "{agent}");
    }
    let outputs = schema.field(schema.find("agent_outputs").unwrap());
    assert_eq!((outputs.reducer.as_deref(), &outputs.json_schema["type"]), (Some("merge"), &json!("object")));
    let event = json!({
        "event_id": "evt_1", "title": "Soccer", "start_time": "2026-01-10T14:00:00-05:00",
        "end_time": "2026-01-10T15:00:00-05:00", "participants": ["emma"], "resources": ["car"], "status": "proposed",
        "created_at": "2026-01-08T20:30:00Z",
    });
    assert!(from_json::<ProposedEvent>(json!({ "event_id": "evt_1" })).is_err(), "an id is not an event");
    let part: FamilySchedulerStateUpdate =
        FamilySchedulerState::update().proposed_event(Some(from_json(event.clone()).unwrap()));
    let before = after(&started_state(), &[("nl_parser", 0.9)]);
    let mut expected = serde_json::to_value(&before).unwrap();
    expected["proposed_event"] = event;
    assert_eq!(serde_json::to_value(folded(&before, [part])).unwrap(), expected);
    let flat = object(json!({ "nl_parser_confidence": 0.9 }));
    let errors = schema.update_from_json(flat, &mut Vec::new()).unwrap_err();
    assert_eq!(errors[0].pointer, "/nl_parser_confidence");
}
