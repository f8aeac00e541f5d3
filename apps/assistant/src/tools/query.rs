//! `bq_query`: one question to the data, in SQL that only reads.

pub mod bigquery;
mod functions;
pub mod guard;
mod sqlite;
pub(super) mod tables;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::suggest::known_names;
use superstep::tool::{Invocation, Tool, ToolSpec};
use superstep::{ToolError, ToolOutput};

use super::arguments::{number, optional, required};
use super::caller::Caller;
use super::failure::{forbidden, unknown};
use crate::data::Data;
use bigquery::BigQuery;
use guard::{Checked, Guard, Language};

/// How many rows a query gives unless it asks for more.
const ROWS: usize = 100;

/// What a query gives.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
    pub(crate) is_truncated: bool,
}

/// The tool.
pub(super) struct QueryTool {
    pub(super) data: Arc<Data>,
    pub(super) bigquery: Option<Arc<BigQuery>>,
    /// How long a query may take.
    pub(super) time: Duration,
}

impl Tool for QueryTool {
    fn spec(&self) -> ToolSpec {
        let (language, default) = match &self.bigquery {
            Some(bigquery) => ("GoogleSQL", bigquery.dataset.as_str()),
            None => ("SQLite", self.data.name()),
        };
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["sql"], "properties": {
            "sql": {"type": "string", "description": format!("One SELECT, in the SQL of {language}.")},
            "dataset": {"type": "string", "description": format!("The data set; `{default}` unless given.")},
            "max_rows": {"type": "integer", "minimum": 1, "description": "At most so many rows; 100 unless given."},
        }});
        let about = "Asks the organisation's data one read-only question in SQL. Gives columns and rows.";
        ToolSpec::new("bq_query", about).with_input(schema).read_only().timeout(super::TIME).retries(super::RETRIES)
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        let caller = Caller::of(&call)?;
        let sql = required(&call, "sql")?.trim().to_owned();
        let limit = number(&call, "max_rows")?.unwrap_or(ROWS).min(caller.access.rows);
        if limit == 0 {
            return Err(forbidden("you may not query the data"));
        }
        let rows = match (optional(&call, "dataset")?, &self.bigquery) {
            (None, None) => self.ask_local(&caller, &sql, limit).await?,
            (Some(name), _) if name.eq_ignore_ascii_case(self.data.name()) => {
                self.ask_local(&caller, &sql, limit).await?
            }
            (dataset, Some(bigquery)) => bigquery.ask(&caller.access, &sql, dataset, limit).await?,
            (Some(name), None) => {
                let known = known_names(name, &[self.data.name()]);
                return Err(unknown(format_args!("there is no data set `{name}`; {known}")));
            }
        };
        let count = rows.rows.len();
        let shown = json!({
            "columns": rows.columns, "rows": rows.rows, "count": count, "truncated": rows.is_truncated, "sql": sql,
        });
        Ok(shown.into())
    }
}

impl QueryTool {
    async fn ask_local(&self, caller: &Caller, sql: &str, limit: usize) -> Result<Rows, ToolError> {
        let known = self.data.catalog().tables.iter().map(|table| table.name.as_str()).collect();
        let guard =
            Guard { language: Language::Sqlite, tables: Some(known), places: vec!["main"], access: &caller.access };
        let Checked { tables, sql } = guard.check(sql)?;
        let (data, access) = (self.data.clone(), caller.access.clone());
        sqlite::run(sqlite::Task { data, sql, tables, access, limit, time: self.time }).await
    }
}
