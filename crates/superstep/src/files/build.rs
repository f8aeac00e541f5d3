//! Builds a graph from a parsed file and its components.
//!
//! `codegen` writes the same steps as Rust code; change both together.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::dynamic_state::DynamicState;
use superstep_core::error::{Error, Result};
use superstep_core::graph::Endpoint;
use superstep_core::model::ResponseFormat;
use superstep_core::schema::Schema;
use superstep_core::types::FieldType;

use super::check::{items, writes};
use super::components::{ComponentNode, Components};
use super::diagnostics::Diagnostics;
use super::model::{
    GraphFileModel, InterruptNodeConfig, ModelNodeConfig, NodeConfig, NodeKindConfig, SetNodeConfig, ToolErrorsConfig,
    ToolNodeConfig,
};
use super::nodes::{ConditionNode, InterruptNode, MapNode, ModelNode, SetNode};
use super::spanned::below;
use super::{END, GraphFile, START, load};
use crate::graph::builder::StateGraph;
use crate::graph::compiled::CompiledGraph;
use crate::graph::node::{NodeBuilder, node};
use crate::models::Prompt;
use crate::tools::{ToolErrorHandling, ToolNode, ToolPolicy};

mod policies;

use policies::{retry_policy, timeout_policy, to_migration};

impl GraphFile {
    /// Builds and compiles the graph with the components that it references by name.
    ///
    /// # Errors
    /// Returns an error that lists every missing component with its location in the file, and the errors of the
    /// components themselves.
    pub fn build(&self, components: &Components) -> Result<CompiledGraph<DynamicState>> {
        self.assemble(components, Some(components))
    }

    fn assemble(&self, components: &Components, outermost: Option<&Components>) -> Result<CompiledGraph<DynamicState>> {
        let mut diagnostics = Diagnostics::default();
        let mut nodes = Vec::new();
        for (name, data) in &self.description.nodes {
            let factory = NodeFactory { file: self, components, name, at: below("/nodes", name) };
            nodes.extend(factory.make(&data.kind, &mut diagnostics));
        }
        if !diagnostics.is_empty() {
            return Err(diagnostics.into_error(&self.source, Some(&self.tree)));
        }
        let mut graph = build_graph(&self.description, &self.schema, nodes);
        if let Some(components) = outermost {
            components.apply_storage(&mut graph);
        }
        graph.compile().map_err(|error| {
            locate_error(&self.description, &error, &mut diagnostics);
            diagnostics.into_error(&self.source, Some(&self.tree))
        })
    }
}

/// Compiles the graph with placeholder nodes, to collect the diagnostics of the graph compiler.
pub(super) fn check(description: &GraphFileModel, schema: &Arc<Schema>, diagnostics: &mut Diagnostics) {
    async fn nothing() {}
    let nodes = description.nodes.iter().map(|_| ComponentNode::new(nothing)).collect();
    if let Err(error) = build_graph(description, schema, nodes).compile() {
        locate_error(description, &error, diagnostics);
    }
}

/// Adds locations to diagnostics of the graph compiler, which have none, by searching for the node that they name.
fn locate_error(description: &GraphFileModel, error: &Error, diagnostics: &mut Diagnostics) {
    if error.diagnostics().is_empty() {
        diagnostics.at("", error.message(), error.help().map(str::to_owned));
    }
    for diagnostic in error.diagnostics() {
        let named = diagnostic.message.split('`').skip(1).step_by(2);
        let node = named.into_iter().find(|name| description.nodes.iter().any(|(node, _)| node == name));
        let about = [("migration", "/migrations"), ("input schema", "/input"), ("output schema", "/output")];
        let key = about.into_iter().find(|(word, _)| diagnostic.message.contains(word)).map(|(_, key)| key.to_owned());
        let at = key.or_else(|| node.map(|node| below("/nodes", node))).unwrap_or_default();
        diagnostics.at_key(&at, diagnostic.message.clone(), diagnostic.help.clone());
    }
}

fn build_graph(
    description: &GraphFileModel,
    schema: &Arc<Schema>,
    nodes: Vec<ComponentNode>,
) -> StateGraph<DynamicState> {
    let top = &description.top;
    let mut graph = StateGraph::<DynamicState>::with_schema(&top.name, schema.clone());
    for ((name, data), built) in description.nodes.iter().zip(nodes) {
        graph.add_node(name, apply_node_config(description, schema, (name, data), node(built)));
    }
    for edge in &top.edges {
        for to in edge.to.names() {
            match edge.from.names() {
                [from] => graph.add_edge(endpoint(from), endpoint(to)),
                sources => graph.add_join(sources.iter().map(|from| endpoint(from)), endpoint(to)),
            };
        }
    }
    if let Some(fields) = &top.input {
        graph.input_fields(fields);
    }
    if let Some(fields) = &top.output {
        graph.output_fields(fields);
    }
    if let Some(limit) = top.recursion_limit {
        graph.recursion_limit(limit);
    }
    if let Some(retry) = &top.retry {
        graph.default_retry(retry_policy(retry));
    }
    graph.interrupt_before(&top.interrupt_before).interrupt_after(&top.interrupt_after);
    for migration in &top.migrations {
        graph.add_migration(migration.from, to_migration(migration));
    }
    graph
}

/// Applies the policies and metadata of a node in the file.
fn apply_node_config(
    description: &GraphFileModel,
    schema: &Schema,
    (name, data): (&str, &NodeConfig),
    mut node: NodeBuilder<ComponentNode>,
) -> NodeBuilder<ComponentNode> {
    if let Some(description) = &data.description {
        node = node.metadata("description", description.as_str());
    }
    if let Some(retry) = &data.retry {
        node = node.retry(retry_policy(retry));
    }
    if let Some(timeout) = &data.timeout {
        node = node.timeout(timeout_policy(timeout));
    }
    if data.defer {
        node = node.defer();
    }
    node = data.former_names.iter().fold(node, NodeBuilder::renamed_from);
    if let Some(targets) = targets(&data.kind) {
        node = node.goto_targets(targets.into_iter().map(endpoint));
    }
    let (reads, writes) = private_fields(description, schema, name, &data.kind);
    if let Some(reads) = reads {
        node = node.reads(reads);
    }
    if let Some(writes) = writes {
        node = node.writes(writes);
    }
    node
}

/// Returns the goto targets of a node, without duplicates.
pub(super) fn targets(kind: &NodeKindConfig) -> Option<Vec<&str>> {
    let all: Vec<&str> = match kind {
        NodeKindConfig::Condition(condition) => {
            condition.routes.iter().map(|route| route.to.as_str()).chain([condition.otherwise.as_str()]).collect()
        }
        NodeKindConfig::Map(map) => vec![&map.to, &map.otherwise],
        NodeKindConfig::Rust(rust) => rust.goto.as_ref()?.iter().map(String::as_str).collect(),
        _ => return None,
    };
    let mut targets = Vec::new();
    for target in all {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Some(targets)
}

/// Fields that a node declares to read and to write.
pub(super) type DeclaredFields = (Option<Vec<String>>, Option<Vec<String>>);

/// Returns the private fields that a node reads and writes; for a node in Rust, those that the file declares.
pub(super) fn private_fields(
    description: &GraphFileModel,
    schema: &Schema,
    name: &str,
    kind: &NodeKindConfig,
) -> DeclaredFields {
    if let NodeKindConfig::Rust(rust) = kind {
        return (rust.reads.clone(), rust.writes.clone());
    }
    let items = items(description);
    let is_item = |field: &str| items.get(name).is_some_and(|items| items.contains(field));
    let only = |mut fields: Vec<String>| {
        let is_private = |field: &str| schema.find(field).is_some_and(|id| schema.field(id).flags.private);
        fields.retain(|field| is_private(field) && !is_item(field));
        fields.sort_unstable();
        fields.dedup();
        Some(fields).filter(|fields| !fields.is_empty())
    };
    (only(reads(kind)), only(writes(kind).into_iter().map(str::to_owned).collect()))
}

/// Returns the fields that a node of a built-in kind reads.
fn reads(kind: &NodeKindConfig) -> Vec<String> {
    let in_prompt = |prompt: &Prompt| prompt.placeholders().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut fields: Vec<String> = match kind {
        NodeKindConfig::Model(model) => model.prompt.read.iter().flat_map(in_prompt).collect(),
        NodeKindConfig::Interrupt(interrupt) => interrupt.prompt.read.iter().flat_map(in_prompt).collect(),
        NodeKindConfig::Set(set) => {
            let texts = set.templates.values().filter_map(|text| Prompt::new("text", "1", text).ok());
            texts.flat_map(|text| in_prompt(&text)).collect()
        }
        _ => Vec::new(),
    };
    match kind {
        NodeKindConfig::Model(model) => fields.extend(model.messages.clone()),
        NodeKindConfig::Interrupt(interrupt) => fields.extend(interrupt.payload_fields.clone()),
        NodeKindConfig::Set(set) => fields.extend(set.copies.values().cloned()),
        NodeKindConfig::Tools(tools) => fields.push(tools.messages.clone()),
        NodeKindConfig::Condition(condition) => {
            fields.extend(condition.routes.iter().flat_map(|route| route.when.fields()).map(str::to_owned));
        }
        NodeKindConfig::Map(map) => fields.push(map.over.clone()),
        NodeKindConfig::Subgraph(_) | NodeKindConfig::Rust(_) => {}
    }
    fields
}

/// Factory of the nodes of a file.
struct NodeFactory<'a> {
    file: &'a GraphFile,
    components: &'a Components,
    name: &'a str,
    at: String,
}

impl NodeFactory<'_> {
    fn make(&self, kind: &NodeKindConfig, diagnostics: &mut Diagnostics) -> Option<ComponentNode> {
        match kind {
            NodeKindConfig::Model(data) => self.model(data, diagnostics).map(ComponentNode::new),
            NodeKindConfig::Tools(data) => self.tools(data, diagnostics).map(ComponentNode::new),
            NodeKindConfig::Condition(data) => {
                let condition = ConditionNode::default_to(endpoint(&data.otherwise));
                let add = |node: ConditionNode, route: &super::model::RouteConfig| {
                    node.when(route.when.clone(), endpoint(&route.to))
                };
                Some(ComponentNode::new(data.routes.iter().fold(condition, add)))
            }
            NodeKindConfig::Map(data) => {
                let map = MapNode::new(&data.over, endpoint(&data.to)).item(&data.item);
                Some(ComponentNode::new(map.when_empty(endpoint(&data.otherwise))))
            }
            NodeKindConfig::Interrupt(data) => interrupt_node(data).map(ComponentNode::new),
            NodeKindConfig::Set(data) => Some(ComponentNode::new(self.set(data, diagnostics))),
            NodeKindConfig::Subgraph(data) => match (&data.graph, &data.read) {
                (Some(graph), _) => self.require("graph", self.components.find_graph(graph), diagnostics),
                (None, Some(file)) => match file.assemble(self.components, None) {
                    Ok(graph) => Some(ComponentNode::new(graph)),
                    Err(error) => {
                        diagnostics.add_file_error(&below(&self.at, "file"), &error);
                        None
                    }
                },
                (None, None) => None,
            },
            NodeKindConfig::Rust(data) => self.require("node", self.components.find_node(&data.node), diagnostics),
        }
    }

    /// Returns a component, or adds a diagnostic at the key that names it.
    fn require<T>(&self, key: &str, component: Result<T>, diagnostics: &mut Diagnostics) -> Option<T> {
        component
            .map_err(|error| diagnostics.at(&below(&self.at, key), error.message(), error.help().map(str::to_owned)))
            .ok()
    }

    fn resolve_tools(&self, names: &[String], diagnostics: &mut Diagnostics) -> Vec<superstep_core::port::SharedTool> {
        let keys = names.iter().enumerate().map(|(number, name)| (format!("tools/{number}"), name));
        let mut tools = Vec::new();
        for (key, name) in keys {
            let at = format!("{}/{key}", self.at);
            match self.components.find_tools([name.as_str()]) {
                Ok(resolved) => tools.extend(resolved),
                Err(error) => diagnostics.at(&at, error.message(), error.help().map(str::to_owned)),
            }
        }
        tools
    }

    fn model(&self, data: &ModelNodeConfig, diagnostics: &mut Diagnostics) -> Option<ModelNode> {
        let tools = self.resolve_tools(&data.tools, diagnostics);
        let mut model_node =
            ModelNode::new(self.require("model", self.components.find_model(&data.model), diagnostics)?).tools(tools);
        if let Some(prompt) = &data.prompt.read {
            model_node = model_node.prompt(prompt.clone());
        }
        if let Some(field) = &data.messages {
            model_node = model_node.messages(field);
        }
        if let Some(field) = &data.output {
            model_node = model_node.output(field);
        }
        if let Some(schema) = &data.schema {
            model_node = model_node.format(ResponseFormat::new(format_name(self.name), schema.clone()));
        }
        if let Some(temperature) = data.temperature {
            model_node = model_node.temperature(temperature);
        }
        if let Some(tokens) = data.max_tokens {
            model_node = model_node.max_tokens(tokens);
        }
        Some(model_node)
    }

    fn tools(&self, data: &ToolNodeConfig, diagnostics: &mut Diagnostics) -> Option<ToolNode> {
        let tools = self.resolve_tools(&data.tools, diagnostics);
        let policy = ToolPolicy::allow(&data.policy.allow)
            .and_require_approval(&data.policy.require_approval)
            .and_deny(&data.policy.deny);
        let mut tool_node = ToolNode::new(tools).messages_field(&data.messages).policy(policy);
        if data.errors == Some(ToolErrorsConfig::Propagate) {
            tool_node = tool_node.error_handling(ToolErrorHandling::Propagate);
        }
        if let Some(seconds) = data.tool_timeout {
            tool_node = tool_node.timeout(Duration::from_secs_f64(seconds));
        }
        if let Some(calls) = data.max_concurrency {
            tool_node = tool_node.max_concurrency(calls);
        }
        Some(if data.batch_approvals { tool_node.batch_approvals() } else { tool_node })
    }

    fn set(&self, data: &SetNodeConfig, diagnostics: &mut Diagnostics) -> SetNode {
        let mut set_node = SetNode::new();
        for (field, value) in &data.values {
            set_node = set_node.value(field, value.clone());
        }
        for (field, text) in &data.templates {
            match load::inline(self.name, self.file.description.top.version, text) {
                Ok(prompt) => set_node = set_node.template(field, prompt),
                Err(error) => diagnostics.at(&self.at, error.message(), None),
            }
        }
        for (field, from) in &data.copies {
            set_node = set_node.copy(field, from);
        }
        set_node
    }
}

fn interrupt_node(data: &InterruptNodeConfig) -> Option<InterruptNode> {
    let mut node = InterruptNode::new(data.prompt.read.clone()?, &data.output).payload_fields(&data.payload_fields);
    if let Some(schema) = resume_schema(data) {
        node = node.resume_schema(schema);
    }
    Some(node)
}

/// Returns the JSON Schema of a resume value.
pub(super) fn resume_schema(data: &InterruptNodeConfig) -> Option<Value> {
    data.resume_type.as_ref().and_then(|value| FieldType::parse(value).ok()).map(|kind| kind.to_json_schema())
}

/// Returns the name of a response format, with the characters that model providers accept.
pub(super) fn format_name(node: &str) -> String {
    node.chars()
        .map(|character| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' })
        .collect()
}

pub(super) fn endpoint(name: &str) -> Endpoint {
    match name {
        START => Endpoint::Start,
        END => Endpoint::End,
        name => name.into(),
    }
}
