//! What makes vectors of texts, and the one place where it is asked.

use std::sync::Arc;

use super::BoxFuture;
use crate::error::{Code, Error, Result};
use crate::store::{By, Operation, Options, Query, Search};

/// Makes vectors of texts. Write it with `async fn`; a store boxes it once.
///
/// Vectors are kept beside the name of who made them and are only compared with vectors of the same: an embedder that makes
/// others needs another name, and items are found by it once they were put again.
pub trait Embedder: Send + Sync + 'static {
    /// What makes the vectors, with its version: such as the name of a model.
    fn name(&self) -> &str;

    /// How many numbers a vector has.
    fn dimension(&self) -> usize;

    /// True when vectors are near because texts share words, and not because they mean the same.
    fn is_lexical(&self) -> bool {
        false
    }

    /// The vectors of texts, in their order.
    fn embed(&self, texts: Vec<String>) -> impl Future<Output = Result<Vec<Vec<f32>>>> + Send;
}

/// An embedder behind one pointer: what a store holds.
#[derive(Clone)]
pub struct SharedEmbedder(Arc<dyn Erased>);

trait Erased: Send + Sync {
    fn name(&self) -> &str;
    fn dimension(&self) -> usize;
    fn is_lexical(&self) -> bool;
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>>>;
}

impl<E: Embedder> Erased for E {
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
    /// See [`Embedder::name`].
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// See [`Embedder::dimension`].
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.0.dimension()
    }

    /// See [`Embedder::is_lexical`].
    #[must_use]
    pub fn is_lexical(&self) -> bool {
        self.0.is_lexical()
    }

    /// The vectors of texts, each of the right dimension and of numbers only.
    ///
    /// # Errors
    /// When the embedder fails, or gives what are no vectors of these texts.
    pub async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let count = texts.len();
        let vectors = self.0.embed(texts).await?;
        let wrong = |what: String| {
            Error::new(Code::ModelBadAnswer, format!("embedder `{}` gave {what}", self.name()))
                .help("nothing was stored; see what the embedder does with these texts")
        };
        if vectors.len() != count {
            return Err(wrong(format!("{} vectors for {count} texts", vectors.len())));
        }
        if let Some(odd) = vectors.iter().find(|vector| vector.len() != self.dimension()) {
            return Err(wrong(format!("a vector of {} numbers, and makes {}", odd.len(), self.dimension())));
        }
        if vectors.iter().flatten().any(|number| !number.is_finite()) {
            return Err(wrong("a vector with a number that is none".to_owned()));
        }
        Ok(vectors)
    }
}

/// An operation that a store can do without waiting for anybody.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The operation.
    pub operation: Operation,
    /// Of a put, the vectors of its texts; none without an embedder.
    pub vectors: Vec<Vec<f32>>,
    /// Of a search, what it compares items by.
    pub query: Query,
}

/// Checks operations and asks the embedder once for all of them; what a store begins every batch with.
///
/// # Errors
/// When an operation is one that no store does, or the embedder fails. Nothing was done then.
pub async fn prepare(options: &Options, operations: Vec<Operation>) -> Result<Vec<Prepared>> {
    let mut texts = Vec::new();
    let mut counts = Vec::with_capacity(operations.len());
    for operation in &operations {
        operation.check()?;
        let wanted = match operation {
            Operation::Put(put) if options.embedder.is_some() => put.index.texts(&put.value),
            Operation::Search(search) if is_by_vector(search, options)? => search.query.iter().cloned().collect(),
            _ => Vec::new(),
        };
        counts.push(wanted.len());
        texts.extend(wanted);
    }
    let mut vectors = match &options.embedder {
        Some(embedder) => embedder.embed(texts).await?.into_iter(),
        None => Vec::new().into_iter(),
    };
    let prepared = operations.into_iter().zip(counts).map(|(operation, count)| {
        let mut vectors: Vec<Vec<f32>> = vectors.by_ref().take(count).collect();
        let query = match &operation {
            Operation::Search(Search { query: Some(text), .. }) => match vectors.pop() {
                Some(vector) => Query::Vector(vector),
                None => Query::text(text),
            },
            _ => Query::Nothing,
        };
        Prepared { operation, vectors, query }
    });
    Ok(prepared.collect())
}

fn is_by_vector(search: &Search, options: &Options) -> Result<bool> {
    match (search.by, &options.embedder) {
        (By::Text, _) | (By::Best, None) => Ok(false),
        (By::Vector | By::Best, Some(_)) => Ok(search.query.is_some()),
        (By::Vector, None) => {
            Err(Error::new(Code::ConfigInvalid, "a search by vector needs an embedder, and there is none")
                .help("give the store one, such as `LexicalEmbedder::default()`, or search by text"))
        }
    }
}
