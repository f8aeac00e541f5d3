//! Assigns numbers to the names of a diagram, once, for all formats.
//!
//! Node numbers run through the whole diagram, subgraphs included, so a format can make identifiers from them and
//! never from user text. Joins are collected here, and nodes that only an edge mentions are added.

use std::collections::BTreeMap;

use super::{Diagram, EdgeKind, NodeKind};

/// A diagram whose edges refer to nodes by index.
pub(super) struct IndexedDiagram<'a> {
    pub(super) name: &'a str,
    pub(super) nodes: Vec<IndexedNode<'a>>,
    pub(super) links: Vec<IndexedEdge<'a>>,
    pub(super) joins: Vec<IndexedJoin<'a>>,
}

/// One node, with its number in the whole diagram.
pub(super) struct IndexedNode<'a> {
    pub(super) number: usize,
    pub(super) id: &'a str,
    pub(super) kind: NodeKind,
    pub(super) deferred: bool,
    pub(super) subgraph: Option<IndexedDiagram<'a>>,
}

/// An edge that is not part of a join; `from` and `to` are positions in `nodes`.
pub(super) struct IndexedEdge<'a> {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: EdgeKind,
    pub(super) label: Option<&'a str>,
}

/// Edges that are taken together, with their number in the whole diagram.
pub(super) struct IndexedJoin<'a> {
    pub(super) number: usize,
    pub(super) sources: Vec<(usize, Option<&'a str>)>,
    pub(super) target: usize,
}

#[derive(Default)]
struct IdCounters {
    nodes: usize,
    joins: usize,
}

impl<'a> IndexedDiagram<'a> {
    pub(super) fn new(diagram: &'a Diagram) -> Self {
        Self::numbered(diagram, &mut IdCounters::default())
    }

    fn numbered(diagram: &'a Diagram, counters: &mut IdCounters) -> Self {
        let mut indexed = Self { name: &diagram.name, nodes: Vec::new(), links: Vec::new(), joins: Vec::new() };
        let mut positions = BTreeMap::new();
        for node in &diagram.nodes {
            positions.entry(node.id.as_str()).or_insert(indexed.nodes.len());
            let number = next(&mut counters.nodes);
            let inner = node.subgraph.as_deref().filter(|inner| !(inner.nodes.is_empty() && inner.edges.is_empty()));
            let subgraph = inner.map(|inner| Self::numbered(inner, counters));
            let (id, kind, deferred) = (node.id.as_str(), node.kind, node.deferred);
            indexed.nodes.push(IndexedNode { number, id, kind, deferred, subgraph });
        }
        indexed.connect(diagram, positions, counters);
        indexed
    }

    fn connect(&mut self, diagram: &'a Diagram, mut positions: BTreeMap<&'a str, usize>, counters: &mut IdCounters) {
        let mut joins = BTreeMap::new();
        for edge in &diagram.edges {
            let [from, to] = [&edge.from, &edge.to].map(|id| {
                *positions.entry(id).or_insert_with(|| {
                    let number = next(&mut counters.nodes);
                    self.nodes.push(IndexedNode { number, id, kind: NodeKind::Node, deferred: false, subgraph: None });
                    self.nodes.len() - 1
                })
            });
            let label = edge.label.as_deref();
            let EdgeKind::Join { join } = edge.kind else {
                self.links.push(IndexedEdge { from, to, kind: edge.kind, label });
                continue;
            };
            let position = *joins.entry((join, to)).or_insert_with(|| {
                self.joins.push(IndexedJoin { number: next(&mut counters.joins), sources: Vec::new(), target: to });
                self.joins.len() - 1
            });
            self.joins[position].sources.push((from, label));
        }
    }
}

impl IndexedNode<'_> {
    /// Returns the number that incoming edges point at: the start of the subgraph, if there is one.
    ///
    /// Mermaid and DOT cannot end an edge at a box around other nodes without bugs or tricks.
    pub(super) fn entry(&self) -> usize {
        self.port(NodeKind::Start, Self::entry)
    }

    /// Returns the number that outgoing edges leave: the end of the subgraph, if there is one.
    pub(super) fn exit(&self) -> usize {
        self.port(NodeKind::End, Self::exit)
    }

    fn port(&self, kind: NodeKind, resolve: fn(&Self) -> usize) -> usize {
        let inner = self.subgraph.iter().flat_map(|inner| &inner.nodes).find(|node| node.kind == kind);
        inner.map_or(self.number, resolve)
    }
}

fn next(counter: &mut usize) -> usize {
    let number = *counter;
    *counter += 1;
    number
}

#[cfg(test)]
mod tests {
    use super::super::{Diagram, DiagramEdge, EdgeKind, fixtures};
    use super::IndexedDiagram;

    /// R-FWK-10: an edge to an undeclared name is shown, not dropped.
    #[test]
    fn a_node_known_only_from_an_edge_is_added() {
        let edges = vec![DiagramEdge::new("a", "b", EdgeKind::Goto)];
        let diagram = Diagram { name: String::new(), nodes: Vec::new(), edges };
        let ids: Vec<_> = IndexedDiagram::new(&diagram).nodes.iter().map(|node| node.id).collect();
        assert_eq!(ids, ["a", "b"]);
    }

    /// R-FWK-10: edges belong to one join only if they share number and target.
    #[test]
    fn a_join_is_its_number_and_its_target() {
        let join = |from, to, join| DiagramEdge::new(from, to, EdgeKind::Join { join });
        let edges = vec![join("a", "c", 0), join("b", "c", 0), join("a", "d", 0), join("a", "c", 1)];
        let diagram = Diagram { name: String::new(), nodes: Vec::new(), edges };
        let sizes: Vec<_> = IndexedDiagram::new(&diagram).joins.iter().map(|join| join.sources.len()).collect();
        assert_eq!(sizes, [2, 1, 1]);
    }

    /// R-FWK-10: edges of a subgraph enter at its inner start and leave from its inner end.
    #[test]
    fn a_subgraph_is_entered_at_its_start_and_left_at_its_end() {
        let diagram = fixtures::nested();
        let indexed = IndexedDiagram::new(&diagram);
        let research = &indexed.nodes[1];
        assert_eq!([research.number, research.entry(), research.exit()], [1, 2, 4]);
    }
}
