//! Query expansion by synonyms and co-occurring terms, and removal of stop words.
//!
//! Expands a question into queries that also find texts with a different wording. Has no model of meaning: it uses
//! an editable synonym list and the co-occurrence of words in the documents.

mod stemmer;
mod stop_words;
mod synonyms;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use superstep::Result;

use crate::sources::{Docs, MAX_QUERY_CHARS};
use synonyms::SynonymFile;

pub use stemmer::stem;

/// Maximum number of co-occurring terms that are added to a query.
const MAX_COOCCURRING_TERMS: usize = 4;
/// Maximum number of candidate terms that are looked up in the index.
const MAX_CANDIDATES: usize = 40;
/// Maximum number of sections that are analysed for co-occurring terms.
const MAX_SECTIONS: usize = 6;

/// Query expander with a synonym list and an index of documents.
#[derive(Debug)]
pub struct QueryExpander {
    list: SynonymFile,
    docs: Option<Arc<Docs>>,
}

impl QueryExpander {
    /// Creates an expander from a synonym file and the documents used for co-occurring terms.
    ///
    /// # Errors
    /// Returns an error if the synonym file is set and cannot be read.
    pub fn open(list: Option<&Path>, docs: Option<Arc<Docs>>) -> Result<Self> {
        Ok(Self { list: SynonymFile::open(list)?, docs })
    }

    /// Returns expansion terms for a text: synonyms first, then co-occurring terms.
    #[must_use]
    pub fn expand(&self, text: &str) -> Vec<String> {
        let mut words = self.synonyms(text);
        let seen: BTreeSet<String> = words.iter().flat_map(|term| words_of(term)).collect();
        words.extend(self.cooccurring_terms(text).into_iter().filter(|word| !seen.contains(word)));
        words
    }

    /// Returns the synonyms of words and phrases in the text, in the order of the text.
    #[must_use]
    pub fn synonyms(&self, text: &str) -> Vec<String> {
        self.list.matches(&words_of(text)).into_iter().flat_map(|matched| matched.others).collect()
    }

    /// Returns two or three queries for a question: its own words, synonyms, and a broader query. A question without
    /// content words is its own only query.
    #[must_use]
    pub fn queries(&self, text: &str) -> Vec<String> {
        let content = content_words(text);
        let matches = self.list.matches(&words_of(text));
        let others: Vec<String> = matches.iter().flat_map(|matched| &matched.others).cloned().collect();
        let matched_words: BTreeSet<String> =
            matches.iter().flat_map(|matched| matched.words.iter().cloned()).collect();
        let rest = content.iter().filter(|word| !matched_words.contains(*word)).cloned();
        let technical: Vec<String> = others.iter().cloned().chain(rest).collect();
        let cooccurring = self.cooccurring_terms(text);
        let broader = content.iter().chain(&others).chain(&cooccurring).cloned().collect();
        let mut queries: Vec<String> = Vec::new();
        for words in [content, technical, broader] {
            let query = join_query(words);
            if !query.is_empty() && !queries.contains(&query) {
                queries.push(query);
            }
        }
        queries
    }

    /// Returns terms that are frequent in the sections matching a text and rare elsewhere.
    #[must_use]
    pub fn cooccurring_terms(&self, text: &str) -> Vec<String> {
        let Some(docs) = &self.docs else { return Vec::new() };
        let query_stems: BTreeSet<String> = content_words(text).iter().map(|word| stem(word)).collect();
        let query: Vec<String> = content_words(text).into_iter().chain(self.synonyms(text)).collect();
        let sections = docs.texts(&query.join(" "), MAX_SECTIONS);
        let mut counts: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for section in &sections {
            let words: BTreeMap<String, String> =
                content_words(section).into_iter().map(|word| (stem(&word), word)).collect();
            for (stem, word) in
                words.into_iter().filter(|(stem, word)| is_informative(word) && !query_stems.contains(stem))
            {
                counts.entry(stem).or_insert((word, 0)).1 += 1;
            }
        }
        let mut counts: Vec<(String, usize)> = counts.into_values().filter(|(_, count)| *count > 1).collect();
        // Limits the candidates, because each one costs an index lookup.
        counts.sort_by(|(first, a), (second, b)| b.cmp(a).then_with(|| first.cmp(second)));
        let mut scored: Vec<(f64, String)> = Vec::new();
        for (word, count) in counts.into_iter().take(MAX_CANDIDATES) {
            let total = docs.count(&word).max(count);
            scored.push((count as f64 / (total as f64).sqrt(), word));
        }
        scored.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.cmp(second)));
        scored.into_iter().take(MAX_COOCCURRING_TERMS).map(|(_, word)| word).collect()
    }
}

/// Returns the distinct content words of a text in order. If there are only stop words, returns all words.
///
/// ```
/// use superstep_suggestions::query_expansion::content_words;
/// assert_eq!(content_words("How do I roll back the pods?"), ["roll", "back", "pods"]);
/// ```
#[must_use]
pub fn content_words(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let words: Vec<String> = words_of(text).into_iter().filter(|word| seen.insert(word.clone())).collect();
    let significant: Vec<String> = words.iter().filter(|word| !stop_words::is_stop_word(word)).cloned().collect();
    if significant.is_empty() { words } else { significant }
}

/// Returns the words of a text in lower case.
fn words_of(text: &str) -> Vec<String> {
    superstep::core::store::words(text)
}

/// Returns the beginning of a text with at most `max_chars` characters, cut at a word boundary if possible. Returns
/// `None` if the whole text fits.
pub(crate) fn cut_at_word(text: &str, max_chars: usize) -> Option<&str> {
    let (end, _) = text.char_indices().nth(max_chars)?;
    let (head, rest) = text.split_at(end);
    // A word that ends exactly at the limit is complete.
    let is_whole = rest.starts_with(char::is_whitespace);
    let last = if is_whole { None } else { head.rsplit_once(char::is_whitespace) };
    Some(last.map_or(head, |(before, _)| before).trim_end())
}

/// Returns true if a word of a document is informative enough to be added to a query.
fn is_informative(word: &str) -> bool {
    word.chars().count() >= 4 && word.chars().all(char::is_alphabetic) && !stop_words::is_stop_word(word)
}

/// Joins distinct words up to the maximum length of a query.
fn join_query(words: Vec<String>) -> String {
    let mut query = String::new();
    let mut seen = BTreeSet::new();
    for word in words {
        let longer = query.chars().count() + word.chars().count() + 1;
        if longer <= MAX_QUERY_CHARS && seen.insert(word.clone()) {
            query.push_str(if query.is_empty() { "" } else { " " });
            query.push_str(&word);
        }
    }
    query
}
