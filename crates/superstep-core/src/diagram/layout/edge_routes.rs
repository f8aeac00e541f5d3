//! Computes the route of every edge after the boxes are placed.
//!
//! Edges that point down change sides only between rows, so they cross no box. Edges that close a cycle, or are too
//! long for dummies, run around the side: each in its own lane, outside everything in the rows it passes.

use super::layers::NodeLayers;
use super::x_positions::HorizontalExtent;
use super::{LABEL_GAP, LayoutEdge, NodeBox, Point, RowExtent, SELF_LOOP_WIDTH};

const LANE_SPACING: f64 = 18.0;
const PORT_SPACING: f64 = 16.0;

/// The route of one edge and the position of its label.
#[derive(Clone)]
pub(crate) struct EdgeRoute {
    pub(crate) points: Vec<Point>,
    /// True if the edge curves from row to row; otherwise it turns at right angles.
    pub(crate) is_curved: bool,
    /// Start of the label, or its end if it is placed left of its edge.
    pub(crate) label: Point,
    pub(crate) label_is_left: bool,
}

/// All results of the layout that the routing needs.
pub(super) struct RoutingInput<'a> {
    pub(super) bodies: &'a [NodeBox],
    pub(super) arcs: &'a [LayoutEdge],
    pub(super) rows: &'a NodeLayers,
    pub(super) reach: &'a [HorizontalExtent],
    pub(super) x: &'a [f64],
    pub(super) bands: &'a [RowExtent],
}

/// One end of a downward edge, on the border of its box.
#[derive(Clone, Copy)]
enum EdgeEnd {
    Leaves,
    Enters,
}

impl RoutingInput<'_> {
    pub(super) fn routes(&self) -> Vec<EdgeRoute> {
        let [leaves, enters] = [EdgeEnd::Leaves, EdgeEnd::Enters].map(|end| self.ports(end));
        let mut sides = SideLanes::new(self);
        let mut loops = vec![0; self.bodies.len()];
        let mut routes: Vec<Option<EdgeRoute>> = vec![None; self.arcs.len()];
        for (number, arc) in self.arcs.iter().enumerate() {
            if !self.rows.chains[number].is_empty() {
                routes[number] = Some(self.down(number, leaves[number], enters[number]));
            } else if arc.from == arc.to {
                routes[number] = Some(self.self_loop(arc, &mut loops[arc.from]));
            }
        }
        // Short detours first: they take the inner lanes.
        let mut detours: Vec<usize> = (0..self.arcs.len()).filter(|&number| routes[number].is_none()).collect();
        detours.sort_by_key(|&number| self.rank(self.arcs[number].from).abs_diff(self.rank(self.arcs[number].to)));
        for number in detours {
            routes[number] = Some(sides.detour(&self.arcs[number]));
        }
        routes.into_iter().flatten().collect()
    }

    fn rank(&self, vertex: usize) -> usize {
        self.rows.rank[vertex]
    }

    fn band(&self, vertex: usize) -> RowExtent {
        self.bands[self.rank(vertex)]
    }

    /// Returns, per edge, the horizontal position of one of its ends; the ends on one box are spread in the order
    /// of their neighbours.
    fn ports(&self, end: EdgeEnd) -> Vec<f64> {
        let mut ports = vec![0.0; self.arcs.len()];
        let mut ends: Vec<Vec<(f64, usize)>> = vec![Vec::new(); self.bodies.len()];
        for (number, chain) in self.rows.chains.iter().enumerate().filter(|(_, chain)| !chain.is_empty()) {
            let (vertex, neighbour) = match end {
                EdgeEnd::Leaves => (chain[0], chain[1]),
                EdgeEnd::Enters => (chain[chain.len() - 1], chain[chain.len() - 2]),
            };
            ends[vertex].push((self.x[neighbour], number));
        }
        for (vertex, mut ends) in ends.into_iter().enumerate() {
            ends.sort_by(|one, other| one.0.total_cmp(&other.0));
            let step = PORT_SPACING.min(self.bodies[vertex].width / (ends.len() + 1) as f64);
            let first = self.x[vertex] - step * ends.len().saturating_sub(1) as f64 / 2.0;
            for (position, (_, number)) in ends.into_iter().enumerate() {
                ports[number] = first + step * position as f64;
            }
        }
        ports
    }

    fn down(&self, number: usize, leaves: f64, enters: f64) -> EdgeRoute {
        let chain = &self.rows.chains[number];
        let LayoutEdge { from, to, .. } = self.arcs[number];
        let (start, end) = (self.band(from), self.band(to));
        let mut points = vec![
            Point { x: leaves, y: start.middle() + self.bodies[from].height / 2.0 },
            Point { x: leaves, y: start.bottom },
        ];
        for &dummy in &chain[1..chain.len() - 1] {
            let RowExtent { top, bottom } = self.band(dummy);
            points.extend([top, bottom].map(|y| Point { x: self.x[dummy], y }));
        }
        points.push(Point { x: enters, y: end.top });
        points.push(Point { x: enters, y: end.middle() - self.bodies[to].height / 2.0 });
        let carrier = chain[1];
        let label = Point { x: self.x[carrier] + LABEL_GAP, y: self.band(carrier).middle() };
        EdgeRoute { points, is_curved: true, label, label_is_left: false }
    }

    fn self_loop(&self, arc: &LayoutEdge, earlier: &mut usize) -> EdgeRoute {
        let body = self.bodies[arc.from];
        let total = self.arcs.iter().filter(|other| other.from == arc.from && other.to == arc.from).count();
        let (x, y) = (self.x[arc.from] + body.width / 2.0, self.band(arc.from).middle());
        let half = (body.height / 2.0 - 3.0).min(7.0 + 4.0 * *earlier as f64);
        let out = x + SELF_LOOP_WIDTH * (*earlier + 1) as f64;
        let label_y = y + (*earlier as f64 - (total - 1) as f64 / 2.0) * 14.0;
        *earlier += 1;
        EdgeRoute {
            points: [(x, y - half), (out, y - half), (out, y + half), (x, y + half)]
                .map(|(x, y)| Point { x, y })
                .into(),
            is_curved: false,
            label: Point { x: x + SELF_LOOP_WIDTH * total as f64 + LABEL_GAP, y: label_y },
            label_is_left: false,
        }
    }
}

/// The lanes in use: per row, the extent of everything to the left and to the right.
struct SideLanes<'a> {
    plan: &'a RoutingInput<'a>,
    left: Vec<f64>,
    right: Vec<f64>,
    /// Number of lines that cross sideways below each row; the first entry is the space above the first row.
    crossing: Vec<usize>,
    /// Number of lines that leave and that enter each box at a side.
    ports: Vec<[usize; 2]>,
}

impl<'a> SideLanes<'a> {
    fn new(plan: &'a RoutingInput<'a>) -> Self {
        let rows = &plan.rows.rows;
        let outermost = |row: &Vec<usize>, sign: f64| {
            let reach = |&vertex: &usize| plan.edge(vertex, sign) * sign;
            sign * row.iter().map(reach).fold(f64::MIN, f64::max)
        };
        let left = rows.iter().map(|row| outermost(row, -1.0)).collect();
        let right = rows.iter().map(|row| outermost(row, 1.0)).collect();
        Self { plan, left, right, crossing: vec![0; rows.len() + 1], ports: vec![[0; 2]; plan.bodies.len()] }
    }

    fn detour(&mut self, arc: &LayoutEdge) -> EdgeRoute {
        let plan = self.plan;
        let ends = [arc.from, arc.to];
        let is_free = |sign: f64| ends.map(|vertex| plan.is_outermost(vertex, sign));
        let is_left = is_free(1.0) != [true, true] && is_free(-1.0) == [true, true];
        let sign = if is_left { -1.0 } else { 1.0 };
        let [free_from, free_to] = is_free(sign);
        let lane = self.lane(arc, sign);
        let mut points = self.leg(arc.from, sign, (free_from, 1.0));
        let mut arrival = self.leg(arc.to, sign, (free_to, -1.0));
        let turn = [points[points.len() - 1].y, arrival[arrival.len() - 1].y];
        points.extend(turn.map(|y| Point { x: lane, y }));
        arrival.reverse();
        points.extend(arrival);
        let label = Point { x: lane + sign * LABEL_GAP, y: f64::midpoint(turn[0], turn[1]) };
        EdgeRoute { points, is_curved: false, label, label_is_left: is_left }
    }

    fn lane(&mut self, arc: &LayoutEdge, sign: f64) -> f64 {
        let [from, to] = [self.plan.rank(arc.from), self.plan.rank(arc.to)];
        let extents = if sign > 0.0 { &mut self.right } else { &mut self.left };
        let last = extents.len() - 1;
        let span = from.min(to).saturating_sub(1)..=(from.max(to) + 1).min(last);
        let outermost = extents[span.clone()].iter().map(|edge| edge * sign).fold(f64::MIN, f64::max);
        let lane = outermost + LANE_SPACING;
        let label = if arc.label > 0.0 { arc.label + LABEL_GAP } else { 0.0 };
        extents[span].fill((lane + label) * sign);
        lane * sign
    }

    /// Returns the points from a box to its lane: straight out if nothing is in between, else through the space
    /// between two rows.
    fn leg(&mut self, vertex: usize, sign: f64, (is_free, down): (bool, f64)) -> Vec<Point> {
        let (body, band, x) = (self.plan.bodies[vertex], self.plan.band(vertex), self.plan.x[vertex]);
        if is_free {
            let port = &mut self.ports[vertex][usize::from(down > 0.0)];
            *port += 1;
            let y = band.middle() + down * (body.height / 2.0 - 3.0).min(5.0 * *port as f64);
            return vec![Point { x: x + sign * body.width / 2.0, y }];
        }
        let rank = self.plan.rank(vertex);
        let crossing = &mut self.crossing[if down > 0.0 { rank + 1 } else { rank }];
        *crossing += 1;
        let away = 8.0 + 4.0 * ((*crossing - 1) % 4) as f64;
        let x = x + sign * body.width * 0.375;
        let edge = band.middle() + down * body.height / 2.0;
        let outside = if down > 0.0 { band.bottom + away } else { band.top - away };
        vec![Point { x, y: edge }, Point { x, y: outside }]
    }
}

impl RoutingInput<'_> {
    fn edge(&self, vertex: usize, sign: f64) -> f64 {
        let reach = self.reach[vertex];
        self.x[vertex] + if sign > 0.0 { reach.right } else { -reach.left }
    }

    /// Returns true if a line can leave the box sideways without touching another box, a label or the box's own
    /// loop.
    fn is_outermost(&self, vertex: usize, sign: f64) -> bool {
        let (vertex_reach, half) = (self.reach[vertex], self.bodies[vertex].width / 2.0);
        let is_bare = sign < 0.0 || vertex_reach.right <= half;
        let row = &self.rows.rows[self.rank(vertex)];
        let is_blocking = |&other: &usize| {
            let reach = self.reach[other];
            other != vertex && reach.left + reach.right > 0.0 && (self.x[other] - self.x[vertex]) * sign > 0.0
        };
        is_bare && !row.iter().any(is_blocking)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Layout, LayoutEdge, NodeBox};

    /// R-FWK-10: a backward line stays outside the boxes it passes.
    #[test]
    fn a_line_back_up_passes_beside_the_boxes_between() {
        let bodies = [10.0, 90.0, 10.0].map(|width| NodeBox { width, height: 20.0 });
        let arcs = [(0, 1), (1, 2), (2, 0)].map(|(from, to)| LayoutEdge { from, to, label: 0.0 });
        let layout = Layout::new(&bodies, &arcs);
        let lane = layout.routes[2].points[1].x;
        assert!(lane > layout.centres[1].x + 45.0);
        assert_eq!(layout.routes[2].points[2].x, lane);
    }

    /// R-FWK-10: two lines between the same boxes do not hide each other.
    #[test]
    fn parallel_lines_have_ports_of_their_own() {
        let arcs = [LayoutEdge { from: 0, to: 1, label: 0.0 }; 2];
        let layout = Layout::new(&[NodeBox { width: 60.0, height: 20.0 }; 2], &arcs);
        assert_ne!(layout.routes[0].points, layout.routes[1].points);
    }
}
