//! What a graph looks like, as plain values, and the five ways to show it.
//!
//! A [`Drawing`] knows names and edges, never node code or state, so it can be sent to a browser or printed in
//! a test. Everything is made here: no program is started and nothing is fetched. Names and labels are treated
//! as hostile text; see `label` for what that means. Each form has its own file below this one.

mod dot;
mod label;
mod layout;
mod mermaid;
mod svg;
mod text;
mod wiring;

#[cfg(test)]
mod samples;

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// A graph as it is drawn: its nodes, its edges, and the drawings inside its subgraphs.
///
/// An edge that names a node missing from `nodes` is still drawn, to a plain node of that name, so nothing a
/// graph declares is hidden. Every form follows the order of `nodes` and `edges`: equal drawings give equal text.
///
/// # Examples
///
/// ```
/// use superstep_core::drawing::{Drawing, DrawnEdge, DrawnNode, EdgeKind, NodeKind};
///
/// let drawing = Drawing {
///     name: "agent".into(),
///     nodes: vec![
///         DrawnNode::new("__start__", NodeKind::Start),
///         DrawnNode::new("think", NodeKind::Node),
///         DrawnNode::new("__end__", NodeKind::End),
///     ],
///     edges: vec![
///         DrawnEdge::new("__start__", "think", EdgeKind::Plain),
///         DrawnEdge::new("think", "__end__", EdgeKind::Conditional).labelled("done"),
///     ],
/// };
/// assert!(drawing.to_text().contains("think ┄► __end__  (done)"));
/// assert_eq!(drawing.to_json()["edges"][1]["conditional"], true);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drawing {
    /// The name of the graph, shown as its title.
    pub name: String,
    /// The nodes, in the order the graph declares them.
    pub nodes: Vec<DrawnNode>,
    /// The edges, in the order the graph declares them.
    pub edges: Vec<DrawnEdge>,
}

/// One node of a [`Drawing`].
///
/// # Examples
///
/// ```
/// use superstep_core::drawing::{DrawnNode, NodeKind};
///
/// let node = DrawnNode::new("report", NodeKind::Node);
/// assert!(!node.deferred && node.inner.is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrawnNode {
    /// The name by which edges refer to the node.
    pub id: String,
    /// What the node stands for.
    pub kind: NodeKind,
    /// Whether the node waits until nothing else is left to run.
    pub deferred: bool,
    /// What the author attached to the node; only the JSON form shows it.
    pub metadata: BTreeMap<String, Value>,
    /// The drawing of the graph that runs inside this node.
    #[serde(rename = "graph", skip_serializing_if = "Option::is_none")]
    pub inner: Option<Box<Drawing>>,
}

impl DrawnNode {
    /// A node with neither metadata nor an inner graph, not deferred.
    #[must_use]
    pub fn new(id: impl Into<String>, kind: NodeKind) -> Self {
        Self { id: id.into(), kind, deferred: false, metadata: BTreeMap::new(), inner: None }
    }
}

/// What a [`DrawnNode`] stands for.
///
/// # Examples
///
/// ```
/// use superstep_core::drawing::NodeKind;
///
/// assert_eq!(serde_json::json!(NodeKind::Subgraph), "subgraph");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// Where a run enters the graph.
    Start,
    /// Where a run leaves the graph.
    End,
    /// A node that runs code.
    Node,
    /// A node that runs another graph.
    Subgraph,
}

/// One edge of a [`Drawing`].
///
/// # Examples
///
/// ```
/// use superstep_core::drawing::{DrawnEdge, EdgeKind};
///
/// let edge = DrawnEdge::new("b", "d", EdgeKind::Join { join: 0 });
/// assert_eq!(serde_json::json!(edge)["join"], 0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnEdge {
    /// The id of the node the edge leaves.
    pub from: String,
    /// The id of the node the edge enters.
    pub to: String,
    /// When the edge is taken.
    pub kind: EdgeKind,
    /// The answer of the router, or another text, that selects the edge.
    pub label: Option<String>,
}

impl DrawnEdge {
    /// An edge without a label.
    #[must_use]
    pub fn new(from: impl Into<String>, to: impl Into<String>, kind: EdgeKind) -> Self {
        Self { from: from.into(), to: to.into(), kind, label: None }
    }

    /// The same edge with a label.
    #[must_use]
    pub fn labelled(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }
}

/// When a [`DrawnEdge`] is taken.
///
/// # Examples
///
/// ```
/// use superstep_core::drawing::EdgeKind;
///
/// assert!(EdgeKind::Goto.is_conditional());
/// assert!(!EdgeKind::Join { join: 0 }.is_conditional());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// Always.
    Plain,
    /// When a router answers with it.
    Conditional,
    /// When every edge with the same number and the same target has been reached.
    Join {
        /// The number shared by the edges of one join.
        join: usize,
    },
    /// When the node itself asks to go there.
    Goto,
}

impl EdgeKind {
    /// Whether a run may pass the source without taking the edge.
    #[must_use]
    pub fn is_conditional(self) -> bool {
        matches!(self, Self::Conditional | Self::Goto)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Conditional => "conditional",
            Self::Join { .. } => "join",
            Self::Goto => "goto",
        }
    }
}

impl Serialize for DrawnEdge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut edge = serializer.serialize_struct("DrawnEdge", 6)?;
        edge.serialize_field("source", &self.from)?;
        edge.serialize_field("target", &self.to)?;
        edge.serialize_field("conditional", &self.kind.is_conditional())?;
        edge.serialize_field("kind", self.kind.word())?;
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

impl Drawing {
    /// The drawing as JSON: nodes with metadata and inner graphs, edges with kind, label and join number.
    ///
    /// Text is given as it is; whoever shows it must escape it.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::drawing::Drawing;
    ///
    /// let empty = Drawing { name: "empty".into(), nodes: vec![], edges: vec![] };
    /// assert_eq!(empty.to_json(), serde_json::json!({ "name": "empty", "nodes": [], "edges": [] }));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a drawing has only text keys and no failing field")
    }

    /// The drawing as a Mermaid flowchart, for Mermaid 10 and 11.
    ///
    /// Mermaid itself refuses charts above 500 edges or 50,000 characters unless its `maxEdges` and
    /// `maxTextSize` are raised.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::drawing::Drawing;
    ///
    /// let empty = Drawing { name: "empty".into(), nodes: vec![], edges: vec![] };
    /// assert!(empty.to_mermaid().starts_with("graph TD;\n"));
    /// ```
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        mermaid::draw(self)
    }

    /// The drawing in the DOT language of Graphviz.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::drawing::Drawing;
    ///
    /// let empty = Drawing { name: "empty".into(), nodes: vec![], edges: vec![] };
    /// assert!(empty.to_dot().starts_with("digraph {\n"));
    /// ```
    #[must_use]
    pub fn to_dot(&self) -> String {
        dot::draw(self)
    }

    /// The drawing for a terminal: boxes from top to bottom, then every edge on a line of its own.
    ///
    /// Lines between boxes are drawn where they are unambiguous; the list below them is complete.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::drawing::{Drawing, DrawnEdge, EdgeKind};
    ///
    /// let edges = vec![DrawnEdge::new("a", "b", EdgeKind::Plain)];
    /// let drawing = Drawing { name: "pair".into(), nodes: vec![], edges };
    /// assert!(drawing.to_text().ends_with("a ─► b\n"));
    /// ```
    #[must_use]
    pub fn to_text(&self) -> String {
        text::draw(self)
    }

    /// The drawing as one self-contained SVG document, without scripts or references to other files.
    ///
    /// Inside a page it takes the text colour of its surroundings; on its own it follows the light or dark
    /// setting of the reader.
    ///
    /// # Examples
    ///
    /// ```
    /// use superstep_core::drawing::{Drawing, DrawnNode, NodeKind};
    ///
    /// let nodes = vec![DrawnNode::new("<b>", NodeKind::Node)];
    /// let svg = Drawing { name: "one".into(), nodes, edges: vec![] }.to_svg();
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

    use super::samples;

    /// R-FWK-10: the JSON form carries nodes, conditions and labels.
    #[test]
    fn json_tells_conditions_and_labels() {
        let drawn = samples::agent().to_json();
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

    /// R-FWK-10: the JSON form carries joins, metadata, deferred nodes and inner graphs.
    #[test]
    fn json_tells_joins_metadata_and_inner_graphs() {
        let mut drawing = samples::join();
        drawing.nodes[1].metadata.insert("owner".into(), json!({ "team": "search" }));
        let drawn = drawing.to_json();
        assert_eq!(drawn["nodes"][1]["metadata"], json!({ "owner": { "team": "search" } }));
        assert_eq!(drawn["nodes"][4]["deferred"], true);
        assert_eq!(
            drawn["edges"][3],
            json!({ "source": "b", "target": "d", "conditional": false, "kind": "join", "join": 0 })
        );
        let nested = samples::nested().to_json();
        assert_eq!(nested["nodes"][1]["kind"], "subgraph");
        assert_eq!(nested["nodes"][1]["graph"]["nodes"][1]["id"], "search");
    }
}
