//! The four places where suggestions come from, behind one face: Microsoft 365, documents, issues, posts.
//!
//! A search reads and never writes. What cannot be searched says so with a reason a person understands; nothing is
//! made up in its place.

mod address;
mod docs;
mod excerpt;
mod fuse;
mod issues;
mod m365;
mod posts;
mod query;
mod reading;
mod settings;
mod unavailable;

use std::sync::Arc;

use superstep::Result;
use superstep::settings::Secret;

use crate::types::{McpSuggestion, PostSummary};
use crate::words::Words;

pub(crate) use address::{encoded, is_web};
pub use docs::Docs;
pub use fuse::fuse;
pub use issues::{Issue, Issues};
pub use m365::Asked;
pub(crate) use m365::Mail;
pub use posts::{
    Engagement, LONGEST_TAG, LONGEST_TEXT, Listing, MOST_SENTENCES, MOST_TAGS, NewPost, Page, Posts, TimeToLive,
    Violation, sentences,
};
pub use query::{LONGEST_QUERY, Trimmed, trim};
pub(crate) use reading::Reading;
pub use settings::{Limits, M365, Settings};
pub use unavailable::{Unavailable, UnavailableKind};

/// Everything that can be searched. Clones are one and the same.
#[derive(Clone)]
pub struct Sources(Arc<Inner>);

struct Inner {
    docs: Option<Arc<Docs>>,
    issues: Option<Arc<Issues>>,
    posts: Posts,
    m365: m365::Search,
    words: Words,
    limits: Limits,
}

impl Sources {
    /// Opens what the settings name, and reads it.
    ///
    /// # Errors
    /// When a folder or file that is named cannot be read, or the database of posts cannot be opened.
    pub fn open(settings: &Settings) -> Result<Self> {
        let docs = settings.docs.as_deref().map(|folder| Docs::open(folder, &settings.docs_url)).transpose()?;
        let docs = docs.map(Arc::new);
        let issues = settings.issues.as_deref().map(Issues::open).transpose()?.map(Arc::new);
        let posts = Posts::open(settings)?;
        let m365 = m365::Search::open(&settings.m365)?;
        let words = Words::open(settings.words.as_deref(), docs.clone())?;
        Ok(Self(Arc::new(Inner { docs, issues, posts, m365, words, limits: settings.limits.clone() })))
    }

    /// Searches Microsoft 365, as the person whom the token belongs to.
    ///
    /// # Errors
    /// When it is not set up, refuses, or fails in all parts; also when one part fails and the others find nothing,
    /// because "nothing found" would not be true then. See [`ask_m365`](Self::ask_m365) for what became of each part.
    pub async fn search_m365(&self, query: &str, token: Option<&Secret>) -> Result<Vec<McpSuggestion>, Unavailable> {
        self.ask_m365(query, token).await.into_result()
    }

    /// Searches Microsoft 365 and says which part of it failed.
    pub async fn ask_m365(&self, query: &str, token: Option<&Secret>) -> Asked {
        self.0.m365.ask(query, token, self.0.limits.m365).await
    }

    /// Searches the documents: sections, the best first, one per document while there are others.
    ///
    /// # Errors
    /// When no documents are set up.
    pub async fn search_docs(&self, query: &str) -> Result<Vec<McpSuggestion>, Unavailable> {
        let docs = self.0.docs.clone().ok_or_else(no_docs)?;
        let (query, limit) = (query.to_owned(), self.0.limits.docs);
        apart("docs", move || docs.search(&query, limit)).await
    }

    /// Searches the issues: among comparable ones those that were solved first.
    ///
    /// # Errors
    /// When no issues are set up.
    pub async fn search_issues(&self, query: &str) -> Result<Vec<McpSuggestion>, Unavailable> {
        let issues = self.0.issues.clone().ok_or_else(no_issues)?;
        let (query, limit) = (query.to_owned(), self.0.limits.issues);
        apart("issues", move || issues.search(&query, limit)).await
    }

    /// Searches the posts that have not expired, without those that are excluded.
    ///
    /// # Errors
    /// When the database cannot be read, or the embedder fails.
    pub async fn search_posts(&self, query: &str, exclude: &[String]) -> Result<Vec<PostSummary>, Unavailable> {
        let found = self.0.posts.search(query, exclude, self.0.limits.posts).await;
        found.map_err(|error| Unavailable::failed("posts", error.to_string()))
    }

    /// The posts themselves: the application's own table.
    #[must_use]
    pub fn posts(&self) -> &Posts {
        &self.0.posts
    }

    /// Words that mean the same, and words that occur together.
    #[must_use]
    pub fn words(&self) -> &Words {
        &self.0.words
    }

    /// As [`Words::queries`], away from the threads that must not wait: it looks into the documents.
    ///
    /// # Errors
    /// When it fails, which is a bug.
    pub async fn queries(&self, text: &str) -> Result<Vec<String>, Unavailable> {
        let (sources, text) = (self.clone(), text.to_owned());
        apart("docs", move || sources.words().queries(&text)).await
    }

    /// How many hits each search gives.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Why a source (`m365`, `docs`, `issues`, `posts`) is not set up; none when it is.
    #[must_use]
    pub fn missing(&self, source: &str) -> Option<Unavailable> {
        match source {
            "m365" => self.0.m365.missing(),
            "docs" if self.0.docs.is_none() => Some(no_docs()),
            "issues" if self.0.issues.is_none() => Some(no_issues()),
            _ => None,
        }
    }

    /// Looks now for files that are new, changed or gone; searches do so by themselves, at most once a second.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.0.docs.as_ref().map_or(Ok(()), |docs| docs.refresh())?;
        self.0.issues.as_ref().map_or(Ok(()), |issues| issues.refresh())?;
        self.0.m365.refresh()
    }

    /// Files that were left out, with the reason: of documents, issues and the mirror of Microsoft 365.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        let docs = self.0.docs.iter().flat_map(|docs| docs.skipped());
        let issues = self.0.issues.iter().flat_map(|issues| issues.skipped());
        docs.chain(issues).chain(self.0.m365.skipped()).collect()
    }

    /// How many files were left out. Waits for whoever reads files, so not on a thread that must not.
    pub(crate) async fn left_out(&self) -> Result<usize, Unavailable> {
        let sources = self.clone();
        apart("docs", move || sources.skipped().len()).await
    }
}

fn no_docs() -> Unavailable {
    Unavailable::not_configured("docs", "no folder of documents is set")
}

fn no_issues() -> Unavailable {
    Unavailable::not_configured("issues", "no exports of issues are set")
}

/// Runs what blocks away from the threads that must not.
async fn apart<T: Send + 'static>(
    source: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unavailable> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Unavailable::failed(source, error.to_string()))
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}
