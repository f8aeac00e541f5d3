//! Permissions of one user.
//!
//! Roles are combined by one rule: permissions add up, and so do restrictions. A tool is allowed if any role or
//! single permission contains it; a table or a column is denied if any role denies it, `*` included; of several
//! limits the smallest applies. Therefore an additional role that denies something never grants more data.
//!
//! The router checks tools against the permissions; the tools that read data check tables, columns and rows (see
//! `tools::query`).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Role;

/// Permissions of a user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Permissions {
    /// Allowed tools; `*` at the end of a name matches any suffix.
    pub tools: BTreeSet<String>,
    /// Tables that must not be read; `*` denies all tables.
    pub denied_tables: BTreeSet<String>,
    /// Columns that must not be read, `table.column`.
    pub denied_columns: BTreeSet<String>,
    /// Maximum number of rows of a query.
    #[serde(rename = "rows", skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u64>,
}

impl Permissions {
    /// Combines roles and single tools, with the smallest row limit.
    pub(super) fn from_roles(roles: &[&Role], single: BTreeSet<String>, max_rows: Option<u64>) -> Self {
        let all = |field: fn(&Role) -> &BTreeSet<String>| roles.iter().flat_map(move |role| field(role)).cloned();
        Self {
            tools: all(|role| &role.tools).chain(single).collect(),
            denied_tables: all(|role| &role.denied_tables).collect(),
            denied_columns: all(|role| &role.denied_columns).collect(),
            max_rows,
        }
    }

    /// Returns true if the tool is allowed.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let matches = |name: &String| match name.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => name == tool,
        };
        self.tools.iter().any(matches)
    }
}
