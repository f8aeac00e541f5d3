//! The tools, called as in a run: by name, with JSON, on behalf of a user.

mod bigquery;
mod data;
mod files;
mod guard;
mod mcp_servers;
mod memory;
mod query;
mod query_rewrite;
mod sample;
mod simple;
mod web;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use superstep::tools::SharedTool;
use superstep_assistant::data::Dataset;
use superstep_assistant::tools::{Caller, DataAccess, ToolSettings, tools};

/// Returns the shop data, loaded once for all tests.
fn shop() -> Arc<Dataset> {
    static SHOP: LazyLock<Arc<Dataset>> = LazyLock::new(|| Arc::new(Dataset::sample().unwrap()));
    SHOP.clone()
}

/// Returns a caller who may see everything except these tables and columns.
fn caller(denied_tables: &[&str], denied_columns: &[&str]) -> Arc<Caller> {
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let access =
        DataAccess { denied_tables: owned(denied_tables), denied_columns: owned(denied_columns), max_rows: 1_000 };
    Arc::new(Caller { access, zone: "Europe/Berlin".to_owned(), ..Caller::new("ana") })
}

/// Returns the tools with only the shop data.
fn plain() -> Vec<SharedTool> {
    tools(&ToolSettings::new(shop())).unwrap()
}

/// Calls a tool; returns its JSON or its error text.
async fn call(tools: &[SharedTool], name: &str, args: Value, caller: &Arc<Caller>) -> Result<Value, String> {
    let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap_or_else(|| panic!("no tool `{name}`"));
    let Value::Object(args) = args else { panic!("arguments are an object") };
    match tool.call(caller.invocation("c1", args)).await {
        Ok(output) => Ok(serde_json::from_str(&output.content.unwrap().text()).unwrap()),
        Err(error) => Err(error.message),
    }
}

/// Returns the kind of an error.
fn kind(outcome: &Result<Value, String>) -> &str {
    match outcome {
        Ok(_) => "fine",
        Err(message) => message.split_once(": ").expect("an error begins with its kind").0,
    }
}

/// Creates an empty folder for a test.
fn empty_folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("assistant-{name}"));
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).unwrap();
    folder
}
