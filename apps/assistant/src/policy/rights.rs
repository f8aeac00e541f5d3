//! What one user may use, and whether a call keeps to it.
//!
//! Tables and columns are found in a query by its words, outside of texts and comments. That is stricter than need be:
//! a query that only names a denied column of another table is refused as well.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

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
    /// Taken together: a tool is allowed where one role has it, a table denied where no role allows it.
    pub(super) fn of(roles: &[&Role], single: BTreeSet<String>, rows: Option<u64>) -> Self {
        let tools = roles.iter().flat_map(|role| role.tools.clone()).chain(single).collect();
        let reading: Vec<&&Role> = roles.iter().filter(|role| !role.denied_tables.contains("*")).collect();
        let Some((first, others)) = reading.split_first() else {
            return Self {
                tools,
                denied_tables: BTreeSet::from(["*".to_owned()]),
                denied_columns: BTreeSet::new(),
                rows,
            };
        };
        let common = |of: fn(&Role) -> &BTreeSet<String>| {
            of(first).iter().filter(|name| others.iter().all(|role| of(role).contains(*name))).cloned().collect()
        };
        let (denied_tables, denied_columns) = (common(|role| &role.denied_tables), common(|role| &role.denied_columns));
        Self { tools, denied_tables, denied_columns, rows }
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

    /// Whether a table may be read.
    #[must_use]
    pub fn reads(&self, table: &str) -> bool {
        !self.denied_tables.iter().any(|denied| denied == "*" || denied.eq_ignore_ascii_case(table))
    }

    /// What forbids a call, in words for the user.
    #[must_use]
    pub fn forbids(&self, tool: &str, args: &Map<String, Value>) -> Option<String> {
        let given = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
        match tool {
            "describe_table" if !self.reads(given("table")) => Some(no_table(given("table"))),
            "bq_query" => self.forbids_query(given("sql")),
            _ => None,
        }
    }

    fn forbids_query(&self, sql: &str) -> Option<String> {
        // What cannot be split into words is refused by the tool, with a better reason.
        let tokens = Tokenizer::new(&SQLiteDialect {}, sql).tokenize().ok()?;
        let words: BTreeSet<String> = tokens
            .iter()
            .filter_map(|token| match token {
                Token::Word(word) => Some(word.value.to_lowercase()),
                // SQLite takes a text for a name where only a name can be.
                Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => Some(text.to_lowercase()),
                _ => None,
            })
            .collect();
        if self.denied_tables.contains("*") {
            return Some("you may not read tables".to_owned());
        }
        if let Some(table) = self.denied_tables.iter().find(|table| words.contains(&table.to_lowercase())) {
            return Some(no_table(table));
        }
        let has_star = takes_all(&tokens);
        let is_read = |column: &&String| {
            let (table, name) = column.split_once('.').unwrap_or(("", column.as_str()));
            words.contains(&table.to_lowercase()) && (has_star || words.contains(&name.to_lowercase()))
        };
        let column = self.denied_columns.iter().find(is_read)?;
        Some(match has_star {
            true => format!("you may not read the column `{column}`: name the columns in place of `*`"),
            false => format!("you may not read the column `{column}`"),
        })
    }
}

fn no_table(table: &str) -> String {
    format!("you may not read the table `{table}`")
}

/// Whether a query takes all columns: `*`, except where rows are counted.
fn takes_all(tokens: &[Token]) -> bool {
    let seen: Vec<&Token> = tokens.iter().filter(|token| !matches!(token, Token::Whitespace(_))).collect();
    let is_all = |place: usize| {
        let before = place.checked_sub(1).map(|place| seen[place]);
        let is_select = |token: &&Token| match token {
            Token::Word(word) => ["select", "all", "distinct"].contains(&word.value.to_lowercase().as_str()),
            Token::Comma | Token::Period => true,
            _ => false,
        };
        *seen[place] == Token::Mul && before.as_ref().is_some_and(is_select)
    };
    (0..seen.len()).any(is_all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rights() -> Rights {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Rights {
            tools: set(&["bq_query", "crm_*"]),
            denied_tables: set(&["employees"]),
            denied_columns: set(&["customers.email"]),
            rows: None,
        }
    }

    /// R-PLN-25, R-PLN-31: tables and columns of a query are held against the role.
    #[test]
    fn a_query_keeps_to_the_tables_and_columns_of_the_role() {
        let rows = [
            ("select count(*) from customers", None),
            ("select name from customers where name = 'x'", None),
            ("select email from suppliers", None),
            ("select 2 * price from products", None),
            ("SELECT c.Email FROM customers c", Some("`customers.email`")),
            ("select * from customers", Some("in place of `*`")),
            ("select c.* from customers c", Some("in place of `*`")),
            ("select name from /* employees */ orders", None),
            ("select name from \"Employees\"", Some("`employees`")),
            ("select 1 from orders o join employees e on 1", Some("`employees`")),
        ];
        for (sql, expected) in rows {
            let args = json!({ "sql": sql });
            let said = rights().forbids("bq_query", args.as_object().unwrap());
            assert_eq!(said.is_some(), expected.is_some(), "{sql}: {said:?}");
            assert!(said.unwrap_or_default().contains(expected.unwrap_or_default()), "{sql}");
        }
        let table = json!({ "table": "Employees" });
        assert!(rights().forbids("describe_table", table.as_object().unwrap()).is_some());
        assert!(rights().allows("crm_find") && !rights().allows("bq") && !rights().allows("fetch_url"));
    }
}
