//! The safety policy, read from a file: rules that block messages, rules that hand a message to a person, and the
//! permissions of each role.
//!
//! The policy applies before any model or tool is called, and no model output can change it. Every refusal names
//! its rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;
use serde::Deserialize;
use superstep::{Error, ErrorCode, Result};

use crate::profile::Profile;

mod permissions;

pub use permissions::Permissions;

/// A parsed policy.
#[derive(Debug, Clone)]
pub struct Policy {
    rules: Vec<PolicyRule>,
    roles: BTreeMap<String, Role>,
    destructive: BTreeSet<String>,
    limits: PolicyLimits,
}

/// A rule for messages, with the answer to matching messages.
#[derive(Debug, Clone)]
pub struct PolicyRule {
    /// Name, which every refusal contains.
    pub name: String,
    /// Answer for the user.
    pub answer: String,
    /// True if a person must handle the message.
    pub needs_person: bool,
    pattern: Regex,
}

/// Permissions of a role.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Role {
    #[serde(default)]
    pub(crate) tools: BTreeSet<String>,
    #[serde(default)]
    pub(crate) denied_tables: BTreeSet<String>,
    #[serde(default)]
    pub(crate) denied_columns: BTreeSet<String>,
}

/// Treatment of unknown users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownUser {
    /// Unknown users are rejected.
    #[default]
    #[serde(rename = "refuse")]
    Reject,
    /// Unknown users get the profile `guest`.
    Guest,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PolicyLimits {
    message_bytes: usize,
    unknown_user: UnknownUser,
    turns_per_hour: BTreeMap<String, u32>,
    rows_per_query: BTreeMap<String, u64>,
}

impl Default for PolicyLimits {
    fn default() -> Self {
        let (turns_per_hour, rows_per_query) = (BTreeMap::new(), BTreeMap::new());
        Self { message_bytes: 32 * 1024, unknown_user: UnknownUser::Reject, turns_per_hour, rows_per_query }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPolicy {
    #[serde(default)]
    blocked: Vec<RawRule>,
    #[serde(default)]
    needs_person: Vec<RawRule>,
    #[serde(default)]
    roles: BTreeMap<String, Role>,
    #[serde(default)]
    approval: RawApproval,
    #[serde(default)]
    limits: PolicyLimits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: String,
    pattern: String,
    answer: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawApproval {
    #[serde(default)]
    destructive: BTreeSet<String>,
}

impl Policy {
    /// Parses the text of a policy file.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid policy; for an invalid pattern, the error names the rule.
    pub fn parse(text: &str) -> Result<Self> {
        let raw: RawPolicy = toml::from_str(text)
            .map_err(|error| Error::new(ErrorCode::ConfigInvalid, format!("the policy cannot be read: {error}")))?;
        let blocked = raw.blocked.into_iter().map(|rule| (rule, false));
        let rules = blocked.chain(raw.needs_person.into_iter().map(|rule| (rule, true)));
        let rules = rules.map(|(rule, needs_person)| PolicyRule::parse(rule, needs_person)).collect::<Result<_>>()?;
        let (destructive, limits) = (raw.approval.destructive, raw.limits);
        Ok(Self { rules, roles: raw.roles, destructive, limits })
    }

    /// Reads a policy file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a valid policy.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::new(ErrorCode::ConfigInvalid, format!("`{}`: {error}", path.display())))?;
        Self::parse(&text)
    }

    /// Returns the first rule that a message breaks.
    #[must_use]
    pub fn matching_rule(&self, message: &str) -> Option<&PolicyRule> {
        self.rules.iter().find(|rule| rule.pattern.is_match(message))
    }

    /// Returns the maximum length of a message in bytes.
    #[must_use]
    pub fn message_bytes(&self) -> usize {
        self.limits.message_bytes
    }

    /// Returns the treatment of unknown users.
    #[must_use]
    pub fn unknown_user(&self) -> UnknownUser {
        self.limits.unknown_user
    }

    /// Replaces the treatment of unknown users.
    #[must_use]
    pub fn with_unknown_user(mut self, unknown_user: UnknownUser) -> Self {
        self.limits.unknown_user = unknown_user;
        self
    }

    /// Returns the maximum number of turns per hour for a user with this role.
    #[must_use]
    pub fn turns_per_hour(&self, role: &str) -> Option<u32> {
        self.limits.turns_per_hour.get(role).copied()
    }

    /// Returns true if every call of the tool needs approval, whatever its own annotations say.
    #[must_use]
    pub fn requires_approval(&self, tool: &str) -> bool {
        self.destructive.contains(tool)
    }

    /// Returns the permissions of a user: everything that the user's roles and individually listed tools allow,
    /// minus everything that one of the roles denies (see [`Permissions`]).
    #[must_use]
    pub fn permissions(&self, profile: &Profile) -> Permissions {
        let names = || std::iter::once(&profile.role).chain(&profile.permissions);
        let roles: Vec<&Role> = names().filter_map(|name| self.roles.get(name)).collect();
        let single_tools = names().filter(|name| !self.roles.contains_key(*name)).cloned();
        let max_rows = names().filter_map(|name| self.limits.rows_per_query.get(name)).min().copied();
        Permissions::from_roles(&roles, single_tools.collect(), max_rows)
    }
}

impl PolicyRule {
    fn parse(rule: RawRule, needs_person: bool) -> Result<Self> {
        let RawRule { name, pattern, answer } = rule;
        let pattern = Regex::new(&pattern).map_err(|error| {
            Error::new(ErrorCode::ConfigInvalid, format!("the pattern of rule `{name}` is invalid: {error}"))
        })?;
        Ok(Self { name, answer, needs_person, pattern })
    }
}
