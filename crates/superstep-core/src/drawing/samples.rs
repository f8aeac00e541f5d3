//! The drawings that the tests of every form share, so the forms can be compared.

use super::{Drawing, DrawnEdge, DrawnNode, EdgeKind, NodeKind};

fn nodes(ids: &[&str]) -> Vec<DrawnNode> {
    let kind = |id: &str| match id {
        "__start__" => NodeKind::Start,
        "__end__" => NodeKind::End,
        _ => NodeKind::Node,
    };
    ids.iter().map(|id| DrawnNode::new(*id, kind(id))).collect()
}

fn plain(from: &str, to: &str) -> DrawnEdge {
    DrawnEdge::new(from, to, EdgeKind::Plain)
}

fn conditional(from: &str, to: &str, label: &str) -> DrawnEdge {
    DrawnEdge::new(from, to, EdgeKind::Conditional).labelled(label)
}

/// A model that calls tools until it is done.
pub(super) fn agent() -> Drawing {
    Drawing {
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
pub(super) fn join() -> Drawing {
    let mut nodes = nodes(&["__start__", "a", "b", "c", "d", "__end__"]);
    nodes[4].deferred = true;
    let join = |from| DrawnEdge::new(from, "d", EdgeKind::Join { join: 0 });
    Drawing {
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

/// A graph inside a graph.
pub(super) fn nested() -> Drawing {
    let inner = Drawing {
        name: "research".into(),
        nodes: nodes(&["__start__", "search", "__end__"]),
        edges: vec![plain("__start__", "search"), plain("search", "__end__")],
    };
    let mut nodes = nodes(&["__start__", "research", "write", "__end__"]);
    nodes[1].kind = NodeKind::Subgraph;
    nodes[1].inner = Some(Box::new(inner));
    Drawing {
        name: "nested".into(),
        nodes,
        edges: vec![
            plain("__start__", "research"),
            plain("research", "write"),
            DrawnEdge::new("write", "research", EdgeKind::Goto),
            plain("write", "__end__"),
        ],
    }
}

/// A node that may run again at once.
pub(super) fn self_loop() -> Drawing {
    Drawing {
        name: "retry".into(),
        nodes: nodes(&["__start__", "try", "__end__"]),
        edges: vec![plain("__start__", "try"), conditional("try", "try", "again"), conditional("try", "__end__", "ok")],
    }
}

/// Names that try to leave their quotes, hide and turn text.
pub(super) fn hostile() -> Drawing {
    let script = "</text><script>alert(1)</script>";
    Drawing {
        name: "x\"];\n%%{init: {}}%%".into(),
        nodes: nodes(&[script, "a\"]; b[\"c\n\\", "`__md__`"]),
        edges: vec![
            conditional(script, "a\"]; b[\"c\n\\", "\u{202e}evil\u{2069} | <b>&lt;"),
            plain("a\"]; b[\"c\n\\", "`__md__`"),
        ],
    }
}
