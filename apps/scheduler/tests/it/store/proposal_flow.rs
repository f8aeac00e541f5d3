//! Status changes of an event, from proposed to confirmed.

use superstep::core::time::Time;
use superstep::{ErrorCode, Result};
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, Event};
use superstep_scheduler::models::{Conflict, EventStatus, Severity};
use superstep_scheduler::store::{CalendarStore, IdempotentResult};

use super::confirm_transaction::{Step, bring};
use super::family::{car_is_taken, conflict, event, put, time};
use super::{clock, smiths as open_smiths, two_handles};

fn free(_: &CalendarSnapshot, _: &Event) -> Result<Vec<Conflict>> {
    Ok(Vec::new())
}

/// Returns the conflicts of confirmed events that use the car at the same time.
fn scan(snapshot: &CalendarSnapshot, _: Time) -> Result<Vec<Conflict>> {
    let mut all = Vec::new();
    for event in snapshot.events.values().filter(|event| event.status == EventStatus::Confirmed) {
        all.extend(car_is_taken(snapshot, event)?);
    }
    Ok(all)
}

on_both! {
    /// R-FAM-91, R-FAM-132: a repeated task, from any handle, finds its earlier result and changes nothing; a task
    /// that changed nothing may change something later.
    #[tokio::test]
    async fn a_repeated_task_changes_the_calendar_once(location: TestLocation) {
        let calendars = two_handles(&location).await;
        let add = |id: &'static str| move |_: &CalendarSnapshot| Ok(vec![put(event(id, 14, EventStatus::Confirmed))]);
        let nothing = calendars[0].change_once("smith", ("mom", "add"), "task_1", |_| Ok(Vec::new())).await.unwrap();
        assert!(matches!(nothing, IdempotentResult::Applied(done) if done.changes.is_empty()));
        let done = calendars[0].change_once("smith", ("mom", "add"), "task_1", add("soccer")).await.unwrap();
        assert!(matches!(&done, IdempotentResult::Applied(done) if done.snapshot.events.contains_key("soccer")), "{done:?}");
        let repeated =
            calendars[1].change_once("smith", ("mom", "add"), "task_1", |_| panic!("it is done")).await.unwrap();
        let IdempotentResult::AlreadyApplied(entry) = repeated else { panic!("{repeated:?}") };
        assert_eq!((entry.task.as_deref(), entry.images[0].id.as_str()), (Some("task_1"), "soccer"));
        calendars[1].change_once("smith", ("mom", "add"), "task_2", add("piano")).await.unwrap();
        assert_eq!(calendars[0].snapshot("smith").await.unwrap().events.len(), 2);
    }

    /// R-FAM-90: an event is proposed, validated and confirmed, and its resources are then reserved permanently;
    /// repeating a step changes nothing.
    #[tokio::test]
    async fn an_event_is_proposed_validated_and_confirmed(location: TestLocation) {
        let calendars = open_smiths(&location, CalendarStore::options().clock(clock())).await;
        let proposal = vec![put(event("soccer", 14, EventStatus::Proposed))];
        calendars.change("smith", "mom", "propose", |_| Ok(proposal)).await.unwrap();
        let state = "SELECT e.status || ' ' || r.state FROM events e JOIN reservations r ON r.event = e.id";
        assert_eq!(location.value(state), "proposed tentative");
        for _ in 0..2 {
            let validated = bring(&calendars, "mom", ("soccer", EventStatus::Validated), free).await.unwrap();
            assert!(matches!(validated, Step::Done(done) if done.snapshot.revision == 3));
            assert_eq!(location.value(state), "validated tentative");
        }
        for _ in 0..2 {
            let confirmed = bring(&calendars, "mom", ("soccer", EventStatus::Confirmed), free).await.unwrap();
            let Step::Done(done) = confirmed else { panic!("{confirmed:?}") };
            let soccer = &done.snapshot.events["soccer"];
            assert_eq!((done.snapshot.revision, soccer.status), (4, EventStatus::Confirmed));
            assert_eq!(location.value(state), "confirmed confirmed");
        }
        let repeated = bring(&calendars, "mom", ("soccer", EventStatus::Validated), free).await.unwrap();
        assert!(matches!(repeated, Step::Done(_)));
    }

    /// R-FAM-91: confirmation checks everything again; the second user gets the conflict, and nothing is written.
    #[tokio::test]
    async fn confirmation_detects_a_car_booked_meanwhile(location: TestLocation) {
        let [moms, dads] = two_handles(&location).await;
        for (calendars, id) in [(&moms, "soccer"), (&dads, "shopping")] {
            let event = event(id, 14, EventStatus::Proposed);
            calendars.change("smith", "mom", "propose", |_| Ok(vec![put(event)])).await.unwrap();
            let validated = bring(calendars, "mom", (id, EventStatus::Validated), car_is_taken).await.unwrap();
            assert!(matches!(validated, Step::Done(_)));
        }
        let first = bring(&moms, "mom", ("soccer", EventStatus::Confirmed), car_is_taken).await.unwrap();
        assert!(matches!(first, Step::Done(_)));
        let second = bring(&dads, "dad", ("shopping", EventStatus::Confirmed), car_is_taken).await.unwrap();
        assert_eq!(second, Step::Blocked(vec![conflict("shopping", "soccer")]));
        let snapshot = dads.snapshot("smith").await.unwrap();
        assert_eq!((snapshot.revision, snapshot.events["shopping"].status), (6, EventStatus::Validated));
        // A conflict that does not block does not prevent the confirmation.
        let mild = |_: &CalendarSnapshot, _: &Event| Ok(vec![Conflict { severity: Severity::Medium, ..conflict("a", "b") }]);
        let done = bring(&dads, "dad", ("shopping", EventStatus::Confirmed), mild).await.unwrap();
        assert!(matches!(done, Step::Done(_)));
    }

    /// R-FAM-93: an event that is proposed or validated for more than a day is rejected, once; confirmed and newer
    /// ones stay.
    #[tokio::test]
    async fn proposals_older_than_a_day_are_rejected(location: TestLocation) {
        let calendars = open_smiths(&location, CalendarStore::options()).await;
        let build = |id: &str, status, created: &str| {
            put(Event { created_at: time(created), updated_at: time(created), ..event(id, 9, status) })
        };
        let old = "2026-01-05T11:59:59Z";
        let events = vec![
            build("old", EventStatus::Proposed, old),
            build("checked", EventStatus::Validated, old),
            build("done", EventStatus::Confirmed, old),
            build("young", EventStatus::Proposed, "2026-01-05T12:00:00Z"),
        ];
        calendars.change("smith", "mom", "propose", |_| Ok(events)).await.unwrap();
        let now = time("2026-01-06T12:00:00Z");
        let expired = ["checked", "old"].map(|id| ("smith".to_owned(), id.to_owned()));
        assert_eq!(calendars.expire_proposals(now).await.unwrap(), expired);
        assert_eq!(calendars.expire_proposals(now).await.unwrap(), []);
        let snapshot = location.open(CalendarStore::options()).await.unwrap().snapshot("smith").await.unwrap();
        assert_eq!(snapshot.events.keys().collect::<Vec<_>>(), ["done", "young"]);
        assert_eq!(location.value("SELECT count(*) FROM events WHERE status = 'rejected'"), "2");
        let last = calendars.audit("smith", 1).await.unwrap().remove(0);
        assert_eq!((last.actor.as_str(), last.action.as_str(), last.images.len()), ("clean_up", "expire", 2));
        let error = bring(&calendars, "mom", ("old", EventStatus::Confirmed), free).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::NotFound);
    }

    /// R-FAM-94: after every change of an event, resource or constraint, the conflicts among confirmed events are
    /// recorded again in the same transaction.
    #[tokio::test]
    async fn conflicts_are_recorded_with_every_change(location: TestLocation) {
        let calendars = open_smiths(&location, CalendarStore::options().scan(scan)).await;
        for (id, hour, count) in [("soccer", 14, 0), ("shopping", 14, 2), ("dinner", 18, 2)] {
            let event = event(id, hour, EventStatus::Confirmed);
            let changed = calendars.change("smith", "mom", "add", |_| Ok(vec![put(event)])).await.unwrap();
            assert_eq!(changed.snapshot.conflicts.len(), count, "{id}");
            assert_eq!(location.value("SELECT count(*) FROM conflicts"), count.to_string());
        }
        let other = location.open(CalendarStore::options()).await.unwrap().snapshot("smith").await.unwrap();
        assert_eq!(*other.conflicts["soccer-shopping"], conflict("soccer", "shopping"));
        let cancel = vec![CalendarChange::RemoveEvent("soccer".to_owned())];
        let cancelled = calendars.change("smith", "mom", "cancel", |_| Ok(cancel)).await;
        assert!(cancelled.unwrap().snapshot.conflicts.is_empty());
        assert_eq!(location.value("SELECT count(*) FROM conflicts"), "0");
    }
}
