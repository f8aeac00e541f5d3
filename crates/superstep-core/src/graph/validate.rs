//! Turns a graph in the making into a compiled one, and refuses everything it can see to be wrong.
//!
//! Collects all problems before it gives up; resolves each name once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::builder::{Builder, DraftNode};
use super::{Compat, END_NAME, Endpoint, Exits, Join, NodeSpec, Route, START_NAME, Target, Topology, parallel, reach};
use crate::error::{Code, Error, Problem, Result};
use crate::id::{FieldId, NodeId};
use crate::suggest::did_you_mean;

/// Problems found so far.
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn add(&mut self, message: impl Into<String>, help: Option<String>) {
        self.0.push(Problem { pointer: String::new(), message: message.into(), help });
    }
}

pub(super) fn compile(builder: &Builder) -> Result<Topology> {
    let mut problems = Problems(Vec::new());
    for complaint in &builder.complaints {
        problems.add(complaint.clone(), None);
    }
    let by_name = names(builder, &mut problems);
    let mut topology = skeleton(builder, by_name, &mut problems);
    wire(builder, &mut topology, &mut problems);
    for name in &builder.breakpoints {
        if topology.find(name).is_none() {
            problems.add(format!("breakpoint at unknown node `{name}`"), nearest(&topology, name));
        }
    }
    // What cannot be resolved cannot be followed either: paths are looked at only in a whole graph.
    if problems.0.is_empty() {
        reach::check(&topology, &mut problems);
    }
    if problems.0.is_empty() {
        topology.warnings = parallel::warnings(&topology);
        return Ok(topology);
    }
    Err(Error::listing(Code::InvalidGraph, format!("graph `{}` cannot be compiled", builder.name), problems.0))
}

fn names(builder: &Builder, problems: &mut Problems) -> BTreeMap<Arc<str>, NodeId> {
    let mut by_name: BTreeMap<Arc<str>, NodeId> = BTreeMap::new();
    for (index, node) in builder.nodes.iter().enumerate() {
        check_name(node, problems);
        if by_name.insert(node.name.clone(), NodeId(index as u32)).is_some() {
            problems.add(format!("node `{}` is added twice", node.name), Some("rename one of them".to_owned()));
        }
    }
    for (index, node) in builder.nodes.iter().enumerate() {
        for old in &node.options.was {
            by_name.entry(old.as_str().into()).or_insert(NodeId(index as u32));
        }
    }
    by_name
}

fn check_name(node: &DraftNode, problems: &mut Problems) {
    let name = &node.name;
    if name.is_empty() {
        problems.add("a node needs a name", None);
    } else if &**name == START_NAME || &**name == END_NAME || name.starts_with("__") {
        problems.add(format!("node name `{name}` is reserved"), Some("names do not start with `__`".to_owned()));
    } else if name.contains(['|', ':']) {
        problems
            .add(format!("node name `{name}` contains `|` or `:`"), Some("both separate names in paths".to_owned()));
    }
    if !node.has_action {
        problems.add(format!("node `{name}` has no action"), Some("define what it does, or remove it".to_owned()));
    }
}

fn skeleton(builder: &Builder, by_name: BTreeMap<Arc<str>, NodeId>, problems: &mut Problems) -> Topology {
    let mut topology = Topology {
        name: builder.name.clone(),
        schema: builder.schema.clone(),
        input: fields(builder, builder.input.as_deref(), "input", problems),
        output: fields(builder, builder.output.as_deref(), "output", problems),
        nodes: Vec::with_capacity(builder.nodes.len()),
        start: Exits::default(),
        exits: vec![Exits::default(); builder.nodes.len()],
        joins: Vec::new(),
        compat: builder.compat,
        warnings: Vec::new(),
        by_name,
        rank: None,
    };
    for node in &builder.nodes {
        let spec = specify(builder, &topology, node, problems);
        topology.nodes.push(spec);
    }
    if builder.compat == Compat::LangGraph {
        let mut order: Vec<usize> = (0..topology.nodes.len()).collect();
        order.sort_by(|left, right| topology.nodes[*left].name.cmp(&topology.nodes[*right].name));
        let mut rank = vec![0; order.len()];
        order.into_iter().enumerate().for_each(|(place, node)| rank[node] = place as u32);
        topology.rank = Some(rank);
    }
    topology
}

/// The fields of an input or output schema; all that are not private when none is declared.
fn fields(builder: &Builder, declared: Option<&[String]>, which: &str, problems: &mut Problems) -> Vec<FieldId> {
    let schema = &builder.schema;
    let Some(declared) = declared else {
        return schema.iter().filter(|(_, field)| !field.flags.private).map(|(id, _)| id).collect();
    };
    let mut found = Vec::new();
    for name in declared {
        match schema.find(name) {
            Some(id) if schema.field(id).flags.private => {
                problems.add(format!("private field `{name}` is in the {which} schema"), None);
            }
            Some(id) => found.push(id),
            None => {
                let help = schema.unknown_field(name).help;
                problems.add(format!("the {which} schema has field `{name}`, which the state lacks"), help);
            }
        }
    }
    found
}

fn specify(builder: &Builder, topology: &Topology, node: &DraftNode, problems: &mut Problems) -> NodeSpec {
    let options = &node.options;
    let mut declared = |names: &Option<Vec<String>>, verb: &str| {
        names.as_ref().map(|names| {
            let find = |name: &String| {
                let found = builder.schema.find(name);
                if found.is_none() {
                    let help = builder.schema.unknown_field(name).help;
                    problems.add(format!("node `{}` {verb} unknown field `{name}`", node.name), help);
                }
                found
            };
            names.iter().filter_map(find).collect::<Vec<FieldId>>()
        })
    };
    let (reads, writes) = (declared(&options.reads, "reads"), declared(&options.writes, "writes"));
    let goto = options.goto.as_ref().map(|targets| {
        let targets = targets.iter().map(|target| resolve_target(topology, &node.name, target, problems));
        targets.collect::<Vec<_>>().into_iter().flatten().collect()
    });
    NodeSpec {
        name: node.name.clone(),
        defer: options.defer,
        was: options.was.clone(),
        goto,
        reads,
        writes,
        branch: options.branch,
        metadata: options.metadata.clone(),
        tags: options.tags.clone(),
        inner: options.inner.clone(),
    }
}

fn wire(builder: &Builder, topology: &mut Topology, problems: &mut Problems) {
    for (from, to) in &builder.edges {
        let source = resolve_source(topology, from, to, problems);
        let target = resolve_target(topology, &show(builder, from), to, problems);
        let (Some(source), Some(target)) = (source, target) else { continue };
        let exits = exits_mut(topology, source);
        match target {
            Target::Node(id) => exits.edges.push(id),
            Target::End => exits.ends = true,
        }
    }
    for route in &builder.routes {
        let source = resolve_source(topology, &route.from, &Endpoint::Name("(route)".into()), problems);
        let targets = route.targets.as_ref().map(|targets| {
            let from = show(builder, &route.from);
            let resolve = |(target, label): &(Endpoint, Option<String>)| {
                resolve_target(topology, &from, target, problems).map(|target| (target, label.clone()))
            };
            targets.iter().filter_map(resolve).collect()
        });
        if let Some(source) = source {
            exits_mut(topology, source).routes.push(Route { decide: route.decide.clone(), targets });
        }
    }
    for (sources, target) in &builder.joins {
        wire_join(builder, topology, sources, target, problems);
    }
    let all = topology.exits.iter_mut().chain([&mut topology.start]);
    all.for_each(|exits| {
        exits.edges.sort_unstable();
        exits.edges.dedup();
    });
}

fn wire_join(
    builder: &Builder,
    topology: &mut Topology,
    sources: &[Endpoint],
    target: &Endpoint,
    problems: &mut Problems,
) {
    let mut resolved = Vec::new();
    for source in sources {
        match resolve_source(topology, source, target, problems) {
            Some(Source::Node(id)) => resolved.push(id),
            Some(Source::Start) => {
                problems.add(format!("join into `{}` waits for the start", show(builder, target)), None)
            }
            None => {}
        }
    }
    resolved.sort_unstable();
    resolved.dedup();
    if sources.is_empty() {
        problems.add(format!("join into `{}` has no sources", show(builder, target)), None);
    }
    match resolve_target(topology, "(join)", target, problems) {
        Some(Target::Node(target)) => {
            let join = topology.joins.len() as u32;
            for (place, source) in resolved.iter().enumerate() {
                topology.exits[source.index()].joins.push((join, place as u32));
            }
            topology.joins.push(Join { sources: resolved, target });
        }
        // Waiting for several branches before the end is what the end does anyway.
        Some(Target::End) => resolved.iter().for_each(|source| topology.exits[source.index()].ends = true),
        None => {}
    }
}

#[derive(Clone, Copy)]
enum Source {
    Start,
    Node(NodeId),
}

fn exits_mut(topology: &mut Topology, source: Source) -> &mut Exits {
    match source {
        Source::Start => &mut topology.start,
        Source::Node(id) => &mut topology.exits[id.index()],
    }
}

fn resolve_source(topology: &Topology, from: &Endpoint, to: &Endpoint, problems: &mut Problems) -> Option<Source> {
    match from {
        Endpoint::Start => Some(Source::Start),
        Endpoint::End => {
            problems.add(format!("edge `{END_NAME}` -> `{to}`: nothing leads out of the end"), None);
            None
        }
        Endpoint::Node(id) if id.index() < topology.nodes.len() => Some(Source::Node(*id)),
        Endpoint::Node(_) => {
            problems.add("an edge starts at a node of another graph", None);
            None
        }
        Endpoint::Name(name) => match topology.find(name) {
            Some(id) => Some(Source::Node(id)),
            None => {
                problems.add(format!("edge `{name}` -> `{to}`: no node `{name}`"), nearest(topology, name));
                None
            }
        },
    }
}

fn resolve_target(topology: &Topology, from: &str, to: &Endpoint, problems: &mut Problems) -> Option<Target> {
    let total = topology.exits.len();
    match to {
        Endpoint::End => Some(Target::End),
        Endpoint::Start => {
            problems.add(format!("edge `{from}` -> `{START_NAME}`: nothing leads to the start"), None);
            None
        }
        Endpoint::Node(id) if id.index() < total => Some(Target::Node(*id)),
        Endpoint::Node(_) => {
            problems.add(format!("edge from `{from}` leads to a node of another graph"), None);
            None
        }
        Endpoint::Name(name) => match topology.find(name) {
            Some(id) => Some(Target::Node(id)),
            None => {
                problems.add(format!("edge `{from}` -> `{name}`: no node `{name}`"), nearest(topology, name));
                None
            }
        },
    }
}

fn show(builder: &Builder, endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Node(id) => builder.name_of(*id).unwrap_or("?").to_owned(),
        other => other.to_string(),
    }
}

fn nearest(topology: &Topology, name: &str) -> Option<String> {
    did_you_mean(name, topology.by_name.keys().map(|name| &**name))
}
