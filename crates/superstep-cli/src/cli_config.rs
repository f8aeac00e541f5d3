//! Configuration of the command line: `superstep.toml`, the environment, flags, and defaults.
//!
//! Without a configured checkpointer, threads are stored in `.superstep/superstep.db` in the current folder, so
//! that another process can resume a stopped thread. The file is created when the first run needs it.

use std::path::{Path, PathBuf};

use superstep::ErrorCode;
use superstep::settings::{CheckpointerSettings, SettingOrigin, Settings};
use superstep_scheduler::store::StoreLocation;
use superstep_server::ServerConfig;

use crate::args::{AssistantArgs, FamilyArgs, GlobalArgs};
use crate::error::CliError;
use crate::extensions::Extensions;
use crate::graphs;
use crate::output::Output;

/// Default location of threads.
pub(crate) const DEFAULT_CHECKPOINTER_PATH: &str = ".superstep/superstep.db";

/// Folder of the assistant's sample data.
pub(crate) const ASSISTANT_FOLDER: &str = ".superstep/assistant";

/// Name of the calendar file, in the folder of the threads.
const CALENDAR_FILE_NAME: &str = "scheduler.db";

/// Configuration of the command line.
pub(crate) struct CliConfig {
    pub(crate) settings: Settings,
    /// Base folder of relative paths in the settings.
    pub(crate) folder: PathBuf,
    pub(crate) is_offline: bool,
    /// Extensions of this build.
    pub(crate) extensions: Extensions,
    /// Settings of the debate application.
    pub(crate) debate: superstep_debate::DebateSettings,
    /// Settings of the suggestions agent.
    pub(crate) suggestions: superstep_suggestions::SuggestionsSettings,
    /// Settings of the assistant.
    pub(crate) assistant: superstep_assistant::AssistantSettings,
    /// Family whose calendar the scheduler manages.
    pub(crate) family: FamilyArgs,
    /// True if the location of threads is the default.
    uses_default_checkpointer: bool,
}

impl CliConfig {
    /// Loads the settings.
    pub(crate) fn load(global: &GlobalArgs) -> Result<Self, CliError> {
        let mut settings = Settings::load(global.config.as_deref(), &global.set)?;
        let checkpointer = settings.explain().iter().find(|row| row.key == "storage.checkpointer");
        let is_default_checkpointer = checkpointer.is_some_and(|row| row.origin == SettingOrigin::Default);
        if is_default_checkpointer {
            settings.storage.checkpointer = CheckpointerSettings::Sqlite(DEFAULT_CHECKPOINTER_PATH.into());
        }
        let folder = global.config.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        let (debate, suggestions) = Default::default();
        let extensions = global.extensions.clone();
        let assistant = superstep_assistant::AssistantSettings::sample(ASSISTANT_FOLDER);
        let (is_offline, family) = (global.offline, FamilyArgs::default());
        Ok(Self {
            settings,
            folder,
            is_offline,
            extensions,
            debate,
            suggestions,
            assistant,
            family,
            uses_default_checkpointer: is_default_checkpointer,
        })
    }

    /// Configures the assistant from a file, but only if the name refers to its graph: errors in that file must not
    /// prevent other graphs from running.
    pub(crate) async fn configure_assistant(
        &mut self,
        assistant_args: &AssistantArgs,
        graph: &str,
    ) -> Result<(), CliError> {
        if graphs::refers_to(self, graph, "assistant")
            && let Some(assistant) = assistant_args.load_settings(self.is_offline).await?
        {
            self.assistant = assistant;
        }
        Ok(())
    }

    /// Configures the family of the scheduler, if the name refers to its graph.
    pub(crate) fn configure_family(&mut self, family: &FamilyArgs, graph: &str) {
        if graphs::refers_to(self, graph, "scheduler") {
            self.family = family.clone();
        }
    }

    /// Returns the settings of the scheduler: a family, and its calendar next to the threads.
    pub(crate) fn scheduler_settings(&self) -> superstep::Result<superstep_scheduler::SchedulerSettings> {
        let location = match &self.settings.storage.checkpointer {
            CheckpointerSettings::Sqlite(path) => StoreLocation::Sqlite(path.with_file_name(CALENDAR_FILE_NAME)),
            CheckpointerSettings::Postgres(url) => StoreLocation::Postgres(url.clone()),
            _ => StoreLocation::Memory,
        };
        match &self.family.family {
            Some(file) => superstep_scheduler::SchedulerSettings::from_family_file(location, file),
            None => Ok(superstep_scheduler::SchedulerSettings::sample(location)),
        }
    }

    /// Opens the storage for a run; creates the default file if it is missing.
    pub(crate) async fn open_storage(&self, out: &Output) -> Result<ServerConfig, CliError> {
        self.reject_network()?;
        if self.uses_default_checkpointer && !Path::new(DEFAULT_CHECKPOINTER_PATH).exists() {
            create_default_folder().map_err(|error| {
                let message = format!("`{DEFAULT_CHECKPOINTER_PATH}` cannot be created: {}", error.kind());
                CliError::new(ErrorCode::StoreUnavailable, message)
                    .help("run the command in a writable folder, or set `storage.checkpointer`")
            })?;
            out.print_note(format_args!(
                "threads are stored in {DEFAULT_CHECKPOINTER_PATH}; set `storage.checkpointer` to change the location"
            ));
        }
        Ok(ServerConfig::from_settings(&self.settings).await?)
    }

    /// Opens the storage for reading; creates nothing.
    pub(crate) async fn open_storage_read_only(&self) -> Result<ServerConfig, CliError> {
        self.reject_network()?;
        if !self.uses_default_checkpointer || Path::new(DEFAULT_CHECKPOINTER_PATH).exists() {
            return Ok(ServerConfig::from_settings(&self.settings).await?);
        }
        let mut settings = self.settings.clone();
        settings.storage.checkpointer = CheckpointerSettings::Memory;
        Ok(ServerConfig::from_settings(&settings).await?)
    }

    fn reject_network(&self) -> Result<(), CliError> {
        match &self.settings.storage.checkpointer {
            CheckpointerSettings::Postgres(_) if self.is_offline => {
                let message = "the thread database needs the network, which `--offline` forbids";
                Err(CliError::new(ErrorCode::PolicyRefused, message).help("use `--set storage.checkpointer=memory`"))
            }
            _ => Ok(()),
        }
    }

    /// Describes the storage location without secrets.
    pub(crate) fn checkpointer_name(&self) -> String {
        match &self.settings.storage.checkpointer {
            CheckpointerSettings::Sqlite(path) => format!("sqlite:{}", path.display()),
            CheckpointerSettings::Postgres(_) => "postgres".to_owned(),
            _ => "memory".to_owned(),
        }
    }
}

/// Creates the folder of the default storage with a `.gitignore`.
fn create_default_folder() -> std::io::Result<()> {
    let folder = Path::new(DEFAULT_CHECKPOINTER_PATH).parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(".gitignore"), "*\n")
}
