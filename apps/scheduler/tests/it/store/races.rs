//! Races between two writers: exactly one wins.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use superstep::{Error, ErrorCode, Result};
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::store::CalendarStore;
use tokio::sync::Barrier;

use super::confirm_transaction::{Step, bring};
use super::family::{car_is_taken, event, put};
use super::test_location::TestLocation;
use super::{smiths as open_smiths, two_handles};

const ROUNDS: u32 = 100;
/// Environment variable with the database path of the second process; set only for that process.
const RIVAL: &str = "SUPERSTEP_TEST_RIVAL";

/// Books the car for an hour, if it is free.
fn book(snapshot: &CalendarSnapshot, user: &str, hour: u32) -> Result<Vec<CalendarChange>> {
    let booking = event(&format!("{user}{hour}"), hour, EventStatus::Confirmed);
    match car_is_taken(snapshot, &booking)?.is_empty() {
        true => Ok(vec![put(booking)]),
        false => Err(Error::new(ErrorCode::PolicyRefused, "the car is taken")),
    }
}

/// Returns true if the booking succeeded.
async fn gets(calendars: &CalendarStore, user: &'static str, hour: u32) -> bool {
    match calendars.change("smith", user, "book", move |snapshot| book(snapshot, user, hour)).await {
        Ok(changed) => changed.snapshot.events.contains_key(&format!("{user}{hour}")),
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::PolicyRefused, "{error:?}");
            false
        }
    }
}

on_both! {
    /// R-FAM-120: two parents book the car for the same hour concurrently, a hundred times: exactly one succeeds
    /// each time.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_of_two_concurrent_bookings_of_the_car_succeeds(location: TestLocation) {
        let calendars = two_handles(&location).await;
        for hour in 0..ROUNDS {
            let gate = Arc::new(Barrier::new(2));
            let [mom, dad] = [("mom", 0), ("dad", 1)].map(|(user, handle)| {
                let (calendars, gate) = (calendars[handle].clone(), gate.clone());
                tokio::spawn(async move {
                    gate.wait().await;
                    gets(&calendars, user, hour).await
                })
            });
            let won = [mom.await.unwrap(), dad.await.unwrap()];
            assert!(won[0] != won[1], "hour {hour}: {won:?}");
        }
        let snapshot = location.open(CalendarStore::options()).await.unwrap().snapshot("smith").await.unwrap();
        assert_eq!((snapshot.events.len(), snapshot.revision), (ROUNDS as usize, u64::from(ROUNDS) + 1));
        assert_eq!(location.value("SELECT count(DISTINCT start_time) FROM reservations"), ROUNDS.to_string());
    }

    /// R-FAM-120, R-FAM-91: the same for the confirmation of two proposals: the other one gets the conflict.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_of_two_concurrent_confirmations_succeeds(location: TestLocation) {
        let calendars = two_handles(&location).await;
        for hour in 0..ROUNDS {
            let proposals =
                ["mom", "dad"].map(|user| put(event(&format!("{user}{hour}"), hour, EventStatus::Proposed)));
            calendars[0].change("smith", "mom", "propose", |_| Ok(proposals.into())).await.unwrap();
            let gate = Arc::new(Barrier::new(2));
            let [mom, dad] = [("mom", 0), ("dad", 1)].map(|(user, handle)| {
                let (calendars, gate, id) = (calendars[handle].clone(), gate.clone(), format!("{user}{hour}"));
                tokio::spawn(async move {
                    gate.wait().await;
                    bring(&calendars, user, (&id, EventStatus::Confirmed), car_is_taken).await.unwrap()
                })
            });
            let (winner, conflicts) = match (mom.await.unwrap(), dad.await.unwrap()) {
                (Step::Done(_), Step::Blocked(conflicts)) => ("mom", conflicts),
                (Step::Blocked(conflicts), Step::Done(_)) => ("dad", conflicts),
                both => panic!("hour {hour}: {both:?}"),
            };
            assert_eq!(conflicts[0].conflicting_event_id, Some(format!("{winner}{hour}")));
        }
        assert_eq!(location.value("SELECT count(*) FROM reservations WHERE state = 'confirmed'"), ROUNDS.to_string());
    }
}

/// R-FAM-120: a writer without a rival books every hour. The test below runs this test as its second process, with a
/// path, and reads the number of bookings from its output.
#[tokio::test]
async fn a_single_writer_books_every_hour() {
    let (path, location) = (std::env::var_os(RIVAL), TestLocation::sqlite());
    let calendars = match &path {
        Some(path) => CalendarStore::open_sqlite(path).await.unwrap(),
        None => open_smiths(&location, CalendarStore::options()).await,
    };
    println!("ready");
    let mut won = 0;
    for hour in 0..ROUNDS {
        won += u32::from(gets(&calendars, "dad", hour).await);
    }
    println!("won {won}");
    assert!(path.is_some() || won == ROUNDS, "{won}");
}

/// R-FAM-120: two processes share one file: every hour is booked by exactly one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_processes_books_the_car() {
    let location = TestLocation::sqlite();
    let calendars = open_smiths(&location, CalendarStore::options()).await;
    let TestLocation::Sqlite(path) = &location else { panic!("no file") };
    let mut rival = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::races::a_single_writer_books_every_hour", "--nocapture"])
        .env(RIVAL, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(rival.stdout.take().unwrap()).lines().map(std::result::Result::unwrap);
    assert!(lines.any(|line| line.ends_with("ready")));
    let mut won = 0;
    for hour in 0..ROUNDS {
        won += u32::from(gets(&calendars, "mom", hour).await);
    }
    let rivals = lines.find_map(|line| line.strip_prefix("won ").map(|won| won.parse::<u32>().unwrap())).unwrap();
    assert!(rival.wait().unwrap().success());
    assert_eq!(won + rivals, ROUNDS);
    assert_eq!(calendars.snapshot("smith").await.unwrap().events.len(), ROUNDS as usize);
}
