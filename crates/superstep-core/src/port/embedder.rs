//! The port for text embeddings, and the only function that calls it.

use std::sync::Arc;

use super::BoxFuture;
use crate::error::{Error, ErrorCode, Result};
use crate::store::{SearchMode, SearchOp, SearchQuery, StoreOp, StoreOptions};

/// Converts texts to vectors. Implement it with `async fn`; a store boxes each call once.
///
/// Vectors are stored with the name of their embedder and are compared only with vectors of the same name: an
/// embedder that produces other vectors needs another name, and finds an item only after the item is put again.
pub trait Embedder: Send + Sync + 'static {
    /// Returns the name of the embedder with its version, such as the name of a model.
    fn name(&self) -> &str;

    /// Returns the number of elements of a vector.
    fn dimension(&self) -> usize;

    /// Returns true if vectors are near because texts share words, and not because of their meaning.
    fn is_lexical(&self) -> bool {
        false
    }

    /// Returns the vectors of texts, in their order.
    fn embed(&self, texts: Vec<String>) -> impl Future<Output = Result<Vec<Vec<f32>>>> + Send;
}

/// A shared, type-erased embedder, as used by a store.
#[derive(Clone)]
pub struct SharedEmbedder(Arc<dyn DynEmbedder>);

trait DynEmbedder: Send + Sync {
    fn name(&self) -> &str;
    fn dimension(&self) -> usize;
    fn is_lexical(&self) -> bool;
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>>>;
}

impl<E: Embedder> DynEmbedder for E {
    fn name(&self) -> &str {
        Embedder::name(self)
    }

    fn dimension(&self) -> usize {
        Embedder::dimension(self)
    }

    fn is_lexical(&self) -> bool {
        Embedder::is_lexical(self)
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>>> {
        Box::pin(Embedder::embed(self, texts))
    }
}

impl<E: Embedder> From<E> for SharedEmbedder {
    fn from(embedder: E) -> Self {
        Self(Arc::new(embedder))
    }
}

impl std::fmt::Debug for SharedEmbedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedEmbedder").field(&self.name()).finish()
    }
}

impl SharedEmbedder {
    /// Calls [`Embedder::name`].
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Calls [`Embedder::dimension`].
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.0.dimension()
    }

    /// Calls [`Embedder::is_lexical`].
    #[must_use]
    pub fn is_lexical(&self) -> bool {
        self.0.is_lexical()
    }

    /// Returns the vectors of texts, checked for dimension and finite numbers.
    ///
    /// # Errors
    /// Returns an error if the embedder fails, or if its vectors are invalid for these texts.
    pub async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let count = texts.len();
        let vectors = self.0.embed(texts).await?;
        let invalid_response = |detail: String| {
            Error::new(ErrorCode::ModelBadAnswer, format!("embedder `{}` returned {detail}", self.name()))
                .with_help("nothing was stored; check how the embedder handles these texts")
        };
        if vectors.len() != count {
            return Err(invalid_response(format!("{} vectors for {count} texts", vectors.len())));
        }
        if let Some(odd) = vectors.iter().find(|vector| vector.len() != self.dimension()) {
            return Err(invalid_response(format!(
                "a vector of dimension {}, expected {}",
                odd.len(),
                self.dimension()
            )));
        }
        if vectors.iter().flatten().any(|number| !number.is_finite()) {
            return Err(invalid_response("a vector with a non-finite number".to_owned()));
        }
        Ok(vectors)
    }
}

/// An operation that a store can execute without calling an embedder.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedOperation {
    /// Operation of the store.
    pub operation: StoreOp,
    /// Vectors of the texts of a put; empty without an embedder.
    pub vectors: Vec<Vec<f32>>,
    /// Query that a search compares items with.
    pub query: SearchQuery,
}

/// Checks operations and calls the embedder once for all of them; the first step of every batch of a store.
///
/// # Errors
/// Returns an error if an operation is invalid, or if the embedder fails. Nothing was executed then.
pub async fn prepare(options: &StoreOptions, operations: Vec<StoreOp>) -> Result<Vec<PreparedOperation>> {
    let mut texts = Vec::new();
    let mut counts = Vec::with_capacity(operations.len());
    for operation in &operations {
        operation.check()?;
        let inputs = match operation {
            StoreOp::Put(put) if options.embedder.is_some() => put.index.texts(&put.value),
            StoreOp::Search(search) if is_by_vector(search, options)? => search.query.iter().cloned().collect(),
            _ => Vec::new(),
        };
        counts.push(inputs.len());
        texts.extend(inputs);
    }
    let mut vectors = match &options.embedder {
        Some(embedder) => embedder.embed(texts).await?.into_iter(),
        None => Vec::new().into_iter(),
    };
    let prepared = operations.into_iter().zip(counts).map(|(operation, count)| {
        let mut vectors: Vec<Vec<f32>> = vectors.by_ref().take(count).collect();
        let query = match &operation {
            StoreOp::Search(SearchOp { query: Some(text), .. }) => match vectors.pop() {
                Some(vector) => SearchQuery::Vector(vector),
                None => SearchQuery::text(text),
            },
            _ => SearchQuery::Nothing,
        };
        PreparedOperation { operation, vectors, query }
    });
    Ok(prepared.collect())
}

fn is_by_vector(search: &SearchOp, options: &StoreOptions) -> Result<bool> {
    match (search.mode, &options.embedder) {
        (SearchMode::Text, _) | (SearchMode::Auto, None) => Ok(false),
        (SearchMode::Vector | SearchMode::Auto, Some(_)) => Ok(search.query.is_some()),
        (SearchMode::Vector, None) => Err(Error::new(ErrorCode::ConfigInvalid, "vector search requires an embedder")
            .with_help("configure one on the store, for example `LexicalEmbedder::default()`, or search by text")),
    }
}
