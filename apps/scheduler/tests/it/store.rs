//! Calendars in SQLite and in PostgreSQL: the same tests on both.

use std::time::Duration;

use superstep::testing::ManualClock;
use superstep_scheduler::store::{Calendars, Options};

/// Writes each test down for both databases.
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($place:ident: Place) $body:block)*) => {
        mod on_sqlite {
            use super::*;
            $($(#[$meta])* async fn $name() { let $place = crate::store::place::Place::sqlite(); $body })*
        }

        mod on_postgres {
            use super::*;
            $($(#[$meta])* async fn $name() { let $place = crate::store::place::Place::postgres(); $body })*
        }
    };
}

mod family;
mod life;
mod place;
mod races;
mod refusals;
mod steps;
mod tables;
mod trouble;
mod undo;
mod way;

use place::Place;

/// A clock at the noon of the fifth of January 2026 in New York.
fn clock() -> ManualClock {
    let clock = ManualClock::new();
    clock.advance(Duration::from_micros(family::time("2026-01-05T12:00:00-05:00").as_unix_micros().cast_unsigned()));
    clock
}

/// Two handles on the family of these tests.
async fn two_handles(place: &Place) -> [Calendars; 2] {
    [smiths(place, Calendars::options()).await, place.open(Calendars::options()).await.unwrap()]
}

/// The family of these tests in a new place.
async fn smiths(place: &Place, options: Options) -> Calendars {
    let calendars = place.open(options).await.unwrap();
    calendars.create_family("mom", family::smiths(), family::belongings()).await.unwrap();
    calendars
}
