//! Rows of a query as a sentence or a table.

use jiff::ToSpan;
use jiff::civil::Date;
use serde_json::Value;

use super::super::query::{Form, Query, Shape};
use super::numbers::{grouped, written};
use crate::prompt::Ask;

/// The most rows of a table that are shown, and of a short answer.
const ROWS: (usize, usize) = (30, 10);
/// How many days at an end of a period may have nothing.
const FEW_DAYS: i64 = 7;

/// What the rows say; nothing where they are empty.
pub(super) fn told(query: Option<&Query>, value: &Value, number: usize, ask: &Ask) -> Option<String> {
    let rows: Vec<&Vec<Value>> = value["rows"].as_array()?.iter().filter_map(Value::as_array).collect();
    if rows.iter().all(|row| row.iter().all(Value::is_null)) {
        return None;
    }
    let names: Vec<String> =
        value["columns"].as_array()?.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect();
    let is_imperial = ask.preferences["units"] == "imperial";
    let form = |column: usize| match query {
        Some(query) => query.columns.get(column).map_or(Form::Plain, |shown| shown.form),
        None => Form::Plain,
    };
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().enumerate().map(|(column, cell)| written(cell, form(column), is_imperial)).collect())
        .collect();
    let (cells, same) = without_more(query, cells);
    let about = query.map(Query::limits_in_words).unwrap_or_default();
    let table =
        || Table { names: &names, cells: &cells, number, most: shown_rows(ask), is_cut: value["truncated"] == true };
    let told = match (query.map(|query| query.shape), cells.as_slice(), names.as_slice()) {
        (Some(Shape::Number), [row], [name]) => format!("The {name}{about} is {} [{number}].", row[0]),
        (None, [row], [name]) => format!("{name}: {} [{number}]", row[0]),
        (Some(Shape::List | Shape::Ranking), [row], [_, name]) => {
            let is_number = row[0].chars().all(|letter| letter.is_ascii_digit());
            let kind = if is_number { format!("{} ", names[0]) } else { String::new() };
            format!("{kind}{}: {name} {} [{number}].", row[0], row[1])
        }
        (Some(Shape::Comparison), [first, second], _) => {
            format!("{}{about}.\n\n{}", ahead(first, second, &names), table().markdown())
        }
        (Some(shape), ..) => format!("{}:\n\n{}", title(shape, &names, &about, query), table().markdown()),
        (None, ..) => table().markdown(),
    };
    Some(format!("{told}{same}"))
}

/// The rows that are wanted, and whether the next is as good as the last of them.
fn without_more(query: Option<&Query>, mut cells: Vec<Vec<String>>) -> (Vec<Vec<String>>, &'static str) {
    let Some((limit, ranked)) = query.and_then(|query| Some((query.limit?, query.ranked?))) else { return (cells, "") };
    let is_same = limit > 0
        && match (cells.get(limit - 1), cells.get(limit)) {
            (Some(last), Some(next)) => last.get(ranked) == next.get(ranked),
            _ => false,
        };
    cells.truncate(limit);
    (cells, if is_same { " At least one more has the same." } else { "" })
}

fn shown_rows(ask: &Ask) -> usize {
    if ask.preferences["length"] == "short" { ROWS.1 } else { ROWS.0 }
}

/// Which of two has more.
fn ahead(first: &[String], second: &[String], names: &[String]) -> String {
    let (Some(one), Some(two), Some(what)) = (first.last(), second.last(), names.last()) else { return String::new() };
    match one == two {
        true => format!("{} and {} are equal: {what} {one}", first[0], second[0]),
        false => format!("{} is ahead of {}: {what} {one} against {two}", first[0], second[0]),
    }
}

fn title(shape: Shape, names: &[String], about: &str, query: Option<&Query>) -> String {
    let ranked = query.and_then(|query| query.ranked).and_then(|place| names.get(place));
    let last = ranked.or(names.last()).map(String::as_str).unwrap_or_default();
    let table = query.map(|query| query.table.replace('_', " ")).unwrap_or_default();
    let first = names.first().map(String::as_str).unwrap_or_default();
    match shape {
        Shape::Trend => format!("The {last} by {first}{about}"),
        Shape::Ranking if names.len() > 1 => format!("By {last}{about}"),
        Shape::Comparison => format!("The {last} by {first}{about}"),
        _ => format!("These {table} were found{about}"),
    }
}

struct Table<'a> {
    names: &'a [String],
    cells: &'a [Vec<String>],
    number: usize,
    most: usize,
    is_cut: bool,
}

impl Table<'_> {
    /// One column as a list, several as a table; the reference stands behind it.
    fn markdown(&self) -> String {
        let shown = &self.cells[..self.cells.len().min(self.most)];
        let lines: Vec<String> = match self.names {
            [_] => shown.iter().map(|row| format!("- {}", row.join(" "))).collect(),
            names => {
                let head = [format!("| {} |", names.join(" | ")), format!("|{}", "---|".repeat(names.len()))];
                let rows = shown.iter().map(|row| format!("| {} |", row.join(" | ")));
                head.into_iter().chain(rows).collect()
            }
        };
        let hidden = self.cells.len() - shown.len();
        let more = match (hidden, self.is_cut) {
            (0, false) => String::new(),
            (0, true) => " There are more rows.".to_owned(),
            (hidden, _) => format!(" {} more rows are not shown.", grouped(&hidden.to_string())),
        };
        format!("{}\n\n[{}]{more}", lines.join("\n"), self.number)
    }
}

/// Which of the days that are asked about the data does not have, where they are past.
pub(super) fn told_gap(asked: &Query, value: &Value, number: usize, today: &str) -> Option<String> {
    let (first, last) = range(value)?;
    let (period, _) = asked.period.as_ref()?;
    let [has_from, has_to, today] = [first, last, today].map(|day| day.parse::<Date>().ok());
    let (has_from, has_to, end) = (has_from?, has_to?, period.to.yesterday().ok()?);
    // A few days without anything are no gap.
    let lacks_start = period.from.saturating_add(FEW_DAYS.days()) < has_from && period.from.year() > 1;
    let lacks_end = end > has_to.saturating_add(FEW_DAYS.days()) && today.is_some_and(|today| end < today);
    let lacks = lacks_start || lacks_end;
    lacks.then(|| format!("Note: the data runs from {first} to {last} only [{number}]."))
}

fn range(value: &Value) -> Option<(&str, &str)> {
    let row = value["rows"].as_array()?.first()?.as_array()?;
    Some((row.first()?.as_str()?, row.get(1)?.as_str()?))
}

/// Why nothing was found: the data has other days, or there is none.
pub(super) fn told_range(asked: &Query, value: &Value, number: usize) -> Option<String> {
    let (first, last) = range(value)?;
    let (period, place) = asked.period.as_ref()?;
    let what = asked.table.replace('_', " ");
    if period.to.to_string().as_str() <= first || period.from.to_string().as_str() > last {
        let told = place.spoken();
        return Some(format!("I do not know: the data has {what} {told} from {first} to {last} only [{number}]."));
    }
    let name = asked.columns.last().map(|shown| shown.name.clone()).unwrap_or_default();
    let about = asked.limits_in_words();
    Some(match asked.shape {
        Shape::Number => format!("The {name}{about} is 0; the data runs from {first} to {last} [{number}]."),
        _ => format!("There are no {what}{about}; the data runs from {first} to {last} [{number}]."),
    })
}
