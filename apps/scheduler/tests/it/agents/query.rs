//! Answers to queries.

use serde_json::{Value, json};
use superstep_scheduler::agents::query::{CalendarQuery, answer_query};
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, TimeRange};
use superstep_scheduler::models::QueryType;

use super::builder::{Build as _, With as _, at, event, family, now, span};

fn weekend() -> Option<TimeRange> {
    TimeRange::new(at("2026-01-10"), at("2026-01-12"))
}

fn query_results(snapshot: &CalendarSnapshot, requester: &str, question: &CalendarQuery) -> Value {
    Value::Object(answer_query(snapshot, requester, question, now()).unwrap().results)
}

/// R-FAM-118, R-FAM-109, R-FAM-62, R-FAM-63: the common free times of all three members this weekend.
#[test]
fn everyone_is_free_when_no_member_has_events() {
    let snapshot = family()
        .with(event("Dentist", "2026-01-10 14:30 15:30").with_participants(&["emma"]))
        .with(event("Work", "2026-01-10 15:00 17:00").with_participants(&["dad"]))
        .with(event("Lunch", "2026-01-11 12:00 13:00").with_optional_participants(&["mom"]).proposed());
    let question = CalendarQuery { span: weekend(), ..CalendarQuery::new(QueryType::Availability) };
    let members = json!(["dad", "emma", "mom"]);
    let free = |start: &str, end: &str| json!({ "start": start, "end": end, "members": members });
    let expected = json!({ "free": [
        free("2026-01-10T08:00:00-05:00", "2026-01-10T14:30:00-05:00"),
        free("2026-01-10T17:00:00-05:00", "2026-01-10T21:00:00-05:00"),
        free("2026-01-11T08:00:00-05:00", "2026-01-11T12:00:00-05:00"),
        free("2026-01-11T13:00:00-05:00", "2026-01-11T21:00:00-05:00"),
    ] });
    assert_eq!(query_results(&snapshot, "mom", &question), expected);
    let data = answer_query(&snapshot, "mom", &question, now()).unwrap();
    assert_eq!(serde_json::to_value(&data).unwrap()["query_type"], "availability");
    let emmas = CalendarQuery {
        people: vec!["emma".to_owned()],
        span: TimeRange::new(at("2026-01-08"), at("2026-01-09")),
        ..question
    };
    let expected = json!({ "free": [{
        "start": "2026-01-08T15:30:00-05:00", "end": "2026-01-08T21:00:00-05:00", "members": ["emma"],
    }] });
    assert_eq!(query_results(&snapshot, "mom", &emmas), expected);
}

/// R-FAM-109: times are in the time zone of the requester.
#[test]
fn times_are_in_the_zone_of_the_requester() {
    let mut dad = family().members["dad"].as_ref().clone();
    dad.zone = Some("Europe/Berlin".to_owned());
    let snapshot = family()
        .with_change(CalendarChange::Member(dad))
        .with(event("Dentist", "2026-01-10 14:30 15:30").with_participants(&["emma"]));
    let question = CalendarQuery { text: "dentist".to_owned(), ..CalendarQuery::new(QueryType::EventLookup) };
    let starts = |requester: &str| query_results(&snapshot, requester, &question)["events"][0]["start"].clone();
    assert_eq!(starts("mom"), "2026-01-10T14:30:00-05:00");
    assert_eq!(starts("dad"), "2026-01-10T20:30:00+01:00");
    let check = CalendarQuery {
        event: Some(event("New", "2026-01-10 14:00 15:00").with_participants(&["emma"])),
        ..CalendarQuery::new(QueryType::ConflictCheck)
    };
    let dads_results = query_results(&snapshot, "dad", &check);
    assert_eq!(dads_results["slots"][0]["start_time"], "2026-01-10T14:00:00+01:00");
    let details = |results: &Value| results["conflicts"][0]["details"].as_str().unwrap().to_owned();
    assert_eq!(details(&dads_results), "Emma is at “Dentist” on Saturday 10 January, 8:30 pm to 9:30 pm.");
    let moms = query_results(&snapshot, "mom", &check);
    assert_eq!(details(&moms), "Emma is at “Dentist” on Saturday 10 January, 2:30 pm to 3:30 pm.");
}

/// R-FAM-109, R-FAM-93, R-FAM-63: a lookup finds confirmed events by word, member, resource and time, with each
/// occurrence.
#[test]
fn a_lookup_returns_matching_confirmed_events() {
    let snapshot = family()
        .with(
            event("Piano lesson", "2026-01-13 17:00 18:00")
                .with_participants(&["emma"])
                .repeating("FREQ=WEEKLY;BYDAY=TU;COUNT=3"),
        )
        .with(event("Grand Piano moving", "2026-01-14 09:00 10:00").with_participants(&["dad"]).using(&["car"]))
        .with(event("Piano sale", "2026-01-15 09:00 10:00").proposed());
    let lookup = |change: &dyn Fn(&mut CalendarQuery)| {
        let mut question = CalendarQuery::new(QueryType::EventLookup);
        change(&mut question);
        let results = query_results(&snapshot, "mom", &question);
        let events = results["events"].as_array().unwrap().clone();
        events.iter().map(|event| event["start"].as_str().unwrap()[5..16].to_owned()).collect::<Vec<String>>()
    };
    let all = ["01-13T17:00", "01-14T09:00", "01-20T17:00", "01-27T17:00"];
    assert_eq!(lookup(&|_| ()), all);
    assert_eq!(lookup(&|question| question.text = "PIANO".to_owned()), all);
    assert_eq!(lookup(&|question| question.text = "lesson piano".to_owned()), [all[0], all[2], all[3]]);
    assert_eq!(lookup(&|question| question.people = vec!["dad".to_owned()]), [all[1]]);
    assert_eq!(lookup(&|question| question.resources = vec!["car".to_owned()]), [all[1]]);
    assert_eq!(lookup(&|question| question.span = TimeRange::new(at("2026-01-20"), at("2026-01-21"))), [all[2]]);
    assert_eq!(lookup(&|question| question.text = "violin".to_owned()), Vec::<String>::new());
    let one = &query_results(
        &snapshot,
        "mom",
        &CalendarQuery { text: "moving".to_owned(), ..CalendarQuery::new(QueryType::EventLookup) },
    )["events"][0];
    let expected = json!({
        "event_id": "grand piano moving", "title": "Grand Piano moving",
        "start": "2026-01-14T09:00:00-05:00", "end": "2026-01-14T10:00:00-05:00",
        "participants": ["dad"], "resources": ["car"], "location": "", "is_all_day": false, "is_private": false,
    });
    assert_eq!(*one, expected);
}

/// R-FAM-109, R-FAM-63: the usage of all or some resources, now or at a given time.
#[test]
fn each_resource_is_reported_separately() {
    let snapshot = family().with(event("Drive", "2026-01-08 15:00 17:00").using(&["car"]));
    let all = query_results(&snapshot, "mom", &CalendarQuery::new(QueryType::ResourceStatus));
    let car = json!({
        "resource_id": "car", "resource_name": "car", "available": false,
        "current_capacity": 1, "max_capacity": 1, "conflicts": ["drive"],
    });
    assert_eq!(all["resources"][0], car);
    assert_eq!(all["resources"][1]["available"], true);
    let later = CalendarQuery {
        resources: vec!["car".to_owned()],
        span: Some(span("2026-01-08 17:00 18:00")),
        ..CalendarQuery::new(QueryType::ResourceStatus)
    };
    let later = query_results(&snapshot, "mom", &later);
    assert_eq!((later["resources"].as_array().unwrap().len(), &later["resources"][0]["available"]), (1, &json!(true)));
}

/// R-FAM-109, R-FAM-63: a fit check returns the reasons and alternative times if the event does not fit.
#[test]
fn a_failed_fit_check_returns_alternative_times() {
    let snapshot = family().with(event("Dentist", "2026-01-10 14:30 15:30").with_participants(&["emma"]));
    let check = |when: &str| {
        let event = Some(event("Soccer", when).with_participants(&["emma"]));
        query_results(&snapshot, "mom", &CalendarQuery { event, ..CalendarQuery::new(QueryType::ConflictCheck) })
    };
    assert_eq!(check("2026-01-10 13:00 14:00"), json!({ "fits": true, "conflicts": [], "slots": [] }));
    let clash = check("2026-01-10 14:00 15:00");
    assert_eq!((&clash["fits"], &clash["conflicts"][0]["conflicting_event_title"]), (&json!(false), &json!("Dentist")));
    assert_eq!(clash["slots"].as_array().unwrap().len(), 4);
    assert_eq!(clash["slots"][0]["start_time"], "2026-01-10T08:00:00-05:00");
}

/// R-FAM-63, R-FAM-109: without a given time, an event fits if the time range contains a free slot; the slots are
/// returned.
#[test]
fn an_event_without_a_time_fits_into_any_free_slot() {
    let fits = |long: &str| {
        let snapshot = family().with(event("Trip", long).with_participants(&["emma"]));
        let event = Some(event("Haircut", "2026-01-08 15:30 16:30").with_participants(&["emma"]));
        let span = TimeRange::new(at("2026-01-10"), at("2026-01-11"));
        query_results(
            &snapshot,
            "mom",
            &CalendarQuery { event, span, is_open: true, ..CalendarQuery::new(QueryType::ConflictCheck) },
        )
    };
    let yes = fits("2026-01-10 08:00 19:30");
    assert_eq!((&yes["fits"], &yes["conflicts"]), (&json!(true), &json!([])));
    let starts: Vec<&str> =
        yes["slots"].as_array().unwrap().iter().filter_map(|one| one["start_time"].as_str()).collect();
    assert_eq!(starts, ["2026-01-10T19:30:00-05:00", "2026-01-10T20:00:00-05:00", "2026-01-10T19:45:00-05:00"]);
    assert_eq!(yes["slots"][0]["end_time"], "2026-01-10T20:30:00-05:00");
    assert_eq!(fits("2026-01-10 08:00 20:30"), json!({ "fits": false, "conflicts": [], "slots": [] }));
}

/// R-FAM-63, R-FAM-94, R-FAM-109: without an event to fit, the query returns existing conflicts, restricted to the
/// given time range and members, as visible to the requester.
#[test]
fn existing_conflicts_are_reported_as_visible_to_the_requester() {
    let daily = |title: &str, when: &str, member: &str| {
        event(title, when).with_participants(&[member]).repeating("FREQ=DAILY;COUNT=3")
    };
    let snapshot = family()
        .with(daily("Choir", "2026-01-13 17:30 18:30", "emma"))
        .with(daily("Piano", "2026-01-13 17:00 18:00", "emma"))
        .with(event("Work", "2026-03-02 09:00 10:00").with_participants(&["dad"]))
        .with(event("Bank", "2026-03-02 09:30 10:30").with_participants(&["dad"]));
    let conflict_details = |requester: &str, change: &dyn Fn(&mut CalendarQuery)| {
        let mut question = CalendarQuery::new(QueryType::ConflictCheck);
        change(&mut question);
        let results = query_results(&snapshot, requester, &question);
        assert_eq!((&results["slots"], &results["fits"]), (&json!([]), &json!(results["conflicts"] == json!([]))));
        let details = |one: &Value| one["details"].as_str().unwrap().to_owned();
        results["conflicts"].as_array().unwrap().iter().map(details).collect::<Vec<String>>()
    };
    let choir = "“Piano” and “Choir” both need Emma 3 times, first on Tuesday 13 January, 5:30 pm to 6:30 pm.";
    let bank = "“Work” and “Bank” both need Dad on Monday 2 March, 9:30 am to 10:30 am.";
    assert_eq!(conflict_details("mom", &|_| ()), [choir, bank]);
    assert_eq!(conflict_details("mom", &|question| question.people = vec!["dad".to_owned()]), [bank]);
    assert_eq!(
        conflict_details("mom", &|question| question.span = TimeRange::new(at("2026-01-12"), at("2026-01-19"))),
        [choir]
    );
    assert_eq!(conflict_details("mom", &|question| question.span = weekend()), Vec::<String>::new());
}

/// R-FAM-109: unknown members and resources are rejected by name.
#[test]
fn unknown_members_and_resources_are_rejected() {
    let snapshot = family();
    let error_message = |requester: &str, question: &CalendarQuery| {
        answer_query(&snapshot, requester, question, now()).unwrap_err().to_string()
    };
    let plain = CalendarQuery::new(QueryType::Availability);
    assert!(error_message("stranger", &plain).contains("`stranger`"));
    assert!(error_message("mom", &CalendarQuery { people: vec!["bob".to_owned()], ..plain }).contains("`bob`"));
    let boat = CalendarQuery { resources: vec!["boat".to_owned()], ..CalendarQuery::new(QueryType::ResourceStatus) };
    assert!(error_message("mom", &boat).contains("`boat`"));
}
