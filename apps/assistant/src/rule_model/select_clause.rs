//! The SELECT clause of a query: a number, a number per group, or rows.

use super::lexicon::ColumnRef;
use super::query_draft::{GroupBy, Measure, QueryDraft, period_condition};
use super::sql_query::{ResultShape, SelectColumn, ValueFormat, text};
use super::tokens::lemma;
use crate::data::{ColumnType, Table};

/// Number of rows in a ranking whose question uses a plural without a number.
const DEFAULT_RANKING_ROWS: usize = 5;

impl QueryDraft<'_> {
    /// Selects a number, or one per group.
    pub(super) fn measure(
        &mut self,
        requested_measure: &Measure,
        groups: &[GroupBy],
        column_refs: &[ColumnRef],
    ) -> Option<()> {
        // A mentioned column that neither groups nor filters the result indicates a misunderstanding.
        let is_used = |candidates: &Vec<ColumnRef>| {
            let is_group = groups.iter().any(|group| matches!(group, GroupBy::Column(used) if used == candidates));
            is_group || candidates.iter().any(|column_ref| column_refs.contains(column_ref))
        };
        if !self.builder.mentions.texts.iter().all(|mention| is_used(&mention.target)) {
            return None;
        }
        let measure = self.measure_column(requested_measure)?;
        for group in groups {
            self.group_by(group)?;
        }
        let is_dated = groups.iter().any(|group| matches!(group, GroupBy::Dates(_)));
        let superlative = self.builder.parsed.cues.superlative;
        self.query.shape = match (groups.is_empty(), is_dated, superlative.is_some()) {
            (true, ..) => ResultShape::Number,
            (_, true, false) => ResultShape::Trend,
            (_, _, true) => ResultShape::Ranking,
            _ => ResultShape::Comparison,
        };
        let direction = if superlative.is_none_or(|superlative| superlative.descends) { "DESC" } else { "ASC" };
        if !groups.is_empty() {
            let by_size = format!("{} {direction}", measure.sql);
            let by_group = self.query.columns.iter().map(|column| column.sql.clone());
            self.query.order = match self.query.shape {
                ResultShape::Trend => by_group.collect(),
                _ => std::iter::once(by_size).chain(by_group).collect(),
            };
        }
        if self.query.shape == ResultShape::Ranking {
            self.query.limit = Some(self.row_limit());
            self.query.ranked = Some(self.query.columns.len());
        }
        // A count of zero may mean that the data does not cover the period. `NULL` makes the result empty, which
        // triggers the diagnostic query.
        let may_lack_data =
            self.query.shape == ResultShape::Number && self.query.period.is_some() && measure.sql == "COUNT(*)";
        let sql = if may_lack_data { "NULLIF(COUNT(*), 0)".to_owned() } else { measure.sql.clone() };
        self.query.columns.push(SelectColumn { sql, ..measure });
        Some(())
    }

    fn measure_column(&mut self, measure: &Measure) -> Option<SelectColumn> {
        let of_table =
            |column_ref: &ColumnRef| format!("{} of {}", column_ref.display_name(), column_ref.table.replace('_', " "));
        match measure {
            Measure::Count(table) => {
                let name = format!("number of {}", table.replace('_', " "));
                Some(SelectColumn { sql: "COUNT(*)".to_owned(), name, form: ValueFormat::Integer })
            }
            Measure::Sum(column_refs) => {
                let column_ref = self.anchor_column(column_refs)?;
                let is_whole = self.builder.model.column(&column_ref)?.kind == ColumnType::Integer;
                let (sql, form) = match is_whole {
                    true => (format!("SUM({})", column_ref.sql()), ValueFormat::Integer),
                    false => (format!("ROUND(SUM({}), 2)", column_ref.sql()), ValueFormat::Decimal),
                };
                Some(SelectColumn { sql, name: format!("sum of {}", of_table(&column_ref)), form })
            }
            Measure::Average(column_refs) => {
                let column_ref = self.anchor_column(column_refs)?;
                let sql = format!("ROUND(AVG({}), 2)", column_ref.sql());
                Some(SelectColumn {
                    sql,
                    name: format!("average {}", of_table(&column_ref)),
                    form: ValueFormat::Decimal,
                })
            }
            Measure::Days(earlier, later) => {
                let sql = format!("ROUND(AVG(julianday({}) - julianday({})), 2)", later.sql(), earlier.sql());
                let both = [earlier, later].map(|column_ref| format!("{} IS NOT NULL", column_ref.sql()));
                self.query.filters.extend(both);
                let name = format!("average days from {} to {}", earlier.display_name(), later.display_name());
                Some(SelectColumn { sql, name, form: ValueFormat::Decimal })
            }
            Measure::Rows => None,
        }
    }

    /// Returns the column in the table that the query is built around.
    fn anchor_column(&self, column_refs: &[ColumnRef]) -> Option<ColumnRef> {
        column_refs.iter().find(|column_ref| column_ref.table == self.anchor.name).cloned()
    }

    /// Adds a grouping.
    fn group_by(&mut self, group: &GroupBy) -> Option<()> {
        match group {
            GroupBy::Table(table) => {
                let table = self.builder.model.catalog.table(table)?;
                self.needed.insert(table.name.clone());
                let selected = self.display_column(table)?;
                let key = table.key()?;
                self.query.group.push(ColumnRef { table: table.name.clone(), column: key.name.clone() }.sql());
                self.query.columns.push(selected);
            }
            GroupBy::Column(column_refs) | GroupBy::Values(column_refs) => {
                let column_ref = self.nearest(column_refs)?;
                self.needed.insert(column_ref.table.clone());
                self.query.group.push(column_ref.sql());
                let selected = self.select_column(&column_ref)?;
                self.query.columns.push(selected);
            }
            GroupBy::Dates(letters) => {
                let column_ref = self.query.period.as_ref().map(|(_, column_ref)| column_ref.clone())?;
                let sql = format!("substr({}, 1, {letters})", column_ref.sql());
                let (name, form) = match letters {
                    7 => ("month", ValueFormat::Month),
                    4 => ("year", ValueFormat::Plain),
                    _ => ("day", ValueFormat::Plain),
                };
                self.query.filters.push(format!("{} IS NOT NULL", column_ref.sql()));
                self.query.group.push(sql.clone());
                self.query.columns.push(SelectColumn { sql, name: name.to_owned(), form });
            }
            GroupBy::Periods => {
                let column_ref = self.query.period.as_ref().map(|(_, column_ref)| column_ref.clone())?;
                let cases = self.builder.parsed.periods.iter();
                let cases = cases.map(|period| {
                    format!("WHEN {} THEN {}", period_condition(&column_ref, period), text(&period.name))
                });
                let sql = format!("CASE {} END", cases.collect::<Vec<_>>().join(" "));
                self.query.group.push(sql.clone());
                self.query.columns.push(SelectColumn { sql, name: "period".to_owned(), form: ValueFormat::Plain });
            }
        }
        Some(())
    }

    /// Returns the display name of a row as a select column.
    fn display_column(&self, table: &Table) -> Option<SelectColumn> {
        let column_ref = |column: &str| ColumnRef { table: table.name.clone(), column: column.to_owned() };
        if let Some([first, last]) = table.person() {
            let sql = format!("{} || ' ' || {}", column_ref(&first.name).sql(), column_ref(&last.name).sql());
            return Some(SelectColumn { sql, name: lemma(&table.name.replace('_', " ")), form: ValueFormat::Plain });
        }
        let column = table.column("name").or_else(|| table.key())?;
        let selected = self.select_column(&column_ref(&column.name))?;
        let name = lemma(&table.name.replace('_', " "));
        Some(SelectColumn { name, ..selected })
    }

    fn row_limit(&self) -> usize {
        let cues = &self.builder.parsed.cues;
        let table_starts = self.builder.mentions.tables.iter().map(|mention| mention.start);
        let starts = table_starts.chain(self.builder.mentions.texts.iter().map(|mention| mention.start)).min();
        let word = starts.and_then(|index| self.builder.parsed.words.get(index));
        let default_rows = if word.is_some_and(|word| word.lower != word.lemma) { DEFAULT_RANKING_ROWS } else { 1 };
        cues.limit.unwrap_or(default_rows)
    }

    /// Selects rows: their display names and the mentioned columns.
    pub(super) fn rows(&mut self, column_refs: &[ColumnRef]) -> Option<()> {
        let mentions = &self.builder.mentions;
        let cues = &self.builder.parsed.cues;
        let is_limited = !self.query.filters.is_empty();
        let is_requested = is_limited || (cues.lists && !mentions.tables.is_empty()) || cues.superlative.is_some();
        if !is_requested || cues.compares && column_refs.is_empty() {
            return None;
        }
        let named = mentions.numbers.iter().chain(&mentions.texts).chain(&mentions.dates);
        let mut named: Vec<ColumnRef> = named.map(|mention| self.nearest(&mention.target)).collect::<Option<_>>()?;
        for (_, limited) in &self.builder.numeric_filters {
            named.push(self.nearest(limited)?);
        }
        named.extend(self.query.period.as_ref().map(|(_, column_ref)| column_ref.clone()));
        if cues.when && mentions.dates.is_empty() {
            return None;
        }
        self.query.shape = ResultShape::List;
        let only_texts = !mentions.texts.is_empty()
            && mentions.texts.iter().all(|text| mentions.tables.iter().all(|table| text.start < table.start))
            && !column_refs
                .iter()
                .any(|column_ref| column_ref.table == self.anchor.name && column_ref.column.contains("name"))
            && self.builder.parsed.keys.is_empty()
            && cues.superlative.is_none()
            && !mentions.tables.is_empty();
        match only_texts {
            true => self.query.is_distinct = true,
            false => self.select_row_names(named.is_empty())?,
        }
        if cues.superlative.is_some() {
            self.select_other_tables()?;
        }
        for column_ref in named {
            self.needed.insert(column_ref.table.clone());
            let selected = self.select_column(&column_ref)?;
            if !self.query.columns.iter().any(|existing| existing.sql == selected.sql) {
                self.query.columns.push(selected);
            }
        }
        for table in self.builder.people().into_iter().filter(|table| *table != self.anchor.name) {
            let selected = self.display_column(self.builder.model.catalog.table(&table)?)?;
            self.query.columns.push(selected);
        }
        self.order_rows()
    }

    /// Adds the display names of the other mentioned tables: a row references one row of each.
    fn select_other_tables(&mut self) -> Option<()> {
        let tables = self.builder.mentions.tables.iter().filter(|mention| mention.target != self.anchor.name);
        for mention in tables {
            self.builder.model.join_graph.distance(&self.anchor.name, &mention.target, false)?;
            let selected = self.display_column(self.builder.model.catalog.table(&mention.target)?)?;
            self.needed.insert(mention.target.clone());
            self.query.columns.push(selected);
        }
        Some(())
    }

    /// Adds the display name of the rows, and more columns if nothing else is requested and the rows have no name.
    fn select_row_names(&mut self, is_alone: bool) -> Option<()> {
        let selected = self.display_column(self.anchor)?;
        let has_name = self.anchor.column("name").is_some() || self.anchor.person().is_some();
        self.query.columns.push(selected);
        if is_alone && !has_name {
            let others = self.anchor.columns.iter().filter(|column| !column.is_key && column.references.is_none());
            let others: Vec<ColumnRef> = others
                .take(4)
                .map(|column| ColumnRef { table: self.anchor.name.clone(), column: column.name.clone() })
                .collect();
            for column_ref in others {
                let selected = self.select_column(&column_ref)?;
                self.query.columns.push(selected);
            }
        }
        Some(())
    }

    fn order_rows(&mut self) -> Option<()> {
        let Some(superlative) = self.builder.parsed.cues.superlative else {
            self.query.order = self.query.columns.first().map(|column| column.sql.clone()).into_iter().collect();
            return Some(());
        };
        let column_ref = self.nearest(&self.builder.mentions.numbers.first()?.target)?;
        if column_ref.table != self.anchor.name {
            return None;
        }
        let direction = if superlative.descends { "DESC" } else { "ASC" };
        self.query.shape = ResultShape::Ranking;
        self.query.order = vec![format!("{} {direction}", column_ref.sql())];
        self.query.order.extend(self.query.columns.first().map(|column| column.sql.clone()));
        self.query.ranked = self.query.columns.iter().position(|column| column.sql == column_ref.sql());
        self.query.limit = Some(self.row_limit());
        Some(())
    }
}
