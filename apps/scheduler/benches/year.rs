//! How long questions to a full year take: 5 people with 10 and with 50 series each, a car, and rules of most kinds.
//!
//! `cargo bench -p superstep-scheduler --bench year` prints a line for each question and ends with 1 when one about an event
//! takes 50 ms or more in the median. The look over the whole calendar, which goes with every change, has no goal; it is told
//! beside them. `first` is a question to a calendar of which nothing is remembered yet, as after a start. In no test: how
//! long something takes is the business of the machine too.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use jiff::civil::date;
use superstep_scheduler::agents::slots::Wanted;
use superstep_scheduler::agents::{conflicts, scan, slots};
use superstep_scheduler::calendar::{Board, Event, Participant, Recurrence, Span};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::zone::Zone;
use superstep_scheduler::{sample, sample_year};

/// What a question may take.
const GOAL: Duration = Duration::from_millis(50);
const PEOPLE: usize = 5;
/// How many events are asked about: at every hour from 7 to 20 on every day of a week, twice, for different people.
const EVENTS: usize = 196;
/// How many calendars are asked for the first time.
const CALENDARS: usize = 9;

/// Something that is asked; gives how much was found.
type Ask = fn(&Board, &Event) -> usize;

/// A question: its name, what is asked, how the event repeats, and whether it has a goal.
type Question = (&'static str, Ask, Option<&'static str>, bool);

const QUESTIONS: [Question; 5] = [
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
        for (name, ask, rule, has_goal) in QUESTIONS {
            let (first, median, worst, found) = measure(series_each, ask, rule);
            let told = [first, median, worst].map(|time| format!("{:.2} ms", time.as_secs_f64() * 1000.0));
            let [first, middle, worst] = told;
            println!("{:<8} {name:30} {first:>9} {middle:>9} {worst:>9} {found:>7}", PEOPLE * series_each);
            is_met &= !has_goal || median < GOAL;
        }
    }
    println!("goal: medians about an event under {} ms: {}", GOAL.as_millis(), if is_met { "met" } else { "MISSED" });
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The median of first questions, the median and the worst of later ones, and how much was found in all of those.
fn measure(series_each: usize, ask: Ask, rule: Option<&str>) -> (Duration, Duration, Duration, usize) {
    let board = || sample_year::board(PEOPLE, series_each).expect("the year can be written");
    let firsts = (0..CALENDARS).map(|number| timed(ask, &board(), &event(&board(), number, rule)).0);
    let (first, _) = spread(firsts.collect());
    let board = board();
    let events: Vec<Event> = (0..EVENTS).map(|number| event(&board, number, rule)).collect();
    timed(ask, &board, &events[0]);
    let (times, found): (Vec<Duration>, Vec<usize>) = events.iter().map(|event| timed(ask, &board, event)).unzip();
    let (median, worst) = spread(times);
    (first, median, worst, found.iter().sum())
}

fn timed(ask: Ask, board: &Board, event: &Event) -> (Duration, usize) {
    let begun = Instant::now();
    let found = black_box(ask(black_box(board), black_box(event)));
    (begun.elapsed(), found)
}

/// The median and the worst.
fn spread(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() - 1])
}

/// An hour for two people in the week after the sample's now; every other one needs the car.
fn event(board: &Board, number: usize, rule: Option<&str>) -> Event {
    let zone = Zone::named(&board.family.zone).expect("the family lives somewhere");
    let from = |least: i8, place: usize| least + i8::try_from(place).expect("there are few");
    let start = date(2026, 1, from(12, number % 7)).at(from(7, number / 7 % 14), 0, 0, 0);
    let instant = |minutes: i64| {
        let wall = start.saturating_add(jiff::Span::new().minutes(minutes));
        zone.instant(wall).expect("the year can be written")
    };
    let participant = |person: usize| Participant { member: format!("person_{}", person % PEOPLE), is_required: true };
    let like = board.events.values().next().expect("the year is full");
    Event {
        id: "new".to_owned(),
        uid: "new@example.com".to_owned(),
        span: Span { start: instant(0), end: instant(60) },
        participants: vec![participant(number), participant(number + 1)],
        resources: if number.is_multiple_of(2) { vec!["car".to_owned()] } else { Vec::new() },
        recurrence: rule.map(|rule| Recurrence { rule: rule.to_owned(), left_out: Vec::new(), added: Vec::new() }),
        status: EventStatus::Proposed,
        ..(**like).clone()
    }
}

fn conflicts_of(board: &Board, event: &Event) -> usize {
    conflicts::find_from(board, event, sample::now()).expect("the year can be read").len()
}

fn times_for(board: &Board, event: &Event) -> usize {
    let wanted = Wanted { event: event.clone(), given: None, minutes: 60, range: None };
    slots::find(board, &wanted, sample::now()).expect("the year can be read").candidate_times.len()
}

fn all_conflicts(board: &Board, _: &Event) -> usize {
    scan::all(board, sample::now()).expect("the year can be read").len()
}
