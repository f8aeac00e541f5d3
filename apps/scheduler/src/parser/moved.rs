//! When an event is after a change: at another time, on another day, longer or less long.

use jiff::civil::{Date, DateTime};

use super::change::Changed;
use super::days::{Days, How, in_week, nth_around, written};
use super::hours::{Clock, Hint, at, settle_range};
use super::lengths::Length;
use super::said::{Said, TimeSaid};
use super::sense::{Sense, Way};
use super::when::Wall;
use super::{Doubt, Part, Reading};

/// When an instance is after the change.
pub(super) fn moved(
    reading: &Reading<'_>,
    new: &Said,
    (start, end): (DateTime, DateTime),
    changed: &mut Changed,
) -> Option<(DateTime, DateTime)> {
    let way = reading.intent.way;
    let length = |from: DateTime, to: DateTime| Length { minutes: minutes_between(from, to), ..Length::default() };
    // What took days and is at a time of the day now takes as long as most things do.
    let is_of_days = changed.which[0].event.is_all_day && new.time.is_some();
    let usual = Length { minutes: reading.preferences.default_minutes.into(), ..Length::default() };
    let same = if is_of_days { usual } else { length(start, end) };
    if let Some(shift) = new.shift {
        changed.length = same.as_minutes().filter(|_| !matches!(way, Way::Longer | Way::Shorter));
        return Some(shifted(way, shift, (start, end)));
    }
    let (day, doubt) = new.day();
    let day = day.map(|days| after_old_day(reading, days, start));
    changed.is_open |= doubt.is_some() || new.is_open;
    let doubt = doubt.or_else(|| which_week(reading, day.as_ref()?, start));
    let doubt = doubt.or_else(|| new.doubts.last().filter(|_| new.is_open).cloned());
    changed.doubts.extend(doubt.map(|text| Doubt::new(Part::Date, text)));
    let day = match day {
        Some(days) if !days.is_one() => {
            changed.within = Some((at(days.first, 0), at(days.end, 0)));
            choose_day(reading, Said { length: new.length.or(Some(same)), ..new.clone() }, changed);
            return None;
        }
        day => day.map_or(start.date(), |days| days.first),
    };
    if let (None, Some((from, to))) = (new.time, new.part) {
        changed.within = Some((at(day, i32::from(from) * 60), at(day, i32::from(to) * 60)));
        return None;
    }
    let long = new.length.filter(|long| long.as_minutes().is_some()).unwrap_or(same);
    changed.length = long.as_minutes().filter(|_| !matches!(new.time, Some(TimeSaid::Until(_) | TimeSaid::Range(..))));
    let wall = reading.wall(new.hint());
    let settled = |clock: Clock| at(day, settle(&wall, clock, start));
    match new.time {
        Some(TimeSaid::Until(clock)) => Some((day.to_datetime(start.time()), at(day, settle(&wall, clock, start)))),
        Some(TimeSaid::Range(_, to)) if is_old_time(reading, new, start) => {
            Some((settled(to), long.from(settled(to), true)))
        }
        Some(TimeSaid::Range(from, to)) => {
            // The same moment twice is refused like an end before the start.
            let range = settle_range(from, to, wall.hint, wall.preferences);
            Some(range.map_or((start, start), |(from, to)| (at(day, from.minute), at(day, to.minute))))
        }
        Some(TimeSaid::At(clock) | TimeSaid::After(clock) | TimeSaid::Before(clock)) => {
            Some((settled(clock), long.from(settled(clock), true)))
        }
        None => {
            let start = day.to_datetime(start.time());
            Some((start, long.from(start, true)))
        }
    }
}

/// When an instance is that moves by some time, or takes longer or less long by it.
fn shifted(
    way: Way,
    (by, direction): (Length, Option<bool>),
    (start, end): (DateTime, DateTime),
) -> (DateTime, DateTime) {
    let is_later = direction.unwrap_or(way != Way::Earlier);
    match way {
        Way::Longer => (start, by.from(end, true)),
        Way::Shorter => (start, by.from(end, false)),
        _ => (by.from(start, is_later), by.from(end, is_later)),
    }
}

/// A time that was said with several days is not to be lost: on which of them it is has to be asked.
fn choose_day(reading: &Reading<'_>, new: Said, changed: &mut Changed) {
    if new.time.is_none() && new.part.is_none() {
        return;
    }
    let mut when = reading.wall(new.hint()).create(&new, None);
    changed.within = when.span;
    changed.either = when.either;
    changed.is_open = true;
    // The last one is about the day; the others were told.
    changed.doubts.extend(when.doubts.pop().map(|text| Doubt::new(Part::Time, text)));
    changed.problems.extend(when.problems);
}

/// `From Friday to Saturday` is the Saturday after that Friday.
fn after_old_day(reading: &Reading<'_>, days: Days, start: DateTime) -> Days {
    let is_range = reading.findings.iter().any(|finding| finding.sense == Sense::DateRange);
    if is_range && days.how == How::Weekday {
        Days::one(in_week(start.date(), days.first.weekday()), How::Day)
    } else {
        days
    }
}

/// `The 8th` is the one of the event's own month, or of the next where that is over, and not the next that comes. Where
/// another one is nearer to the event it has to be asked.
pub(super) fn settle_nth(new: &Said, start: DateTime, today: Date, changed: &mut Changed) -> Said {
    let mut new = new.clone();
    if new.days.iter().any(|days| !days.is_one()) {
        return new;
    }
    for days in new.days.iter_mut().filter(|days| days.how == How::Nth) {
        let dates = nth_around(days.first.day(), start.date(), today);
        let nearest = dates.iter().min_by_key(|date| (start.date() - **date).get_days().abs());
        let (Some(first), Some(nearest)) = (dates.first(), nearest) else { continue };
        *days = Days::one(*first, How::Nth);
        if first != nearest {
            let question = format!("Is it {}, or {}?", written(*first), written(*nearest));
            changed.doubts.push(Doubt::new(Part::Date, question));
            changed.is_open = true;
        }
    }
    new
}

/// A day of the week is the next one that comes, but for an event of a later week the one of that week is as likely.
fn which_week(reading: &Reading<'_>, days: &Days, start: DateTime) -> Option<String> {
    let today = reading.wall(None).today_or_later(days, None);
    let other = in_week(start.date(), days.first.weekday());
    let is_later = days.how == How::Weekday && other > days.first;
    today.or_else(|| is_later.then(|| format!("Is it {}, or {}?", written(days.first), written(other))))
}

/// The minute of the day; in doubt it stays in its half of the day.
fn settle(wall: &Wall<'_>, clock: Clock, start: DateTime) -> i32 {
    let settled = clock.settle(wall.hint, wall.preferences);
    let hint = if start.hour() < 12 { Hint::Morning } else { Hint::Later };
    if settled.is_doubtful { clock.settle(Some(hint), wall.preferences).minute } else { settled.minute }
}

/// `Move soccer from 2 to 4`: the first is when it was.
fn is_old_time(reading: &Reading<'_>, new: &Said, start: DateTime) -> bool {
    let Some(TimeSaid::Range(from, _)) = new.time else { return false };
    let minute = i32::from(start.hour()) * 60 + i32::from(start.minute());
    from.settle(None, reading.preferences).minute == minute
}

fn minutes_between(from: DateTime, to: DateTime) -> i64 {
    from.until((jiff::Unit::Minute, to)).map_or(60, |span| span.get_minutes())
}
