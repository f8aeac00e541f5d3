//! Users with their roles, permissions and preferences, read from a file.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{Error, ErrorCode, Result};

/// What is known of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What they are called.
    pub name: String,
    /// Their role.
    pub role: String,
    /// Names of roles and of single tools, taken together.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// How they like their answers.
    #[serde(default)]
    pub preferences: Preferences,
}

/// How a user likes answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Preferences {
    /// `short`, `normal` or `long`.
    pub length: String,
    /// `metric` or `imperial`.
    pub units: String,
    /// The zone of times, by its name.
    pub zone: String,
    /// The language, by its code.
    pub language: String,
    /// Whether facts about the user may be kept; by the setting of the application where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remember: Option<bool>,
}

impl Default for Preferences {
    fn default() -> Self {
        let [length, units, zone, language] = ["normal", "metric", "UTC", "en"].map(str::to_owned);
        Self { length, units, zone, language, remember: None }
    }
}

/// All known users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profiles(BTreeMap<String, Profile>);

impl Profiles {
    /// Parses the text of a file: a JSON object that maps user ids to profiles.
    ///
    /// # Errors
    /// Returns an error if the text is not such an object.
    pub fn parse(text: &str) -> Result<Self> {
        let profiles = serde_json::from_str(text)
            .map_err(|error| Error::new(ErrorCode::ConfigInvalid, format!("the profiles cannot be read: {error}")))?;
        Ok(Self(profiles))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or contains no profiles.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::new(ErrorCode::ConfigInvalid, format!("`{}`: {error}", path.display())))?;
        Self::parse(&text)
    }

    /// Returns the profile of a user.
    #[must_use]
    pub fn get(&self, user: &str) -> Option<&Profile> {
        self.0.get(user)
    }

    /// Returns the ids of all users.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
