//! Rules in place of a language model: they plan, answer, judge and sum up behind the same port, and say what they are.
//!
//! A question is read with the names in the data, the words of the synonyms and the days it speaks of. What is understood
//! to the last word is asked of the data; everything else is looked up in documents, and quoted only where a sentence has
//! the words of the question. What is neither is not known, and the answer says so. Nothing is guessed.

mod answers;
mod compose;
mod days;
mod draft;
mod judge;
mod lexicon;
mod parts;
mod plans;
mod query;
mod reading;
mod routes;
mod select;
mod signs;
mod sums;
mod synonyms;
mod talk;
mod topic;
mod wants;
mod words;

use superstep::model::{Reply, Rules};

use crate::data::{Catalog, Column, Kind};
use crate::prompt::{Ask, Task};
use lexicon::{Lexicon, Place};
use routes::Routes;
pub use synonyms::Synonyms;

/// What the rules call themselves where people read it.
pub const LABEL: &str = "rule-based, no language model";

/// Rules for this data and these words: `local/rules`.
///
/// ```
/// use superstep_assistant::data::Data;
/// use superstep_assistant::rules::{Synonyms, rules};
/// use superstep_assistant::sample;
///
/// # fn main() -> superstep::Result<()> {
/// let synonyms = Synonyms::parse(&sample::text("synonyms.txt").unwrap_or_default())?;
/// let model = rules(Data::sample()?.catalog().clone(), synonyms);
/// # let _ = model;
/// # Ok(()) }
/// ```
#[must_use]
pub fn rules(catalog: Catalog, synonyms: Synonyms) -> Rules {
    by_book(Book::new(catalog, &synonyms))
}

/// As [`rules`], where queries ask other data unless told: their calls name this data set.
#[must_use]
pub fn rules_naming(dataset: impl Into<String>, catalog: Catalog, synonyms: Synonyms) -> Rules {
    by_book(Book { dataset: Some(dataset.into()), ..Book::new(catalog, &synonyms) })
}

fn by_book(book: Book) -> Rules {
    Rules::with(move |request, _| match Ask::read(request) {
        Some(ask) => Reply::text(book.reply(&ask)),
        None => Reply::text(format!("This assistant is {LABEL}, and answers the questions of its own graph only.")),
    })
}

/// What the rules go by.
struct Book {
    catalog: Catalog,
    lexicon: Lexicon,
    routes: Routes,
    /// The data set that calls name, where they have to.
    dataset: Option<String>,
}

impl Book {
    fn new(catalog: Catalog, synonyms: &Synonyms) -> Self {
        Self { lexicon: Lexicon::new(&catalog, synonyms), routes: Routes::new(&catalog), dataset: None, catalog }
    }

    fn reply(&self, ask: &Ask) -> String {
        match ask.task {
            Task::Plan => self.plan(ask).to_text(),
            Task::Answer => self.answer(ask),
            Task::Verify => self.judge(ask),
            Task::Summarize => judge::summed(ask),
        }
    }

    fn column(&self, place: &Place) -> Option<&Column> {
        self.catalog.table(&place.table)?.column(&place.column)
    }

    /// Whether these places hold money.
    fn is_money(&self, places: &[Place]) -> bool {
        places.iter().any(|place| self.column(place).is_some_and(|column| column.kind == Kind::Decimal))
    }

    /// Whether rows of a table are things that happen, or parts of such things.
    fn happens(&self, table: &str) -> bool {
        let Some(table) = self.catalog.table(table) else { return false };
        let parents = table.columns.iter().filter_map(|column| column.references.as_ref());
        let mut all = parents.filter_map(|(table, _)| self.catalog.table(table)).chain([table]);
        all.any(|table| table.event().is_some())
    }
}
