//! Users with their roles, permissions and preferences, read from a file.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{Error, ErrorCode, Result};

/// Profile of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name of the user.
    pub name: String,
    /// Role of the user.
    pub role: String,
    /// Names of roles and of single tools; their permissions are combined.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// Preferences for answers.
    #[serde(default)]
    pub preferences: Preferences,
}

/// Preferences of a user for answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Preferences {
    /// Length of answers: `short`, `normal` (default) or `long`.
    pub length: String,
    /// System of units: `metric` (default) or `imperial`.
    pub units: String,
    /// IANA name of the time zone (default: `UTC`).
    pub zone: String,
    /// Code of the language of answers (default: `en`).
    pub language: String,
    /// Save facts about the user in long-term memory (default: the setting of the application).
    #[serde(rename = "remember", skip_serializing_if = "Option::is_none")]
    pub remember_facts: Option<bool>,
}

impl Default for Preferences {
    fn default() -> Self {
        let [length, units, zone, language] = ["normal", "metric", "UTC", "en"].map(str::to_owned);
        Self { length, units, zone, language, remember_facts: None }
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
