//! The calendar of the benchmark.

use std::collections::BTreeSet;

use superstep_scheduler::agents::slots::{SlotRequest, find_slots};
use superstep_scheduler::agents::{conflicts, scan};
use superstep_scheduler::models::ConflictType;
use superstep_scheduler::sample::full_year;

use super::builder::{Build as _, event, now};

/// R-FAM-104, R-FAM-106, R-FAM-94: a full year of five members has slots, conflicts and conflicting pairs.
#[test]
fn a_full_year_can_be_asked() {
    let board = full_year::board(5, 10).unwrap();
    assert_eq!((board.members.len(), board.events.len(), board.rules.len()), (5, 50, 6));
    let new = event("New", "2026-01-13 08:00 09:00").of(&["person_0", "person_1"]).using(&["car"]).every("FREQ=WEEKLY");
    let found = conflicts::detect_conflicts(&board, &new).unwrap();
    assert!(found.iter().any(|one| one.details.contains("times within 12 months")), "{found:?}");
    let wanted = SlotRequest { event: new.every("FREQ=WEEKLY"), requested_range: None, minutes: 60, range: None };
    let slots = find_slots(&board, &wanted, now()).unwrap();
    assert!(!slots.candidate_times.is_empty());
    let kinds: BTreeSet<ConflictType> =
        scan::scan_conflicts(&board, now()).unwrap().iter().map(|one| one.kind).collect();
    assert_eq!(kinds.len(), 3, "{kinds:?}");
}
