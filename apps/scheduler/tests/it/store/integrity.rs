//! Invalid changes are rejected with the reason, and nothing is written.

use superstep::ErrorCode;
use superstep_scheduler::calendar::{
    CalendarChange, ConstraintKind, ConstraintStrength, Event, Family, MemberRole, Participant, TimeRange,
};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::store::CalendarStore;

use super::family::{event, family_objects, member, put, rule, smiths, time};
use super::smiths as open_smiths;

fn soccer() -> Event {
    event("soccer", 14, EventStatus::Proposed)
}

/// Returns invalid changes, each with a part of its error message.
fn invalid_changes() -> Vec<(CalendarChange, &'static str)> {
    let (start, end) = (soccer().span.start, soccer().span.end);
    let grandma = Participant { member: "grandma".to_owned(), is_required: false };
    let twice = vec!["car".to_owned(), "car".to_owned()];
    let gap = ConstraintKind::MinGapMinutes { minutes: 5 };
    vec![
        (put(Event { calendar: "work".to_owned(), ..soccer() }), "calendar `work`"),
        (put(Event { participants: vec![grandma], ..soccer() }), "member `grandma`"),
        (put(Event { resources: vec!["boat".to_owned()], ..soccer() }), "`boat`"),
        (put(Event { resources: twice, ..soccer() }), "`car` twice"),
        (put(Event { span: TimeRange { start: end, end: start }, ..soccer() }), "ends at"),
        (put(Event { span: TimeRange { start, end: time("2027-01-14T14:00:00Z") }, ..soccer() }), "longer than a year"),
        (put(Event { zone: "America/New_Yrok".to_owned(), ..soccer() }), "America/New_Yrok"),
        (put(Event { title: "a\0b".to_owned(), ..soccer() }), "NUL"),
        (CalendarChange::RemoveMember("mom".to_owned()), "calendar `moms`"),
        (CalendarChange::RemoveMember("emma".to_owned()), "rule `nights`"),
        (CalendarChange::Rule(rule("gap", Some("grandma"), gap, ConstraintStrength::Hard)), "member `grandma`"),
        (CalendarChange::Family(Family { id: "jones".to_owned(), ..smiths() }), "cannot become `jones`"),
        (CalendarChange::Family(Family { zone: "Mars".to_owned(), ..smiths() }), "Mars"),
    ]
}

on_both! {
    /// R-FAM-95: a change that refers to a missing object or deletes a referenced one is rejected with its name.
    #[tokio::test]
    async fn references_to_missing_objects_are_rejected(location: TestLocation) {
        let calendars = open_smiths(&location, CalendarStore::options()).await;
        for (change, words) in invalid_changes() {
            // The valid change in the same transaction is not written either.
            let changes = vec![CalendarChange::Member(member("uncle", MemberRole::Other)), change];
            let error = calendars.change("smith", "mom", "wrong", move |_| Ok(changes)).await.unwrap_err();
            assert_eq!((error.code(), error.http_status()), (ErrorCode::TypeMismatch, 422), "{error}");
            assert!(error.message().contains(words), "{words}: {error}");
        }
        calendars.change("smith", "mom", "add", |_| Ok(vec![put(soccer())])).await.unwrap();
        let sold = vec![CalendarChange::RemoveResource("car".to_owned())];
        let result = calendars.change("smith", "mom", "sell", |_| Ok(sold)).await;
        assert!(result.unwrap_err().message().contains("event `soccer`"));
        let snapshot = location.open(CalendarStore::options()).await.unwrap().snapshot("smith").await.unwrap();
        assert_eq!((snapshot.revision, snapshot.members.len(), snapshot.resources.len()), (2, 3, 2));
    }

    /// R-FAM-95: families are isolated, even if their objects have equal ids, and a family is created once.
    #[tokio::test]
    async fn families_are_apart_and_made_once(location: TestLocation) {
        let calendars = open_smiths(&location, CalendarStore::options()).await;
        let error = calendars.create_family("dad", smiths(), Vec::new()).await.unwrap_err();
        assert_eq!((error.code(), error.http_status()), (ErrorCode::InputInvalid, 422));
        let jones = Family { id: "jones".to_owned(), ..smiths() };
        calendars.create_family("mom", jones, family_objects()).await.unwrap();
        calendars.change("jones", "mom", "add", |_| Ok(vec![put(soccer())])).await.unwrap();
        assert!(calendars.snapshot("smith").await.unwrap().events.is_empty());
        assert_eq!(calendars.families().await.unwrap().len(), 2);
        assert_eq!(calendars.snapshot("brown").await.unwrap_err().code(), ErrorCode::NotFound);
        let unknown = calendars.change("brown", "mom", "add", |_| Ok(Vec::new())).await;
        assert_eq!(unknown.unwrap_err().code(), ErrorCode::NotFound);
        // A failed creation leaves no data.
        let brown = Family { id: "brown".to_owned(), ..smiths() };
        let result = calendars.create_family("mom", brown.clone(), vec![put(soccer())]).await.unwrap_err();
        assert_eq!(result.code(), ErrorCode::TypeMismatch);
        assert_eq!(calendars.create_family("mom", brown, Vec::new()).await.unwrap().snapshot.revision, 1);
    }
}
