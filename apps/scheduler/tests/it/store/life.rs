//! What is written comes back, from wherever it is read.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::{Value, json};
use superstep::{Code, Error};
use superstep_scheduler::calendar::{Board, Change, Role, RuleKind, Strength};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::store::Calendars;

use super::family::{belongings, conflict, event, later_piano, member, piano, put, resource, rule, smiths, time};
use super::{clock, smiths as open_smiths, two_handles};

/// All of a board to the letter: times are equal by their instant, and their offsets matter too.
fn letters(board: &Board) -> Value {
    fn all<T: serde::Serialize>(things: &imbl::OrdMap<String, Arc<T>>) -> Value {
        things.iter().map(|(id, thing)| json!([id, thing])).collect()
    }
    json!({
        "family": board.family,
        "members": all(&board.members),
        "calendars": all(&board.calendars),
        "resources": all(&board.resources),
        "rules": all(&board.rules),
        "events": all(&board.events),
        "conflicts": all(&board.conflicts),
        "revision": board.revision,
    })
}

on_both! {
    /// R-FAM-95: families, members, calendars, events, participants, resources, reservations, rules and conflicts come back
    /// as they were, to another process as to this one.
    #[tokio::test]
    async fn everything_a_family_has_comes_back_as_it_was(place: Place) {
        let calendars = open_smiths(&place, Calendars::options()).await;
        let changes = vec![
            put(piano()),
            put(later_piano()),
            put(event("soccer", 14, EventStatus::Proposed)),
            Change::Conflicts(vec![conflict("piano", "soccer")]),
        ];
        let expected = {
            let mut board = Board::new(smiths());
            board.revision = 2;
            belongings().into_iter().chain(changes.clone()).for_each(|change| board.apply(change));
            letters(&board)
        };
        let changed = calendars.change("smith", "mom", "import", move |_| Ok(changes)).await.unwrap();
        assert_eq!(letters(&changed.board), expected);
        assert_eq!(letters(&calendars.board("smith").await.unwrap()), expected);
        let other = place.open(Calendars::options()).await.unwrap();
        assert_eq!(letters(&other.board("smith").await.unwrap()), expected);
        assert_eq!(other.families().await.unwrap(), [smiths()]);
        assert_eq!(place.value("SELECT count(*) FROM reservations"), "3");
        let rule = "SELECT rule FROM reservations WHERE event = 'piano' AND position = 1";
        assert_eq!(place.value(rule), "FREQ=WEEKLY;BYDAY=TU");
        assert_eq!(place.value("SELECT max(version) FROM migrations"), "2");
    }

    /// R-FAM-95: while nothing changes a board is not read again, and a change by somebody else is seen at once.
    #[tokio::test]
    async fn a_board_is_read_again_only_when_it_changed(place: Place) {
        let [one, other] = two_handles(&place).await;
        let (first, second) = (other.board("smith").await.unwrap(), other.board("smith").await.unwrap());
        assert!(Arc::ptr_eq(&first, &second));
        let add = |board: &Board| Ok(vec![put(event(&format!("e{}", board.revision), 9, EventStatus::Confirmed))]);
        one.change("smith", "mom", "add", add).await.unwrap();
        let third = other.board("smith").await.unwrap();
        assert_eq!((first.revision, third.revision, third.events.len()), (1, 2, 1));
        // Whoever changes something sees what others did, without having looked before.
        let changed = one.change("smith", "dad", "add", add).await.unwrap();
        let last = other.change("smith", "mom", "add", add).await.unwrap();
        assert_eq!((changed.board.revision, last.board.events.len()), (3, 3));
    }

    /// R-FAM-95: who refuses writes nothing, and neither does who changes nothing.
    #[tokio::test]
    async fn what_is_refused_or_the_same_is_not_written(place: Place) {
        let calendars = open_smiths(&place, Calendars::options()).await;
        let before = calendars.board("smith").await.unwrap();
        let refused = calendars.change("smith", "mom", "add", |_| Err(Error::new(Code::PolicyRefused, "no"))).await;
        assert_eq!(refused.unwrap_err().code(), Code::PolicyRefused);
        let same = |board: &Board| Ok(vec![Change::Family((*board.family).clone())]);
        assert_eq!(calendars.change("smith", "mom", "same", same).await.unwrap().changes, []);
        assert_eq!(calendars.change("smith", "mom", "none", |_| Ok(Vec::new())).await.unwrap().board, before);
        assert_eq!(place.open(Calendars::options()).await.unwrap().board("smith").await.unwrap(), before);
        assert_eq!(calendars.audit("smith", 10).await.unwrap().len(), 1);
    }

    /// R-FAM-90: a rejected event is not on the board and stays in the table, with what it would have used; it can come back.
    #[tokio::test]
    async fn a_rejected_event_leaves_the_board_and_stays_in_the_table(place: Place) {
        let calendars = open_smiths(&place, Calendars::options()).await;
        for status in [EventStatus::Proposed, EventStatus::Rejected] {
            let step = vec![put(event("soccer", 14, status))];
            calendars.change("smith", "mom", "step", |_| Ok(step)).await.unwrap();
        }
        let state = "SELECT e.status || ' ' || r.state FROM events e JOIN reservations r ON r.event = e.id";
        assert_eq!(place.value(state), "rejected released");
        let other = place.open(Calendars::options()).await.unwrap();
        assert!(other.board("smith").await.unwrap().events.is_empty());
        let again = vec![put(event("soccer", 15, EventStatus::Confirmed))];
        let again = other.change("smith", "mom", "again", |_| Ok(again)).await.unwrap();
        assert_eq!(again.board.events["soccer"].resources, ["car"]);
        assert_eq!(place.value(state), "confirmed confirmed");
        let last = other.audit("smith", 1).await.unwrap().remove(0);
        assert_eq!(last.images[0].before.as_ref().unwrap()["status"], "rejected");
    }

    /// R-FAM-95: the audit says who did what and when, with what it was before and what it became.
    #[tokio::test]
    async fn the_audit_remembers_who_changed_what(place: Place) {
        let (clock, at) = (clock(), time("2026-01-05T17:00:00Z"));
        let calendars = open_smiths(&place, Calendars::options().clock(clock)).await;
        calendars.change("smith", "dad", "buy", |_| Ok(vec![Change::Resource(resource("boat", 2))])).await.unwrap();
        let changes = vec![Change::RemoveResource("boat".to_owned()), Change::Resource(resource("car", 2))];
        calendars.change("smith", "mom", "sell", |_| Ok(changes)).await.unwrap();
        let entries = calendars.audit("smith", 2).await.unwrap();
        let shown = entries.iter().map(|entry| (entry.revision, &*entry.who, &*entry.action, entry.at));
        assert_eq!(shown.collect::<Vec<_>>(), [(3, "mom", "sell", at), (2, "dad", "buy", at)]);
        let capacity = |image: &Option<Value>| image.as_ref().map(|image| image["capacity"].clone());
        let images = entries[0].images.iter();
        let images = images.map(|image| (&*image.id, capacity(&image.before), capacity(&image.after)));
        let (boat, car) = (("boat", Some(json!(2)), None), ("car", Some(json!(1)), Some(json!(2))));
        assert_eq!(images.collect::<Vec<_>>(), [boat, car]);
        let all = calendars.audit("smith", 100).await.unwrap();
        assert_eq!((all.len(), all[2].action.as_str(), all[2].images[0].before.is_none()), (3, "create_family", true));
        assert_eq!(calendars.audit("jones", 1).await.unwrap_err().code(), Code::NotFound);
    }

    /// R-FAM-95: whatever is changed in whatever order, what is read from the tables is what was computed in memory.
    #[tokio::test]
    async fn the_tables_follow_the_board_whatever_is_changed(place: Place) {
        let calendars = open_smiths(&place, Calendars::options()).await;
        let mut expected = (*calendars.board("smith").await.unwrap()).clone();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for _ in 0..40 {
            let changes = proptest::collection::vec(any_change(), 1..6).new_tree(&mut runner).unwrap().current();
            let wanted = changes.clone();
            match calendars.change("smith", "mom", "any", move |_| Ok(wanted)).await {
                Ok(changed) => {
                    changes.into_iter().for_each(|change| expected.apply(change));
                    expected.revision = changed.board.revision;
                }
                // A thing that is used cannot go; then nothing of the change is there.
                Err(error) => assert_eq!(error.code(), Code::TypeMismatch, "{error}"),
            }
            let fresh = place.open(Calendars::options()).await.unwrap();
            assert_eq!(letters(&fresh.board("smith").await.unwrap()), letters(&expected));
        }
        assert!(expected.revision > 15, "{}", expected.revision);
    }
}

/// A change of one of few things, so that many meet.
fn any_change() -> impl Strategy<Value = Change> {
    let status = prop::sample::select(vec![
        EventStatus::Proposed,
        EventStatus::Validated,
        EventStatus::Confirmed,
        EventStatus::Rejected,
    ]);
    let id = (0_u32..4).prop_map(|number| format!("e{number}"));
    let things = prop::sample::subsequence(vec!["car".to_owned(), "kitchen".to_owned(), "boat".to_owned()], 0..=2);
    let events =
        (id.clone(), 0_u32..24, status, things, "\\PC{0,12}").prop_map(|(id, hour, status, resources, title)| {
            let event = event(&id, hour, status);
            put(superstep_scheduler::calendar::Event { resources, title, ..event })
        });
    prop_oneof![
        6 => events,
        1 => id.prop_map(Change::RemoveEvent),
        1 => (1_u32..9).prop_map(|capacity| Change::Resource(resource("boat", capacity))),
        1 => Just(Change::RemoveResource("boat".to_owned())),
        1 => Just(Change::Member(member("grandma", Role::Other))),
        1 => Just(Change::RemoveMember("grandma".to_owned())),
        1 => (1_u8..=10).prop_map(|weight| {
            Change::Rule(rule("gap", Some("grandma"), RuleKind::MinGapMinutes { minutes: 5 }, Strength::Soft(weight)))
        }),
        1 => Just(Change::RemoveRule("gap".to_owned())),
        1 => (0_u32..3).prop_map(|number| Change::Conflicts(vec![conflict("a", &number.to_string())])),
    ]
}

/// R-FAM-95: a calendar in memory works as one in a file, and its clones are one.
#[tokio::test]
async fn a_calendar_in_memory_is_one_for_all_its_clones() {
    let calendars = Calendars::open_sqlite_in_memory().await.unwrap();
    calendars.create_family("mom", smiths(), belongings()).await.unwrap();
    let clone = calendars.clone();
    clone.change("smith", "mom", "add", |_| Ok(vec![put(piano())])).await.unwrap();
    assert_eq!(calendars.board("smith").await.unwrap().events.len(), 1);
    assert!(Calendars::open_sqlite_in_memory().await.unwrap().families().await.unwrap().is_empty());
}
