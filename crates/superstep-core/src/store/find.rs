//! Orders what was found and takes the part that was asked for: the same way in every store.
//!
//! A store offers candidates, in any order and more than are wanted; what does not fit is left out here. Scores depend
//! only on the items that fit, so that two stores with the same items give the same ones.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Filter, Hit, Index, Item, MatchedBy, Search, words};

/// How soon more of the same word counts no more.
const SATURATION: f64 = 1.2;
/// How much a long text has to have more of a word than a short one.
const LENGTH: f64 = 0.75;

/// How many words of a query count: a question has fewer, and a page that was pasted would take long.
const MOST_WORDS: usize = 100;

/// What a query compares items by.
#[derive(Debug, Clone, PartialEq)]
pub enum Query {
    /// There is none.
    Nothing,
    /// These words, each once, ascending.
    Words(Vec<String>),
    /// This vector.
    Vector(Vec<f32>),
}

impl Query {
    /// The first hundred different words of a text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let mut distinct = BTreeSet::new();
        for word in words(text) {
            if distinct.len() < MOST_WORDS {
                distinct.insert(word);
            }
        }
        Self::Words(distinct.into_iter().collect())
    }
}

/// Gathers candidates of one search.
pub struct Finder<'a> {
    filter: &'a Filter,
    words: Option<&'a [String]>,
    part: (usize, usize),
    found: Vec<Found>,
}

struct Found {
    item: Arc<Item>,
    /// How often it has each word of the query.
    counts: Vec<u32>,
    /// How many words it has.
    length: usize,
    score: Option<f64>,
}

impl<'a> Finder<'a> {
    /// Nothing found yet.
    #[must_use]
    pub fn new(search: &'a Search, query: &'a Query) -> Self {
        let words = match query {
            Query::Words(words) => Some(words.as_slice()),
            _ => None,
        };
        Self { filter: &search.filter, words, part: (search.offset, search.limit), found: Vec::new() }
    }

    /// Offers an item to a search without a query.
    pub fn offer(&mut self, item: impl Into<Arc<Item>>) {
        self.add(item.into(), |item| Some(Found { item, counts: Vec::new(), length: 0, score: None }));
    }

    /// Offers an item to a search by words, with what of it can be searched for.
    pub fn offer_text(&mut self, item: impl Into<Arc<Item>>, index: &Index) {
        let wanted = self.words.unwrap_or_default();
        self.add(item.into(), |item| {
            let (mut counts, mut length) = (vec![0; wanted.len()], 0);
            for word in index.texts(&item.value).iter().flat_map(|text| words(text)) {
                length += 1;
                if let Ok(place) = wanted.binary_search(&word) {
                    counts[place] += 1;
                }
            }
            let has_any = counts.iter().any(|count| *count > 0);
            has_any.then_some(Found { item, counts, length, score: None })
        });
    }

    /// Offers an item to a search by vector, with the best cosine of its vectors.
    pub fn offer_vector(&mut self, item: impl Into<Arc<Item>>, cosine: f64) {
        self.add(item.into(), |item| Some(Found { item, counts: Vec::new(), length: 0, score: Some(cosine) }));
    }

    fn add(&mut self, item: Arc<Item>, found: impl FnOnce(Arc<Item>) -> Option<Found>) {
        if self.filter.matches(&item.value) {
            self.found.extend(found(item));
        }
    }

    /// Whether there is enough, for a store that offers in the order that is wanted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.found.len() >= self.part.0.saturating_add(self.part.1)
    }

    /// What was asked for, in order.
    #[must_use]
    pub fn finish(mut self) -> Vec<Hit> {
        let matched_by = match self.words {
            Some(words) => {
                score(&mut self.found, words.len());
                Some(MatchedBy::Text)
            }
            None => self.found.iter().any(|found| found.score.is_some()).then_some(MatchedBy::Vector),
        };
        self.found.sort_by(before);
        let (offset, limit) = self.part;
        let part = self.found.into_iter().skip(offset).take(limit);
        part.map(|found| Hit { item: Arc::unwrap_or_clone(found.item), score: found.score, matched_by }).collect()
    }
}

/// The best first where there are scores, the newest first where not; then by name.
fn before(a: &Found, b: &Found) -> Ordering {
    let by_score = match (a.score, b.score) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        _ => b.item.updated_at.cmp(&a.item.updated_at),
    };
    by_score.then_with(|| (&a.item.namespace, &a.item.key).cmp(&(&b.item.namespace, &b.item.key)))
}

/// Gives each the part it has of the most it could have: words count more when few have them, and less in long texts.
fn score(found: &mut [Found], words: usize) {
    let total = found.len() as f64;
    let mean = found.iter().map(|found| found.length).sum::<usize>() as f64 / total.max(1.0);
    let having = |word: usize| found.iter().filter(|found| found.counts[word] > 0).count();
    // A word that nobody has counts as one that one has: what does not fit all of the query is no full match.
    let weights: Vec<f64> = (0..words).map(|word| (1.0 + total / (having(word).max(1) as f64)).ln()).collect();
    let most: f64 = weights.iter().sum::<f64>() * (SATURATION + 1.0);
    for found in found {
        let damping = SATURATION * (1.0 - LENGTH + LENGTH * found.length as f64 / mean.max(1.0));
        let part = |(weight, count): (&f64, &u32)| {
            weight * f64::from(*count) * (SATURATION + 1.0) / (f64::from(*count) + damping)
        };
        let sum: f64 = weights.iter().zip(&found.counts).map(part).sum();
        found.score = Some(sum / most);
    }
}
