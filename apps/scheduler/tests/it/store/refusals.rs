//! What does not fit is refused by name, and nothing of it is written.

use superstep::Code;
use superstep_scheduler::calendar::{Change, Event, Family, Participant, Role, RuleKind, Span, Strength};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::store::Calendars;

use super::family::{belongings, event, member, put, rule, smiths, time};
use super::smiths as open_smiths;

fn soccer() -> Event {
    event("soccer", 14, EventStatus::Proposed)
}

/// Each with the words that name what is wrong.
fn wrong() -> Vec<(Change, &'static str)> {
    let (start, end) = (soccer().span.start, soccer().span.end);
    let grandma = Participant { member: "grandma".to_owned(), is_required: false };
    let twice = vec!["car".to_owned(), "car".to_owned()];
    let gap = RuleKind::MinGapMinutes { minutes: 5 };
    vec![
        (put(Event { calendar: "work".to_owned(), ..soccer() }), "calendar `work`"),
        (put(Event { participants: vec![grandma], ..soccer() }), "member `grandma`"),
        (put(Event { resources: vec!["boat".to_owned()], ..soccer() }), "`boat`"),
        (put(Event { resources: twice, ..soccer() }), "`car` twice"),
        (put(Event { span: Span { start: end, end: start }, ..soccer() }), "ends at"),
        (put(Event { span: Span { start, end: time("2027-01-14T14:00:00Z") }, ..soccer() }), "longer than a year"),
        (put(Event { zone: "America/New_Yrok".to_owned(), ..soccer() }), "America/New_Yrok"),
        (put(Event { title: "a\0b".to_owned(), ..soccer() }), "NUL"),
        (Change::RemoveMember("mom".to_owned()), "calendar `moms`"),
        (Change::RemoveMember("emma".to_owned()), "rule `nights`"),
        (Change::Rule(rule("gap", Some("grandma"), gap, Strength::Hard)), "member `grandma`"),
        (Change::Family(Family { id: "jones".to_owned(), ..smiths() }), "cannot become `jones`"),
        (Change::Family(Family { zone: "Mars".to_owned(), ..smiths() }), "Mars"),
    ]
}

on_both! {
    /// R-FAM-95: whoever names what is not there, or takes away what is named, is told what it is.
    #[tokio::test]
    async fn what_names_something_that_is_not_there_is_refused(place: Place) {
        let calendars = open_smiths(&place, Calendars::options()).await;
        for (change, words) in wrong() {
            // What would be fine goes with it.
            let changes = vec![Change::Member(member("uncle", Role::Other)), change];
            let error = calendars.change("smith", "mom", "wrong", move |_| Ok(changes)).await.unwrap_err();
            assert_eq!((error.code(), error.http_status()), (Code::TypeMismatch, 422), "{error}");
            assert!(error.message().contains(words), "{words}: {error}");
        }
        calendars.change("smith", "mom", "add", |_| Ok(vec![put(soccer())])).await.unwrap();
        let sold = vec![Change::RemoveResource("car".to_owned())];
        let refused = calendars.change("smith", "mom", "sell", |_| Ok(sold)).await;
        assert!(refused.unwrap_err().message().contains("event `soccer`"));
        let board = place.open(Calendars::options()).await.unwrap().board("smith").await.unwrap();
        assert_eq!((board.revision, board.members.len(), board.resources.len()), (2, 3, 2));
    }

    /// R-FAM-95: one family does not see another, though all is called the same there.
    #[tokio::test]
    async fn families_are_apart_and_made_once(place: Place) {
        let calendars = open_smiths(&place, Calendars::options()).await;
        let again = calendars.create_family("dad", smiths(), Vec::new()).await.unwrap_err();
        assert_eq!((again.code(), again.http_status()), (Code::InputInvalid, 422));
        let jones = Family { id: "jones".to_owned(), ..smiths() };
        calendars.create_family("mom", jones, belongings()).await.unwrap();
        calendars.change("jones", "mom", "add", |_| Ok(vec![put(soccer())])).await.unwrap();
        assert!(calendars.board("smith").await.unwrap().events.is_empty());
        assert_eq!(calendars.families().await.unwrap().len(), 2);
        assert_eq!(calendars.board("brown").await.unwrap_err().code(), Code::NotFound);
        let unknown = calendars.change("brown", "mom", "add", |_| Ok(Vec::new())).await;
        assert_eq!(unknown.unwrap_err().code(), Code::NotFound);
        // One that could not be made leaves nothing behind.
        let brown = Family { id: "brown".to_owned(), ..smiths() };
        let refused = calendars.create_family("mom", brown.clone(), vec![put(soccer())]).await.unwrap_err();
        assert_eq!(refused.code(), Code::TypeMismatch);
        assert_eq!(calendars.create_family("mom", brown, Vec::new()).await.unwrap().board.revision, 1);
    }
}
