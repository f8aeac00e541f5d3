//! Draws the lines between two rows of boxes.
//!
//! A set of sources and targets shares one horizontal line only if every source leads to every target; any other
//! set would show edges that do not exist, and appears only in the list of edges.

use std::collections::{BTreeMap, BTreeSet};

use super::super::indexed::IndexedDiagram;
use super::TextBox;

/// The lines below a row, and the columns where they leave its boxes.
#[derive(Default)]
pub(super) struct ConnectorRows {
    pub(super) lines: Vec<String>,
    pub(super) sources: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineStyle {
    Solid,
    Dashed,
    Double,
}

/// A group of connected boxes, by column, with the styles of their edges.
struct ConnectorGroup {
    sources: BTreeSet<usize>,
    targets: BTreeSet<usize>,
    edges: BTreeMap<(usize, usize), BTreeSet<LineStyle>>,
}

/// Connects a row with the row below it.
pub(super) fn connect(indexed: &IndexedDiagram<'_>, row: &[TextBox], below: &[TextBox]) -> ConnectorRows {
    let mut gap = ConnectorRows::default();
    let width = row.iter().chain(below).map(|cell| cell.left + cell.width).max().unwrap_or(0);
    let (mut across, mut arrows) = (vec![' '; width], vec![' '; width]);
    let mut free_from = 0;
    for bus in buses(edges(indexed, row, below)) {
        let columns: BTreeSet<usize> = bus.sources.union(&bus.targets).copied().collect();
        let (Some(&first), Some(&last)) = (columns.first(), columns.last()) else { continue };
        let is_complete = bus.edges.len() == bus.sources.len() * bus.targets.len();
        if !is_complete || first < free_from {
            continue;
        }
        free_from = last + 1;
        for (column, symbol) in across.iter_mut().enumerate().take(last + 1).skip(first) {
            *symbol = bus.character(column, first, last);
        }
        bus.targets.iter().for_each(|&target| arrows[target] = '▼');
        gap.sources.extend(bus.sources);
    }
    if !gap.sources.is_empty() {
        gap.lines = [across, arrows].map(|line| line.into_iter().collect()).into();
    }
    gap
}

fn edges(
    indexed: &IndexedDiagram<'_>,
    row: &[TextBox],
    below: &[TextBox],
) -> BTreeMap<(usize, usize), BTreeSet<LineStyle>> {
    let middles = |cells: &[TextBox]| cells.iter().map(|cell| (cell.vertex, cell.middle())).collect::<BTreeMap<_, _>>();
    let (from, to) = (middles(row), middles(below));
    let links = indexed.links.iter().map(|link| {
        (link.from, link.to, if link.kind.is_conditional() { LineStyle::Dashed } else { LineStyle::Solid })
    });
    let joins = indexed
        .joins
        .iter()
        .flat_map(|join| join.sources.iter().map(|source| (source.0, join.target, LineStyle::Double)));
    let mut edges: BTreeMap<_, BTreeSet<LineStyle>> = BTreeMap::new();
    for (source, target, stroke) in links.chain(joins) {
        if let (Some(&source), Some(&target)) = (from.get(&source), to.get(&target)) {
            edges.entry((source, target)).or_default().insert(stroke);
        }
    }
    edges
}

/// Returns the connected groups, from left to right.
fn buses(edges: BTreeMap<(usize, usize), BTreeSet<LineStyle>>) -> Vec<ConnectorGroup> {
    let mut buses: Vec<ConnectorGroup> = Vec::new();
    for ((source, target), strokes) in edges {
        let mut bus = ConnectorGroup {
            sources: [source].into(),
            targets: [target].into(),
            edges: [((source, target), strokes)].into(),
        };
        let (touching, apart): (Vec<ConnectorGroup>, Vec<ConnectorGroup>) =
            buses.into_iter().partition(|other| other.sources.contains(&source) || other.targets.contains(&target));
        for mut other in touching {
            bus.sources.append(&mut other.sources);
            bus.targets.append(&mut other.targets);
            bus.edges.append(&mut other.edges);
        }
        buses = apart;
        buses.push(bus);
    }
    buses.sort_by_key(|bus| bus.sources.first().min(bus.targets.first()).copied());
    buses
}

impl ConnectorGroup {
    /// Returns the style that all edges share, or solid if they differ: the list of edges shows the difference.
    fn stroke(&self) -> LineStyle {
        let mut strokes = self.edges.values().flatten();
        let first = strokes.next().copied().unwrap_or(LineStyle::Solid);
        if strokes.all(|stroke| *stroke == first) { first } else { LineStyle::Solid }
    }

    fn character(&self, column: usize, first: usize, last: usize) -> char {
        let (up, down) = (self.sources.contains(&column), self.targets.contains(&column));
        let (left, right) = (column > first, column < last);
        let single_and_double = match (up, down, left, right) {
            (true, true, false, false) => ['│', '║'],
            (true, true, true, true) => ['┼', '╬'],
            (true, true, false, true) => ['├', '╠'],
            (true, true, true, false) => ['┤', '╣'],
            (true, false, true, true) => ['┴', '╩'],
            (true, false, false, _) => ['└', '╚'],
            (true, false, true, false) => ['┘', '╝'],
            (false, true, true, true) => ['┬', '╦'],
            (false, true, false, _) => ['┌', '╔'],
            (false, true, true, false) => ['┐', '╗'],
            (false, false, _, _) => ['─', '═'],
        };
        match (self.stroke(), single_and_double) {
            (LineStyle::Double, [_, double]) => double,
            (LineStyle::Dashed, ['│', _]) => '┆',
            (LineStyle::Dashed, ['─', _]) => '┄',
            (_, [single, _]) => single,
        }
    }
}
