//! The suggestions agent as an application of the server: graph, routes, page and model selection.
//!
//! Sources are opened by the first request, so a program that only registers this application creates no files.

mod open_sources;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::port::Clock;
use superstep::models::{ModelInfo, ModelKind, SharedModel};
use superstep::settings::Secret;
use superstep::{CompiledGraph, Error, ErrorCode, Result, SystemClock};
use superstep_server::{App, ModelRegistry, Problem, RateLimit, RunRequest, serve_graph};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::OnceCell;

use crate::context::SuggestionsContext;
use crate::direct_search;
use crate::graph::{MAX_TOOL_ROUNDS, create_suggestions_graph};
use crate::http::{render_noscript, routes};
use crate::planner::{self, planner};
use crate::sources::{M365Settings, Sources};
use crate::state::SuggestionsState;

/// Default folder of the unpacked sample and of the database of posts.
pub const HOME: &str = ".superstep/suggestions";

/// Settings of the application.
#[derive(Clone)]
pub struct SuggestionsSettings {
    /// Folder with `docs`, `issues`, `m365` and `words.txt`, or with documents alone. Default: the built-in sample.
    pub folder: Option<PathBuf>,
    /// Folder into which the sample is unpacked. Default: [`HOME`].
    pub data_dir: PathBuf,
    /// Path of the SQLite database of posts. If `None`, posts live in memory as long as the process.
    pub posts: Option<PathBuf>,
    /// Backend of the Microsoft 365 search. Default: the subfolder `m365` of `folder`.
    pub m365: Option<M365Settings>,
    /// Microsoft Graph access token for requests without a token of their own.
    pub token: Option<Secret>,
    /// Maximum number of model calls per run.
    pub max_tool_rounds: u32,
    /// Rate limit per client address, applied to each kind of request separately.
    pub rate_limit: RateLimit,
    /// Clock that decides when posts expire.
    pub clock: Arc<dyn Clock>,
}

impl Default for SuggestionsSettings {
    fn default() -> Self {
        Self {
            folder: None,
            data_dir: HOME.into(),
            posts: Some(Path::new(HOME).join("posts.db")),
            m365: None,
            token: None,
            max_tool_rounds: MAX_TOOL_ROUNDS,
            rate_limit: RateLimit { max_requests: 600, window: Duration::from_secs(3600), max_concurrent: 4 },
            clock: Arc::new(SystemClock),
        }
    }
}

impl SuggestionsSettings {
    /// Opens the sources. If no folder is set, unpacks the sample and replaces its expired posts.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be read or the database of posts cannot be opened.
    pub async fn open(&self) -> Result<Sources> {
        open_sources::open(self).await
    }
}

/// Creates the suggestions application for a server.
///
/// # Errors
/// Returns an error if the configured folder is not a directory or `max_tool_rounds` is out of range.
pub fn app(settings: SuggestionsSettings, models: ModelRegistry) -> Result<App> {
    if let Some(folder) = settings.folder.as_deref().filter(|folder| !folder.is_dir()) {
        let message = format!("the suggestions folder `{}` is not a folder", folder.display());
        return Err(Error::new(ErrorCode::ConfigInvalid, message)
            .with_help("set a folder that contains `docs`, `issues` or `m365`"));
    }
    let graph = create_suggestions_graph(settings.max_tool_rounds)?;
    let app_state =
        SuggestionsAppState(Arc::new(Inner { settings, models, graph: graph.clone(), opened: OnceCell::new() }));
    let (context_state, page_state) = (app_state.clone(), app_state.clone());
    let graph = serve_graph(graph, move |request| context_state.context_from_request(request));
    let app = App::new("suggestions", "Suggestions").graph(graph).routes(routes(app_state)).page("suggestions.html");
    Ok(app.html_fallback(move |_, id| {
        let page_state = page_state.clone();
        async move { render_noscript(&page_state, &id).await }
    }))
}

/// Shared state of all routes and runs of the application.
#[derive(Clone)]
pub(crate) struct SuggestionsAppState(Arc<Inner>);

struct Inner {
    settings: SuggestionsSettings,
    models: ModelRegistry,
    graph: CompiledGraph<SuggestionsState, SuggestionsContext>,
    opened: OnceCell<Sources>,
}

/// Options of one search: model, Microsoft Graph token and language of the user.
#[derive(Default)]
pub(crate) struct SearchOptions {
    pub(crate) model: Option<String>,
    pub(crate) token: Option<Secret>,
    pub(crate) locale: Option<String>,
}

/// Names by which requests select the keyword planner.
const PLANNER_NAMES: [&str; 2] = ["local", "local/rules"];
/// Names by which requests select the search without a model, which uses the text of the post as the query.
const DIRECT_SEARCH_NAMES: [&str; 2] = ["direct", "local/direct"];

impl SuggestionsAppState {
    /// Returns the sources. The first call opens them; after a failure the next call tries again.
    pub(crate) async fn sources(&self) -> Result<&Sources> {
        self.0.opened.get_or_try_init(|| open_sources::open(&self.0.settings)).await
    }

    pub(crate) fn graph(&self) -> &CompiledGraph<SuggestionsState, SuggestionsContext> {
        &self.0.graph
    }

    pub(crate) fn rate_limit(&self) -> RateLimit {
        self.0.settings.rate_limit
    }

    /// Builds the run context for a post.
    ///
    /// # Errors
    /// Returns a problem if the model is unknown or not available, or if the sources cannot be opened.
    pub(crate) async fn run_context(&self, post: &str, options: SearchOptions) -> Result<SuggestionsContext, Problem> {
        let sources = self.sources().await?;
        let model = self.model(sources, options.model.as_deref())?;
        let mut context = SuggestionsContext::new(post);
        context = self.token(options.token).into_iter().fold(context, SuggestionsContext::access_token);
        context = options.locale.into_iter().fold(context, SuggestionsContext::locale);
        // The rule-based model adds nothing to the templates of the hint tool.
        let hints = model.clone().filter(|model| model.info().kind != ModelKind::Rules);
        context = model.into_iter().fold(context, SuggestionsContext::model);
        Ok(context.connect_mcp(sources.clone(), hints).await?)
    }

    /// Returns the Microsoft Graph token of the request, or else the token of the server.
    pub(crate) fn token(&self, request_token: Option<Secret>) -> Option<Secret> {
        request_token.or_else(|| self.0.settings.token.clone())
    }

    /// Resolves the name of a model. Returns `None` for the search without a model.
    fn model(&self, sources: &Sources, name: Option<&str>) -> Result<Option<SharedModel>, Problem> {
        match name {
            None => Ok(Some(planner(sources.clone()).into())),
            Some(name) if PLANNER_NAMES.contains(&name) => Ok(Some(planner(sources.clone()).into())),
            Some(name) if DIRECT_SEARCH_NAMES.contains(&name) => Ok(None),
            Some(name) => self.0.models.get(name, &[PLANNER_NAMES[0], DIRECT_SEARCH_NAMES[0]]).map(Some),
        }
    }

    /// Builds the context of a run request, whose options may contain `postId` and `model`.
    fn context_from_request(&self, request: &RunRequest) -> Result<SuggestionsContext, Problem> {
        let text = |key: &str| request.context[key].as_str().map(str::to_owned);
        let options = SearchOptions { model: text("model"), ..SearchOptions::default() };
        block_on_context(self.run_context(&text("postId").unwrap_or_default(), options))
    }

    /// Returns the models, sources and limits as JSON for the settings route.
    pub(crate) async fn settings_json(&self) -> Result<Value, Problem> {
        let sources = self.sources().await?;
        let source_statuses = ["m365", "docs", "issues", "posts"].map(|name| {
            let missing = sources.not_configured_reason(name);
            (
                name.to_owned(),
                json!({ "configured": missing.is_none(), "reason": missing.map(|unavailable| unavailable.reason) }),
            )
        });
        let skipped_count = sources.skipped_count().await.map_err(|error| Error::internal(error.to_string()))?;
        let RateLimit { max_requests, window, max_concurrent } = self.rate_limit();
        Ok(json!({
            "models": self.models(),
            "sources": Value::Object(source_statuses.into_iter().collect()),
            // Only the count: file names are visible only to users with access to the folder.
            "leftOut": skipped_count,
            "limits": { "searches": max_requests, "withinSeconds": window.as_secs(), "atOnce": max_concurrent },
            "maxToolRounds": self.0.settings.max_tool_rounds,
        }))
    }

    fn models(&self) -> Vec<Value> {
        let built_in = [(PLANNER_NAMES[0], planner::LABEL), (DIRECT_SEARCH_NAMES[0], direct_search::LABEL)];
        let built_in = built_in.map(|(name, label)| {
            json!({ "name": name, "kind": ModelKind::Rules, "label": label, "configured": true, "hint": null })
        });
        let model = |name: &str| self.0.models.get(name, &PLANNER_NAMES[..1]);
        let others = self.0.models.summaries().into_iter().map(|summary| match model(&summary.name) {
            Ok(model) => {
                let (kind, label) = (model.info().kind, label(&model.info()));
                json!({ "name": summary.name, "kind": kind, "label": label, "configured": true, "hint": null })
            }
            Err(problem) => json!({
                "name": summary.name, "kind": null, "label": problem.detail(), "configured": false,
                "hint": problem.hint(),
            }),
        });
        built_in.into_iter().chain(others).collect()
    }
}

fn label(info: &ModelInfo) -> String {
    match info.kind {
        ModelKind::Rules => format!("{}, no language model", info.name),
        ModelKind::Weights => format!("{}, a language model in this process", info.name),
        ModelKind::Remote => format!("{}, a language model of {}", info.name, info.provider),
    }
}

/// Blocks on an asynchronous context from a synchronous callback: the server creates the context of a run
/// synchronously.
fn block_on_context<T>(future: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(|| handle.block_on(future))
        }
        _ => {
            let message = "run requests need a multi-threaded Tokio runtime";
            Err(Problem::new(503, ErrorCode::ConfigInvalid, message).with_hint("use a multi-threaded Tokio runtime"))
        }
    }
}
