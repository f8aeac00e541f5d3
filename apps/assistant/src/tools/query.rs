//! `bq_query`: runs one read-only SQL query.

pub mod bigquery;
mod functions;
pub mod guard;
mod sqlite;
pub(super) mod tables;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::suggest::did_you_mean_or_list;
use superstep::tools::{Tool, ToolInvocation, ToolSpec};
use superstep::{ToolError, ToolOutput};

use super::arguments::{number, optional, required};
use super::caller::Caller;
use super::error::{forbidden, unknown};
use crate::data::Dataset;
use bigquery::BigQuery;
use guard::{CheckedQuery, QueryGuard, SqlDialect};

/// Default number of rows of a query.
const DEFAULT_ROWS: usize = 100;

/// Result of a query.
#[derive(Debug)]
pub(crate) struct QueryResult {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
    pub(crate) is_truncated: bool,
}

/// The `bq_query` tool.
pub(super) struct QueryTool {
    pub(super) data: Arc<Dataset>,
    pub(super) bigquery: Option<Arc<BigQuery>>,
    /// Timeout of a query.
    pub(super) timeout: Duration,
}

impl Tool for QueryTool {
    fn spec(&self) -> ToolSpec {
        let (dialect, default) = match &self.bigquery {
            Some(bigquery) => ("GoogleSQL", bigquery.dataset.as_str()),
            None => ("SQLite", self.data.name()),
        };
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["sql"], "properties": {
            "sql": {"type": "string", "description": format!("One SELECT, in the SQL of {dialect}.")},
            "dataset": {"type": "string", "description": format!("The data set (default: `{default}`).")},
            "max_rows": {"type": "integer", "minimum": 1, "description": "Maximum number of rows (default: 100)."},
        }});
        let about = "Runs one read-only SQL query on the organisation's data. Returns columns and rows.";
        ToolSpec::new("bq_query", about)
            .with_input_schema(schema)
            .read_only()
            .timeout(super::CALL_TIMEOUT)
            .retries(super::MAX_RETRIES)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let caller = Caller::from_invocation(&call)?;
        let sql = required(&call, "sql")?.trim().to_owned();
        let limit = number(&call, "max_rows")?.unwrap_or(DEFAULT_ROWS).min(caller.access.max_rows);
        if limit == 0 {
            return Err(forbidden("you may not query the data"));
        }
        let result = match (optional(&call, "dataset")?, &self.bigquery) {
            (None, None) => self.query_local(&caller, &sql, limit).await?,
            (Some(name), _) if name.eq_ignore_ascii_case(self.data.name()) => {
                self.query_local(&caller, &sql, limit).await?
            }
            (dataset, Some(bigquery)) => bigquery.run_query(&caller.access, &sql, dataset, limit).await?,
            (Some(name), None) => {
                let suggestion = did_you_mean_or_list(name, &[self.data.name()]);
                return Err(unknown(format_args!("data set `{name}` not found; {suggestion}")));
            }
        };
        let count = result.rows.len();
        let output = json!({
            "columns": result.columns, "rows": result.rows, "count": count, "truncated": result.is_truncated,
            "sql": sql,
        });
        Ok(output.into())
    }
}

impl QueryTool {
    async fn query_local(&self, caller: &Caller, sql: &str, limit: usize) -> Result<QueryResult, ToolError> {
        let table_names = self.data.catalog().tables.iter().map(|table| table.name.as_str()).collect();
        let guard = QueryGuard {
            dialect: SqlDialect::Sqlite,
            tables: Some(table_names),
            qualifiers: vec!["main"],
            access: &caller.access,
        };
        let CheckedQuery { tables, sql } = guard.check(sql)?;
        let (data, access) = (self.data.clone(), caller.access.clone());
        sqlite::run(sqlite::LocalQuery { data, sql, tables, access, limit, timeout: self.timeout }).await
    }
}
