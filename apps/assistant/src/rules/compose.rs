//! From a question that is understood to a question to the data.
//!
//! Careful before clever: where a word is left over, a name could mean two things or a table cannot be reached without
//! counting rows twice, there is no query.

use super::Book;
use super::draft::{Draft, Wanted};
use super::lexicon::Place;
use super::parts::{Mention, Parts};
use super::query::Query;
use super::reading::Reading;
use super::signs::Limit;
use super::words::lemma;
use crate::data::Kind;

/// A question, its parts, and what was found out about them.
pub(super) struct Task<'a> {
    pub(super) book: &'a Book,
    pub(super) reading: &'a Reading,
    pub(super) parts: Parts,
    /// The limits with the columns they may be about.
    pub(super) limits: Vec<(Limit, Vec<Place>)>,
    pub(super) averages: bool,
    pub(super) sums: bool,
}

impl Book {
    /// The question to the data, where there is one that surely means the same.
    pub(super) fn query(&self, reading: &Reading) -> Option<Query> {
        if reading.signs.is_future {
            return None;
        }
        let mut task = Task {
            book: self,
            reading,
            parts: Parts::of(self, reading),
            limits: Vec::new(),
            averages: reading.signs.averages,
            sums: reading.signs.sums,
        };
        if let Some(query) = task.duration() {
            return Some(query);
        }
        task.settle_total();
        if !task.is_understood(&[]) || reading.signs.how_long {
            return None;
        }
        task.bind_limits()?;
        task.one_number()?;
        task.settle_size()?;
        let groups = task.groups()?;
        let wanted = task.wanted(&groups)?;
        task.anchors(&wanted).into_iter().find_map(|anchor| Draft::of(&task, anchor, &wanted, &groups))
    }
}

impl Task<'_> {
    /// Whether no word is left over but these, and units of what is asked for.
    fn is_understood(&self, more: &[&str]) -> bool {
        let mut names = Vec::new();
        let mut is_money = false;
        for place in self.parts.numbers.iter().flat_map(|mention| &mention.what) {
            names.extend(place.column.split('_').map(lemma));
            is_money |= self.book.column(place).is_some_and(|column| column.kind == Kind::Decimal);
        }
        let is_known = |at: &usize| {
            let word = &self.reading.words[*at];
            word.is_in(more)
                || names.contains(&word.lemma)
                || (is_money && word.is_in(&["euro", "euros", "eur", "money"]))
        };
        self.reading.unknown.iter().all(is_known)
    }

    /// How long it takes from one point in time to another, both of which are named.
    fn duration(&mut self) -> Option<Query> {
        let is_asked = self.reading.signs.how_long || self.reading.has_word(&["day", "days"]);
        let [first, second] = self.parts.dates.as_slice() else { return None };
        let (first, second) = (first.what.first()?.clone(), second.what.first()?.clone());
        let is_pair = first.table == second.table && first.column != second.column;
        let extra =
            ["day", "days", "take", "takes", "long", "once", "until", "till", "between", "after", "being", "it"];
        if !is_asked || !is_pair || !self.is_understood(&extra) {
            return None;
        }
        let table = self.book.catalog.table(&first.table)?;
        let place = |column: &str| table.columns.iter().position(|known| known.name == column);
        // What happens first stands first in the table.
        let is_turned = place(&first.column)? > place(&second.column)?;
        let (earlier, later) = if is_turned { (second, first) } else { (first, second) };
        self.parts.dates.clear();
        Draft::of(self, earlier.table.clone(), &Wanted::Days(earlier, later), &[])
    }

    /// `total` is a column, unless something else is counted or added up.
    fn settle_total(&mut self) {
        let words = &self.reading.words;
        let is_total =
            |mention: &Mention<Vec<Place>>| mention.end == mention.start + 1 && words[mention.start].lemma == "total";
        let has_other = self.parts.numbers.iter().any(|mention| !is_total(mention));
        if self.parts.numbers.iter().any(is_total) && (has_other || self.reading.signs.counts.is_some()) {
            self.parts.numbers.retain(|mention| !is_total(mention));
            self.sums = true;
        }
    }

    /// Finds the column that each limit is about.
    fn bind_limits(&mut self) -> Option<()> {
        for limit in &self.reading.signs.limits {
            let behind =
                self.parts.numbers.iter().position(|mention| (limit.end..limit.end + 3).contains(&mention.start));
            let before = || self.parts.numbers.iter().rposition(|mention| mention.end <= limit.start);
            let is_unit = |place: &usize| self.parts.numbers[*place].start == limit.end || !self.names_table(limit.end);
            let columns = match behind.or_else(before).filter(is_unit) {
                Some(place) => self.parts.numbers.remove(place).what,
                None if limit.is_money => {
                    let table = self.book.catalog.table(&self.parts.tables.first()?.what)?;
                    let money = table.columns.iter().find(|column| column.kind == Kind::Decimal)?;
                    vec![Place { table: table.name.clone(), column: money.name.clone() }]
                }
                None => return None,
            };
            self.limits.push((limit.clone(), columns));
        }
        Some(())
    }

    fn names_table(&self, at: usize) -> bool {
        self.parts.tables.iter().any(|mention| mention.start == at)
    }

    /// Several words for one number become one; for two different numbers there is no query, unless rows are asked for.
    fn one_number(&mut self) -> Option<()> {
        let words = &self.reading.words;
        if self.parts.numbers.len() > 1 {
            let is_verb = |mention: &Mention<Vec<Place>>| words[mention.start].lemma == "sell";
            let others = self.parts.numbers.iter().filter(|mention| !is_verb(mention)).count();
            self.parts.numbers.retain(|mention| others == 0 || !is_verb(mention));
        }
        let mut all = std::mem::take(&mut self.parts.numbers).into_iter();
        let Some(first) = all.next() else { return Some(()) };
        let rest: Vec<_> = all.collect();
        let mut shared = first.what.clone();
        for mention in &rest {
            shared.retain(|place| mention.what.contains(place));
        }
        if !shared.is_empty() {
            self.parts.numbers = vec![Mention { what: shared, ..first }];
            return Some(());
        }
        self.parts.numbers = std::iter::once(first).chain(rest).collect();
        let is_list = !(self.sums || self.averages || self.reading.signs.counts.is_some());
        is_list.then_some(())
    }
}
