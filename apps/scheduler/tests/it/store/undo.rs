//! Taking a change back.

use std::time::Duration;

use superstep::Code;
use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::testing::ManualClock;
use superstep_scheduler::calendar::{Board, Change, Event, Family, Participant, Role, Span};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::store::{Calendars, Changed, Undone};

use super::family::{belongings, event, later_piano, member, piano, put, resource, smiths, time};
use super::place::Place;
use super::way::{Step, bring};
use super::{clock, smiths as open_smiths};

fn now(clock: &ManualClock) -> Time {
    Time::from_unix_micros(clock.now()).unwrap()
}

/// The family, long after it was made.
async fn settled(place: &Place) -> (ManualClock, Calendars) {
    let clock = clock();
    let calendars = open_smiths(place, Calendars::options().clock(clock.clone())).await;
    clock.advance(Duration::from_secs(3_600));
    (clock, calendars)
}

async fn undone(calendars: &Calendars, who: &str, clock: &ManualClock) -> Changed {
    match calendars.undo("smith", who, now(clock)).await.unwrap() {
        Undone::Done(done) => done,
        other => panic!("{other:?}"),
    }
}

async fn write(calendars: &Calendars, who: &str, event: Event) {
    calendars.change("smith", who, "write", move |_| Ok(vec![put(event)])).await.unwrap();
}

on_both! {
    /// R-FAM-112: what somebody changed can be undone for ten minutes, exactly, and one change after the other.
    #[tokio::test]
    async fn a_change_is_undone_within_ten_minutes(place: Place) {
        let (clock, calendars) = settled(&place).await;
        write(&calendars, "mom", piano()).await;
        let first = calendars.board("smith").await.unwrap();
        write(&calendars, "mom", Event { title: "Violin".to_owned(), resources: Vec::new(), ..piano() }).await;
        write(&calendars, "dad", event("shopping", 9, EventStatus::Confirmed)).await;
        clock.advance(Duration::from_secs(599));
        let done = undone(&calendars, "mom", &clock).await;
        assert_eq!(done.board.events["piano"], first.events["piano"]);
        assert!(done.board.events.contains_key("shopping"));
        // The one before, which is not in the way of its own successor.
        let done = undone(&calendars, "mom", &clock).await;
        assert_eq!(done.board.events.keys().collect::<Vec<_>>(), ["shopping"]);
        assert_eq!(calendars.undo("smith", "mom", now(&clock)).await.unwrap(), Undone::Nothing);
        let entries = calendars.audit("smith", 2).await.unwrap();
        let undone: Vec<_> = entries.iter().map(|entry| (&*entry.who, &*entry.action, entry.undoes)).collect();
        assert_eq!(undone, [("mom", "undo", Some(2)), ("mom", "undo", Some(3))]);
        clock.advance(Duration::from_secs(2));
        assert_eq!(calendars.undo("smith", "dad", now(&clock)).await.unwrap(), Undone::Nothing);
        let fresh = place.open(Calendars::options()).await.unwrap();
        assert_eq!(fresh.board("smith").await.unwrap(), done.board);
    }

    /// R-FAM-112: what somebody else has touched since is not undone, and they are told what it is.
    #[tokio::test]
    async fn what_somebody_touched_since_is_not_undone(place: Place) {
        let (clock, calendars) = settled(&place).await;
        write(&calendars, "mom", piano()).await;
        write(&calendars, "dad", Event { title: "Violin".to_owned(), ..piano() }).await;
        let before = calendars.board("smith").await.unwrap();
        let refused = calendars.undo("smith", "mom", now(&clock)).await.unwrap();
        assert_eq!(refused, Undone::Touched(vec!["piano".to_owned()]));
        assert_eq!(calendars.board("smith").await.unwrap(), before);
        // Once that is undone too, it is as if nothing had been.
        assert!(matches!(calendars.undo("smith", "dad", now(&clock)).await.unwrap(), Undone::Done(_)));
        assert!(matches!(calendars.undo("smith", "mom", now(&clock)).await.unwrap(), Undone::Done(_)));
        assert!(calendars.board("smith").await.unwrap().events.is_empty());
    }

    /// R-FAM-112, R-FAM-93: undone, a booking is rejected and not a proposal again; undone, a cancellation is a booking
    /// again; and the steps on the way are no changes of their own.
    #[tokio::test]
    async fn a_booking_and_a_cancellation_are_undone_as_a_whole(place: Place) {
        let (clock, calendars) = settled(&place).await;
        for id in ["soccer", "shopping"] {
            write(&calendars, "mom", event(id, 14, EventStatus::Proposed)).await;
            bring(&calendars, "mom", (id, EventStatus::Validated), |_, _| Ok(Vec::new())).await.unwrap();
            let free = |_: &Board, _: &Event| Ok(Vec::new());
            let confirmed = bring(&calendars, "mom", (id, EventStatus::Confirmed), free).await.unwrap();
            assert!(matches!(confirmed, Step::Done(_)));
        }
        write(&calendars, "mom", event("soccer", 14, EventStatus::Rejected)).await;
        for left in [vec!["shopping", "soccer"], vec!["soccer"], vec![]] {
            let done = undone(&calendars, "mom", &clock).await;
            assert_eq!(done.board.events.keys().collect::<Vec<_>>(), left);
            assert!(done.board.events.values().all(|event| event.status == EventStatus::Confirmed));
        }
        assert_eq!(place.value("SELECT count(*) FROM events WHERE status = 'rejected'"), "2");
        assert_eq!(calendars.undo("smith", "mom", now(&clock)).await.unwrap(), Undone::Nothing);
    }

    /// R-FAM-112: a change of many things is undone as one; the making of a family is not.
    #[tokio::test]
    async fn a_change_of_many_things_is_undone_as_one(place: Place) {
        let (clock, calendars) = settled(&place).await;
        let before = calendars.board("smith").await.unwrap();
        let boating = Event { resources: vec!["boat".to_owned()], ..event("boating", 9, EventStatus::Confirmed) };
        let changes = vec![Change::Resource(resource("boat", 2)), put(boating), Change::RemoveRule("few".to_owned())];
        calendars.change("smith", "dad", "holiday", |_| Ok(changes)).await.unwrap();
        let done = undone(&calendars, "dad", &clock).await;
        assert_eq!((&done.board.resources, &done.board.rules), (&before.resources, &before.rules));
        assert!(done.board.events.is_empty());
        let jones = Family { id: "jones".to_owned(), ..smiths() };
        calendars.create_family("mom", jones, belongings()).await.unwrap();
        assert_eq!(calendars.undo("jones", "mom", now(&clock)).await.unwrap(), Undone::Nothing);
    }

    /// R-FAM-112, R-FAM-91: what comes back finds room or stays away: somebody may have taken the car meanwhile, be it that
    /// something was cancelled, moved, or that there were more cars for a while.
    #[tokio::test]
    async fn what_has_no_room_any_more_does_not_come_back(place: Place) {
        let (clock, calendars) = settled(&place).await;
        let at = |id: &str, hour: u32, who: &str| Event {
            participants: vec![Participant { member: who.to_owned(), is_required: true }],
            owner: who.to_owned(),
            ..event(id, hour, EventStatus::Confirmed)
        };
        write(&calendars, "emma", at("bank", 14, "dad")).await;
        write(&calendars, "emma", at("pool", 9, "dad")).await;
        let cases = [
            (vec![Change::RemoveEvent("bank".to_owned())], at("shopping", 14, "mom"), "resource_conflict:bank:car"),
            (vec![put(at("pool", 11, "dad"))], at("sauna", 9, "mom"), "resource_conflict:pool:car"),
            (vec![Change::Resource(resource("car", 2))], at("tennis", 11, "mom"), "resource_conflict:car:pool:tennis"),
        ];
        for (change, taken, conflict) in cases {
            calendars.change("smith", "dad", "change", |_| Ok(change)).await.unwrap();
            let id = taken.id.clone();
            write(&calendars, "mom", taken).await;
            let before = calendars.board("smith").await.unwrap();
            let refused = calendars.undo("smith", "dad", now(&clock)).await.unwrap();
            let Undone::Blocked(conflicts) = refused else { panic!("{conflict}: {refused:?}") };
            assert_eq!(conflicts.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), [conflict]);
            assert_eq!(calendars.board("smith").await.unwrap(), before, "{conflict}");
            // With room again it can be; and then it is made again for what follows.
            calendars.change("smith", "mom", "cancel", |_| Ok(vec![Change::RemoveEvent(id)])).await.unwrap();
            undone(&calendars, "dad", &clock).await;
            if conflict.contains("pool:car") {
                write(&calendars, "emma", at("pool", 11, "dad")).await;
            }
        }
    }

    /// R-FAM-112, R-FAM-98: a series does not go from under an instance that somebody changed meanwhile.
    #[tokio::test]
    async fn a_changed_instance_holds_its_series(place: Place) {
        let (clock, calendars) = settled(&place).await;
        write(&calendars, "dad", piano()).await;
        write(&calendars, "mom", later_piano()).await;
        let refused = calendars.undo("smith", "dad", now(&clock)).await.unwrap();
        assert_eq!(refused, Undone::Touched(vec!["later-piano".to_owned()]));
        undone(&calendars, "mom", &clock).await;
        assert!(undone(&calendars, "dad", &clock).await.board.events.is_empty());
    }

    /// R-FAM-112, R-FAM-91, R-FAM-98: one of a series that was moved does not go back to where somebody has the car by now,
    /// even where an earlier one of the series always was without it.
    #[tokio::test]
    async fn a_moved_instance_goes_back_only_where_there_is_room(place: Place) {
        let (clock, calendars) = settled(&place).await;
        let at = |id: &str, day: u32| Event {
            span: Span::new(
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
        let before = calendars.board("smith").await.unwrap();
        let refused = calendars.undo("smith", "dad", now(&clock)).await.unwrap();
        let Undone::Blocked(conflicts) = refused else { panic!("{refused:?}") };
        assert_eq!(conflicts.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["resource_conflict:piano:car"]);
        assert_eq!(calendars.board("smith").await.unwrap(), before);
        undone(&calendars, "mom", &clock).await;
        let done = undone(&calendars, "dad", &clock).await;
        assert_eq!(done.board.events.keys().collect::<Vec<_>>(), ["bank", "piano"]);
    }

    /// R-FAM-112, R-FAM-95: who is no parent any more does not change the family by taking something back, so that a parent
    /// stays.
    #[tokio::test]
    async fn taking_back_asks_for_the_same_right(place: Place) {
        let (clock, calendars) = settled(&place).await;
        let make = async |who: &str, whom: &str, role: Role| {
            let change = Change::Member(member(whom, role));
            calendars.change("smith", who, "change_member", |_| Ok(vec![change])).await.unwrap();
        };
        make("mom", "dad", Role::Child).await;
        make("mom", "dad", Role::Parent).await;
        make("dad", "mom", Role::Child).await;
        let refused = calendars.undo("smith", "mom", now(&clock)).await.unwrap_err();
        assert_eq!(refused.code(), Code::PolicyRefused);
        let done = undone(&calendars, "dad", &clock).await;
        assert_eq!(done.board.members["mom"].role, Role::Parent);
        assert_eq!(undone(&calendars, "mom", &clock).await.board.members["dad"].role, Role::Child);
    }
}
