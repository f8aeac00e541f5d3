//! A description and its parts, put together to a graph.
//!
//! `rust` writes the same steps as Rust; whoever changes one changes the other.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::error::{Error, Result};
use superstep_core::graph::Endpoint;
use superstep_core::model::AnswerFormat;
use superstep_core::record::Record;
use superstep_core::schema::Schema;
use superstep_core::types::FieldType;

use super::check::{items, writes};
use super::description::{Description, ErrorsData, InterruptData, KindData, ModelData, NodeData, SetData, ToolsData};
use super::nodes::{AskNode, ConditionNode, MapNode, ModelNode, SetNode};
use super::parts::{PartNode, Parts};
use super::problems::Problems;
use super::tree::below;
use super::{END, GraphFile, START, load};
use crate::compiled::Compiled;
use crate::graph::Graph;
use crate::model::Prompt;
use crate::node::{NodeWith, node};
use crate::tool::{Errors, Policy, ToolNode};

mod policies;

use policies::{migration_of, retry_of, timeout_of};

impl GraphFile {
    /// The graph, with the parts it calls by name.
    ///
    /// # Errors
    /// Lists every part that is missing, with its place in the file, and what the parts themselves bring along.
    pub fn build(&self, parts: &Parts) -> Result<Compiled<Record>> {
        self.assemble(parts, Some(parts))
    }

    fn assemble(&self, parts: &Parts, outermost: Option<&Parts>) -> Result<Compiled<Record>> {
        let mut problems = Problems::default();
        let mut made = Vec::new();
        for (name, data) in &self.description.nodes {
            let maker = Maker { file: self, parts, name, at: below("/nodes", name) };
            made.extend(maker.make(&data.kind, &mut problems));
        }
        if !problems.is_empty() {
            return Err(problems.into_error(&self.source, Some(&self.tree)));
        }
        let mut graph = draw(&self.description, &self.schema, made);
        if let Some(parts) = outermost {
            parts.equip(&mut graph);
        }
        graph.compile().map_err(|error| {
            place(&self.description, &error, &mut problems);
            problems.into_error(&self.source, Some(&self.tree))
        })
    }
}

/// Asks the compiler of graphs, with nodes that do nothing.
pub(super) fn check(description: &Description, schema: &Arc<Schema>, problems: &mut Problems) {
    async fn nothing() {}
    let nodes = description.nodes.iter().map(|_| PartNode::new(nothing)).collect();
    if let Err(error) = draw(description, schema, nodes).compile() {
        place(description, &error, problems);
    }
}

/// What the compiler of graphs says has no place; the node it names has one.
fn place(description: &Description, error: &Error, problems: &mut Problems) {
    if error.problems().is_empty() {
        problems.at("", error.message(), error.advice().map(str::to_owned));
    }
    for problem in error.problems() {
        let named = problem.message.split('`').skip(1).step_by(2);
        let node = named.into_iter().find(|name| description.nodes.iter().any(|(node, _)| node == name));
        let about = [("migration", "/migrations"), ("input schema", "/input"), ("output schema", "/output")];
        let key = about.into_iter().find(|(word, _)| problem.message.contains(word)).map(|(_, key)| key.to_owned());
        let at = key.or_else(|| node.map(|node| below("/nodes", node))).unwrap_or_default();
        problems.at_key(&at, problem.message.clone(), problem.help.clone());
    }
}

fn draw(description: &Description, schema: &Arc<Schema>, nodes: Vec<PartNode>) -> Graph<Record> {
    let top = &description.top;
    let mut graph = Graph::<Record>::with_schema(&top.name, schema.clone());
    for ((name, data), made) in description.nodes.iter().zip(nodes) {
        graph.node(name, told(description, schema, (name, data), node(made)));
    }
    for edge in &top.edges {
        for to in edge.to.names() {
            match edge.from.names() {
                [from] => graph.edge(endpoint(from), endpoint(to)),
                sources => graph.join(sources.iter().map(|from| endpoint(from)), endpoint(to)),
            };
        }
    }
    if let Some(fields) = &top.input {
        graph.input(fields);
    }
    if let Some(fields) = &top.output {
        graph.output(fields);
    }
    if let Some(limit) = top.recursion_limit {
        graph.recursion_limit(limit);
    }
    if let Some(retry) = &top.retry {
        graph.default_retry(retry_of(retry));
    }
    graph.interrupt_before(&top.interrupt_before).interrupt_after(&top.interrupt_after);
    for migration in &top.migrations {
        graph.migrate(migration.from, migration_of(migration));
    }
    graph
}

/// What a file says about a node, besides what it does.
fn told(
    description: &Description,
    schema: &Schema,
    (name, data): (&str, &NodeData),
    mut node: NodeWith<PartNode>,
) -> NodeWith<PartNode> {
    if let Some(description) = &data.description {
        node = node.metadata("description", description.as_str());
    }
    if let Some(retry) = &data.retry {
        node = node.retry(retry_of(retry));
    }
    if let Some(timeout) = &data.timeout {
        node = node.timeout(timeout_of(timeout));
    }
    if data.defer {
        node = node.defer();
    }
    node = data.was.iter().fold(node, NodeWith::was);
    if let Some(targets) = targets(&data.kind) {
        node = node.goto(targets.into_iter().map(endpoint));
    }
    let (reads, writes) = private(description, schema, name, &data.kind);
    if let Some(reads) = reads {
        node = node.reads(reads);
    }
    if let Some(writes) = writes {
        node = node.writes(writes);
    }
    node
}

/// The places that the commands of a node may lead to, each once.
pub(super) fn targets(kind: &KindData) -> Option<Vec<&str>> {
    let all: Vec<&str> = match kind {
        KindData::Condition(condition) => {
            condition.routes.iter().map(|route| route.to.as_str()).chain([condition.otherwise.as_str()]).collect()
        }
        KindData::Map(map) => vec![&map.to, &map.otherwise],
        KindData::Rust(rust) => rust.goto.as_ref()?.iter().map(String::as_str).collect(),
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
pub(super) type Declared = (Option<Vec<String>>, Option<Vec<String>>);

/// The private fields that a node reads and writes; of a node in Rust, what the file says.
pub(super) fn private(description: &Description, schema: &Schema, name: &str, kind: &KindData) -> Declared {
    if let KindData::Rust(rust) = kind {
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

/// The fields a node of a built-in kind reads.
fn reads(kind: &KindData) -> Vec<String> {
    let in_prompt = |prompt: &Prompt| prompt.placeholders().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut fields: Vec<String> = match kind {
        KindData::Model(model) => model.prompt.read.iter().flat_map(in_prompt).collect(),
        KindData::Interrupt(ask) => ask.prompt.read.iter().flat_map(in_prompt).collect(),
        KindData::Set(set) => {
            let texts = set.templates.values().filter_map(|text| Prompt::new("text", "1", text).ok());
            texts.flat_map(|text| in_prompt(&text)).collect()
        }
        _ => Vec::new(),
    };
    match kind {
        KindData::Model(model) => fields.extend(model.messages.clone()),
        KindData::Interrupt(ask) => fields.extend(ask.show.clone()),
        KindData::Set(set) => fields.extend(set.copies.values().cloned()),
        KindData::Tools(tools) => fields.push(tools.messages.clone()),
        KindData::Condition(condition) => {
            fields.extend(condition.routes.iter().flat_map(|route| route.when.fields()).map(str::to_owned));
        }
        KindData::Map(map) => fields.push(map.over.clone()),
        KindData::Subgraph(_) | KindData::Rust(_) => {}
    }
    fields
}

/// Makes the nodes of a file.
struct Maker<'a> {
    file: &'a GraphFile,
    parts: &'a Parts,
    name: &'a str,
    at: String,
}

impl Maker<'_> {
    fn make(&self, kind: &KindData, problems: &mut Problems) -> Option<PartNode> {
        match kind {
            KindData::Model(data) => self.model(data, problems).map(PartNode::new),
            KindData::Tools(data) => self.tools(data, problems).map(PartNode::new),
            KindData::Condition(data) => {
                let condition = ConditionNode::otherwise(endpoint(&data.otherwise));
                let add = |node: ConditionNode, route: &super::description::RouteData| {
                    node.when(route.when.clone(), endpoint(&route.to))
                };
                Some(PartNode::new(data.routes.iter().fold(condition, add)))
            }
            KindData::Map(data) => {
                let map = MapNode::new(&data.over, endpoint(&data.to)).item(&data.item);
                Some(PartNode::new(map.otherwise(endpoint(&data.otherwise))))
            }
            KindData::Interrupt(data) => ask(data).map(PartNode::new),
            KindData::Set(data) => Some(PartNode::new(self.set(data, problems))),
            KindData::Subgraph(data) => match (&data.graph, &data.read) {
                (Some(graph), _) => self.found("graph", self.parts.find_graph(graph), problems),
                (None, Some(file)) => match file.assemble(self.parts, None) {
                    Ok(graph) => Some(PartNode::new(graph)),
                    Err(error) => {
                        problems.of_file(&below(&self.at, "file"), &error);
                        None
                    }
                },
                (None, None) => None,
            },
            KindData::Rust(data) => self.found("node", self.parts.find_node(&data.node), problems),
        }
    }

    /// A part, or a problem at the key that names it.
    fn found<T>(&self, key: &str, found: Result<T>, problems: &mut Problems) -> Option<T> {
        found
            .map_err(|error| problems.at(&below(&self.at, key), error.message(), error.advice().map(str::to_owned)))
            .ok()
    }

    fn found_tools(&self, names: &[String], problems: &mut Problems) -> Vec<superstep_core::port::SharedTool> {
        let places = names.iter().enumerate().map(|(number, name)| (format!("tools/{number}"), name));
        let mut tools = Vec::new();
        for (place, name) in places {
            let at = format!("{}/{place}", self.at);
            match self.parts.find_tools([name.as_str()]) {
                Ok(found) => tools.extend(found),
                Err(error) => problems.at(&at, error.message(), error.advice().map(str::to_owned)),
            }
        }
        tools
    }

    fn model(&self, data: &ModelData, problems: &mut Problems) -> Option<ModelNode> {
        let tools = self.found_tools(&data.tools, problems);
        let mut made = ModelNode::new(self.found("model", self.parts.find_model(&data.model), problems)?).tools(tools);
        if let Some(prompt) = &data.prompt.read {
            made = made.prompt(prompt.clone());
        }
        if let Some(field) = &data.messages {
            made = made.messages(field);
        }
        if let Some(field) = &data.output {
            made = made.output(field);
        }
        if let Some(schema) = &data.schema {
            made = made.format(AnswerFormat::new(format_name(self.name), schema.clone()));
        }
        if let Some(temperature) = data.temperature {
            made = made.temperature(temperature);
        }
        if let Some(tokens) = data.max_tokens {
            made = made.max_tokens(tokens);
        }
        Some(made)
    }

    fn tools(&self, data: &ToolsData, problems: &mut Problems) -> Option<ToolNode> {
        let tools = self.found_tools(&data.tools, problems);
        let policy = Policy::allow(&data.policy.allow).and_ask(&data.policy.ask).and_deny(&data.policy.deny);
        let mut made = ToolNode::new(tools).messages(&data.messages).policy(policy);
        if data.errors == Some(ErrorsData::Propagate) {
            made = made.errors(Errors::Propagate);
        }
        if let Some(seconds) = data.call_timeout {
            made = made.timeout(Duration::from_secs_f64(seconds));
        }
        if let Some(calls) = data.max_concurrency {
            made = made.max_concurrency(calls);
        }
        Some(if data.ask_together { made.ask_together() } else { made })
    }

    fn set(&self, data: &SetData, problems: &mut Problems) -> SetNode {
        let mut made = SetNode::new();
        for (field, value) in &data.values {
            made = made.value(field, value.clone());
        }
        for (field, text) in &data.templates {
            match load::inline(self.name, self.file.description.top.version, text) {
                Ok(prompt) => made = made.template(field, prompt),
                Err(error) => problems.at(&self.at, error.message(), None),
            }
        }
        for (field, from) in &data.copies {
            made = made.copy(field, from);
        }
        made
    }
}

fn ask(data: &InterruptData) -> Option<AskNode> {
    let mut made = AskNode::new(data.prompt.read.clone()?, &data.output).show(&data.show);
    if let Some(schema) = answer_schema(data) {
        made = made.answer(schema);
    }
    Some(made)
}

/// The JSON Schema of an answer.
pub(super) fn answer_schema(data: &InterruptData) -> Option<Value> {
    data.answer.as_ref().and_then(|answer| FieldType::parse(answer).ok()).map(|kind| kind.to_json_schema())
}

/// What providers call the form of an answer.
pub(super) fn format_name(node: &str) -> String {
    node.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }).collect()
}

pub(super) fn endpoint(name: &str) -> Endpoint {
    match name {
        START => Endpoint::Start,
        END => Endpoint::End,
        name => name.into(),
    }
}
