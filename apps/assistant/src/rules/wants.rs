//! What a question about data wants to know: a count, a sum, an average or rows, and by what it is divided.

use super::compose::Task;
use super::draft::{Group, Wanted};
use super::lexicon::Place;
use super::parts::{Mention, Stored};

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
        if signs.most.is_some() && !self.is_ranking_of_rows() && groups.is_empty() {
            groups.push(self.entity()?);
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

    /// Whether the one with the most is a row with a number of its own: the most expensive product.
    fn is_ranking_of_rows(&self) -> bool {
        let Some(place) = self.parts.numbers.first().and_then(|mention| mention.what.first()) else { return false };
        let others = self.entities().into_iter().filter(|(_, group)| !self.is_own(group)).count();
        !self.averages && !self.sums && (!self.book.happens(&place.table) || others == 0)
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
