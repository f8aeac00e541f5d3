//! Search in posts by shared words and by similarity of embeddings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use superstep::Result;
use superstep::core::store::similarity;
use superstep::core::time::Time;

use super::{Posts, table};
use crate::query_expansion::{content_words, stem};
use crate::types::{PostEmbedding, PostSummary};

/// Maximum number of words of a query that are looked up.
const MAX_QUERY_WORDS: usize = 40;

impl Posts {
    /// Returns matching posts, best first, without expired and excluded ones.
    ///
    /// # Errors
    /// Returns an error if the database or the embedding model fails.
    pub async fn search(&self, query: &str, exclude: &[String], limit: usize) -> Result<Vec<PostSummary>> {
        let words = content_words(query);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.now()?;
        let (mut posts, coverage) = self.blocking(move |posts| read(posts, &words, now)).await?;
        let similarities = self.similarity_scores(query, &posts).await?;
        posts.retain(|post| !exclude.contains(&post.id));
        if self.0.embedder.is_lexical() {
            // Lexical embeddings can be similar because of hash collisions; then the texts share no word.
            posts.retain(|post| coverage.contains_key(&post.id));
        }
        let min_score = f64::from(self.0.similarity);
        let mut scored: Vec<(f64, PostSummary)> = posts
            .into_iter()
            .map(|post| (score(similarities.get(&post.id), coverage.get(&post.id)), post))
            // Tolerance for 32-bit vectors: a score equal to the threshold must count.
            .filter(|(score, _)| *score + 1e-6 >= min_score)
            .collect();
        // The sort is stable: on a tie the newer post wins, because the table returns newer posts first.
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        Ok(scored.into_iter().take(limit).map(|(_, post)| post).collect())
    }

    /// Returns the cached embeddings of posts that were unexpired at the last search.
    #[must_use]
    pub fn embeddings(&self) -> Vec<Arc<PostEmbedding>> {
        self.0.vectors.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns the similarity of each post to the query.
    async fn similarity_scores(&self, query: &str, posts: &[PostSummary]) -> Result<BTreeMap<String, f64>> {
        self.embed(posts).await?;
        let embeddings = self.0.embedder.embed(vec![self.embedding_text(query)]).await?;
        let Some(query_vector) = embeddings.first() else { return Ok(BTreeMap::new()) };
        let vectors = self.0.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(vectors.iter().map(|(id, embedding)| (id.clone(), similarity(query_vector, &embedding.vector))).collect())
    }

    /// Computes missing embeddings and removes those of deleted and expired posts.
    async fn embed(&self, posts: &[PostSummary]) -> Result<()> {
        let missing: Vec<(String, String)> = {
            let mut vectors = self.0.vectors.lock().unwrap_or_else(PoisonError::into_inner);
            let unexpired_ids: BTreeSet<&str> = posts.iter().map(|post| post.id.as_str()).collect();
            vectors.retain(|id, _| unexpired_ids.contains(id.as_str()));
            let is_new = |post: &&PostSummary| !vectors.contains_key(&post.id);
            posts.iter().filter(is_new).map(|post| (post.id.clone(), text(post))).collect()
        };
        let embeddings =
            self.0.embedder.embed(missing.iter().map(|(_, text)| self.embedding_text(text)).collect()).await?;
        let mut vectors = self.0.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        for ((post_id, text), vector) in missing.into_iter().zip(embeddings) {
            vectors.insert(post_id.clone(), Arc::new(PostEmbedding { post_id, vector, text }));
        }
        Ok(())
    }

    /// Prepares a text for the embedding model: a lexical one gets the stems of content words, any other the
    /// original text.
    fn embedding_text(&self, text: &str) -> String {
        if !self.0.embedder.is_lexical() {
            return text.to_owned();
        }
        content_words(text).iter().map(|word| stem(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Reads the unexpired posts, and for those that contain words of the query the fraction of words they contain.
fn read(
    posts: &super::Inner,
    words: &[String],
    now: Time,
) -> rusqlite::Result<(Vec<PostSummary>, BTreeMap<String, f64>)> {
    let connection = posts.reader();
    let words = &words[..words.len().min(MAX_QUERY_WORDS)];
    let mut coverage = BTreeMap::new();
    for word in words {
        for id in table::with_word(&connection, word)? {
            *coverage.entry(id).or_insert(0.0) += 1.0 / words.len() as f64;
        }
    }
    Ok((table::unexpired(&connection, now)?, coverage))
}

/// Returns the similarity, or its mean with the word coverage if that is higher: coverage never lowers the score.
fn score(similarity: Option<&f64>, coverage: Option<&f64>) -> f64 {
    let (similarity, coverage) = (similarity.copied().unwrap_or(0.0), coverage.copied().unwrap_or(0.0));
    similarity.max(similarity.midpoint(coverage))
}

fn text(post: &PostSummary) -> String {
    format!("{} {}", post.text, post.tags.join(" "))
}
