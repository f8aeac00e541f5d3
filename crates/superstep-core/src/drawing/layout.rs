//! Finds room for boxes and lines: a small layered layout.
//!
//! Knows rectangles and arcs, not graphs or text. Rows and their order come from `rank`, horizontal positions from
//! `place`, the course of the lines from `route`; this file decides heights and puts the parts together.

mod place;
mod rank;
mod route;

pub(super) use place::{Reach, place};
pub(super) use rank::Rows;
pub(super) use route::Route;

/// The room between two boxes of one row, and beside a line that has a label.
const GAP: f64 = 26.0;
/// The height of a line of text on an arc.
pub(super) const LABEL_HEIGHT: f64 = 16.0;
/// How far a label stands from its line.
pub(super) const LABEL_GAP: f64 = 6.0;
/// How far the first self-loop reaches out of its box, and each further one beyond it.
const LOOP: f64 = 16.0;
const MARGIN: f64 = 12.0;

/// A box to place.
#[derive(Clone, Copy)]
pub(super) struct Body {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A line to draw; `label` is the width of its label, 0 for none.
#[derive(Clone, Copy)]
pub(super) struct Arc {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: f64,
}

/// A point of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Where everything is: the centre of every body, the route of every arc, and the size of the whole.
pub(super) struct Layout {
    pub(super) centres: Vec<Point>,
    pub(super) routes: Vec<Route>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Layout {
    /// Places the bodies in rows and routes the arcs between them.
    pub(super) fn of(bodies: &[Body], arcs: &[Arc]) -> Self {
        let rows = Rows::arrange(bodies.len(), arcs);
        let reach = reaches(bodies, arcs, &rows);
        let x = place(&rows, &reach, GAP);
        let bands = bands(bodies, arcs, &rows, &x);
        let plan = route::Plan { bodies, arcs, rows: &rows, reach: &reach, x: &x, bands: &bands };
        let routes = plan.routes();
        let centre = |vertex: usize| Point { x: x[vertex], y: bands[rows.rank[vertex]].middle() };
        let mut layout = Self { centres: (0..bodies.len()).map(centre).collect(), routes, width: 0.0, height: 0.0 };
        layout.fit(bodies, arcs);
        layout
    }

    /// Moves everything so that it starts at the margin, and measures it.
    fn fit(&mut self, bodies: &[Body], arcs: &[Arc]) {
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
        let fold = |start: f64, pick: fn(f64, f64) -> f64| {
            let all = corners.iter().fold(None::<Point>, |seen, corner| {
                Some(seen.map_or(*corner, |seen| Point { x: pick(seen.x, corner.x), y: pick(seen.y, corner.y) }))
            });
            all.unwrap_or(Point { x: start, y: start })
        };
        let (least, most) = (fold(0.0, f64::min), fold(0.0, f64::max));
        let shift = |point: &mut Point| {
            point.x += MARGIN - least.x;
            point.y += MARGIN - least.y;
        };
        self.centres.iter_mut().for_each(shift);
        for route in &mut self.routes {
            route.points.iter_mut().for_each(shift);
            shift(&mut route.label);
        }
        self.width = most.x - least.x + 2.0 * MARGIN;
        self.height = most.y - least.y + 2.0 * MARGIN;
    }
}

/// The vertical room of one row.
#[derive(Clone, Copy)]
struct Band {
    top: f64,
    bottom: f64,
}

impl Band {
    fn middle(&self) -> f64 {
        f64::midpoint(self.top, self.bottom)
    }
}

/// Self-loops and the labels of arcs need room to the right of the vertex that carries them.
fn reaches(bodies: &[Body], arcs: &[Arc], rows: &Rows) -> Vec<Reach> {
    let mut reach = vec![Reach::default(); rows.rank.len()];
    for (reach, body) in reach.iter_mut().zip(bodies) {
        *reach = Reach { left: body.width / 2.0, right: body.width / 2.0 };
    }
    let mut widest = vec![0.0_f64; bodies.len()];
    for (arc, chain) in arcs.iter().zip(&rows.chains) {
        if arc.from == arc.to {
            reach[arc.from].right += LOOP;
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

/// Rows as high as their highest body; lines that run far sideways get more room to turn.
fn bands(bodies: &[Body], arcs: &[Arc], rows: &Rows, x: &[f64]) -> Vec<Band> {
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
        let band = Band { top, bottom: top + height };
        top = band.bottom + (sideways / 5.0).clamp(28.0, 90.0);
        band
    });
    band.collect()
}

#[cfg(test)]
mod tests {
    use super::{Arc, Body, Layout};

    /// R-FWK-10: whatever the shape of the graph, no two boxes overlap and everything lies inside.
    #[test]
    fn boxes_never_overlap_and_lie_inside_the_drawing() {
        for (count, factor) in [(1, 1), (2, 1), (9, 2), (40, 7), (120, 11)] {
            let bodies: Vec<Body> = (0..count)
                .map(|n| Body { width: 20.0 + (n % 5) as f64 * 17.0, height: 20.0 + (n % 3) as f64 * 30.0 })
                .collect();
            let arc = |n: usize| Arc { from: n, to: (n * factor + 1) % count, label: (n % 4) as f64 * 9.0 };
            let arcs: Vec<Arc> = (0..count).map(arc).collect();
            let layout = Layout::of(&bodies, &arcs);
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
