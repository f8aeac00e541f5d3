//! Settings of the assistant: one folder in the layout of the sample, and overrides for single paths.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use superstep::core::port::Clock;
use superstep::settings::Secret;
use superstep::tools::SharedTool;
use superstep::{Result, SystemClock};
use superstep_server::RateLimit;

use crate::context::{ModelUnavailablePolicy, TurnLimits};
use crate::tools::query::bigquery::BigQuery;
use crate::tools::{McpServerSettings, WebSettings, connect_servers, with_external_tools};

/// Date on which the questions of the sample are asked.
const SAMPLE_DAY: &str = "2026-11-02";

/// Example questions about the sample.
const SAMPLE_QUESTIONS: [&str; 7] = [
    "How many orders shipped late in October?",
    "What are our top 5 products by revenue?",
    "How did the number of orders develop month by month in 2026?",
    "Orders of Miller",
    "How long do customers have to send something back?",
    "What is 19 % of 249.90?",
    "What did we talk about first?",
];

/// Settings of the assistant.
#[derive(Clone)]
pub struct AssistantSettings {
    /// Folder with `policy.toml`, `profiles.json`, `synonyms.txt`, `shop` and `handbook`; each has an override
    /// below.
    pub folder: PathBuf,
    /// Path of the policy. Default: `policy.toml` in the folder.
    pub policy: Option<PathBuf>,
    /// Path of the users. Default: `profiles.json` in the folder.
    pub profiles: Option<PathBuf>,
    /// Path of the synonyms for tables, columns and values. Default: `synonyms.txt` in the folder.
    pub synonyms: Option<PathBuf>,
    /// Path of the data: a SQLite file or a folder of tables. Default: `shop` in the folder.
    pub data: Option<PathBuf>,
    /// Folder of the documents that are searched and read. Default: `handbook` in the folder.
    pub documents: Option<PathBuf>,
    /// BigQuery client, which replaces the data as the default target of queries.
    pub bigquery: Option<Arc<BigQuery>>,
    /// Web tools. Default: none.
    pub web: Option<WebSettings>,
    /// External tools, for example those that [`AssistantSettings::connect`] adds.
    pub external_tools: Vec<SharedTool>,
    /// Rate limit of turns per client address.
    pub rate_limit: RateLimit,
    /// Limits of a turn.
    pub limits: TurnLimits,
    /// Reaction to a model that cannot be reached.
    pub on_model_unavailable: ModelUnavailablePolicy,
    /// True if facts about users are saved; a user's own preference takes precedence.
    pub remember_facts: bool,
    /// Date on which questions are asked, `YYYY-MM-DD`. Default: the current date.
    pub today: Option<String>,
    /// Clock of the tools.
    pub clock: Arc<dyn Clock>,
    /// Example questions shown on the page.
    pub examples: Vec<String>,
    /// True if the folder belongs to the sample, which is unpacked there on first use; existing files stay.
    pub is_sample: bool,
}

impl AssistantSettings {
    /// Creates settings whose paths all lie in one folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            policy: None,
            profiles: None,
            synonyms: None,
            data: None,
            documents: None,
            bigquery: None,
            web: None,
            external_tools: Vec::new(),
            rate_limit: RateLimit { max_requests: 240, window: Duration::from_secs(3600), max_concurrent: 4 },
            limits: TurnLimits::default(),
            on_model_unavailable: ModelUnavailablePolicy::default(),
            remember_facts: false,
            today: None,
            clock: Arc::new(SystemClock),
            examples: Vec::new(),
            is_sample: false,
        }
    }

    /// Creates settings for the sample in a folder, on the date that its questions refer to.
    pub fn sample(folder: impl Into<PathBuf>) -> Self {
        let examples = SAMPLE_QUESTIONS.map(str::to_owned).to_vec();
        let today = Some(SAMPLE_DAY.to_owned());
        Self { today, examples, remember_facts: true, is_sample: true, ..Self::new(folder) }
    }

    /// Connects to MCP servers, with a token for those that need one, and adds their tools.
    ///
    /// # Errors
    /// Returns an error if a server cannot be reached, if its tools differ from the approved ones, or if two tools
    /// have the same name.
    pub async fn connect(
        mut self,
        servers: &[McpServerSettings],
        token: impl Fn(&str) -> Option<Secret>,
    ) -> Result<Self> {
        self.external_tools = with_external_tools(self.external_tools, connect_servers(servers, token).await?)?;
        Ok(self)
    }

    pub(super) fn policy(&self) -> PathBuf {
        self.path_or_default(self.policy.as_deref(), "policy.toml")
    }

    pub(super) fn profiles(&self) -> PathBuf {
        self.path_or_default(self.profiles.as_deref(), "profiles.json")
    }

    pub(super) fn synonyms(&self) -> PathBuf {
        self.path_or_default(self.synonyms.as_deref(), "synonyms.txt")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path_or_default(self.data.as_deref(), "shop")
    }

    /// Returns the folder of the documents. A configured folder must exist; the default folder is optional.
    pub(super) fn handbook(&self) -> Option<PathBuf> {
        let default_folder = || Some(self.folder.join("handbook")).filter(|folder| folder.is_dir());
        self.documents.clone().or_else(default_folder)
    }

    fn path_or_default(&self, path: Option<&Path>, default_name: &str) -> PathBuf {
        path.map_or_else(|| self.folder.join(default_name), Path::to_path_buf)
    }
}
