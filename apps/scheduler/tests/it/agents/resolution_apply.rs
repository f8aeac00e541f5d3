//! Application of resolutions that the user edited.

use superstep::ErrorCode;
use superstep_scheduler::agents::resolution::apply_resolution;
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, ConstraintKind, ConstraintStrength, Event};
use superstep_scheduler::models::{ChangeAction, EventStatus, ProposedResolution, ResolutionChange, Score, Strategy};

use super::builder::{Build as _, With as _, event, family, format_span, now};
use super::resolution::{dentist, soccer};

fn build_resolution(strategy: Strategy, changes: &[ResolutionChange]) -> ProposedResolution {
    ProposedResolution {
        resolution_id: "res_1".to_owned(),
        strategy,
        score: Score::clamped(1.0),
        description: String::new(),
        changes: changes.to_vec(),
        conflicts_resolved: Vec::new(),
        side_effects: Vec::new(),
    }
}

/// Creates a change of the soccer practice from field, new value and action.
fn change(field: &str, new: &str, action: Option<ChangeAction>) -> ResolutionChange {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    ResolutionChange {
        event_id: Some("soccer practice".to_owned()),
        field: some(field),
        old_value: None,
        new_value: some(new),
        action,
    }
}

fn base_snapshot() -> CalendarSnapshot {
    let kind = ConstraintKind::MaxEventsPerDay { count: 1 };
    family().with(dentist()).with_rule("hard", kind.clone(), ConstraintStrength::Hard).with_rule(
        "soft",
        kind,
        ConstraintStrength::Soft(1),
    )
}

fn applied(resolution: &ProposedResolution) -> Event {
    let (after, changes) = apply_resolution(&base_snapshot(), &soccer(), resolution, "mom", now()).unwrap();
    assert_eq!(changes[0], CalendarChange::Event(Box::new(after.clone())));
    after
}

/// R-FAM-87, R-FAM-107: the user can choose a different time; a new start alone keeps the duration.
#[test]
fn an_edited_resolution_is_applied() {
    let start = change("start_time", "2026-01-10T18:10:00-05:00", Some(ChangeAction::Move));
    assert_eq!(
        format_span(&applied(&build_resolution(Strategy::MoveEvent, std::slice::from_ref(&start))).span),
        "2026-01-10 18:10 19:10"
    );
    let end = change("end_time", "2026-01-10T18:40:00-05:00", Some(ChangeAction::Move));
    assert_eq!(
        format_span(&applied(&build_resolution(Strategy::MoveEvent, &[start, end])).span),
        "2026-01-10 18:10 18:40"
    );
    let other_zone = change("start_time", "2026-01-11T00:00:00+01:00", Some(ChangeAction::Move));
    let moved = applied(&build_resolution(Strategy::MoveEvent, &[other_zone]));
    assert_eq!(moved.span.start.to_string(), "2026-01-10T18:00:00-05:00");
    let cancel = change("", "", Some(ChangeAction::Cancel));
    assert_eq!(applied(&build_resolution(Strategy::CancelEvent, &[cancel])).status, EventStatus::Rejected);
    let soft = change("constraint:soft", "", None);
    assert_eq!(
        applied(&build_resolution(Strategy::OverrideConstraint, &[soft.clone(), soft])).preserved_properties.len(),
        1
    );
}

/// R-FAM-87, R-FAM-107: an invalid change is rejected with the reason, as an invalid resume value.
#[test]
fn invalid_changes_are_rejected() {
    use ChangeAction::{Cancel, Move, Shorten, Split};
    let with_id = |id: &str, one: ResolutionChange| ResolutionChange { event_id: Some(id.to_owned()), ..one };
    let rows = [
        (Strategy::MoveEvent, vec![], "`changes` is empty"),
        (Strategy::MoveEvent, vec![change("start_time", "tomorrow", Some(Move))], "`new_value`"),
        (Strategy::MoveEvent, vec![change("start_time", "", Some(Move))], "`new_value` is missing"),
        (
            Strategy::MoveEvent,
            vec![change("end_time", "2026-01-10T13:00:00-05:00", Some(Move))],
            "would be before the start",
        ),
        (Strategy::MoveEvent, vec![change("start_time", "2026-01-10T13:00:00-05:00", Some(Shorten))], "`shorten`"),
        (Strategy::MoveEvent, vec![change("title", "2026-01-10T13:00:00-05:00", Some(Move))], "`title`"),
        (
            Strategy::MoveEvent,
            vec![with_id("ghost", change("start_time", "2026-01-10T13:00:00-05:00", Some(Move)))],
            "event `ghost` not found",
        ),
        (Strategy::ShortenEvent, vec![change("end_time", "2026-01-10T16:00:00-05:00", Some(Shorten))], "is not within"),
        (Strategy::SplitEvent, vec![change("end_time", "2026-01-10T14:30:00-05:00", Some(Split))], "second part"),
        (Strategy::CancelEvent, vec![change("", "", Some(Move))], "`cancel`"),
        (Strategy::CancelEvent, vec![with_id("ghost", change("", "", Some(Cancel)))], "event `ghost` not found"),
        (Strategy::OverrideConstraint, vec![change("constraint:hard", "", None)], "is hard"),
        (Strategy::OverrideConstraint, vec![change("constraint:ghost", "", None)], "rule `ghost` not found"),
        (Strategy::OverrideConstraint, vec![change("start_time", "", None)], "`constraint:`"),
        (Strategy::AlternativeResource, vec![change("resources", "van", None)], "`old_value`"),
    ];
    for (strategy, changes, reason) in rows {
        let error = apply_resolution(&base_snapshot(), &soccer(), &build_resolution(strategy, &changes), "mom", now())
            .unwrap_err();
        assert!(error.code() == ErrorCode::InvalidResume && error.message().contains(reason), "{reason}: {error}");
    }
    let swap = |old: &str, new: &str| {
        let one = ResolutionChange { old_value: Some(old.to_owned()), ..change("resources", new, None) };
        apply_resolution(
            &base_snapshot(),
            &soccer(),
            &build_resolution(Strategy::AlternativeResource, &[one]),
            "mom",
            now(),
        )
        .unwrap_err()
        .to_string()
    };
    assert!(swap("car", "boat").contains("`boat`"));
    assert!(swap("kitchen", "car").contains("does not use `kitchen`"));
}

/// R-FAM-107, R-FAM-98: a series stays on its days, and a change of another series must name the instance.
#[test]
fn series_are_moved_with_care() {
    let piano = event("Piano", "2026-01-13 17:00 18:00").with_participants(&["emma"]).repeating("FREQ=WEEKLY;BYDAY=TU");
    let to = |event: &str, old: Option<&str>, new: &str| ResolutionChange {
        event_id: Some(event.to_owned()),
        old_value: old.map(str::to_owned),
        ..change("start_time", new, Some(ChangeAction::Move))
    };
    let snapshot = family().with(piano.clone());
    let error_message = |event: &Event, one: ResolutionChange| {
        apply_resolution(&snapshot, event, &build_resolution(Strategy::MoveEvent, &[one]), "mom", now())
            .unwrap_err()
            .to_string()
    };
    assert!(error_message(&piano, to("piano", None, "2026-01-14T17:00:00-05:00")).contains("within the day"));
    assert!(error_message(&soccer(), to("piano", None, "2026-01-13T18:00:00-05:00")).contains("`old_value`"));
    let invalid = to("piano", Some("2026-01-14T17:00:00-05:00"), "2026-01-14T18:00:00-05:00");
    assert!(error_message(&soccer(), invalid).contains("no instance"));
    let right = to("piano", Some("2026-01-20T17:00:00-05:00"), "2026-01-21T18:00:00-05:00");
    let (_, changes) =
        apply_resolution(&snapshot, &soccer(), &build_resolution(Strategy::MoveEvent, &[right]), "mom", now()).unwrap();
    let Some(CalendarChange::Event(override_event)) = changes.last() else { panic!("no override") };
    assert_eq!(format_span(&override_event.span), "2026-01-21 18:00 19:00");
    assert_eq!((override_event.uid.as_str(), override_event.sequence), ("piano", 1));
    assert_eq!(override_event.recurrence_override.as_ref().unwrap().series, "piano");
}
