//! Describes recurrence rules (RFC 5545) in words. The page has the same texts, in `recurrence-text.ts`.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::format;
use crate::calendar::rule_parts;

const WEEKDAYS: [(&str, &str); 7] = [
    ("MO", "Monday"),
    ("TU", "Tuesday"),
    ("WE", "Wednesday"),
    ("TH", "Thursday"),
    ("FR", "Friday"),
    ("SA", "Saturday"),
    ("SU", "Sunday"),
];

/// Parts of a rule that have a description.
const DESCRIBED: [&str; 7] = ["FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "COUNT", "UNTIL", "WKST"];

/// Describes a rule: `FREQ=WEEKLY;BYDAY=TU` is `every Tuesday`. Returns `None` for an invalid rule, and for one with
/// parts that have no description.
pub(crate) fn describe_rule(rule: &str) -> Option<String> {
    let parts: BTreeMap<String, String> = rule_parts(rule).ok()?.into_iter().collect();
    if parts.keys().any(|name| !DESCRIBED.contains(&name.as_str())) {
        return None;
    }
    let frequency = describe_frequency(&parts)?;
    Some(match describe_end(&parts)? {
        end if end.is_empty() => frequency,
        end => format!("{frequency}, {end}"),
    })
}

fn describe_frequency(parts: &BTreeMap<String, String>) -> Option<String> {
    let frequency = parts.get("FREQ")?.as_str();
    let unit = match frequency {
        "DAILY" => "day",
        "WEEKLY" => "week",
        "MONTHLY" => "month",
        "YEARLY" => "year",
        _ => return None,
    };
    let interval: u32 = parts.get("INTERVAL").map_or(Some(1), |interval| interval.parse().ok())?;
    let by_day = parts.get("BYDAY").map_or("", String::as_str);
    let days: Vec<String> = by_day.split(',').filter(|day| !day.is_empty()).map(describe_day).collect::<Option<_>>()?;
    if interval == 1 && by_day == "MO,TU,WE,TH,FR" && matches!(frequency, "DAILY" | "WEEKLY") {
        return Some("every weekday".to_owned());
    }
    if interval == 1 && !days.is_empty() && frequency == "WEEKLY" {
        return Some(format!("every {}", format::join_list(&days)));
    }
    let every = match interval {
        1 => format!("every {unit}"),
        2 => format!("every other {unit}"),
        many => format!("every {many} {unit}s"),
    };
    let month_days = parts.get("BYMONTHDAY").map_or("", String::as_str);
    let month_days: Vec<String> =
        month_days.split(',').filter(|day| !day.is_empty()).map(describe_month_day).collect::<Option<_>>()?;
    Some(match (days.is_empty(), month_days.is_empty()) {
        (true, true) => every,
        (false, true) => format!("{every} on {}", format::join_list(&days)),
        (true, false) => format!("{every} on the {}", format::join_list(&month_days)),
        (false, false) => return None,
    })
}

/// Describes the end of a rule; empty if the rule has no end.
fn describe_end(parts: &BTreeMap<String, String>) -> Option<String> {
    if let Some(count) = parts.get("COUNT") {
        return Some(format::pluralize(count.parse().ok()?, "time"));
    }
    let Some(until) = parts.get("UNTIL") else { return Some(String::new()) };
    let date = Date::strptime("%Y%m%d", until.get(..8)?).ok()?;
    Some(format!("until {} {}", format::format_date(date), date.year()))
}

/// Describes an element of BYDAY: `TU` is `Tuesday`, `2TU` is `the second Tuesday`.
fn describe_day(code: &str) -> Option<String> {
    let (number, code) = code.split_at_checked(code.len().checked_sub(2)?)?;
    let (_, name) = WEEKDAYS.into_iter().find(|(weekday, _)| *weekday == code)?;
    Some(match number.trim_start_matches('+') {
        "" => name.to_owned(),
        "1" => format!("the first {name}"),
        "2" => format!("the second {name}"),
        "3" => format!("the third {name}"),
        "4" => format!("the fourth {name}"),
        "5" => format!("the fifth {name}"),
        "-1" => format!("the last {name}"),
        _ => return None,
    })
}

/// Describes an element of BYMONTHDAY: `2` is `2nd`, `-1` is `last day`.
fn describe_month_day(number: &str) -> Option<String> {
    let day: i8 = number.parse().ok()?;
    Some(match day {
        -1 => "last day".to_owned(),
        1 | 21 | 31 => format!("{day}st"),
        2 | 22 => format!("{day}nd"),
        3 | 23 => format!("{day}rd"),
        1..=31 => format!("{day}th"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FAM-110: a recurrence that the user is asked about is described in words.
    #[test]
    fn rules_are_described_in_words() {
        for (rule, expected) in [
            ("FREQ=DAILY", Some("every day")),
            ("RRULE:FREQ=WEEKLY;BYDAY=TU", Some("every Tuesday")),
            ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", Some("every weekday")),
            ("FREQ=WEEKLY;BYDAY=TU,TH;COUNT=6", Some("every Tuesday and Thursday, 6 times")),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SA", Some("every other week on Saturday")),
            ("FREQ=MONTHLY;BYDAY=-1FR", Some("every month on the last Friday")),
            ("FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=2,-1", Some("every 3 months on the 2nd and last day")),
            ("FREQ=YEARLY;UNTIL=20270301T000000Z", Some("every year, until Monday 1 March 2027")),
            ("FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1", None),
            ("FREQ=HOURLY", None),
            ("weekly", None),
        ] {
            assert_eq!(describe_rule(rule).as_deref(), expected, "{rule}");
        }
    }
}
