//! The posts: the one table that is the application's own.
//!
//! Writing goes through one connection. Searches have another that cannot write, so that an agent which only searches
//! never changes a post. Vectors live in memory and are made anew at each start.

mod new;
mod search;
mod sentences;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use superstep::core::error::Problem;
use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::store::{LexicalEmbedder, SharedEmbedder};
use superstep::{Code, Error, Result};

use super::settings::Settings;
use crate::types::{Mode, PostEmbedding, PostSummary};

pub use new::{LONGEST_TAG, LONGEST_TEXT, MOST_SENTENCES, MOST_TAGS, NewPost, TimeToLive, Violation};
pub use sentences::sentences;

/// The posts. Clones are one and the same.
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

/// Which posts to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// How many at most; 50 when it is zero.
    pub limit: usize,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Only those of this kind.
    pub mode: Option<Mode>,
    /// Only those after the one that a former page named.
    pub after: Option<String>,
}

/// A part of the list, the newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The posts.
    pub posts: Vec<PostSummary>,
    /// What to give as [`Listing::after`] to see more; none at the end.
    pub next: Option<String>,
}

/// What somebody does about a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Engagement {
    /// They want to know.
    Interested,
    /// They take part.
    Join,
}

impl Posts {
    pub(super) fn open(settings: &Settings) -> Result<Self> {
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

    /// Writes a post down.
    ///
    /// # Errors
    /// When it breaks a rule; all of them are named. When the database fails.
    pub async fn create(&self, post: NewPost) -> Result<PostSummary> {
        post.check()?;
        let now = self.now()?;
        self.blocking(move |posts| table::create(&posts.writer(), &post, now)).await
    }

    /// A post; none when there is no such, or it has expired.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn get(&self, id: &str) -> Result<Option<PostSummary>> {
        let (id, now) = (id.to_owned(), self.now()?);
        self.blocking(move |posts| table::get(&posts.reader(), &id, now)).await
    }

    /// The posts that have not expired, the newest first.
    ///
    /// # Errors
    /// `InputInvalid` when there is no post that [`Listing::after`] names. When the database fails.
    pub async fn list(&self, listing: Listing) -> Result<Page> {
        let (now, after) = (self.now()?, listing.after.clone().unwrap_or_default());
        let page = self.blocking(move |posts| table::list(&posts.reader(), &listing, now)).await?;
        page.ok_or_else(|| {
            let message = format!("there is no post `{after}`");
            let problem = Problem { pointer: "/after".to_owned(), message, help: None };
            Error::listing(Code::InputInvalid, "the list cannot go on behind a post that is not there", vec![problem])
        })
    }

    /// Counts somebody who is interested, or who takes part; gives the post as it is now, or none as [`get`](Self::get).
    ///
    /// # Errors
    /// When the database fails.
    pub async fn engage(&self, id: &str, engagement: Engagement) -> Result<Option<PostSummary>> {
        let (id, now) = (id.to_owned(), self.now()?);
        self.blocking(move |posts| table::engage(&posts.writer(), &id, engagement, now)).await
    }

    /// Takes posts in that are not there yet, with their ids; says how many were new.
    ///
    /// # Errors
    /// When the database fails; then none is taken in.
    pub async fn import(&self, summaries: Vec<PostSummary>) -> Result<usize> {
        self.blocking(move |posts| table::import(&mut posts.writer(), &summaries)).await
    }

    /// What time it is for posts.
    ///
    /// # Errors
    /// When the clock is out of its mind.
    pub fn now(&self) -> Result<Time> {
        let now = Time::from_unix_micros(self.0.clock.now());
        now.map_err(|fault| Error::new(Code::Internal, fault.to_string()))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        let done = done.map_err(|error| Error::new(Code::Internal, format!("the posts failed: {error}")))?;
        done.map_err(|cause| table::failed(&cause))
    }
}

impl Inner {
    fn writer(&self) -> MutexGuard<'_, Connection> {
        // A statement that panicked was rolled back with its transaction.
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
