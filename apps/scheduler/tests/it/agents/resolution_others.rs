//! Resolutions that change another event.

use jiff::civil::date;
use superstep_scheduler::agents::conflicts::detect_conflicts;
use superstep_scheduler::agents::resolution::{apply_resolution, propose_resolutions};
use superstep_scheduler::calendar::{
    CalendarChange, CalendarSnapshot, Event, Flexibility, Priority, RecurrenceOverride, TimeRange,
};
use superstep_scheduler::models::{ProposedResolution, ResolutionChange};

use super::builder::{Build as _, With, at, event, family, format_span, now};
use super::resolution::{resolutions_for, soccer};

/// Returns description and score of the resolutions that change another event.
fn others(snapshot: &CalendarSnapshot, event: &Event) -> Vec<(String, f64)> {
    let touches = |resolution: &&ProposedResolution| {
        resolution.changes.iter().any(|one| one.event_id.as_ref() != Some(&event.id))
    };
    let data = resolutions_for(snapshot, event);
    let resolutions = data
        .proposed_resolutions
        .iter()
        .filter(touches)
        .filter(|resolution| !resolution.description.starts_with("Split"));
    resolutions.map(|resolution| (resolution.description.clone(), resolution.score.value())).collect()
}

/// Returns the times of chess in the first weeks of January.
fn chess_times(snapshot: &CalendarSnapshot) -> Vec<String> {
    let weeks = TimeRange { start: at("2026-01-01"), end: at("2026-01-20") };
    let instances = snapshot.instances(&weeks).unwrap();
    instances.iter().filter(|one| one.event.title == "Chess").map(|one| format_span(&one.span)).collect()
}

fn chess() -> Event {
    event("Chess", "2026-01-10 14:30 15:30").with_participants(&["emma"])
}

/// R-FAM-107: a more flexible event moves instead, for 0.10 less, and for 0.20 less if it has a high priority.
#[test]
fn the_other_moves_if_it_is_more_flexible() {
    let description = "Move “Chess” to Saturday 10 January, 3:00 pm to 4:00 pm.".to_owned();
    let with = |flexibility, priority| family().with(chess().flexibility(flexibility).priority(priority));
    assert_eq!(others(&with(Flexibility::Preferred, Priority::Medium), &soccer()), []);
    // Proposed events belong to another conversation.
    let open = family().with(chess().flexibility(Flexibility::Flexible).proposed());
    assert_eq!(others(&open, &soccer()), []);
    assert_eq!(others(&with(Flexibility::Flexible, Priority::Medium), &soccer()), [(description.clone(), 0.8)]);
    assert_eq!(others(&with(Flexibility::Flexible, Priority::High), &soccer()), [(description, 0.6)]);
}

/// R-FAM-107: an event with a lower priority may be cancelled, for 0.10 less.
#[test]
fn conflicting_events_with_lower_priority_may_be_cancelled() {
    let important = soccer().priority(Priority::High);
    let description = "Cancel “Chess” on Saturday 10 January, 2:30 pm to 3:30 pm.".to_owned();
    assert_eq!(others(&family().with(chess()), &important), [(description, 0.3)]);
    assert_eq!(others(&family().with(chess().priority(Priority::High)), &important), []);
}

/// R-FAM-107, R-FAM-98: of another series only the conflicting instance changes.
#[test]
fn only_the_conflicting_instance_of_another_series_changes() {
    let weekly = event("Chess", "2026-01-03 14:30 15:30")
        .with_participants(&["emma"])
        .repeating("FREQ=WEEKLY")
        .flexibility(Flexibility::Flexible);
    let snapshot = family().with(weekly);
    let important = soccer().priority(Priority::High);
    let data = resolutions_for(&snapshot, &important);
    let after = |start: &str| {
        let resolution =
            data.proposed_resolutions.iter().find(|resolution| resolution.description.starts_with(start)).unwrap();
        let (event, changes) = apply_resolution(&snapshot, &important, resolution, "mom", now()).unwrap();
        let copy = changes.into_iter().fold(snapshot.clone(), With::with_change);
        assert_eq!(detect_conflicts(&copy, &event).unwrap(), []);
        chess_times(&copy)
    };
    let (first, last) = ("2026-01-03 14:30 15:30", "2026-01-17 14:30 15:30");
    assert_eq!(after("Move “Chess”"), [first, "2026-01-10 15:00 16:00", last]);
    assert_eq!(after("Cancel “Chess”"), [first, last]);
}

/// R-FAM-107, R-FAM-98: a conflicting moved instance is cancelled, and does not reappear at its original time.
#[test]
fn a_cancelled_moved_instance_does_not_reappear() {
    let weekly = event("Chess", "2026-01-02 16:00 17:00").with_participants(&["emma"]).repeating("FREQ=WEEKLY");
    let replaced = RecurrenceOverride { series: "chess".to_owned(), start: date(2026, 1, 9).at(16, 0, 0, 0) };
    let moved = event("Chess", "2026-01-10 14:30 15:30").with_participants(&["emma"]).change(|event| {
        event.id = "chess_moved".to_owned();
        event.recurrence_override = Some(replaced);
    });
    let snapshot = family().with(weekly).with(moved);
    let important = soccer().priority(Priority::High);
    let data = resolutions_for(&snapshot, &important);
    let resolution = data
        .proposed_resolutions
        .iter()
        .find(|resolution| resolution.description.starts_with("Cancel “Chess”"))
        .unwrap();
    let (_, changes) = apply_resolution(&snapshot, &important, resolution, "mom", now()).unwrap();
    let copy = changes.into_iter().fold(snapshot, With::with_change);
    assert_eq!(chess_times(&copy), ["2026-01-02 16:00 17:00", "2026-01-16 16:00 17:00"]);
    assert_eq!(copy.overrides_of("chess").count(), 0);
}

/// R-FAM-87, R-FAM-107, R-FAM-98: an edited resolution may cancel two instances of one series; both disappear.
#[test]
fn two_of_one_series_are_cancelled() {
    let snapshot =
        family().with(event("Chess", "2026-01-03 14:30 15:30").with_participants(&["emma"]).repeating("FREQ=WEEKLY"));
    let mut resolution = resolutions_for(&snapshot, &soccer().priority(Priority::High))
        .proposed_resolutions
        .into_iter()
        .find(|resolution| resolution.description.starts_with("Cancel “Chess”"));
    let resolution = resolution.as_mut().unwrap();
    let next =
        ResolutionChange { old_value: Some("2026-01-17T14:30:00-05:00".to_owned()), ..resolution.changes[0].clone() };
    resolution.changes.push(next);
    let (_, changes) = apply_resolution(&snapshot, &soccer(), resolution, "mom", now()).unwrap();
    assert_eq!(chess_times(&changes.into_iter().fold(snapshot, With::with_change)), ["2026-01-03 14:30 15:30"]);
}

/// R-FAM-107: a parent who changes a child's event has the parent's permissions, not the child's.
#[test]
fn resolutions_use_the_permissions_of_the_requester() {
    let flexible = chess().flexibility(Flexibility::Flexible).owned_by("dad");
    let emmas = soccer().owned_by("emma");
    let snapshot = family().with(flexible).with(emmas.clone());
    let moves = |requester: &str| {
        let conflicts = detect_conflicts(&snapshot, &emmas).unwrap();
        let data = propose_resolutions(&snapshot, &emmas, &conflicts, requester, now()).unwrap();
        data.proposed_resolutions.into_iter().find(|resolution| resolution.description.starts_with("Move “Chess”"))
    };
    assert_eq!(moves("emma"), None);
    let resolution = moves("mom").unwrap();
    assert_eq!(apply_resolution(&snapshot, &emmas, &resolution, "mom", now()).unwrap().1.len(), 2);
    assert_eq!(
        apply_resolution(&snapshot, &emmas, &resolution, "emma", now()).unwrap_err().code(),
        superstep::ErrorCode::PolicyRefused
    );
}

/// R-FAM-107: only permitted changes are offered: a child changes only events that the child owns.
#[test]
fn a_child_is_offered_only_changes_of_own_events() {
    let flexible = |owner: &str| family().with(chess().flexibility(Flexibility::Flexible).owned_by(owner));
    let emmas = soccer().owned_by("emma");
    assert_eq!(others(&flexible("dad"), &emmas), []);
    assert_eq!(others(&flexible("emma"), &emmas).len(), 1);
    assert_eq!(others(&flexible("dad"), &soccer().owned_by("mom")).len(), 1);
    let moms = resolutions_for(&flexible("dad"), &soccer());
    let resolution =
        moms.proposed_resolutions.iter().find(|resolution| resolution.description.starts_with("Move “Chess”")).unwrap();
    let error = apply_resolution(&flexible("dad"), &emmas, resolution, "emma", now()).unwrap_err();
    assert_eq!(error.code(), superstep::ErrorCode::PolicyRefused);
    assert_eq!(apply_resolution(&flexible("dad"), &soccer(), resolution, "mom", now()).unwrap().1.len(), 2);
}

/// R-FAM-87, R-FAM-93, R-FAM-107: proposed events belong to another conversation: no resolution moves or cancels
/// them, not even an edited one.
#[test]
fn no_resolution_changes_a_proposed_event() {
    let important = soccer().priority(Priority::High);
    let flexible = chess().flexibility(Flexibility::Flexible);
    let data = resolutions_for(&family().with(flexible.clone()), &important);
    let open = family().with(flexible.proposed());
    for start in ["Move “Chess”", "Cancel “Chess”"] {
        let resolution =
            data.proposed_resolutions.iter().find(|resolution| resolution.description.starts_with(start)).unwrap();
        let error = apply_resolution(&open, &important, resolution, "mom", now()).unwrap_err();
        assert!(
            error.code() == superstep::ErrorCode::InvalidResume && error.message().contains("not on the calendar yet")
        );
    }
}

/// R-FAM-107: of two conflicts, moving one event resolves half.
#[test]
fn moving_one_event_resolves_one_of_two_conflicts() {
    let snapshot = family()
        .with(chess().flexibility(Flexibility::Flexible))
        .with(event("Shopping", "2026-01-10 14:00 15:00").using(&["car"]));
    let description = "Move “Chess” to Saturday 10 January, 3:00 pm to 4:00 pm.".to_owned();
    assert_eq!(others(&snapshot, &soccer()), [(description, 0.4)]);
    let changes = CalendarChange::RemoveEvent("shopping".to_owned());
    assert_eq!(others(&snapshot.with_change(changes), &soccer())[0].1, 0.8);
}
