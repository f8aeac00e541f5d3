//! Calendar store in SQLite and PostgreSQL: the same tests on both.

use std::time::Duration;

use superstep::testing::ManualClock;
use superstep_scheduler::store::{CalendarStore, StoreOptions};

/// Generates each test for both databases.
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($location:ident: TestLocation) $body:block)*) => {
        mod on_sqlite {
            use super::*;
            $($(#[$meta])* async fn $name() { let $location = crate::store::test_location::TestLocation::sqlite(); $body })*
        }

        mod on_postgres {
            use super::*;
            $($(#[$meta])* async fn $name() { let $location = crate::store::test_location::TestLocation::postgres(); $body })*
        }
    };
}

mod confirm_transaction;
mod family;
mod integrity;
mod migrations;
mod outage;
mod persistence;
mod proposal_flow;
mod races;
mod test_location;
mod undo;

use test_location::TestLocation;

/// Returns a clock at noon of 5 January 2026 in New York.
fn clock() -> ManualClock {
    let clock = ManualClock::new();
    clock.advance(Duration::from_micros(family::time("2026-01-05T12:00:00-05:00").as_unix_micros().cast_unsigned()));
    clock
}

/// Opens two handles on the test family.
async fn two_handles(location: &TestLocation) -> [CalendarStore; 2] {
    [smiths(location, CalendarStore::options()).await, location.open(CalendarStore::options()).await.unwrap()]
}

/// Creates the test family in a new store.
async fn smiths(location: &TestLocation, options: StoreOptions) -> CalendarStore {
    let calendars = location.open(options).await.unwrap();
    calendars.create_family("mom", family::smiths(), family::family_objects()).await.unwrap();
    calendars
}
