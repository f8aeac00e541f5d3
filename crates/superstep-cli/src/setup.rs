//! What is set: `superstep.toml`, the environment, flags; and what the command line assumes where nothing is.
//!
//! Without a store in the settings, threads are kept in `.superstep/superstep.db` in the current folder: a thread that
//! was stopped can go on in another process. The file is made when the first run needs it.

use std::path::{Path, PathBuf};

use superstep::Code;
use superstep::settings::{Checkpoints, Origin, Settings};
use superstep_scheduler::store::Place;
use superstep_server::Config;

use crate::args::{Global, Household, Own};
use crate::extras::Extras;
use crate::failure::Failure;
use crate::graphs;
use crate::out::Out;

/// Where threads are kept unless told.
pub(crate) const USUAL_STORE: &str = ".superstep/superstep.db";

/// Where the sample of the assistant is put.
pub(crate) const ASSISTANT: &str = ".superstep/assistant";

/// The file of calendars, beside that of threads.
const CALENDARS: &str = "scheduler.db";

/// What is set.
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    /// The folder that paths of the settings start from.
    pub(crate) folder: PathBuf,
    pub(crate) is_offline: bool,
    /// What this build has.
    pub(crate) extras: Extras,
    /// How the debate platform is run.
    pub(crate) debates: superstep_debate::Settings,
    /// Where suggestions are looked for.
    pub(crate) suggestions: superstep_suggestions::Settings,
    /// What the assistant works with.
    pub(crate) assistant: superstep_assistant::Settings,
    /// Whose calendar the scheduler keeps.
    pub(crate) household: Household,
    /// Whether nobody said where threads are kept.
    is_usual_store: bool,
}

impl Setup {
    /// Reads the settings.
    pub(crate) fn load(global: &Global) -> Result<Self, Failure> {
        let mut settings = Settings::load(global.config.as_deref(), &global.set)?;
        let store = settings.explain().iter().find(|row| row.key == "stores.checkpoints");
        let is_usual_store = store.is_some_and(|row| row.origin == Origin::Default);
        if is_usual_store {
            settings.stores.checkpoints = Checkpoints::Sqlite(USUAL_STORE.into());
        }
        let folder = global.config.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        let (debates, suggestions) = Default::default();
        let extras = global.extras.clone();
        let assistant = superstep_assistant::Settings::sample(ASSISTANT);
        let (is_offline, household) = (global.offline, Household::default());
        Ok(Self { settings, folder, is_offline, extras, debates, suggestions, assistant, household, is_usual_store })
    }

    /// Lets the assistant work with what a file says, where the graph of this name is its graph: what is wrong with that file
    /// keeps no other graph from running.
    pub(crate) async fn assist(&mut self, own: &Own, graph: &str) -> Result<(), Failure> {
        if graphs::stands_for(self, graph, "assistant")
            && let Some(assistant) = own.settings(self.is_offline).await?
        {
            self.assistant = assistant;
        }
        Ok(())
    }

    /// Lets the scheduler keep the calendar of a family of one's own, where the graph of this name is its graph.
    pub(crate) fn move_in(&mut self, household: &Household, graph: &str) {
        if graphs::stands_for(self, graph, "scheduler") {
            self.household = household.clone();
        }
    }

    /// What the scheduler works with: a family, and its calendar where threads are kept.
    pub(crate) fn scheduler(&self) -> superstep::Result<superstep_scheduler::Settings> {
        let place = match &self.settings.stores.checkpoints {
            Checkpoints::Sqlite(path) => Place::Sqlite(path.with_file_name(CALENDARS)),
            Checkpoints::Postgres(url) => Place::Postgres(url.clone()),
            _ => Place::Memory,
        };
        match &self.household.family {
            Some(file) => superstep_scheduler::Settings::of_file(place, file),
            None => Ok(superstep_scheduler::Settings::sample(place)),
        }
    }

    /// Opens the stores to run something; makes the usual one when it is not there.
    pub(crate) async fn open(&self, out: &Out) -> Result<Config, Failure> {
        self.refuse_network()?;
        if self.is_usual_store && !Path::new(USUAL_STORE).exists() {
            make_folder().map_err(|error| {
                let message = format!("`{USUAL_STORE}` cannot be made: {}", error.kind());
                Failure::new(Code::StoreUnavailable, message)
                    .help("run in a folder that can be written to, or set `stores.checkpoints`")
            })?;
            out.note(format_args!("threads are kept in {USUAL_STORE}; set `stores.checkpoints` for another place"));
        }
        Ok(Config::from_settings(&self.settings).await?)
    }

    /// Opens the stores to look something up; makes nothing.
    pub(crate) async fn look(&self) -> Result<Config, Failure> {
        self.refuse_network()?;
        if !self.is_usual_store || Path::new(USUAL_STORE).exists() {
            return Ok(Config::from_settings(&self.settings).await?);
        }
        let mut settings = self.settings.clone();
        settings.stores.checkpoints = Checkpoints::Memory;
        Ok(Config::from_settings(&settings).await?)
    }

    fn refuse_network(&self) -> Result<(), Failure> {
        match &self.settings.stores.checkpoints {
            Checkpoints::Postgres(_) if self.is_offline => {
                let message = "threads are kept in a database behind the network, and `--offline` forbids it";
                Err(Failure::new(Code::PolicyRefused, message).help("superstep … --set stores.checkpoints=memory"))
            }
            _ => Ok(()),
        }
    }

    /// Where threads are kept, without secrets.
    pub(crate) fn store(&self) -> String {
        match &self.settings.stores.checkpoints {
            Checkpoints::Sqlite(path) => format!("sqlite:{}", path.display()),
            Checkpoints::Postgres(_) => "postgres".to_owned(),
            _ => "memory".to_owned(),
        }
    }
}

/// The folder of the usual store, with a note to Git that it is nobody's business.
fn make_folder() -> std::io::Result<()> {
    let folder = Path::new(USUAL_STORE).parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(".gitignore"), "*\n")
}
