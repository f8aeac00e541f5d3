//! Wording of times and durations.

use superstep_scheduler::agents::format;
use superstep_scheduler::time_zone::NamedTimeZone;

use super::builder::{NEW_YORK, family, span};

/// R-FAM-27: times, durations and lists are readable, in the family's local time.
#[test]
fn times_durations_and_names_are_formatted_for_readers() {
    let zone = NamedTimeZone::from_iana_name(NEW_YORK).unwrap();
    let rows = [
        ("2026-01-10 14:00 15:30", "Saturday 10 January, 2:00 pm to 3:30 pm"),
        ("2026-01-10 00:00 12:00", "Saturday 10 January, 12:00 am to 12:00 pm"),
        ("2026-01-10 23:00 01:00", "Saturday 10 January, 11:00 pm to Sunday 11 January, 1:00 am"),
    ];
    for (input, expected) in rows {
        assert_eq!(format::format_range(&zone, &span(input)), expected);
    }
    let lengths =
        [(0, "0 minutes"), (1, "1 minute"), (60, "1 hour"), (90, "1 hour 30 minutes"), (3000, "2 days 2 hours")];
    for (minutes, expected) in lengths {
        assert_eq!(format::format_duration(minutes), expected);
    }
    assert_eq!(format::join_list(&["a"]), "a");
    assert_eq!(format::join_list(&["a", "b", "c"]), "a, b and c");
    assert_eq!(format::names(&family(), &["emma", "gone"]), "Emma and somebody");
    assert_eq!(format::resource_as_subject("car"), "The car");
    assert_eq!(format::resource_as_subject("Dad's car"), "Dad's car");
}
