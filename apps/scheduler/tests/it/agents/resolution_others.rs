//! Ways out that change another event.

use jiff::civil::date;
use superstep_scheduler::agents::conflicts::find;
use superstep_scheduler::agents::resolution::{apply, propose};
use superstep_scheduler::calendar::{Board, Change, Event, ExceptionOf, Flexibility, Priority, Span};
use superstep_scheduler::models::{ProposedResolution, ResolutionChange};

use super::builder::{Build as _, With, at, event, family, now, shown};
use super::resolution::{soccer, ways};

/// The ways that touch another event: what they say, their score.
fn others(board: &Board, event: &Event) -> Vec<(String, f64)> {
    let touches = |way: &&ProposedResolution| way.changes.iter().any(|one| one.event_id.as_ref() != Some(&event.id));
    let data = ways(board, event);
    let found = data.proposed_resolutions.iter().filter(touches).filter(|way| !way.description.starts_with("Split"));
    found.map(|way| (way.description.clone(), way.score.value())).collect()
}

/// When chess is, in the first weeks of January.
fn chess_times(board: &Board) -> Vec<String> {
    let weeks = Span { start: at("2026-01-01"), end: at("2026-01-20") };
    let instances = board.instances(&weeks).unwrap();
    instances.iter().filter(|one| one.event.title == "Chess").map(|one| shown(&one.span)).collect()
}

fn chess() -> Event {
    event("Chess", "2026-01-10 14:30 15:30").of(&["emma"])
}

/// R-FAM-107: the other moves if it is more flexible, for 0.10 less, and 0.20 less when it matters much.
#[test]
fn the_other_moves_if_it_is_more_flexible() {
    let said = "Move “Chess” to Saturday 10 January, 3:00 pm to 4:00 pm.".to_owned();
    let with = |flexibility, priority| family().with(chess().flexibility(flexibility).priority(priority));
    assert_eq!(others(&with(Flexibility::Preferred, Priority::Medium), &soccer()), []);
    // What is only proposed belongs to another conversation.
    let open = family().with(chess().flexibility(Flexibility::Flexible).proposed());
    assert_eq!(others(&open, &soccer()), []);
    assert_eq!(others(&with(Flexibility::Flexible, Priority::Medium), &soccer()), [(said.clone(), 0.8)]);
    assert_eq!(others(&with(Flexibility::Flexible, Priority::High), &soccer()), [(said, 0.6)]);
}

/// R-FAM-107: another that matters less may be cancelled, for 0.10 less.
#[test]
fn the_other_gives_way_if_it_matters_less() {
    let important = soccer().priority(Priority::High);
    let said = "Cancel “Chess” on Saturday 10 January, 2:30 pm to 3:30 pm.".to_owned();
    assert_eq!(others(&family().with(chess()), &important), [(said, 0.3)]);
    assert_eq!(others(&family().with(chess().priority(Priority::High)), &important), []);
}

/// R-FAM-107, R-FAM-98: of another series only the one that is in the way changes.
#[test]
fn of_another_series_only_one_changes() {
    let weekly =
        event("Chess", "2026-01-03 14:30 15:30").of(&["emma"]).every("FREQ=WEEKLY").flexibility(Flexibility::Flexible);
    let board = family().with(weekly);
    let important = soccer().priority(Priority::High);
    let data = ways(&board, &important);
    let after = |start: &str| {
        let way = data.proposed_resolutions.iter().find(|way| way.description.starts_with(start)).unwrap();
        let (event, changes) = apply(&board, &important, way, "mom", now()).unwrap();
        let copy = changes.into_iter().fold(board.clone(), With::and);
        assert_eq!(find(&copy, &event).unwrap(), []);
        chess_times(&copy)
    };
    let (first, last) = ("2026-01-03 14:30 15:30", "2026-01-17 14:30 15:30");
    assert_eq!(after("Move “Chess”"), [first, "2026-01-10 15:00 16:00", last]);
    assert_eq!(after("Cancel “Chess”"), [first, last]);
}

/// R-FAM-107, R-FAM-98: one that was moved into the way is cancelled, and does not come back at its old time.
#[test]
fn a_moved_one_that_is_cancelled_is_gone() {
    let weekly = event("Chess", "2026-01-02 16:00 17:00").of(&["emma"]).every("FREQ=WEEKLY");
    let of = ExceptionOf { series: "chess".to_owned(), start: date(2026, 1, 9).at(16, 0, 0, 0) };
    let moved = event("Chess", "2026-01-10 14:30 15:30").of(&["emma"]).change(|event| {
        event.id = "chess_moved".to_owned();
        event.exception_of = Some(of);
    });
    let board = family().with(weekly).with(moved);
    let important = soccer().priority(Priority::High);
    let data = ways(&board, &important);
    let way = data.proposed_resolutions.iter().find(|way| way.description.starts_with("Cancel “Chess”")).unwrap();
    let (_, changes) = apply(&board, &important, way, "mom", now()).unwrap();
    let copy = changes.into_iter().fold(board, With::and);
    assert_eq!(chess_times(&copy), ["2026-01-02 16:00 17:00", "2026-01-16 16:00 17:00"]);
    assert_eq!(copy.exceptions_of("chess").count(), 0);
}

/// R-FAM-87, R-FAM-107, R-FAM-98: a way that somebody changed may cancel two of one series; both are gone.
#[test]
fn two_of_one_series_are_cancelled() {
    let board = family().with(event("Chess", "2026-01-03 14:30 15:30").of(&["emma"]).every("FREQ=WEEKLY"));
    let mut way = ways(&board, &soccer().priority(Priority::High))
        .proposed_resolutions
        .into_iter()
        .find(|way| way.description.starts_with("Cancel “Chess”"));
    let way = way.as_mut().unwrap();
    let next = ResolutionChange { old_value: Some("2026-01-17T14:30:00-05:00".to_owned()), ..way.changes[0].clone() };
    way.changes.push(next);
    let (_, changes) = apply(&board, &soccer(), way, "mom", now()).unwrap();
    assert_eq!(chess_times(&changes.into_iter().fold(board, With::and)), ["2026-01-03 14:30 15:30"]);
}

/// R-FAM-107: who changes what belongs to a child has their own rights, not those of the child.
#[test]
fn ways_are_those_of_who_asks() {
    let flexible = chess().flexibility(Flexibility::Flexible).owned_by("dad");
    let emmas = soccer().owned_by("emma");
    let board = family().with(flexible).with(emmas.clone());
    let moves = |asker: &str| {
        let found = find(&board, &emmas).unwrap();
        let data = propose(&board, &emmas, &found, asker, now()).unwrap();
        data.proposed_resolutions.into_iter().find(|way| way.description.starts_with("Move “Chess”"))
    };
    assert_eq!(moves("emma"), None);
    let way = moves("mom").unwrap();
    assert_eq!(apply(&board, &emmas, &way, "mom", now()).unwrap().1.len(), 2);
    assert_eq!(apply(&board, &emmas, &way, "emma", now()).unwrap_err().code(), superstep::Code::PolicyRefused);
}

/// R-FAM-107: nobody is offered to change what they may not: a child only changes what is their own.
#[test]
fn a_child_does_not_move_what_belongs_to_others() {
    let flexible = |owner: &str| family().with(chess().flexibility(Flexibility::Flexible).owned_by(owner));
    let emmas = soccer().owned_by("emma");
    assert_eq!(others(&flexible("dad"), &emmas), []);
    assert_eq!(others(&flexible("emma"), &emmas).len(), 1);
    assert_eq!(others(&flexible("dad"), &soccer().owned_by("mom")).len(), 1);
    let moms = ways(&flexible("dad"), &soccer());
    let way = moms.proposed_resolutions.iter().find(|way| way.description.starts_with("Move “Chess”")).unwrap();
    let error = apply(&flexible("dad"), &emmas, way, "emma", now()).unwrap_err();
    assert_eq!(error.code(), superstep::Code::PolicyRefused);
    assert_eq!(apply(&flexible("dad"), &soccer(), way, "mom", now()).unwrap().1.len(), 2);
}

/// R-FAM-87, R-FAM-93, R-FAM-107: what is only proposed belongs to another conversation: no way moves or cancels it, not one
/// that somebody changed either.
#[test]
fn no_way_touches_what_is_only_proposed() {
    let important = soccer().priority(Priority::High);
    let flexible = chess().flexibility(Flexibility::Flexible);
    let data = ways(&family().with(flexible.clone()), &important);
    let open = family().with(flexible.proposed());
    for start in ["Move “Chess”", "Cancel “Chess”"] {
        let way = data.proposed_resolutions.iter().find(|way| way.description.starts_with(start)).unwrap();
        let error = apply(&open, &important, way, "mom", now()).unwrap_err();
        assert!(error.code() == superstep::Code::InvalidResume && error.message().contains("not on the calendar yet"));
    }
}

/// R-FAM-107: where two others are in the way, moving one solves half.
#[test]
fn moving_one_of_two_solves_half() {
    let board = family()
        .with(chess().flexibility(Flexibility::Flexible))
        .with(event("Shopping", "2026-01-10 14:00 15:00").using(&["car"]));
    let said = "Move “Chess” to Saturday 10 January, 3:00 pm to 4:00 pm.".to_owned();
    assert_eq!(others(&board, &soccer()), [(said, 0.4)]);
    let changes = Change::RemoveEvent("shopping".to_owned());
    assert_eq!(others(&board.and(changes), &soccer())[0].1, 0.8);
}
