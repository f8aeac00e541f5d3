//! Run context, which is never persisted: MCP tools, id of the post, model, token, language and timeouts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use superstep::core::port::SharedTool;
use superstep::mcp::{McpClient, McpToolSource, connect_in_process};
use superstep::models::{ModelInfo, SharedModel};
use superstep::settings::Secret;
use superstep::{Error, ErrorCode, Result};

use crate::mcp::{Caller, server_for};
use crate::sources::Sources;
use crate::suggest::ExecutedQuery;

/// Run context of the suggestions graph. Cheap to clone.
#[derive(Clone)]
pub struct SuggestionsContext {
    tools: Option<(McpClient, McpToolSource)>,
    post_id: String,
    model: Option<SharedModel>,
    access_token: Option<Secret>,
    locale: Option<String>,
    timeouts: Timeouts,
    report: Arc<Mutex<RunReport>>,
}

/// Timeouts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Timeout of the whole run. Default: 30 seconds.
    pub run: Duration,
    /// Timeout of one tool call. Default: 10 seconds.
    pub tool: Duration,
    /// Timeout of one model call. Default: 15 seconds.
    pub model: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let [run, tool, model] = [30, 10, 15].map(Duration::from_secs);
        Self { run, tool, model }
    }
}

/// Metadata of a run besides its response. The last node writes the report into the context, because the output of
/// the graph contains only the response.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunReport {
    pub(crate) queries: Vec<ExecutedQuery>,
    pub(crate) warnings: Vec<String>,
    pub(crate) unavailable_reasons: BTreeMap<String, String>,
    pub(crate) model: Option<ModelInfo>,
}

impl SuggestionsContext {
    /// Creates a context for a post, without tools and without a model.
    pub fn new(post_id: impl Into<String>) -> Self {
        Self {
            tools: None,
            post_id: post_id.into(),
            model: None,
            access_token: None,
            locale: None,
            timeouts: Timeouts::default(),
            report: Arc::default(),
        }
    }

    /// Sets the MCP client that provides the tools.
    #[must_use]
    pub fn mcp_client(mut self, client: McpClient) -> Self {
        let source = client.tool_source();
        self.tools = Some((client, source));
        self
    }

    /// Sets the model that chooses the searches.
    #[must_use]
    pub fn model(mut self, model: impl Into<SharedModel>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the Microsoft 365 access token. Call this before [`connect_mcp`](Self::connect_mcp).
    #[must_use]
    pub fn access_token(mut self, token: Secret) -> Self {
        self.access_token = Some(token);
        self
    }

    /// Sets the language of the reader, such as `de`. Call this before [`connect_mcp`](Self::connect_mcp).
    #[must_use]
    pub fn locale(mut self, locale: impl Into<String>) -> Self {
        self.locale = Some(locale.into());
        self
    }

    /// Sets the timeouts.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Connects to a new in-memory MCP server over these sources, which uses the token and locale of this context.
    ///
    /// # Errors
    /// Returns an error if the MCP server cannot be started.
    pub async fn connect_mcp(self, sources: Sources, hints: Option<SharedModel>) -> Result<Self> {
        let caller = Caller { token: self.access_token.clone(), locale: self.locale.clone() };
        let client = connect_in_process(&server_for(sources, hints, caller)).await?;
        Ok(self.mcp_client(client))
    }

    /// Returns the id of the post.
    #[must_use]
    pub fn post_id(&self) -> &str {
        &self.post_id
    }

    pub(crate) fn language(&self) -> Option<&str> {
        self.locale.as_deref()
    }

    pub(crate) fn run_timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// Returns the model, or `None` for the search without a model.
    pub(crate) fn planner_model(&self) -> Option<&SharedModel> {
        self.model.as_ref()
    }

    /// Returns an error if the context has no tools.
    pub(crate) fn check(&self) -> Result<()> {
        if self.tools.is_some() {
            return Ok(());
        }
        let error = Error::new(ErrorCode::MissingContext, "the context has no `mcpClient`");
        Err(error.with_help("connect one: `SuggestionsContext::new(post).connect_mcp(sources, None).await?`"))
    }

    /// Returns the tool of the MCP server with this name.
    pub(crate) async fn tool(&self, name: &str) -> Result<SharedTool> {
        self.check()?;
        let tools = match &self.tools {
            Some((_, source)) => source.tools().await?,
            None => Vec::new(),
        };
        let tool = tools.into_iter().find(|tool| tool.spec().name == name);
        tool.ok_or_else(|| Error::new(ErrorCode::ToolFailed, format!("tool `{name}` not found on the MCP server")))
    }

    /// Returns a copy of this context with its own, empty report.
    pub(crate) fn with_fresh_report(&self) -> Self {
        Self { report: Arc::default(), ..self.clone() }
    }

    pub(crate) fn set_report(&self, report: RunReport) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    pub(crate) fn report(&self) -> RunReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for SuggestionsContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tools, post_id, model, access_token, locale, timeouts, report: _ } = self;
        let mut debug = f.debug_struct("SuggestionsContext");
        debug.field("mcp_client", &tools.as_ref().map(|(client, _)| client)).field("post_id", post_id);
        debug
            .field("model", model)
            .field("access_token", access_token)
            .field("locale", locale)
            .field("timeouts", timeouts);
        debug.finish()
    }
}
