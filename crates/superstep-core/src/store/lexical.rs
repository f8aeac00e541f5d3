//! Vectors made of words alone: an embedder that needs no model and knows no meaning.

use xxhash_rust::xxh3::xxh3_64;

use super::text::words;
use crate::error::Result;
use crate::port::Embedder;

/// Makes vectors of words and of pairs of neighbouring words, each hashed to a place. The same text gives the same vector
/// always and everywhere, and of length 1; one without a word gives zeros.
///
/// Lexical: texts are near when they share words, not when they mean the same: `car` and `automobile` are as far apart as
/// `car` and `sonnet`. For nearness of meaning give the store an embedder that asks a model.
///
/// ```
/// use superstep_core::port::Embedder;
/// use superstep_core::store::{LexicalEmbedder, similarity};
/// let lexical = LexicalEmbedder::default();
/// let near = |a, b| similarity(&lexical.vector(a), &lexical.vector(b));
/// assert!(near("the red car", "a red car") > near("the red car", "an automobile"));
/// assert!(lexical.name().starts_with("lexical") && lexical.is_lexical());
/// ```
#[derive(Debug, Clone)]
pub struct LexicalEmbedder {
    name: String,
    dimension: usize,
}

impl Default for LexicalEmbedder {
    fn default() -> Self {
        Self::new(512)
    }
}

impl LexicalEmbedder {
    /// One with so many places. Fewer make shorter vectors, and more words that share a place.
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        let dimension = dimension.max(1);
        Self { name: format!("lexical-1-{dimension}"), dimension }
    }

    /// The vector of a text.
    #[must_use]
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sums = vec![0.0_f64; self.dimension];
        let mut add = |word: &str, weight: f64| {
            let hash = xxh3_64(word.as_bytes());
            // One bit is the sign, so that words which share a place do not only add up.
            let sign = if hash >> 63 == 0 { weight } else { -weight };
            sums[((hash & (u64::MAX >> 1)) % self.dimension as u64) as usize] += sign;
        };
        let words = words(text);
        words.iter().for_each(|word| add(word, 1.0));
        // No word has a space, so a pair is never taken for a word.
        words.windows(2).for_each(|pair| add(&pair.join(" "), 0.5));
        let length = sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt();
        let divisor = if length > 0.0 { length } else { 1.0 };
        sums.into_iter().map(|sum| (sum / divisor) as f32).collect()
    }
}

impl Embedder for LexicalEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn is_lexical(&self) -> bool {
        true
    }

    fn embed(&self, texts: Vec<String>) -> impl Future<Output = Result<Vec<Vec<f32>>>> + Send {
        std::future::ready(Ok(texts.iter().map(|text| self.vector(text)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-87: the same text gives the same vector, of length 1, today and later: stored ones are compared with it.
    #[test]
    fn vectors_never_change() {
        let lexical = LexicalEmbedder::new(8);
        let vector = lexical.vector("red red car");
        let rounded: Vec<f32> = vector.iter().map(|number| (number * 1e3).round()).collect();
        assert_eq!(rounded, [0.0, 0.0, 213.0, 213.0, 426.0, 853.0, 0.0, 0.0]);
        let length: f32 = vector.iter().map(|number| number * number).sum();
        assert!((length - 1.0).abs() < 1e-6, "{length}");
        assert_eq!(lexical.vector("…"), [0.0; 8]);
    }
}
