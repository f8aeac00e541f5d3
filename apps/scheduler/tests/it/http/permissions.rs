//! Permissions and visibility in conversations, and side effects of answers on other events.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    Calendar, CalendarChange, CalendarSnapshot, Event, Family, Flexibility, Member, Participant, Priority, Recurrence,
    RecurrenceOverride, TimeRange, Visibility,
};
use superstep_scheduler::sample;

use crate::test_server::{TestServer, pointers, soccer, start_server, start_with_family, sunday};

/// Formats a local time on a day with the offset of that day.
fn at(day: Date, hour: i8, minute: i8) -> String {
    let time = day.at(hour, minute, 0, 0).to_zoned(TimeZone::get(sample::ZONE).unwrap()).unwrap();
    time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Creates an event with owner, participant and hours in the calendar visible to all.
fn event(title: &str, (owner, member): (&str, &str), day: Date, (from, to): (u8, u8)) -> Event {
    let at = |hour: u8| Time::parse_event(&format!("{day}T{hour:02}:00:00"), sample::ZONE).unwrap();
    let (id, uid) = (title.to_lowercase(), format!("{title}@test"));
    let participants = vec![Participant { member: member.to_owned(), is_required: true }];
    Event {
        id,
        uid,
        title: title.to_owned(),
        span: TimeRange::new(at(from), at(to)).unwrap(),
        participants,
        owner: owner.to_owned(),
        ..sample::family().events["haircut"].as_ref().clone()
    }
}

/// Creates the family with additional events; Mom and Dad each have a private calendar, `mom` and `dad`.
fn snapshot_with(changes: impl IntoIterator<Item = Event>) -> CalendarSnapshot {
    let mut snapshot = sample::empty_family();
    for owner in ["mom", "dad"] {
        let (id, name, visibility) = (owner.to_owned(), owner.to_owned(), Visibility::Private);
        snapshot.apply(CalendarChange::Calendar(Calendar { id, name, owner: Some(owner.to_owned()), visibility }));
    }
    changes.into_iter().for_each(|event| snapshot.apply(CalendarChange::Event(Box::new(event))));
    snapshot
}

fn in_private(event: Event) -> Event {
    Event { calendar: event.owner.clone(), ..event }
}

fn resolutions_of(paused: &Value) -> &Vec<Value> {
    assert_eq!(paused["waiting"]["kind"], "resolution", "{paused}");
    paused["waiting"]["resolutions"].as_array().unwrap()
}

fn find_resolution<'a>(paused: &'a Value, start: &str) -> &'a Value {
    let is_match = |candidate: &&Value| candidate["description"].as_str().unwrap().starts_with(start);
    resolutions_of(paused).iter().find(is_match).unwrap_or_else(|| panic!("no way `{start}`: {paused}"))
}

/// Returns the times of a day at which confirmed events use the car, earliest first.
async fn drives(family: &TestServer, day: Date) -> Vec<(String, String)> {
    let has_car = |event: &&Value| {
        event["is_tentative"] == false && event["resources"].as_array().unwrap().iter().any(|one| one["id"] == "car")
    };
    let clock = |event: &Value, end: &str| event[end].as_str().unwrap()[11..16].to_owned();
    let events = family.events_on("mom", day).await;
    events.iter().filter(has_car).map(|event| (clock(event, "start"), clock(event, "end"))).collect()
}

fn pair(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

/// R-FAM-87, R-FAM-91, R-FAM-120: while Mom considers splitting soccer, Dad books the car for the time of the second
/// part: the split becomes invalid, Mom is asked again, and nothing is booked twice.
#[tokio::test]
async fn the_second_part_of_a_split_is_checked() {
    let day = sunday(3);
    let family = start_with_family(snapshot_with([event("Dentist", ("mom", "emma"), day, (15, 16))])).await;
    let paused =
        family.send("mom", &format!("Schedule soccer for Emma on {day} from 14:00 to 15:30 with the car")).await;
    let split = find_resolution(&paused, "Split");
    assert!(split["description"].as_str().unwrap().contains("4:00 pm to 4:30 pm"), "{split}");
    family.plan("dad", &format!("Schedule shopping for Dad on {day} at 16:00 with the car")).await;
    let (status, reopened) = family.answer("mom", &paused, json!({ "resolution_id": split["resolution_id"] })).await;
    assert_eq!((status, &reopened["status"]), (200, &json!("awaiting_user")), "{reopened}");
    let explanation = reopened["agent_outputs"]["conflict_detection"]["explanation"].as_str().unwrap();
    assert!(explanation.starts_with("“Soccer” (tentative): the car is taken by “Shopping”"), "{explanation}");
    assert_eq!(drives(&family, day).await, [pair("16:00", "17:00")]);
    let split = find_resolution(&reopened, "Split")["resolution_id"].clone();
    let (_, done) = family.answer("mom", &reopened, json!({ "resolution_id": split })).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(drives(&family, day).await, [pair("14:00", "15:00"), pair("16:00", "17:00"), pair("17:00", "17:30")]);
}

/// R-FAM-91, R-FAM-92: the same if Dad's booking happens between the last check and the write.
#[tokio::test]
async fn the_second_part_of_a_split_is_checked_when_it_is_written() {
    let day = sunday(3);
    let mut snapshot = snapshot_with([event("Dentist", ("mom", "emma"), day, (15, 16))]);
    snapshot.apply(CalendarChange::Family(Family { always_ask: true, ..(*snapshot.family).clone() }));
    let family = start_with_family(snapshot).await;
    let paused =
        family.send("mom", &format!("Schedule soccer for Emma on {day} from 14:00 to 15:30 with the car")).await;
    let split = find_resolution(&paused, "Split")["resolution_id"].clone();
    let (_, confirmation) = family.answer("mom", &paused, json!({ "resolution_id": split })).await;
    assert_eq!(confirmation["waiting"]["kind"], "confirmation", "{confirmation}");
    let shopping = family.send("dad", &format!("Schedule shopping for Dad on {day} at 16:00 with the car")).await;
    let (_, shopping) = family.answer("dad", &shopping, json!({ "confirm": true })).await;
    assert_eq!(shopping["status"], "completed", "{shopping}");
    let (_, reopened) = family.answer("mom", &confirmation, json!({ "confirm": true })).await;
    assert_eq!(
        (&reopened["status"], resolutions_of(&reopened).is_empty()),
        (&json!("awaiting_user"), false),
        "{reopened}"
    );
    assert_eq!(drives(&family, day).await, [pair("16:00", "17:00")]);
}

/// R-FAM-87, R-FAM-91: an edited resolution does not move another event onto a third one.
#[tokio::test]
async fn an_edited_resolution_does_not_move_another_event_into_a_conflict() {
    let day = sunday(3);
    let others = [
        event("Dentist", ("mom", "emma"), day, (14, 15)),
        event("Ballet", ("mom", "emma"), day, (17, 18)),
        in_private(event("Fitting", ("dad", "emma"), day, (10, 11))),
    ];
    let family = start_with_family(snapshot_with(others)).await;
    let paused = family.send("mom", &soccer(day)).await;
    let moving = |id: &str, hour: i8| {
        json!({ "resolution": { "resolution_id": "res_1", "strategy": "move_event", "changes": [
            { "event_id": id, "field": "start_time", "new_value": at(day, hour, 30), "action": "move" },
        ] } })
    };
    let (status, problem) = family.answer("mom", &paused, moving("dentist", 17)).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/answer/resolution"]), "{problem}");
    assert!(
        problem["errors"][0]["message"].as_str().unwrap().starts_with("“Dentist”: emma is at “Ballet”"),
        "{problem}"
    );
    let (status, problem) = family.answer("mom", &paused, moving("fitting", 12)).await;
    assert_eq!(status, 403, "what Mom does not see she does not move: {problem}");
    let (status, done) = family.answer("mom", &paused, moving("dentist", 15)).await;
    assert_eq!((status, &done["status"]), (200, &json!("completed")), "{done}");
}

/// R-FAM-91, R-FAM-107, R-FAM-120: while Mom considers moving the shopping, which uses the car, Dad books the car
/// for the new time: the car is not booked twice, neither by the resolution nor by an edited one.
#[tokio::test]
async fn a_resolution_does_not_double_book_a_resource() {
    let day = sunday(3);
    let shopping = event("Shopping", ("dad", "dad"), day, (14, 15));
    let shopping = Event { resources: vec!["car".to_owned()], flexibility: Flexibility::Flexible, ..shopping };
    let family = start_with_family(snapshot_with([shopping])).await;
    let paused = family.send("mom", &soccer(day)).await;
    let moving = find_resolution(&paused, "Move “Shopping”");
    assert!(moving["description"].as_str().unwrap().contains("3:00 pm to 4:00 pm"), "{moving}");
    family.plan("dad", &format!("Schedule errands for Mom on {day} at 3pm with the car")).await;
    let (status, problem) = family.answer("mom", &paused, json!({ "resolution": moving })).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/answer/resolution"]), "{problem}");
    let (status, reopened) = family.answer("mom", &paused, json!({ "resolution_id": moving["resolution_id"] })).await;
    assert_eq!((status, &reopened["status"]), (200, &json!("awaiting_user")), "{reopened}");
    assert_eq!(drives(&family, day).await, [pair("14:00", "15:00"), pair("15:00", "16:00")]);
}

/// R-FAM-93, R-FAM-106, R-FAM-109: proposals of other users conflict with changes of existing events too; their
/// content is not revealed.
#[tokio::test]
async fn a_change_conflicts_with_proposals_of_others() {
    let day = sunday(3);
    let shopping = event("Shopping", ("mom", "mom"), day, (10, 11));
    let shopping = Event { resources: vec!["car".to_owned()], ..shopping };
    let family = start_with_family(snapshot_with([shopping, event("Dentist", ("mom", "emma"), day, (14, 15))])).await;
    let soccer = family.send("dad", &soccer(day)).await;
    assert!(!resolutions_of(&soccer).is_empty());
    let paused = family.send("mom", "Move the shopping to 2pm").await;
    assert!(!resolutions_of(&paused).is_empty());
    let details = paused["waiting"]["conflicts"][0]["details"].as_str().unwrap();
    assert!(details.contains("The car is taken by a private event (tentative)"), "{details}");
    assert_eq!(paused["waiting"]["conflicts"][0]["conflicting_event_title"], "busy", "{paused}");
    assert!(!paused.to_string().contains("Soccer"), "{paused}");
}

/// Creates a weekly series of Mom with two occurrences.
fn dancing(day: Date) -> Event {
    let rule = Recurrence { rule: "FREQ=WEEKLY;COUNT=2".to_owned(), exdates: Vec::new(), rdates: Vec::new() };
    Event { recurrence: Some(rule), ..event("Dancing", ("mom", "mom"), day, (15, 16)) }
}

/// R-FAM-98, R-FAM-109: permission to change one visible occurrence does not extend to invisible occurrences of its
/// series, neither through the API nor in natural language.
#[tokio::test]
async fn permission_for_one_occurrence_does_not_extend_to_the_series() {
    let (day, next) = (sunday(3), sunday(4));
    let series = in_private(dancing(day));
    let replaced = RecurrenceOverride { series: series.id.clone(), start: day.at(15, 0, 0, 0) };
    let moved = in_private(event("Moved", ("mom", "dad"), day, (18, 19)));
    let moved =
        Event { recurrence_override: Some(replaced), title: "Dancing".to_owned(), uid: series.uid.clone(), ..moved };
    let family = start_with_family(snapshot_with([series, moved])).await;
    for which in ["all", "following"] {
        let (status, problem) = family.delete(&format!("/events/moved?user_id=dad&which={which}")).await;
        assert_eq!(status, 403, "{which}: {problem}");
        let body = json!({ "user_id": "dad", "which": which, "title": "Pub" });
        let (status, problem) = family.patch("/events/moved", body).await;
        assert_eq!(status, 403, "{which}: {problem}");
    }
    let paused = family.send("dad", "Cancel all dancing").await;
    if paused["waiting"]["kind"] == "confirmation" {
        family.answer("dad", &paused, json!({ "confirm": true })).await;
    }
    let titles = async |day: Date| -> Vec<Value> {
        family.events_on("mom", day).await.iter().map(|one| one["title"].clone()).collect()
    };
    assert_eq!((titles(day).await, titles(next).await), (vec![json!("Dancing")], vec![json!("Dancing")]));
    let (status, changed) = family.patch("/events/moved", json!({ "user_id": "dad", "title": "Tango" })).await;
    assert_eq!((status, titles(day).await), (200, vec![json!("Tango")]), "{changed}");
    let (status, deleted) = family.delete("/events/moved?user_id=dad&which=this").await;
    assert_eq!((status, titles(day).await, titles(next).await), (200, vec![], vec![json!("Dancing")]), "{deleted}");
}

/// R-FAM-98, R-FAM-99: an import cannot change an occurrence of another member's series.
#[tokio::test]
async fn an_import_cannot_change_an_occurrence_of_another_member() {
    let day = sunday(3);
    let family = start_with_family(snapshot_with([dancing(day)])).await;
    let date = day.to_string().replace('-', "");
    let file = format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//t//EN\r\nBEGIN:VEVENT\r\nUID:Dancing@test\r\n\
         RECURRENCE-ID;TZID={zone}:{date}T150000\r\nDTSTART;TZID={zone}:{date}T200000\r\n\
         DTEND;TZID={zone}:{date}T210000\r\nSUMMARY:Mine\r\nSEQUENCE:9\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        zone = sample::ZONE,
    );
    let bring = async |user: &str| -> Value {
        family.import_file(&format!("user_id={user}"), file.clone()).await.json().await.unwrap()
    };
    let emmas = bring("emma").await;
    assert_eq!(emmas["created"], 0, "{emmas}");
    assert!(
        emmas["skipped"][0]["reason"].as_str().unwrap().contains("do not have permission to change the event"),
        "{emmas}"
    );
    assert_eq!(family.events_on("mom", day).await[0]["title"], "Dancing");
    let of_mom = bring("mom").await;
    assert_eq!(
        (&of_mom["created"], &family.events_on("mom", day).await[0]["title"]),
        (&json!(1), &json!("Mine")),
        "{of_mom}"
    );
}

/// R-FAM-93, R-FAM-95: the audit log does not reveal proposals to other members.
#[tokio::test]
async fn the_audit_log_does_not_reveal_proposals() {
    let day = sunday(3);
    let family = start_with_family(snapshot_with([event("Dentist", ("mom", "emma"), day, (14, 15))])).await;
    let paused = family.send("dad", &soccer(day)).await;
    assert!(!resolutions_of(&paused).is_empty());
    let newest = async |user: &str| -> String {
        let audit = family.get(&format!("/audit?user_id={user}&limit=1")).await.1;
        audit["entries"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(newest("mom").await.ends_with(" a tentative event"), "{}", newest("mom").await);
    assert!(newest("dad").await.ends_with(" “Soccer practice”"), "{}", newest("dad").await);
    let id = resolutions_of(&paused)[0]["resolution_id"].clone();
    let (_, done) = family.answer("dad", &paused, json!({ "resolution_id": id })).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(newest("mom").await, "Dad: confirm “Soccer practice”");
}

/// R-FAM-93: the audit log does not reveal the name of a private calendar to other members.
#[tokio::test]
async fn the_name_of_a_private_calendar_is_its_owners() {
    let mut snapshot = sample::empty_family();
    let calendar = |id: &str, name: &str, visibility| {
        CalendarChange::Calendar(Calendar {
            id: id.to_owned(),
            name: name.to_owned(),
            owner: Some("mom".to_owned()),
            visibility,
        })
    };
    snapshot.apply(calendar("surprises", "Surprises", Visibility::Private));
    snapshot.apply(calendar("garden", "Garden", Visibility::Family));
    let family = start_with_family(snapshot).await;
    for (user, is_visible) in [("mom", true), ("dad", false), ("emma", false)] {
        let audit = family.get(&format!("/audit?user_id={user}")).await.1.to_string();
        assert_eq!(audit.contains("Surprises"), is_visible, "{user}: {audit}");
        assert_eq!(audit.contains("a private calendar"), !is_visible, "{user}: {audit}");
        assert!(audit.contains("Garden"), "{user}: {audit}");
    }
}

/// R-FAM-112, R-FAM-95: undoing the creation of a resource that is in use is rejected as a conflict.
#[tokio::test]
async fn undoing_the_creation_of_a_used_resource_is_rejected() {
    let day = sunday(3);
    let family = start_with_family(snapshot_with([event("Ride", ("dad", "dad"), day, (14, 15))])).await;
    let bike = json!({ "user_id": "mom", "name": "Bike", "type": "vehicle", "capacity": 1 });
    assert_eq!(family.post("/resources", bike).await.0, 201);
    assert_eq!(family.patch("/events/ride", json!({ "user_id": "dad", "resources": ["bike"] })).await.0, 200);
    let (status, problem) = family.post("/undo", json!({ "user_id": "mom" })).await;
    assert!(status == 409 && problem["detail"].as_str().unwrap().contains("still refers to it"), "{problem}");
}

/// R-FAM-87: an invalid answer is rejected with the location of the error, and the question stays open; an edited
/// resolution needs only the new values.
#[tokio::test]
async fn an_invalid_answer_is_rejected() {
    let day = sunday(3);
    let family = start_with_family(snapshot_with([event("Dentist", ("mom", "emma"), day, (14, 15))])).await;
    let paused = family.send("mom", &soccer(day)).await;
    let id = resolutions_of(&paused)[0]["changes"][0]["event_id"].clone();
    let moving = |resolution: &str, strategy: &str, to: &str| {
        let change = json!({ "event_id": id, "field": "start_time", "new_value": to, "action": "move" });
        json!({ "resolution": { "resolution_id": resolution, "strategy": strategy, "changes": [change] } })
    };
    let later = at(day, 18, 0);
    let rows = [
        moving("res_1", "move_event", "tomorrow"),
        moving("res_99", "move_event", &later),
        moving("res_1", "wish", &later),
        moving("res_1", "split_event", &later),
        json!({ "resolution": { "resolution_id": "res_1", "strategy": "move_event", "changes": [{ "when": later }] } }),
        json!({ "resolution": { "resolution_id": "res_1", "strategy": "move_event", "changes": [] } }),
        json!({ "resolution": { "resolution_id": "res_1", "strategy": "move_event" } }),
    ];
    for invalid in rows {
        let (status, problem) = family.answer("mom", &paused, invalid.clone()).await;
        assert_eq!((status, &problem["code"]), (422, &json!("SS-019")), "{invalid}: {problem}");
        assert!(
            !pointers(&problem).is_empty() && pointers(&problem).iter().all(|one| one.starts_with("/answer")),
            "{problem}"
        );
    }
    let path = format!("/threads/{}?user_id=mom", paused["workflow_id"].as_str().unwrap());
    assert_eq!(family.get(&path).await.1["status"], "awaiting_user");
    let (status, done) = family.answer("mom", &paused, moving("res_1", "move_event", &later)).await;
    assert_eq!((status, &done["status"]), (200, &json!("completed")), "{done}");
    assert!(done["result"]["event"]["start"].as_str().unwrap().contains("T18:00:00"), "{done}");
}

/// R-FAM-87, R-FAM-86, R-FAM-126: an invalid time, an unknown or duplicate name and an empty title are rejected with
/// their location, and the question stays open.
#[tokio::test]
async fn an_invalid_field_is_rejected() {
    let family = start_server().await;
    let paused = family.send("mom", "Schedule soccer for Emma").await;
    let rows = [
        (json!({ "start_time": "tomorrow" }), "start_time"),
        (json!({ "end_time": "tomorrow" }), "end_time"),
        (json!({ "participants": ["emma", "nobody"] }), "participants/1"),
        (json!({ "participants": ["emma", "emma"] }), "participants/1"),
        (json!({ "resources": ["bus"] }), "resources/0"),
        (json!({ "title": " " }), "title"),
    ];
    for (fields, pointer) in rows {
        let (status, problem) = family.answer("mom", &paused, json!({ "fields": fields })).await;
        assert_eq!((status, pointers(&problem)), (422, vec![&*format!("/answer/fields/{pointer}")]), "{problem}");
    }
    let fields = json!({ "fields": { "start_time": at(sunday(3), 14, 0) } });
    let (status, done) = family.answer("mom", &paused, fields).await;
    assert_eq!((status, &done["status"]), (200, &json!("completed")), "{done}");
}

/// R-FAM-109, R-FAM-127: natural language neither finds, reveals, changes nor cancels invisible events, not even for
/// parents.
#[tokio::test]
async fn natural_language_does_not_reach_invisible_events() {
    let day = sunday(3);
    let party = in_private(event("Jubilee banquet", ("mom", "mom"), day, (15, 16)));
    let family = start_with_family(snapshot_with([Event { id: "secret".to_owned(), ..party }])).await;
    let rows = [
        "cancel the banquet".to_owned(),
        "Move the banquet to 5pm".to_owned(),
        "Rename the banquet to Lunch".to_owned(),
        format!("Cancel everything on {day}"),
        "When is the banquet?".to_owned(),
        format!("Banquet on {day} at 9am"),
    ];
    for user in ["emma", "dad"] {
        for text in &rows {
            let response = family.send(user, text).await;
            assert!(
                !response.to_string().contains("Jubilee") && !response.to_string().contains("secret"),
                "{text}: {response}"
            );
            if response["waiting"]["kind"] == "clarification" {
                let (_, response) = family.answer(user, &response, json!({ "fields": { "event_id": "secret" } })).await;
                assert!(!response.to_string().contains("Jubilee"), "{text}: {response}");
            }
        }
        let (_, response) = family.post("/query", json!({ "text": "When is the banquet?", "user_id": user })).await;
        assert!(!response.to_string().contains("Jubilee"), "{response}");
    }
    let is_match = |event: &&Value| event["event_id"] == "secret";
    assert_eq!(family.events_on("mom", day).await.iter().find(is_match).unwrap()["title"], "Jubilee banquet");
    let response = family.send("mom", "cancel the jubilee banquet").await;
    assert_eq!(response["result"]["action"], "cancelled", "{response}");
}

/// R-FAM-109: an occurrence of a private series that was moved without Dad does not reappear for Dad at its original
/// time.
#[tokio::test]
async fn an_invisible_moved_occurrence_does_not_reappear() {
    let day = sunday(3);
    let both = ["mom", "dad"].map(|id| Participant { member: id.to_owned(), is_required: true });
    let series = Event { participants: both.to_vec(), ..in_private(dancing(day)) };
    let replaced = RecurrenceOverride { series: series.id.clone(), start: day.at(15, 0, 0, 0) };
    let moved = in_private(event("Moved", ("mom", "mom"), day, (18, 19)));
    let moved =
        Event { recurrence_override: Some(replaced), title: "Dancing".to_owned(), uid: series.uid.clone(), ..moved };
    let family = start_with_family(snapshot_with([series, moved])).await;
    let paused = family.send("dad", &format!("Cancel dancing on {day}")).await;
    assert_eq!(paused["status"], "awaiting_user", "{paused}");
    assert_eq!(family.events_on("mom", day).await[0]["event_id"], "moved");
}

/// R-FAM-109: Mom moves Dad's event onto a private event of Dad: the response says that Dad is
/// busy, and offers no change of the private event.
#[tokio::test]
async fn private_events_of_the_owner_are_not_revealed_to_the_requester() {
    let day = sunday(3);
    let secret = in_private(event("Oncologist", ("dad", "dad"), day, (15, 16)));
    let haircut = event("Haircut", ("dad", "dad"), day, (10, 11));
    let secret = Event { priority: Priority::Low, flexibility: Flexibility::Flexible, ..secret };
    let family = start_with_family(snapshot_with([haircut, secret])).await;
    let (of_mom, of_dad) =
        (family.send("mom", "Move the haircut to 3pm").await, family.send("dad", "Move the haircut to 3pm").await);
    assert_eq!(of_mom["waiting"]["conflicts"][0]["conflicting_event_title"], "busy", "{of_mom}");
    assert!(!of_mom.to_string().contains("Oncologist"), "{of_mom}");
    let touches = |resolution: &&Value| {
        resolution["changes"].as_array().unwrap().iter().any(|one| one["event_id"] == "oncologist")
    };
    assert_eq!(resolutions_of(&of_mom).iter().filter(touches).count(), 0, "{of_mom}");
    assert!(resolutions_of(&of_dad).iter().filter(touches).count() > 0, "{of_dad}");
}

/// R-FAM-107: a parent who changes Emma's event has the parent's permissions.
#[tokio::test]
async fn a_request_uses_the_permissions_of_the_requester() {
    let day = sunday(3);
    let chess = event("Chess", ("dad", "emma"), day, (15, 16));
    let chess = Event { flexibility: Flexibility::Flexible, ..chess };
    let family = start_with_family(snapshot_with([event("Ballet", ("emma", "emma"), day, (10, 11)), chess])).await;
    let paused = family.send("mom", "Move the ballet to 3pm").await;
    let id = find_resolution(&paused, "Move “Chess”")["resolution_id"].clone();
    let (_, done) = family.answer("mom", &paused, json!({ "resolution_id": id })).await;
    assert_eq!(done["status"], "completed", "{done}");
    let starts: Vec<String> = family
        .events_on("mom", day)
        .await
        .iter()
        .map(|one| one["start"].as_str().unwrap()[11..16].to_owned())
        .collect();
    assert_eq!(starts, ["15:00", "16:00"]);
}

/// R-FAM-63, R-FAM-109: a fit query for a day checks one hour of it and returns the possible times.
#[tokio::test]
async fn a_fit_query_for_a_day_checks_one_hour() {
    let day = sunday(3);
    let query = async |busy: (u8, u8), text: &str| {
        let family = start_with_family(snapshot_with([event("Trip", ("dad", "dad"), day, busy)])).await;
        let (status, response) = family.post("/query", json!({ "text": text, "user_id": "dad" })).await;
        assert_eq!((status, &response["status"]), (200, &json!("completed")), "{text}: {response}");
        assert_eq!(response["understood"]["data"]["title"], "Haircut", "{response}");
        (response["result"]["query"]["results"].clone(), response["explanation"].as_str().unwrap().to_owned())
    };
    let on_day = format!("Does a haircut for Dad fit on {day}?");
    let (results, explanation) = query((8, 20), &on_day).await;
    assert_eq!((&results["fits"], results["slots"].as_array().unwrap().len()), (&json!(true), 1), "{results}");
    assert!(results["slots"][0]["start_time"].as_str().unwrap().starts_with(&format!("{day}T20:00:00")), "{results}");
    assert!(
        explanation.starts_with("Yes, for example on Sunday") && explanation.ends_with("8:00 pm to 9:00 pm."),
        "{explanation}"
    );
    let (results, explanation) = query((8, 21), &on_day).await;
    assert_eq!((&results["fits"], &*explanation), (&json!(false), "No, there is no free time for it."), "{results}");
    let (results, _) = query((8, 20), "Does a haircut for Dad fit?").await;
    assert_eq!((&results["fits"], results["slots"].as_array().unwrap().len()), (&json!(true), 5), "{results}");
    let (results, explanation) = query((8, 20), &format!("Does a haircut for Dad fit on {day} at 10am?")).await;
    assert!(results["fits"] == false && explanation.starts_with("No: Dad is at “Trip”"), "{explanation}");
}

/// R-FAM-109: sentences contain times in the requester's time zone.
#[tokio::test]
async fn sentences_use_the_time_zone_of_the_requester() {
    let (day, mut snapshot) = (sunday(3), snapshot_with([]));
    let zone = "Asia/Tokyo";
    snapshot.apply(CalendarChange::Member(Member {
        zone: Some(zone.to_owned()),
        ..snapshot.members["dad"].as_ref().clone()
    }));
    snapshot.apply(CalendarChange::Event(Box::new(event("Dentist", ("mom", "emma"), day, (14, 15)))));
    let family = start_with_family(snapshot).await;
    let clock = |hour: i8| {
        let here = day.at(hour, 0, 0, 0).to_zoned(TimeZone::get(sample::ZONE).unwrap()).unwrap();
        here.with_time_zone(TimeZone::get(zone).unwrap()).strftime("%-I:%M %P").to_string()
    };
    let response = family.send("dad", &format!("Schedule shopping for Dad on {day} at 10am")).await;
    assert!(response["explanation"].as_str().unwrap().contains(&clock(10)), "{response}");
    let paused = family.send("dad", &soccer(day)).await;
    assert!(paused["waiting"]["conflicts"][0]["details"].as_str().unwrap().contains(&clock(14)), "{paused}");
    assert!(find_resolution(&paused, "Move")["description"].as_str().unwrap().contains(&clock(15)), "{paused}");
}
