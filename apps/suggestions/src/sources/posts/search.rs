//! Finds posts by the words they share with a query and by how near their vectors are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use superstep::Result;
use superstep::core::store::similarity;
use superstep::core::time::Time;

use super::{Posts, table};
use crate::types::{PostEmbedding, PostSummary};
use crate::words::{content, stem};

/// How many words of a query are looked up.
const MOST_WORDS: usize = 40;

impl Posts {
    /// The posts that fit, the best first, without expired and excluded ones.
    ///
    /// # Errors
    /// When the database or the embedder fails.
    pub async fn search(&self, query: &str, exclude: &[String], limit: usize) -> Result<Vec<PostSummary>> {
        let words = content(query);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.now()?;
        let (mut posts, coverage) = self.blocking(move |posts| read(posts, &words, now)).await?;
        let near = self.nearness(query, &posts).await?;
        posts.retain(|post| !exclude.contains(&post.id));
        if self.0.embedder.is_lexical() {
            // Vectors of words can be near because two words share a place; then no word is shared.
            posts.retain(|post| coverage.contains_key(&post.id));
        }
        let least = f64::from(self.0.similarity);
        let mut scored: Vec<(f64, PostSummary)> = posts
            .into_iter()
            .map(|post| (score(near.get(&post.id), coverage.get(&post.id)), post))
            // Vectors are of 32 bits, and a threshold that is met exactly is met.
            .filter(|(score, _)| *score + 1e-6 >= least)
            .collect();
        // Stable: of equals the newer one, which the table gave first.
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        Ok(scored.into_iter().take(limit).map(|(_, post)| post).collect())
    }

    /// The vectors that are kept, of posts that have not expired when they were last searched.
    #[must_use]
    pub fn embeddings(&self) -> Vec<Arc<PostEmbedding>> {
        self.0.vectors.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// How near each post is to the query.
    async fn nearness(&self, query: &str, posts: &[PostSummary]) -> Result<BTreeMap<String, f64>> {
        self.embed(posts).await?;
        let asked = self.0.embedder.embed(vec![self.shaped(query)]).await?;
        let Some(asked) = asked.first() else { return Ok(BTreeMap::new()) };
        let vectors = self.0.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(vectors.iter().map(|(id, kept)| (id.clone(), similarity(asked, &kept.vector))).collect())
    }

    /// Makes the vectors that are missing, and forgets those of posts that are gone.
    async fn embed(&self, posts: &[PostSummary]) -> Result<()> {
        let missing: Vec<(String, String)> = {
            let mut vectors = self.0.vectors.lock().unwrap_or_else(PoisonError::into_inner);
            let living: BTreeSet<&str> = posts.iter().map(|post| post.id.as_str()).collect();
            vectors.retain(|id, _| living.contains(id.as_str()));
            let is_new = |post: &&PostSummary| !vectors.contains_key(&post.id);
            posts.iter().filter(is_new).map(|post| (post.id.clone(), text(post))).collect()
        };
        let made = self.0.embedder.embed(missing.iter().map(|(_, text)| self.shaped(text)).collect()).await?;
        let mut vectors = self.0.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        for ((post_id, text), vector) in missing.into_iter().zip(made) {
            vectors.insert(post_id.clone(), Arc::new(PostEmbedding { post_id, vector, text }));
        }
        Ok(())
    }

    /// A text as its embedder understands it best: one that sees only words gets their stems, without those that say
    /// nothing.
    fn shaped(&self, text: &str) -> String {
        if !self.0.embedder.is_lexical() {
            return text.to_owned();
        }
        content(text).iter().map(|word| stem(word)).collect::<Vec<_>>().join(" ")
    }
}

/// The living posts, and for those which have words of the query how large a part of it.
fn read(
    posts: &super::Inner,
    words: &[String],
    now: Time,
) -> rusqlite::Result<(Vec<PostSummary>, BTreeMap<String, f64>)> {
    let connection = posts.reader();
    let words = &words[..words.len().min(MOST_WORDS)];
    let mut coverage = BTreeMap::new();
    for word in words {
        for id in table::with_word(&connection, word)? {
            *coverage.entry(id).or_insert(0.0) += 1.0 / words.len() as f64;
        }
    }
    Ok((table::living(&connection, now)?, coverage))
}

/// Nearness alone is enough; words lift what is near, and do not carry what is not.
fn score(near: Option<&f64>, coverage: Option<&f64>) -> f64 {
    let (near, coverage) = (near.copied().unwrap_or(0.0), coverage.copied().unwrap_or(0.0));
    near.max(near.midpoint(coverage))
}

fn text(post: &PostSummary) -> String {
    format!("{} {}", post.text, post.tags.join(" "))
}
