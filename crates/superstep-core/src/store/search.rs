//! Ranks search results and selects the requested page: the same way in every store.
//!
//! A store adds candidates in any order, more than requested; candidates that do not match are dropped here. Scores
//! depend only on the matching items, so that two stores with the same items give the same scores.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Filter, IndexFields, Item, MatchSource, SearchItem, SearchOp, words};

/// Saturation of the term frequency: further occurrences of a word count less (`k1` of BM25).
const SATURATION: f64 = 1.2;
/// Length normalisation: the influence of the text length on the score (`b` of BM25).
const LENGTH_NORMALIZATION: f64 = 0.75;

/// Maximum number of distinct words of a query: usual queries have fewer, and a pasted page would take long.
const MAX_QUERY_WORDS: usize = 100;

/// The query that items are compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchQuery {
    /// No query.
    Nothing,
    /// These words, each once, ascending.
    Words(Vec<String>),
    /// Vector of the query text.
    Vector(Vec<f32>),
}

impl SearchQuery {
    /// Returns the first hundred distinct words of a text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let mut distinct = BTreeSet::new();
        for word in words(text) {
            if distinct.len() < MAX_QUERY_WORDS {
                distinct.insert(word);
            }
        }
        Self::Words(distinct.into_iter().collect())
    }
}

/// Collects the candidates of one search.
pub struct SearchCollector<'a> {
    filter: &'a Filter,
    words: Option<&'a [String]>,
    /// Offset and limit.
    page: (usize, usize),
    matches: Vec<ScoredItem>,
}

struct ScoredItem {
    item: Arc<Item>,
    /// Number of occurrences of each word of the query.
    counts: Vec<u32>,
    /// Number of words in the item.
    length: usize,
    score: Option<f64>,
}

impl<'a> SearchCollector<'a> {
    /// Creates a collector without candidates.
    #[must_use]
    pub fn new(search: &'a SearchOp, query: &'a SearchQuery) -> Self {
        let words = match query {
            SearchQuery::Words(words) => Some(words.as_slice()),
            _ => None,
        };
        Self { filter: &search.filter, words, page: (search.offset, search.limit), matches: Vec::new() }
    }

    /// Adds an item to a search without a query.
    pub fn add_item(&mut self, item: impl Into<Arc<Item>>) {
        self.add(item.into(), |item| Some(ScoredItem { item, counts: Vec::new(), length: 0, score: None }));
    }

    /// Adds an item to a text search, with its index setting.
    pub fn add_text_match(&mut self, item: impl Into<Arc<Item>>, index: &IndexFields) {
        let query_words = self.words.unwrap_or_default();
        self.add(item.into(), |item| {
            let (mut counts, mut length) = (vec![0; query_words.len()], 0);
            for word in index.texts(&item.value).iter().flat_map(|text| words(text)) {
                length += 1;
                if let Ok(position) = query_words.binary_search(&word) {
                    counts[position] += 1;
                }
            }
            let has_any = counts.iter().any(|count| *count > 0);
            has_any.then_some(ScoredItem { item, counts, length, score: None })
        });
    }

    /// Adds an item to a vector search, with the best cosine of its vectors.
    pub fn add_vector_match(&mut self, item: impl Into<Arc<Item>>, cosine: f64) {
        self.add(item.into(), |item| Some(ScoredItem { item, counts: Vec::new(), length: 0, score: Some(cosine) }));
    }

    fn add(&mut self, item: Arc<Item>, to_match: impl FnOnce(Arc<Item>) -> Option<ScoredItem>) {
        if self.filter.matches(&item.value) {
            self.matches.extend(to_match(item));
        }
    }

    /// Returns true if there are enough results, for a store that adds items in the final order.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.matches.len() >= self.page.0.saturating_add(self.page.1)
    }

    /// Returns the requested results, in order.
    #[must_use]
    pub fn finish(mut self) -> Vec<SearchItem> {
        let matched_by = match self.words {
            Some(words) => {
                score(&mut self.matches, words.len());
                Some(MatchSource::Text)
            }
            None => self.matches.iter().any(|hit| hit.score.is_some()).then_some(MatchSource::Vector),
        };
        self.matches.sort_by(compare);
        let (offset, limit) = self.page;
        let page = self.matches.into_iter().skip(offset).take(limit);
        page.map(|hit| SearchItem { item: Arc::unwrap_or_clone(hit.item), score: hit.score, matched_by }).collect()
    }
}

/// Orders the highest score first, the newest first without scores; then by name.
fn compare(a: &ScoredItem, b: &ScoredItem) -> Ordering {
    let by_score = match (a.score, b.score) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        _ => b.item.updated_at.cmp(&a.item.updated_at),
    };
    by_score.then_with(|| (&a.item.namespace, &a.item.key).cmp(&(&b.item.namespace, &b.item.key)))
}

/// Scores each item relative to the maximum possible score: rare words count more, and words in long texts less.
fn score(matches: &mut [ScoredItem], words: usize) {
    let total = matches.len() as f64;
    let mean = matches.iter().map(|hit| hit.length).sum::<usize>() as f64 / total.max(1.0);
    let having = |word: usize| matches.iter().filter(|hit| hit.counts[word] > 0).count();
    // A word that no item contains counts as if one did: an item that misses part of the query is not a full match.
    let weights: Vec<f64> = (0..words).map(|word| (1.0 + total / (having(word).max(1) as f64)).ln()).collect();
    let max: f64 = weights.iter().sum::<f64>() * (SATURATION + 1.0);
    for hit in matches {
        let damping =
            SATURATION * (1.0 - LENGTH_NORMALIZATION + LENGTH_NORMALIZATION * hit.length as f64 / mean.max(1.0));
        let term = |(weight, count): (&f64, &u32)| {
            weight * f64::from(*count) * (SATURATION + 1.0) / (f64::from(*count) + damping)
        };
        let sum: f64 = weights.iter().zip(&hit.counts).map(term).sum();
        hit.score = Some(sum / max);
    }
}
