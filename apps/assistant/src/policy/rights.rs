//! What one user may use.
//!
//! Roles are taken together by one rule: what allows adds up, and so does what restricts. A tool may be used when any role
//! or single permission has it; a table or a column is denied when any role denies it, `*` included; of several limits the
//! smallest holds. So nobody sees more by being given one more role that denies something.
//!
//! Tools are held against this by the router; tables, columns and rows by the tools that read data (see `tools::query`).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Role;

/// What a user may use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rights {
    /// The tools; a `*` at the end of a name stands for whatever follows.
    pub tools: BTreeSet<String>,
    /// Tables that must not be read; `*` is all of them.
    pub denied_tables: BTreeSet<String>,
    /// Columns that must not be read, `table.column`.
    pub denied_columns: BTreeSet<String>,
    /// How many rows a query may give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

impl Rights {
    /// Those of all roles and single tools, with the smallest limit of rows.
    pub(super) fn of(roles: &[&Role], single: BTreeSet<String>, rows: Option<u64>) -> Self {
        let all = |of: fn(&Role) -> &BTreeSet<String>| roles.iter().flat_map(move |role| of(role)).cloned();
        Self {
            tools: all(|role| &role.tools).chain(single).collect(),
            denied_tables: all(|role| &role.denied_tables).collect(),
            denied_columns: all(|role| &role.denied_columns).collect(),
            rows,
        }
    }

    /// Whether a tool may be used.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let fits = |name: &String| match name.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => name == tool,
        };
        self.tools.iter().any(fits)
    }
}
