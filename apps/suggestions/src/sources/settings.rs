//! Where the sources are, and how much they give.

use std::path::PathBuf;
use std::sync::Arc;

use superstep::SystemClock;
use superstep::core::port::Clock;
use superstep::store::SharedEmbedder;

/// What to search. What is left out is not searched and says so.
#[derive(Clone)]
pub struct Settings {
    /// A folder of documents.
    pub docs: Option<PathBuf>,
    /// What stands before the path of a document in its address.
    pub docs_url: String,
    /// A folder of exports of issue trackers.
    pub issues: Option<PathBuf>,
    /// The database of posts; without one they live as long as the process.
    pub posts: Option<PathBuf>,
    /// Where Microsoft 365 is searched.
    pub m365: M365,
    /// A list of words that mean the same.
    pub words: Option<PathBuf>,
    /// How many hits each search gives.
    pub limits: Limits,
    /// What compares posts; the lexical one of the engine when there is none.
    pub embedder: Option<SharedEmbedder>,
    /// What time it is, for posts that expire.
    pub clock: Arc<dyn Clock>,
}

/// Where Microsoft 365 is searched.
#[derive(Debug, Clone, Default)]
pub enum M365 {
    /// Nowhere.
    #[default]
    None,
    /// In a synchronised folder, and in a folder of `.eml` and `.mbox` files.
    Mirror {
        /// The folder; a file below a folder `sharepoint` is of a team, any other of a person.
        folder: Option<PathBuf>,
        /// The mail.
        mail: Option<PathBuf>,
    },
    /// In Microsoft Graph, with the token of who asks.
    Graph {
        /// `https://graph.microsoft.com` for most.
        base_url: String,
    },
}

/// How many hits each search gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Of each kind (files, mail) of Microsoft 365.
    pub m365: usize,
    /// Sections of documents.
    pub docs: usize,
    /// Issues.
    pub issues: usize,
    /// Posts.
    pub posts: usize,
    /// How near a post must be to count, from 0 to 1.
    pub similarity: f32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { m365: 10, docs: 3, issues: 2, posts: 5, similarity: 0.2 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            docs: None,
            docs_url: "docs/".to_owned(),
            issues: None,
            posts: None,
            m365: M365::None,
            words: None,
            limits: Limits::default(),
            embedder: None,
            clock: Arc::new(SystemClock),
        }
    }
}

impl Settings {
    /// The settings for a folder with the layout of the sample: `docs`, `issues`, `m365`, `words.txt`, `posts.sqlite`.
    /// What is not there is left out.
    #[must_use]
    pub fn of_folder(folder: &std::path::Path) -> Self {
        let there = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
        let (mirror, mail) = (there("m365"), there("m365/mail"));
        let m365 = if mirror.is_some() { M365::Mirror { folder: mirror, mail } } else { M365::None };
        Self {
            docs: there("docs"),
            issues: there("issues"),
            posts: Some(folder.join("posts.sqlite")),
            words: there("words.txt"),
            m365,
            ..Self::default()
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { docs, docs_url, issues, posts, m365, words, limits, embedder, clock: _ } = self;
        let mut shown = f.debug_struct("Settings");
        shown.field("docs", docs).field("docs_url", docs_url).field("issues", issues).field("posts", posts);
        shown.field("m365", m365).field("words", words).field("limits", limits).field("embedder", embedder);
        shown.finish()
    }
}
