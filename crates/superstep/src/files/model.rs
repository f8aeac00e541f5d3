//! Plain data of a graph file whose keys and value types are valid.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::GraphFile;
use super::condition::Condition;
use super::spanned::SpannedValue;
use crate::models::Prompt;

/// Content of a file, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GraphFileModel {
    pub(super) top: TopLevel,
    pub(super) nodes: Vec<(String, NodeConfig)>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct TopLevel {
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
    pub(super) retry: Option<RetryConfig>,
    #[serde(default)]
    pub(super) migrations: Vec<MigrationConfig>,
}

fn one() -> u32 {
    1
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Edge {
    pub(super) from: OneOrMany,
    pub(super) to: OneOrMany,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    More(Vec<String>),
}

impl OneOrMany {
    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::More(names) => names,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct RetryConfig {
    pub(super) max_attempts: u32,
    pub(super) initial_interval: Option<f64>,
    pub(super) backoff: Option<f64>,
    pub(super) max_interval: Option<f64>,
    pub(super) jitter: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct MigrationConfig {
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
pub(super) enum TimeoutConfig {
    Seconds(f64),
    Table { run: Option<f64>, idle: Option<f64> },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct NodeConfig {
    pub(super) description: Option<String>,
    pub(super) retry: Option<RetryConfig>,
    pub(super) timeout: Option<TimeoutConfig>,
    #[serde(default)]
    pub(super) defer: bool,
    #[serde(default)]
    pub(super) former_names: Vec<String>,
    #[serde(flatten)]
    pub(super) kind: NodeKindConfig,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum NodeKindConfig {
    Model(Box<ModelNodeConfig>),
    Tools(ToolNodeConfig),
    Condition(ConditionNodeConfig),
    Map(MapNodeConfig),
    Interrupt(Box<InterruptNodeConfig>),
    Subgraph(SubgraphNodeConfig),
    Set(SetNodeConfig),
    Rust(RustNodeConfig),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ModelNodeConfig {
    pub(super) model: String,
    #[serde(flatten)]
    pub(super) prompt: PromptConfig,
    pub(super) messages: Option<String>,
    #[serde(default)]
    pub(super) tools: Vec<String>,
    pub(super) output: Option<String>,
    pub(super) schema: Option<Value>,
    pub(super) temperature: Option<f64>,
    pub(super) max_tokens: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct PromptConfig {
    #[serde(rename = "prompt")]
    pub(super) text: Option<String>,
    #[serde(rename = "prompt_file")]
    pub(super) file: Option<String>,
    /// Prompt of the file; set when the graph file is loaded.
    #[serde(skip)]
    pub(super) read: Option<Prompt>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ToolNodeConfig {
    pub(super) tools: Vec<String>,
    #[serde(default = "messages")]
    pub(super) messages: String,
    #[serde(default)]
    pub(super) policy: ToolPolicyConfig,
    pub(super) errors: Option<ToolErrorsConfig>,
    pub(super) tool_timeout: Option<f64>,
    pub(super) max_concurrency: Option<usize>,
    #[serde(default)]
    pub(super) batch_approvals: bool,
}

fn messages() -> String {
    "messages".to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolErrorsConfig {
    Text,
    Propagate,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct ToolPolicyConfig {
    #[serde(default)]
    pub(super) allow: Vec<String>,
    #[serde(default)]
    pub(super) require_approval: Vec<String>,
    #[serde(default)]
    pub(super) deny: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ConditionNodeConfig {
    pub(super) routes: Vec<RouteConfig>,
    #[serde(rename = "else")]
    pub(super) otherwise: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct RouteConfig {
    pub(super) when: Condition,
    pub(super) to: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct MapNodeConfig {
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
pub(super) struct InterruptNodeConfig {
    #[serde(flatten)]
    pub(super) prompt: PromptConfig,
    pub(super) output: String,
    pub(super) resume_type: Option<Value>,
    #[serde(default)]
    pub(super) payload_fields: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct SubgraphNodeConfig {
    pub(super) graph: Option<String>,
    pub(super) file: Option<String>,
    /// Referenced graph file; set when the graph file is loaded.
    #[serde(skip)]
    pub(super) read: Option<Arc<GraphFile>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct SetNodeConfig {
    #[serde(default)]
    pub(super) values: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) templates: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) copies: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct RustNodeConfig {
    pub(super) node: String,
    pub(super) goto: Option<Vec<String>>,
    pub(super) reads: Option<Vec<String>>,
    pub(super) writes: Option<Vec<String>>,
}

impl GraphFileModel {
    /// Converts a syntax tree whose keys and value types are valid.
    pub(super) fn read(tree: &SpannedValue) -> Result<Self, serde_json::Error> {
        let top = serde_json::from_value(tree.to_json())?;
        let nodes = tree.get("nodes").map(SpannedValue::entries).unwrap_or_default();
        let nodes = nodes.iter().map(|entry| Ok((entry.key.clone(), serde_json::from_value(entry.value.to_json())?)));
        Ok(Self { top, nodes: nodes.collect::<Result<_, serde_json::Error>>()? })
    }
}
