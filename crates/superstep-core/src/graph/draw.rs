//! The compiled graph as a [`Drawing`].

use std::collections::BTreeMap;

use serde_json::Value;

use super::{END_NAME, Exits, NodeSpec, START_NAME, Target, Topology};
use crate::drawing::{Drawing, DrawnEdge, DrawnNode, EdgeKind, NodeKind};

/// The node's own metadata, with its tags beside it.
fn drawn_metadata(node: &NodeSpec) -> BTreeMap<String, Value> {
    let mut metadata = node.metadata.clone();
    if !node.tags.is_empty() {
        metadata.insert("tags".to_owned(), Value::from(node.tags.clone()));
    }
    metadata
}

impl Topology {
    /// The graph as a drawing: JSON, Mermaid, DOT, text, SVG.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let sentinel = |id: &str, kind| DrawnNode {
            id: id.to_owned(),
            kind,
            deferred: false,
            metadata: BTreeMap::new(),
            inner: None,
        };
        let mut nodes = vec![sentinel(START_NAME, NodeKind::Start)];
        nodes.extend(self.nodes.iter().map(|node| DrawnNode {
            id: node.name.to_string(),
            kind: if node.inner.is_some() { NodeKind::Subgraph } else { NodeKind::Node },
            deferred: node.defer,
            metadata: drawn_metadata(node),
            inner: node.inner.clone(),
        }));
        nodes.push(sentinel(END_NAME, NodeKind::End));
        let mut edges = Vec::new();
        self.draw_exits(START_NAME, &self.start, &mut edges);
        for (node, exits) in self.nodes.iter().zip(&self.exits) {
            self.draw_exits(&node.name, exits, &mut edges);
            for target in node.goto.iter().flatten() {
                edges.push(self.edge(&node.name, *target, EdgeKind::Goto, None));
            }
        }
        for (number, join) in self.joins.iter().enumerate() {
            let kind = EdgeKind::Join { join: number };
            for source in &join.sources {
                edges.push(self.edge(&self.node(*source).name, Target::Node(join.target), kind, None));
            }
        }
        Drawing { name: self.name.to_string(), nodes, edges }
    }

    fn draw_exits(&self, from: &str, exits: &Exits, edges: &mut Vec<DrawnEdge>) {
        let plain = exits.edges.iter().map(|id| Target::Node(*id)).chain(exits.ends.then_some(Target::End));
        edges.extend(plain.map(|target| self.edge(from, target, EdgeKind::Plain, None)));
        for route in &exits.routes {
            for (target, label) in route.targets.iter().flatten() {
                edges.push(self.edge(from, *target, EdgeKind::Conditional, label.clone()));
            }
        }
    }

    fn edge(&self, from: &str, target: Target, kind: EdgeKind, label: Option<String>) -> DrawnEdge {
        let to = match target {
            Target::Node(id) => self.node(id).name.to_string(),
            Target::End => END_NAME.to_owned(),
        };
        DrawnEdge { from: from.to_owned(), to, kind, label }
    }
}
