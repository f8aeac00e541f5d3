//! Compiles a builder into a topology and rejects every mistake that is visible before a run.
//!
//! Collects all diagnostics before it fails; resolves each name once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::builder::{TopologyBuilder, UncheckedNode, UncheckedRoute};
use super::{
    Compat, ConditionalEdge, END_NAME, Endpoint, Join, NodeSpec, OutgoingEdges, ResolvedTarget, START_NAME, Topology,
    concurrent_writers, reachability,
};
use crate::error::{Diagnostic, Error, ErrorCode, Result};
use crate::id::{FieldId, NodeId};
use crate::suggest;

/// The diagnostics so far, and the dangling edges, so that one mistake is not reported twice.
#[derive(Default)]
pub(super) struct GraphDiagnostics {
    entries: Vec<Diagnostic>,
    /// Nodes, or the start, with an edge to a node that does not exist.
    pub(super) dangling_sources: BTreeSet<Option<NodeId>>,
    /// Nodes with an edge from a node that does not exist.
    pub(super) dangling_targets: Vec<NodeId>,
}

impl GraphDiagnostics {
    pub(super) fn add(&mut self, message: impl Into<String>, help: Option<String>) {
        self.entries.push(Diagnostic { pointer: String::new(), message: message.into(), help });
    }
}

pub(super) fn compile(builder: &TopologyBuilder, messages: Vec<String>) -> Result<Topology> {
    let mut diagnostics = GraphDiagnostics::default();
    for message in builder.diagnostics.iter().cloned().chain(messages) {
        diagnostics.add(message, None);
    }
    let nodes: Vec<&str> = builder.nodes.iter().map(|node| &*node.name).collect();
    diagnostics.entries.extend(builder.migrations.diagnostics(&builder.schema, &nodes));
    let by_name = resolve_names(builder, &mut diagnostics);
    let mut topology = empty_topology(builder, by_name, &mut diagnostics);
    connect_edges(builder, &mut topology, &mut diagnostics);
    for name in &builder.breakpoints {
        if topology.find_node(name).is_none() {
            let help = nearest(&topology, name).map(|(_, help)| help);
            diagnostics.add(format!("breakpoint at unknown node `{name}`"), help);
        }
    }
    reachability::check(&topology, &mut diagnostics);
    if diagnostics.entries.is_empty() {
        topology.warnings = concurrent_writers::warnings(&topology);
        return Ok(topology);
    }
    Err(Error::with_diagnostics(
        ErrorCode::InvalidGraph,
        format!("graph `{}` is invalid", builder.name),
        diagnostics.entries,
    ))
}

fn resolve_names(builder: &TopologyBuilder, diagnostics: &mut GraphDiagnostics) -> BTreeMap<Arc<str>, NodeId> {
    let mut by_name: BTreeMap<Arc<str>, NodeId> = BTreeMap::new();
    for (index, node) in builder.nodes.iter().enumerate() {
        check_name(node, diagnostics);
        if let Some(shadowed) = by_name.insert(node.name.clone(), NodeId(index as u32)) {
            diagnostics.dangling_targets.push(shadowed);
            diagnostics.dangling_sources.insert(Some(shadowed));
            diagnostics.add(format!("duplicate node `{}`", node.name), Some("rename one of them".to_owned()));
        }
    }
    let mut former: BTreeMap<&str, &Arc<str>> = BTreeMap::new();
    for (index, node) in builder.nodes.iter().enumerate() {
        for old in &node.options.former_names {
            if let Some(other) = former.insert(old, &node.name).filter(|other| *other != &node.name) {
                diagnostics
                    .add(format!("nodes `{other}` and `{}` both declare the former name `{old}`", node.name), None);
            }
            by_name.entry(old.as_str().into()).or_insert(NodeId(index as u32));
        }
    }
    for (former, name) in builder.migrations.former_node_names() {
        if let Some(id) = by_name.get(&name).copied() {
            by_name.entry(former).or_insert(id);
        }
    }
    by_name
}

fn check_name(node: &UncheckedNode, diagnostics: &mut GraphDiagnostics) {
    let name = &node.name;
    if name.is_empty() {
        diagnostics.add("the name of a node is empty", None);
    } else if &**name == START_NAME || &**name == END_NAME || name.starts_with("__") {
        diagnostics.add(format!("node name `{name}` is reserved"), Some("names must not start with `__`".to_owned()));
    } else if name.starts_with('#') {
        diagnostics
            .add(format!("node name `{name}` starts with `#`"), Some("`#` is reserved for node numbers".to_owned()));
    } else if name.contains(['|', ':']) {
        diagnostics
            .add(format!("node name `{name}` contains `|` or `:`"), Some("both are separators in paths".to_owned()));
    }
    if !node.has_action {
        diagnostics.add(format!("node `{name}` has no handler"), Some("give it a handler, or remove it".to_owned()));
    }
}

fn empty_topology(
    builder: &TopologyBuilder,
    by_name: BTreeMap<Arc<str>, NodeId>,
    diagnostics: &mut GraphDiagnostics,
) -> Topology {
    let mut topology = Topology {
        name: builder.name.clone(),
        schema: builder.schema.clone(),
        input: fields(builder, builder.input.as_deref(), "input", diagnostics),
        output: fields(builder, builder.output.as_deref(), "output", diagnostics),
        nodes: Vec::with_capacity(builder.nodes.len()),
        start: OutgoingEdges::default(),
        exits: vec![OutgoingEdges::default(); builder.nodes.len()],
        joins: Vec::new(),
        compat: builder.compat,
        migrations: builder.migrations.clone(),
        warnings: Vec::new(),
        graph_tag: builder.tag,
        by_name,
        node_order: None,
    };
    for index in 0..builder.nodes.len() {
        let spec = build_node_spec(builder, &topology, NodeId(index as u32), diagnostics);
        topology.nodes.push(spec);
    }
    if builder.compat == Compat::LangGraph {
        let mut order: Vec<usize> = (0..topology.nodes.len()).collect();
        order.sort_by(|left, right| topology.nodes[*left].name.cmp(&topology.nodes[*right].name));
        let mut rank = vec![0; order.len()];
        order.into_iter().enumerate().for_each(|(position, node)| rank[node] = position as u32);
        topology.node_order = Some(rank);
    }
    topology
}

/// Returns the fields of an input or output schema; all that are not private if none is declared.
fn fields(
    builder: &TopologyBuilder,
    declared: Option<&[String]>,
    direction: &str,
    diagnostics: &mut GraphDiagnostics,
) -> Vec<FieldId> {
    let schema = &builder.schema;
    let Some(declared) = declared else {
        return schema.iter().filter(|(_, field)| !field.flags.private).map(|(id, _)| id).collect();
    };
    let mut ids = Vec::new();
    for name in declared {
        match schema.find(name) {
            Some(id) if schema.field(id).flags.private => {
                diagnostics.add(format!("private field `{name}` is in the {direction} schema"), None);
            }
            Some(id) => ids.push(id),
            None => {
                let help = schema.unknown_field(name).help;
                diagnostics
                    .add(format!("the {direction} schema has field `{name}`, which the state does not have"), help);
            }
        }
    }
    ids
}

fn build_node_spec(
    builder: &TopologyBuilder,
    topology: &Topology,
    id: NodeId,
    diagnostics: &mut GraphDiagnostics,
) -> NodeSpec {
    let node = &builder.nodes[id.index()];
    let options = &node.options;
    let mut declared = |names: &Option<Vec<String>>, verb: &str| {
        names.as_ref().map(|names| {
            let find = |name: &String| {
                let field = builder.schema.find(name);
                if field.is_none() {
                    let help = builder.schema.unknown_field(name).help;
                    diagnostics.add(format!("node `{}` {verb} unknown field `{name}`", node.name), help);
                }
                field
            };
            names.iter().filter_map(find).collect::<Vec<FieldId>>()
        })
    };
    let (reads, writes) = (declared(&options.reads, "reads"), declared(&options.writes, "writes"));
    let goto_targets = options.goto_targets.as_ref().map(|targets| {
        let context = EdgeContext { kind: "goto", from: &node.name, source: Some(EdgeSource::Node(id)) };
        targets.iter().filter_map(|target| resolve_target(topology, &context, target, diagnostics)).collect()
    });
    NodeSpec {
        name: node.name.clone(),
        defer: options.defer,
        former_names: former_names(builder, node),
        goto_targets,
        reads,
        writes,
        branch: options.branch,
        metadata: options.metadata.clone(),
        tags: options.tags.clone(),
        subgraph_diagram: options.subgraph_diagram.clone(),
    }
}

/// Returns the former names of a node: those of its options, and those that migrations renamed.
fn former_names(builder: &TopologyBuilder, node: &UncheckedNode) -> Vec<String> {
    let mut names = node.options.former_names.clone();
    let renamed = builder.migrations.former_node_names().into_iter().filter(|(_, name)| *name == node.name);
    for (former, _) in renamed.filter(|(former, _)| *former != node.name) {
        if !names.iter().any(|name| **name == *former) {
            names.push(former.to_string());
        }
    }
    names
}

fn connect_edges(builder: &TopologyBuilder, topology: &mut Topology, diagnostics: &mut GraphDiagnostics) {
    for (from, to) in &builder.edges {
        let source = resolve_source(topology, "edge", from, &endpoint_name(builder, to), diagnostics);
        let context = EdgeContext { kind: "edge", from: &endpoint_name(builder, from), source };
        let target = resolve_target(topology, &context, to, diagnostics);
        match (source, target) {
            (Some(source), Some(ResolvedTarget::Node(id))) => exits_mut(topology, source).edges.push(id),
            (Some(source), Some(ResolvedTarget::End)) => exits_mut(topology, source).reaches_end = true,
            (None, Some(ResolvedTarget::Node(id))) => diagnostics.dangling_targets.push(id),
            _ => {}
        }
    }
    for route in &builder.routes {
        connect_route(builder, topology, route, diagnostics);
    }
    for (sources, target) in &builder.joins {
        connect_join(builder, topology, sources, target, diagnostics);
    }
    let all = topology.exits.iter_mut().chain([&mut topology.start]);
    all.for_each(|exits| {
        exits.edges.sort_unstable();
        exits.edges.dedup();
    });
}

fn connect_route(
    builder: &TopologyBuilder,
    topology: &mut Topology,
    route: &UncheckedRoute,
    diagnostics: &mut GraphDiagnostics,
) {
    let target_names =
        route.targets.iter().flatten().map(|(target, _)| endpoint_name(builder, target)).collect::<Vec<_>>().join(", ");
    let source = resolve_source(topology, "route", &route.from, &target_names, diagnostics);
    let targets = route.targets.as_ref().map(|targets| {
        let context = EdgeContext { kind: "route", from: &endpoint_name(builder, &route.from), source };
        let resolve = |(target, label): &(Endpoint, Option<String>)| {
            resolve_target(topology, &context, target, diagnostics).map(|target| (target, label.clone()))
        };
        targets.iter().filter_map(resolve).collect::<Vec<_>>()
    });
    match source {
        Some(source) => {
            exits_mut(topology, source).routes.push(ConditionalEdge { decide: route.decide.clone(), targets })
        }
        None => diagnostics.dangling_targets.extend(targets.iter().flatten().filter_map(|(target, _)| target.node())),
    }
}

fn connect_join(
    builder: &TopologyBuilder,
    topology: &mut Topology,
    sources: &[Endpoint],
    target: &Endpoint,
    diagnostics: &mut GraphDiagnostics,
) {
    let to = endpoint_name(builder, target);
    if sources.is_empty() {
        diagnostics.add(format!("join into `{to}` has no sources"), None);
    }
    let mut resolved = Vec::new();
    let mut is_resolved = true;
    for source in sources {
        match resolve_source(topology, "join", source, &to, diagnostics) {
            Some(EdgeSource::Node(id)) => resolved.push(id),
            Some(EdgeSource::Start) => diagnostics.add(format!("join into `{to}` has `START` as a source"), None),
            None => is_resolved = false,
        }
    }
    resolved.sort_unstable();
    resolved.dedup();
    let from = sources.iter().map(|source| endpoint_name(builder, source)).collect::<Vec<_>>().join(", ");
    let target =
        resolve_target(topology, &EdgeContext { kind: "join", from: &from, source: None }, target, diagnostics);
    match target {
        Some(ResolvedTarget::Node(target)) => {
            let join = topology.joins.len() as u32;
            for (position, source) in resolved.iter().enumerate() {
                topology.exits[source.index()].joins.push((join, position as u32));
            }
            diagnostics.dangling_targets.extend((!is_resolved).then_some(target));
            topology.joins.push(Join { sources: resolved, target });
        }
        // A join before the end is not needed: the run ends only when all branches have ended.
        Some(ResolvedTarget::End) => {
            resolved.iter().for_each(|source| topology.exits[source.index()].reaches_end = true)
        }
        None => diagnostics.dangling_sources.extend(resolved.into_iter().map(Some)),
    }
}

#[derive(Clone, Copy)]
enum EdgeSource {
    Start,
    Node(NodeId),
}

/// The source of an edge, for messages and for dangling edges.
struct EdgeContext<'a> {
    kind: &'static str,
    from: &'a str,
    source: Option<EdgeSource>,
}

fn exits_mut(topology: &mut Topology, source: EdgeSource) -> &mut OutgoingEdges {
    match source {
        EdgeSource::Start => &mut topology.start,
        EdgeSource::Node(id) => &mut topology.exits[id.index()],
    }
}

/// Resolves the source; for a misspelled name returns the node that was probably meant.
fn resolve_source(
    topology: &Topology,
    kind: &str,
    from: &Endpoint,
    to: &str,
    diagnostics: &mut GraphDiagnostics,
) -> Option<EdgeSource> {
    match &from.resolve_handle(topology.graph_tag) {
        Endpoint::Start => Some(EdgeSource::Start),
        Endpoint::End => {
            diagnostics.add(format!("{kind} `{END_NAME}` -> `{to}`: `END` cannot be a source"), None);
            None
        }
        Endpoint::Node(id) if id.index() < topology.nodes.len() => Some(EdgeSource::Node(*id)),
        Endpoint::Node(_) => {
            diagnostics.add(format!("{kind} into `{to}` has a source node of another graph"), None);
            None
        }
        Endpoint::Handle { .. } => None,
        Endpoint::Name(name) => {
            if let Some(id) = topology.find_node(name) {
                return Some(EdgeSource::Node(id));
            }
            let (suggestion, help) = nearest(topology, name).unzip();
            diagnostics.add(format!("{kind} `{name}` -> `{to}`: no node `{name}`"), help);
            suggestion.map(EdgeSource::Node)
        }
    }
}

/// Resolves the target; for a misspelled name returns the node that was probably meant.
fn resolve_target(
    topology: &Topology,
    context: &EdgeContext<'_>,
    to: &Endpoint,
    diagnostics: &mut GraphDiagnostics,
) -> Option<ResolvedTarget> {
    let EdgeContext { kind, from, source } = context;
    let target = match &to.resolve_handle(topology.graph_tag) {
        Endpoint::End => Some(ResolvedTarget::End),
        Endpoint::Start => {
            diagnostics.add(format!("{kind} `{from}` -> `{START_NAME}`: `START` cannot be a target"), None);
            None
        }
        Endpoint::Node(id) if id.index() < topology.exits.len() => Some(ResolvedTarget::Node(*id)),
        Endpoint::Node(_) => {
            diagnostics.add(format!("{kind} from `{from}` has a target node of another graph"), None);
            None
        }
        Endpoint::Handle { .. } => None,
        Endpoint::Name(name) => match topology.find_node(name) {
            Some(id) => Some(ResolvedTarget::Node(id)),
            None => {
                let (suggestion, help) = nearest(topology, name).unzip();
                diagnostics.add(format!("{kind} `{from}` -> `{name}`: no node `{name}`"), help);
                suggestion.map(ResolvedTarget::Node)
            }
        },
    };
    if let (None, Some(source)) = (target, source) {
        diagnostics.dangling_sources.insert(source.node());
    }
    target
}

impl EdgeSource {
    fn node(self) -> Option<NodeId> {
        match self {
            Self::Start => None,
            Self::Node(id) => Some(id),
        }
    }
}

fn endpoint_name(builder: &TopologyBuilder, endpoint: &Endpoint) -> String {
    match &endpoint.resolve_handle(builder.tag) {
        Endpoint::Node(id) => builder.name_of(*id).unwrap_or("?").to_owned(),
        other => other.to_string(),
    }
}

/// Returns the node that was probably meant, and a help text that suggests it.
fn nearest(topology: &Topology, name: &str) -> Option<(NodeId, String)> {
    let candidate = suggest::nearest(name, topology.by_name.keys().map(|name| &**name))?;
    Some((topology.find_node(candidate)?, format!("did you mean `{candidate}`?")))
}
