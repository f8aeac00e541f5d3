//! What the assistant runs with: one folder, laid out as the sample is, and whatever lies elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use superstep::core::port::Clock;
use superstep::settings::Secret;
use superstep::tool::SharedTool;
use superstep::{Result, SystemClock};
use superstep_server::Limit;

use crate::desk::{Limits, WithoutModel};
use crate::tools::query::bigquery::BigQuery;
use crate::tools::{ServerSettings, WebSettings, connect_servers, joined};

/// The day on which the questions of the sample are asked.
const SAMPLE_DAY: &str = "2026-11-02";

/// What somebody may ask about the sample.
const SAMPLE_QUESTIONS: [&str; 7] = [
    "How many orders shipped late in October?",
    "What are our top 5 products by revenue?",
    "How did the number of orders develop month by month in 2026?",
    "Orders of Miller",
    "How long do customers have to send something back?",
    "What is 19 % of 249.90?",
    "What did we talk about first?",
];

/// What the assistant runs with.
#[derive(Clone)]
pub struct Settings {
    /// A folder with `policy.toml`, `profiles.json`, `synonyms.txt`, `shop` and `handbook`, unless they are elsewhere.
    pub folder: PathBuf,
    /// The policy.
    pub policy: Option<PathBuf>,
    /// The users.
    pub profiles: Option<PathBuf>,
    /// Words that people use for tables, columns and values.
    pub synonyms: Option<PathBuf>,
    /// The data: a SQLite file, or a folder of tables.
    pub data: Option<PathBuf>,
    /// The documents that are searched and read.
    pub handbook: Option<PathBuf>,
    /// BigQuery, which is then asked in place of the data.
    pub bigquery: Option<Arc<BigQuery>>,
    /// The web; not used unless given.
    pub web: Option<WebSettings>,
    /// Tools of others, such as [`Settings::connect`] adds.
    pub more_tools: Vec<SharedTool>,
    /// How many turns an address may begin.
    pub limit: Limit,
    /// How much a turn may do.
    pub limits: Limits,
    /// What becomes of a turn whose model cannot be reached.
    pub without_model: WithoutModel,
    /// Whether facts about users are kept, where they do not say so themselves.
    pub keeps_facts: bool,
    /// The day on which questions are asked, `YYYY-MM-DD`; today unless given.
    pub today: Option<String>,
    /// What tools read the time from.
    pub clock: Arc<dyn Clock>,
    /// Questions that a page proposes.
    pub examples: Vec<String>,
    /// The folder is of the sample, which is written there when somebody first asks, unless it is there.
    pub is_sample: bool,
}

impl Settings {
    /// Everything out of one folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            policy: None,
            profiles: None,
            synonyms: None,
            data: None,
            handbook: None,
            bigquery: None,
            web: None,
            more_tools: Vec::new(),
            limit: Limit { most: 240, within: Duration::from_secs(3600), at_once: 4 },
            limits: Limits::default(),
            without_model: WithoutModel::default(),
            keeps_facts: false,
            today: None,
            clock: Arc::new(SystemClock),
            examples: Vec::new(),
            is_sample: false,
        }
    }

    /// The sample in a folder, on the day that its questions are about.
    pub fn sample(folder: impl Into<PathBuf>) -> Self {
        let examples = SAMPLE_QUESTIONS.map(str::to_owned).to_vec();
        let today = Some(SAMPLE_DAY.to_owned());
        Self { today, examples, keeps_facts: true, is_sample: true, ..Self::new(folder) }
    }

    /// Connects to MCP servers, with a token for those that need one, and adds their tools.
    ///
    /// # Errors
    /// When a server cannot be reached, its tools are not those that were approved, or two have the same name.
    pub async fn connect(mut self, servers: &[ServerSettings], token: impl Fn(&str) -> Option<Secret>) -> Result<Self> {
        self.more_tools = joined(self.more_tools, connect_servers(servers, token).await?)?;
        Ok(self)
    }

    pub(super) fn policy(&self) -> PathBuf {
        self.place(self.policy.as_deref(), "policy.toml")
    }

    pub(super) fn profiles(&self) -> PathBuf {
        self.place(self.profiles.as_deref(), "profiles.json")
    }

    pub(super) fn synonyms(&self) -> PathBuf {
        self.place(self.synonyms.as_deref(), "synonyms.txt")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.place(self.data.as_deref(), "shop")
    }

    /// One that somebody names must be there; the one of the folder need not.
    pub(super) fn handbook(&self) -> Option<PathBuf> {
        let usual = || Some(self.folder.join("handbook")).filter(|folder| folder.is_dir());
        self.handbook.clone().or_else(usual)
    }

    fn place(&self, given: Option<&Path>, usual: &str) -> PathBuf {
        given.map_or_else(|| self.folder.join(usual), Path::to_path_buf)
    }
}
