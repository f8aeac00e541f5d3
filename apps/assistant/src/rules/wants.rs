//! What a question about data wants to know: a count, a sum, an average or rows, and by what it is divided.

use super::compose::Task;
use super::draft::{Group, Wanted};
use super::lexicon::Place;
use super::parts::{Mention, Stored};
use super::signs::Most;
use crate::data::Kind;

/// Something that results can be divided by: where it is named, and what it is.
type Entity = (usize, Group);

impl Task<'_> {
    /// What the result is divided by; nothing where that is not clear.
    pub(super) fn groups(&mut self) -> Option<Vec<Group>> {
        let signs = &self.reading.signs;
        let mut groups: Vec<Group> = self.shared_places().map(Group::Values).into_iter().collect();
        if self.reading.periods.len() > 1 {
            groups.push(Group::Periods);
        }
        groups.extend(signs.every.map(Group::Dates));
        for (at, takes_plural) in &signs.groups {
            let Some((_, group)) = self.entities().into_iter().find(|(start, _)| start == at) else { continue };
            if self.is_own(&group) && *takes_plural {
                // Revenue per order is the average of the orders.
                self.averages = true;
            } else if *takes_plural || self.is_singular(*at) {
                groups.push(group);
            }
        }
        if signs.most.is_some() {
            self.keeps_entities(&groups)?;
            if groups.is_empty() && !self.is_ranking_of_rows() {
                groups.push(self.entity()?);
            }
        }
        let counted = signs.counts.and_then(|_| self.counted());
        let divides = |table: &String| groups.is_empty() && !self.asks_for_rows() && counted.as_ref() != Some(table);
        let divides_people: Vec<String> = self.people().into_iter().filter(divides).collect();
        groups.extend(divides_people.into_iter().map(Group::Table));
        let is_clear = !(signs.compares && groups.is_empty()) && groups.len() <= 2;
        is_clear.then_some(groups)
    }

    /// What is wanted.
    pub(super) fn wanted(&self, groups: &[Group]) -> Option<Wanted> {
        let signs = &self.reading.signs;
        let number = self.parts.numbers.first().map(|mention| mention.what.clone());
        let happens = |all: &[Place]| all.first().is_some_and(|place| self.book.happens(&place.table));
        match number {
            _ if self.averages && signs.counts.is_some() => None,
            Some(number) if self.averages => Some(Wanted::Average(number)),
            None if self.averages => None,
            Some(_) if signs.counts.is_some_and(|at| self.first_is_table(at)) => None,
            // How many refunds is not how much money.
            Some(number) if signs.counts.is_some() && self.book.is_money(&number) => None,
            Some(_) if signs.most.is_some() && self.is_ranking_of_rows() => Some(Wanted::Rows),
            Some(number) if signs.counts.is_some() || self.sums => Some(Wanted::Sum(number)),
            Some(number) if happens(&number) && self.reading.keys.is_empty() => Some(Wanted::Sum(number)),
            // What the rows of a group have together is their stock and not their price.
            Some(number) if self.divides_others(groups) => self.adds_up(&number).then_some(Wanted::Sum(number)),
            Some(_) => Some(Wanted::Rows),
            None if signs.counts.is_some() => Some(Wanted::Count(self.counted()?)),
            None if signs.most.is_some() || signs.compares || signs.every.is_some() || !groups.is_empty() => {
                Some(Wanted::Count(self.counted_in_groups(groups)?))
            }
            None if signs.how_much || self.sums => None,
            None => Some(Wanted::Rows),
        }
    }

    /// The tables that the query may start from, the likeliest first.
    pub(super) fn anchors(&self, wanted: &Wanted) -> Vec<String> {
        let mut all: Vec<String> = match wanted {
            Wanted::Count(table) => vec![table.clone()],
            Wanted::Sum(places) | Wanted::Average(places) => places.iter().map(|place| place.table.clone()).collect(),
            Wanted::Days(earlier, _) => vec![earlier.table.clone()],
            Wanted::Rows => {
                let columns = self.parts.numbers.iter().chain(&self.parts.texts).chain(&self.parts.dates);
                let columns = columns.flat_map(|mention| &mention.what).map(|place| place.table.clone());
                let values = self.parts.values.iter().flat_map(|mention| &mention.what);
                let tables = self.parts.tables.iter().map(|mention| mention.what.clone());
                let keys = self.reading.keys.iter().map(|(table, _)| table.clone());
                let conditions = self.parts.conditions.iter().map(|mention| mention.what.table.clone());
                let values = values.map(|stored| stored.place.table.clone());
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

    /// The places of which the question names several values.
    fn shared_places(&self) -> Option<Vec<Place>> {
        let values = &self.parts.values;
        let has =
            |mention: &Mention<Vec<Stored>>, place: &Place| mention.what.iter().any(|stored| stored.place == *place);
        for (index, mention) in values.iter().enumerate() {
            let places = mention.what.iter().map(|stored| stored.place.clone());
            let is_several = mention.what.iter().any(|stored| stored.values.len() > 1);
            let is_shared = |place: &Place| is_several || values[index + 1..].iter().any(|other| has(other, place));
            let shared: Vec<Place> = places.filter(is_shared).collect();
            if !shared.is_empty() {
                return Some(shared);
            }
        }
        None
    }

    /// Tables and texts that are named, in their order.
    fn entities(&self) -> Vec<Entity> {
        let tables = self.parts.tables.iter().map(|mention| (mention.start, Group::Table(mention.what.clone())));
        let texts = self.parts.texts.iter().map(|mention| (mention.start, Group::Column(mention.what.clone())));
        let mut all: Vec<Entity> = tables.chain(texts).collect();
        all.sort_by_key(|(start, _)| *start);
        all
    }

    /// Whether a group is the table whose rows are measured.
    fn is_own(&self, group: &Group) -> bool {
        let number = self.parts.numbers.first().and_then(|mention| mention.what.first());
        matches!((group, number), (Group::Table(table), Some(place)) if place.table == *table)
    }

    fn is_singular(&self, at: usize) -> bool {
        self.reading.words.get(at).is_some_and(|word| word.lower == word.lemma)
    }

    /// Whether the one with the most is a row with a number of its own: the most expensive product. What else is named is
    /// shown beside the row where it is asked about that row, as in `which supplier has the cheapest product`.
    fn is_ranking_of_rows(&self) -> bool {
        let Some(place) = self.parts.numbers.first().and_then(|mention| mention.what.first()) else { return false };
        let happens = self.book.happens(&place.table);
        let is_other = |group: &Group| !self.is_own(group) && (happens || !self.is_of_row(group, place));
        let has_others = self.entities().iter().any(|(_, group)| is_other(group));
        !self.averages && !self.sums && (!has_others || self.names_ranked_row(place))
    }

    /// Whether a group is a column of the table whose rows are measured.
    fn is_of_row(&self, group: &Group, row: &Place) -> bool {
        matches!(group, Group::Column(places) if places.iter().any(|place| place.table == row.table))
    }

    /// Whether the row is named together with what it has most of: `the cheapest product`, `the product with the highest
    /// price`.
    fn names_ranked_row(&self, row: &Place) -> bool {
        const BETWEEN: [&str; 11] = ["with", "that", "which", "has", "have", "had", "is", "are", "was", "were", "the"];
        let (Some(most), Some(number)) = (self.reading.signs.most, self.parts.numbers.first()) else { return false };
        let is_near = (most.at..=most.at + 1).contains(&number.start);
        let joins = |start: usize, end: usize| {
            self.reading.words.get(start..end).is_some_and(|words| words.iter().all(|word| word.is_in(&BETWEEN)))
        };
        let is_named = |mention: &Mention<String>| {
            let is_before = joins(mention.end, most.at) && self.is_singular(mention.start);
            mention.what == row.table && (mention.start == number.end || is_before)
        };
        is_near && self.parts.tables.iter().any(is_named)
    }

    /// Nothing where the one with the most is divided, and something that is named would get lost.
    fn keeps_entities(&self, groups: &[Group]) -> Option<()> {
        if groups.is_empty() {
            return Some(());
        }
        if self.is_ranking_of_rows() {
            let is_said = |group: &Group| matches!(group, Group::Table(_) | Group::Column(_) | Group::Dates(_));
            return (!groups.iter().any(is_said)).then_some(());
        }
        let counted = if self.parts.numbers.is_empty() { self.counted_with_most() } else { None };
        let is_kept = |(start, group): &Entity| groups.contains(group) || self.is_own(group) || Some(*start) == counted;
        self.entities().iter().all(is_kept).then_some(())
    }

    /// Whether the result is divided by something else than the rows that are measured.
    fn divides_others(&self, groups: &[Group]) -> bool {
        let Some(row) = self.parts.numbers.first().and_then(|mention| mention.what.first()) else { return false };
        let is_said = self.reading.signs.most.is_some() || !self.reading.signs.groups.is_empty();
        let is_other = |group: &Group| {
            matches!(group, Group::Table(_) | Group::Column(_)) && !self.is_own(group) && !self.is_of_row(group, row)
        };
        is_said && groups.iter().any(is_other)
    }

    /// Whether a number of things is asked for, which may be added up: of prices and weights nobody wants the sum.
    fn adds_up(&self, places: &[Place]) -> bool {
        const UNITS: [&str; 6] = ["_grams", "_days", "_hours", "_minutes", "_percent", "_year"];
        let counts = |place: &Place| {
            let column = self.book.column(place);
            column.is_some_and(|it| it.kind == Kind::Integer && !UNITS.iter().any(|unit| it.name.ends_with(unit)))
        };
        let Some(start) = self.parts.numbers.first().map(|mention| mention.start) else { return false };
        // `top 3 suppliers by stock`.
        let is_by = self.reading.signs.groups.iter().any(|(at, _)| *at == start);
        let is_most = |most: Most| self.is_amount(most.at) && start == most.at + 1;
        (is_by || self.reading.signs.most.is_none_or(is_most)) && places.iter().all(counts)
    }

    /// Whether a word asks for the number of something, and not for its size.
    fn is_amount(&self, at: usize) -> bool {
        self.reading.words.get(at).is_some_and(|word| word.is_in(&["most", "least", "fewest"]))
    }

    /// `the largest order`: an order is as large as its money. Nothing where a table has no such column, or several.
    pub(super) fn settle_size(&mut self) -> Option<()> {
        const SIZES: [&str; 6] = ["largest", "biggest", "greatest", "highest", "smallest", "lowest"];
        let Some(most) = self.reading.signs.most else { return Some(()) };
        if !self.parts.numbers.is_empty() || self.reading.signs.counts.is_some() {
            return Some(());
        }
        let behind = most.at + 1 + usize::from(self.reading.signs.limit.is_some());
        let sized = self.parts.tables.iter().find(|mention| (most.at + 1..=behind).contains(&mention.start));
        let Some(table) = sized.filter(|_| !self.is_amount(most.at)) else { return Some(()) };
        let is_size = self.reading.words[most.at].is_in(&SIZES);
        let columns = &self.book.catalog.table(&table.what).filter(|_| is_size)?.columns;
        let mut money = columns.iter().filter(|column| column.kind == Kind::Decimal);
        let column = money.next().filter(|_| money.next().is_none())?;
        let place = Place { table: table.what.clone(), column: column.name.clone() };
        self.parts.numbers.push(Mention { start: most.at, end: table.start, what: vec![place] });
        Some(())
    }

    fn asks_for_rows(&self) -> bool {
        let signs = &self.reading.signs;
        self.parts.numbers.is_empty() && signs.counts.is_none() && signs.every.is_none() && !self.sums && !self.averages
    }

    /// The tables of people that are named by a part of their name only.
    pub(super) fn people(&self) -> Vec<String> {
        let mut tables: Vec<String> = Vec::new();
        for table in &self.book.catalog.tables {
            let Some(names) = table.person() else { continue };
            let is_named = |column: &str| {
                let mut stored = self.parts.values.iter().flat_map(|mention| &mention.what);
                stored.any(|stored| stored.place.table == table.name && stored.place.column == column)
            };
            if is_named(&names[0].name) != is_named(&names[1].name) {
                tables.push(table.name.clone());
            }
        }
        tables
    }

    /// Whose most is wanted.
    fn entity(&self) -> Option<Group> {
        let counted = match self.parts.numbers.is_empty() {
            true => Some(self.counted_with_most()?),
            false => None,
        };
        let is_other = |(start, _): &Entity| Some(*start) != counted;
        self.entities().into_iter().find(is_other).map(|(_, group)| group)
    }

    /// Where the table is named whose rows are counted to find the most.
    fn counted_with_most(&self) -> Option<usize> {
        let at = self.reading.signs.counts.or(self.reading.signs.most.map(|most| most.at + 1))?;
        let behind = self.parts.tables.iter().find(|mention| mention.start >= at)?;
        (self.entities().len() > 1).then_some(behind.start)
    }

    /// The table that `how many` is about.
    fn counted(&self) -> Option<String> {
        let at = self.reading.signs.counts?;
        let Some(table) = self.parts.tables.iter().find(|mention| mention.start >= at) else {
            return if self.parts.tables.is_empty() { self.said_table() } else { None };
        };
        // What stands between, such as `late` in `how many late orders`, must belong to the table.
        let between: Vec<(usize, usize)> =
            self.parts.spans().into_iter().filter(|(start, _)| (at..table.start).contains(start)).collect();
        let is_joined = between.windows(2).all(|pair| pair[0].1 == pair[1].0);
        (is_joined && between.last().is_none_or(|(_, end)| *end == table.start)).then(|| table.what.clone())
    }

    fn first_is_table(&self, at: usize) -> bool {
        let first = self.parts.spans().into_iter().find(|(start, _)| *start >= at);
        first.is_some_and(|(start, _)| self.parts.tables.iter().any(|mention| mention.start == start))
    }

    /// The table that is counted where a number is wanted for each group.
    fn counted_in_groups(&self, groups: &[Group]) -> Option<String> {
        if self.reading.signs.most.is_some() {
            let start = self.counted_with_most()?;
            return self.parts.tables.iter().find(|mention| mention.start == start).map(|mention| mention.what.clone());
        }
        let is_free = |mention: &&Mention<String>| !groups.contains(&Group::Table(mention.what.clone()));
        match self.parts.tables.iter().find(is_free) {
            Some(mention) => Some(mention.what.clone()),
            None => self.said_table(),
        }
    }

    /// The table that words of the synonyms are about, where no table is named: `club members`.
    fn said_table(&self) -> Option<String> {
        let condition = self.parts.conditions.first().map(|mention| mention.what.table.clone());
        let values = self.parts.values.iter().filter_map(|mention| mention.what.first());
        let value = values.filter(|stored| stored.is_synonym).map(|stored| stored.place.table.clone()).next();
        let date = self.parts.dates.first().and_then(|mention| mention.what.first()).map(|place| place.table.clone());
        condition.or(value).or(date)
    }
}
