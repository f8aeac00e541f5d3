//! `list_tables` and `describe_table`: what a query can be about. What is hidden from a caller is not there for them.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::core::suggest::known_names;
use superstep::tool::{Invocation, Tool, ToolSpec};
use superstep::{ToolError, ToolOutput};

use crate::data::{Column, Data, Table};
use crate::tools::arguments::required;
use crate::tools::caller::{Access, Caller};
use crate::tools::failure::{forbidden, unknown};

/// How many different values are listed instead of samples.
const LISTED: usize = 12;

/// Lists the tables.
pub(crate) struct ListTables(pub(crate) Arc<Data>);

/// Describes one of them.
pub(crate) struct DescribeTable(pub(crate) Arc<Data>);

impl Tool for ListTables {
    fn spec(&self) -> ToolSpec {
        let about = "Lists the tables of the organisation's data.";
        ToolSpec::new("list_tables", about).read_only().timeout(crate::tools::TIME)
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        let caller = Caller::of(&call)?;
        let tables: Vec<Value> = visible(&self.0, &caller.access)
            .map(|table| json!({"name": table.name, "rows": table.told_rows(), "about": about(table, &caller.access)}))
            .collect();
        if tables.is_empty() {
            return Err(forbidden("you may not see any table"));
        }
        Ok(json!({ "tables": tables }).into())
    }
}

impl Tool for DescribeTable {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["table"], "properties": {
            "table": {"type": "string", "description": "The name of the table."},
        }});
        let about = "Describes the columns of a table: names, kinds, meaning, values that occur.";
        ToolSpec::new("describe_table", about).with_input(schema).read_only().timeout(crate::tools::TIME)
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        let caller = Caller::of(&call)?;
        let name = required(&call, "table")?.trim();
        if caller.access.denies_table(name) {
            return Err(forbidden(format_args!("you may not see the table `{name}`")));
        }
        let Some(table) = self.0.catalog().table(name) else {
            let names: Vec<&str> = visible(&self.0, &caller.access).map(|table| table.name.as_str()).collect();
            return Err(unknown(format_args!("there is no table `{name}`; {}", known_names(name, &names))));
        };
        let columns = table.columns.iter().filter(|column| !caller.access.denies_column(&table.name, &column.name));
        let columns: Vec<Value> = columns.map(described).collect();
        Ok(json!({ "table": table.name, "columns": columns }).into())
    }
}

fn visible<'a>(data: &'a Data, access: &'a Access) -> impl Iterator<Item = &'a Table> {
    data.catalog().tables.iter().filter(|table| !access.denies_table(&table.name))
}

/// What is written about a table; the names of its columns where nobody wrote anything.
fn about(table: &Table, access: &Access) -> String {
    if !table.about.is_empty() {
        return table.about.clone();
    }
    let names = table.columns.iter().map(|column| column.name.as_str());
    let names: Vec<&str> = names.filter(|name| !access.denies_column(&table.name, name)).collect();
    format!("columns: {}", names.join(", "))
}

fn described(column: &Column) -> Value {
    let values = if (1..=LISTED).contains(&column.distinct.len()) { &column.distinct } else { &column.samples };
    let mut about = column.about.clone();
    if let Some((table, name)) = &column.references {
        let note = format!("refers to {table}.{name}");
        about = if about.is_empty() { note } else { format!("{about}; {note}") };
    }
    json!({"name": column.name, "type": column.kind.name(), "about": about, "samples": values})
}
