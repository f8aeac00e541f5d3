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
    pub(super) model: &'a RuleModel,
    pub(super) parsed: &'a ParsedQuestion,
    pub(super) mentions: Mentions,
    /// Numeric filters with the columns that they may refer to.
    pub(super) numeric_filters: Vec<(NumericFilter, Vec<ColumnRef>)>,
    pub(super) averages: bool,
    pub(super) sums: bool,
}

impl RuleModel {
    /// Builds the query if exactly one interpretation is possible.
    pub(super) fn query(&self, parsed: &ParsedQuestion) -> Option<SqlQuery> {
        if parsed.cues.is_future {
            return None;
        }
        let mut builder = QueryBuilder {
            model: self,
            parsed,
            mentions: Mentions::find_mentions(self, parsed),
            numeric_filters: Vec::new(),
            averages: parsed.cues.averages,
            sums: parsed.cues.sums,
        };
        if let Some(query) = builder.duration() {
            return Some(query);
        }
        builder.resolve_total_column();
        if !builder.is_fully_parsed(&[]) || parsed.cues.how_long {
            return None;
        }
        builder.bind_numeric_filters()?;
        builder.merge_numbers()?;
        builder.resolve_size_column()?;
        let groups = builder.groups()?;
        let measure = builder.measure(&groups)?;
        builder
            .candidate_tables(&measure)
            .into_iter()
            .find_map(|anchor| QueryDraft::build(&builder, anchor, &measure, &groups))
    }
}

impl QueryBuilder<'_> {
    /// Returns true if every word is understood, except these words and units of the requested values.
    fn is_fully_parsed(&self, more: &[&str]) -> bool {
        let mut names = Vec::new();
        let mut is_money = false;
        for column_ref in self.mentions.numbers.iter().flat_map(|mention| &mention.target) {
            names.extend(column_ref.column.split('_').map(lemma));
            is_money |= self.model.column(column_ref).is_some_and(|column| column.kind == ColumnType::Decimal);
        }
        let is_recognized = |index: &usize| {
            let word = &self.parsed.words[*index];
            word.is_in(more)
                || names.contains(&word.lemma)
                || (is_money && word.is_in(&["euro", "euros", "eur", "money"]))
        };
        self.parsed.unknown.iter().all(is_recognized)
    }

    /// Builds a query for the duration between two mentioned points in time.
    fn duration(&mut self) -> Option<SqlQuery> {
        let is_requested = self.parsed.cues.how_long || self.parsed.has_word(&["day", "days"]);
        let [first, second] = self.mentions.dates.as_slice() else { return None };
        let (first, second) = (first.target.first()?.clone(), second.target.first()?.clone());
        let is_pair = first.table == second.table && first.column != second.column;
        let extra =
            ["day", "days", "take", "takes", "long", "once", "until", "till", "between", "after", "being", "it"];
        if !is_requested || !is_pair || !self.is_fully_parsed(&extra) {
            return None;
        }
        let table = self.model.catalog.table(&first.table)?;
        let position = |column: &str| table.columns.iter().position(|candidate| candidate.name == column);
        // Columns are declared in chronological order.
        let is_reversed = position(&first.column)? > position(&second.column)?;
        let (earlier, later) = if is_reversed { (second, first) } else { (first, second) };
        self.mentions.dates.clear();
        QueryDraft::build(self, earlier.table.clone(), &Measure::Days(earlier, later), &[])
    }

    /// Treats `total` as a column, unless something else is counted or summed.
    fn resolve_total_column(&mut self) {
        let words = &self.parsed.words;
        let is_total = |mention: &Mention<Vec<ColumnRef>>| {
            mention.end == mention.start + 1 && words[mention.start].lemma == "total"
        };
        let has_other = self.mentions.numbers.iter().any(|mention| !is_total(mention));
        if self.mentions.numbers.iter().any(is_total) && (has_other || self.parsed.cues.counts.is_some()) {
            self.mentions.numbers.retain(|mention| !is_total(mention));
            self.sums = true;
        }
    }

    /// Finds the column of each numeric filter.
    fn bind_numeric_filters(&mut self) -> Option<()> {
        for filter in &self.parsed.cues.numeric_filters {
            let after =
                self.mentions.numbers.iter().position(|mention| (filter.end..filter.end + 3).contains(&mention.start));
            let before = || self.mentions.numbers.iter().rposition(|mention| mention.end <= filter.start);
            let is_unit =
                |index: &usize| self.mentions.numbers[*index].start == filter.end || !self.names_table(filter.end);
            let columns = match after.or_else(before).filter(is_unit) {
                Some(index) => self.mentions.numbers.remove(index).target,
                None if filter.is_money => {
                    let table = self.model.catalog.table(&self.mentions.tables.first()?.target)?;
                    let money = table.columns.iter().find(|column| column.kind == ColumnType::Decimal)?;
                    vec![ColumnRef { table: table.name.clone(), column: money.name.clone() }]
                }
                None => return None,
            };
            self.numeric_filters.push((filter.clone(), columns));
        }
        Some(())
    }

    fn names_table(&self, index: usize) -> bool {
        self.mentions.tables.iter().any(|mention| mention.start == index)
    }

    /// Merges several mentions of one number; two different numbers prevent a query, unless rows are requested.
    fn merge_numbers(&mut self) -> Option<()> {
        let words = &self.parsed.words;
        if self.mentions.numbers.len() > 1 {
            let is_verb = |mention: &Mention<Vec<ColumnRef>>| words[mention.start].lemma == "sell";
            let others = self.mentions.numbers.iter().filter(|mention| !is_verb(mention)).count();
            self.mentions.numbers.retain(|mention| others == 0 || !is_verb(mention));
        }
        let mut all = std::mem::take(&mut self.mentions.numbers).into_iter();
        let Some(first) = all.next() else { return Some(()) };
        let rest: Vec<_> = all.collect();
        let mut shared = first.target.clone();
        for mention in &rest {
            shared.retain(|column_ref| mention.target.contains(column_ref));
        }
        if !shared.is_empty() {
            self.mentions.numbers = vec![Mention { target: shared, ..first }];
            return Some(());
        }
        self.mentions.numbers = std::iter::once(first).chain(rest).collect();
        let is_list = !(self.sums || self.averages || self.parsed.cues.counts.is_some());
        is_list.then_some(())
    }
}
