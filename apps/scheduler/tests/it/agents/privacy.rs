//! Private events of other users appear as "busy" everywhere.

use serde_json::Value;
use superstep_scheduler::agents::query::{CalendarQuery, answer_query};
use superstep_scheduler::agents::{conflicts, resolution, scan};
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, Event, Priority, Visibility};
use superstep_scheduler::models::QueryType;

use super::builder::{Build as _, With as _, calendar, event, family, now};

/// Creates a calendar with a private event of Dad and Emma.
fn private_event_snapshot() -> CalendarSnapshot {
    let secret = event("Surprise party", "2026-01-10 14:30 15:30").with_participants(&["emma"]).owned_by("dad");
    let private = CalendarChange::Calendar(calendar("dads", Some("dad"), Visibility::Private));
    family().with_change(private).with(secret.change(|event| {
        event.calendar = "dads".to_owned();
        event.location = "Surprise hall".to_owned();
        event.resources = vec!["kitchen".to_owned()];
    }))
}

fn soccer(owner: &str) -> Event {
    event("Soccer", "2026-01-10 14:00 15:00").with_participants(&["emma"]).owned_by(owner)
}

/// R-FAM-109: a private event of others is busy and not found by title; participants and owner see it.
#[test]
fn private_events_of_others_are_busy() {
    let lookup = |requester: &str, change: &dyn Fn(&mut CalendarQuery)| {
        let mut question = CalendarQuery::new(QueryType::EventLookup);
        change(&mut question);
        answer_query(&private_event_snapshot(), requester, &question, now()).unwrap().results["events"]
            .as_array()
            .unwrap()
            .clone()
    };
    let all = lookup("mom", &|_| ());
    assert_eq!((all.len(), &all[0]["title"], &all[0]["is_private"]), (1, &Value::from("busy"), &Value::Bool(true)));
    assert!(!serde_json::to_string(&all).unwrap().contains("Surprise"));
    assert!(lookup("mom", &|question| question.text = "party".to_owned()).is_empty());
    assert!(lookup("mom", &|question| question.resources = vec!["kitchen".to_owned()]).is_empty());
    for requester in ["dad", "emma"] {
        assert_eq!(lookup(requester, &|question| question.text = "party".to_owned())[0]["title"], "Surprise party");
    }
}

/// R-FAM-109, R-FAM-106, R-FAM-107, R-FAM-94: conflicts, resolutions and recorded conflicts do not reveal it either.
#[test]
fn conflicts_do_not_reveal_private_events() {
    let detected = conflicts::detect_conflicts(&private_event_snapshot(), &soccer("mom")).unwrap();
    assert_eq!(detected[0].conflicting_event_title.as_deref(), Some("busy"));
    assert_eq!(detected[0].details, "Emma is at a private event on Saturday 10 January, 2:30 pm to 3:30 pm.");
    let resolutions =
        resolution::propose_resolutions(&private_event_snapshot(), &soccer("mom"), &detected, "mom", now()).unwrap();
    assert!(!serde_json::to_string(&resolutions).unwrap().contains("Surprise"));
    let recorded = scan::scan_conflicts(&private_event_snapshot().with(soccer("mom")), now()).unwrap();
    assert!(recorded.len() == 1 && !serde_json::to_string(&recorded).unwrap().contains("Surprise"), "{recorded:?}");
    let dads = conflicts::detect_conflicts(&private_event_snapshot(), &soccer("dad")).unwrap();
    assert_eq!(dads[0].conflicting_event_title.as_deref(), Some("Surprise party"));
    let (both, clashes) = (private_event_snapshot().with(soccer("mom")), CalendarQuery::new(QueryType::ConflictCheck));
    let answer_json =
        |requester: &str| serde_json::to_string(&answer_query(&both, requester, &clashes, now()).unwrap()).unwrap();
    assert!(
        answer_json("mom").contains("a private event") && !answer_json("mom").contains("Surprise"),
        "{}",
        answer_json("mom")
    );
    assert!(answer_json("dad").contains("Surprise party"), "{}", answer_json("dad"));
}

/// R-FAM-106, R-FAM-107, R-FAM-109: a user who changes another's event sees only what is visible to the user, and is
/// offered no change of an invisible event.
#[test]
fn visibility_follows_the_requester_and_not_the_owner() {
    let dads = soccer("dad").change(|event| event.priority = Priority::High);
    let resolutions_json = |requester: &str| {
        let detected =
            conflicts::detect_conflicts_for_member(&private_event_snapshot(), &dads, now(), requester).unwrap();
        serde_json::to_string(
            &resolution::propose_resolutions(&private_event_snapshot(), &dads, &detected, requester, now()).unwrap(),
        )
        .unwrap()
    };
    assert!(resolutions_json("dad").contains("Cancel “Surprise party”"));
    assert!(
        !resolutions_json("mom").contains("Surprise") && !resolutions_json("mom").contains("a private event on"),
        "{}",
        resolutions_json("mom")
    );
}
