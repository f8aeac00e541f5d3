//! Which rules of the family an event would break (R-FAM-100).
//!
//! Times of the day and weeks are those of the family. Events of whole days break no rule about times of the day. A day
//! or week counts the events that start in it. A soft rule that somebody accepted for an event does not count for it.

use std::sync::Arc;

use jiff::ToSpan as _;
use jiff::civil::Date;
use superstep::Result;
use superstep::core::time::Time;

use super::capacity::fullest;
use super::look::Look;
use super::moments::{MINUTES_A_DAY, wider};
use super::taken::Taken;
use super::words;
use crate::calendar::{Board, Event, Rule, RuleKind, Span, Strength, WeekStart};
use crate::zone::Zone;

/// A rule that would be broken.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    /// The rule.
    pub rule: Arc<Rule>,
    /// For whom, where that matters.
    pub member: Option<String>,
    /// What it says, for the family.
    pub text: String,
}

/// The rules that an event would break at a time, in the order of their ids.
///
/// # Errors
/// When a rule of repetition or a zone on the board cannot be read.
pub fn broken(board: &Board, event: &Event, span: &Span) -> Result<Vec<Broken>> {
    let look = Look::new(board, event, span)?;
    let breaches = look.breaches(&[*span]);
    let found = breaches.into_iter().map(|Breach { rule, member }| {
        let text = words_of(board, rule);
        Broken { rule: rule.clone(), member: member.map(str::to_owned), text }
    });
    Ok(found.collect())
}

/// A property of an event, as calendar files carry them: a soft rule that it may break, by id.
const ACCEPTED: &str = "X-SUPERSTEP-ACCEPTED-RULE:";

/// The line that says of an event that it may break a soft rule.
pub(super) fn acceptance(rule: &str) -> String {
    format!("{ACCEPTED}{rule}")
}

fn is_accepted(event: &Event, rule: &Rule) -> bool {
    rule.strength != Strength::Hard
        && event.extra.iter().any(|line| line.strip_prefix(ACCEPTED).is_some_and(|id| id.trim() == rule.id))
}

/// The rules that bear on one event.
#[derive(Debug)]
pub(super) struct Book {
    zone: Zone,
    week_start: WeekStart,
    rules: Vec<Arc<Rule>>,
}

/// A rule that is broken, and for whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Breach<'a> {
    pub(super) rule: &'a Arc<Rule>,
    pub(super) member: Option<&'a str>,
}

/// An event at one of its times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a, 's> {
    pub(super) board: &'s Board,
    pub(super) taken: &'s Taken,
    pub(super) event: &'a Event,
    pub(super) span: Span,
    /// What it and its exceptions are among what is taken.
    pub(super) whole: Option<usize>,
    /// All its times, this one among them, the earliest first.
    pub(super) own: &'s [Span],
    /// Those of its exceptions, or of the series whose exception it is.
    pub(super) rest: &'s [Span],
}

impl Book {
    /// The active rules for those who take part.
    pub(super) fn new(board: &Board, event: &Event) -> Result<Self> {
        let takes_part = |member: &String| event.participants.iter().any(|participant| participant.member == *member);
        let bears = |rule: &&Arc<Rule>| {
            rule.is_active && rule.member.as_ref().is_none_or(takes_part) && !is_accepted(event, rule)
        };
        let rules = board.rules.values().filter(bears).cloned().collect();
        Ok(Self { zone: Zone::named(&board.family.zone)?, week_start: board.family.week_start, rules })
    }

    /// How many minutes around an event matter to the rules: at least its week.
    pub(super) fn reach(&self) -> i64 {
        let gap = self.rules.iter().map(|rule| match rule.kind {
            RuleKind::MinGapMinutes { minutes } => i64::from(minutes),
            _ => 0,
        });
        gap.max().unwrap_or(0).max(8 * MINUTES_A_DAY)
    }

    /// The rules that an event breaks at one of its times.
    pub(super) fn breaches<'a>(&'a self, case: &Case<'a, '_>) -> Vec<Breach<'a>> {
        self.rules.iter().flat_map(|rule| self.breaches_of(rule, case)).collect()
    }

    /// Whether an event breaks a hard rule at one of its times.
    pub(super) fn forbids(&self, case: &Case<'_, '_>) -> bool {
        let mut hard = self.rules.iter().filter(|rule| rule.strength == Strength::Hard);
        hard.any(|rule| !self.breaches_of(rule, case).is_empty())
    }

    fn breaches_of<'a>(&'a self, rule: &'a Arc<Rule>, case: &Case<'a, '_>) -> Vec<Breach<'a>> {
        let for_each = |is_broken: &dyn Fn(&str) -> bool| -> Vec<Breach<'a>> {
            let members = case.event.participants.iter().map(|participant| participant.member.as_str());
            let theirs = members.filter(|member| rule.member.as_deref().is_none_or(|of| of == *member));
            theirs.filter(|member| is_broken(member)).map(|member| Breach { rule, member: Some(member) }).collect()
        };
        let is_broken = match &rule.kind {
            RuleKind::MinGapMinutes { minutes } => return for_each(&|member| is_too_close(case, member, *minutes)),
            RuleKind::MaxEventsPerDay { count } => {
                let day = self.day_of(case.span.start);
                return for_each(&|member| counted(case, member, day) > *count as usize);
            }
            RuleKind::MaxEventsPerWeek { count } => {
                let week = self.week_of(case.span.start);
                return for_each(&|member| counted(case, member, week) > *count as usize);
            }
            RuleKind::ResourcePriority { resource, members } => is_behind(case, resource, members),
            kind => !case.event.is_all_day && self.is_bad_time(kind, &case.span),
        };
        is_broken.then_some(Breach { rule, member: rule.member.as_deref() }).into_iter().collect()
    }

    /// Whether a rule about times of the day is broken.
    fn is_bad_time(&self, kind: &RuleKind, span: &Span) -> bool {
        let (start, end) = (self.zone.wall(span.start), self.zone.wall(span.end));
        match kind {
            RuleKind::NoEventsBefore { time } => start.time() < *time,
            // What goes on past midnight ends after any time of the day it started on.
            RuleKind::NoEventsAfter { time } => end.date() > start.date() || end.time() > *time,
            RuleKind::BlockedWindow { days, from, to } => {
                self.windows(days, (*from, *to), span).any(|window| window.meets(span))
            }
            RuleKind::PreferredWindow { days, from, to } => {
                !self.windows(days, (*from, *to), span).any(|window| window.holds(span))
            }
            _ => false,
        }
    }

    /// The windows of a rule near a time. One that ends before it starts goes on past midnight.
    fn windows<'a>(
        &'a self,
        days: &'a [u8],
        (from, to): (jiff::civil::Time, jiff::civil::Time),
        span: &Span,
    ) -> impl Iterator<Item = Span> + 'a {
        let last = self.zone.wall(span.end).date();
        let first = self.zone.wall(span.start).date().saturating_sub(1.day());
        let dates = first.series(1.day()).take_while(move |date| *date <= last);
        let on_days = dates.filter(|date| days.is_empty() || days.contains(&weekday(*date)));
        on_days.filter_map(move |date| {
            let end = if to <= from { date.saturating_add(1.day()) } else { date };
            Span::new(self.zone.moment(date.to_datetime(from))?, self.zone.moment(end.to_datetime(to))?)
        })
    }

    fn day_of(&self, time: Time) -> Option<Span> {
        let day = self.zone.wall(time).date();
        self.days(day, day.saturating_add(1.day()))
    }

    fn week_of(&self, time: Time) -> Option<Span> {
        let day = self.zone.wall(time).date();
        let since_monday = i64::from(day.weekday().to_monday_zero_offset());
        let since_start = match self.week_start {
            WeekStart::Monday => since_monday,
            WeekStart::Sunday => (since_monday + 1) % 7,
            WeekStart::Saturday => (since_monday + 2) % 7,
        };
        let first = day.saturating_sub(since_start.days());
        self.days(first, first.saturating_add(7.days()))
    }

    fn days(&self, first: Date, end: Date) -> Option<Span> {
        Span::new(self.zone.moment(first.at(0, 0, 0, 0))?, self.zone.moment(end.at(0, 0, 0, 0))?)
    }
}

fn weekday(date: Date) -> u8 {
    u8::try_from(date.weekday().to_monday_one_offset()).unwrap_or(0)
}

/// Whether another event of somebody is nearer than so many minutes. One at the same time is a conflict of its own.
fn is_too_close(case: &Case<'_, '_>, member: &str, minutes: u32) -> bool {
    let taken = case.taken;
    let around = wider(&case.span, i64::from(minutes));
    let others = taken.of_member(member, around).filter(|entry| Some(taken.kept(entry).whole) != case.whole);
    // All its times are equally long, so those before one that is over are over too.
    let upto = case.own.partition_point(|own| own.start < around.end);
    let own = case.own[..upto].iter().rev().take_while(|own| own.end > around.start);
    let rest = case.rest.iter().filter(|rest| rest.meets(&around));
    others.map(|entry| &entry.span).chain(own).chain(rest).any(|other| !other.meets(&case.span))
}

/// How many events somebody has in a stretch of time, this one among them.
fn counted(case: &Case<'_, '_>, member: &str, within: Option<Span>) -> usize {
    let Some(within) = within else { return 0 };
    let from = case.own.partition_point(|own| own.start < within.start);
    let to = case.own.partition_point(|own| own.start < within.end);
    let is_another = |own: &&Span| own.start != case.span.start;
    let is_in = |rest: &&Span| within.start <= rest.start && rest.start < within.end;
    let own = case.own[from..to].iter().chain(case.rest.iter().filter(is_in)).filter(is_another).count();
    case.taken.starting(member, &within, case.whole) + own + 1
}

/// Whether somebody who comes first wants a thing at the same time, and it is not enough for both.
fn is_behind(case: &Case<'_, '_>, resource: &str, members: &[String]) -> bool {
    let (board, taken) = (case.board, case.taken);
    if !case.event.resources.iter().any(|used| used == resource) {
        return false;
    }
    let users = taken.of_resource(resource, case.span).filter(|entry| Some(taken.kept(entry).whole) != case.whole);
    let (spans, ranks): (Vec<Span>, Vec<usize>) =
        users.map(|entry| (entry.span, rank(&taken.kept(entry).event, members))).unzip();
    let capacity = board.resources.get(resource).map_or(0, |resource| resource.capacity as usize);
    fullest(&spans, &case.span).len() >= capacity && ranks.iter().any(|other| *other < rank(case.event, members))
}

/// The best place in a list of those who take part; who is not in it comes last.
fn rank(event: &Event, members: &[String]) -> usize {
    let takes_part = |member: &String| {
        let is_owner = event.participants.is_empty() && event.owner == *member;
        is_owner || event.participants.iter().any(|participant| participant.member == *member)
    };
    members.iter().position(takes_part).unwrap_or(members.len())
}

/// A rule for the family: its name and what it says.
pub(super) fn words_of(board: &Board, rule: &Rule) -> String {
    format!("{}: {}", rule.name, says(board, &rule.kind))
}

/// What a rule says.
pub(super) fn says(board: &Board, kind: &RuleKind) -> String {
    let window = |days: &[u8], from, to| {
        let on = if days.is_empty() { String::new() } else { format!(" on {}", weekdays(days)) };
        format!("{on} from {} to {}", words::clock(from), words::clock(to))
    };
    match kind {
        RuleKind::NoEventsBefore { time } => format!("nothing starts before {}", words::clock(*time)),
        RuleKind::NoEventsAfter { time } => format!("nothing ends after {}", words::clock(*time)),
        RuleKind::BlockedWindow { days, from, to } => format!("nothing{}", window(days, *from, *to)),
        RuleKind::PreferredWindow { days, from, to } => format!("best{}", window(days, *from, *to)),
        RuleKind::MinGapMinutes { minutes } => {
            format!("at least {} between two events", words::length(i64::from(*minutes)))
        }
        RuleKind::MaxEventsPerDay { count } => format!("at most {} a day", words::some(i64::from(*count), "event")),
        RuleKind::MaxEventsPerWeek { count } => format!("at most {} a week", words::some(i64::from(*count), "event")),
        RuleKind::ResourcePriority { resource, members } => {
            let name = board.resources.get(resource).map_or("thing", |resource| resource.name.as_str());
            format!("{} goes first to {}", words::thing(name), words::names(board, members))
        }
    }
}

fn weekdays(days: &[u8]) -> String {
    const NAMES: [&str; 7] = ["Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays"];
    let name = |day: &u8| NAMES.get(usize::from(*day).wrapping_sub(1)).copied();
    words::list(&days.iter().filter_map(name).collect::<Vec<&str>>())
}
