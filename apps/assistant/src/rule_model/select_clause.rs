//! The SELECT clause of a query: a number, a number per group, or rows.

use super::lexicon::ColumnRef;
use super::query_draft::{GroupBy, Measure, QueryDraft, period_condition};
use super::sql_query::{ResultShape, SelectColumn, ValueFormat, text};
use super::tokens::lemma;
use crate::data::{ColumnType, Table};

/// Number of rows in a ranking whose question uses a plural without a number.
const SEVERAL: usize = 5;

impl QueryDraft<'_> {
    /// Selects a number, or one per group.
    pub(super) fn measure(&mut self, wanted: &Measure, groups: &[GroupBy], places: &[ColumnRef]) -> Option<()> {
        // A mentioned column that neither groups nor filters the result indicates a misunderstanding.
        let is_used = |candidates: &Vec<ColumnRef>| {
            let is_group = groups.iter().any(|group| matches!(group, GroupBy::Column(used) if used == candidates));
            is_group || candidates.iter().any(|place| places.contains(place))
        };
        if !self.task.parts.texts.iter().all(|mention| is_used(&mention.what)) {
            return None;
        }
        let measure = self.measured(wanted)?;
        for group in groups {
            self.divide(group)?;
        }
        let is_dated = groups.iter().any(|group| matches!(group, GroupBy::Dates(_)));
        let most = self.task.reading.signs.most;
        self.query.shape = match (groups.is_empty(), is_dated, most.is_some()) {
            (true, ..) => ResultShape::Number,
            (_, true, false) => ResultShape::Trend,
            (_, _, true) => ResultShape::Ranking,
            _ => ResultShape::Comparison,
        };
        let direction = if most.is_none_or(|most| most.descends) { "DESC" } else { "ASC" };
        if !groups.is_empty() {
            let by_size = format!("{} {direction}", measure.sql);
            let by_group = self.query.columns.iter().map(|shown| shown.sql.clone());
            self.query.order = match self.query.shape {
                ResultShape::Trend => by_group.collect(),
                _ => std::iter::once(by_size).chain(by_group).collect(),
            };
        }
        if self.query.shape == ResultShape::Ranking {
            self.query.limit = Some(self.limit());
            self.query.ranked = Some(self.query.columns.len());
        }
        // A count of zero may mean that the data does not cover the period. `NULL` makes the result empty, which
        // triggers the diagnostic query.
        let is_open =
            self.query.shape == ResultShape::Number && self.query.period.is_some() && measure.sql == "COUNT(*)";
        let sql = if is_open { "NULLIF(COUNT(*), 0)".to_owned() } else { measure.sql.clone() };
        self.query.columns.push(SelectColumn { sql, ..measure });
        Some(())
    }

    fn measured(&mut self, wanted: &Measure) -> Option<SelectColumn> {
        let of_table = |place: &ColumnRef| format!("{} of {}", place.display_name(), place.table.replace('_', " "));
        match wanted {
            Measure::Count(table) => {
                let name = format!("number of {}", table.replace('_', " "));
                Some(SelectColumn { sql: "COUNT(*)".to_owned(), name, form: ValueFormat::Whole })
            }
            Measure::Sum(places) => {
                let place = self.own(places)?;
                let is_whole = self.task.book.column(&place)?.kind == ColumnType::Integer;
                let (sql, form) = match is_whole {
                    true => (format!("SUM({})", place.sql()), ValueFormat::Whole),
                    false => (format!("ROUND(SUM({}), 2)", place.sql()), ValueFormat::Decimal),
                };
                Some(SelectColumn { sql, name: format!("sum of {}", of_table(&place)), form })
            }
            Measure::Average(places) => {
                let place = self.own(places)?;
                let sql = format!("ROUND(AVG({}), 2)", place.sql());
                Some(SelectColumn { sql, name: format!("average {}", of_table(&place)), form: ValueFormat::Decimal })
            }
            Measure::Days(earlier, later) => {
                let sql = format!("ROUND(AVG(julianday({}) - julianday({})), 2)", later.sql(), earlier.sql());
                let both = [earlier, later].map(|place| format!("{} IS NOT NULL", place.sql()));
                self.query.filters.extend(both);
                let name = format!("average days from {} to {}", earlier.display_name(), later.display_name());
                Some(SelectColumn { sql, name, form: ValueFormat::Decimal })
            }
            Measure::Rows => None,
        }
    }

    /// Returns the column in the table that the query is built around.
    fn own(&self, places: &[ColumnRef]) -> Option<ColumnRef> {
        places.iter().find(|place| place.table == self.anchor.name).cloned()
    }

    /// Adds a grouping.
    fn divide(&mut self, group: &GroupBy) -> Option<()> {
        match group {
            GroupBy::Table(table) => {
                let table = self.task.book.catalog.table(table)?;
                self.needed.insert(table.name.clone());
                let shown = self.display(table)?;
                let key = table.key()?;
                self.query.group.push(ColumnRef { table: table.name.clone(), column: key.name.clone() }.sql());
                self.query.columns.push(shown);
            }
            GroupBy::Column(places) | GroupBy::Values(places) => {
                let place = self.nearest(places)?;
                self.needed.insert(place.table.clone());
                self.query.group.push(place.sql());
                let shown = self.select_column(&place)?;
                self.query.columns.push(shown);
            }
            GroupBy::Dates(letters) => {
                let place = self.query.period.as_ref().map(|(_, place)| place.clone())?;
                let sql = format!("substr({}, 1, {letters})", place.sql());
                let (name, form) = match letters {
                    7 => ("month", ValueFormat::Month),
                    4 => ("year", ValueFormat::Plain),
                    _ => ("day", ValueFormat::Plain),
                };
                self.query.filters.push(format!("{} IS NOT NULL", place.sql()));
                self.query.group.push(sql.clone());
                self.query.columns.push(SelectColumn { sql, name: name.to_owned(), form });
            }
            GroupBy::Periods => {
                let place = self.query.period.as_ref().map(|(_, place)| place.clone())?;
                let cases = self.task.reading.periods.iter();
                let cases = cases
                    .map(|period| format!("WHEN {} THEN {}", period_condition(&place, period), text(&period.name)));
                let sql = format!("CASE {} END", cases.collect::<Vec<_>>().join(" "));
                self.query.group.push(sql.clone());
                self.query.columns.push(SelectColumn { sql, name: "period".to_owned(), form: ValueFormat::Plain });
            }
        }
        Some(())
    }

    /// Returns the display name of a row as a select column.
    fn display(&self, table: &Table) -> Option<SelectColumn> {
        let place = |column: &str| ColumnRef { table: table.name.clone(), column: column.to_owned() };
        if let Some([first, last]) = table.person() {
            let sql = format!("{} || ' ' || {}", place(&first.name).sql(), place(&last.name).sql());
            return Some(SelectColumn { sql, name: lemma(&table.name.replace('_', " ")), form: ValueFormat::Plain });
        }
        let column = table.column("name").or_else(|| table.key())?;
        let shown = self.select_column(&place(&column.name))?;
        let name = lemma(&table.name.replace('_', " "));
        Some(SelectColumn { name, ..shown })
    }

    fn limit(&self) -> usize {
        let signs = &self.task.reading.signs;
        let is_plural = self.task.parts.tables.iter().map(|mention| mention.start);
        let starts = is_plural.chain(self.task.parts.texts.iter().map(|mention| mention.start)).min();
        let word = starts.and_then(|at| self.task.reading.words.get(at));
        let several = if word.is_some_and(|word| word.lower != word.lemma) { SEVERAL } else { 1 };
        signs.limit.unwrap_or(several)
    }

    /// Selects rows: their display names and the mentioned columns.
    pub(super) fn rows(&mut self, places: &[ColumnRef]) -> Option<()> {
        let parts = &self.task.parts;
        let signs = &self.task.reading.signs;
        let is_limited = !self.query.filters.is_empty();
        let is_asked = is_limited || (signs.lists && !parts.tables.is_empty()) || signs.most.is_some();
        if !is_asked || signs.compares && places.is_empty() {
            return None;
        }
        let named = parts.numbers.iter().chain(&parts.texts).chain(&parts.dates);
        let mut named: Vec<ColumnRef> = named.map(|mention| self.nearest(&mention.what)).collect::<Option<_>>()?;
        for (_, limited) in &self.task.limits {
            named.push(self.nearest(limited)?);
        }
        named.extend(self.query.period.as_ref().map(|(_, place)| place.clone()));
        if signs.when && parts.dates.is_empty() {
            return None;
        }
        self.query.shape = ResultShape::List;
        let only_texts = !parts.texts.is_empty()
            && parts.texts.iter().all(|text| parts.tables.iter().all(|table| text.start < table.start))
            && !places.iter().any(|place| place.table == self.anchor.name && place.column.contains("name"))
            && self.task.reading.keys.is_empty()
            && signs.most.is_none()
            && !parts.tables.is_empty();
        match only_texts {
            true => self.query.is_distinct = true,
            false => self.call_rows(named.is_empty())?,
        }
        if signs.most.is_some() {
            self.show_others()?;
        }
        for place in named {
            self.needed.insert(place.table.clone());
            let shown = self.select_column(&place)?;
            if !self.query.columns.iter().any(|known| known.sql == shown.sql) {
                self.query.columns.push(shown);
            }
        }
        for table in self.task.people().into_iter().filter(|table| *table != self.anchor.name) {
            let shown = self.display(self.task.book.catalog.table(&table)?)?;
            self.query.columns.push(shown);
        }
        self.order_rows()
    }

    /// Adds the display names of the other mentioned tables: a row references one row of each.
    fn show_others(&mut self) -> Option<()> {
        let tables = self.task.parts.tables.iter().filter(|mention| mention.what != self.anchor.name);
        for mention in tables {
            self.task.book.routes.distance(&self.anchor.name, &mention.what, false)?;
            let shown = self.display(self.task.book.catalog.table(&mention.what)?)?;
            self.needed.insert(mention.what.clone());
            self.query.columns.push(shown);
        }
        Some(())
    }

    /// Adds the display name of the rows, and more columns if nothing else is requested and the rows have no name.
    fn call_rows(&mut self, is_alone: bool) -> Option<()> {
        let shown = self.display(self.anchor)?;
        let has_name = self.anchor.column("name").is_some() || self.anchor.person().is_some();
        self.query.columns.push(shown);
        if is_alone && !has_name {
            let others = self.anchor.columns.iter().filter(|column| !column.is_key && column.references.is_none());
            let others: Vec<ColumnRef> = others
                .take(4)
                .map(|column| ColumnRef { table: self.anchor.name.clone(), column: column.name.clone() })
                .collect();
            for place in others {
                let shown = self.select_column(&place)?;
                self.query.columns.push(shown);
            }
        }
        Some(())
    }

    fn order_rows(&mut self) -> Option<()> {
        let Some(most) = self.task.reading.signs.most else {
            self.query.order = self.query.columns.first().map(|shown| shown.sql.clone()).into_iter().collect();
            return Some(());
        };
        let place = self.nearest(&self.task.parts.numbers.first()?.what)?;
        if place.table != self.anchor.name {
            return None;
        }
        let direction = if most.descends { "DESC" } else { "ASC" };
        self.query.shape = ResultShape::Ranking;
        self.query.order = vec![format!("{} {direction}", place.sql())];
        self.query.order.extend(self.query.columns.first().map(|shown| shown.sql.clone()));
        self.query.ranked = self.query.columns.iter().position(|shown| shown.sql == place.sql());
        self.query.limit = Some(self.limit());
        Some(())
    }
}
