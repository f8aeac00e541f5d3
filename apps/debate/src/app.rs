//! The debate platform as an application of the server: its graph, its routes, its page, and who may speak.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::model::{ModelInfo, ModelKind, SharedModel};
use superstep::{Compiled, Error, Result, Retry, Threads};
use superstep_server::{App, Desk, Limit, Models, Problem, served_noting};

use crate::evidence::Evidence;
use crate::graph::draw;
use crate::hall::Hall;
use crate::http::{Options, noted, plain, routes};
use crate::state::Debate;
use crate::transcript::described;
use crate::voices::Voices;

/// What the platform runs with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// A folder of documents that claims are looked up in and that rule-based voices quote.
    pub evidence: Option<PathBuf>,
    /// How long rule-based voices take for a word when somebody watches.
    pub pace: Duration,
    /// How many debates an address may begin.
    pub limit: Limit,
}

impl Default for Settings {
    fn default() -> Self {
        let limit = Limit { most: 10, within: Duration::from_secs(3600), at_once: 2 };
        Self { evidence: None, pace: Duration::from_millis(30), limit }
    }
}

/// The debate platform, for a server.
///
/// # Errors
/// When the folder of evidence cannot be read.
pub fn app(settings: Settings, models: Models) -> Result<App> {
    let evidence = settings.evidence.as_deref().map(Evidence::open).transpose()?.map(Arc::new);
    let graph = draw(Retry::exponential(3)).compile()?;
    let platform = Platform(Arc::new(Inner { settings, models, evidence, graph: graph.clone() }));
    let hall = platform.clone();
    let graph = served_noting(graph, move |order| hall.hall(&Options::read(&order.options)), noted);
    let app = App::new("debate", "Debate").graph(graph).routes(routes(platform.clone())).page("debate.html");
    Ok(app.without_script(move |desk, id| {
        let platform = platform.clone();
        async move { plain(&desk, &platform, &id).await }
    }))
}

/// What all debates have in common.
#[derive(Clone)]
pub(crate) struct Platform(Arc<Inner>);

struct Inner {
    settings: Settings,
    models: Models,
    evidence: Option<Arc<Evidence>>,
    graph: Compiled<Debate, Hall>,
}

/// The rule-based voices, as requests name them.
pub(crate) const LOCAL: [&str; 2] = ["local", "local/rules"];

impl Platform {
    /// Where a debate with these options is held.
    ///
    /// # Errors
    /// When its model is not known, or cannot be asked.
    pub(crate) fn hall(&self, options: &Options) -> Result<Hall, Problem> {
        let hall = Hall::new(self.model(options)?).approval(options.approval).fact_check(options.fact_check);
        let mut hall = hall.seed(options.seed);
        hall.evidence = self.0.evidence.clone();
        Ok(hall)
    }

    /// Debates that are kept where this desk keeps them.
    pub(crate) fn threads(&self, desk: &Desk) -> Threads<Debate, Hall> {
        self.0.graph.threads().checkpointer(desk.config().stores.checkpoints.clone())
    }

    fn model(&self, options: &Options) -> Result<SharedModel, Problem> {
        match options.named_model() {
            Some(name) => self.0.models.get(name, &LOCAL),
            None => {
                let mut voices = Voices::new(options.seed);
                if let Some(evidence) = &self.0.evidence {
                    voices = voices.evidence(evidence.clone());
                }
                if options.is_paced {
                    voices = voices.pace(self.0.settings.pace);
                }
                Ok(voices.model())
            }
        }
    }

    pub(crate) fn limit(&self) -> Limit {
        self.0.settings.limit
    }

    /// For a debate that was counted when it began.
    pub(crate) fn limit_at_once(&self) -> Limit {
        Limit { most: usize::MAX, ..self.limit() }
    }

    /// Who speaks in a debate with these options.
    pub(crate) fn model_described(&self, options: &Options) -> Value {
        match self.model(options) {
            Ok(model) => described(&model.info()),
            Err(problem) => json!({ "name": options.model, "kind": null, "label": problem.detail() }),
        }
    }

    /// What can be chosen.
    ///
    /// # Errors
    /// When the documents cannot be counted.
    pub(crate) async fn described(&self) -> Result<Value, Problem> {
        let rules = described(&ModelInfo::new("local", "rules", ModelKind::Rules));
        let mut models = vec![json!({
            "name": LOCAL[0], "kind": rules["kind"], "label": rules["label"], "configured": true, "hint": null,
        })];
        for note in self.0.models.notes() {
            let described = self.0.models.get(&note.name, &LOCAL).map(|model| described(&model.info()));
            let (kind, label, hint) = match &described {
                Ok(model) => (model["kind"].clone(), model["label"].clone(), Value::Null),
                Err(problem) => (Value::Null, json!(problem.detail()), json!(problem.advice())),
            };
            let is_configured = described.is_ok();
            models.push(json!({
                "name": note.name, "kind": kind, "label": label, "configured": is_configured, "hint": hint,
            }));
        }
        let Limit { most, within, at_once } = self.limit();
        let documents = self.documents().await?;
        Ok(json!({
            "models": models,
            "evidence": { "configured": self.0.evidence.is_some(), "documents": documents },
            "limits": { "debates": most, "withinSeconds": within.as_secs(), "atOnce": at_once },
        }))
    }

    async fn documents(&self) -> Result<usize, Problem> {
        let Some(evidence) = self.0.evidence.clone() else { return Ok(0) };
        // Whoever reads files into the index holds it, and a thread that answers requests must not wait for that.
        let counted = tokio::task::spawn_blocking(move || evidence.documents()).await;
        counted.map_err(|error| Error::internal(format!("the documents could not be counted: {error}")).into())
    }
}
