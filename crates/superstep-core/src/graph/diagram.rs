//! Converts a compiled graph into a [`Diagram`].

use std::collections::BTreeMap;

use serde_json::Value;

use super::{END_NAME, NodeSpec, OutgoingEdges, ResolvedTarget, START_NAME, Topology};
use crate::diagram::{Diagram, DiagramEdge, DiagramNode, EdgeKind, NodeKind};

/// Returns the metadata of the node, with its tags added.
fn drawn_metadata(node: &NodeSpec) -> BTreeMap<String, Value> {
    let mut metadata = node.metadata.clone();
    if !node.tags.is_empty() {
        metadata.insert("tags".to_owned(), Value::from(node.tags.clone()));
    }
    metadata
}

impl Topology {
    /// Returns the diagram of the graph: JSON, Mermaid, DOT, text, SVG.
    #[must_use]
    pub fn diagram(&self) -> Diagram {
        let sentinel = |id: &str, kind| DiagramNode {
            id: id.to_owned(),
            kind,
            deferred: false,
            metadata: BTreeMap::new(),
            subgraph: None,
        };
        let mut nodes = vec![sentinel(START_NAME, NodeKind::Start)];
        nodes.extend(self.nodes.iter().map(|node| DiagramNode {
            id: node.name.to_string(),
            kind: if node.subgraph_diagram.is_some() { NodeKind::Subgraph } else { NodeKind::Node },
            deferred: node.defer,
            metadata: drawn_metadata(node),
            subgraph: node.subgraph_diagram.clone(),
        }));
        nodes.push(sentinel(END_NAME, NodeKind::End));
        let mut edges = Vec::new();
        self.push_edges(START_NAME, &self.start, &mut edges);
        for (node, exits) in self.nodes.iter().zip(&self.exits) {
            self.push_edges(&node.name, exits, &mut edges);
            for target in node.goto_targets.iter().flatten() {
                edges.push(self.edge(&node.name, *target, EdgeKind::Goto, None));
            }
        }
        for (number, join) in self.joins.iter().enumerate() {
            let kind = EdgeKind::Join { join: number };
            for source in &join.sources {
                edges.push(self.edge(&self.node(*source).name, ResolvedTarget::Node(join.target), kind, None));
            }
        }
        Diagram { name: self.name.to_string(), nodes, edges }
    }

    fn push_edges(&self, from: &str, exits: &OutgoingEdges, edges: &mut Vec<DiagramEdge>) {
        let plain = exits
            .edges
            .iter()
            .map(|id| ResolvedTarget::Node(*id))
            .chain(exits.reaches_end.then_some(ResolvedTarget::End));
        edges.extend(plain.map(|target| self.edge(from, target, EdgeKind::Plain, None)));
        for route in &exits.routes {
            for (target, label) in route.targets.iter().flatten() {
                edges.push(self.edge(from, *target, EdgeKind::Conditional, label.clone()));
            }
        }
    }

    fn edge(&self, from: &str, target: ResolvedTarget, kind: EdgeKind, label: Option<String>) -> DiagramEdge {
        let to = match target {
            ResolvedTarget::Node(id) => self.node(id).name.to_string(),
            ResolvedTarget::End => END_NAME.to_owned(),
        };
        DiagramEdge { from: from.to_owned(), to, kind, label }
    }
}
