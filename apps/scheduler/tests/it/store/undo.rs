//! Undo of changes.

use std::time::Duration;

use superstep::ErrorCode;
use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::testing::ManualClock;
use superstep_scheduler::calendar::{
    CalendarChange, CalendarSnapshot, Event, Family, MemberRole, Participant, TimeRange,
};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::store::{CalendarStore, ChangeResult, UndoOutcome};

use super::confirm_transaction::{Step, bring};
use super::family::{event, family_objects, later_piano, member, piano, put, resource, smiths, time};
use super::test_location::TestLocation;
use super::{clock, smiths as open_smiths};

fn now(clock: &ManualClock) -> Time {
    Time::from_unix_micros(clock.now()).unwrap()
}

/// Creates the family and advances the clock beyond the undo period of its creation.
async fn open_after_undo_window(location: &TestLocation) -> (ManualClock, CalendarStore) {
    let clock = clock();
    let calendars = open_smiths(location, CalendarStore::options().clock(clock.clone())).await;
    clock.advance(Duration::from_secs(3_600));
    (clock, calendars)
}

async fn undo(calendars: &CalendarStore, user: &str, clock: &ManualClock) -> ChangeResult {
    match calendars.undo("smith", user, now(clock)).await.unwrap() {
        UndoOutcome::Done(done) => done,
        other => panic!("{other:?}"),
    }
}

async fn write(calendars: &CalendarStore, user: &str, event: Event) {
    calendars.change("smith", user, "write", move |_| Ok(vec![put(event)])).await.unwrap();
}

on_both! {
    /// R-FAM-112: a member's changes can be undone for exactly ten minutes, one after the other.
    #[tokio::test]
    async fn a_change_is_undone_within_ten_minutes(location: TestLocation) {
        let (clock, calendars) = open_after_undo_window(&location).await;
        write(&calendars, "mom", piano()).await;
        let first = calendars.snapshot("smith").await.unwrap();
        write(&calendars, "mom", Event { title: "Violin".to_owned(), resources: Vec::new(), ..piano() }).await;
        write(&calendars, "dad", event("shopping", 9, EventStatus::Confirmed)).await;
        clock.advance(Duration::from_secs(599));
        let done = undo(&calendars, "mom", &clock).await;
        assert_eq!(done.snapshot.events["piano"], first.events["piano"]);
        assert!(done.snapshot.events.contains_key("shopping"));
        // The change before that; the undone change does not block it.
        let done = undo(&calendars, "mom", &clock).await;
        assert_eq!(done.snapshot.events.keys().collect::<Vec<_>>(), ["shopping"]);
        assert_eq!(calendars.undo("smith", "mom", now(&clock)).await.unwrap(), UndoOutcome::NothingToUndo);
        let entries = calendars.audit("smith", 2).await.unwrap();
        let undone: Vec<_> = entries.iter().map(|entry| (&*entry.actor, &*entry.action, entry.undoes)).collect();
        assert_eq!(undone, [("mom", "undo", Some(2)), ("mom", "undo", Some(3))]);
        clock.advance(Duration::from_secs(2));
        assert_eq!(calendars.undo("smith", "dad", now(&clock)).await.unwrap(), UndoOutcome::NothingToUndo);
        let reopened = location.open(CalendarStore::options()).await.unwrap();
        assert_eq!(reopened.snapshot("smith").await.unwrap(), done.snapshot);
    }

    /// R-FAM-112: a change to an object that another member has modified since is not undone, and the result names
    /// the object.
    #[tokio::test]
    async fn a_change_modified_by_another_member_is_not_undone(location: TestLocation) {
        let (clock, calendars) = open_after_undo_window(&location).await;
        write(&calendars, "mom", piano()).await;
        write(&calendars, "dad", Event { title: "Violin".to_owned(), ..piano() }).await;
        let before = calendars.snapshot("smith").await.unwrap();
        let result = calendars.undo("smith", "mom", now(&clock)).await.unwrap();
        assert_eq!(result, UndoOutcome::ModifiedSince(vec!["piano".to_owned()]));
        assert_eq!(calendars.snapshot("smith").await.unwrap(), before);
        // After that modification is undone too, the original change can be undone.
        assert!(matches!(calendars.undo("smith", "dad", now(&clock)).await.unwrap(), UndoOutcome::Done(_)));
        assert!(matches!(calendars.undo("smith", "mom", now(&clock)).await.unwrap(), UndoOutcome::Done(_)));
        assert!(calendars.snapshot("smith").await.unwrap().events.is_empty());
    }

    /// R-FAM-112, R-FAM-93: undoing a booking rejects the event instead of proposing it again; undoing a
    /// cancellation restores the booking; intermediate status changes are not separate changes.
    #[tokio::test]
    async fn bookings_and_cancellations_are_undone_completely(location: TestLocation) {
        let (clock, calendars) = open_after_undo_window(&location).await;
        for id in ["soccer", "shopping"] {
            write(&calendars, "mom", event(id, 14, EventStatus::Proposed)).await;
            bring(&calendars, "mom", (id, EventStatus::Validated), |_, _| Ok(Vec::new())).await.unwrap();
            let free = |_: &CalendarSnapshot, _: &Event| Ok(Vec::new());
            let confirmed = bring(&calendars, "mom", (id, EventStatus::Confirmed), free).await.unwrap();
            assert!(matches!(confirmed, Step::Done(_)));
        }
        write(&calendars, "mom", event("soccer", 14, EventStatus::Rejected)).await;
        for left in [vec!["shopping", "soccer"], vec!["soccer"], vec![]] {
            let done = undo(&calendars, "mom", &clock).await;
            assert_eq!(done.snapshot.events.keys().collect::<Vec<_>>(), left);
            assert!(done.snapshot.events.values().all(|event| event.status == EventStatus::Confirmed));
        }
        assert_eq!(location.value("SELECT count(*) FROM events WHERE status = 'rejected'"), "2");
        assert_eq!(calendars.undo("smith", "mom", now(&clock)).await.unwrap(), UndoOutcome::NothingToUndo);
    }

    /// R-FAM-112: a change of several objects is undone as one; the creation of a family cannot be undone.
    #[tokio::test]
    async fn a_change_of_several_records_is_undone_as_one(location: TestLocation) {
        let (clock, calendars) = open_after_undo_window(&location).await;
        let before = calendars.snapshot("smith").await.unwrap();
        let boating = Event { resources: vec!["boat".to_owned()], ..event("boating", 9, EventStatus::Confirmed) };
        let changes = vec![CalendarChange::Resource(resource("boat", 2)), put(boating), CalendarChange::RemoveRule("few".to_owned())];
        calendars.change("smith", "dad", "holiday", |_| Ok(changes)).await.unwrap();
        let done = undo(&calendars, "dad", &clock).await;
        assert_eq!((&done.snapshot.resources, &done.snapshot.rules), (&before.resources, &before.rules));
        assert!(done.snapshot.events.is_empty());
        let jones = Family { id: "jones".to_owned(), ..smiths() };
        calendars.create_family("mom", jones, family_objects()).await.unwrap();
        assert_eq!(calendars.undo("jones", "mom", now(&clock)).await.unwrap(), UndoOutcome::NothingToUndo);
    }

    /// R-FAM-112, R-FAM-91: an undo that would cause a conflict is rejected: the car may have been booked since,
    /// after a cancellation, a move or a temporarily higher capacity.
    #[tokio::test]
    async fn an_undo_that_causes_a_conflict_is_rejected(location: TestLocation) {
        let (clock, calendars) = open_after_undo_window(&location).await;
        let at = |id: &str, hour: u32, user: &str| Event {
            participants: vec![Participant { member: user.to_owned(), is_required: true }],
            owner: user.to_owned(),
            ..event(id, hour, EventStatus::Confirmed)
        };
        write(&calendars, "emma", at("bank", 14, "dad")).await;
        write(&calendars, "emma", at("pool", 9, "dad")).await;
        let cases = [
            (vec![CalendarChange::RemoveEvent("bank".to_owned())], at("shopping", 14, "mom"), "resource_conflict:bank:car"),
            (vec![put(at("pool", 11, "dad"))], at("sauna", 9, "mom"), "resource_conflict:pool:car"),
            (vec![CalendarChange::Resource(resource("car", 2))], at("tennis", 11, "mom"), "resource_conflict:car:pool:tennis"),
        ];
        for (change, taken, conflict) in cases {
            calendars.change("smith", "dad", "change", |_| Ok(change)).await.unwrap();
            let id = taken.id.clone();
            write(&calendars, "mom", taken).await;
            let before = calendars.snapshot("smith").await.unwrap();
            let result = calendars.undo("smith", "dad", now(&clock)).await.unwrap();
            let UndoOutcome::Blocked(conflicts) = result else { panic!("{conflict}: {result:?}") };
            assert_eq!(conflicts.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), [conflict]);
            assert_eq!(calendars.snapshot("smith").await.unwrap(), before, "{conflict}");
            // Once the resource is free the undo succeeds; then the event is created again for the next case.
            calendars.change("smith", "mom", "cancel", |_| Ok(vec![CalendarChange::RemoveEvent(id)])).await.unwrap();
            undo(&calendars, "dad", &clock).await;
            if conflict.contains("pool:car") {
                write(&calendars, "emma", at("pool", 11, "dad")).await;
            }
        }
    }

    /// R-FAM-112, R-FAM-98: the creation of a series cannot be undone after another member has overridden an
    /// instance.
    #[tokio::test]
    async fn an_overridden_series_cannot_be_undone(location: TestLocation) {
        let (clock, calendars) = open_after_undo_window(&location).await;
        write(&calendars, "dad", piano()).await;
        write(&calendars, "mom", later_piano()).await;
        let result = calendars.undo("smith", "dad", now(&clock)).await.unwrap();
        assert_eq!(result, UndoOutcome::ModifiedSince(vec!["later-piano".to_owned()]));
        undo(&calendars, "mom", &clock).await;
        assert!(undo(&calendars, "dad", &clock).await.snapshot.events.is_empty());
    }

    /// R-FAM-112, R-FAM-91, R-FAM-98: a moved instance does not return to a time at which the car is booked by now,
    /// even if an earlier instance of the series never had the car.
    #[tokio::test]
    async fn a_moved_instance_returns_only_to_a_free_time(location: TestLocation) {
        let (clock, calendars) = open_after_undo_window(&location).await;
        let at = |id: &str, day: u32| Event {
            span: TimeRange::new(
                time(&format!("2026-01-{day}T17:00:00-05:00")),
                time(&format!("2026-01-{day}T18:00:00-05:00")),
            )
            .unwrap(),
            ..event(id, 0, EventStatus::Confirmed)
        };
        write(&calendars, "emma", Event { is_all_day: false, ..piano() }).await;
        write(&calendars, "emma", at("bank", 15)).await;
        write(&calendars, "dad", later_piano()).await;
        write(&calendars, "mom", at("shopping", 20)).await;
        let before = calendars.snapshot("smith").await.unwrap();
        let result = calendars.undo("smith", "dad", now(&clock)).await.unwrap();
        let UndoOutcome::Blocked(conflicts) = result else { panic!("{result:?}") };
        assert_eq!(conflicts.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["resource_conflict:piano:car"]);
        assert_eq!(calendars.snapshot("smith").await.unwrap(), before);
        undo(&calendars, "mom", &clock).await;
        let done = undo(&calendars, "dad", &clock).await;
        assert_eq!(done.snapshot.events.keys().collect::<Vec<_>>(), ["bank", "piano"]);
    }

    /// R-FAM-112, R-FAM-95: a member who is no longer a parent cannot change the family by an undo, so that one
    /// parent remains.
    #[tokio::test]
    async fn an_undo_requires_the_same_permission(location: TestLocation) {
        let (clock, calendars) = open_after_undo_window(&location).await;
        let make = async |user: &str, target: &str, role: MemberRole| {
            let change = CalendarChange::Member(member(target, role));
            calendars.change("smith", user, "change_member", |_| Ok(vec![change])).await.unwrap();
        };
        make("mom", "dad", MemberRole::Child).await;
        make("mom", "dad", MemberRole::Parent).await;
        make("dad", "mom", MemberRole::Child).await;
        let result = calendars.undo("smith", "mom", now(&clock)).await.unwrap_err();
        assert_eq!(result.code(), ErrorCode::PolicyRefused);
        let done = undo(&calendars, "dad", &clock).await;
        assert_eq!(done.snapshot.members["mom"].role, MemberRole::Parent);
        assert_eq!(undo(&calendars, "mom", &clock).await.snapshot.members["dad"].role, MemberRole::Child);
    }
}
