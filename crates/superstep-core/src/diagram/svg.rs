//! Renders a diagram as one self-contained SVG document.
//!
//! Only presentation attributes and `currentColor`, so the document works inline under a strict content security
//! policy and in any theme; no script, no link, no font file. Sizes are in user units; text is monospaced because
//! its width is then known without a font.

use std::fmt::Write;

use super::escape::{columns, truncate_columns, xml};
use super::indexed::{IndexedDiagram, IndexedNode};
use super::layout::{EdgeRoute, Layout, LayoutEdge, NodeBox, Point};
use super::{Diagram, EdgeKind, NodeKind};

const NODE_COLUMNS: usize = 40;
const LABEL_COLUMNS: usize = 32;
/// Advance of one column of text at the two sizes used; monospaced fonts take 0.55 to 0.61 em.
const NODE_COLUMN_WIDTH: f64 = 8.0;
const LABEL_COLUMN_WIDTH: f64 = 6.8;
const NODE_HEIGHT: f64 = 34.0;
const DEFERRED_HEIGHT: f64 = 46.0;
const TITLE_HEIGHT: f64 = 22.0;
const JOIN_DIAMETER: f64 = 12.0;
const CORNER_RADIUS: f64 = 8.0;

// `svg:root` matches only a standalone file: inside a page the colour of the page is inherited.
const STYLE_AND_MARKERS: &str = "<style>svg:root{color:#1f2328}@media(prefers-color-scheme:dark){svg:root{color:#e6edf3}}</style>\
<defs><marker id=\"superstep-arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
orient=\"auto\"><path d=\"M0 1L10 5L0 9z\" fill=\"currentColor\" stroke=\"none\"/></marker></defs>";

/// Returns the diagram as an SVG document.
pub(super) fn draw(diagram: &Diagram) -> String {
    let indexed = IndexedDiagram::new(diagram);
    let scene = PlacedDiagram::new(&indexed);
    let (width, height) = (number(scene.layout.width), number(scene.layout.height));
    let mut page = SvgWriter(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"graphics-document document\" font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"13\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.3\">\n<title>{}</title>\n{STYLE_AND_MARKERS}\n",
        xml(indexed.name)
    ));
    page.scene(&scene);
    page.0.push_str("</svg>\n");
    page.0
}

/// A diagram with the layout of its elements; subgraphs are laid out first, because their box must fit them.
struct PlacedDiagram<'a> {
    indexed: &'a IndexedDiagram<'a>,
    inner: Vec<Option<PlacedDiagram<'a>>>,
    bodies: Vec<NodeBox>,
    lines: Vec<DrawnLine<'a>>,
    layout: Layout,
}

struct DrawnLine<'a> {
    arc: LayoutEdge,
    kind: EdgeKind,
    has_arrow: bool,
    label: Option<&'a str>,
}

impl<'a> PlacedDiagram<'a> {
    fn new(indexed: &'a IndexedDiagram<'a>) -> Self {
        let inner: Vec<Option<PlacedDiagram<'a>>> =
            indexed.nodes.iter().map(|node| node.subgraph.as_ref().map(Self::new)).collect();
        let mut bodies: Vec<NodeBox> =
            indexed.nodes.iter().zip(&inner).map(|(node, inner)| body(node, inner.as_ref())).collect();
        bodies.extend(indexed.joins.iter().map(|_| NodeBox { width: JOIN_DIAMETER, height: JOIN_DIAMETER }));
        let lines = lines(indexed);
        let arcs: Vec<LayoutEdge> = lines.iter().map(|line| line.arc).collect();
        let layout = Layout::new(&bodies, &arcs);
        Self { indexed, inner, bodies, lines, layout }
    }
}

fn body(node: &IndexedNode<'_>, inner: Option<&PlacedDiagram<'_>>) -> NodeBox {
    let text = columns(&truncate_columns(node.id, NODE_COLUMNS)).max(3) as f64 * NODE_COLUMN_WIDTH + 24.0;
    let height = if node.deferred { DEFERRED_HEIGHT } else { NODE_HEIGHT };
    let text = if node.deferred { text.max(80.0) } else { text };
    match inner {
        Some(inner) => NodeBox { width: inner.layout.width.max(text), height: inner.layout.height + height - 10.0 },
        None => NodeBox { width: text, height },
    }
}

fn lines<'a>(indexed: &IndexedDiagram<'a>) -> Vec<DrawnLine<'a>> {
    let line = |from, to, kind, label: Option<&'a str>| {
        let width =
            label.map_or(0.0, |label| columns(&truncate_columns(label, LABEL_COLUMNS)) as f64 * LABEL_COLUMN_WIDTH);
        DrawnLine { arc: LayoutEdge { from, to, label: width }, kind, has_arrow: true, label }
    };
    let mut lines: Vec<DrawnLine<'a>> =
        indexed.links.iter().map(|link| line(link.from, link.to, link.kind, link.label)).collect();
    for (position, join) in indexed.joins.iter().enumerate() {
        let (circle, kind) = (indexed.nodes.len() + position, EdgeKind::Join { join: join.number });
        for (source, label) in &join.sources {
            lines.push(DrawnLine { has_arrow: false, ..line(*source, circle, kind, *label) });
        }
        lines.push(line(circle, join.target, kind, None));
    }
    lines
}

struct SvgWriter(String);

impl SvgWriter {
    fn add(&mut self, part: std::fmt::Arguments<'_>) {
        self.0.write_fmt(part).expect("writing to a string is infallible");
    }

    fn scene(&mut self, scene: &PlacedDiagram<'_>) {
        for (line, route) in scene.lines.iter().zip(&scene.layout.routes) {
            self.line(line, route);
        }
        let count = scene.indexed.nodes.len();
        for (position, node) in scene.indexed.nodes.iter().enumerate() {
            self.node(node, scene.bodies[position], scene.layout.centres[position], scene.inner[position].as_ref());
        }
        for (join, centre) in scene.indexed.joins.iter().zip(&scene.layout.centres[count..]) {
            let sources: Vec<&str> = join.sources.iter().map(|(source, _)| scene.indexed.nodes[*source].id).collect();
            let (x, y) = (number(centre.x), number(centre.y));
            self.add(format_args!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" fill=\"currentColor\"><title>waits for {}</title></circle>\n",
                JOIN_DIAMETER / 2.0,
                xml(&sources.join(", "))
            ));
        }
    }

    fn line(&mut self, line: &DrawnLine<'_>, route: &EdgeRoute) {
        let dashes = match line.kind {
            EdgeKind::Conditional => " stroke-dasharray=\"6 4\"",
            EdgeKind::Goto => " stroke-dasharray=\"2 3\"",
            EdgeKind::Plain | EdgeKind::Join { .. } => "",
        };
        let arrow = if line.has_arrow { " marker-end=\"url(#superstep-arrow)\"" } else { "" };
        let path = if route.is_curved { curved(&route.points) } else { angular(&route.points) };
        self.add(format_args!("<path d=\"{path}\"{dashes}{arrow}/>\n"));
        if let Some(label) = line.label {
            let anchor = if route.label_is_left { "end" } else { "start" };
            let (x, y) = (number(route.label.x), number(route.label.y));
            let full = if truncate_columns(label, LABEL_COLUMNS) == truncate_columns(label, usize::MAX) {
                String::new()
            } else {
                titled(label)
            };
            self.add(format_args!(
                "<text x=\"{x}\" y=\"{y}\" dy=\".32em\" font-size=\"11\" text-anchor=\"{anchor}\" \
                 fill=\"currentColor\" stroke=\"none\">{full}{}</text>\n",
                xml(&truncate_columns(label, LABEL_COLUMNS))
            ));
        }
    }

    fn node(&mut self, node: &IndexedNode<'_>, body: NodeBox, centre: Point, inner: Option<&PlacedDiagram<'_>>) {
        let (left, top) = (centre.x - body.width / 2.0, centre.y - body.height / 2.0);
        let radius = match node.kind {
            NodeKind::Start | NodeKind::End => NODE_HEIGHT / 2.0,
            NodeKind::Node | NodeKind::Subgraph => 6.0,
        };
        let (role, fill) =
            if inner.is_some() { ("graphics-object group", ".03") } else { ("graphics-symbol img", ".08") };
        let dashes = if node.deferred { " stroke-dasharray=\"9 3\"" } else { "" };
        self.add(format_args!(
            "<g role=\"{role}\"><title>{} ({})</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{radius}\" \
             fill=\"currentColor\" fill-opacity=\"{fill}\"{dashes}/>\n",
            xml(node.id),
            describe(node),
            number(left),
            number(top),
            number(body.width),
            number(body.height),
        ));
        let middle = if inner.is_some() {
            top + TITLE_HEIGHT / 2.0 + 3.0
        } else if node.deferred {
            centre.y - 7.0
        } else {
            centre.y
        };
        self.text(centre.x, middle, 13, &truncate_columns(node.id, NODE_COLUMNS));
        if node.deferred {
            self.text(centre.x, middle + 15.0, 10, "deferred");
        }
        if let Some(inner) = inner {
            let x = centre.x - inner.layout.width / 2.0;
            let y = top + body.height - inner.layout.height;
            self.add(format_args!("<g transform=\"translate({} {})\">\n", number(x), number(y)));
            self.scene(inner);
            self.add(format_args!("</g>\n"));
        }
        self.add(format_args!("</g>\n"));
    }

    fn text(&mut self, x: f64, y: f64, size: u8, text: &str) {
        self.add(format_args!(
            "<text x=\"{}\" y=\"{}\" dy=\".32em\" font-size=\"{size}\" text-anchor=\"middle\" \
             fill=\"currentColor\" stroke=\"none\">{}</text>\n",
            number(x),
            number(y),
            xml(text)
        ));
    }
}

fn titled(text: &str) -> String {
    format!("<title>{}</title>", xml(text))
}

fn describe(node: &IndexedNode<'_>) -> &'static str {
    match (node.kind, node.deferred) {
        (NodeKind::Start, _) => "start",
        (NodeKind::End, _) => "end",
        (NodeKind::Node, false) => "node",
        (NodeKind::Node, true) => "node, deferred",
        (NodeKind::Subgraph, false) => "subgraph",
        (NodeKind::Subgraph, true) => "subgraph, deferred",
    }
}

/// Formats a coordinate with one decimal, without decimals if that is zero.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Returns the path of a curved edge: straight where the edge runs down, an S curve where it changes sides.
fn curved(points: &[Point]) -> String {
    let mut path = String::new();
    for (position, point) in points.iter().enumerate() {
        let (x, y) = (number(point.x), number(point.y));
        let before = position.checked_sub(1).map(|before| points[before]);
        path += &match before {
            None => format!("M{x} {y}"),
            Some(before) if before == *point => String::new(),
            Some(before) if (before.x - point.x).abs() < 0.05 => format!("V{y}"),
            Some(before) => {
                let middle = number(f64::midpoint(before.y, point.y));
                format!("C{} {middle} {x} {middle} {x} {y}", number(before.x))
            }
        };
    }
    path
}

/// Returns the path of an angular edge: right angles with rounded corners.
fn angular(points: &[Point]) -> String {
    let mut path = String::new();
    for (position, point) in points.iter().enumerate() {
        let (x, y) = (number(point.x), number(point.y));
        path += &match (position, points.get(position + 1)) {
            (0, _) => format!("M{x} {y}"),
            (_, None) => format!("L{x} {y}"),
            (_, Some(after)) => {
                let [start, end] = [points[position - 1], *after].map(|other| toward(*point, other));
                format!("L{} {}Q{x} {y} {} {}", number(start.x), number(start.y), number(end.x), number(end.y))
            }
        };
    }
    path
}

fn toward(corner: Point, other: Point) -> Point {
    let (dx, dy) = (other.x - corner.x, other.y - corner.y);
    let length = dx.hypot(dy);
    let share = if length > 0.0 { (CORNER_RADIUS / length).min(0.5) } else { 0.0 };
    Point { x: corner.x + dx * share, y: corner.y + dy * share }
}

#[cfg(test)]
mod tests;
