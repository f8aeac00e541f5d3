//! Dominators: the vertices that every path from the root to a vertex passes.
//!
//! After Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm": a few passes over the vertices in
//! reverse postorder. Works on numbers only, not on graphs.

/// The dominators of the vertices that can be reached from the root.
pub(super) struct Dominators {
    nearest: Vec<Option<usize>>,
}

impl Dominators {
    /// Computes the dominators of vertices with the successors `next`; the last vertex is the root.
    pub(super) fn new(next: &[Vec<usize>]) -> Self {
        let root = next.len() - 1;
        let order = postorder(next, root);
        let mut rank = vec![0; next.len()];
        order.iter().enumerate().for_each(|(position, at)| rank[*at] = position);
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); next.len()];
        for at in &order {
            next[*at].iter().for_each(|to| before[*to].push(*at));
        }
        let mut nearest = vec![None; next.len()];
        nearest[root] = Some(root);
        let mut is_settled = false;
        while !is_settled {
            is_settled = true;
            for at in order.iter().rev().filter(|at| **at != root) {
                let processed = before[*at].iter().copied().filter(|from| nearest[*from].is_some());
                let dominator = processed.reduce(|left, right| nearest_common_dominator(&nearest, &rank, left, right));
                is_settled &= nearest[*at] == dominator;
                nearest[*at] = dominator;
            }
        }
        Self { nearest }
    }

    /// Returns true if there is a path from the root.
    pub(super) fn is_reachable(&self, at: usize) -> bool {
        self.nearest[at].is_some()
    }

    /// Returns true if every path from the root to `at`, if there is one, passes `through`.
    pub(super) fn dominates(&self, through: usize, at: usize) -> bool {
        let mut at = at;
        while at != through {
            match self.nearest[at] {
                Some(above) if above != at => at = above,
                _ => return false,
            }
        }
        self.is_reachable(through)
    }
}

/// Returns the reachable vertices, each after its successors, except along backward edges.
fn postorder(next: &[Vec<usize>], root: usize) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::new(), vec![false; next.len()]);
    let mut open = vec![(root, 0)];
    seen[root] = true;
    while let Some((at, child)) = open.last_mut() {
        match next[*at].get(*child) {
            Some(to) => {
                *child += 1;
                if !std::mem::replace(&mut seen[*to], true) {
                    open.push((*to, 0));
                }
            }
            None => {
                order.push(*at);
                open.pop();
            }
        }
    }
    order
}

/// Returns the nearest common dominator of two vertices.
fn nearest_common_dominator(nearest: &[Option<usize>], rank: &[usize], mut left: usize, mut right: usize) -> usize {
    let up = |at: usize| nearest[at].expect("only processed vertices are compared");
    while left != right {
        if rank[left] < rank[right] { left = up(left) } else { right = up(right) }
    }
    left
}
