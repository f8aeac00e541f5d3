//! `list_tables` and `describe_table`: metadata of the data. Tables and columns that the caller may not see are
//! omitted.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::core::suggest::did_you_mean_or_list;
use superstep::tools::{Tool, ToolInvocation, ToolSpec};
use superstep::{ToolError, ToolOutput};

use crate::data::{Column, Dataset, Table};
use crate::tools::arguments::required;
use crate::tools::caller::{Caller, DataAccess};
use crate::tools::error::{forbidden, unknown};

/// Maximum number of distinct values that are listed instead of samples.
const MAX_LISTED_VALUES: usize = 12;

/// The `list_tables` tool.
pub(crate) struct ListTables(pub(crate) Arc<Dataset>);

/// The `describe_table` tool.
pub(crate) struct DescribeTable(pub(crate) Arc<Dataset>);

impl Tool for ListTables {
    fn spec(&self) -> ToolSpec {
        let about = "Lists the tables of the organisation's data.";
        ToolSpec::new("list_tables", about).read_only().timeout(crate::tools::CALL_TIMEOUT)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let caller = Caller::from_invocation(&call)?;
        let tables: Vec<Value> = visible_tables(&self.0, &caller.access)
            .map(|table| {
                let about = table_description(table, &caller.access);
                json!({"name": table.name, "rows": table.visible_row_count(), "about": about})
            })
            .collect();
        if tables.is_empty() {
            return Err(forbidden("you do not have access to any table"));
        }
        Ok(json!({ "tables": tables }).into())
    }
}

impl Tool for DescribeTable {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["table"], "properties": {
            "table": {"type": "string", "description": "The name of the table."},
        }});
        let about = "Describes the columns of a table: names, types, descriptions and common values.";
        ToolSpec::new("describe_table", about).with_input_schema(schema).read_only().timeout(crate::tools::CALL_TIMEOUT)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let caller = Caller::from_invocation(&call)?;
        let name = required(&call, "table")?.trim();
        if caller.access.denies_table(name) {
            return Err(forbidden(format_args!("you do not have access to the table `{name}`")));
        }
        let Some(table) = self.0.catalog().table(name) else {
            let names: Vec<&str> = visible_tables(&self.0, &caller.access).map(|table| table.name.as_str()).collect();
            return Err(unknown(format_args!("table `{name}` not found; {}", did_you_mean_or_list(name, &names))));
        };
        let columns = table.columns.iter().filter(|column| !caller.access.denies_column(&table.name, &column.name));
        let columns: Vec<Value> = columns.map(column_json).collect();
        Ok(json!({ "table": table.name, "columns": columns }).into())
    }
}

fn visible_tables<'a>(data: &'a Dataset, access: &'a DataAccess) -> impl Iterator<Item = &'a Table> {
    data.catalog().tables.iter().filter(|table| !access.denies_table(&table.name))
}

/// Returns the comment of a table, or the names of its visible columns if there is no comment.
fn table_description(table: &Table, access: &DataAccess) -> String {
    if !table.comment.is_empty() {
        return table.comment.clone();
    }
    let names = table.columns.iter().map(|column| column.name.as_str());
    let names: Vec<&str> = names.filter(|name| !access.denies_column(&table.name, name)).collect();
    format!("columns: {}", names.join(", "))
}

fn column_json(column: &Column) -> Value {
    let values =
        if (1..=MAX_LISTED_VALUES).contains(&column.distinct.len()) { &column.distinct } else { &column.samples };
    let mut about = column.comment.clone();
    if let Some((table, name)) = &column.references {
        let note = format!("refers to {table}.{name}");
        about = if about.is_empty() { note } else { format!("{about}; {note}") };
    }
    json!({"name": column.name, "type": column.kind.name(), "about": about, "samples": values})
}
