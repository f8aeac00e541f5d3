//! The safety policy: what is never answered, what a person must answer, and what each role may use. A file.
//!
//! Checked before any model or tool is asked; what a model says cannot change it. Every refusal names its rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;
use serde::Deserialize;
use superstep::{Code, Error, Result};

use crate::profile::Profile;

mod rights;

pub use rights::Rights;

/// What is allowed.
#[derive(Debug, Clone)]
pub struct Policy {
    rules: Vec<Rule>,
    roles: BTreeMap<String, Role>,
    destructive: BTreeSet<String>,
    limits: Limits,
}

/// A rule about messages, with the answer to those it matches.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its name, which every refusal gives.
    pub name: String,
    /// What the user is told.
    pub answer: String,
    /// Whether a person takes it from here.
    pub needs_person: bool,
    pattern: Regex,
}

/// What a role may use.
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

/// What becomes of users that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownUser {
    /// They are refused.
    #[default]
    Refuse,
    /// They have the profile `guest`.
    Guest,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Limits {
    message_bytes: usize,
    unknown_user: UnknownUser,
    turns_per_hour: BTreeMap<String, u32>,
    rows_per_query: BTreeMap<String, u64>,
}

impl Default for Limits {
    fn default() -> Self {
        let (turns_per_hour, rows_per_query) = (BTreeMap::new(), BTreeMap::new());
        Self { message_bytes: 32 * 1024, unknown_user: UnknownUser::Refuse, turns_per_hour, rows_per_query }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    blocked: Vec<WrittenRule>,
    #[serde(default)]
    needs_person: Vec<WrittenRule>,
    #[serde(default)]
    roles: BTreeMap<String, Role>,
    #[serde(default)]
    approval: WrittenApproval,
    #[serde(default)]
    limits: Limits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    name: String,
    pattern: String,
    answer: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenApproval {
    #[serde(default)]
    destructive: BTreeSet<String>,
}

impl Policy {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it is no policy, or a pattern is none; names the rule.
    pub fn parse(text: &str) -> Result<Self> {
        let written: Written = toml::from_str(text)
            .map_err(|error| Error::new(Code::ConfigInvalid, format!("the policy cannot be read: {error}")))?;
        let blocked = written.blocked.into_iter().map(|rule| (rule, false));
        let rules = blocked.chain(written.needs_person.into_iter().map(|rule| (rule, true)));
        let rules = rules.map(|(rule, needs_person)| Rule::read(rule, needs_person)).collect::<Result<_>>()?;
        let (destructive, limits) = (written.approval.destructive, written.limits);
        Ok(Self { rules, roles: written.roles, destructive, limits })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When there is none, or it is no policy.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::new(Code::ConfigInvalid, format!("`{}`: {error}", path.display())))?;
        Self::parse(&text)
    }

    /// The first rule that a message breaks.
    #[must_use]
    pub fn rule_against(&self, message: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.pattern.is_match(message))
    }

    /// The longest message, in bytes.
    #[must_use]
    pub fn message_bytes(&self) -> usize {
        self.limits.message_bytes
    }

    /// What becomes of users that nobody knows.
    #[must_use]
    pub fn unknown_user(&self) -> UnknownUser {
        self.limits.unknown_user
    }

    /// The same with another word about users that nobody knows.
    #[must_use]
    pub fn with_unknown_user(mut self, unknown_user: UnknownUser) -> Self {
        self.limits.unknown_user = unknown_user;
        self
    }

    /// How many turns a user of a role may have in an hour.
    #[must_use]
    pub fn turns_per_hour(&self, role: &str) -> Option<u32> {
        self.limits.turns_per_hour.get(role).copied()
    }

    /// Whether a person must allow a tool each time, whatever the tool says of itself.
    #[must_use]
    pub fn asks_about(&self, tool: &str) -> bool {
        self.destructive.contains(tool)
    }

    /// What a user may use: all that the roles and single tools in their permissions allow, without what any of the roles
    /// denies (see [`Rights`]).
    #[must_use]
    pub fn rights(&self, profile: &Profile) -> Rights {
        let names = || std::iter::once(&profile.role).chain(&profile.permissions);
        let roles: Vec<&Role> = names().filter_map(|name| self.roles.get(name)).collect();
        let single = names().filter(|name| !self.roles.contains_key(*name)).cloned();
        let rows = names().filter_map(|name| self.limits.rows_per_query.get(name)).min().copied();
        Rights::of(&roles, single.collect(), rows)
    }
}

impl Rule {
    fn read(rule: WrittenRule, needs_person: bool) -> Result<Self> {
        let WrittenRule { name, pattern, answer } = rule;
        let pattern = Regex::new(&pattern).map_err(|error| {
            Error::new(Code::ConfigInvalid, format!("the pattern of rule `{name}` is none: {error}"))
        })?;
        Ok(Self { name, answer, needs_person, pattern })
    }
}
