//! The tools, called as the assistant calls them: by name, with JSON, on somebody's behalf.

mod bigquery;
mod data;
mod files;
mod guard;
mod memory;
mod query;
mod sample;
mod servers;
mod simple;
mod web;
mod written;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use superstep::tool::SharedTool;
use superstep_assistant::data::Data;
use superstep_assistant::tools::{Access, Caller, ToolSettings, tools};

/// The shop, loaded once for all tests.
fn shop() -> Arc<Data> {
    static SHOP: LazyLock<Arc<Data>> = LazyLock::new(|| Arc::new(Data::sample().unwrap()));
    SHOP.clone()
}

/// Somebody who may see everything but these tables and columns.
fn caller(denied_tables: &[&str], denied_columns: &[&str]) -> Arc<Caller> {
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let access = Access { denied_tables: owned(denied_tables), denied_columns: owned(denied_columns), rows: 1_000 };
    Arc::new(Caller { access, zone: "Europe/Berlin".to_owned(), ..Caller::new("ana") })
}

/// The tools with nothing but the shop.
fn plain() -> Vec<SharedTool> {
    tools(&ToolSettings::new(shop())).unwrap()
}

/// Calls a tool; gives its JSON or what it says when it fails.
async fn call(tools: &[SharedTool], name: &str, args: Value, caller: &Arc<Caller>) -> Result<Value, String> {
    let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap_or_else(|| panic!("no tool `{name}`"));
    let Value::Object(args) = args else { panic!("arguments are an object") };
    match tool.call(caller.invocation("c1", args)).await {
        Ok(output) => Ok(serde_json::from_str(&output.content.unwrap().text()).unwrap()),
        Err(error) => Err(error.message),
    }
}

/// The word that an error begins with.
fn kind(outcome: &Result<Value, String>) -> &str {
    match outcome {
        Ok(_) => "fine",
        Err(message) => message.split_once(": ").expect("an error begins with its kind").0,
    }
}

/// A fresh folder of its own for a test.
fn fresh(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("assistant-{name}"));
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).unwrap();
    folder
}
