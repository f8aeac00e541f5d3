//! Stored calendars are read back unchanged, by any handle.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::{Value, json};
use superstep::{Error, ErrorCode};
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, ConstraintKind, ConstraintStrength, MemberRole};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::store::CalendarStore;

use super::family::{conflict, event, family_objects, later_piano, member, piano, put, resource, rule, smiths, time};
use super::{clock, smiths as open_smiths, two_handles};

/// Serializes a complete calendar: `Time` equality compares instants only, but offsets matter here too.
fn snapshot_json(snapshot: &CalendarSnapshot) -> Value {
    fn all<T: serde::Serialize>(objects: &imbl::OrdMap<String, Arc<T>>) -> Value {
        objects.iter().map(|(id, object)| json!([id, object])).collect()
    }
    json!({
        "family": snapshot.family,
        "members": all(&snapshot.members),
        "calendars": all(&snapshot.calendars),
        "resources": all(&snapshot.resources),
        "rules": all(&snapshot.rules),
        "events": all(&snapshot.events),
        "conflicts": all(&snapshot.conflicts),
        "revision": snapshot.revision,
    })
}

on_both! {
    /// R-FAM-95: families, members, calendars, events, participants, resources, reservations, constraints and
    /// conflicts are read back unchanged, by this and by another process.
    #[tokio::test]
    async fn all_family_data_round_trips(location: TestLocation) {
        let calendars = open_smiths(&location, CalendarStore::options()).await;
        let changes = vec![
            put(piano()),
            put(later_piano()),
            put(event("soccer", 14, EventStatus::Proposed)),
            CalendarChange::Conflicts(vec![conflict("piano", "soccer")]),
        ];
        let expected = {
            let mut snapshot = CalendarSnapshot::new(smiths());
            snapshot.revision = 2;
            family_objects().into_iter().chain(changes.clone()).for_each(|change| snapshot.apply(change));
            snapshot_json(&snapshot)
        };
        let changed = calendars.change("smith", "mom", "import", move |_| Ok(changes)).await.unwrap();
        assert_eq!(snapshot_json(&changed.snapshot), expected);
        assert_eq!(snapshot_json(&calendars.snapshot("smith").await.unwrap()), expected);
        let other = location.open(CalendarStore::options()).await.unwrap();
        assert_eq!(snapshot_json(&other.snapshot("smith").await.unwrap()), expected);
        assert_eq!(other.families().await.unwrap(), [smiths()]);
        assert_eq!(location.value("SELECT count(*) FROM reservations"), "3");
        let rule = "SELECT rule FROM reservations WHERE event = 'piano' AND position = 1";
        assert_eq!(location.value(rule), "FREQ=WEEKLY;BYDAY=TU");
        assert_eq!(location.value("SELECT max(version) FROM migrations"), "2");
    }

    /// R-FAM-95: an unchanged calendar is not read again, and a change through another handle is visible at once.
    #[tokio::test]
    async fn a_calendar_is_reloaded_only_after_changes(location: TestLocation) {
        let [one, other] = two_handles(&location).await;
        let (first, second) = (other.snapshot("smith").await.unwrap(), other.snapshot("smith").await.unwrap());
        assert!(Arc::ptr_eq(&first, &second));
        let add = |snapshot: &CalendarSnapshot| Ok(vec![put(event(&format!("e{}", snapshot.revision), 9, EventStatus::Confirmed))]);
        one.change("smith", "mom", "add", add).await.unwrap();
        let third = other.snapshot("smith").await.unwrap();
        assert_eq!((first.revision, third.revision, third.events.len()), (1, 2, 1));
        // A change sees earlier changes through other handles without a read before it.
        let changed = one.change("smith", "dad", "add", add).await.unwrap();
        let last = other.change("smith", "mom", "add", add).await.unwrap();
        assert_eq!((changed.snapshot.revision, last.snapshot.events.len()), (3, 3));
    }

    /// R-FAM-95: a rejected change writes nothing, nor does one without effect.
    #[tokio::test]
    async fn rejected_and_unchanged_values_are_not_written(location: TestLocation) {
        let calendars = open_smiths(&location, CalendarStore::options()).await;
        let before = calendars.snapshot("smith").await.unwrap();
        let result = calendars.change("smith", "mom", "add", |_| Err(Error::new(ErrorCode::PolicyRefused, "no"))).await;
        assert_eq!(result.unwrap_err().code(), ErrorCode::PolicyRefused);
        let same = |snapshot: &CalendarSnapshot| Ok(vec![CalendarChange::Family((*snapshot.family).clone())]);
        assert_eq!(calendars.change("smith", "mom", "same", same).await.unwrap().changes, []);
        assert_eq!(calendars.change("smith", "mom", "none", |_| Ok(Vec::new())).await.unwrap().snapshot, before);
        assert_eq!(location.open(CalendarStore::options()).await.unwrap().snapshot("smith").await.unwrap(), before);
        assert_eq!(calendars.audit("smith", 10).await.unwrap().len(), 1);
    }

    /// R-FAM-90: a rejected event is not in the calendar snapshot but stays in the table with its reservations; it
    /// can return.
    #[tokio::test]
    async fn rejected_events_stay_in_the_table_only(location: TestLocation) {
        let calendars = open_smiths(&location, CalendarStore::options()).await;
        for status in [EventStatus::Proposed, EventStatus::Rejected] {
            let step = vec![put(event("soccer", 14, status))];
            calendars.change("smith", "mom", "step", |_| Ok(step)).await.unwrap();
        }
        let state = "SELECT e.status || ' ' || r.state FROM events e JOIN reservations r ON r.event = e.id";
        assert_eq!(location.value(state), "rejected released");
        let other = location.open(CalendarStore::options()).await.unwrap();
        assert!(other.snapshot("smith").await.unwrap().events.is_empty());
        let confirmed = vec![put(event("soccer", 15, EventStatus::Confirmed))];
        let confirmed = other.change("smith", "mom", "again", |_| Ok(confirmed)).await.unwrap();
        assert_eq!(confirmed.snapshot.events["soccer"].resources, ["car"]);
        assert_eq!(location.value(state), "confirmed confirmed");
        let last = other.audit("smith", 1).await.unwrap().remove(0);
        assert_eq!(last.images[0].before.as_ref().unwrap()["status"], "rejected");
    }

    /// R-FAM-95: the audit log contains user, time, and the values before and after each change.
    #[tokio::test]
    async fn the_audit_log_contains_user_time_and_values(location: TestLocation) {
        let (clock, at) = (clock(), time("2026-01-05T17:00:00Z"));
        let calendars = open_smiths(&location, CalendarStore::options().clock(clock)).await;
        calendars.change("smith", "dad", "buy", |_| Ok(vec![CalendarChange::Resource(resource("boat", 2))])).await.unwrap();
        let changes = vec![CalendarChange::RemoveResource("boat".to_owned()), CalendarChange::Resource(resource("car", 2))];
        calendars.change("smith", "mom", "sell", |_| Ok(changes)).await.unwrap();
        let entries = calendars.audit("smith", 2).await.unwrap();
        let rows = entries.iter().map(|entry| (entry.revision, &*entry.actor, &*entry.action, entry.at));
        assert_eq!(rows.collect::<Vec<_>>(), [(3, "mom", "sell", at), (2, "dad", "buy", at)]);
        let capacity = |image: &Option<Value>| image.as_ref().map(|image| image["capacity"].clone());
        let images = entries[0].images.iter();
        let images = images.map(|image| (&*image.id, capacity(&image.before), capacity(&image.after)));
        let (boat, car) = (("boat", Some(json!(2)), None), ("car", Some(json!(1)), Some(json!(2))));
        assert_eq!(images.collect::<Vec<_>>(), [boat, car]);
        let all = calendars.audit("smith", 100).await.unwrap();
        assert_eq!((all.len(), all[2].action.as_str(), all[2].images[0].before.is_none()), (3, "create_family", true));
        assert_eq!(calendars.audit("jones", 1).await.unwrap_err().code(), ErrorCode::NotFound);
    }

    /// R-FAM-95: after any sequence of changes, the tables contain the calendar computed in memory.
    #[tokio::test]
    async fn tables_equal_the_snapshot_after_any_change(location: TestLocation) {
        let calendars = open_smiths(&location, CalendarStore::options()).await;
        let mut expected = (*calendars.snapshot("smith").await.unwrap()).clone();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for _ in 0..40 {
            let changes = proptest::collection::vec(any_change(), 1..6).new_tree(&mut runner).unwrap().current();
            let requested = changes.clone();
            match calendars.change("smith", "mom", "any", move |_| Ok(requested)).await {
                Ok(changed) => {
                    changes.into_iter().for_each(|change| expected.apply(change));
                    expected.revision = changed.snapshot.revision;
                }
                // A resource in use cannot be deleted; then the change has no effect at all.
                Err(error) => assert_eq!(error.code(), ErrorCode::TypeMismatch, "{error}"),
            }
            let reopened = location.open(CalendarStore::options()).await.unwrap();
            assert_eq!(snapshot_json(&reopened.snapshot("smith").await.unwrap()), snapshot_json(&expected));
        }
        assert!(expected.revision > 15, "{}", expected.revision);
    }
}

/// Generates changes of a few objects, so that many changes interact.
fn any_change() -> impl Strategy<Value = CalendarChange> {
    let status = prop::sample::select(vec![
        EventStatus::Proposed,
        EventStatus::Validated,
        EventStatus::Confirmed,
        EventStatus::Rejected,
    ]);
    let id = (0_u32..4).prop_map(|number| format!("e{number}"));
    let resource_ids =
        prop::sample::subsequence(vec!["car".to_owned(), "kitchen".to_owned(), "boat".to_owned()], 0..=2);
    let events =
        (id.clone(), 0_u32..24, status, resource_ids, "\\PC{0,12}").prop_map(|(id, hour, status, resources, title)| {
            let event = event(&id, hour, status);
            put(superstep_scheduler::calendar::Event { resources, title, ..event })
        });
    prop_oneof![
        6 => events,
        1 => id.prop_map(CalendarChange::RemoveEvent),
        1 => (1_u32..9).prop_map(|capacity| CalendarChange::Resource(resource("boat", capacity))),
        1 => Just(CalendarChange::RemoveResource("boat".to_owned())),
        1 => Just(CalendarChange::Member(member("grandma", MemberRole::Other))),
        1 => Just(CalendarChange::RemoveMember("grandma".to_owned())),
        1 => (1_u8..=10).prop_map(|weight| {
            CalendarChange::Rule(rule("gap", Some("grandma"), ConstraintKind::MinGapMinutes { minutes: 5 }, ConstraintStrength::Soft(weight)))
        }),
        1 => Just(CalendarChange::RemoveRule("gap".to_owned())),
        1 => (0_u32..3).prop_map(|number| CalendarChange::Conflicts(vec![conflict("a", &number.to_string())])),
    ]
}

/// R-FAM-95: a store in memory works like one in a file, and its clones share the data.
#[tokio::test]
async fn a_calendar_in_memory_is_one_for_all_its_clones() {
    let calendars = CalendarStore::open_sqlite_in_memory().await.unwrap();
    calendars.create_family("mom", smiths(), family_objects()).await.unwrap();
    let clone = calendars.clone();
    clone.change("smith", "mom", "add", |_| Ok(vec![put(piano())])).await.unwrap();
    assert_eq!(calendars.snapshot("smith").await.unwrap().events.len(), 1);
    assert!(CalendarStore::open_sqlite_in_memory().await.unwrap().families().await.unwrap().is_empty());
}
