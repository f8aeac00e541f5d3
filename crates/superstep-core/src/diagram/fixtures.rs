//! Diagrams shared by the tests of all formats, so that the formats can be compared.

use super::{Diagram, DiagramEdge, DiagramNode, EdgeKind, NodeKind};

fn nodes(ids: &[&str]) -> Vec<DiagramNode> {
    let kind = |id: &str| match id {
        "__start__" => NodeKind::Start,
        "__end__" => NodeKind::End,
        _ => NodeKind::Node,
    };
    ids.iter().map(|id| DiagramNode::new(*id, kind(id))).collect()
}

fn plain(from: &str, to: &str) -> DiagramEdge {
    DiagramEdge::new(from, to, EdgeKind::Plain)
}

fn conditional(from: &str, to: &str, label: &str) -> DiagramEdge {
    DiagramEdge::new(from, to, EdgeKind::Conditional).labelled(label)
}

/// A model that calls tools until it is done.
pub(super) fn agent() -> Diagram {
    Diagram {
        name: "agent".into(),
        nodes: nodes(&["__start__", "think", "tools", "__end__"]),
        edges: vec![
            plain("__start__", "think"),
            conditional("think", "tools", "call"),
            conditional("think", "__end__", "done"),
            plain("tools", "think"),
        ],
    }
}

/// Two branches that meet in a deferred node.
pub(super) fn join() -> Diagram {
    let mut nodes = nodes(&["__start__", "a", "b", "c", "d", "__end__"]);
    nodes[4].deferred = true;
    let join = |from| DiagramEdge::new(from, "d", EdgeKind::Join { join: 0 });
    Diagram {
        name: "join".into(),
        nodes,
        edges: vec![
            plain("__start__", "a"),
            plain("a", "b"),
            plain("a", "c"),
            join("b"),
            join("c"),
            plain("d", "__end__"),
        ],
    }
}

/// A graph with a subgraph.
pub(super) fn nested() -> Diagram {
    let inner = Diagram {
        name: "research".into(),
        nodes: nodes(&["__start__", "search", "__end__"]),
        edges: vec![plain("__start__", "search"), plain("search", "__end__")],
    };
    let mut nodes = nodes(&["__start__", "research", "write", "__end__"]);
    nodes[1].kind = NodeKind::Subgraph;
    nodes[1].subgraph = Some(Box::new(inner));
    Diagram {
        name: "nested".into(),
        nodes,
        edges: vec![
            plain("__start__", "research"),
            plain("research", "write"),
            DiagramEdge::new("write", "research", EdgeKind::Goto),
            plain("write", "__end__"),
        ],
    }
}

/// A node that may run again at once.
pub(super) fn self_loop() -> Diagram {
    Diagram {
        name: "retry".into(),
        nodes: nodes(&["__start__", "try", "__end__"]),
        edges: vec![plain("__start__", "try"), conditional("try", "try", "again"), conditional("try", "__end__", "ok")],
    }
}

/// Names that try to break out of their quotes, hide characters and reverse text.
pub(super) fn hostile() -> Diagram {
    let script = "</text><script>alert(1)</script>";
    Diagram {
        name: "x\"];\n%%{init: {}}%%".into(),
        nodes: nodes(&[script, "a\"]; b[\"c\n\\", "`__md__`"]),
        edges: vec![
            conditional(script, "a\"]; b[\"c\n\\", "\u{202e}evil\u{2069} | <b>&lt;"),
            plain("a\"]; b[\"c\n\\", "`__md__`"),
        ],
    }
}
