//! Meanings of the phrase patterns. Languages differ in words and word order, but share these meanings.

use crate::calendar::{Flexibility, Priority};
use crate::models::EventType;

use super::SeriesScope;

/// Meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PhraseMeaning {
    /// `{date}`.
    Date,
    /// From `{date}` to `{date}`.
    DateRange,
    /// From `{nth}` to `{nth}` of `{month}`.
    DayRange,
    /// `{dur}` after `{date}`.
    DateOffset,
    /// From `{date}` on.
    DateOn,
    /// After `{date}` or `{month}`.
    DateAfter,
    /// `{date}` and a part of the day, in hours.
    DatePart(i8, i8),
    /// Today and a part of the day, in hours.
    TodayPart(i8, i8),
    /// A part of the day, in hours.
    PartOfDay(i8, i8),
    /// At `{t}`.
    At,
    /// `{n}` minutes before `{hour}`.
    AtBefore,
    /// From `{t}` to `{t}`.
    Range,
    /// Until `{t}`.
    Until,
    /// After `{t}`.
    After,
    /// Before `{t}`.
    Before,
    /// The whole day.
    AllDay,
    /// A duration of `{dur}`.
    Length,
    /// Later by `{dur}`.
    Later,
    /// Earlier by `{dur}`.
    Earlier,
    /// By `{dur}`, in the direction of the verb.
    By,
    /// A recurrence.
    Repeat(RecurrenceMeaning),
    /// A recurrence on `{days}`, or every day, at a part of the day, in hours.
    RepeatPart(i8, i8),
    /// A recurrence whose frequency is ambiguous: `every third Monday`.
    Unclear,
    /// `{n}` times.
    Times,
    /// Until `{date}`.
    UntilDate,
    /// Until `{month}` begins.
    UntilMonth,
    /// Until `{month}` ends.
    UntilMonthEnd,
    /// Priority of the event.
    Priority(Priority),
    /// Flexibility of the event.
    Flexibility(Flexibility),
    /// Selected instances of a series.
    Scope(SeriesScope),
    /// No meaning.
    Filler,
}

/// Meaning of a date expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateMeaning {
    /// Number of days from today.
    Offset(i32),
    /// The next `{weekday}`.
    Weekday,
    /// The first `{weekday}` from today on.
    ThisWeekday,
    /// `{weekday}` of the following week.
    NextWeekday,
    /// The previous `{weekday}`.
    LastWeekday,
    /// The weekend, this number of weeks ahead.
    Weekend(i32),
    /// The week, this number of weeks ahead.
    Week(i32),
    /// The month, this number of months ahead.
    Month(i32),
    /// In `{n}` `{unit}`.
    InUnits,
    /// One week after the next `{weekday}`.
    WeekAfter,
    /// `{month}` `{nth}`, optionally `{year}`.
    MonthDay,
    /// `{nth}` `{month}`, optionally `{year}`.
    DayMonth,
    /// The `{nth}` of this month or the next.
    Nth,
    /// The whole of `{month}`.
    InMonth,
    /// A named day, by month and day.
    Holiday(i8, i8),
    /// The `{weekday_ordinal}` `{weekday}` of `{month}`, optionally `{year}`.
    OrdinalOf,
    /// The last `{weekday}` of `{month}`, optionally `{year}`.
    LastOf,
    /// The `{weekday_ordinal}` `{weekday}` of the month, this number of months ahead.
    OrdinalAhead(i32),
    /// The last `{weekday}` of the month, this number of months ahead.
    LastAhead(i32),
    /// A date in digits.
    Digits,
}

/// Meaning of a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockMeaning {
    /// Before noon.
    Am,
    /// After noon.
    Pm,
    /// Before or after noon.
    Open,
    /// In the 24-hour clock.
    TwentyFourHour,
    /// Noon.
    Noon,
    /// Midnight.
    Midnight,
    /// This number of minutes past `{n}`.
    Past(u32),
    /// This number of minutes to `{n}`.
    To(u32),
    /// `{n}` minutes past `{n}`.
    MinutesPast,
    /// `{n}` minutes to `{n}`.
    MinutesTo,
    /// `{n}` hours, `{n}` minutes, in the 24-hour clock.
    HourMinutes,
    /// `{n}` hours, `{minutes}` minutes, before or after noon.
    TwelveHourMinutes,
    /// A named time of the preferences of a member.
    Named(&'static str),
}

/// Meaning of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DurationMeaning {
    /// `{amount}` `{unit}`.
    Plain,
    /// A fixed number of minutes.
    Minutes(i64),
    /// `{amount}` and a half `{unit}`.
    AndHalf,
    /// `{amount}` `{unit}` and `{amount}` `{unit}`.
    Both,
}

/// Meaning of a recurrence phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecurrenceMeaning {
    /// On `{days}`, every this number of weeks.
    Days(u32),
    /// Every `{n}` weeks on `{days}`.
    WeeksOn,
    /// A fixed interval.
    Every(u32, TimeUnit),
    /// Every `{n}` `{unit}`.
    EveryFew,
    /// Every other `{unit}`.
    Other,
    /// Monday to Friday.
    Workdays,
    /// Saturday and Sunday.
    Weekends,
    /// On the `{nth}` of a month.
    MonthDay,
    /// On the `{nth}` `{weekday}` of a month.
    NthWeekday,
    /// On this ordinal of `{weekday}` in a month; -1 is the last.
    Ordinal(i8),
    /// On all days except `{days}`.
    Except,
    /// On `{month}` `{nth}` of a year.
    YearDay,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// A verb of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Verb {
    /// Pattern of the verb.
    pub(super) words: &'static str,
    /// Word that must follow later in the sentence; empty for none.
    pub(super) tail: &'static str,
    /// Intent of the verb.
    pub(super) intent: EventType,
    /// Modifier of the intent.
    pub(super) modifier: VerbModifier,
}

/// Modifier of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VerbModifier {
    /// No modifier.
    Plain,
    /// To a later time.
    Later,
    /// To an earlier time.
    Earlier,
    /// Extends the event.
    Longer,
    /// Shortens the event.
    Shorter,
    /// Changes the title.
    Rename,
    /// Adds a participant, a resource or an event.
    Add,
    /// Removes a participant, a resource or an event.
    Remove,
    /// May also be the beginning of a title: `make pancakes`.
    Weak,
}

/// Half of the day of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DayHalf {
    Am,
    Pm,
    /// Not given. The time is in the 24-hour clock, unless other words imply a half.
    TwentyFourHour,
    /// Not given.
    Open,
}
