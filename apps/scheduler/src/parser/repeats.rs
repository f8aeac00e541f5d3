//! How something repeats: `every other Thursday`, `monthly on the 15th`, `10 times`, `until June`.

use jiff::civil::{Date, DateTime, Weekday, time};
use superstep::Result;

use super::days::{Days, plus};
use super::lengths::Length;
use super::reader::{Finding, Value};
use super::sense::{RepeatSense, Sense, Unit};
use crate::zone::Zone;

/// A rule as it was said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Repeat {
    unit: Unit,
    interval: u32,
    weekdays: Vec<Weekday>,
    /// Which such weekday of a month; -1 is the last.
    place: Option<i8>,
    month_day: Option<i8>,
    month: Option<i8>,
    count: Option<u32>,
    until: Option<Until>,
}

#[derive(Debug, Clone, PartialEq)]
enum Until {
    Day(Date),
    /// So long after the first one.
    Long(Length),
    /// Before this month begins.
    Month(i8),
    /// Before the month after this one begins.
    MonthEnd(i8),
}

impl Repeat {
    /// What the findings say together.
    pub(super) fn of(findings: &[Finding]) -> Option<Self> {
        let mut rules = findings.iter().filter_map(|finding| match finding.sense {
            Sense::Repeat(sense) => rule(sense, &finding.values),
            Sense::RepeatPart(..) if finding.values.is_empty() => rule(RepeatSense::Every(1, Unit::Day), &[]),
            Sense::RepeatPart(..) => rule(RepeatSense::Days(1), &finding.values),
            _ => None,
        });
        let mut repeat = rules.next()?;
        for other in rules {
            repeat.join(other);
        }
        for finding in findings {
            repeat.end(finding);
        }
        Some(repeat)
    }

    /// `weekly` and `Mondays` are one rule.
    fn join(&mut self, other: Self) {
        self.interval = self.interval.max(other.interval);
        self.weekdays.extend(other.weekdays);
        self.place = self.place.or(other.place);
        self.month_day = self.month_day.or(other.month_day);
    }

    fn end(&mut self, finding: &Finding) {
        match (finding.sense, finding.values.as_slice()) {
            (Sense::Times, [Value::Number(count)]) if *count > 0 => self.count = Some(*count),
            (Sense::UntilDate, [Value::Days(days)]) => self.until = Some(Until::Day(plus(days.end, -1))),
            (Sense::UntilMonth, [Value::Month(month)]) => self.until = Some(Until::Month(*month)),
            (Sense::UntilMonthEnd, [Value::Month(month)]) => self.until = Some(Until::MonthEnd(*month)),
            (Sense::Length, [Value::Length(length)]) if length.days > 0 || length.months > 0 => {
                let count = self.times_in(*length);
                self.until = self.until.take().or_else(|| count.is_none().then_some(Until::Long(*length)));
                self.count = self.count.or(count);
            }
            _ => {}
        }
    }

    /// How often it is in some days: `for 6 weeks`. Months are not equally long, so that they say until when.
    fn times_in(&self, length: Length) -> Option<u32> {
        let days = u32::try_from(length.days).ok().filter(|days| *days > 0 && length.months == 0)?;
        match self.unit {
            Unit::Day => Some((days / self.interval).max(1)),
            Unit::Week => {
                let a_week = u32::try_from(self.weekdays.len().max(1)).ok()?;
                Some((days / 7 / self.interval).max(1) * a_week)
            }
            _ => None,
        }
    }

    /// A weekly rule without a day is on the day that was said.
    pub(super) fn on_day_said(&mut self, days: Option<&Days>) {
        if let Some(days) = days.filter(|days| days.is_one())
            && self.unit == Unit::Week
            && self.weekdays.is_empty()
        {
            self.weekdays.push(days.first.weekday());
        }
        self.weekdays.sort_by_key(|day| day.to_monday_one_offset());
        self.weekdays.dedup();
    }

    /// The first day from one on.
    pub(super) fn first(&self, from: Date) -> Option<Date> {
        // A leap day comes at least every eight years.
        (0..366 * 8).map(|days| plus(from, days)).find(|date| self.is_on(*date))
    }

    fn is_on(&self, date: Date) -> bool {
        let is_month = self.month.is_none_or(|month| date.month() == month);
        let is_day = self.month_day.is_none_or(|day| date.day() == day);
        let is_weekday = self.weekdays.is_empty() || self.weekdays.contains(&date.weekday());
        let is_place = self
            .place
            .is_none_or(|place| date.nth_weekday_of_month(place, date.weekday()).is_ok_and(|nth| nth == date));
        is_month && is_day && is_weekday && is_place
    }

    /// The value of RRULE for a series that starts then.
    ///
    /// # Errors
    /// When its end is beyond the years that can be written.
    pub(super) fn written(&self, start: Date, zone: &Zone) -> Result<String> {
        let unit = match self.unit {
            Unit::Week => "WEEKLY",
            Unit::Month => "MONTHLY",
            Unit::Year => "YEARLY",
            Unit::Minute | Unit::Hour | Unit::Day => "DAILY",
        };
        let mut parts = vec![format!("FREQ={unit}")];
        if self.interval > 1 {
            parts.push(format!("INTERVAL={}", self.interval));
        }
        parts.extend(self.month.map(|month| format!("BYMONTH={month}")));
        if !self.weekdays.is_empty() {
            let place = self.place.map(|place| place.to_string()).unwrap_or_default();
            let days: Vec<String> = self.weekdays.iter().map(|day| format!("{place}{}", short(*day))).collect();
            parts.push(format!("BYDAY={}", days.join(",")));
        }
        parts.extend(self.month_day.map(|day| format!("BYMONTHDAY={day}")));
        parts.extend(self.count.map(|count| format!("COUNT={count}")));
        if let Some(last) = self.until.as_ref().filter(|_| self.count.is_none()).and_then(|until| until.last(start)) {
            let end = Zone::named("UTC")?.wall(zone.instant(last)?);
            parts.push(format!("UNTIL={}", end.strftime("%Y%m%dT%H%M%SZ")));
        }
        Ok(parts.join(";"))
    }
}

impl Until {
    /// The last moment, on the wall.
    fn last(&self, start: Date) -> Option<DateTime> {
        let next = |month: i8| Date::new(start.year() + i16::from(month <= start.month()), month, 1).ok();
        let day = match self {
            Self::Day(day) => *day,
            Self::Long(length) => plus(length.from(start.into(), true).date(), -1),
            Self::Month(month) => plus(next(*month)?, -1),
            Self::MonthEnd(month) => plus(next(month % 12 + 1)?, -1),
        };
        Some(day.to_datetime(time(23, 59, 59, 0)))
    }
}

fn rule(sense: RepeatSense, values: &[Value]) -> Option<Repeat> {
    use Weekday::{Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};
    let every = |interval: u32, unit: Unit| Repeat {
        unit,
        interval,
        weekdays: Vec::new(),
        place: None,
        month_day: None,
        month: None,
        count: None,
        until: None,
    };
    let on =
        |interval: u32, weekdays: &[Weekday]| Repeat { weekdays: weekdays.to_vec(), ..every(interval, Unit::Week) };
    let few = |number: u32, unit: Unit| {
        ((1..=366).contains(&number) && !matches!(unit, Unit::Minute | Unit::Hour)).then(|| every(number, unit))
    };
    let small = |number: u32| i8::try_from(number).ok();
    match (sense, values) {
        (RepeatSense::Days(weeks), [Value::Weekdays(days)]) => Some(on(weeks, days)),
        (RepeatSense::WeeksOn, [Value::Number(weeks), Value::Weekdays(days)]) if (1..=52).contains(weeks) => {
            Some(on(*weeks, days))
        }
        (RepeatSense::Every(number, unit), _) => Some(every(number, unit)),
        (RepeatSense::EveryFew, [Value::Number(number), Value::Unit(unit)]) => few(*number, *unit),
        (RepeatSense::Other, [Value::Unit(unit)]) => few(2, *unit),
        (RepeatSense::Workdays, _) => Some(on(1, &[Monday, Tuesday, Wednesday, Thursday, Friday])),
        (RepeatSense::Weekends, _) => Some(on(1, &[Saturday, Sunday])),
        (RepeatSense::MonthDay, [Value::Nth(day)]) => {
            Some(Repeat { month_day: Some(small(*day)?), ..every(1, Unit::Month) })
        }
        (RepeatSense::NthWeekday, [Value::Nth(nth), Value::Weekdays(days)]) => {
            Some(Repeat { place: Some(small(*nth)?), weekdays: days.clone(), ..every(1, Unit::Month) })
        }
        (RepeatSense::Place(place), [Value::Weekdays(days)]) => {
            Some(Repeat { place: Some(place), weekdays: days.clone(), ..every(1, Unit::Month) })
        }
        (RepeatSense::Except, [Value::Weekdays(days)]) => {
            let all = [Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday];
            let others: Vec<Weekday> = all.into_iter().filter(|day| !days.contains(day)).collect();
            Some(on(1, &others)).filter(|_| !others.is_empty())
        }
        (RepeatSense::YearDay, [Value::Month(month), Value::Nth(day)]) => {
            Some(Repeat { month: Some(*month), month_day: Some(small(*day)?), ..every(1, Unit::Year) })
        }
        _ => None,
    }
}

fn short(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}
