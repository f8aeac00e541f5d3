//! Which places every way from the root leads through.
//!
//! After Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm": a few passes over the places in
//! reverse postorder. Knows numbers only, no graphs.

/// The dominators of the places that can be reached from the root.
pub(super) struct Dominators {
    nearest: Vec<Option<usize>>,
}

impl Dominators {
    /// Of places that lead to each other as `next` says; the last of them is the root.
    pub(super) fn of(next: &[Vec<usize>]) -> Self {
        let root = next.len() - 1;
        let order = postorder(next, root);
        let mut rank = vec![0; next.len()];
        order.iter().enumerate().for_each(|(place, at)| rank[*at] = place);
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
                let known = before[*at].iter().copied().filter(|from| nearest[*from].is_some());
                let found = known.reduce(|left, right| meet(&nearest, &rank, left, right));
                is_settled &= nearest[*at] == found;
                nearest[*at] = found;
            }
        }
        Self { nearest }
    }

    /// Whether there is a way from the root.
    pub(super) fn is_reached(&self, at: usize) -> bool {
        self.nearest[at].is_some()
    }

    /// Whether every way from the root to `at`, if there is one, leads through `through`.
    pub(super) fn dominates(&self, through: usize, at: usize) -> bool {
        let mut at = at;
        while at != through {
            match self.nearest[at] {
                Some(above) if above != at => at = above,
                _ => return false,
            }
        }
        self.is_reached(through)
    }
}

/// The places that can be reached, each after those it leads to, except where that goes round.
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

/// The nearest place both lie below.
fn meet(nearest: &[Option<usize>], rank: &[usize], mut left: usize, mut right: usize) -> usize {
    let up = |at: usize| nearest[at].expect("only settled places are compared");
    while left != right {
        if rank[left] < rank[right] { left = up(left) } else { right = up(right) }
    }
    left
}
