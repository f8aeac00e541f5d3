//! The suggestions agent as an application of the server: its graph, its routes, its page, and who may decide.
//!
//! Nothing is opened before somebody asks: a program that has this application among others makes no files for it.

mod open;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::port::Clock;
use superstep::model::{ModelInfo, ModelKind, SharedModel};
use superstep::settings::Secret;
use superstep::{Code, Compiled, Error, Result, SystemClock};
use superstep_server::{App, Limit, Models, Order, Problem, served};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::OnceCell;

use crate::context::Context;
use crate::direct;
use crate::graph::{MAX_TOOL_ROUNDS, graph};
use crate::http::{plain, routes};
use crate::planner::{self, planner};
use crate::sources::{M365, Sources};
use crate::state::Suggestions;

/// Where the sample and the posts are kept unless told.
pub const HOME: &str = ".superstep/suggestions";

/// What the application runs with.
#[derive(Clone)]
pub struct Settings {
    /// A folder with `docs`, `issues`, `m365` and `words.txt`, or with documents alone; the sample when there is none.
    pub folder: Option<PathBuf>,
    /// Where the sample is unpacked.
    pub home: PathBuf,
    /// The database of posts; without one they live as long as the process.
    pub posts: Option<PathBuf>,
    /// Where Microsoft 365 is searched; in the folder unless told.
    pub m365: Option<M365>,
    /// What Microsoft Graph is asked with in the name of those who bring no token of their own.
    pub token: Option<Secret>,
    /// How often the model is asked at most.
    pub max_tool_rounds: u32,
    /// How many searches for suggestions an address may begin.
    pub limit: Limit,
    /// What time it is, for posts that expire.
    pub clock: Arc<dyn Clock>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            folder: None,
            home: HOME.into(),
            posts: Some(Path::new(HOME).join("posts.db")),
            m365: None,
            token: None,
            max_tool_rounds: MAX_TOOL_ROUNDS,
            limit: Limit { most: 600, within: Duration::from_secs(3600), at_once: 4 },
            clock: Arc::new(SystemClock),
        }
    }
}

impl Settings {
    /// Opens what is searched. The sample is unpacked where no folder is named, and its posts are fresh.
    ///
    /// # Errors
    /// When a folder cannot be read, or the database of posts cannot be opened.
    pub async fn open(&self) -> Result<Sources> {
        open::open(self).await
    }
}

/// The suggestions agent, for a server.
///
/// # Errors
/// When the folder is none, or the rounds are not allowed.
pub fn app(settings: Settings, models: Models) -> Result<App> {
    if let Some(folder) = settings.folder.as_deref().filter(|folder| !folder.is_dir()) {
        let fact = format!("`{}`, where suggestions are looked for, is no folder", folder.display());
        return Err(Error::new(Code::ConfigInvalid, fact).help("name a folder with `docs`, `issues` or `m365` in it"));
    }
    let graph = graph(settings.max_tool_rounds)?;
    let platform = Platform(Arc::new(Inner { settings, models, graph: graph.clone(), opened: OnceCell::new() }));
    let (contexts, posts) = (platform.clone(), platform.clone());
    let graph = served(graph, move |order| contexts.context_of(order));
    let app = App::new("suggestions", "Suggestions").graph(graph).routes(routes(platform)).page("suggestions.html");
    Ok(app.without_script(move |_, id| {
        let posts = posts.clone();
        async move { plain(&posts, &id).await }
    }))
}

/// What all searches have in common.
#[derive(Clone)]
pub(crate) struct Platform(Arc<Inner>);

struct Inner {
    settings: Settings,
    models: Models,
    graph: Compiled<Suggestions, Context>,
    opened: OnceCell<Sources>,
}

/// In whose name something is asked, and who decides.
#[derive(Default)]
pub(crate) struct Terms {
    pub(crate) model: Option<String>,
    pub(crate) token: Option<Secret>,
    pub(crate) locale: Option<String>,
}

/// The keyword planner, as requests name it.
const LOCAL: [&str; 2] = ["local", "local/rules"];
/// Nobody decides: the words of the post are searched for.
const DIRECT: [&str; 2] = ["direct", "local/direct"];

impl Platform {
    /// What is searched; opened when somebody asks first, and again after a failure.
    pub(crate) async fn sources(&self) -> Result<&Sources> {
        self.0.opened.get_or_try_init(|| open::open(&self.0.settings)).await
    }

    pub(crate) fn graph(&self) -> &Compiled<Suggestions, Context> {
        &self.0.graph
    }

    pub(crate) fn limit(&self) -> Limit {
        self.0.settings.limit
    }

    /// What a run for a post needs.
    ///
    /// # Errors
    /// When its model is not known or cannot be asked, or nothing can be searched.
    pub(crate) async fn context(&self, post: &str, terms: Terms) -> Result<Context, Problem> {
        let sources = self.sources().await?;
        let model = self.model(sources, terms.model.as_deref())?;
        let mut context = Context::new(post);
        context = self.token(terms.token).into_iter().fold(context, Context::access_token);
        context = terms.locale.into_iter().fold(context, Context::locale);
        // Rules have nothing to say that the templates of the tool do not.
        let hints = model.clone().filter(|model| model.info().kind != ModelKind::Rules);
        context = model.into_iter().fold(context, Context::model);
        Ok(context.connected(sources.clone(), hints).await?)
    }

    /// What Microsoft Graph is asked with: what somebody brought, else what the server has.
    pub(crate) fn token(&self, brought: Option<Secret>) -> Option<Secret> {
        brought.or_else(|| self.0.settings.token.clone())
    }

    /// Who decides; nobody for the direct way.
    fn model(&self, sources: &Sources, name: Option<&str>) -> Result<Option<SharedModel>, Problem> {
        match name {
            None => Ok(Some(planner(sources.clone()).into())),
            Some(name) if LOCAL.contains(&name) => Ok(Some(planner(sources.clone()).into())),
            Some(name) if DIRECT.contains(&name) => Ok(None),
            Some(name) => self.0.models.get(name, &[LOCAL[0], DIRECT[0]]).map(Some),
        }
    }

    /// The context of a run that was ordered: its options may name `postId` and `model`.
    fn context_of(&self, order: &Order) -> Result<Context, Problem> {
        let text = |key: &str| order.options[key].as_str().map(str::to_owned);
        let terms = Terms { model: text("model"), ..Terms::default() };
        waited(self.context(&text("postId").unwrap_or_default(), terms))
    }

    /// Whether sources can be searched, and what can be chosen.
    pub(crate) async fn described(&self) -> Result<Value, Problem> {
        let sources = self.sources().await?;
        let told = ["m365", "docs", "issues", "posts"].map(|name| {
            let missing = sources.missing(name);
            (name.to_owned(), json!({ "configured": missing.is_none(), "reason": missing.map(|it| it.reason) }))
        });
        let left_out = sources.left_out().await.map_err(|failed| Error::internal(failed.to_string()))?;
        let Limit { most, within, at_once } = self.limit();
        Ok(json!({
            "models": self.models(),
            "sources": Value::Object(told.into_iter().collect()),
            // How many, not which: names of files are for whoever has the folder.
            "leftOut": left_out,
            "limits": { "searches": most, "withinSeconds": within.as_secs(), "atOnce": at_once },
            "maxToolRounds": self.0.settings.max_tool_rounds,
        }))
    }

    fn models(&self) -> Vec<Value> {
        let own = [(LOCAL[0], planner::LABEL), (DIRECT[0], direct::LABEL)];
        let own = own.map(|(name, label)| {
            json!({ "name": name, "kind": ModelKind::Rules, "label": label, "configured": true, "hint": null })
        });
        let others = self.0.models.notes().into_iter().map(|note| match self.0.models.get(&note.name, &LOCAL[..1]) {
            Ok(model) => {
                let (kind, label) = (model.info().kind, label(&model.info()));
                json!({ "name": note.name, "kind": kind, "label": label, "configured": true, "hint": null })
            }
            Err(problem) => json!({
                "name": note.name, "kind": null, "label": problem.detail(), "configured": false, "hint": problem.advice(),
            }),
        });
        own.into_iter().chain(others).collect()
    }
}

fn label(info: &ModelInfo) -> String {
    match info.kind {
        ModelKind::Rules => format!("{}, no language model", info.name),
        ModelKind::Weights => format!("{}, a language model in this process", info.name),
        ModelKind::Remote => format!("{}, a language model of {}", info.name, info.provider),
    }
}

/// Waits for a context where nobody can be awaited: a run that was ordered begins at once.
fn waited<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(|| handle.block_on(work))
        }
        _ => {
            let fact = "suggestions cannot be run by an order on a runtime of one thread";
            Err(Problem::new(503, Code::ConfigInvalid, fact).hint("use the runtime of many threads"))
        }
    }
}
