//! The assistant as an application of the server: its graph, its routes, its page, and what all conversations share.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde_json::{Value, json};
use superstep::model::{ModelInfo, ModelKind, SharedModel};
use superstep::tool::{SharedTool, Tools};
use superstep::{Code, Error, Result};
use superstep_documents::Documents;
use superstep_server::{App, Limit, Models, Order, Problem, served_noting};
use tokio::runtime::{Handle, RuntimeFlavor};

mod installation;
mod settings;

pub use installation::Installation;
pub use settings::Settings;

use crate::data::Data;
use crate::desk::Desk;
use crate::graph::draw;
use crate::http::{Options, noted, routes};
use crate::policy::{Policy, Rights, UnknownUser};
use crate::profile::{Profile, Profiles};
use crate::rules::{LABEL, Synonyms, rules, rules_naming};
use crate::sample;
use crate::tools::{Access, ToolSettings, joined, tools};

/// The assistant, for a server.
///
/// # Errors
/// When the policy, the users, the data or the documents cannot be read, or two tools have the same name.
pub fn app(settings: Settings, models: Models) -> Result<App> {
    let is_sample = settings.is_sample;
    let door = Door(Arc::new(Shut { settings, models, office: Mutex::new(None) }));
    if !is_sample {
        // What is wrong with somebody's own folder is said at the start.
        door.open()?;
    }
    let room = door.clone();
    let desk = move |order: &Order| room.opened()?.desk(&Options::read(&order.options));
    let graph = served_noting(draw().compile()?, desk, noted);
    Ok(App::new("assistant", "Assistant").graph(graph).routes(routes(door)).page("assistant.html"))
}

/// The way to the office, which is set up when somebody first needs it: a program that only lists its graphs neither reads
/// data nor writes the sample.
#[derive(Clone)]
pub(crate) struct Door(Arc<Shut>);

struct Shut {
    settings: Settings,
    models: Models,
    office: Mutex<Option<Office>>,
}

impl Door {
    /// The office where nobody can be awaited: a run that was ordered begins at once. Whoever finds it shut reads files, and
    /// the thread is given up to that, so that nothing else waits for it; a runtime of one thread has none to give.
    fn opened(&self) -> Result<Office> {
        if let Some(office) = self.0.office.try_lock().ok().and_then(|office| office.clone()) {
            return Ok(office);
        }
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| self.open()),
            _ => self.open(),
        }
    }

    fn open(&self) -> Result<Office> {
        let mut office = self.0.office.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(office) = &*office {
            return Ok(office.clone());
        }
        if self.0.settings.is_sample {
            sample::unpack(&self.0.settings.folder)?;
        }
        let opened = Office::open(self.0.settings.clone(), self.0.models.clone())?;
        Ok(office.insert(opened).clone())
    }
}

impl<S: Sync> FromRequestParts<S> for Office {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let door = parts.extensions.get::<Door>().cloned();
        let door = door.ok_or_else(|| Error::internal("a route of the assistant without its door"))?;
        // Reads files the first time.
        let opened = tokio::task::spawn_blocking(move || door.open()).await;
        Ok(opened.map_err(|_| Error::internal("the assistant could not be set up"))??)
    }
}

/// What all conversations have in common.
#[derive(Clone)]
pub(crate) struct Office(Arc<Inner>);

struct Inner {
    /// With the rules in place of a model.
    desk: Desk,
    models: Models,
    data: Arc<Data>,
    documents: Option<Arc<Documents>>,
    examples: Vec<String>,
    limit: Limit,
}

/// The rules, as requests name them.
const LOCAL: [&str; 2] = ["local", "local/rules"];

/// The rules that answer where no language model does. They write the SQL of the local data, so they name it where queries
/// go to BigQuery unless told.
fn local(data: &Data, synonyms: &str, settings: &Settings) -> Result<SharedModel> {
    let (catalog, synonyms) = (data.catalog().clone(), Synonyms::parse(synonyms)?);
    Ok(match settings.bigquery {
        Some(_) => rules_naming(data.name(), catalog, synonyms).into(),
        None => rules(catalog, synonyms).into(),
    })
}

impl Office {
    fn open(settings: Settings, models: Models) -> Result<Self> {
        let data = Arc::new(Data::open(&settings.data())?);
        let documents = settings.handbook().map(|folder| Documents::open(&folder)).transpose()?.map(Arc::new);
        let tools = Tools::new(all_tools(&settings, &data, documents.as_ref())?)?;
        let (policy, profiles) = (Policy::load(settings.policy())?, Profiles::load(settings.profiles())?);
        let local = local(&data, &optional_text(&settings.synonyms())?, &settings)?;
        let mut desk = Desk::new(local.clone(), tools, policy, profiles).spare(local);
        desk = desk.without_model(settings.without_model).limits(settings.limits.clone());
        desk.keeps_facts = settings.keeps_facts;
        desk.today.clone_from(&settings.today);
        let Settings { examples, limit, .. } = settings;
        Ok(Self(Arc::new(Inner { desk, models, data, documents, examples, limit })))
    }

    /// Where a turn with these options is worked on.
    ///
    /// # Errors
    /// When its model is not known, or cannot be asked.
    pub(crate) fn desk(&self, options: &Options) -> Result<Desk, Problem> {
        Ok(self.0.desk.clone().with_model(self.model(options)?))
    }

    fn model(&self, options: &Options) -> Result<SharedModel, Problem> {
        match options.model.as_deref().filter(|name| !LOCAL.contains(name)) {
            // The other name means the same, and is offered to nobody.
            Some(name) => self.0.models.get(name, &LOCAL[..1]),
            None => Ok(self.0.desk.model.clone()),
        }
    }

    pub(crate) fn limit(&self) -> Limit {
        self.0.limit
    }

    /// For a turn that was counted when it began.
    pub(crate) fn limit_at_once(&self) -> Limit {
        Limit { most: usize::MAX, ..self.limit() }
    }

    /// The longest message, in bytes.
    pub(crate) fn message_bytes(&self) -> usize {
        self.0.desk.policy.message_bytes()
    }

    /// What the data is called.
    pub(crate) fn data_name(&self) -> &str {
        self.0.data.name()
    }

    /// Lets users pass that somebody knows.
    ///
    /// # Errors
    /// 403 for others.
    pub(crate) fn check_user(&self, user: &str) -> Result<(), Problem> {
        self.profile(user).map(|_| ())
    }

    fn profile(&self, user: &str) -> Result<&Profile, Problem> {
        let Desk { policy, profiles, .. } = &self.0.desk;
        // Who says nothing at all is no guest either: what belongs to nobody must not be theirs.
        let takes_guests = policy.unknown_user() == UnknownUser::Guest && !user.is_empty();
        let guest = || profiles.get("guest").filter(|_| takes_guests);
        profiles.get(user).or_else(guest).ok_or_else(|| {
            Problem::new(403, Code::PolicyRefused, format!("nobody knows the user `{user}`"))
                .hint("`GET /api/assistant/settings` lists the users")
        })
    }

    /// Who answers with these options.
    pub(crate) fn model_described(&self, options: &Options) -> Value {
        match self.model(options) {
            Ok(model) => described(&model.info()),
            Err(problem) => json!({ "name": options.model, "kind": null, "label": problem.detail() }),
        }
    }

    /// What can be chosen, and what of all that is configured a user may use. Nobody in particular may use nothing.
    ///
    /// # Errors
    /// 403 for a user that nobody knows.
    pub(crate) fn described(&self, user: Option<&str>) -> Result<Value, Problem> {
        let Inner { desk, data, documents, examples, .. } = &*self.0;
        let rights = user.map(|user| self.profile(user)).transpose()?.map(|profile| desk.policy.rights(profile));
        let rights = rights.unwrap_or_default();
        let users = desk.profiles.users().filter_map(|id| {
            let profile = desk.profiles.get(id)?;
            Some(json!({ "id": id, "name": profile.name, "role": profile.role }))
        });
        let tools = desk.tools().given().filter(|spec| rights.allows(&spec.name)).map(|spec| {
            json!({ "name": spec.name, "description": spec.description, "destructive": spec.annotations.destructive })
        });
        let tables = data.catalog().tables.iter().filter(|table| may_ask(&rights, &table.name));
        let tables = tables.map(|table| json!({ "name": table.name, "about": table.about, "rows": table.told_rows() }));
        let tables: Vec<Value> = tables.collect();
        let name = (!tables.is_empty()).then(|| data.name());
        let documents =
            documents.as_ref().filter(|_| ["search_docs", "read_file"].iter().any(|tool| rights.allows(tool)));
        let Limit { most, within, at_once } = self.limit();
        Ok(json!({
            "models": self.models(),
            "users": users.collect::<Vec<_>>(),
            "tools": tools.collect::<Vec<_>>(),
            "data": { "name": name, "tables": tables },
            "documents": documents.map_or(0, |documents| documents.documents()),
            "examples": examples,
            "limits": {
                "messageBytes": self.message_bytes(), "turns": most, "withinSeconds": within.as_secs(), "atOnce": at_once,
            },
        }))
    }

    fn models(&self) -> Vec<Value> {
        let own = described(&self.0.desk.model.info());
        let own = json!({
            "name": LOCAL[0], "kind": own["kind"], "label": own["label"], "configured": true, "hint": null,
        });
        let others = self.0.models.notes().into_iter().map(|note| {
            let described = self.0.models.get(&note.name, &LOCAL[..1]).map(|model| described(&model.info()));
            let (kind, label, hint) = match &described {
                Ok(model) => (model["kind"].clone(), model["label"].clone(), Value::Null),
                Err(problem) => (Value::Null, json!(problem.detail()), json!(problem.advice())),
            };
            let is_configured = described.is_ok();
            json!({ "name": note.name, "kind": kind, "label": label, "configured": is_configured, "hint": hint })
        });
        std::iter::once(own).chain(others).collect()
    }
}

/// The assistant's own tools, which know for whom they work, and those of others.
fn all_tools(settings: &Settings, data: &Arc<Data>, documents: Option<&Arc<Documents>>) -> Result<Vec<SharedTool>> {
    let own = ToolSettings {
        documents: documents.cloned(),
        folders: settings.handbook().into_iter().collect(),
        bigquery: settings.bigquery.clone(),
        web: settings.web.clone(),
        clock: settings.clock.clone(),
        ..ToolSettings::new(data.clone())
    };
    joined(tools(&own)?, settings.more_tools.clone())
}

/// Whether somebody may read a table, and has a tool to do so.
fn may_ask(rights: &Rights, table: &str) -> bool {
    let access = Access::from(rights.clone());
    !access.denies_table(table) && ["bq_query", "list_tables", "describe_table"].iter().any(|tool| rights.allows(tool))
}

/// `{name, kind, label}` of who answers.
fn described(info: &ModelInfo) -> Value {
    let label = match info.kind {
        ModelKind::Rules => LABEL,
        ModelKind::Weights => "language model on this machine",
        ModelKind::Remote => "language model",
    };
    json!({ "name": format!("{}/{}", info.provider, info.name), "kind": info.kind, "label": label })
}

/// The text of a file that need not be there.
fn optional_text(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::new(Code::ConfigInvalid, format!("`{}`: {error}", path.display()))),
    }
}
