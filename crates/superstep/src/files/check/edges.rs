//! Validation of the number of nodes and edges, and of edge targets.

use super::super::model::OneOrMany;
use super::super::spanned::below;
use super::super::{END, START};
use super::{FileChecker, item_pointers};

/// Maximum number of nodes and edges of a graph.
const MAX_NODES: usize = 1_000;
const MAX_EDGES: usize = 10_000;

impl FileChecker<'_> {
    pub(super) fn sizes(&mut self) {
        let edges: usize =
            self.description.top.edges.iter().map(|edge| edge.from.names().len() * edge.to.names().len()).sum();
        for (pointer, label, count, max) in
            [("/nodes", "nodes", self.description.nodes.len(), MAX_NODES), ("/edges", "edges", edges, MAX_EDGES)]
        {
            if count > max {
                self.diagnostics.at(pointer, format!("{count} {label}; the maximum is {max}"), None);
            }
        }
        if self.description.nodes.is_empty() {
            self.diagnostics.at("/nodes", "the graph has no nodes", None);
        }
    }

    pub(super) fn edges(&mut self) {
        let description = self.description;
        for (number, edge) in description.top.edges.iter().enumerate() {
            let at = format!("/edges/{number}");
            let is_join = edge.from.names().len() > 1;
            for (key, ends, forbidden) in [("from", &edge.from, END), ("to", &edge.to, START)] {
                let pointer = below(&at, key);
                if ends.names().is_empty() {
                    self.diagnostics.at(&pointer, format!("`{key}` is empty"), None);
                }
                let is_single = matches!(ends, OneOrMany::One(_));
                for (item_pointer, name) in item_pointers(&pointer, ends.names())
                    .map(|(at, name)| (if is_single { pointer.clone() } else { at }, name))
                {
                    if name == forbidden {
                        let help =
                            if key == "from" { "`END` cannot be a source" } else { "`START` cannot be a target" };
                        self.diagnostics.at(
                            &item_pointer,
                            format!("an edge cannot have `{key} = \"{forbidden}\"`"),
                            Some(help.into()),
                        );
                    } else if is_join && key == "from" && name == START {
                        self.diagnostics.at(&item_pointer, "`START` cannot be a source of a join", None);
                    } else {
                        self.check_endpoint(&item_pointer, name);
                    }
                }
            }
        }
    }
}
