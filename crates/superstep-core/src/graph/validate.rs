//! Turns a graph in the making into a compiled one, and refuses everything it can see to be wrong.
//!
//! Collects all problems before it gives up; resolves each name once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::builder::{Builder, DraftNode, DraftRoute};
use super::{Compat, END_NAME, Endpoint, Exits, Join, NodeSpec, Route, START_NAME, Target, Topology, parallel, reach};
use crate::error::{Code, Error, Problem, Result};
use crate::id::{FieldId, NodeId};
use crate::suggest;

/// Problems found so far, and the loose ends they leave, so that one mistake is not told twice.
#[derive(Default)]
pub(super) struct Problems {
    found: Vec<Problem>,
    /// Nodes, or the start, from which something leads to a place that does not exist.
    pub(super) loose: BTreeSet<Option<NodeId>>,
    /// Nodes to which something leads from a place that does not exist.
    pub(super) entered: Vec<NodeId>,
}

impl Problems {
    pub(super) fn add(&mut self, message: impl Into<String>, help: Option<String>) {
        self.found.push(Problem { pointer: String::new(), message: message.into(), help });
    }
}

pub(super) fn compile(builder: &Builder, found: Vec<String>) -> Result<Topology> {
    let mut problems = Problems::default();
    for complaint in builder.complaints.iter().cloned().chain(found) {
        problems.add(complaint, None);
    }
    let nodes: Vec<&str> = builder.nodes.iter().map(|node| &*node.name).collect();
    problems.found.extend(builder.migrations.problems(&builder.schema, &nodes));
    let by_name = names(builder, &mut problems);
    let mut topology = skeleton(builder, by_name, &mut problems);
    wire(builder, &mut topology, &mut problems);
    for name in &builder.breakpoints {
        if topology.find(name).is_none() {
            let help = nearest(&topology, name).map(|(_, help)| help);
            problems.add(format!("breakpoint at unknown node `{name}`"), help);
        }
    }
    reach::check(&topology, &mut problems);
    if problems.found.is_empty() {
        topology.warnings = parallel::warnings(&topology);
        return Ok(topology);
    }
    Err(Error::listing(Code::InvalidGraph, format!("graph `{}` cannot be compiled", builder.name), problems.found))
}

fn names(builder: &Builder, problems: &mut Problems) -> BTreeMap<Arc<str>, NodeId> {
    let mut by_name: BTreeMap<Arc<str>, NodeId> = BTreeMap::new();
    for (index, node) in builder.nodes.iter().enumerate() {
        check_name(node, problems);
        if let Some(shadowed) = by_name.insert(node.name.clone(), NodeId(index as u32)) {
            problems.entered.push(shadowed);
            problems.loose.insert(Some(shadowed));
            problems.add(format!("node `{}` is added twice", node.name), Some("rename one of them".to_owned()));
        }
    }
    let mut former: BTreeMap<&str, &Arc<str>> = BTreeMap::new();
    for (index, node) in builder.nodes.iter().enumerate() {
        for old in &node.options.was {
            if let Some(other) = former.insert(old, &node.name).filter(|other| *other != &node.name) {
                problems.add(format!("nodes `{other}` and `{}` were both named `{old}`", node.name), None);
            }
            by_name.entry(old.as_str().into()).or_insert(NodeId(index as u32));
        }
    }
    for (former, name) in builder.migrations.former_nodes() {
        if let Some(id) = by_name.get(&name).copied() {
            by_name.entry(former).or_insert(id);
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
    } else if name.starts_with('#') {
        problems
            .add(format!("node name `{name}` starts with `#`"), Some("`#` stands before numbers of nodes".to_owned()));
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
        migrations: builder.migrations.clone(),
        warnings: Vec::new(),
        tag: builder.tag,
        by_name,
        rank: None,
    };
    for index in 0..builder.nodes.len() {
        let spec = specify(builder, &topology, NodeId(index as u32), problems);
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

fn specify(builder: &Builder, topology: &Topology, id: NodeId, problems: &mut Problems) -> NodeSpec {
    let node = &builder.nodes[id.index()];
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
        let place = Place { what: "goto", from: &node.name, source: Some(Source::Node(id)) };
        targets.iter().filter_map(|target| resolve_target(topology, &place, target, problems)).collect()
    });
    NodeSpec {
        name: node.name.clone(),
        defer: options.defer,
        was: former_names(builder, node),
        goto,
        reads,
        writes,
        branch: options.branch,
        metadata: options.metadata.clone(),
        tags: options.tags.clone(),
        inner: options.inner.clone(),
    }
}

/// Names a node had before: those it says itself, and those that migrations took from it.
fn former_names(builder: &Builder, node: &DraftNode) -> Vec<String> {
    let mut names = node.options.was.clone();
    let renamed = builder.migrations.former_nodes().into_iter().filter(|(_, name)| *name == node.name);
    for (former, _) in renamed.filter(|(former, _)| *former != node.name) {
        if !names.iter().any(|name| **name == *former) {
            names.push(former.to_string());
        }
    }
    names
}

fn wire(builder: &Builder, topology: &mut Topology, problems: &mut Problems) {
    for (from, to) in &builder.edges {
        let source = resolve_source(topology, "edge", from, &show(builder, to), problems);
        let place = Place { what: "edge", from: &show(builder, from), source };
        let target = resolve_target(topology, &place, to, problems);
        match (source, target) {
            (Some(source), Some(Target::Node(id))) => exits_mut(topology, source).edges.push(id),
            (Some(source), Some(Target::End)) => exits_mut(topology, source).ends = true,
            (None, Some(Target::Node(id))) => problems.entered.push(id),
            _ => {}
        }
    }
    for route in &builder.routes {
        wire_route(builder, topology, route, problems);
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

fn wire_route(builder: &Builder, topology: &mut Topology, route: &DraftRoute, problems: &mut Problems) {
    let shown = route.targets.iter().flatten().map(|(target, _)| show(builder, target)).collect::<Vec<_>>().join(", ");
    let source = resolve_source(topology, "route", &route.from, &shown, problems);
    let targets = route.targets.as_ref().map(|targets| {
        let place = Place { what: "route", from: &show(builder, &route.from), source };
        let resolve = |(target, label): &(Endpoint, Option<String>)| {
            resolve_target(topology, &place, target, problems).map(|target| (target, label.clone()))
        };
        targets.iter().filter_map(resolve).collect::<Vec<_>>()
    });
    match source {
        Some(source) => exits_mut(topology, source).routes.push(Route { decide: route.decide.clone(), targets }),
        None => problems.entered.extend(targets.iter().flatten().filter_map(|(target, _)| target.node())),
    }
}

fn wire_join(
    builder: &Builder,
    topology: &mut Topology,
    sources: &[Endpoint],
    target: &Endpoint,
    problems: &mut Problems,
) {
    let to = show(builder, target);
    if sources.is_empty() {
        problems.add(format!("join into `{to}` has no sources"), None);
    }
    let mut resolved = Vec::new();
    let mut is_whole = true;
    for source in sources {
        match resolve_source(topology, "join", source, &to, problems) {
            Some(Source::Node(id)) => resolved.push(id),
            Some(Source::Start) => problems.add(format!("join into `{to}` waits for the start"), None),
            None => is_whole = false,
        }
    }
    resolved.sort_unstable();
    resolved.dedup();
    let from = sources.iter().map(|source| show(builder, source)).collect::<Vec<_>>().join(", ");
    let target = resolve_target(topology, &Place { what: "join", from: &from, source: None }, target, problems);
    match target {
        Some(Target::Node(target)) => {
            let join = topology.joins.len() as u32;
            for (place, source) in resolved.iter().enumerate() {
                topology.exits[source.index()].joins.push((join, place as u32));
            }
            problems.entered.extend((!is_whole).then_some(target));
            topology.joins.push(Join { sources: resolved, target });
        }
        // Waiting for several branches before the end is what the end does anyway.
        Some(Target::End) => resolved.iter().for_each(|source| topology.exits[source.index()].ends = true),
        None => problems.loose.extend(resolved.into_iter().map(Some)),
    }
}

#[derive(Clone, Copy)]
enum Source {
    Start,
    Node(NodeId),
}

/// Where something leads from, for messages and for loose ends.
struct Place<'a> {
    what: &'static str,
    from: &'a str,
    source: Option<Source>,
}

fn exits_mut(topology: &mut Topology, source: Source) -> &mut Exits {
    match source {
        Source::Start => &mut topology.start,
        Source::Node(id) => &mut topology.exits[id.index()],
    }
}

/// The source, or for a name that is nearly right the one it was probably meant to be.
fn resolve_source(
    topology: &Topology,
    what: &str,
    from: &Endpoint,
    to: &str,
    problems: &mut Problems,
) -> Option<Source> {
    match &from.local(topology.tag) {
        Endpoint::Start => Some(Source::Start),
        Endpoint::End => {
            problems.add(format!("{what} `{END_NAME}` -> `{to}`: nothing leads out of the end"), None);
            None
        }
        Endpoint::Node(id) if id.index() < topology.nodes.len() => Some(Source::Node(*id)),
        Endpoint::Node(_) => {
            problems.add(format!("{what} into `{to}` comes from a node of another graph"), None);
            None
        }
        Endpoint::Handle { .. } => None,
        Endpoint::Name(name) => {
            if let Some(id) = topology.find(name) {
                return Some(Source::Node(id));
            }
            let (meant, help) = nearest(topology, name).unzip();
            problems.add(format!("{what} `{name}` -> `{to}`: no node `{name}`"), help);
            meant.map(Source::Node)
        }
    }
}

/// The target, or for a name that is nearly right the one it was probably meant to be.
fn resolve_target(topology: &Topology, place: &Place<'_>, to: &Endpoint, problems: &mut Problems) -> Option<Target> {
    let Place { what, from, source } = place;
    let target = match &to.local(topology.tag) {
        Endpoint::End => Some(Target::End),
        Endpoint::Start => {
            problems.add(format!("{what} `{from}` -> `{START_NAME}`: nothing leads to the start"), None);
            None
        }
        Endpoint::Node(id) if id.index() < topology.exits.len() => Some(Target::Node(*id)),
        Endpoint::Node(_) => {
            problems.add(format!("{what} from `{from}` leads to a node of another graph"), None);
            None
        }
        Endpoint::Handle { .. } => None,
        Endpoint::Name(name) => match topology.find(name) {
            Some(id) => Some(Target::Node(id)),
            None => {
                let (meant, help) = nearest(topology, name).unzip();
                problems.add(format!("{what} `{from}` -> `{name}`: no node `{name}`"), help);
                meant.map(Target::Node)
            }
        },
    };
    if let (None, Some(source)) = (target, source) {
        problems.loose.insert(source.node());
    }
    target
}

impl Source {
    fn node(self) -> Option<NodeId> {
        match self {
            Self::Start => None,
            Self::Node(id) => Some(id),
        }
    }
}

fn show(builder: &Builder, endpoint: &Endpoint) -> String {
    match &endpoint.local(builder.tag) {
        Endpoint::Node(id) => builder.name_of(*id).unwrap_or("?").to_owned(),
        other => other.to_string(),
    }
}

/// The node somebody probably meant, and the advice that says so.
fn nearest(topology: &Topology, name: &str) -> Option<(NodeId, String)> {
    let known = suggest::nearest(name, topology.by_name.keys().map(|name| &**name))?;
    Some((topology.find(known)?, format!("did you mean `{known}`?")))
}
