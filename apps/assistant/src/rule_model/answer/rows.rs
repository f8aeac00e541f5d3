//! Formatting of query rows as a sentence or a table.

use jiff::ToSpan;
use jiff::civil::Date;
use serde_json::Value;

use super::super::sql_query::{ResultShape, SqlQuery, ValueFormat};
use super::numbers::{format_value, grouped};
use crate::prompt::TaskPrompt;

/// Maximum number of rows in a table, normally and for short answers.
const MAX_ROWS: (usize, usize) = (30, 10);
/// Maximum number of days without data at either end of a period that are not reported as a gap.
const MAX_UNREPORTED_DAYS: i64 = 7;

/// Describes the rows; `None` if they are empty.
pub(super) fn describe_rows(
    query: Option<&SqlQuery>,
    value: &Value,
    number: usize,
    prompt: &TaskPrompt,
) -> Option<String> {
    let rows: Vec<&Vec<Value>> = value["rows"].as_array()?.iter().filter_map(Value::as_array).collect();
    if rows.iter().all(|row| row.iter().all(Value::is_null)) {
        return None;
    }
    let names: Vec<String> =
        value["columns"].as_array()?.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect();
    let is_imperial = prompt.preferences["units"] == "imperial";
    let form = |column: usize| match query {
        Some(query) => query.columns.get(column).map_or(ValueFormat::Plain, |selected| selected.form),
        None => ValueFormat::Plain,
    };
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().enumerate().map(|(column, cell)| format_value(cell, form(column), is_imperial)).collect())
        .collect();
    let (cells, tie_note) = drop_extra_row(query, cells);
    let filters = query.map(SqlQuery::describe_filters).unwrap_or_default();
    let table = || MarkdownTable {
        names: &names,
        cells: &cells,
        number,
        max_rows: max_rows(prompt),
        is_cut: value["truncated"] == true,
    };
    let text = match (query.map(|query| query.shape), cells.as_slice(), names.as_slice()) {
        (Some(ResultShape::Number), [row], [name]) => format!("The {name}{filters} is {} [{number}].", row[0]),
        (None, [row], [name]) => format!("{name}: {} [{number}]", row[0]),
        (Some(ResultShape::List | ResultShape::Ranking), [row], [_, name]) => {
            let is_number = row[0].chars().all(|letter| letter.is_ascii_digit());
            let kind = if is_number { format!("{} ", names[0]) } else { String::new() };
            format!("{kind}{}: {name} {} [{number}].", row[0], row[1])
        }
        (Some(ResultShape::Comparison), [first, second], _) => {
            format!("{}{filters}.\n\n{}", describe_leader(first, second, &names), table().markdown())
        }
        (Some(shape), ..) => format!("{}:\n\n{}", title(shape, &names, &filters, query), table().markdown()),
        (None, ..) => table().markdown(),
    };
    Some(format!("{text}{tie_note}"))
}

/// Drops the extra row of a ranking and returns a note if that row ties with the last one.
fn drop_extra_row(query: Option<&SqlQuery>, mut cells: Vec<Vec<String>>) -> (Vec<Vec<String>>, &'static str) {
    let Some((limit, ranked)) = query.and_then(|query| Some((query.limit?, query.ranked?))) else { return (cells, "") };
    let is_tie = limit > 0
        && match (cells.get(limit - 1), cells.get(limit)) {
            (Some(last), Some(next)) => last.get(ranked) == next.get(ranked),
            _ => false,
        };
    cells.truncate(limit);
    (cells, if is_tie { " At least one more has the same value." } else { "" })
}

fn max_rows(prompt: &TaskPrompt) -> usize {
    if prompt.preferences["length"] == "short" { MAX_ROWS.1 } else { MAX_ROWS.0 }
}

/// States which of two entries has the higher value.
fn describe_leader(first: &[String], second: &[String], names: &[String]) -> String {
    let (Some(one), Some(two), Some(measure)) = (first.last(), second.last(), names.last()) else {
        return String::new();
    };
    match one == two {
        true => format!("{} and {} are equal: {measure} {one}", first[0], second[0]),
        false => format!("{} is ahead of {}: {measure} {one} against {two}", first[0], second[0]),
    }
}

fn title(shape: ResultShape, names: &[String], about: &str, query: Option<&SqlQuery>) -> String {
    let ranked = query.and_then(|query| query.ranked).and_then(|index| names.get(index));
    let last = ranked.or(names.last()).map(String::as_str).unwrap_or_default();
    let table = query.map(|query| query.table.replace('_', " ")).unwrap_or_default();
    let first = names.first().map(String::as_str).unwrap_or_default();
    match shape {
        ResultShape::Trend => format!("The {last} by {first}{about}"),
        ResultShape::Ranking if names.len() > 1 => format!("By {last}{about}"),
        ResultShape::Comparison => format!("The {last} by {first}{about}"),
        _ => format!("These {table} were found{about}"),
    }
}

struct MarkdownTable<'a> {
    names: &'a [String],
    cells: &'a [Vec<String>],
    number: usize,
    max_rows: usize,
    is_cut: bool,
}

impl MarkdownTable<'_> {
    /// Formats one column as a list and several columns as a table, followed by the reference.
    fn markdown(&self) -> String {
        let visible = &self.cells[..self.cells.len().min(self.max_rows)];
        let lines: Vec<String> = match self.names {
            [_] => visible.iter().map(|row| format!("- {}", row.join(" "))).collect(),
            names => {
                let header = [format!("| {} |", names.join(" | ")), format!("|{}", "---|".repeat(names.len()))];
                let rows = visible.iter().map(|row| format!("| {} |", row.join(" | ")));
                header.into_iter().chain(rows).collect()
            }
        };
        let hidden = self.cells.len() - visible.len();
        let more = match (hidden, self.is_cut) {
            (0, false) => String::new(),
            (0, true) => " There are more rows.".to_owned(),
            (hidden, _) => format!(" {} more rows are not shown.", grouped(&hidden.to_string())),
        };
        format!("{}\n\n[{}]{more}", lines.join("\n"), self.number)
    }
}

/// Reports the past days of the requested period that the data does not cover.
pub(super) fn describe_missing_days(query: &SqlQuery, value: &Value, number: usize, today: &str) -> Option<String> {
    let (first, last) = date_range(value)?;
    let (period, _) = query.period.as_ref()?;
    let [data_from, data_to, today] = [first, last, today].map(|day| day.parse::<Date>().ok());
    let (data_from, data_to, end) = (data_from?, data_to?, period.to.yesterday().ok()?);
    // A few days without data are not a gap.
    let lacks_start = period.from.saturating_add(MAX_UNREPORTED_DAYS.days()) < data_from && period.from.year() > 1;
    let lacks_end = end > data_to.saturating_add(MAX_UNREPORTED_DAYS.days()) && today.is_some_and(|today| end < today);
    let lacks = lacks_start || lacks_end;
    lacks.then(|| format!("Note: the data runs from {first} to {last} only [{number}]."))
}

fn date_range(value: &Value) -> Option<(&str, &str)> {
    let row = value["rows"].as_array()?.first()?.as_array()?;
    Some((row.first()?.as_str()?, row.get(1)?.as_str()?))
}

/// Explains an empty result: the data covers other dates, or there are no matching rows.
pub(super) fn describe_data_range(query: &SqlQuery, value: &Value, number: usize) -> Option<String> {
    let (first, last) = date_range(value)?;
    let (period, column_ref) = query.period.as_ref()?;
    let table_name = query.table.replace('_', " ");
    if period.to.to_string().as_str() <= first || period.from.to_string().as_str() > last {
        let column_name = column_ref.display_name();
        return Some(format!(
            "I do not know: the data has {table_name} {column_name} from {first} to {last} only [{number}]."
        ));
    }
    let name = query.columns.last().map(|column| column.name.clone()).unwrap_or_default();
    let about = query.describe_filters();
    Some(match query.shape {
        ResultShape::Number => format!("The {name}{about} is 0; the data runs from {first} to {last} [{number}]."),
        _ => format!("There are no {table_name}{about}; the data runs from {first} to {last} [{number}]."),
    })
}
