//! Posts as a source: the only table that the application owns.
//!
//! One connection writes. Searches use another, read-only connection, so the agent cannot change a post. Embeddings
//! are kept in memory and computed again after each start.

mod new_post;
mod search;
mod sentences;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use superstep::core::error::Diagnostic;
use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::store::{LexicalEmbedder, SharedEmbedder};
use superstep::{Error, ErrorCode, Result};

use super::settings::SourceSettings;
use crate::types::{Mode, PostEmbedding, PostSummary};

pub use new_post::{MAX_SENTENCES, MAX_TAG_CHARS, MAX_TAGS, MAX_TEXT_CHARS, NewPost, PostViolation, TimeToLive};
pub use sentences::count_sentences;

/// The table of posts. Clones share the same connections.
#[derive(Clone)]
pub struct Posts(Arc<Inner>);

struct Inner {
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    clock: Arc<dyn Clock>,
    embedder: SharedEmbedder,
    similarity: f32,
    vectors: Mutex<BTreeMap<String, Arc<PostEmbedding>>>,
}

/// Filter and page of a list of posts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostFilter {
    /// Maximum number of posts. 0 means 50.
    pub limit: usize,
    /// Restricts the list to posts with this tag.
    pub tag: Option<String>,
    /// Restricts the list to posts of this kind.
    pub mode: Option<Mode>,
    /// Id of the post after which the page starts, taken from [`PostPage::next`].
    pub after: Option<String>,
}

/// A page of posts, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct PostPage {
    /// Posts of this page.
    pub posts: Vec<PostSummary>,
    /// Value of [`PostFilter::after`] for the next page. `None` on the last page.
    pub next: Option<String>,
}

/// Kind of engagement with a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Engagement {
    /// The user is interested.
    Interested,
    /// The user takes part.
    Join,
}

impl Posts {
    pub(super) fn open(settings: &SourceSettings) -> Result<Self> {
        let (writer, reader) = table::open(settings.posts.as_deref())?;
        let embedder = settings.embedder.clone().unwrap_or_else(|| LexicalEmbedder::default().into());
        Ok(Self(Arc::new(Inner {
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
            clock: settings.clock.clone(),
            embedder,
            similarity: settings.limits.similarity,
            vectors: Mutex::default(),
        })))
    }

    /// Creates a post.
    ///
    /// # Errors
    /// Returns an error that lists every violation if the post is invalid, or if the database fails.
    pub async fn create(&self, post: NewPost) -> Result<PostSummary> {
        post.check()?;
        let now = self.now()?;
        self.blocking(move |posts| table::create(&posts.writer(), &post, now)).await
    }

    /// Returns a post, or `None` if it does not exist or has expired.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn get(&self, id: &str) -> Result<Option<PostSummary>> {
        let (id, now) = (id.to_owned(), self.now()?);
        self.blocking(move |posts| table::get(&posts.reader(), &id, now)).await
    }

    /// Lists unexpired posts, newest first.
    ///
    /// # Errors
    /// Returns `InputInvalid` if the post of [`PostFilter::after`] does not exist, or an error if the database fails.
    pub async fn list(&self, filter: PostFilter) -> Result<PostPage> {
        let (now, after) = (self.now()?, filter.after.clone().unwrap_or_default());
        let page = self.blocking(move |posts| table::list(&posts.reader(), &filter, now)).await?;
        page.ok_or_else(|| {
            let message = format!("post `{after}` not found");
            let problem = Diagnostic { pointer: "/after".to_owned(), message, help: None };
            Error::with_diagnostics(
                ErrorCode::InputInvalid,
                "`after` does not refer to an existing post",
                vec![problem],
            )
        })
    }

    /// Counts one interested user or participant. Returns the updated post, or `None` like [`get`](Self::get).
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn engage(&self, id: &str, engagement: Engagement) -> Result<Option<PostSummary>> {
        let (id, now) = (id.to_owned(), self.now()?);
        self.blocking(move |posts| table::engage(&posts.writer(), &id, engagement, now)).await
    }

    /// Imports posts with their ids and skips existing ones. Returns the number of new posts.
    ///
    /// # Errors
    /// Returns an error if the database fails; then no post is imported.
    pub async fn import(&self, summaries: Vec<PostSummary>) -> Result<usize> {
        self.blocking(move |posts| table::import(&mut posts.writer(), &summaries)).await
    }

    /// Returns the current time of the configured clock.
    ///
    /// # Errors
    /// Returns an error if the clock returns a time out of range.
    pub fn now(&self) -> Result<Time> {
        let now = Time::from_unix_micros(self.0.clock.now());
        now.map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Inner) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = self.0.clone();
        let result = tokio::task::spawn_blocking(move || operation(&inner)).await;
        let result = result.map_err(|error| Error::new(ErrorCode::Internal, format!("the posts failed: {error}")))?;
        result.map_err(|cause| table::database_error(&cause))
    }
}

impl Inner {
    fn writer(&self) -> MutexGuard<'_, Connection> {
        // A poisoned lock is safe to use: a panic rolls back the transaction of its statement.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Posts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Posts").field("embedder", &self.0.embedder).finish_non_exhaustive()
    }
}
