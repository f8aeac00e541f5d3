//! Locations of the sources and the size of their results.

use std::path::PathBuf;
use std::sync::Arc;

use superstep::SystemClock;
use superstep::core::port::Clock;
use superstep::store::SharedEmbedder;

/// Settings of the sources. A source that is not set cannot be searched and reports that as the reason.
#[derive(Clone)]
pub struct SourceSettings {
    /// Folder of documents.
    pub docs: Option<PathBuf>,
    /// URL prefix of document paths.
    pub docs_url: String,
    /// Folder of issue tracker exports.
    pub issues: Option<PathBuf>,
    /// Path of the SQLite database of posts. If `None`, posts live in memory as long as the process.
    pub posts: Option<PathBuf>,
    /// Backend of the Microsoft 365 search.
    pub m365: M365Settings,
    /// File with groups of synonyms.
    pub words: Option<PathBuf>,
    /// Maximum number of results of each search.
    pub limits: ResultLimits,
    /// Embedding model for posts. Default: the lexical one of the engine.
    pub embedder: Option<SharedEmbedder>,
    /// Clock that decides when posts expire.
    pub clock: Arc<dyn Clock>,
}

/// Backend of the Microsoft 365 search.
#[derive(Debug, Clone, Default)]
pub enum M365Settings {
    /// Microsoft 365 is not searched.
    #[default]
    None,
    /// A synchronised folder, and a folder of `.eml` and `.mbox` files.
    Mirror {
        /// Synchronised folder. Files below a folder named `sharepoint` count as SharePoint, all others as OneDrive.
        folder: Option<PathBuf>,
        /// Folder of saved mail.
        mail: Option<PathBuf>,
    },
    /// Microsoft Graph, with the token of the requester.
    Graph {
        /// Base URL, usually `https://graph.microsoft.com`.
        base_url: String,
    },
}

/// Maximum number of results of each search.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultLimits {
    /// Maximum number of results of each kind (files, mail) of Microsoft 365. Default: 10.
    pub m365: usize,
    /// Maximum number of document sections. Default: 3.
    pub docs: usize,
    /// Maximum number of issues. Default: 2.
    pub issues: usize,
    /// Maximum number of posts. Default: 5.
    pub posts: usize,
    /// Minimum similarity of a post, from 0 to 1. Default: 0.2.
    pub similarity: f32,
}

impl Default for ResultLimits {
    fn default() -> Self {
        Self { m365: 10, docs: 3, issues: 2, posts: 5, similarity: 0.2 }
    }
}

impl Default for SourceSettings {
    fn default() -> Self {
        Self {
            docs: None,
            docs_url: "docs/".to_owned(),
            issues: None,
            posts: None,
            m365: M365Settings::None,
            words: None,
            limits: ResultLimits::default(),
            embedder: None,
            clock: Arc::new(SystemClock),
        }
    }
}

impl SourceSettings {
    /// Creates settings for a folder with the layout of the sample: `docs`, `issues`, `m365`, `words.txt`,
    /// `posts.sqlite`. Missing entries are not set.
    #[must_use]
    pub fn from_folder(folder: &std::path::Path) -> Self {
        let existing = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
        let (mirror, mail) = (existing("m365"), existing("m365/mail"));
        let m365 = if mirror.is_some() { M365Settings::Mirror { folder: mirror, mail } } else { M365Settings::None };
        Self {
            docs: existing("docs"),
            issues: existing("issues"),
            posts: Some(folder.join("posts.sqlite")),
            words: existing("words.txt"),
            m365,
            ..Self::default()
        }
    }
}

impl std::fmt::Debug for SourceSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { docs, docs_url, issues, posts, m365, words, limits, embedder, clock: _ } = self;
        let mut debug = f.debug_struct("SourceSettings");
        debug.field("docs", docs).field("docs_url", docs_url).field("issues", issues).field("posts", posts);
        debug.field("m365", m365).field("words", words).field("limits", limits).field("embedder", embedder);
        debug.finish()
    }
}
