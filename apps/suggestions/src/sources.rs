//! The four sources of suggestions behind one interface: Microsoft 365, documents, issues and posts.
//!
//! Searches never write. A source that cannot be searched returns a readable reason; no results are invented in its
//! place.

mod docs;
mod document;
mod excerpt;
mod issues;
mod m365;
mod posts;
mod query;
pub(crate) mod rank_fusion;
mod settings;
mod unavailable;
mod url;

use std::sync::Arc;

use superstep::Result;
use superstep::settings::Secret;

use crate::query_expansion::QueryExpander;
use crate::types::{McpSuggestion, PostSummary};

pub use docs::Docs;
pub(crate) use document::SourceDocument;
pub use issues::{Issue, Issues};
pub use m365::M365SearchResult;
pub(crate) use m365::Mail;
pub use posts::{
    Engagement, MAX_SENTENCES, MAX_TAG_CHARS, MAX_TAGS, MAX_TEXT_CHARS, NewPost, PostFilter, PostPage, PostViolation,
    Posts, TimeToLive, count_sentences,
};
pub use query::{MAX_QUERY_CHARS, SearchQuery, normalize_query};
pub use rank_fusion::fuse;
pub use settings::{M365Settings, ResultLimits, SourceSettings};
pub use unavailable::{SourceUnavailable, UnavailableReason};
pub(crate) use url::{encoded, is_web};

/// All searchable sources. Clones share the same data.
#[derive(Clone)]
pub struct Sources(Arc<Inner>);

struct Inner {
    docs: Option<Arc<Docs>>,
    issues: Option<Arc<Issues>>,
    posts: Posts,
    m365: m365::M365Backend,
    query_expander: QueryExpander,
    limits: ResultLimits,
}

impl Sources {
    /// Opens and indexes the configured sources.
    ///
    /// # Errors
    /// Returns an error if a configured folder or file cannot be read, or the database of posts cannot be opened.
    pub fn open(settings: &SourceSettings) -> Result<Self> {
        let docs = settings.docs.as_deref().map(|folder| Docs::open(folder, &settings.docs_url)).transpose()?;
        let docs = docs.map(Arc::new);
        let issues = settings.issues.as_deref().map(Issues::open).transpose()?.map(Arc::new);
        let posts = Posts::open(settings)?;
        let m365 = m365::M365Backend::open(&settings.m365)?;
        let query_expander = QueryExpander::open(settings.words.as_deref(), docs.clone())?;
        Ok(Self(Arc::new(Inner { docs, issues, posts, m365, query_expander, limits: settings.limits.clone() })))
    }

    /// Searches Microsoft 365 with the permissions of the token's owner.
    ///
    /// # Errors
    /// Returns an error if Microsoft 365 is not configured, rejects the request or fails in all parts; also if one part
    /// fails and the others find nothing, because "nothing found" would be wrong then. See
    /// [`search_m365_parts`](Self::search_m365_parts) for the result of each part.
    pub async fn search_m365(
        &self,
        query: &str,
        token: Option<&Secret>,
    ) -> Result<Vec<McpSuggestion>, SourceUnavailable> {
        self.search_m365_parts(query, token).await.into_result()
    }

    /// Searches Microsoft 365 and reports which parts failed.
    pub async fn search_m365_parts(&self, query: &str, token: Option<&Secret>) -> M365SearchResult {
        self.0.m365.search(query, token, self.0.limits.m365).await
    }

    /// Searches the documents. Returns sections, best first, and one per document as long as other documents match.
    ///
    /// # Errors
    /// Returns an error if no documents are configured.
    pub async fn search_docs(&self, query: &str) -> Result<Vec<McpSuggestion>, SourceUnavailable> {
        let docs = self.0.docs.clone().ok_or_else(no_docs)?;
        let (query, limit) = (query.to_owned(), self.0.limits.docs);
        run_blocking("docs", move || docs.search(&query, limit)).await
    }

    /// Searches the issues. Among issues of comparable relevance, resolved ones come first.
    ///
    /// # Errors
    /// Returns an error if no issues are configured.
    pub async fn search_issues(&self, query: &str) -> Result<Vec<McpSuggestion>, SourceUnavailable> {
        let issues = self.0.issues.clone().ok_or_else(no_issues)?;
        let (query, limit) = (query.to_owned(), self.0.limits.issues);
        run_blocking("issues", move || issues.search(&query, limit)).await
    }

    /// Searches unexpired posts, without those in `exclude`.
    ///
    /// # Errors
    /// Returns an error if the database cannot be read or the embedding model fails.
    pub async fn search_posts(&self, query: &str, exclude: &[String]) -> Result<Vec<PostSummary>, SourceUnavailable> {
        let result = self.0.posts.search(query, exclude, self.0.limits.posts).await;
        result.map_err(|error| SourceUnavailable::failed("posts", error.to_string()))
    }

    /// Returns the table of posts.
    #[must_use]
    pub fn posts(&self) -> &Posts {
        &self.0.posts
    }

    /// Returns the query expander, which adds synonyms and co-occurring terms.
    #[must_use]
    pub fn query_expander(&self) -> &QueryExpander {
        &self.0.query_expander
    }

    /// Runs [`QueryExpander::queries`] on the blocking thread pool, because it reads the index of the documents.
    ///
    /// # Errors
    /// Returns an error if the task panics.
    pub async fn queries(&self, text: &str) -> Result<Vec<String>, SourceUnavailable> {
        let (sources, text) = (self.clone(), text.to_owned());
        run_blocking("docs", move || sources.query_expander().queries(&text)).await
    }

    /// Returns the maximum number of results of each search.
    #[must_use]
    pub fn limits(&self) -> &ResultLimits {
        &self.0.limits
    }

    /// Returns the reason why a source (`m365`, `docs`, `issues`, `posts`) is not configured, or `None` if it is.
    #[must_use]
    pub fn not_configured_reason(&self, source: &str) -> Option<SourceUnavailable> {
        match source {
            "m365" => self.0.m365.missing(),
            "docs" if self.0.docs.is_none() => Some(no_docs()),
            "issues" if self.0.issues.is_none() => Some(no_issues()),
            _ => None,
        }
    }

    /// Reindexes new, changed and deleted files now. Searches do this on their own, at most once a second.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.0.docs.as_ref().map_or(Ok(()), |docs| docs.refresh())?;
        self.0.issues.as_ref().map_or(Ok(()), |issues| issues.refresh())?;
        self.0.m365.refresh()
    }

    /// Returns the skipped files of documents, issues and the Microsoft 365 mirror, each with the reason.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        let docs = self.0.docs.iter().flat_map(|docs| docs.skipped());
        let issues = self.0.issues.iter().flat_map(|issues| issues.skipped());
        docs.chain(issues).chain(self.0.m365.skipped()).collect()
    }

    /// Returns the number of skipped files. Runs on the blocking thread pool, because it may wait for indexing.
    pub(crate) async fn skipped_count(&self) -> Result<usize, SourceUnavailable> {
        let sources = self.clone();
        run_blocking("docs", move || sources.skipped().len()).await
    }
}

fn no_docs() -> SourceUnavailable {
    SourceUnavailable::not_configured("docs", "no documents folder is configured")
}

fn no_issues() -> SourceUnavailable {
    SourceUnavailable::not_configured("issues", "no issue exports are configured")
}

/// Runs a blocking function on the blocking thread pool.
async fn run_blocking<T: Send + 'static>(
    source: &'static str,
    function: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SourceUnavailable> {
    tokio::task::spawn_blocking(function).await.map_err(|error| SourceUnavailable::failed(source, error.to_string()))
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}
