//! Private events of other users appear as "busy" everywhere.

use serde_json::Value;
use superstep_scheduler::agents::query::{CalendarQuery, answer_query};
use superstep_scheduler::agents::{conflicts, resolution, scan};
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, Event, Priority, Visibility};
use superstep_scheduler::models::QueryType;

use super::builder::{Build as _, With as _, calendar, event, family, now};

/// Creates a calendar with a private event of Dad and Emma.
fn board() -> CalendarSnapshot {
    let secret = event("Surprise party", "2026-01-10 14:30 15:30").of(&["emma"]).owned_by("dad");
    let private = CalendarChange::Calendar(calendar("dads", Some("dad"), Visibility::Private));
    family().and(private).with(secret.change(|event| {
        event.calendar = "dads".to_owned();
        event.location = "Surprise hall".to_owned();
        event.resources = vec!["kitchen".to_owned()];
    }))
}

fn soccer(owner: &str) -> Event {
    event("Soccer", "2026-01-10 14:00 15:00").of(&["emma"]).owned_by(owner)
}

/// R-FAM-109: a private event of others is busy and not found by title; participants and owner see it.
#[test]
fn private_events_of_others_are_busy() {
    let lookup = |asker: &str, change: &dyn Fn(&mut CalendarQuery)| {
        let mut question = CalendarQuery::new(QueryType::EventLookup);
        change(&mut question);
        answer_query(&board(), asker, &question, now()).unwrap().results["events"].as_array().unwrap().clone()
    };
    let all = lookup("mom", &|_| ());
    assert_eq!((all.len(), &all[0]["title"], &all[0]["is_private"]), (1, &Value::from("busy"), &Value::Bool(true)));
    assert!(!serde_json::to_string(&all).unwrap().contains("Surprise"));
    assert!(lookup("mom", &|question| question.text = "party".to_owned()).is_empty());
    assert!(lookup("mom", &|question| question.resources = vec!["kitchen".to_owned()]).is_empty());
    for asker in ["dad", "emma"] {
        assert_eq!(lookup(asker, &|question| question.text = "party".to_owned())[0]["title"], "Surprise party");
    }
}

/// R-FAM-109, R-FAM-106, R-FAM-107, R-FAM-94: conflicts, resolutions and recorded conflicts do not reveal it either.
#[test]
fn conflicts_do_not_tell_what_is_private() {
    let found = conflicts::detect_conflicts(&board(), &soccer("mom")).unwrap();
    assert_eq!(found[0].conflicting_event_title.as_deref(), Some("busy"));
    assert_eq!(found[0].details, "Emma is at something private on Saturday 10 January, 2:30 pm to 3:30 pm.");
    let ways = resolution::propose_resolutions(&board(), &soccer("mom"), &found, "mom", now()).unwrap();
    assert!(!serde_json::to_string(&ways).unwrap().contains("Surprise"));
    let recorded = scan::scan_conflicts(&board().with(soccer("mom")), now()).unwrap();
    assert!(recorded.len() == 1 && !serde_json::to_string(&recorded).unwrap().contains("Surprise"), "{recorded:?}");
    let dads = conflicts::detect_conflicts(&board(), &soccer("dad")).unwrap();
    assert_eq!(dads[0].conflicting_event_title.as_deref(), Some("Surprise party"));
    let (both, clashes) = (board().with(soccer("mom")), CalendarQuery::new(QueryType::ConflictCheck));
    let told = |asker: &str| serde_json::to_string(&answer_query(&both, asker, &clashes, now()).unwrap()).unwrap();
    assert!(told("mom").contains("something private") && !told("mom").contains("Surprise"), "{}", told("mom"));
    assert!(told("dad").contains("Surprise party"), "{}", told("dad"));
}

/// R-FAM-106, R-FAM-107, R-FAM-109: a user who changes another's event sees only what is visible to the user, and is
/// offered no change of an invisible event.
#[test]
fn the_asker_is_told_and_not_the_owner() {
    let dads = soccer("dad").change(|event| event.priority = Priority::High);
    let told = |asker: &str| {
        let found = conflicts::detect_conflicts_for_member(&board(), &dads, now(), asker).unwrap();
        serde_json::to_string(&resolution::propose_resolutions(&board(), &dads, &found, asker, now()).unwrap()).unwrap()
    };
    assert!(told("dad").contains("Cancel “Surprise party”"));
    assert!(!told("mom").contains("Surprise") && !told("mom").contains("something private on"), "{}", told("mom"));
}
