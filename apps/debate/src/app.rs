//! The debate platform as an application of the server: its graph, routes, page and models.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::models::{ModelInfo, ModelKind, SharedModel};
use superstep::{CompiledGraph, Error, Result, RetryPolicy, Threads};
use superstep_server::{App, ModelRegistry, Problem, RateLimit, RunService, serve_graph_with_annotations};

use crate::context::DebateContext;
use crate::evidence::Evidence;
use crate::graph::state_graph;
use crate::http::{DebateOptions, annotate_request, render_noscript, routes};
use crate::rule_model::RuleModelBuilder;
use crate::state::DebateState;
use crate::transcript::model_json;

/// Settings of the debate platform.
#[derive(Debug, Clone)]
pub struct DebateSettings {
    /// Folder of documents for fact checks and for quotes of the rule model.
    pub evidence: Option<PathBuf>,
    /// Delay of the rule model per word, if a client streams the debate.
    pub typing_delay: Duration,
    /// Rate limit for creating debates, per client address.
    pub rate_limit: RateLimit,
}

impl Default for DebateSettings {
    fn default() -> Self {
        let rate_limit = RateLimit { max_requests: 10, window: Duration::from_secs(3600), max_concurrent: 2 };
        Self { evidence: None, typing_delay: Duration::from_millis(30), rate_limit }
    }
}

/// Creates the debate platform for a server.
///
/// # Errors
/// Returns an error if the evidence folder cannot be read.
pub fn app(settings: DebateSettings, models: ModelRegistry) -> Result<App> {
    let evidence = settings.evidence.as_deref().map(Evidence::open).transpose()?.map(Arc::new);
    let graph = state_graph(RetryPolicy::exponential(3)).compile()?;
    let app_state = DebateAppState(Arc::new(Inner { settings, models, evidence, graph: graph.clone() }));
    let context_state = app_state.clone();
    let graph = serve_graph_with_annotations(
        graph,
        move |request| context_state.run_context(&DebateOptions::from_json(&request.context)),
        annotate_request,
    );
    let app = App::new("debate", "Debate").graph(graph).routes(routes(app_state.clone())).page("debate.html");
    Ok(app.html_fallback(move |runs, id| {
        let app_state = app_state.clone();
        async move { render_noscript(&runs, &app_state, &id).await }
    }))
}

/// State shared by all debates.
#[derive(Clone)]
pub(crate) struct DebateAppState(Arc<Inner>);

struct Inner {
    settings: DebateSettings,
    models: ModelRegistry,
    evidence: Option<Arc<Evidence>>,
    graph: CompiledGraph<DebateState, DebateContext>,
}

/// Names of the rule model in requests.
pub(crate) const RULE_MODEL_NAMES: [&str; 2] = ["local", "local/rules"];

impl DebateAppState {
    /// Returns the run context for a debate with these options.
    ///
    /// # Errors
    /// Returns an error if the model is unknown or unavailable.
    pub(crate) fn run_context(&self, options: &DebateOptions) -> Result<DebateContext, Problem> {
        let context =
            DebateContext::new(self.model(options)?).approval(options.approval).fact_check(options.fact_check);
        let mut context = context.seed(options.seed);
        context.evidence = self.0.evidence.clone();
        Ok(context)
    }

    /// Returns the threads of debates in the checkpointer of this run service.
    pub(crate) fn threads(&self, runs: &RunService) -> Threads<DebateState, DebateContext> {
        self.0.graph.threads().checkpointer(runs.config().storage.checkpointer.clone())
    }

    fn model(&self, options: &DebateOptions) -> Result<SharedModel, Problem> {
        match options.named_model() {
            Some(name) => self.0.models.get(name, &RULE_MODEL_NAMES),
            None => {
                let mut builder = RuleModelBuilder::new(options.seed);
                if let Some(evidence) = &self.0.evidence {
                    builder = builder.evidence(evidence.clone());
                }
                if options.has_typing_delay {
                    builder = builder.typing_delay(self.0.settings.typing_delay);
                }
                Ok(builder.model())
            }
        }
    }

    pub(crate) fn rate_limit(&self) -> RateLimit {
        self.0.settings.rate_limit
    }

    /// Returns the limit for continuing a debate: no rate limit, because the debate was counted when it was created,
    /// only a limit on concurrency.
    pub(crate) fn concurrency_limit(&self) -> RateLimit {
        RateLimit { max_requests: usize::MAX, ..self.rate_limit() }
    }

    /// Describes the model of a debate with these options.
    pub(crate) fn model_json(&self, options: &DebateOptions) -> Value {
        match self.model(options) {
            Ok(model) => model_json(&model.info()),
            Err(problem) => json!({ "name": options.model, "kind": null, "label": problem.detail() }),
        }
    }

    /// Lists the available options.
    ///
    /// # Errors
    /// Returns an error if the documents cannot be counted.
    pub(crate) async fn settings_json(&self) -> Result<Value, Problem> {
        let rules = model_json(&ModelInfo::new("local", "rules", ModelKind::Rules));
        let mut models = vec![json!({
            "name": RULE_MODEL_NAMES[0], "kind": rules["kind"], "label": rules["label"], "configured": true,
            "hint": null,
        })];
        for summary in self.0.models.summaries() {
            let model = self.0.models.get(&summary.name, &RULE_MODEL_NAMES).map(|model| model_json(&model.info()));
            let (kind, label, hint) = match &model {
                Ok(model) => (model["kind"].clone(), model["label"].clone(), Value::Null),
                Err(problem) => (Value::Null, json!(problem.detail()), json!(problem.hint())),
            };
            let is_configured = model.is_ok();
            models.push(json!({
                "name": summary.name, "kind": kind, "label": label, "configured": is_configured, "hint": hint,
            }));
        }
        let RateLimit { max_requests, window, max_concurrent } = self.rate_limit();
        let documents = self.document_count().await?;
        Ok(json!({
            "models": models,
            "evidence": { "configured": self.0.evidence.is_some(), "documents": documents },
            "limits": { "debates": max_requests, "withinSeconds": window.as_secs(), "atOnce": max_concurrent },
        }))
    }

    async fn document_count(&self) -> Result<usize, Problem> {
        let Some(evidence) = self.0.evidence.clone() else { return Ok(0) };
        // Counting may wait while files are indexed, which must not block the runtime.
        let count = tokio::task::spawn_blocking(move || evidence.documents()).await;
        count.map_err(|error| Error::internal(format!("the documents could not be counted: {error}")).into())
    }
}
