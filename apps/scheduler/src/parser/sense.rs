//! What the patterns of a language mean. Languages differ in words and in their order, not in what can be meant.

use crate::calendar::{Flexibility, Priority};
use crate::models::EventType;

use super::Scope;

/// What a whole phrase means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sense {
    /// `{date}`.
    Date,
    /// From `{date}` to `{date}`.
    DateRange,
    /// From `{nth}` to `{nth}` of `{month}`.
    DayRange,
    /// `{dur}` after `{date}`.
    DateAhead,
    /// From `{date}` on.
    DateOn,
    /// After `{date}` or `{month}`.
    DateAfter,
    /// `{date}` at a part of the day, in hours.
    DatePart(i8, i8),
    /// Today at a part of the day, in hours.
    TodayPart(i8, i8),
    /// A part of the day, in hours.
    Part(i8, i8),
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
    /// As long as `{dur}`.
    Length,
    /// Later by `{dur}`.
    Later,
    /// Earlier by `{dur}`.
    Earlier,
    /// By `{dur}`, in the direction of the verb.
    By,
    /// Again and again.
    Repeat(RepeatSense),
    /// On `{days}`, or every day, at a part of the day, in hours.
    RepeatPart(i8, i8),
    /// Again and again, but how often has to be asked: `every third Monday`.
    Unclear,
    /// `{n}` times.
    Times,
    /// Until `{date}`.
    UntilDate,
    /// Until `{month}` begins.
    UntilMonth,
    /// Until `{month}` ends.
    UntilMonthEnd,
    /// How much it matters.
    Matters(Priority),
    /// How far it may be moved.
    Moves(Flexibility),
    /// Which of a series.
    Which(Scope),
    /// Means nothing.
    Filler,
}

/// What days a phrase means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateSense {
    /// So many days from today.
    Offset(i32),
    /// The next `{weekday}` that comes.
    Weekday,
    /// `{weekday}` of the days from today on.
    ThisWeekday,
    /// `{weekday}` of the following week.
    NextWeekday,
    /// The `{weekday}` that was.
    LastWeekday,
    /// The weekend of the week that is so many weeks ahead.
    Weekend(i32),
    /// The week that is so many weeks ahead.
    Week(i32),
    /// The month that is so many months ahead.
    Month(i32),
    /// In `{n}` `{unit}`.
    Ahead,
    /// A week after the next `{weekday}`.
    WeekAfter,
    /// `{month}` `{nth}`, perhaps `{year}`.
    MonthDay,
    /// `{nth}` `{month}`, perhaps `{year}`.
    DayMonth,
    /// The `{nth}` of this month or the next.
    Nth,
    /// All of `{month}`.
    InMonth,
    /// A day that has a name, of a month and a number.
    Feast(i8, i8),
    /// The `{place}` `{weekday}` of `{month}`, perhaps `{year}`.
    PlaceOf,
    /// The last `{weekday}` of `{month}`, perhaps `{year}`.
    LastOf,
    /// The `{place}` `{weekday}` of the month that is so many months ahead.
    PlaceAhead(i32),
    /// The last `{weekday}` of the month that is so many months ahead.
    LastAhead(i32),
    /// Digits that say it all.
    Digits,
}

/// What time of the day a phrase means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockSense {
    /// In the first half of the day.
    Am,
    /// In the second half.
    Pm,
    /// In either.
    Open,
    /// On a clock of 24 hours.
    Whole,
    /// Twelve o'clock in the middle of the day.
    Noon,
    /// Twelve o'clock at night.
    Midnight,
    /// So many minutes past `{n}`.
    Past(u32),
    /// So many minutes to `{n}`.
    To(u32),
    /// `{n}` minutes past `{n}`.
    MinutesPast,
    /// `{n}` minutes to `{n}`.
    MinutesTo,
    /// `{n}` hours, `{n}` minutes, on a clock of 24 hours.
    HourMinutes,
    /// `{n}` hours, `{minutes}` minutes, in either half of the day.
    Spoken,
    /// As somebody calls it in their preferences.
    Named(&'static str),
}

/// What length a phrase means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LengthSense {
    /// `{amount}` `{unit}`.
    Plain,
    /// So many minutes.
    Minutes(i64),
    /// `{amount}` and a half `{unit}`.
    AndHalf,
    /// `{amount}` `{unit}` and `{amount}` `{unit}`.
    Both,
}

/// How something repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatSense {
    /// On `{days}`, every so many weeks.
    Days(u32),
    /// Every `{n}` weeks on `{days}`.
    WeeksOn,
    /// Every so many of a unit.
    Every(u32, Unit),
    /// Every `{n}` `{unit}`.
    EveryFew,
    /// Every other `{unit}`.
    Other,
    /// From Monday to Friday.
    Workdays,
    /// On Saturday and Sunday.
    Weekends,
    /// On the `{nth}` of a month.
    MonthDay,
    /// On the `{nth}` `{weekday}` of a month.
    NthWeekday,
    /// On such a `{weekday}` of a month; -1 is the last.
    Place(i8),
    /// On all days but `{days}`.
    Except,
    /// On `{month}` `{nth}` of a year.
    YearDay,
}

/// A measure of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// A verb of asking for something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Verb {
    /// Its words.
    pub(super) words: &'static str,
    /// A word that must come later in the sentence; empty for none.
    pub(super) tail: &'static str,
    /// What it asks for.
    pub(super) intent: EventType,
    /// What more it says.
    pub(super) way: Way,
}

/// What more a verb says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Nothing.
    Plain,
    /// Later rather than earlier.
    Later,
    /// Earlier.
    Earlier,
    /// It takes longer.
    Longer,
    /// It takes less long.
    Shorter,
    /// It gets another name.
    Rename,
    /// Somebody or something comes to it, or is added.
    Add,
    /// Somebody or something leaves it, or it is removed.
    Remove,
    /// It may as well be the beginning of a title: `make pancakes`.
    Weak,
}

/// The half of the day of a time that people say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Am,
    Pm,
    /// Not said; a clock of 24 hours leaves no doubt unless other words do.
    Whole,
    /// Not said.
    Open,
}
