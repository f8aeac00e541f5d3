//! Builds a query from a parsed question.
//!
//! Prefers no query to a wrong one: no query is built if a word is not understood, a name is ambiguous, or a table
//! cannot be joined without counting rows twice.

use super::RuleModel;
use super::lexicon::ColumnRef;
use super::mentions::{Mention, Mentions};
use super::parsed_question::ParsedQuestion;
use super::query_cues::NumericFilter;
use super::query_draft::{Measure, QueryDraft};
use super::sql_query::SqlQuery;
use super::tokens::lemma;
use crate::data::ColumnType;

/// A parsed question with its mentions and everything derived from them.
pub(super) struct QueryBuilder<'a> {
    pub(super) book: &'a RuleModel,
    pub(super) reading: &'a ParsedQuestion,
    pub(super) parts: Mentions,
    /// Numeric filters with the columns that they may refer to.
    pub(super) limits: Vec<(NumericFilter, Vec<ColumnRef>)>,
    pub(super) averages: bool,
    pub(super) sums: bool,
}

impl RuleModel {
    /// Builds the query if exactly one interpretation is possible.
    pub(super) fn query(&self, reading: &ParsedQuestion) -> Option<SqlQuery> {
        if reading.signs.is_future {
            return None;
        }
        let mut task = QueryBuilder {
            book: self,
            reading,
            parts: Mentions::find_mentions(self, reading),
            limits: Vec::new(),
            averages: reading.signs.averages,
            sums: reading.signs.sums,
        };
        if let Some(query) = task.duration() {
            return Some(query);
        }
        task.resolve_total_column();
        if !task.is_fully_parsed(&[]) || reading.signs.how_long {
            return None;
        }
        task.bind_limits()?;
        task.one_number()?;
        task.resolve_size_column()?;
        let groups = task.groups()?;
        let measure = task.measure(&groups)?;
        task.candidate_tables(&measure)
            .into_iter()
            .find_map(|anchor| QueryDraft::build(&task, anchor, &measure, &groups))
    }
}

impl QueryBuilder<'_> {
    /// Returns true if every word is understood, except these words and units of the requested values.
    fn is_fully_parsed(&self, more: &[&str]) -> bool {
        let mut names = Vec::new();
        let mut is_money = false;
        for column_ref in self.parts.numbers.iter().flat_map(|mention| &mention.target) {
            names.extend(column_ref.column.split('_').map(lemma));
            is_money |= self.book.column(column_ref).is_some_and(|column| column.kind == ColumnType::Decimal);
        }
        let is_known = |index: &usize| {
            let word = &self.reading.words[*index];
            word.is_in(more)
                || names.contains(&word.lemma)
                || (is_money && word.is_in(&["euro", "euros", "eur", "money"]))
        };
        self.reading.unknown.iter().all(is_known)
    }

    /// Builds a query for the duration between two mentioned points in time.
    fn duration(&mut self) -> Option<SqlQuery> {
        let is_requested = self.reading.signs.how_long || self.reading.has_word(&["day", "days"]);
        let [first, second] = self.parts.dates.as_slice() else { return None };
        let (first, second) = (first.target.first()?.clone(), second.target.first()?.clone());
        let is_pair = first.table == second.table && first.column != second.column;
        let extra =
            ["day", "days", "take", "takes", "long", "once", "until", "till", "between", "after", "being", "it"];
        if !is_requested || !is_pair || !self.is_fully_parsed(&extra) {
            return None;
        }
        let table = self.book.catalog.table(&first.table)?;
        let position = |column: &str| table.columns.iter().position(|candidate| candidate.name == column);
        // Columns are declared in chronological order.
        let is_turned = position(&first.column)? > position(&second.column)?;
        let (earlier, later) = if is_turned { (second, first) } else { (first, second) };
        self.parts.dates.clear();
        QueryDraft::build(self, earlier.table.clone(), &Measure::Days(earlier, later), &[])
    }

    /// Treats `total` as a column, unless something else is counted or summed.
    fn resolve_total_column(&mut self) {
        let words = &self.reading.words;
        let is_total = |mention: &Mention<Vec<ColumnRef>>| {
            mention.end == mention.start + 1 && words[mention.start].lemma == "total"
        };
        let has_other = self.parts.numbers.iter().any(|mention| !is_total(mention));
        if self.parts.numbers.iter().any(is_total) && (has_other || self.reading.signs.counts.is_some()) {
            self.parts.numbers.retain(|mention| !is_total(mention));
            self.sums = true;
        }
    }

    /// Finds the column of each numeric filter.
    fn bind_limits(&mut self) -> Option<()> {
        for limit in &self.reading.signs.limits {
            let after =
                self.parts.numbers.iter().position(|mention| (limit.end..limit.end + 3).contains(&mention.start));
            let before = || self.parts.numbers.iter().rposition(|mention| mention.end <= limit.start);
            let is_unit = |index: &usize| self.parts.numbers[*index].start == limit.end || !self.names_table(limit.end);
            let columns = match after.or_else(before).filter(is_unit) {
                Some(index) => self.parts.numbers.remove(index).target,
                None if limit.is_money => {
                    let table = self.book.catalog.table(&self.parts.tables.first()?.target)?;
                    let money = table.columns.iter().find(|column| column.kind == ColumnType::Decimal)?;
                    vec![ColumnRef { table: table.name.clone(), column: money.name.clone() }]
                }
                None => return None,
            };
            self.limits.push((limit.clone(), columns));
        }
        Some(())
    }

    fn names_table(&self, index: usize) -> bool {
        self.parts.tables.iter().any(|mention| mention.start == index)
    }

    /// Merges several mentions of one number; two different numbers prevent a query, unless rows are requested.
    fn one_number(&mut self) -> Option<()> {
        let words = &self.reading.words;
        if self.parts.numbers.len() > 1 {
            let is_verb = |mention: &Mention<Vec<ColumnRef>>| words[mention.start].lemma == "sell";
            let others = self.parts.numbers.iter().filter(|mention| !is_verb(mention)).count();
            self.parts.numbers.retain(|mention| others == 0 || !is_verb(mention));
        }
        let mut all = std::mem::take(&mut self.parts.numbers).into_iter();
        let Some(first) = all.next() else { return Some(()) };
        let rest: Vec<_> = all.collect();
        let mut shared = first.target.clone();
        for mention in &rest {
            shared.retain(|column_ref| mention.target.contains(column_ref));
        }
        if !shared.is_empty() {
            self.parts.numbers = vec![Mention { target: shared, ..first }];
            return Some(());
        }
        self.parts.numbers = std::iter::once(first).chain(rest).collect();
        let is_list = !(self.sums || self.averages || self.reading.signs.counts.is_some());
        is_list.then_some(())
    }
}
