//! A graph file as plain data, once its form is known to be right.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::GraphFile;
use super::test::Test;
use super::tree::Tree;
use crate::model::Prompt;

/// Everything a file says, in the order it says it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Description {
    pub(super) top: Top,
    pub(super) nodes: Vec<(String, NodeData)>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Top {
    pub(super) name: String,
    #[serde(default = "one")]
    pub(super) version: u32,
    pub(super) description: Option<String>,
    pub(super) state: Map<String, Value>,
    pub(super) input: Option<Vec<String>>,
    pub(super) output: Option<Vec<String>>,
    pub(super) recursion_limit: Option<u32>,
    #[serde(default)]
    pub(super) interrupt_before: Vec<String>,
    #[serde(default)]
    pub(super) interrupt_after: Vec<String>,
    pub(super) edges: Vec<Edge>,
    pub(super) retry: Option<RetryData>,
    #[serde(default)]
    pub(super) migrations: Vec<MigrationData>,
}

fn one() -> u32 {
    1
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Edge {
    pub(super) from: OneOrMore,
    pub(super) to: OneOrMore,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::More(names) => names,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct RetryData {
    pub(super) max_attempts: u32,
    pub(super) initial_interval: Option<f64>,
    pub(super) backoff: Option<f64>,
    pub(super) max_interval: Option<f64>,
    pub(super) jitter: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct MigrationData {
    pub(super) from: u32,
    pub(super) to: u32,
    #[serde(default)]
    pub(super) rename: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) add: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) remove: Vec<String>,
    #[serde(default)]
    pub(super) rename_nodes: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum TimeoutData {
    Seconds(f64),
    Table { run: Option<f64>, idle: Option<f64> },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct NodeData {
    pub(super) description: Option<String>,
    pub(super) retry: Option<RetryData>,
    pub(super) timeout: Option<TimeoutData>,
    #[serde(default)]
    pub(super) defer: bool,
    #[serde(default)]
    pub(super) was: Vec<String>,
    #[serde(flatten)]
    pub(super) kind: KindData,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum KindData {
    Model(Box<ModelData>),
    Tools(ToolsData),
    Condition(ConditionData),
    Map(MapData),
    Interrupt(Box<InterruptData>),
    Subgraph(SubgraphData),
    Set(SetData),
    Rust(RustData),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ModelData {
    pub(super) model: String,
    #[serde(flatten)]
    pub(super) prompt: PromptData,
    pub(super) messages: Option<String>,
    #[serde(default)]
    pub(super) tools: Vec<String>,
    pub(super) output: Option<String>,
    pub(super) schema: Option<Value>,
    pub(super) temperature: Option<f64>,
    pub(super) max_tokens: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct PromptData {
    #[serde(rename = "prompt")]
    pub(super) text: Option<String>,
    #[serde(rename = "prompt_file")]
    pub(super) file: Option<String>,
    /// Read when the file is.
    #[serde(skip)]
    pub(super) read: Option<Prompt>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ToolsData {
    pub(super) tools: Vec<String>,
    #[serde(default = "messages")]
    pub(super) messages: String,
    #[serde(default)]
    pub(super) policy: PolicyData,
    pub(super) errors: Option<ErrorsData>,
    pub(super) call_timeout: Option<f64>,
    pub(super) max_concurrency: Option<usize>,
    #[serde(default)]
    pub(super) ask_together: bool,
}

fn messages() -> String {
    "messages".to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ErrorsData {
    Text,
    Propagate,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct PolicyData {
    #[serde(default)]
    pub(super) allow: Vec<String>,
    #[serde(default)]
    pub(super) ask: Vec<String>,
    #[serde(default)]
    pub(super) deny: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ConditionData {
    pub(super) routes: Vec<RouteData>,
    #[serde(rename = "else")]
    pub(super) otherwise: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct RouteData {
    pub(super) when: Test,
    pub(super) to: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct MapData {
    pub(super) over: String,
    pub(super) to: String,
    #[serde(rename = "as", default = "item")]
    pub(super) item: String,
    #[serde(rename = "else", default = "end")]
    pub(super) otherwise: String,
}

fn item() -> String {
    "item".to_owned()
}

fn end() -> String {
    super::END.to_owned()
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct InterruptData {
    #[serde(flatten)]
    pub(super) prompt: PromptData,
    pub(super) output: String,
    pub(super) answer: Option<Value>,
    #[serde(default)]
    pub(super) show: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct SubgraphData {
    pub(super) graph: Option<String>,
    pub(super) file: Option<String>,
    /// Read when the file is.
    #[serde(skip)]
    pub(super) read: Option<Arc<GraphFile>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct SetData {
    #[serde(default)]
    pub(super) values: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) templates: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) copies: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct RustData {
    pub(super) node: String,
    pub(super) goto: Option<Vec<String>>,
    pub(super) reads: Option<Vec<String>>,
    pub(super) writes: Option<Vec<String>>,
}

impl Description {
    /// Reads a tree whose form was found right.
    pub(super) fn read(tree: &Tree) -> Result<Self, serde_json::Error> {
        let top = serde_json::from_value(tree.to_json())?;
        let nodes = tree.get("nodes").map(Tree::entries).unwrap_or_default();
        let nodes = nodes.iter().map(|entry| Ok((entry.key.clone(), serde_json::from_value(entry.value.to_json())?)));
        Ok(Self { top, nodes: nodes.collect::<Result<_, serde_json::Error>>()? })
    }
}
