//! Assigns every vertex to a row and orders the rows, without coordinates.
//!
//! Longest-path layering with backward edges left out, one dummy per row an edge crosses, barycentre ordering.
//! Nothing here recurses: a graph may be a chain of any length.

use super::LayoutEdge;

/// Maximum number of dummy vertices. More of them cost time without making the diagram clearer; the remaining edges
/// are routed around the side.
const MAX_DUMMIES: usize = 12_000;
const SWEEPS: usize = 12;

/// The rows from top to bottom. Vertices numbered from `real` on are dummies.
pub(crate) struct NodeLayers {
    pub(crate) rows: Vec<Vec<usize>>,
    pub(crate) rank: Vec<usize>,
    pub(crate) real: usize,
    /// Vertices that each edge passes, ends included; empty for edges around the side and for loops.
    pub(crate) chains: Vec<Vec<usize>>,
}

impl NodeLayers {
    /// Arranges `count` vertices so that edges point down wherever the graph allows it.
    pub(crate) fn arrange(count: usize, arcs: &[LayoutEdge]) -> Self {
        let backward = backward(count, arcs);
        let mut rows = Self { rows: Vec::new(), rank: rank(count, arcs, &backward), real: count, chains: Vec::new() };
        rows.chain(arcs, &backward);
        let height = rows.rank.iter().max().map_or(0, |last| last + 1);
        rows.rows = vec![Vec::new(); height];
        for (vertex, &rank) in rows.rank.iter().enumerate() {
            rows.rows[rank].push(vertex);
        }
        rows.order();
        rows
    }

    fn chain(&mut self, arcs: &[LayoutEdge], backward: &[bool]) {
        self.chains = vec![Vec::new(); arcs.len()];
        let mut forward: Vec<usize> = (0..arcs.len()).filter(|&arc| !backward[arc]).collect();
        forward.sort_by_key(|&arc| self.rank[arcs[arc].to] - self.rank[arcs[arc].from]);
        for number in forward {
            let LayoutEdge { from, to, .. } = arcs[number];
            let between = self.rank[from] + 1..self.rank[to];
            if self.rank.len() - self.real + between.len() > MAX_DUMMIES.max(self.real) {
                continue;
            }
            let first = self.rank.len();
            self.rank.extend(between);
            self.chains[number].push(from);
            self.chains[number].extend(first..self.rank.len());
            self.chains[number].push(to);
        }
    }

    /// Returns the neighbours of every vertex in the row above and in the row below.
    pub(crate) fn neighbours(&self) -> [Vec<Vec<usize>>; 2] {
        let mut above = vec![Vec::new(); self.rank.len()];
        let mut below = vec![Vec::new(); self.rank.len()];
        for pair in self.chains.iter().flat_map(|chain| chain.windows(2)) {
            below[pair[0]].push(pair[1]);
            above[pair[1]].push(pair[0]);
        }
        [above, below]
    }

    fn order(&mut self) {
        let [above, below] = self.neighbours();
        let mut best = self.rows.clone();
        let mut min_crossings = self.crossings(&below);
        let mut positions = vec![0.0; self.rank.len()];
        for sweep in 0..SWEEPS {
            if min_crossings == 0 {
                break;
            }
            if sweep % 2 == 0 {
                (1..self.rows.len()).for_each(|row| self.sort([row, row - 1], &above, &mut positions));
            } else {
                (1..self.rows.len()).rev().for_each(|row| self.sort([row - 1, row], &below, &mut positions));
            }
            let crossings = self.crossings(&below);
            if crossings < min_crossings {
                min_crossings = crossings;
                best.clone_from(&self.rows);
            }
        }
        self.rows = best;
    }

    // `positions` is scratch space with one entry per vertex; only the entries of the fixed row are read.
    fn sort(&mut self, [row, fixed]: [usize; 2], neighbours: &[Vec<usize>], positions: &mut [f64]) {
        for (position, &vertex) in self.rows[fixed].iter().enumerate() {
            positions[vertex] = position as f64;
        }
        let mut keyed: Vec<(f64, usize)> = Vec::new();
        for (position, &vertex) in self.rows[row].iter().enumerate() {
            let near = &neighbours[vertex];
            let sum: f64 = near.iter().map(|&neighbour| positions[neighbour]).sum();
            keyed.push((if near.is_empty() { position as f64 } else { sum / near.len() as f64 }, vertex));
        }
        keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.rows[row] = keyed.into_iter().map(|(_, vertex)| vertex).collect();
    }

    fn crossings(&self, below: &[Vec<usize>]) -> usize {
        let mut positions = vec![0; self.rank.len()];
        for row in &self.rows {
            row.iter().enumerate().for_each(|(position, &vertex)| positions[vertex] = position);
        }
        let mut total = 0;
        for (number, row) in self.rows.iter().enumerate() {
            let mut ends = Vec::new();
            for &vertex in row {
                let mut near: Vec<usize> = below[vertex].iter().map(|&neighbour| positions[neighbour]).collect();
                near.sort_unstable();
                ends.extend(near);
            }
            total += inversions(&ends, self.rows.get(number + 1).map_or(0, Vec::len));
        }
        total
    }
}

// A Fenwick tree over the positions below: counts the earlier edges that end to the right of each later one.
fn inversions(ends: &[usize], width: usize) -> usize {
    let mut tree = vec![0_usize; width + 1];
    let mut total = 0;
    for (seen, &end) in ends.iter().enumerate() {
        let mut at_most = 0;
        let mut index = end + 1;
        while index > 0 {
            at_most += tree[index];
            index &= index - 1;
        }
        total += seen - at_most;
        index = end + 1;
        while index <= width {
            tree[index] += 1;
            index += index & index.wrapping_neg();
        }
    }
    total
}

/// Marks the edges that close a cycle, by depth-first search from the vertices without incoming edges. Self-loops
/// count.
fn backward(count: usize, arcs: &[LayoutEdge]) -> Vec<bool> {
    let mut outgoing = vec![Vec::new(); count];
    let mut is_entered = vec![false; count];
    for (number, arc) in arcs.iter().enumerate() {
        outgoing[arc.from].push(number);
        is_entered[arc.to] |= arc.from != arc.to;
    }
    let mut backward = vec![false; arcs.len()];
    let mut is_open = vec![false; count];
    let mut is_seen = vec![false; count];
    let (entered, roots): (Vec<usize>, Vec<usize>) = (0..count).partition(|&vertex| is_entered[vertex]);
    for root in roots.into_iter().chain(entered) {
        let mut path = Vec::new();
        if !is_seen[root] {
            (is_seen[root], is_open[root]) = (true, true);
            path.push((root, 0));
        }
        while let Some((vertex, next_index)) = path.last_mut() {
            let Some(&number) = outgoing[*vertex].get(*next_index) else {
                is_open[*vertex] = false;
                path.pop();
                continue;
            };
            *next_index += 1;
            let to = arcs[number].to;
            backward[number] = is_open[to];
            if !is_seen[to] {
                (is_seen[to], is_open[to]) = (true, true);
                path.push((to, 0));
            }
        }
    }
    backward
}

/// Returns the row of every vertex: below all its predecessors, with one extra row where an edge carries a label.
fn rank(count: usize, arcs: &[LayoutEdge], backward: &[bool]) -> Vec<usize> {
    let mut waiting = vec![0_usize; count];
    let mut outgoing = vec![Vec::new(); count];
    for (arc, _) in arcs.iter().zip(backward).filter(|(_, is_backward)| !**is_backward) {
        waiting[arc.to] += 1;
        outgoing[arc.from].push(arc);
    }
    let mut rank = vec![0; count];
    let mut ready: Vec<usize> = (0..count).filter(|&vertex| waiting[vertex] == 0).collect();
    while let Some(vertex) = ready.pop() {
        for arc in &outgoing[vertex] {
            let rows = if arc.label > 0.0 { 2 } else { 1 };
            rank[arc.to] = rank[arc.to].max(rank[vertex] + rows);
            waiting[arc.to] -= 1;
            if waiting[arc.to] == 0 {
                ready.push(arc.to);
            }
        }
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::super::LayoutEdge;
    use super::NodeLayers;

    fn arrange(count: usize, arcs: &[(usize, usize)]) -> NodeLayers {
        let arcs: Vec<LayoutEdge> = arcs.iter().map(|&(from, to)| LayoutEdge { from, to, label: 0.0 }).collect();
        NodeLayers::arrange(count, &arcs)
    }

    /// R-FWK-10: a loop does not change the rows; its backward edge is routed around the side.
    #[test]
    fn arcs_that_close_a_cycle_are_left_out_of_the_rows() {
        let rows = arrange(4, &[(0, 1), (1, 2), (1, 3), (2, 1), (2, 2)]);
        assert_eq!(rows.rows, [vec![0], vec![1], vec![2, 3]]);
        assert_eq!(rows.chains, [vec![0, 1], vec![1, 2], vec![1, 3], vec![], vec![]]);
    }

    /// R-FWK-10: an edge over several rows passes one dummy in each.
    #[test]
    fn a_long_arc_has_one_dummy_per_row_it_crosses() {
        let rows = arrange(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]);
        assert_eq!(rows.chains[3], [0, 4, 5, 3]);
    }

    /// R-FWK-10: neighbours are ordered so that avoidable crossings are avoided.
    #[test]
    fn ordering_removes_a_needless_crossing() {
        let rows = arrange(5, &[(0, 1), (0, 2), (1, 4), (2, 3)]);
        let [first, second] = [&rows.rows[1], &rows.rows[2]];
        assert_eq!((first[0] == 1, second[0] == 4), (true, true));
    }

    /// R-FWK-10: a long chain neither overflows the stack nor loses a row.
    #[test]
    fn a_chain_of_a_hundred_thousand_has_as_many_rows() {
        let arcs: Vec<_> = (1..100_000).map(|to| (to - 1, to)).collect();
        assert_eq!(arrange(100_000, &arcs).rows.len(), 100_000);
    }
}
