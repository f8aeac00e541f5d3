//! Words that mean the same, words that occur together, and words that mean nothing to a search.
//!
//! Expands what somebody asks into queries that find what others wrote in other words. Knows no meaning: what it knows is
//! a list that people edit, and which words stand together in the documents.

mod list;
mod stems;
mod stops;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use superstep::Result;

use crate::sources::{Docs, LONGEST_QUERY};
use list::List;

pub use stems::stem;

/// How many words that occur together are added.
const MOST_TOGETHER: usize = 4;
/// How many words are looked up to choose those from.
const MOST_CANDIDATES: usize = 40;
/// How many sections are looked at for words that occur together.
const SECTIONS: usize = 6;

/// The words of an application.
#[derive(Debug)]
pub struct Words {
    list: List,
    docs: Option<Arc<Docs>>,
}

impl Words {
    /// Reads a list of words that mean the same, and looks at documents for words that occur together.
    ///
    /// # Errors
    /// When the list is named and cannot be read.
    pub fn open(list: Option<&Path>, docs: Option<Arc<Docs>>) -> Result<Self> {
        Ok(Self { list: List::open(list)?, docs })
    }

    /// Other words for what a text says: those of the list first, then those that occur together with it.
    #[must_use]
    pub fn expand(&self, text: &str) -> Vec<String> {
        let mut words = self.synonyms(text);
        let seen: BTreeSet<String> = words.iter().flat_map(|term| all(term)).collect();
        words.extend(self.together(text).into_iter().filter(|word| !seen.contains(word)));
        words
    }

    /// The words and phrases of the list that mean the same as some of the text, in the text's order.
    #[must_use]
    pub fn synonyms(&self, text: &str) -> Vec<String> {
        self.list.matches(&all(text)).into_iter().flat_map(|matched| matched.others).collect()
    }

    /// Two or three queries for the same question: its own words, other words for them, and a broader one.
    /// One without words that mean something is its own only query.
    #[must_use]
    pub fn queries(&self, text: &str) -> Vec<String> {
        let own = content(text);
        let matches = self.list.matches(&all(text));
        let others: Vec<String> = matches.iter().flat_map(|matched| &matched.others).cloned().collect();
        let held: BTreeSet<String> = matches.iter().flat_map(|matched| matched.words.iter().cloned()).collect();
        let rest = own.iter().filter(|word| !held.contains(*word)).cloned();
        let technical: Vec<String> = others.iter().cloned().chain(rest).collect();
        let together = self.together(text);
        let broader = own.iter().chain(&others).chain(&together).cloned().collect();
        let mut queries: Vec<String> = Vec::new();
        for words in [own, technical, broader] {
            let query = joined(words);
            if !query.is_empty() && !queries.contains(&query) {
                queries.push(query);
            }
        }
        queries
    }

    /// Words that stand in the sections which fit a text, and in few others.
    #[must_use]
    pub fn together(&self, text: &str) -> Vec<String> {
        let Some(docs) = &self.docs else { return Vec::new() };
        let own: BTreeSet<String> = content(text).iter().map(|word| stem(word)).collect();
        let query: Vec<String> = content(text).into_iter().chain(self.synonyms(text)).collect();
        let sections = docs.texts(&query.join(" "), SECTIONS);
        let mut counts: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for section in &sections {
            let words: BTreeMap<String, String> =
                content(section).into_iter().map(|word| (stem(&word), word)).collect();
            for (stem, word) in words.into_iter().filter(|(stem, word)| is_telling(word) && !own.contains(stem)) {
                counts.entry(stem).or_insert((word, 0)).1 += 1;
            }
        }
        let mut counts: Vec<(String, usize)> = counts.into_values().filter(|(_, count)| *count > 1).collect();
        // Each costs a look into the index.
        counts.sort_by(|(first, a), (second, b)| b.cmp(a).then_with(|| first.cmp(second)));
        let mut scored: Vec<(f64, String)> = Vec::new();
        for (word, count) in counts.into_iter().take(MOST_CANDIDATES) {
            let everywhere = docs.count(&word).max(count);
            scored.push((count as f64 / (everywhere as f64).sqrt(), word));
        }
        scored.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.cmp(second)));
        scored.into_iter().take(MOST_TOGETHER).map(|(_, word)| word).collect()
    }
}

/// The words of a text that a search can do something with, each once, in the text's order; all of them when none can.
///
/// ```
/// use superstep_suggestions::words::content;
/// assert_eq!(content("How do I roll back the pods?"), ["roll", "back", "pods"]);
/// ```
#[must_use]
pub fn content(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let words: Vec<String> = all(text).into_iter().filter(|word| seen.insert(word.clone())).collect();
    let telling: Vec<String> = words.iter().filter(|word| !stops::is_stop(word)).cloned().collect();
    if telling.is_empty() { words } else { telling }
}

/// The words of a text, in lower case.
fn all(text: &str) -> Vec<String> {
    superstep::core::store::words(text)
}

/// As much of a text as this many characters hold, up to a whole word where there is one; none when all of it fits.
pub(crate) fn cut(text: &str, most: usize) -> Option<&str> {
    let (end, _) = text.char_indices().nth(most)?;
    let (head, rest) = text.split_at(end);
    // A word that ends exactly there is whole.
    let is_whole = rest.starts_with(char::is_whitespace);
    let last = if is_whole { None } else { head.rsplit_once(char::is_whitespace) };
    Some(last.map_or(head, |(before, _)| before).trim_end())
}

/// Whether a word that others wrote says something about what they wrote about.
fn is_telling(word: &str) -> bool {
    word.chars().count() >= 4 && word.chars().all(char::is_alphabetic) && !stops::is_stop(word)
}

/// Words as a query, each once, as many as a query may have.
fn joined(words: Vec<String>) -> String {
    let mut query = String::new();
    let mut seen = BTreeSet::new();
    for word in words {
        let longer = query.chars().count() + word.chars().count() + 1;
        if longer <= LONGEST_QUERY && seen.insert(word.clone()) {
            query.push_str(if query.is_empty() { "" } else { " " });
            query.push_str(&word);
        }
    }
    query
}
