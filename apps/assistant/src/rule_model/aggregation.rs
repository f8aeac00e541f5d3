//! Aggregation in a question about data: count, sum, average or rows, and the grouping.

use super::lexicon::ColumnRef;
use super::mentions::{Mention, StoredValue};
use super::query_builder::QueryBuilder;
use super::query_cues::Superlative;
use super::query_draft::{GroupBy, Measure};
use crate::data::ColumnType;

/// A possible grouping, with the index of its word.
type GroupMention = (usize, GroupBy);

impl QueryBuilder<'_> {
    /// Returns the groupings; `None` if they are ambiguous.
    pub(super) fn groups(&mut self) -> Option<Vec<GroupBy>> {
        let cues = &self.parsed.cues;
        let mut groups: Vec<GroupBy> = self.shared_columns().map(GroupBy::Values).into_iter().collect();
        if self.parsed.periods.len() > 1 {
            groups.push(GroupBy::Periods);
        }
        groups.extend(cues.date_prefix.map(GroupBy::Dates));
        for (index, takes_plural) in &cues.groups {
            let Some((_, group)) = self.entities().into_iter().find(|(start, _)| start == index) else { continue };
            if self.is_own(&group) && *takes_plural {
                // Revenue per order is the average over orders.
                self.averages = true;
            } else if *takes_plural || self.is_singular(*index) {
                groups.push(group);
            }
        }
        if cues.superlative.is_some() {
            self.check_entities(&groups)?;
            if groups.is_empty() && !self.is_ranking_of_rows() {
                groups.push(self.superlative_group()?);
            }
        }
        let counted = cues.counts.and_then(|_| self.counted());
        let divides = |table: &String| groups.is_empty() && !self.asks_for_rows() && counted.as_ref() != Some(table);
        let divides_people: Vec<String> = self.people().into_iter().filter(divides).collect();
        groups.extend(divides_people.into_iter().map(GroupBy::Table));
        let is_clear = !(cues.compares && groups.is_empty()) && groups.len() <= 2;
        is_clear.then_some(groups)
    }

    /// Returns the measure.
    pub(super) fn measure(&self, groups: &[GroupBy]) -> Option<Measure> {
        let cues = &self.parsed.cues;
        let number = self.mentions.numbers.first().map(|mention| mention.target.clone());
        let is_event =
            |all: &[ColumnRef]| all.first().is_some_and(|column_ref| self.model.is_event_table(&column_ref.table));
        match number {
            _ if self.averages && cues.counts.is_some() => None,
            Some(number) if self.averages => Some(Measure::Average(number)),
            None if self.averages => None,
            Some(_) if cues.counts.is_some_and(|index| self.first_is_table(index)) => None,
            // The number of refunds is not the amount of money.
            Some(number) if cues.counts.is_some() && self.model.is_money(&number) => None,
            Some(_) if cues.superlative.is_some() && self.is_ranking_of_rows() => Some(Measure::Rows),
            Some(number) if cues.counts.is_some() || self.sums => Some(Measure::Sum(number)),
            Some(number) if is_event(&number) && self.parsed.keys.is_empty() => Some(Measure::Sum(number)),
            // The total over a group makes sense for stock and not for prices.
            Some(number) if self.divides_others(groups) => self.is_additive(&number).then_some(Measure::Sum(number)),
            Some(_) => Some(Measure::Rows),
            None if cues.counts.is_some() => Some(Measure::Count(self.counted()?)),
            None if cues.superlative.is_some() || cues.compares || cues.date_prefix.is_some() || !groups.is_empty() => {
                Some(Measure::Count(self.counted_in_groups(groups)?))
            }
            None if cues.how_much || self.sums => None,
            None => Some(Measure::Rows),
        }
    }

    /// Returns the tables that the query may be built around, most likely first.
    pub(super) fn candidate_tables(&self, measure: &Measure) -> Vec<String> {
        let mut all: Vec<String> = match measure {
            Measure::Count(table) => vec![table.clone()],
            Measure::Sum(column_refs) | Measure::Average(column_refs) => {
                column_refs.iter().map(|column_ref| column_ref.table.clone()).collect()
            }
            Measure::Days(earlier, _) => vec![earlier.table.clone()],
            Measure::Rows => {
                let columns = self.mentions.numbers.iter().chain(&self.mentions.texts).chain(&self.mentions.dates);
                let columns = columns.flat_map(|mention| &mention.target).map(|column_ref| column_ref.table.clone());
                let values = self.mentions.values.iter().flat_map(|mention| &mention.target);
                let tables = self.mentions.tables.iter().map(|mention| mention.target.clone());
                let keys = self.parsed.keys.iter().map(|(table, _)| table.clone());
                let conditions = self.mentions.conditions.iter().map(|mention| mention.target.table.clone());
                let values = values.map(|stored| stored.column_ref.table.clone());
                tables.chain(keys).chain(values).chain(conditions).chain(columns).collect()
            }
        };
        let mut seen = Vec::new();
        all.retain(|table| {
            !seen.contains(table) && {
                seen.push(table.clone());
                true
            }
        });
        all
    }

    /// Returns the columns of which the question names several values.
    fn shared_columns(&self) -> Option<Vec<ColumnRef>> {
        let values = &self.mentions.values;
        let has = |mention: &Mention<Vec<StoredValue>>, column_ref: &ColumnRef| {
            mention.target.iter().any(|stored| stored.column_ref == *column_ref)
        };
        for (index, mention) in values.iter().enumerate() {
            let column_refs = mention.target.iter().map(|stored| stored.column_ref.clone());
            let is_several = mention.target.iter().any(|stored| stored.values.len() > 1);
            let is_shared =
                |column_ref: &ColumnRef| is_several || values[index + 1..].iter().any(|other| has(other, column_ref));
            let shared: Vec<ColumnRef> = column_refs.filter(is_shared).collect();
            if !shared.is_empty() {
                return Some(shared);
            }
        }
        None
    }

    /// Returns the mentioned tables and text columns, in order.
    fn entities(&self) -> Vec<GroupMention> {
        let tables = self.mentions.tables.iter().map(|mention| (mention.start, GroupBy::Table(mention.target.clone())));
        let texts = self.mentions.texts.iter().map(|mention| (mention.start, GroupBy::Column(mention.target.clone())));
        let mut all: Vec<GroupMention> = tables.chain(texts).collect();
        all.sort_by_key(|(start, _)| *start);
        all
    }

    /// Returns true if the group is the table whose rows are measured.
    fn is_own(&self, group: &GroupBy) -> bool {
        let number = self.mentions.numbers.first().and_then(|mention| mention.target.first());
        matches!((group, number), (GroupBy::Table(table), Some(column_ref)) if column_ref.table == *table)
    }

    fn is_singular(&self, index: usize) -> bool {
        self.parsed.words.get(index).is_some_and(|word| word.lower == word.lemma)
    }

    /// Returns true if the superlative selects rows by a column of their own, such as the most expensive product.
    /// Other mentioned tables are shown next to the row if the question refers to that row, as in `which supplier
    /// has the cheapest product`.
    fn is_ranking_of_rows(&self) -> bool {
        let Some(column_ref) = self.mentions.numbers.first().and_then(|mention| mention.target.first()) else {
            return false;
        };
        let is_event = self.model.is_event_table(&column_ref.table);
        let is_other = |group: &GroupBy| !self.is_own(group) && (is_event || !self.is_of_row(group, column_ref));
        let has_others = self.entities().iter().any(|(_, group)| is_other(group));
        !self.averages && !self.sums && (!has_others || self.names_ranked_row(column_ref))
    }

    /// Returns true if the group is a column of the table whose rows are measured.
    fn is_of_row(&self, group: &GroupBy, row: &ColumnRef) -> bool {
        matches!(group, GroupBy::Column(column_refs) if column_refs.iter().any(|other| other.table == row.table))
    }

    /// Returns true if the row is mentioned together with its superlative: `the cheapest product`, `the product
    /// with the highest price`.
    fn names_ranked_row(&self, row: &ColumnRef) -> bool {
        const BETWEEN: [&str; 11] = ["with", "that", "which", "has", "have", "had", "is", "are", "was", "were", "the"];
        let (Some(superlative), Some(number)) = (self.parsed.cues.superlative, self.mentions.numbers.first()) else {
            return false;
        };
        let is_near = (superlative.index..=superlative.index + 1).contains(&number.start);
        let joins = |start: usize, end: usize| {
            self.parsed.words.get(start..end).is_some_and(|words| words.iter().all(|word| word.is_in(&BETWEEN)))
        };
        let is_named = |mention: &Mention<String>| {
            let is_before = joins(mention.end, superlative.index) && self.is_singular(mention.start);
            mention.target == row.table && (mention.start == number.end || is_before)
        };
        is_near && self.mentions.tables.iter().any(is_named)
    }

    /// Returns `None` if a superlative over groups would drop a mentioned table or column.
    fn check_entities(&self, groups: &[GroupBy]) -> Option<()> {
        if groups.is_empty() {
            return Some(());
        }
        if self.is_ranking_of_rows() {
            let is_mentioned =
                |group: &GroupBy| matches!(group, GroupBy::Table(_) | GroupBy::Column(_) | GroupBy::Dates(_));
            return (!groups.iter().any(is_mentioned)).then_some(());
        }
        let counted = if self.mentions.numbers.is_empty() { self.counted_word() } else { None };
        let is_covered =
            |(start, group): &GroupMention| groups.contains(group) || self.is_own(group) || Some(*start) == counted;
        self.entities().iter().all(is_covered).then_some(())
    }

    /// Returns true if the result is grouped by something other than the measured rows.
    fn divides_others(&self, groups: &[GroupBy]) -> bool {
        let Some(row) = self.mentions.numbers.first().and_then(|mention| mention.target.first()) else { return false };
        let is_mentioned = self.parsed.cues.superlative.is_some() || !self.parsed.cues.groups.is_empty();
        let is_other = |group: &GroupBy| {
            matches!(group, GroupBy::Table(_) | GroupBy::Column(_))
                && !self.is_own(group)
                && !self.is_of_row(group, row)
        };
        is_mentioned && groups.iter().any(is_other)
    }

    /// Returns true if the number is additive, such as a quantity; prices and weights are not summed.
    fn is_additive(&self, column_refs: &[ColumnRef]) -> bool {
        const UNITS: [&str; 6] = ["_grams", "_days", "_hours", "_minutes", "_percent", "_year"];
        let is_quantity = |column_ref: &ColumnRef| {
            let column = self.model.column(column_ref);
            column.is_some_and(|column| {
                column.kind == ColumnType::Integer && !UNITS.iter().any(|unit| column.name.ends_with(unit))
            })
        };
        let Some(start) = self.mentions.numbers.first().map(|mention| mention.start) else { return false };
        // As in `top 3 suppliers by stock`.
        let is_by = self.parsed.cues.groups.iter().any(|(index, _)| *index == start);
        let is_most = |superlative: Superlative| self.is_amount(superlative.index) && start == superlative.index + 1;
        (is_by || self.parsed.cues.superlative.is_none_or(is_most)) && column_refs.iter().all(is_quantity)
    }

    /// Returns true if the word asks for a number of things and not for a size.
    fn is_amount(&self, index: usize) -> bool {
        self.parsed.words.get(index).is_some_and(|word| word.is_in(&["most", "least", "fewest"]))
    }

    /// Resolves `the largest order` to the money column of the table. Returns `None` if the table has no such
    /// column, or several.
    pub(super) fn resolve_size_column(&mut self) -> Option<()> {
        const SIZES: [&str; 6] = ["largest", "biggest", "greatest", "highest", "smallest", "lowest"];
        let Some(superlative) = self.parsed.cues.superlative else { return Some(()) };
        if !self.mentions.numbers.is_empty() || self.parsed.cues.counts.is_some() {
            return Some(());
        }
        let next = superlative.index + 1 + usize::from(self.parsed.cues.limit.is_some());
        let sized = self.mentions.tables.iter().find(|mention| (superlative.index + 1..=next).contains(&mention.start));
        let Some(table) = sized.filter(|_| !self.is_amount(superlative.index)) else { return Some(()) };
        let is_size = self.parsed.words[superlative.index].is_in(&SIZES);
        let columns = &self.model.catalog.table(&table.target).filter(|_| is_size)?.columns;
        let mut money = columns.iter().filter(|column| column.kind == ColumnType::Decimal);
        let column = money.next().filter(|_| money.next().is_none())?;
        let column_ref = ColumnRef { table: table.target.clone(), column: column.name.clone() };
        self.mentions.numbers.push(Mention { start: superlative.index, end: table.start, target: vec![column_ref] });
        Some(())
    }

    fn asks_for_rows(&self) -> bool {
        let cues = &self.parsed.cues;
        self.mentions.numbers.is_empty()
            && cues.counts.is_none()
            && cues.date_prefix.is_none()
            && !self.sums
            && !self.averages
    }

    /// Returns the tables of people who are mentioned by only a part of their name.
    pub(super) fn people(&self) -> Vec<String> {
        let mut tables: Vec<String> = Vec::new();
        for table in &self.model.catalog.tables {
            let Some(names) = table.person() else { continue };
            let is_named = |column: &str| {
                let mut stored = self.mentions.values.iter().flat_map(|mention| &mention.target);
                stored.any(|stored| stored.column_ref.table == table.name && stored.column_ref.column == column)
            };
            if is_named(&names[0].name) != is_named(&names[1].name) {
                tables.push(table.name.clone());
            }
        }
        tables
    }

    /// Returns the group of a superlative.
    fn superlative_group(&self) -> Option<GroupBy> {
        let counted = match self.mentions.numbers.is_empty() {
            true => Some(self.counted_word()?),
            false => None,
        };
        let is_other = |(start, _): &GroupMention| Some(*start) != counted;
        self.entities().into_iter().find(is_other).map(|(_, group)| group)
    }

    /// Returns the word index of the table whose rows are counted for a superlative.
    fn counted_word(&self) -> Option<usize> {
        let index =
            self.parsed.cues.counts.or(self.parsed.cues.superlative.map(|superlative| superlative.index + 1))?;
        let table = self.mentions.tables.iter().find(|mention| mention.start >= index)?;
        (self.entities().len() > 1).then_some(table.start)
    }

    /// Returns the table that `how many` refers to.
    fn counted(&self) -> Option<String> {
        let index = self.parsed.cues.counts?;
        let Some(table) = self.mentions.tables.iter().find(|mention| mention.start >= index) else {
            return if self.mentions.tables.is_empty() { self.implied_table() } else { None };
        };
        // The words in between, such as `late` in `how many late orders`, must belong to the table.
        let between: Vec<(usize, usize)> =
            self.mentions.spans().into_iter().filter(|(start, _)| (index..table.start).contains(start)).collect();
        let is_joined = between.windows(2).all(|pair| pair[0].1 == pair[1].0);
        (is_joined && between.last().is_none_or(|(_, end)| *end == table.start)).then(|| table.target.clone())
    }

    fn first_is_table(&self, index: usize) -> bool {
        let first = self.mentions.spans().into_iter().find(|(start, _)| *start >= index);
        first.is_some_and(|(start, _)| self.mentions.tables.iter().any(|mention| mention.start == start))
    }

    /// Returns the table whose rows are counted per group.
    fn counted_in_groups(&self, groups: &[GroupBy]) -> Option<String> {
        if self.parsed.cues.superlative.is_some() {
            let start = self.counted_word()?;
            return self
                .mentions
                .tables
                .iter()
                .find(|mention| mention.start == start)
                .map(|mention| mention.target.clone());
        }
        let is_free = |mention: &&Mention<String>| !groups.contains(&GroupBy::Table(mention.target.clone()));
        match self.mentions.tables.iter().find(is_free) {
            Some(mention) => Some(mention.target.clone()),
            None => self.implied_table(),
        }
    }

    /// Returns the table implied by synonyms if no table is named: `club members`.
    fn implied_table(&self) -> Option<String> {
        let condition = self.mentions.conditions.first().map(|mention| mention.target.table.clone());
        let values = self.mentions.values.iter().filter_map(|mention| mention.target.first());
        let value = values.filter(|stored| stored.is_synonym).map(|stored| stored.column_ref.table.clone()).next();
        let date = self
            .mentions
            .dates
            .first()
            .and_then(|mention| mention.target.first())
            .map(|column_ref| column_ref.table.clone());
        condition.or(value).or(date)
    }
}
