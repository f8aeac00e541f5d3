//! The calendar of the benchmark.

use std::collections::BTreeSet;

use superstep_scheduler::agents::slots::{SlotRequest, find_slots};
use superstep_scheduler::agents::{conflicts, scan};
use superstep_scheduler::models::ConflictType;
use superstep_scheduler::sample::full_year;

use super::builder::{Build as _, event, now};

/// R-FAM-104, R-FAM-106, R-FAM-94: a full year of five members has slots, conflicts and conflicting pairs.
#[test]
fn a_full_year_can_be_queried() {
    let snapshot = full_year::build_snapshot(5, 10).unwrap();
    assert_eq!((snapshot.members.len(), snapshot.events.len(), snapshot.rules.len()), (5, 50, 6));
    let new = event("New", "2026-01-13 08:00 09:00")
        .with_participants(&["person_0", "person_1"])
        .using(&["car"])
        .repeating("FREQ=WEEKLY");
    let detected = conflicts::detect_conflicts(&snapshot, &new).unwrap();
    assert!(detected.iter().any(|one| one.details.contains("times within 12 months")), "{detected:?}");
    let request = SlotRequest { event: new.repeating("FREQ=WEEKLY"), requested_range: None, minutes: 60, range: None };
    let slots = find_slots(&snapshot, &request, now()).unwrap();
    assert!(!slots.candidate_times.is_empty());
    let kinds: BTreeSet<ConflictType> =
        scan::scan_conflicts(&snapshot, now()).unwrap().iter().map(|one| one.kind).collect();
    assert_eq!(kinds.len(), 3, "{kinds:?}");
}
