//! What a run needs and nobody saves: the tools, the post it is for, who answers, and how long it may take.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use superstep::core::port::SharedTool;
use superstep::mcp::{Client, ToolSource, linked};
use superstep::model::{ModelInfo, SharedModel};
use superstep::settings::Secret;
use superstep::{Code, Error, Result};

use crate::mcp::{Caller, server_for};
use crate::sources::Sources;
use crate::suggest::Query;

/// The context of a run. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    tools: Option<(Client, ToolSource)>,
    post_id: String,
    model: Option<SharedModel>,
    access_token: Option<Secret>,
    locale: Option<String>,
    limits: Limits,
    report: Arc<Mutex<Report>>,
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The whole run.
    pub run: Duration,
    /// One call of a tool.
    pub tool: Duration,
    /// One call of the model.
    pub model: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let [run, tool, model] = [30, 10, 15].map(Duration::from_secs);
        Self { run, tool, model }
    }
}

/// What came of a run besides the response. The last node leaves it here, because the output of the graph is the
/// response and nothing else.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    pub(crate) queries: Vec<Query>,
    pub(crate) warnings: Vec<String>,
    pub(crate) reasons: BTreeMap<String, String>,
    pub(crate) model: Option<ModelInfo>,
}

impl Context {
    /// The context for a post, without tools and without a model.
    pub fn new(post_id: impl Into<String>) -> Self {
        Self {
            tools: None,
            post_id: post_id.into(),
            model: None,
            access_token: None,
            locale: None,
            limits: Limits::default(),
            report: Arc::default(),
        }
    }

    /// Who offers the tools.
    #[must_use]
    pub fn mcp_client(mut self, client: Client) -> Self {
        let source = client.tool_source();
        self.tools = Some((client, source));
        self
    }

    /// Who decides what to search for.
    #[must_use]
    pub fn model(mut self, model: impl Into<SharedModel>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// What Microsoft 365 is searched with. Say it before [`connected`](Self::connected).
    #[must_use]
    pub fn access_token(mut self, token: Secret) -> Self {
        self.access_token = Some(token);
        self
    }

    /// The language of who reads the answer, such as `de`. Say it before [`connected`](Self::connected).
    #[must_use]
    pub fn locale(mut self, locale: impl Into<String>) -> Self {
        self.locale = Some(locale.into());
        self
    }

    /// How long things may take.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Connects to a server of its own over these sources, in memory, in the name of who asks.
    ///
    /// # Errors
    /// When the server cannot serve.
    pub async fn connected(self, sources: Sources, hints: Option<SharedModel>) -> Result<Self> {
        let caller = Caller { token: self.access_token.clone(), locale: self.locale.clone() };
        let client = linked(&server_for(sources, hints, caller)).await?;
        Ok(self.mcp_client(client))
    }

    /// The post it is for.
    #[must_use]
    pub fn post_id(&self) -> &str {
        &self.post_id
    }

    pub(crate) fn language(&self) -> Option<&str> {
        self.locale.as_deref()
    }

    pub(crate) fn bounds(&self) -> Limits {
        self.limits
    }

    /// Who decides, where somebody does.
    pub(crate) fn decider(&self) -> Option<&SharedModel> {
        self.model.as_ref()
    }

    /// Refuses a context without tools.
    pub(crate) fn check(&self) -> Result<()> {
        if self.tools.is_some() {
            return Ok(());
        }
        let error = Error::new(Code::MissingContext, "the context has no `mcpClient`");
        Err(error.help("connect one: `Context::new(post).connected(sources, None).await?`"))
    }

    /// A tool of the server, by its name.
    pub(crate) async fn tool(&self, name: &str) -> Result<SharedTool> {
        self.check()?;
        let listed = match &self.tools {
            Some((_, source)) => source.tools().await?,
            None => Vec::new(),
        };
        let tool = listed.into_iter().find(|tool| tool.spec().name == name);
        tool.ok_or_else(|| Error::new(Code::ToolFailed, format!("the MCP server has no tool `{name}`")))
    }

    /// The same context, with a place of its own for what comes of the run.
    pub(crate) fn for_one_run(&self) -> Self {
        Self { report: Arc::default(), ..self.clone() }
    }

    pub(crate) fn set_report(&self, report: Report) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    pub(crate) fn report(&self) -> Report {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tools, post_id, model, access_token, locale, limits, report: _ } = self;
        let mut shown = f.debug_struct("Context");
        shown.field("mcp_client", &tools.as_ref().map(|(client, _)| client)).field("post_id", post_id);
        shown.field("model", model).field("access_token", access_token).field("locale", locale).field("limits", limits);
        shown.finish()
    }
}
