//! Loading of settings: reads `superstep.toml`, the environment and the files that settings reference. The only I/O
//! of this module tree.
//!
//! Parsing is done by `Settings::parse`, which is pure.

use std::io::ErrorKind;
use std::path::Path;

use superstep_core::error::{Error, ErrorCode, Result};

use super::{Settings, SettingsSources};

/// Default path of the settings file.
const DEFAULT_FILE: &str = "superstep.toml";

impl Settings {
    /// Loads `superstep.toml`, the environment and the flags.
    ///
    /// Without a path, the file `superstep.toml` in the current folder is read, if it exists.
    ///
    /// # Errors
    /// Returns `ConfigInvalid` if a file cannot be read, and for every error of [`Settings::parse`].
    pub fn load(path: Option<&Path>, flags: &[(String, String)]) -> Result<Self> {
        let name = path.unwrap_or(Path::new(DEFAULT_FILE)).to_string_lossy().into_owned();
        let text = match std::fs::read_to_string(path.unwrap_or(Path::new(DEFAULT_FILE))) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound && path.is_none() => None,
            Err(error) => {
                let message = format!("failed to read file `{name}`: {}", error.kind());
                return Err(Error::new(ErrorCode::ConfigInvalid, message));
            }
        };
        let mut sources = with_environment(SettingsSources::new()).flags(flags.iter().cloned());
        sources = sources.files(|path| std::fs::read_to_string(path));
        if let Some(text) = &text {
            sources = sources.toml(&name, text);
        }
        Self::parse(&sources)
    }
}

/// Adds the environment of this process.
///
/// `std::env::vars` panics if any variable of the process is not UTF-8.
fn with_environment(mut sources: SettingsSources<'_>) -> SettingsSources<'_> {
    for (name, text) in std::env::vars_os() {
        let Ok(name) = name.into_string() else { continue };
        match text.into_string() {
            Ok(text) => drop(sources.environment.insert(name, text)),
            Err(_) if name.starts_with("SUPERSTEP_") => sources.unreadable.push(name),
            Err(_) => {}
        }
    }
    sources.unreadable.sort();
    sources
}

#[cfg(test)]
mod tests {
    use super::super::CheckpointerSettings;
    use super::*;

    const FILE: &str = "
        secrets_file = 'secrets.toml'
        graphs.chat.path = 'chat.json'
        storage = { checkpointer = 'postgres', url = 'secret:db' }
        server.port = 1
    ";

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("superstep-settings-{}-{name}", std::process::id()));
        // Process ids repeat, and a process that died may have left its folder.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// R-FWK-54: the file is read, flags override it, and relative paths in it start from its folder.
    #[test]
    fn a_file_is_loaded_with_the_secrets_beside_it() {
        let folder = folder("loaded");
        let file = folder.join("superstep.toml");
        std::fs::write(&file, FILE).unwrap();
        std::fs::write(folder.join("secrets.toml"), "db = 'postgres://MARKER'").unwrap();
        let settings = Settings::load(Some(&file), &[("server.port".into(), "2".into())]).unwrap();
        assert_eq!(settings.server.port, 2);
        assert!(format!("{:?}", settings.graphs).contains(&*folder.join("chat.json").to_string_lossy()));
        let CheckpointerSettings::Postgres(url) = &settings.storage.checkpointer else { panic!("it is set") };
        assert_eq!(url.expose(), "postgres://MARKER");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_was_named_must_be_there() {
        let error = Settings::load(Some(Path::new("/nowhere/superstep.toml")), &[]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid);
        assert_eq!(error.message(), "failed to read file `/nowhere/superstep.toml`: entity not found");
    }
}
