//! A query draft, built around the table whose rows are counted, summed or listed.

use std::collections::BTreeSet;

use jiff::ToSpan;

use super::lexicon::ColumnRef;
use super::mentions::{StoredValue, is_date};
use super::periods::Period;
use super::query_builder::QueryBuilder;
use super::sql_query::{ResultShape, SelectColumn, SqlQuery, ValueFormat, text};
use super::tokens::stem;
use crate::data::{ColumnType, Table};

/// Measure of a query. Lists hold alternative meanings of the same words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Measure {
    Count(String),
    Sum(Vec<ColumnRef>),
    Average(Vec<ColumnRef>),
    /// Average number of days between two points in time.
    Days(ColumnRef, ColumnRef),
    Rows,
}

/// Grouping of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GroupBy {
    Table(String),
    Column(Vec<ColumnRef>),
    /// Values that the question names.
    Values(Vec<ColumnRef>),
    Periods,
    /// Prefix length of a date: 7 groups by month.
    Dates(usize),
}

/// A query that is being built.
pub(super) struct QueryDraft<'a> {
    pub(super) builder: &'a QueryBuilder<'a>,
    pub(super) anchor: &'a Table,
    pub(super) may_multiply: bool,
    pub(super) needed: BTreeSet<String>,
    pub(super) query: SqlQuery,
}

impl<'a> QueryDraft<'a> {
    /// Builds the query around this table, if possible.
    pub(super) fn build(
        builder: &'a QueryBuilder<'a>,
        anchor: String,
        measure: &Measure,
        groups: &[GroupBy],
    ) -> Option<SqlQuery> {
        let query = SqlQuery {
            shape: ResultShape::Number,
            columns: Vec::new(),
            table: anchor.clone(),
            joins: Vec::new(),
            filters: Vec::new(),
            group: Vec::new(),
            order: Vec::new(),
            limit: None,
            ranked: None,
            is_distinct: false,
            about: Vec::new(),
            period: None,
        };
        let may_multiply = matches!(measure, Measure::Count(_) | Measure::Rows);
        let anchor = builder.model.catalog.table(&anchor)?;
        let mut draft = QueryDraft { builder, anchor, may_multiply, needed: BTreeSet::new(), query };
        draft.require_tables()?;
        let column_refs = draft.filter_values()?;
        draft.filter_conditions()?;
        draft.filter_numbers()?;
        draft.filter_keys()?;
        draft.filter_dates(measure, groups)?;
        match measure {
            Measure::Rows => draft.rows(&column_refs)?,
            _ => draft.measure(measure, groups, &column_refs)?,
        }
        draft.finish()
    }

    /// Returns the nearest of the columns by join distance; `None` on a tie.
    pub(super) fn nearest(&self, column_refs: &[ColumnRef]) -> Option<ColumnRef> {
        let join_graph = &self.builder.model.join_graph;
        let distance =
            |column_ref: &ColumnRef| join_graph.distance(&self.anchor.name, &column_ref.table, self.may_multiply);
        let shortest = column_refs.iter().filter_map(distance).min()?;
        let mut best = column_refs.iter().filter(|column_ref| distance(column_ref) == Some(shortest));
        let first = best.next()?;
        best.all(|other| other.table == first.table).then(|| first.clone())
    }

    /// Checks that every mentioned table can be joined, and joins those that filter rows.
    fn require_tables(&mut self) -> Option<()> {
        for mention in &self.builder.mentions.tables {
            let distance =
                self.builder.model.join_graph.distance(&self.anchor.name, &mention.target, self.may_multiply)?;
            if distance >= 100 {
                self.needed.insert(mention.target.clone());
            }
        }
        Some(())
    }

    /// Adds filters for stored values; several values of one column form one filter.
    fn filter_values(&mut self) -> Option<Vec<ColumnRef>> {
        let mut chosen: Vec<(ColumnRef, Vec<String>)> = Vec::new();
        for mention in &self.builder.mentions.values {
            let column_refs: Vec<ColumnRef> = mention.target.iter().map(|stored| stored.column_ref.clone()).collect();
            let column_ref = self.nearest(&column_refs)?;
            let is_in_column = |stored: &&StoredValue| stored.column_ref == column_ref;
            let values = mention.target.iter().filter(is_in_column).flat_map(|stored| stored.values.clone());
            match chosen.iter_mut().find(|(existing, _)| *existing == column_ref) {
                Some((_, all)) => all.extend(values),
                None => chosen.push((column_ref.clone(), values.collect())),
            }
        }
        for (column_ref, values) in &mut chosen {
            values.dedup();
            self.needed.insert(column_ref.table.clone());
            let is_number = self.builder.model.column(column_ref).is_some_and(|column| column.kind != ColumnType::Text);
            let quoted: Vec<String> =
                values.iter().map(|value| if is_number { value.clone() } else { text(value) }).collect();
            self.query.filters.push(match quoted.as_slice() {
                [one] => format!("{} = {one}", column_ref.sql()),
                many => format!("{} IN ({})", column_ref.sql(), many.join(", ")),
            });
            let is_flag =
                self.builder.model.column(column_ref).is_some_and(|column| column.kind == ColumnType::Boolean);
            let labels: Vec<&str> = match is_flag {
                true => values.iter().map(|value| if value == "1" { "yes" } else { "no" }).collect(),
                false => values.iter().map(String::as_str).collect(),
            };
            self.query.about.push(format!("{}: {}", column_ref.label(), labels.join(", ")));
        }
        Some(chosen.into_iter().map(|(column_ref, _)| column_ref).collect())
    }

    fn filter_conditions(&mut self) -> Option<()> {
        for mention in &self.builder.mentions.conditions {
            let condition = &mention.target;
            self.builder.model.join_graph.distance(&self.anchor.name, &condition.table, self.may_multiply)?;
            self.needed.insert(condition.table.clone());
            let table = self.builder.model.catalog.table(&condition.table)?;
            self.query.filters.push(qualified(&condition.sql, table));
            self.query.about.push(condition.name.clone());
        }
        Some(())
    }

    fn filter_numbers(&mut self) -> Option<()> {
        for (filter, column_refs) in &self.builder.numeric_filters {
            let column_ref = self.nearest(column_refs)?;
            self.needed.insert(column_ref.table.clone());
            self.query.filters.push(format!("{} {} {}", column_ref.sql(), filter.operator, filter.number));
            self.query.about.push(format!("{} {} {}", column_ref.display_name(), filter.operator, filter.number));
        }
        Some(())
    }

    fn filter_keys(&mut self) -> Option<()> {
        for (table, number) in &self.builder.parsed.keys {
            self.builder.model.join_graph.distance(&self.anchor.name, table, self.may_multiply)?;
            let key = self.builder.model.catalog.table(table)?.key()?;
            self.needed.insert(table.clone());
            let column_ref = ColumnRef { table: table.clone(), column: key.name.clone() };
            self.query.filters.push(format!("{} = {number}", column_ref.sql()));
            self.query.about.push(format!("{} {number}", super::tokens::lemma(table)));
        }
        Some(())
    }

    /// Adds filters for the periods of the question and for dates that rows must have.
    fn filter_dates(&mut self, measure: &Measure, groups: &[GroupBy]) -> Option<()> {
        let periods = &self.builder.parsed.periods;
        let needs_date = !periods.is_empty() || groups.iter().any(|group| matches!(group, GroupBy::Dates(_)));
        let named: Vec<ColumnRef> =
            self.builder.mentions.dates.iter().map(|mention| self.nearest(&mention.target)).collect::<Option<_>>()?;
        if !needs_date {
            if *measure != Measure::Rows {
                self.needed.extend(named.iter().map(|column_ref| column_ref.table.clone()));
                self.query.filters.extend(named.iter().map(|column_ref| format!("{} IS NOT NULL", column_ref.sql())));
                self.query.about.extend(named.iter().map(ColumnRef::display_name));
            }
            return Some(());
        }
        let mut named = named;
        named.dedup();
        let column_ref = match named.as_slice() {
            [] => self.default_date_column()?,
            [column_ref] => column_ref.clone(),
            _ => return None,
        };
        self.needed.insert(column_ref.table.clone());
        let conditions: Vec<String> = periods.iter().map(|period| period_condition(&column_ref, period)).collect();
        match conditions.as_slice() {
            [] => {}
            [condition] => self.query.filters.push(condition.clone()),
            many => self.query.filters.push(format!("({})", many.join(" OR "))),
        }
        let names: Vec<&str> = periods.iter().map(|period| period.name.as_str()).collect();
        if let (Some(first), Some(last)) = (periods.first(), periods.last()) {
            let is_range = first.name.contains(" to ");
            let preposition = match first.name.starts_with(|letter: char| letter.is_lowercase()) {
                true => "",
                false if is_range => "from ",
                false if first.to == first.from.saturating_add(1.day()) => "on ",
                false => "in ",
            };
            self.query.about.push(format!("{} {preposition}{}", column_ref.display_name(), names.join(" or ")));
            let full_period = Period { from: first.from.min(last.from), to: first.to.max(last.to), ..first.clone() };
            self.query.period = Some((full_period, column_ref));
        } else if self.query.period.is_none() {
            let unbounded = Period {
                start: 0,
                end: 0,
                from: jiff::civil::Date::MIN,
                to: jiff::civil::Date::MAX,
                name: String::new(),
            };
            self.query.period = Some((unbounded, column_ref));
        }
        Some(())
    }

    /// Returns the default date column: the one of a condition, otherwise the date of the event.
    fn default_date_column(&self) -> Option<ColumnRef> {
        for mention in &self.builder.mentions.conditions {
            let table = self.builder.model.catalog.table(&mention.target.table)?;
            let sql = mention.target.sql.to_lowercase();
            let is_compared = |column: &&crate::data::Column| {
                let name = column.name.to_lowercase();
                is_date(column) && sql.contains(&name) && !sql.contains(&format!("{name} is "))
            };
            let mut compared: Vec<_> = table.columns.iter().filter(is_compared).collect();
            compared.sort_by_key(|column| sql.find(&column.name.to_lowercase()));
            if let Some(column) = compared.first() {
                return Some(ColumnRef { table: table.name.clone(), column: column.name.clone() });
            }
        }
        let words: Vec<String> = self.builder.parsed.words.iter().map(|word| stem(&word.lower)).collect();
        let date_column = |table: &Table| {
            // For refunds, the date of the refund counts.
            let is_mentioned = |column: &&crate::data::Column| {
                is_date(column) && column.name.strip_suffix("_at").is_some_and(|verb| words.contains(&stem(verb)))
            };
            let column = table.columns.iter().find(is_mentioned).or_else(|| table.event())?;
            Some(ColumnRef { table: table.name.clone(), column: column.name.clone() })
        };
        if let Some(column_ref) = date_column(self.anchor) {
            return Some(column_ref);
        }
        let named =
            self.builder.mentions.tables.iter().filter_map(|mention| self.builder.model.catalog.table(&mention.target));
        let parents = self.anchor.columns.iter().filter_map(|column| column.references.as_ref());
        let parents = parents.filter_map(|(table, _)| self.builder.model.catalog.table(table));
        let all: Vec<ColumnRef> = named.filter_map(date_column).chain(parents.filter_map(date_column)).collect();
        self.nearest(&all)
    }

    /// Adds the necessary joins.
    fn finish(mut self) -> Option<SqlQuery> {
        self.needed.remove(&self.anchor.name);
        let joined = self.builder.model.join_graph.join(&self.anchor.name, &self.needed, self.may_multiply)?;
        self.query.joins = joined.steps;
        if joined.multiplies && self.query.columns.iter().any(|column| column.sql.contains("COUNT(*)")) {
            let key = self.anchor.key()?;
            let column_ref = ColumnRef { table: self.anchor.name.clone(), column: key.name.clone() };
            let once = format!("COUNT(DISTINCT {})", column_ref.sql());
            for sql in self.query.columns.iter_mut().map(|column| &mut column.sql).chain(&mut self.query.order) {
                *sql = sql.replace("COUNT(*)", &once);
            }
        }
        self.query.is_distinct |=
            joined.multiplies && self.query.group.is_empty() && self.query.shape == ResultShape::List;
        Some(self.query)
    }

    /// Returns the select column for a column of a table.
    pub(super) fn select_column(&self, column_ref: &ColumnRef) -> Option<SelectColumn> {
        let column = self.builder.model.column(column_ref)?;
        let form = match column.kind {
            _ if column.is_key || column.references.is_some() => ValueFormat::Plain,
            ColumnType::Integer if column.name.ends_with("_grams") => ValueFormat::Grams,
            ColumnType::Integer => ValueFormat::Integer,
            ColumnType::Decimal | ColumnType::Real => ValueFormat::Decimal,
            ColumnType::Time => ValueFormat::Day,
            _ => ValueFormat::Plain,
        };
        let is_own = column_ref.table == self.anchor.name;
        let table = super::tokens::lemma(&column_ref.table.replace('_', " "));
        let name = match (is_own, column.name.as_str()) {
            (false, "name" | "id") => table,
            (false, _) => format!("{table} {}", column_ref.display_name()),
            (true, _) => column_ref.display_name(),
        };
        Some(SelectColumn { sql: column_ref.sql(), name, form })
    }
}

/// Returns the SQL condition for the days of a period.
pub(super) fn period_condition(column_ref: &ColumnRef, period: &Period) -> String {
    let sql = column_ref.sql();
    format!("{sql} >= '{}' AND {sql} < '{}'", period.from, period.to)
}

/// Qualifies the columns of a condition with their table.
fn qualified(condition: &str, table: &Table) -> String {
    let mut out = String::new();
    for (index, piece) in condition.split('\'').enumerate() {
        if index > 0 {
            out.push('\'');
        }
        // Every second piece is a string literal.
        if index % 2 == 1 {
            out.push_str(piece);
            continue;
        }
        for part in piece.split_inclusive(|letter: char| !(letter.is_alphanumeric() || letter == '_')) {
            let word = part.trim_end_matches(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
            match table.column(word) {
                Some(column) => {
                    let column_ref = ColumnRef { table: table.name.clone(), column: column.name.clone() };
                    out.push_str(&column_ref.sql());
                    out.push_str(&part[word.len()..]);
                }
                None => out.push_str(part),
            }
        }
    }
    format!("({out})")
}
