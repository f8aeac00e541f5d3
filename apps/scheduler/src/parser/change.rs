//! Changes to what is on the calendar: which event, which of a series, and what becomes of it.

use jiff::civil::{Date, DateTime};

use super::days::{Days, How, day_range, written};
use super::events::{Clue, Meant, another, meant, picked};
use super::hours::{Clock, at};
use super::moved::{moved, settle_nth};
use super::reader::{Finding, Value};
use super::repeats::Repeat;
use super::said::Said;
use super::sense::{Sense, Way};
use super::when::next_weekday;
use super::{Doubt, Part, Reading, Scope, titles};
use crate::calendar::Span;

/// What becomes of an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Changed {
    /// The events that may be meant.
    pub(super) which: Vec<Meant>,
    /// Whether the first of them is the one.
    pub(super) is_matched: bool,
    /// Which of a series.
    pub(super) scope: Option<Scope>,
    /// When it is then, on the wall.
    pub(super) span: Option<(DateTime, DateTime)>,
    /// How many minutes it takes then, where that and not its end is known.
    pub(super) length: Option<i64>,
    /// Where it is to lie then, on the wall.
    pub(super) within: Option<(DateTime, DateTime)>,
    /// The times of which one is meant, on the wall.
    pub(super) either: Vec<(DateTime, DateTime)>,
    /// How it repeats then.
    pub(super) rule: Option<String>,
    /// What it is called then.
    pub(super) title: Option<String>,
    /// Whether it was said what becomes of it.
    pub(super) has_change: bool,
    /// Whether one of the doubts is too great to go on.
    pub(super) is_open: bool,
    /// What may be meant in two ways.
    pub(super) doubts: Vec<Doubt>,
    /// What cannot be.
    pub(super) problems: Vec<String>,
}

/// An event that is not to be.
pub(super) fn cancel(reading: &Reading<'_>) -> Changed {
    let said = Said::of(&reading.findings, reading.today());
    let mut changed = find(reading, &said, true, 0..reading.reader.tokens.len());
    changed.has_change = true;
    let is_dated = !said.days.is_empty() || said.time.is_some();
    let only = Only { is_dated, is_onward: said.onward.is_some(), is_part: is_part(reading, &said) };
    settle_scope(reading, &mut changed, only);
    if is_several(reading, &changed, &said) {
        changed.doubts.push(Doubt::new(Part::Scope, "There are several then; is it one of them, or all?"));
        changed.scope = None;
        changed.is_open = true;
    }
    if matches!(changed.scope, None | Some(Scope::This))
        && changed.is_matched
        && (changed.scope.is_some() || !is_series(&changed.which[0]))
    {
        changed.span = changed.which[0].instance;
    }
    changed
}

/// Whether days were said, or an end, of which all of a series cannot be meant: `all lessons next week`.
fn is_part(reading: &Reading<'_>, said: &Said) -> bool {
    let is_limit = |finding: &Finding| match finding.sense {
        Sense::Repeat(_) | Sense::RepeatPart(..) => {
            finding.values.iter().any(|value| matches!(value, Value::Weekdays(_)))
        }
        Sense::UntilDate | Sense::UntilMonth | Sense::UntilMonthEnd => true,
        Sense::Length | Sense::Times | Sense::Unclear => true,
        _ => false,
    };
    !said.days.is_empty() || reading.findings.iter().any(is_limit)
}

/// Whether a series has more than one instance in the days that were said.
fn is_several(reading: &Reading<'_>, changed: &Changed, said: &Said) -> bool {
    let days = said.day().0.filter(|days| !days.is_one() && changed.scope == Some(Scope::This));
    let within = days.and_then(|days| {
        let instant = |date| reading.zone.instant(at(date, 0)).ok();
        Span::new(instant(days.first)?.max(reading.request.now), instant(days.end)?)
    });
    let (Some(within), Some(one)) = (within, changed.which.first()) else { return false };
    reading.request.board.instances_of(&one.event, &within).is_ok_and(|instances| instances.len() > 1)
}

/// An event that is to be otherwise.
pub(super) fn modify(reading: &Reading<'_>) -> Changed {
    let (old, new, border) = split(reading);
    let is_split = border.is_some();
    let words = match (reading.intent.way, border_word(reading)) {
        (Way::Rename, Some(to)) => 0..to,
        _ => 0..reading.reader.tokens.len(),
    };
    // Without a border the day that was said may be the old one as well as the new one.
    let is_loose = !is_split && new.shift.is_none() && old.is_empty();
    let mut changed = if is_loose { find(reading, &new, false, words) } else { find(reading, &old, true, words) };
    let is_on_day =
        |days: Days| changed.which.iter().any(|one| one.instance.is_some_and(|(at, _)| at.date() == days.first));
    let is_dated = !old.days.is_empty() || old.time.is_some() || (is_loose && new.day().0.is_some_and(is_on_day));
    changed.rule = rule(reading, &changed);
    // `Move all lessons from Tuesday to Wednesday` is about all of them, `all lessons next week` is not.
    let is_limit = |days: &Days| days.how != How::Weekday;
    let is_part = old.days.iter().any(is_limit) || is_loose && new.days.iter().any(|days| !days.is_one());
    settle_scope(reading, &mut changed, Only { is_dated, is_onward: false, is_part });
    if let (Way::Rename, Some(to)) = (reading.intent.way, border_word(reading)) {
        changed.title = titles::title_of(&reading.reader, to + 1..reading.reader.tokens.len());
        changed.has_change = changed.title.is_some();
        return changed;
    }
    changed.has_change |= changed.rule.is_some();
    apply(reading, &new, &mut changed);
    changed
}

fn apply(reading: &Reading<'_>, new: &Said, changed: &mut Changed) {
    let wall = reading.wall(None);
    let problems = new.days.iter().filter_map(|days| days.problem.clone());
    let clocks = new.time.iter().flat_map(|time| time.clocks());
    changed.problems.extend(problems.chain(clocks.filter_map(Clock::problem)));
    let says_time = !new.days.is_empty() || new.time.is_some() || new.shift.is_some() || new.length.is_some();
    if !changed.problems.is_empty() || !(says_time || new.part.is_some()) {
        return;
    }
    changed.has_change = true;
    let instance = if changed.is_matched { changed.which[0].instance } else { None };
    let Some(instance) = instance else {
        // Nobody knows yet how long it is.
        let when = wall.create(new, None);
        changed.span = when.span.filter(|_| when.has_date && when.has_time);
        changed.length = when.length;
        return;
    };
    let new = settle_nth(new, instance.0, wall.now.date(), changed);
    let Some(span) = moved(reading, &new, instance, changed) else { return };
    match problem(span, wall.now) {
        Some(problem) => changed.problems.push(problem),
        None => changed.span = Some(span),
    }
}

/// What is wrong with a time on the wall: it ends before it starts, or is over.
pub(crate) fn problem((start, end): (DateTime, DateTime), now: DateTime) -> Option<String> {
    if end <= start {
        return Some("then it ends before it starts".to_owned());
    }
    let was = || {
        let (day, next) = (written(start.date()), next_weekday(start.date(), now));
        format!("that was on {day} at {}; did you mean {next}?", start.strftime("%H:%M"))
    };
    (start < now).then(was)
}

/// What is said of the old time and of the new one, and at which token the new one begins.
fn split(reading: &Reading<'_>) -> (Said, Said, Option<usize>) {
    let (reader, today) = (&reading.reader, reading.today());
    let lists = reader.language.words;
    let is_target = |at: usize| {
        let is_last = |finding: &&Finding| finding.from == at || finding.from == at + 1;
        let counts = |finding: &&Finding| !matches!(finding.sense, Sense::Which(_) | Sense::Filler | Sense::By);
        !reading.intent.verb.contains(&at)
            && reader.tokens[at].is_in(lists.targets)
            && reading.findings.iter().filter(counts).any(|finding| is_last(&finding))
    };
    let border = (0..reader.tokens.len()).find(|at| is_target(*at));
    let phrases = lists.instead_of.iter().map(|phrase| super::pattern::pattern(phrase));
    let patterns: Vec<_> = phrases.collect();
    let instead = (0..reader.tokens.len()).find(|at| patterns.iter().any(|one| reader.fits(one, *at).is_some()));
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let repeats = reading.findings.iter().any(|one| matches!(one.sense, Sense::Repeat(_) | Sense::RepeatPart(..)));
    for finding in &reading.findings {
        // `Put it off until Tuesday`: without a series that is a day.
        let is_day = finding.sense == Sense::UntilDate && !repeats;
        let finding = &Finding { sense: if is_day { Sense::Date } else { finding.sense }, ..finding.clone() };
        let is_after = border.is_none_or(|border| finding.from >= border);
        let is_instead = instead.is_some_and(|instead| finding.from > instead);
        let is_owner = reader.tokens[finding.to - 1].is_owner;
        if let Some((first, second)) = from_to(finding, (today, is_after && border.is_some())) {
            old.push(Finding { sense: Sense::Date, values: vec![first], ..finding.clone() });
            new.push(Finding { sense: Sense::Date, values: vec![second], ..finding.clone() });
        } else if is_instead || !is_after || is_owner {
            old.push(finding.clone());
        } else {
            new.push(finding.clone());
        }
    }
    let (mut old, mut new) = (Said::of(&old, today), Said::of(&new, today));
    // What moves by an hour has its old day said; and what it moves by may come before the day.
    if old.shift.is_some() || new.shift.is_some() {
        old.days.append(&mut new.days);
        old.time = old.time.or(new.time.take());
        new.shift = new.shift.or(old.shift.take());
    }
    (old, new, border)
}

/// The old day and the new one, where both are in one phrase: `from Friday to Saturday`, `on January 6 to 8`. Behind a border
/// the days of one month are the new ones.
fn from_to(finding: &Finding, (today, is_behind): (Date, bool)) -> Option<(Value, Value)> {
    match (finding.sense, finding.values.as_slice()) {
        (Sense::DateRange, [first, second]) => Some((first.clone(), second.clone())),
        (Sense::DayRange, values) if !is_behind => {
            day_range(today, values).map(|(first, last)| (Value::Days(first), Value::Days(last)))
        }
        _ => None,
    }
}

/// The word before a new name.
fn border_word(reading: &Reading<'_>) -> Option<usize> {
    let tokens = &reading.reader.tokens;
    let targets = reading.reader.language.words.targets;
    (reading.intent.verb.end..tokens.len()).find(|at| tokens[*at].is_in(targets))
}

fn rule(reading: &Reading<'_>, changed: &Changed) -> Option<String> {
    let mut repeat = Repeat::of(&reading.findings)?;
    repeat.on_day_said(None);
    let start =
        changed.which.first().and_then(|meant| meant.instance).map_or(reading.today(), |(start, _)| start.date());
    repeat.written(start, &reading.zone).ok()
}

fn find(reading: &Reading<'_>, said: &Said, is_strict: bool, words: std::ops::Range<usize>) -> Changed {
    let named = |with_speaker: bool| {
        let mentions = reading.names.mentions.iter().filter(|one| one.is_person && !reading.edited.contains(one));
        let ids = mentions.filter(|one| with_speaker || !one.is_speaker).flat_map(|one| one.ids.clone());
        ids.collect::<Vec<String>>()
    };
    let wall = reading.wall(None);
    let look = |people: &[String], said: &Said, is_strict: bool| {
        let clue = Clue { words: &reading.reader.tokens[words.clone()], people, said, is_strict };
        meant(&reading.reader, reading.request.board, &wall, clue)
    };
    if let Some(event) = &reading.picked {
        let which = vec![picked(reading.request.board, &wall, event, said)];
        return Changed { which, is_matched: true, ..Changed::default() };
    }
    let mut which = look(&named(true), said, is_strict);
    if which.is_empty() {
        which = look(&named(false), said, is_strict);
    }
    if said_scope(reading) == Some(Scope::All) {
        // All of a series are one: those that were moved are not meant beside it.
        let ids: Vec<String> = which.iter().map(|one| one.event.id.clone()).collect();
        which.retain(|one| one.event.exception_of.as_ref().is_none_or(|of| !ids.contains(&of.series)));
    }
    let mut changed = Changed { is_matched: which.len() == 1, ..Changed::default() };
    if which.is_empty() && is_strict {
        which = look(&named(false), &Said::default(), true);
        let day = said.day().0.filter(|_| !which.is_empty());
        changed.problems.extend(day.map(|day| format!("there is none on {}", written(day.first))));
    }
    if changed.is_matched
        && let Some(other) =
            another(&reading.reader, reading.request.board, &wall, (&reading.reader.tokens[words.clone()], &which[0]))
    {
        changed.doubts.push(Doubt::new(Part::Event, format!("Is {other} meant as well?")));
    }
    if which.len() > 1 {
        let titles: Vec<String> = which.iter().map(name).collect();
        changed.doubts.push(Doubt::new(Part::Event, format!("Which one is meant: {}?", titles.join(" or "))));
    }
    changed.which = which;
    changed
}

fn name(meant: &Meant) -> String {
    let when = meant.instance.map(|(start, _)| start.strftime(" on %A %-d %B at %H:%M").to_string());
    format!("{}{}", meant.event.title, when.unwrap_or_default())
}

fn is_series(meant: &Meant) -> bool {
    meant.event.recurrence.is_some()
}

/// What was said about when the ones of a series are that are meant.
#[derive(Debug, Clone, Copy)]
struct Only {
    /// A day or a time.
    is_dated: bool,
    /// From a day on.
    is_onward: bool,
    /// Days, or an end: only some of them are then.
    is_part: bool,
}

/// Which of a series: as it was said, or the one of the day that was said; or it is open. Who says `all` and when may mean
/// those of that time, and neither all of them nor one.
fn settle_scope(reading: &Reading<'_>, changed: &mut Changed, only: Only) {
    let is_moved_one = changed.is_matched && changed.which[0].event.exception_of.is_some();
    if !(changed.is_matched && (is_moved_one || is_series(&changed.which[0]))) {
        return;
    }
    let said = said_scope(reading);
    changed.is_open = only.is_part && (said == Some(Scope::All) || only.is_onward);
    changed.scope = match said {
        _ if changed.is_open => None,
        _ if only.is_onward => Some(Scope::Following),
        Some(scope) => Some(scope),
        None if only.is_dated || is_moved_one => Some(Scope::This),
        None => None,
    };
    if let (None, Some((start, _))) = (changed.scope, changed.which[0].instance) {
        let question = format!("Only the one on {}, or all of them?", written(start.date()));
        changed.doubts.push(Doubt::new(Part::Scope, question));
    }
}

/// What a length or time in the sentence is worth as a value to show.
pub(super) fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Days(days) => Some(days.first.to_string()),
        Value::Clock(clock) => Some(clock.written()),
        Value::Length(length) => length.as_minutes().map(|minutes| format!("{minutes} min")),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Which of a series was said.
fn said_scope(reading: &Reading<'_>) -> Option<Scope> {
    let said = reading.findings.iter().filter_map(|finding| match finding.sense {
        Sense::Which(scope) => Some(scope),
        Sense::Repeat(_) | Sense::RepeatPart(..) => Some(Scope::All),
        _ => None,
    });
    said.max()
}
