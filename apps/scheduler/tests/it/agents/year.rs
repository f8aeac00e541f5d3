//! The year to measure with.

use std::collections::BTreeSet;

use superstep_scheduler::agents::slots::{Wanted, find};
use superstep_scheduler::agents::{conflicts, scan};
use superstep_scheduler::models::ConflictType;
use superstep_scheduler::sample_year;

use super::builder::{Build as _, event, now};

/// R-FAM-104, R-FAM-106, R-FAM-94: a full year of five people has times, conflicts and pairs that meet.
#[test]
fn a_full_year_can_be_asked() {
    let board = sample_year::board(5, 10).unwrap();
    assert_eq!((board.members.len(), board.events.len(), board.rules.len()), (5, 50, 6));
    let new = event("New", "2026-01-13 08:00 09:00").of(&["person_0", "person_1"]).using(&["car"]).every("FREQ=WEEKLY");
    let found = conflicts::find(&board, &new).unwrap();
    assert!(found.iter().any(|one| one.details.contains("times within 12 months")), "{found:?}");
    let wanted = Wanted { event: new.every("FREQ=WEEKLY"), given: None, minutes: 60, range: None };
    let slots = find(&board, &wanted, now()).unwrap();
    assert!(!slots.candidate_times.is_empty());
    let kinds: BTreeSet<ConflictType> = scan::all(&board, now()).unwrap().iter().map(|one| one.kind).collect();
    assert_eq!(kinds.len(), 3, "{kinds:?}");
}
