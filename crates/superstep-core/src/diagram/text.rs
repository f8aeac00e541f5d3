//! Renders a diagram for a terminal.
//!
//! Boxes are arranged in rows; between two rows lines are drawn only where they are unambiguous. The list of edges
//! below is complete and authoritative; the boxes are for orientation.

use super::escape::{columns, escape_invisible, truncate_columns};
use super::indexed::{IndexedDiagram, IndexedEdge, IndexedNode};
use super::layout::{HorizontalExtent, LayoutEdge, NodeLayers, assign_x_positions};
use super::{Diagram, EdgeKind, NodeKind};

mod connectors;

const NODE_COLUMNS: usize = 32;
/// Maximum width in columns. Wider rows are broken, without lines, because the terminal would wrap them.
const MAX_COLUMNS: usize = 100;
const GAP: usize = 2;

/// Returns the diagram as text, with a newline at its end.
pub(super) fn draw(diagram: &Diagram) -> String {
    let mut lines = Vec::new();
    graph(&IndexedDiagram::new(diagram), 0, &mut lines);
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn graph(indexed: &IndexedDiagram<'_>, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let mut drawn = boxes(indexed);
    if !drawn.is_empty() {
        drawn.push(String::new());
    }
    drawn.extend(edges(indexed));
    lines.extend(drawn.into_iter().map(|line| format!("{indent}{line}")));
    for node in &indexed.nodes {
        if let Some(inner) = &node.subgraph {
            lines.extend([String::new(), format!("{indent}{}:", name(node.id))]);
            graph(inner, depth + 1, lines);
        }
    }
}

/// A box in a row: its left column and its width, which is odd so that the box has a middle column.
#[derive(Clone, Copy)]
struct TextBox {
    vertex: usize,
    left: usize,
    width: usize,
}

impl TextBox {
    fn middle(&self) -> usize {
        self.left + self.width / 2
    }
}

fn boxes(indexed: &IndexedDiagram<'_>) -> Vec<String> {
    let arcs = arcs(indexed);
    let mut rows = NodeLayers::arrange(indexed.nodes.len(), &arcs);
    for row in &mut rows.rows {
        row.retain(|&vertex| vertex < rows.real);
    }
    // Edges over several rows helped to order the boxes; they are not drawn, so they need no space.
    rows.chains.retain(|chain| chain.len() == 2);
    let captions: Vec<String> = indexed.nodes.iter().map(caption).collect();
    let cells = cells(&rows, &captions);
    let right = cells.iter().flatten().map(|cell| cell.left + cell.width).max().unwrap_or(0);
    if right > MAX_COLUMNS {
        return wrapped(indexed, &rows, &captions);
    }
    let mut lines = Vec::new();
    for (row, below) in cells.iter().zip(cells.iter().skip(1).map(Some).chain([None])) {
        let gap = below.map(|below| connectors::connect(indexed, row, below)).unwrap_or_default();
        lines.extend(row_of_boxes(indexed, row, &captions, &gap.sources));
        lines.extend(gap.lines);
    }
    lines
}

fn arcs(indexed: &IndexedDiagram<'_>) -> Vec<LayoutEdge> {
    let links = indexed.links.iter().map(|link| (link.from, link.to));
    let joins = indexed.joins.iter().flat_map(|join| join.sources.iter().map(|source| (source.0, join.target)));
    links.chain(joins).map(|(from, to)| LayoutEdge { from, to, label: 0.0 }).collect()
}

fn caption(node: &IndexedNode<'_>) -> String {
    let suffix = if node.deferred { " (deferred)" } else { "" };
    let caption = truncate_columns(node.id, NODE_COLUMNS) + suffix;
    if columns(&caption).is_multiple_of(2) { caption + " " } else { caption }
}

fn cells(rows: &NodeLayers, captions: &[String]) -> Vec<Vec<TextBox>> {
    let half = |caption: &String| (columns(caption) / 2 + 2) as f64;
    let mut reach: Vec<HorizontalExtent> =
        captions.iter().map(|text| HorizontalExtent { left: half(text), right: half(text) + 1.0 }).collect();
    reach.resize(rows.rank.len(), HorizontalExtent::default());
    let x = assign_x_positions(rows, &reach, GAP as f64);
    // Rounding down keeps integer distances exact; the added 1e-6 keeps 2.9999999 from becoming 2.
    let left = |vertex: usize| (x[vertex] - reach[vertex].left + 1e-6).floor();
    let min_left = rows.rows.iter().flatten().map(|&vertex| left(vertex)).fold(f64::MAX, f64::min);
    let cell = |&vertex: &usize| TextBox {
        vertex,
        left: (left(vertex) - min_left) as usize,
        width: columns(&captions[vertex]) + 4,
    };
    rows.rows.iter().map(|row| row.iter().map(cell).collect()).collect()
}

/// Renders rows that are too wide for a page: boxes side by side as far as they fit, without lines.
fn wrapped(indexed: &IndexedDiagram<'_>, rows: &NodeLayers, captions: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &rows.rows {
        let mut cells: Vec<TextBox> = Vec::new();
        for &vertex in row {
            let width = columns(&captions[vertex]) + 4;
            let left = cells.last().map_or(0, |last| last.left + last.width + GAP);
            if left > 0 && left + width > MAX_COLUMNS {
                lines.extend(row_of_boxes(indexed, &cells, captions, &[]));
                cells.clear();
            }
            let left = cells.last().map_or(0, |last| last.left + last.width + GAP);
            cells.push(TextBox { vertex, left, width });
        }
        lines.extend(row_of_boxes(indexed, &cells, captions, &[]));
    }
    lines
}

/// Returns the three lines of a row; `sources` are the columns where a line leaves a box.
fn row_of_boxes(indexed: &IndexedDiagram<'_>, row: &[TextBox], captions: &[String], sources: &[usize]) -> [String; 3] {
    let mut lines = [String::new(), String::new(), String::new()];
    let mut column = 0;
    for cell in row {
        let [left_top, right_top, left_bottom, right_bottom, across, side, leaving] =
            match indexed.nodes[cell.vertex].kind {
                NodeKind::Start | NodeKind::End => ['╭', '╮', '╰', '╯', '─', '│', '┬'],
                NodeKind::Node => ['┌', '┐', '└', '┘', '─', '│', '┬'],
                NodeKind::Subgraph => ['╔', '╗', '╚', '╝', '═', '║', '╤'],
            };
        let indent = " ".repeat(cell.left - column);
        let edge = across.to_string().repeat(cell.width - 2);
        let mut bottom: Vec<char> = edge.chars().collect();
        if sources.contains(&cell.middle()) {
            bottom[cell.width / 2 - 1] = leaving;
        }
        let bottom: String = bottom.into_iter().collect();
        lines[0] += &format!("{indent}{left_top}{edge}{right_top}");
        lines[1] += &format!("{indent}{side} {} {side}", captions[cell.vertex]);
        lines[2] += &format!("{indent}{left_bottom}{bottom}{right_bottom}");
        column = cell.left + cell.width;
    }
    lines
}

fn edges(indexed: &IndexedDiagram<'_>) -> Vec<String> {
    let id = |vertex: usize| name(indexed.nodes[vertex].id);
    let mut lines = Vec::new();
    for IndexedEdge { from, to, kind, label } in &indexed.links {
        let arrow = if kind.is_conditional() { "┄►" } else { "─►" };
        let label = label.map(escape_invisible);
        let suffix = match (kind, label) {
            (EdgeKind::Goto, Some(label)) => format!("  (goto: {label})"),
            (EdgeKind::Goto, None) => "  (goto)".into(),
            (_, Some(label)) => format!("  ({label})"),
            (_, None) => String::new(),
        };
        lines.push(format!("{} {arrow} {}{suffix}", id(*from), id(*to)));
    }
    for join in &indexed.joins {
        let source = |(source, label): &(usize, Option<&str>)| match label {
            Some(label) => format!("{} ({})", id(*source), escape_invisible(label)),
            None => id(*source),
        };
        let sources: Vec<String> = join.sources.iter().map(source).collect();
        lines.push(format!("{} ═► {}  (join)", sources.join(", "), id(join.target)));
    }
    lines
}

/// Formats a name for the list of edges: in quotes if it could be taken for something else.
fn name(id: &str) -> String {
    let is_clear = !id.is_empty() && id.trim() == id && !id.contains([',', '(', '"', '\\', '►', ':']);
    if is_clear && escape_invisible(id) == id {
        return id.into();
    }
    format!("\"{}\"", escape_invisible(&id.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::super::{Diagram, DiagramEdge, EdgeKind, fixtures};

    /// R-FWK-10: the agent loop for a terminal.
    #[test]
    fn a_loop_with_conditions_lists_every_edge() {
        insta::assert_snapshot!(fixtures::agent().to_text(), @r#"
            ╭───────────╮
            │ __start__ │
            ╰─────┬─────╯
                  │
                  ▼
              ┌───────┐
              │ think │
              └───┬───┘
            ┌┄┄┄┄┄┴┄┄┄┄┄┐
            ▼           ▼
        ┌───────┐  ╭─────────╮
        │ tools │  │ __end__ │
        └───────┘  ╰─────────╯

        __start__ ─► think
        think ┄► tools  (call)
        think ┄► __end__  (done)
        tools ─► think
        "#);
    }

    /// R-FWK-10: a join and a deferred node for a terminal.
    #[test]
    fn a_join_is_a_double_line() {
        insta::assert_snapshot!(fixtures::join().to_text(), @r#"
          ╭───────────╮
          │ __start__ │
          ╰─────┬─────╯
                │
                ▼
              ┌───┐
              │ a │
              └─┬─┘
            ┌───┴──┐
            ▼      ▼
          ┌───┐  ┌───┐
          │ b │  │ c │
          └─┬─┘  └─┬─┘
            ╚═══╦══╝
                ▼
        ┌───────────────┐
        │ d (deferred)  │
        └───────┬───────┘
                │
                ▼
           ╭─────────╮
           │ __end__ │
           ╰─────────╯

        __start__ ─► a
        a ─► b
        a ─► c
        d ─► __end__
        b, c ═► d  (join)
        "#);
    }

    /// R-FWK-10: a subgraph follows under the name of its node.
    #[test]
    fn a_subgraph_is_drawn_below_the_graph_it_is_in() {
        insta::assert_snapshot!(fixtures::nested().to_text(), @r#"
        ╭───────────╮
        │ __start__ │
        ╰─────┬─────╯
              │
              ▼
        ╔═══════════╗
        ║ research  ║
        ╚═════╤═════╝
              │
              ▼
          ┌───────┐
          │ write │
          └───┬───┘
              │
              ▼
         ╭─────────╮
         │ __end__ │
         ╰─────────╯

        __start__ ─► research
        research ─► write
        write ┄► research  (goto)
        write ─► __end__

        research:
          ╭───────────╮
          │ __start__ │
          ╰─────┬─────╯
                │
                ▼
           ┌─────────┐
           │ search  │
           └────┬────┘
                │
                ▼
           ╭─────────╮
           │ __end__ │
           ╰─────────╯

          __start__ ─► search
          search ─► __end__
        "#);
    }

    /// R-FWK-10: a self-loop is listed.
    #[test]
    fn a_self_loop_is_listed() {
        insta::assert_snapshot!(fixtures::self_loop().to_text(), @r#"
        ╭───────────╮
        │ __start__ │
        ╰─────┬─────╯
              │
              ▼
           ┌─────┐
           │ try │
           └──┬──┘
              ┆
              ▼
         ╭─────────╮
         │ __end__ │
         ╰─────────╯

        __start__ ─► try
        try ┄► try  (again)
        try ┄► __end__  (ok)
        "#);
    }

    /// R-FWK-10: hostile names cannot move the cursor or imitate an edge.
    #[test]
    fn hostile_labels_stay_on_their_line() {
        insta::assert_snapshot!(fixtures::hostile().to_text(), @r#"
        ┌───────────────────────────────────┐
        │ </text><script>alert(1)</script>  │
        └─────────────────┬─────────────────┘
                          ┆
                          ▼
                  ┌───────────────┐
                  │ a"]; b["c\n\  │
                  └───────┬───────┘
                          │
                          ▼
                    ┌───────────┐
                    │ `__md__`  │
                    └───────────┘

        "</text><script>alert(1)</script>" ┄► "a\"]; b[\"c\n\\"  (\u{202e}evil\u{2069} | <b>&lt;)
        "a\"]; b[\"c\n\\" ─► `__md__`
        "#);
        let edges = vec![DiagramEdge::new("a ─► b", "c", EdgeKind::Plain)];
        let diagram = Diagram { name: String::new(), nodes: vec![], edges };
        assert!(diagram.to_text().ends_with("\"a ─► b\" ─► c\n"));
    }

    /// R-FWK-10: a wide row is broken so that it fits a terminal.
    #[test]
    fn a_wide_row_is_broken_into_lines_that_fit() {
        let edges = (0..30).map(|n| DiagramEdge::new("fan", format!("worker {n}"), EdgeKind::Plain)).collect();
        let text = Diagram { name: String::new(), nodes: vec![], edges }.to_text();
        assert!(text.lines().all(|line| line.chars().count() <= 100));
        assert_eq!(text.lines().filter(|line| line.starts_with("fan ─► worker")).count(), 30);
    }
}
