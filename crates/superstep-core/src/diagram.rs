//! The diagram of a graph as plain values, and its five output formats.
//!
//! A [`Diagram`] contains names and edges, never node code or state, so it can be sent to a browser or printed in a
//! test. All formats are rendered here: no program is started and nothing is fetched. Names and labels are treated as
//! hostile text; see `escape` for the rules. Each format has its own file in this module.

mod dot;
mod escape;
mod indexed;
mod layout;
mod mermaid;
mod svg;
mod text;

#[cfg(test)]
mod fixtures;

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The diagram of a graph: its nodes, its edges, and the diagrams of its subgraphs.
///
/// An edge that names a node missing from `nodes` is still drawn, to a plain node of that name, so every declared
/// edge is visible. Every format follows the order of `nodes` and `edges`: equal diagrams give equal text.
///
/// # Examples
///
/// ```
/// use superstep_core::diagram::{Diagram, DiagramEdge, DiagramNode, EdgeKind, NodeKind};
///
/// let diagram = Diagram {
///     name: "agent".into(),
///     nodes: vec![
///         DiagramNode::new("__start__", NodeKind::Start),
///         DiagramNode::new("think", NodeKind::Node),
///         DiagramNode::new("__end__", NodeKind::End),
///     ],
///     edges: vec![
///         DiagramEdge::new("__start__", "think", EdgeKind::Plain),
///         DiagramEdge::new("think", "__end__", EdgeKind::Conditional).labelled("done"),
///     ],
/// };
/// assert!(diagram.to_text().contains("think ┄► __end__  (done)"));
/// assert_eq!(diagram.to_json()["edges"][1]["conditional"], true);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagram {
    /// Name of the graph, shown as its title.
    pub name: String,
    /// Nodes, in the order the graph declares them.
    pub nodes: Vec<DiagramNode>,
    /// Edges, in the order the graph declares them.
    pub edges: Vec<DiagramEdge>,
}

/// One node of a [`Diagram`].
///
/// # Examples
///
/// ```
/// use superstep_core::diagram::{DiagramNode, NodeKind};
///
/// let node = DiagramNode::new("report", NodeKind::Node);
/// assert!(!node.deferred && node.subgraph.is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiagramNode {
    /// The name by which edges refer to the node.
    pub id: String,
    /// Kind of the node.
    pub kind: NodeKind,
    /// True if the node waits until no other task is scheduled.
    pub deferred: bool,
    /// Metadata of the node; only the JSON format contains it.
    pub metadata: BTreeMap<String, Value>,
    /// Diagram of the subgraph that runs inside this node.
    #[serde(rename = "graph", skip_serializing_if = "Option::is_none")]
    pub subgraph: Option<Box<Diagram>>,
}

impl DiagramNode {
    /// Creates a node without metadata or subgraph, not deferred.
    #[must_use]
    pub fn new(id: impl Into<String>, kind: NodeKind) -> Self {
        Self { id: id.into(), kind, deferred: false, metadata: BTreeMap::new(), subgraph: None }
    }
}

/// The kind of a [`DiagramNode`].
///
/// # Examples
///
/// ```
/// use superstep_core::diagram::NodeKind;
///
/// assert_eq!(serde_json::json!(NodeKind::Subgraph), "subgraph");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// The entry of the graph.
    Start,
    /// The end of the graph.
    End,
    /// A node that runs code.
    Node,
    /// A node that runs another graph.
    Subgraph,
}

/// One edge of a [`Diagram`].
///
/// # Examples
///
/// ```
/// use superstep_core::diagram::{DiagramEdge, EdgeKind};
///
/// let edge = DiagramEdge::new("b", "d", EdgeKind::Join { join: 0 });
/// assert_eq!(serde_json::json!(edge)["join"], 0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DiagramEdge {
    /// Id of the source node.
    pub from: String,
    /// Id of the target node.
    pub to: String,
    /// Condition under which the edge is taken.
    pub kind: EdgeKind,
    /// Result of the routing function, or another text, that selects the edge.
    pub label: Option<String>,
}

impl DiagramEdge {
    /// Creates an edge without a label.
    #[must_use]
    pub fn new(from: impl Into<String>, to: impl Into<String>, kind: EdgeKind) -> Self {
        Self { from: from.into(), to: to.into(), kind, label: None }
    }

    /// Returns the same edge with a label.
    #[must_use]
    pub fn labelled(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }
}

/// The condition under which a [`DiagramEdge`] is taken.
///
/// # Examples
///
/// ```
/// use superstep_core::diagram::EdgeKind;
///
/// assert!(EdgeKind::Goto.is_conditional());
/// assert!(!EdgeKind::Join { join: 0 }.is_conditional());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// Always taken.
    Plain,
    /// Taken if the routing function returns this target.
    Conditional,
    /// Taken when every edge with the same number and the same target has been reached.
    Join {
        /// The number shared by the edges of one join.
        join: usize,
    },
    /// Taken if the node itself returns a goto to the target.
    Goto,
}

impl EdgeKind {
    /// Returns true if a run may pass the source without taking the edge.
    #[must_use]
    pub fn is_conditional(self) -> bool {
        matches!(self, Self::Conditional | Self::Goto)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Conditional => "conditional",
            Self::Join { .. } => "join",
            Self::Goto => "goto",
        }
    }
}

impl Serialize for DiagramEdge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut edge = serializer.serialize_struct("DiagramEdge", 6)?;
        edge.serialize_field("source", &self.from)?;
        edge.serialize_field("target", &self.to)?;
        edge.serialize_field("conditional", &self.kind.is_conditional())?;
        edge.serialize_field("kind", self.kind.as_str())?;
        match &self.label {
            Some(label) => edge.serialize_field("label", label)?,
            None => edge.skip_field("label")?,
        }
        match self.kind {
            EdgeKind::Join { join } => edge.serialize_field("join", &join)?,
            _ => edge.skip_field("join")?,
        }
        edge.end()
    }
}

impl Diagram {
    /// Returns the diagram as JSON: nodes with metadata and subgraphs, edges with kind, label and join number.
    ///
    /// Text is not escaped; the caller must escape it before display.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::diagram::Diagram;
    ///
    /// let empty = Diagram { name: "empty".into(), nodes: vec![], edges: vec![] };
    /// assert_eq!(empty.to_json(), serde_json::json!({ "name": "empty", "nodes": [], "edges": [] }));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a diagram has only string keys and infallible fields")
    }

    /// Returns the diagram as a Mermaid flowchart, for Mermaid 10 and 11.
    ///
    /// Mermaid itself rejects charts above 500 edges or 50,000 characters unless its `maxEdges` and `maxTextSize`
    /// are raised.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::diagram::Diagram;
    ///
    /// let empty = Diagram { name: "empty".into(), nodes: vec![], edges: vec![] };
    /// assert!(empty.to_mermaid().starts_with("graph TD;\n"));
    /// ```
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        mermaid::draw(self)
    }

    /// Returns the diagram in the DOT language of Graphviz.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::diagram::Diagram;
    ///
    /// let empty = Diagram { name: "empty".into(), nodes: vec![], edges: vec![] };
    /// assert!(empty.to_dot().starts_with("digraph {\n"));
    /// ```
    #[must_use]
    pub fn to_dot(&self) -> String {
        dot::draw(self)
    }

    /// Returns the diagram for a terminal: boxes from top to bottom, then every edge on a line of its own.
    ///
    /// Lines between boxes are drawn where they are unambiguous; the list below them is complete.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::diagram::{Diagram, DiagramEdge, EdgeKind};
    ///
    /// let edges = vec![DiagramEdge::new("a", "b", EdgeKind::Plain)];
    /// let diagram = Diagram { name: "pair".into(), nodes: vec![], edges };
    /// assert!(diagram.to_text().ends_with("a ─► b\n"));
    /// ```
    #[must_use]
    pub fn to_text(&self) -> String {
        text::draw(self)
    }

    /// Returns the diagram as one self-contained SVG document, without scripts or references to other files.
    ///
    /// Inside a page the SVG uses the text colour of the surrounding element; as a separate document it follows the
    /// light or dark setting of the browser.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::diagram::{Diagram, DiagramNode, NodeKind};
    ///
    /// let nodes = vec![DiagramNode::new("<b>", NodeKind::Node)];
    /// let svg = Diagram { name: "one".into(), nodes, edges: vec![] }.to_svg();
    /// assert!(svg.starts_with("<svg ") && svg.contains(">&lt;b&gt;</text>"));
    /// ```
    #[must_use]
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fixtures;

    /// R-FWK-10: the JSON format contains nodes, conditions and labels.
    #[test]
    fn json_contains_conditions_and_labels() {
        let drawn = fixtures::agent().to_json();
        assert_eq!(drawn["nodes"][1], json!({ "id": "think", "kind": "node", "deferred": false, "metadata": {} }));
        assert_eq!(
            drawn["edges"],
            json!([
                { "source": "__start__", "target": "think", "conditional": false, "kind": "plain" },
                { "source": "think", "target": "tools", "conditional": true, "kind": "conditional", "label": "call" },
                { "source": "think", "target": "__end__", "conditional": true, "kind": "conditional", "label": "done" },
                { "source": "tools", "target": "think", "conditional": false, "kind": "plain" },
            ])
        );
    }

    /// R-FWK-10: the JSON format contains joins, metadata, deferred nodes and subgraphs.
    #[test]
    fn json_contains_joins_metadata_and_subgraphs() {
        let mut diagram = fixtures::join();
        diagram.nodes[1].metadata.insert("owner".into(), json!({ "team": "search" }));
        let drawn = diagram.to_json();
        assert_eq!(drawn["nodes"][1]["metadata"], json!({ "owner": { "team": "search" } }));
        assert_eq!(drawn["nodes"][4]["deferred"], true);
        assert_eq!(
            drawn["edges"][3],
            json!({ "source": "b", "target": "d", "conditional": false, "kind": "join", "join": 0 })
        );
        let nested = fixtures::nested().to_json();
        assert_eq!(nested["nodes"][1]["kind"], "subgraph");
        assert_eq!(nested["nodes"][1]["graph"]["nodes"][1]["id"], "search");
    }
}
