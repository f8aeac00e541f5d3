//! An embedder that builds vectors from words alone: needs no model and knows no meaning.

use xxhash_rust::xxh3::xxh3_64;

use super::words::words;
use crate::error::Result;
use crate::port::Embedder;

/// Builds vectors from words and pairs of adjacent words, each hashed to an element. The same text always gives the
/// same vector, of length 1; a text without words gives zeros.
///
/// Lexical: texts are near if they share words, not if they have the same meaning: `car` and `automobile` are as
/// far apart as `car` and `sonnet`. For semantic similarity, configure the store with an embedder that calls a
/// model.
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
    /// Creates an embedder with this number of elements per vector. Fewer elements make shorter vectors with more
    /// hash collisions.
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        let dimension = dimension.max(1);
        Self { name: format!("lexical-1-{dimension}"), dimension }
    }

    /// Returns the vector of a text.
    #[must_use]
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sums = vec![0.0_f64; self.dimension];
        let mut add = |word: &str, weight: f64| {
            let hash = xxh3_64(word.as_bytes());
            // One bit is the sign, so that words with a hash collision do not only add up.
            let sign = if hash >> 63 == 0 { weight } else { -weight };
            sums[((hash & (u64::MAX >> 1)) % self.dimension as u64) as usize] += sign;
        };
        let words = words(text);
        words.iter().for_each(|word| add(word, 1.0));
        // No word contains a space, so a pair never equals a word.
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

    /// R-FWK-87: the same text gives the same vector, of length 1, in every version: stored vectors are compared
    /// with it.
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
