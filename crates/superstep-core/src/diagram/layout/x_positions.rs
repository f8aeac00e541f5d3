//! Assigns horizontal positions to the vertices of ordered rows.
//!
//! Every row is moved, in turn, as near to its neighbours as order and width allow. The nearest arrangement under
//! those limits is a monotone regression, solved by pooling vertices that would overlap.

use super::layers::NodeLayers;

const SWEEPS: usize = 10;
/// Weights of the regression: an edge bends before a box moves, and a box without neighbours in the fixed row moves
/// freely.
const BOX_WEIGHT: f64 = 4.0;
const DUMMY_WEIGHT: f64 = 1.0;
const FREE_WEIGHT: f64 = 0.001;

/// The extent of a vertex to the left and to the right of its position.
#[derive(Clone, Copy, Default)]
pub(crate) struct HorizontalExtent {
    pub(crate) left: f64,
    pub(crate) right: f64,
}

/// Returns the position of every vertex, with at least `gap` between two in one row.
pub(crate) fn assign_x_positions(rows: &NodeLayers, reach: &[HorizontalExtent], gap: f64) -> Vec<f64> {
    let mut x = vec![0.0; rows.rank.len()];
    for row in &rows.rows {
        for (vertex, offset) in row.iter().zip(offsets(row, reach, gap)) {
            x[*vertex] = offset;
        }
    }
    let [above, below] = rows.neighbours();
    for sweep in 0..SWEEPS {
        let down = 0..rows.rows.len();
        let order: Vec<usize> = if sweep % 2 == 0 { down.collect() } else { down.rev().collect() };
        for row in order.into_iter().map(|row| &rows.rows[row]) {
            let near = if sweep % 2 == 0 { &above } else { &below };
            let target = |&vertex: &usize| match mean(&near[vertex], &x) {
                Some(x) => (x, if vertex < rows.real { BOX_WEIGHT } else { DUMMY_WEIGHT }),
                None => (x[vertex], FREE_WEIGHT),
            };
            let targets: Vec<(f64, f64)> = row.iter().map(target).collect();
            settle(row, &targets, &offsets(row, reach, gap), &mut x);
        }
    }
    x
}

fn mean(neighbours: &[usize], x: &[f64]) -> Option<f64> {
    let sum: f64 = neighbours.iter().map(|&neighbour| x[neighbour]).sum();
    (!neighbours.is_empty()).then(|| sum / neighbours.len() as f64)
}

/// Returns the positions of the vertices of a row if they were packed from zero.
fn offsets(row: &[usize], reach: &[HorizontalExtent], gap: f64) -> Vec<f64> {
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(row.len());
    for (position, &vertex) in row.iter().enumerate() {
        if position > 0 {
            offset += gap + reach[vertex].left;
        }
        offsets.push(offset);
        offset += reach[vertex].right;
    }
    offsets
}

fn settle(row: &[usize], targets: &[(f64, f64)], offsets: &[f64], x: &mut [f64]) {
    let mut pools: Vec<OverlapGroup> = Vec::new();
    for ((target, weight), offset) in targets.iter().zip(offsets) {
        let mut pool = OverlapGroup { sum: (target - offset) * weight, weight: *weight, members: 1 };
        while let Some(last) = pools.pop_if(|last| last.shift() > pool.shift()) {
            pool.sum += last.sum;
            pool.weight += last.weight;
            pool.members += last.members;
        }
        pools.push(pool);
    }
    let shifts = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.shift(), pool.members));
    for ((vertex, offset), shift) in row.iter().zip(offsets).zip(shifts) {
        x[*vertex] = offset + shift;
    }
}

/// Neighbours in a row at minimum distance, which move together.
struct OverlapGroup {
    sum: f64,
    weight: f64,
    members: usize,
}

impl OverlapGroup {
    fn shift(&self) -> f64 {
        self.sum / self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LayoutEdge, NodeLayers};
    use super::{HorizontalExtent, assign_x_positions};

    /// R-FWK-10: a parent is centred over its children, and nothing overlaps.
    #[test]
    fn a_parent_is_centred_over_its_children() {
        let arcs = [(0, 1), (0, 2), (0, 3)].map(|(from, to)| LayoutEdge { from, to, label: 0.0 });
        let rows = NodeLayers::arrange(4, &arcs);
        let x = assign_x_positions(&rows, &[HorizontalExtent { left: 5.0, right: 5.0 }; 4], 2.0);
        assert_eq!([x[1] - x[0], x[2] - x[0], x[3] - x[0]], [-12.0, 0.0, 12.0]);
    }
}
