//! Benchmark of queries on a full year: five members with 10 and with 50 series each, a car, and most kinds of
//! constraints.
//!
//! `cargo bench -p superstep-scheduler --bench calendar_year` prints one line per query and exits with code 1 if the median
//! of a query about one event is 50 ms or more. The scan of the whole calendar, which runs with every change, has no
//! limit; its time is printed for comparison. `first` is a query on a calendar with empty caches, as after a start.
//! This is not a test, because the time also depends on the machine.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use jiff::civil::date;
use superstep_scheduler::agents::slots::SlotRequest;
use superstep_scheduler::agents::{conflicts, scan, slots};
use superstep_scheduler::calendar::{CalendarSnapshot, Event, Participant, Recurrence, TimeRange};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::sample::{self, full_year};
use superstep_scheduler::time_zone::NamedTimeZone;

/// Maximum median time of a query with a limit.
const GOAL: Duration = Duration::from_millis(50);
const PEOPLE: usize = 5;
/// Number of queried events: every hour from 7 to 20 on every day of a week, twice, for different members.
const EVENTS: usize = 196;
/// Number of calendars whose first query is measured.
const CALENDARS: usize = 9;

/// A benchmarked query. Returns the number of results.
type BenchFn = fn(&CalendarSnapshot, &Event) -> usize;

/// A benchmark case: name, query, recurrence rule of the event, and whether it has a time limit.
type BenchCase = (&'static str, BenchFn, Option<&'static str>, bool);

const QUESTIONS: [BenchCase; 5] = [
    ("conflicts of one event", conflicts_of, None, true),
    ("conflicts of a weekly series", conflicts_of, Some("FREQ=WEEKLY"), true),
    ("times for one event", times_for, None, true),
    ("times for a weekly series", times_for, Some("FREQ=WEEKLY"), true),
    ("all conflicts of the calendar", all_conflicts, None, false),
];

fn main() -> ExitCode {
    println!("{:8} {:30} {:>9} {:>9} {:>9} {:>7}", "series", "question", "first", "median", "worst", "found");
    let mut is_met = true;
    for series_each in [10, 50] {
        for (name, bench, rule, has_goal) in QUESTIONS {
            let (first, median, worst, count) = measure(series_each, bench, rule);
            let times = [first, median, worst].map(|time| format!("{:.2} ms", time.as_secs_f64() * 1000.0));
            let [first, middle, worst] = times;
            println!("{:<8} {name:30} {first:>9} {middle:>9} {worst:>9} {count:>7}", PEOPLE * series_each);
            is_met &= !has_goal || median < GOAL;
        }
    }
    println!("goal: medians about an event under {} ms: {}", GOAL.as_millis(), if is_met { "met" } else { "MISSED" });
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures the median of first queries, the median and maximum of later ones, and the total number of results.
fn measure(series_each: usize, bench: BenchFn, rule: Option<&str>) -> (Duration, Duration, Duration, usize) {
    let new_snapshot = || full_year::build_snapshot(PEOPLE, series_each).expect("the year can be written");
    let firsts = (0..CALENDARS).map(|number| timed(bench, &new_snapshot(), &event(&new_snapshot(), number, rule)).0);
    let (first, _) = spread(firsts.collect());
    let snapshot = new_snapshot();
    let events: Vec<Event> = (0..EVENTS).map(|number| event(&snapshot, number, rule)).collect();
    timed(bench, &snapshot, &events[0]);
    let (times, counts): (Vec<Duration>, Vec<usize>) =
        events.iter().map(|event| timed(bench, &snapshot, event)).unzip();
    let (median, worst) = spread(times);
    (first, median, worst, counts.iter().sum())
}

fn timed(bench: BenchFn, snapshot: &CalendarSnapshot, event: &Event) -> (Duration, usize) {
    let started = Instant::now();
    let count = black_box(bench(black_box(snapshot), black_box(event)));
    (started.elapsed(), count)
}

/// Returns median and maximum.
fn spread(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() - 1])
}

/// Creates a one-hour event for two members in the week after the current time of the sample; every other one needs
/// the car.
fn event(snapshot: &CalendarSnapshot, number: usize, rule: Option<&str>) -> Event {
    let zone = NamedTimeZone::from_iana_name(&snapshot.family.zone).expect("the family lives somewhere");
    let from = |least: i8, offset: usize| least + i8::try_from(offset).expect("there are few");
    let start = date(2026, 1, from(12, number % 7)).at(from(7, number / 7 % 14), 0, 0, 0);
    let instant = |minutes: i64| {
        let local_time = start.saturating_add(jiff::Span::new().minutes(minutes));
        zone.to_instant(local_time).expect("the year can be written")
    };
    let participant = |person: usize| Participant { member: format!("person_{}", person % PEOPLE), is_required: true };
    let like = snapshot.events.values().next().expect("the year is full");
    Event {
        id: "new".to_owned(),
        uid: "new@example.com".to_owned(),
        span: TimeRange { start: instant(0), end: instant(60) },
        participants: vec![participant(number), participant(number + 1)],
        resources: if number.is_multiple_of(2) { vec!["car".to_owned()] } else { Vec::new() },
        recurrence: rule.map(|rule| Recurrence { rule: rule.to_owned(), exdates: Vec::new(), rdates: Vec::new() }),
        status: EventStatus::Proposed,
        ..(**like).clone()
    }
}

fn conflicts_of(snapshot: &CalendarSnapshot, event: &Event) -> usize {
    conflicts::detect_conflicts_from(snapshot, event, sample::now()).expect("the year can be read").len()
}

fn times_for(snapshot: &CalendarSnapshot, event: &Event) -> usize {
    let request = SlotRequest { event: event.clone(), requested_range: None, minutes: 60, range: None };
    slots::find_slots(snapshot, &request, sample::now()).expect("the year can be read").candidate_times.len()
}

fn all_conflicts(snapshot: &CalendarSnapshot, _: &Event) -> usize {
    scan::scan_conflicts(snapshot, sample::now()).expect("the year can be read").len()
}
