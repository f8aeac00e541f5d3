//! Renders a diagram in the DOT language of Graphviz.
//!
//! Identifiers are made from numbers; user text appears only in quoted labels, as entities, which Graphviz decodes
//! when it draws. Positions are left to Graphviz.

use super::escape::xml;
use super::indexed::{IndexedDiagram, IndexedNode};
use super::{Diagram, EdgeKind, NodeKind};

/// Returns the diagram as DOT text.
pub(super) fn draw(diagram: &Diagram) -> String {
    let indexed = IndexedDiagram::new(diagram);
    let mut lines = vec![
        "digraph {".into(),
        format!("  graph [label={}, labelloc=t, charset=\"UTF-8\"];", quoted(indexed.name)),
        "  node [shape=box];".into(),
    ];
    graph(&mut lines, &indexed, 1);
    lines.push("}\n".into());
    lines.join("\n")
}

fn graph(lines: &mut Vec<String>, indexed: &IndexedDiagram<'_>, depth: usize) {
    let indent = "  ".repeat(depth);
    for drawn in &indexed.nodes {
        node(lines, drawn, depth);
    }
    for join in &indexed.joins {
        lines.push(format!("{indent}j{} [label=\"\", shape=circle, width=0.15, style=filled];", join.number));
    }
    for link in &indexed.links {
        let style = match link.kind {
            EdgeKind::Conditional => "style=dashed",
            EdgeKind::Goto => "style=dotted",
            EdgeKind::Plain | EdgeKind::Join { .. } => "",
        };
        let (from, to) = (indexed.nodes[link.from].exit(), indexed.nodes[link.to].entry());
        lines.push(format!("{indent}n{from} -> n{to}{};", attributes(style, link.label)));
    }
    for join in &indexed.joins {
        for (source, label) in &join.sources {
            let from = indexed.nodes[*source].exit();
            lines.push(format!("{indent}n{from} -> j{}{};", join.number, attributes("arrowhead=none", *label)));
        }
        lines.push(format!("{indent}j{} -> n{};", join.number, indexed.nodes[join.target].entry()));
    }
}

fn node(lines: &mut Vec<String>, node: &IndexedNode<'_>, depth: usize) {
    let indent = "  ".repeat(depth);
    let (number, text) = (node.number, quoted(node.id));
    let Some(inner) = &node.subgraph else {
        let shape = match node.kind {
            NodeKind::Start | NodeKind::End => ", shape=oval",
            NodeKind::Subgraph => ", shape=box3d",
            NodeKind::Node => "",
        };
        let style = if node.deferred { ", style=dashed, xlabel=\"deferred\"" } else { "" };
        lines.push(format!("{indent}n{number} [label={text}{shape}{style}];"));
        return;
    };
    lines.push(format!("{indent}subgraph cluster_n{number} {{"));
    // Always stated: a cluster inherits the style of the enclosing cluster.
    let style = if node.deferred { "dashed" } else { "solid" };
    lines.push(format!("{indent}  label={text}; style={style};"));
    if node.entry() == number || node.exit() == number {
        // A subgraph without start or end has no node that outer edges could connect to, so the cluster gets a
        // point.
        lines.push(format!("{indent}  n{number} [label=\"\", shape=point];"));
    }
    graph(lines, inner, depth + 1);
    lines.push(format!("{indent}}}"));
}

fn attributes(style: &str, label: Option<&str>) -> String {
    let label = label.map(|label| format!("label={}", quoted(label))).unwrap_or_default();
    match (style.is_empty(), label.is_empty()) {
        (true, true) => String::new(),
        (false, false) => format!(" [{style}, {label}]"),
        _ => format!(" [{style}{label}]"),
    }
}

// Graphviz reads both entities and backslash sequences such as `\N` inside a label.
fn quoted(text: &str) -> String {
    format!("\"{}\"", xml(text).replace('\\', "\\\\"))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;

    /// R-FWK-10: conditional edges are dashed and labelled; loops are ordinary edges.
    #[test]
    fn a_loop_with_conditions_is_drawn_dashed_and_labelled() {
        insta::assert_snapshot!(fixtures::agent().to_dot(), @r#"
        digraph {
          graph [label="agent", labelloc=t, charset="UTF-8"];
          node [shape=box];
          n0 [label="__start__", shape=oval];
          n1 [label="think"];
          n2 [label="tools"];
          n3 [label="__end__", shape=oval];
          n0 -> n1;
          n1 -> n2 [style=dashed, label="call"];
          n1 -> n3 [style=dashed, label="done"];
          n2 -> n1;
        }
        "#);
    }

    /// R-FWK-10: a join is one small circle.
    #[test]
    fn a_join_is_a_shared_circle_and_a_deferred_node_is_marked() {
        insta::assert_snapshot!(fixtures::join().to_dot(), @r#"
        digraph {
          graph [label="join", labelloc=t, charset="UTF-8"];
          node [shape=box];
          n0 [label="__start__", shape=oval];
          n1 [label="a"];
          n2 [label="b"];
          n3 [label="c"];
          n4 [label="d", style=dashed, xlabel="deferred"];
          n5 [label="__end__", shape=oval];
          j0 [label="", shape=circle, width=0.15, style=filled];
          n0 -> n1;
          n1 -> n2;
          n1 -> n3;
          n4 -> n5;
          n2 -> j0 [arrowhead=none];
          n3 -> j0 [arrowhead=none];
          j0 -> n4;
        }
        "#);
    }

    /// R-FWK-10: subgraphs are clusters, entered at their start.
    #[test]
    fn a_subgraph_is_a_cluster_around_its_nodes() {
        insta::assert_snapshot!(fixtures::nested().to_dot(), @r#"
        digraph {
          graph [label="nested", labelloc=t, charset="UTF-8"];
          node [shape=box];
          n0 [label="__start__", shape=oval];
          subgraph cluster_n1 {
            label="research"; style=solid;
            n2 [label="__start__", shape=oval];
            n3 [label="search"];
            n4 [label="__end__", shape=oval];
            n2 -> n3;
            n3 -> n4;
          }
          n5 [label="write"];
          n6 [label="__end__", shape=oval];
          n0 -> n2;
          n4 -> n5;
          n5 -> n2 [style=dotted];
          n5 -> n6;
        }
        "#);
    }

    /// R-FWK-10: self-loops.
    #[test]
    fn a_self_loop_returns_to_its_node() {
        insta::assert_snapshot!(fixtures::self_loop().to_dot(), @r#"
        digraph {
          graph [label="retry", labelloc=t, charset="UTF-8"];
          node [shape=box];
          n0 [label="__start__", shape=oval];
          n1 [label="try"];
          n2 [label="__end__", shape=oval];
          n0 -> n1;
          n1 -> n1 [style=dashed, label="again"];
          n1 -> n2 [style=dashed, label="ok"];
        }
        "#);
    }

    /// R-FWK-10: hostile names stay inside their quotes.
    #[test]
    fn hostile_labels_cannot_leave_their_quotes() {
        insta::assert_snapshot!(fixtures::hostile().to_dot(), @r#"
        digraph {
          graph [label="x&quot;];\\n%%{init: {}}%%", labelloc=t, charset="UTF-8"];
          node [shape=box];
          n0 [label="&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;"];
          n1 [label="a&quot;]; b[&quot;c\\n\\"];
          n2 [label="`__md__`"];
          n0 -> n1 [style=dashed, label="\\u{202e}evil\\u{2069} | &lt;b&gt;&amp;lt;"];
          n1 -> n2;
        }
        "#);
    }
}
