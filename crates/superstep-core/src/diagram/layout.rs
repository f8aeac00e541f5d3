//! A small layered layout of boxes and edges.
//!
//! Works on rectangles and edges, not on graphs or text. Layers and their order come from `layers`, horizontal
//! positions from `x_positions`, the routes of the edges from `edge_routes`; this file computes the heights and
//! combines the parts.

mod edge_routes;
mod layers;
mod x_positions;

pub(super) use edge_routes::EdgeRoute;
pub(super) use layers::NodeLayers;
pub(super) use x_positions::{HorizontalExtent, assign_x_positions};

/// Space between two boxes of one row, and beside an edge with a label.
const GAP: f64 = 26.0;
/// Height of a line of text on an edge.
pub(super) const LABEL_HEIGHT: f64 = 16.0;
/// Distance of a label from its edge.
pub(super) const LABEL_GAP: f64 = 6.0;
/// Distance by which the first self-loop extends beyond its box, and each further one beyond the previous.
const SELF_LOOP_WIDTH: f64 = 16.0;
const MARGIN: f64 = 12.0;

/// A box to place.
#[derive(Clone, Copy)]
pub(super) struct NodeBox {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An edge to draw; `label` is the width of its label, 0 for none.
#[derive(Clone, Copy)]
pub(super) struct LayoutEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: f64,
}

/// A point of the diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// The result of the layout: the centre of every box, the route of every edge, and the total size.
pub(super) struct Layout {
    pub(super) centres: Vec<Point>,
    pub(super) routes: Vec<EdgeRoute>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Layout {
    /// Places the boxes in rows and routes the edges between them.
    pub(super) fn new(bodies: &[NodeBox], arcs: &[LayoutEdge]) -> Self {
        let rows = NodeLayers::arrange(bodies.len(), arcs);
        let reach = reaches(bodies, arcs, &rows);
        let x = assign_x_positions(&rows, &reach, GAP);
        let bands = bands(bodies, arcs, &rows, &x);
        let plan = edge_routes::RoutingInput { bodies, arcs, rows: &rows, reach: &reach, x: &x, bands: &bands };
        let routes = plan.routes();
        let centre = |vertex: usize| Point { x: x[vertex], y: bands[rows.rank[vertex]].middle() };
        let mut layout = Self { centres: (0..bodies.len()).map(centre).collect(), routes, width: 0.0, height: 0.0 };
        layout.fit(bodies, arcs);
        layout
    }

    /// Moves everything so that it starts at the margin, and measures the total size.
    fn fit(&mut self, bodies: &[NodeBox], arcs: &[LayoutEdge]) {
        let mut corners = Vec::new();
        for (centre, body) in self.centres.iter().zip(bodies) {
            let (half_width, half_height) = (body.width / 2.0, body.height / 2.0);
            corners.push(Point { x: centre.x - half_width, y: centre.y - half_height });
            corners.push(Point { x: centre.x + half_width, y: centre.y + half_height });
        }
        for (route, arc) in self.routes.iter().zip(arcs) {
            corners.extend(route.points.iter().copied());
            let Point { x, y } = route.label;
            let reach = if route.label_is_left { -arc.label } else { arc.label };
            let half_height = if arc.label > 0.0 { LABEL_HEIGHT / 2.0 } else { 0.0 };
            corners.extend([Point { x, y: y - half_height }, Point { x: x + reach, y: y + half_height }]);
        }
        let extreme = |start: f64, pick: fn(f64, f64) -> f64| {
            let all = corners.iter().fold(None::<Point>, |seen, corner| {
                Some(seen.map_or(*corner, |seen| Point { x: pick(seen.x, corner.x), y: pick(seen.y, corner.y) }))
            });
            all.unwrap_or(Point { x: start, y: start })
        };
        let (min, max) = (extreme(0.0, f64::min), extreme(0.0, f64::max));
        let shift = |point: &mut Point| {
            point.x += MARGIN - min.x;
            point.y += MARGIN - min.y;
        };
        self.centres.iter_mut().for_each(shift);
        for route in &mut self.routes {
            route.points.iter_mut().for_each(shift);
            shift(&mut route.label);
        }
        self.width = max.x - min.x + 2.0 * MARGIN;
        self.height = max.y - min.y + 2.0 * MARGIN;
    }
}

/// The vertical extent of one row.
#[derive(Clone, Copy)]
struct RowExtent {
    top: f64,
    bottom: f64,
}

impl RowExtent {
    fn middle(&self) -> f64 {
        f64::midpoint(self.top, self.bottom)
    }
}

/// Computes the extent of every vertex. Self-loops and the labels of edges need space to the right of their vertex.
fn reaches(bodies: &[NodeBox], arcs: &[LayoutEdge], rows: &NodeLayers) -> Vec<HorizontalExtent> {
    let mut reach = vec![HorizontalExtent::default(); rows.rank.len()];
    for (reach, body) in reach.iter_mut().zip(bodies) {
        *reach = HorizontalExtent { left: body.width / 2.0, right: body.width / 2.0 };
    }
    let mut widest = vec![0.0_f64; bodies.len()];
    for (arc, chain) in arcs.iter().zip(&rows.chains) {
        if arc.from == arc.to {
            reach[arc.from].right += SELF_LOOP_WIDTH;
            widest[arc.from] = widest[arc.from].max(arc.label + LABEL_GAP);
        } else if arc.label > 0.0 && chain.len() > 2 {
            reach[chain[1]].right = arc.label + LABEL_GAP;
        }
    }
    for (reach, widest) in reach.iter_mut().zip(widest) {
        reach.right += widest;
    }
    reach
}

/// Computes the rows, each as high as its highest box. Edges with long horizontal distances get more space to turn.
fn bands(bodies: &[NodeBox], arcs: &[LayoutEdge], rows: &NodeLayers, x: &[f64]) -> Vec<RowExtent> {
    let mut heights = vec![0.0_f64; rows.rows.len()];
    for (vertex, body) in bodies.iter().enumerate() {
        let height = &mut heights[rows.rank[vertex]];
        *height = height.max(body.height);
    }
    let mut sideways = vec![0.0_f64; rows.rows.len()];
    for (arc, chain) in arcs.iter().zip(&rows.chains) {
        if arc.label > 0.0 && chain.len() > 2 {
            let height = &mut heights[rows.rank[chain[1]]];
            *height = height.max(LABEL_HEIGHT);
        }
        for pair in chain.windows(2) {
            let gap = &mut sideways[rows.rank[pair[0]]];
            *gap = gap.max((x[pair[0]] - x[pair[1]]).abs());
        }
    }
    let mut top = 0.0;
    let band = heights.into_iter().zip(sideways).map(|(height, sideways)| {
        let band = RowExtent { top, bottom: top + height };
        top = band.bottom + (sideways / 5.0).clamp(28.0, 90.0);
        band
    });
    band.collect()
}

#[cfg(test)]
mod tests {
    use super::{Layout, LayoutEdge, NodeBox};

    /// R-FWK-10: for any shape of graph, no two boxes overlap and everything lies inside the diagram.
    #[test]
    fn boxes_never_overlap_and_lie_inside_the_drawing() {
        for (count, factor) in [(1, 1), (2, 1), (9, 2), (40, 7), (120, 11)] {
            let bodies: Vec<NodeBox> = (0..count)
                .map(|n| NodeBox { width: 20.0 + (n % 5) as f64 * 17.0, height: 20.0 + (n % 3) as f64 * 30.0 })
                .collect();
            let arc = |n: usize| LayoutEdge { from: n, to: (n * factor + 1) % count, label: (n % 4) as f64 * 9.0 };
            let arcs: Vec<LayoutEdge> = (0..count).map(arc).collect();
            let layout = Layout::new(&bodies, &arcs);
            for (one, (a, body_a)) in layout.centres.iter().zip(&bodies).enumerate() {
                assert!(a.x - body_a.width / 2.0 >= 0.0 && a.x + body_a.width / 2.0 <= layout.width);
                assert!(a.y - body_a.height / 2.0 >= 0.0 && a.y + body_a.height / 2.0 <= layout.height);
                for (b, body_b) in layout.centres.iter().zip(&bodies).skip(one + 1) {
                    let apart_x = (a.x - b.x).abs() >= (body_a.width + body_b.width) / 2.0;
                    let apart_y = (a.y - b.y).abs() >= (body_a.height + body_b.height) / 2.0;
                    assert!(apart_x || apart_y, "two of {count} boxes overlap");
                }
            }
            assert!(layout.routes.iter().all(|route| route.points.len() >= 2));
        }
    }
}
