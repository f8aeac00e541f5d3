//! The assistant as an application of the server: graph, routes, page, and the state shared by all HTTP handlers.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde_json::{Value, json};
use superstep::models::{ModelInfo, ModelKind, SharedModel};
use superstep::tools::{SharedTool, ToolSet};
use superstep::{Error, ErrorCode, Result};
use superstep_documents::Documents;
use superstep_server::{App, ModelRegistry, Problem, RateLimit, RunRequest, serve_graph_with_annotations};
use tokio::runtime::{Handle, RuntimeFlavor};

mod config_file;
mod settings;

pub use config_file::ConfigFile;
pub use settings::AssistantSettings;

use crate::context::AssistantContext;
use crate::data::Dataset;
use crate::graph::state_graph;
use crate::http::{TurnOptions, annotate_request, routes};
use crate::policy::{Permissions, Policy, UnknownUser};
use crate::profile::{Profile, Profiles};
use crate::rule_model::{LABEL, Synonyms, rules, rules_for_dataset};
use crate::sample;
use crate::tools::{DataAccess, ToolSettings, tools, with_external_tools};

/// Builds the assistant application for a server.
///
/// # Errors
/// Returns an error if the policy, the users, the data or the documents cannot be read, or if two tools have the
/// same name. For the sample, these files are read on first use.
pub fn app(settings: AssistantSettings, models: ModelRegistry) -> Result<App> {
    let is_sample = settings.is_sample;
    let app_state = LazyAppState(Arc::new(LazyAppStateInner { settings, models, app_state: Mutex::new(None) }));
    if !is_sample {
        // A custom folder is read at startup, so that its errors are reported before the server accepts requests.
        app_state.get_or_init()?;
    }
    let shared_state = app_state.clone();
    let run_context =
        move |request: &RunRequest| shared_state.get_blocking()?.run_context(&TurnOptions::from_json(&request.context));
    let graph = serve_graph_with_annotations(state_graph().compile()?, run_context, annotate_request);
    Ok(App::new("assistant", "Assistant").graph(graph).routes(routes(app_state)).page("assistant.html"))
}

/// The `AssistantAppState`, initialised on first use, so that listing graphs neither reads data nor unpacks the sample.
#[derive(Clone)]
pub(crate) struct LazyAppState(Arc<LazyAppStateInner>);

struct LazyAppStateInner {
    settings: AssistantSettings,
    models: ModelRegistry,
    app_state: Mutex<Option<AssistantAppState>>,
}

impl LazyAppState {
    /// Returns the state from synchronous code: the run context of a run is built where no await is possible. If
    /// the state is not initialised, the thread reads files inside `block_in_place`, so that other tasks continue;
    /// a runtime with one thread has no such call.
    fn get_blocking(&self) -> Result<AssistantAppState> {
        if let Some(app_state) = self.0.app_state.try_lock().ok().and_then(|app_state| app_state.clone()) {
            return Ok(app_state);
        }
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| self.get_or_init()),
            _ => self.get_or_init(),
        }
    }

    fn get_or_init(&self) -> Result<AssistantAppState> {
        let mut slot = self.0.app_state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(app_state) = &*slot {
            return Ok(app_state.clone());
        }
        if self.0.settings.is_sample {
            sample::unpack(&self.0.settings.folder)?;
        }
        let opened = AssistantAppState::open(self.0.settings.clone(), self.0.models.clone())?;
        Ok(slot.insert(opened).clone())
    }
}

impl<S: Sync> FromRequestParts<S> for AssistantAppState {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let lazy_state = parts.extensions.get::<LazyAppState>().cloned();
        let lazy_state = lazy_state.ok_or_else(|| Error::internal("the request has no assistant state"))?;
        // The first call reads files.
        let opened = tokio::task::spawn_blocking(move || lazy_state.get_or_init()).await;
        Ok(opened.map_err(|_| Error::internal("the assistant could not be initialized"))??)
    }
}

/// State shared by all HTTP handlers.
#[derive(Clone)]
pub(crate) struct AssistantAppState(Arc<Inner>);

struct Inner {
    /// Run context with the rule model as its model.
    context: AssistantContext,
    models: ModelRegistry,
    data: Arc<Dataset>,
    documents: Option<Arc<Documents>>,
    examples: Vec<String>,
    rate_limit: RateLimit,
}

/// Names of the rule model in requests; the first is the one in the settings.
const RULE_MODEL_NAMES: [&str; 2] = ["local", "local/rules"];

/// Builds the rule model, which answers if no language model is configured. Its SQL is written for the local data;
/// if queries go to BigQuery by default, its calls name the local dataset.
fn rule_model(data: &Dataset, synonyms: &str, settings: &AssistantSettings) -> Result<SharedModel> {
    let (catalog, synonyms) = (data.catalog().clone(), Synonyms::parse(synonyms)?);
    Ok(match settings.bigquery {
        Some(_) => rules_for_dataset(data.name(), catalog, synonyms).into(),
        None => rules(catalog, synonyms).into(),
    })
}

impl AssistantAppState {
    fn open(settings: AssistantSettings, models: ModelRegistry) -> Result<Self> {
        let data = Arc::new(Dataset::open(&settings.data())?);
        let documents = settings.handbook().map(|folder| Documents::open(&folder)).transpose()?.map(Arc::new);
        let tools = ToolSet::new(all_tools(&settings, &data, documents.as_ref())?)?;
        let (policy, profiles) = (Policy::load(settings.policy())?, Profiles::load(settings.profiles())?);
        let local = rule_model(&data, &optional_text(&settings.synonyms())?, &settings)?;
        let mut context = AssistantContext::new(local.clone(), tools, policy, profiles).fallback_model(local);
        context = context.on_model_unavailable(settings.on_model_unavailable).limits(settings.limits.clone());
        context.remember_facts = settings.remember_facts;
        context.today.clone_from(&settings.today);
        let AssistantSettings { examples, rate_limit, .. } = settings;
        Ok(Self(Arc::new(Inner { context, models, data, documents, examples, rate_limit })))
    }

    /// Returns the run context for a turn with these options.
    ///
    /// # Errors
    /// Returns a problem if the model of the options is unknown or not available.
    pub(crate) fn run_context(&self, options: &TurnOptions) -> Result<AssistantContext, Problem> {
        Ok(self.0.context.clone().with_model(self.model(options)?))
    }

    fn model(&self, options: &TurnOptions) -> Result<SharedModel, Problem> {
        match options.model.as_deref().filter(|name| !RULE_MODEL_NAMES.contains(name)) {
            // `local/rules` is an alias, which is not listed in the settings.
            Some(name) => self.0.models.get(name, &RULE_MODEL_NAMES[..1]),
            None => Ok(self.0.context.model.clone()),
        }
    }

    pub(crate) fn rate_limit(&self) -> RateLimit {
        self.0.rate_limit
    }

    /// Returns the limit for requests of a turn that was counted when the turn started: no rate limit, only a limit
    /// on concurrency.
    pub(crate) fn concurrency_limit(&self) -> RateLimit {
        RateLimit { max_requests: usize::MAX, ..self.rate_limit() }
    }

    /// Returns the maximum length of a message in bytes.
    pub(crate) fn message_bytes(&self) -> usize {
        self.0.context.policy.message_bytes()
    }

    /// Returns the name of the dataset.
    pub(crate) fn data_name(&self) -> &str {
        self.0.data.name()
    }

    /// Accepts known users, and guests if the policy admits them.
    ///
    /// # Errors
    /// Returns a problem with status 403 for all other users.
    pub(crate) fn check_user(&self, user: &str) -> Result<(), Problem> {
        self.profile(user).map(|_| ())
    }

    fn profile(&self, user: &str) -> Result<&Profile, Problem> {
        let AssistantContext { policy, profiles, .. } = &self.0.context;
        // An empty user is not a guest: data without an owner must not belong to that user.
        let accepts_guests = policy.unknown_user() == UnknownUser::Guest && !user.is_empty();
        let guest = || profiles.get("guest").filter(|_| accepts_guests);
        profiles.get(user).or_else(guest).ok_or_else(|| {
            Problem::new(403, ErrorCode::PolicyRefused, format!("unknown user `{user}`"))
                .with_hint("see `GET /api/assistant/settings` for the users")
        })
    }

    /// Returns name, kind and label of the model that these options select.
    pub(crate) fn model_json(&self, options: &TurnOptions) -> Value {
        match self.model(options) {
            Ok(model) => model_info_json(&model.info()),
            Err(problem) => json!({ "name": options.model, "kind": null, "label": problem.detail() }),
        }
    }

    /// Returns the available models, and the part of the configuration that the user may use. Without a user, no
    /// permissions apply.
    ///
    /// # Errors
    /// Returns a problem with status 403 for an unknown user.
    pub(crate) fn settings_json(&self, user: Option<&str>) -> Result<Value, Problem> {
        let Inner { context, data, documents, examples, .. } = &*self.0;
        let permissions =
            user.map(|user| self.profile(user)).transpose()?.map(|profile| context.policy.permissions(profile));
        let permissions = permissions.unwrap_or_default();
        let users = context.profiles.users().filter_map(|id| {
            let profile = context.profiles.get(id)?;
            Some(json!({ "id": id, "name": profile.name, "role": profile.role }))
        });
        let tools = context.tools().static_specs().filter(|spec| permissions.allows(&spec.name)).map(|spec| {
            json!({ "name": spec.name, "description": spec.description, "destructive": spec.annotations.destructive })
        });
        let tables = data.catalog().tables.iter().filter(|table| can_query_table(&permissions, &table.name));
        let tables = tables
            .map(|table| json!({ "name": table.name, "about": table.comment, "rows": table.visible_row_count() }));
        let tables: Vec<Value> = tables.collect();
        let name = (!tables.is_empty()).then(|| data.name());
        let documents =
            documents.as_ref().filter(|_| ["search_docs", "read_file"].iter().any(|tool| permissions.allows(tool)));
        let RateLimit { max_requests, window, max_concurrent } = self.rate_limit();
        Ok(json!({
            "models": self.models(),
            "users": users.collect::<Vec<_>>(),
            "tools": tools.collect::<Vec<_>>(),
            "data": { "name": name, "tables": tables },
            "documents": documents.map_or(0, |documents| documents.documents()),
            "examples": examples,
            "limits": {
                "messageBytes": self.message_bytes(), "turns": max_requests, "withinSeconds": window.as_secs(), "atOnce": max_concurrent,
            },
        }))
    }

    fn models(&self) -> Vec<Value> {
        let rule_model = model_info_json(&self.0.context.model.info());
        let rule_model = json!({
            "name": RULE_MODEL_NAMES[0], "kind": rule_model["kind"], "label": rule_model["label"], "configured": true,
            "hint": null,
        });
        let configured_models = self.0.models.summaries().into_iter().map(|summary| {
            let described =
                self.0.models.get(&summary.name, &RULE_MODEL_NAMES[..1]).map(|model| model_info_json(&model.info()));
            let (kind, label, hint) = match &described {
                Ok(model) => (model["kind"].clone(), model["label"].clone(), Value::Null),
                Err(problem) => (Value::Null, json!(problem.detail()), json!(problem.hint())),
            };
            let is_configured = described.is_ok();
            json!({ "name": summary.name, "kind": kind, "label": label, "configured": is_configured, "hint": hint })
        });
        std::iter::once(rule_model).chain(configured_models).collect()
    }
}

/// Returns the assistant's own tools, which check the permissions of the user, and the configured external tools.
fn all_tools(
    settings: &AssistantSettings,
    data: &Arc<Dataset>,
    documents: Option<&Arc<Documents>>,
) -> Result<Vec<SharedTool>> {
    let tool_settings = ToolSettings {
        documents: documents.cloned(),
        folders: settings.handbook().into_iter().collect(),
        bigquery: settings.bigquery.clone(),
        web: settings.web.clone(),
        clock: settings.clock.clone(),
        ..ToolSettings::new(data.clone())
    };
    with_external_tools(tools(&tool_settings)?, settings.external_tools.clone())
}

/// Returns true if the permissions include the table and a tool that reads tables.
fn can_query_table(permissions: &Permissions, table: &str) -> bool {
    let access = DataAccess::from(permissions.clone());
    !access.denies_table(table)
        && ["bq_query", "list_tables", "describe_table"].iter().any(|tool| permissions.allows(tool))
}

/// Returns `{name, kind, label}` of a model.
fn model_info_json(info: &ModelInfo) -> Value {
    let label = match info.kind {
        ModelKind::Rules => LABEL,
        ModelKind::Weights => "local language model",
        ModelKind::Remote => "language model",
    };
    json!({ "name": format!("{}/{}", info.provider, info.name), "kind": info.kind, "label": label })
}

/// Reads an optional file; a missing file is empty text.
fn optional_text(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::new(ErrorCode::ConfigInvalid, format!("`{}`: {error}", path.display()))),
    }
}
