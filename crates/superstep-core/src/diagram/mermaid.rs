//! Renders a diagram as a Mermaid flowchart.
//!
//! Identifiers are made from numbers (node `n0`, block `g1`, join `j0`); user text appears only inside quotes, with
//! every character that Mermaid, its `%%{init}%%` directives or the Markdown of its labels could act on as an
//! entity (`#60;`).

use super::escape::escape_invisible;
use super::indexed::{IndexedDiagram, IndexedNode};
use super::{Diagram, NodeKind};

/// Returns the diagram as Mermaid text. Every statement ends with `;`.
pub(super) fn draw(diagram: &Diagram) -> String {
    let indexed = IndexedDiagram::new(diagram);
    let mut chart = MermaidWriter { lines: vec!["graph TD;".into()], deferred: Vec::new(), joins: Vec::new() };
    chart.graph(&indexed, 1);
    chart.classes();
    chart.lines.join("\n") + "\n"
}

struct MermaidWriter {
    lines: Vec<String>,
    deferred: Vec<String>,
    joins: Vec<String>,
}

impl MermaidWriter {
    fn line(&mut self, depth: usize, line: &str) {
        self.lines.push(format!("{}{line}", "  ".repeat(depth)));
    }

    fn graph(&mut self, indexed: &IndexedDiagram<'_>, depth: usize) {
        for node in &indexed.nodes {
            self.node(node, depth);
        }
        for join in &indexed.joins {
            self.line(depth, &format!("j{}((\"all\"));", join.number));
            self.joins.push(format!("j{}", join.number));
        }
        for link in &indexed.links {
            let arrow = if link.kind.is_conditional() { "-.->" } else { "-->" };
            let (from, to) = (indexed.nodes[link.from].exit(), indexed.nodes[link.to].entry());
            self.line(depth, &format!("n{from} {arrow}{} n{to};", on_edge(link.label)));
        }
        for join in &indexed.joins {
            for (source, label) in &join.sources {
                let from = indexed.nodes[*source].exit();
                self.line(depth, &format!("n{from} ---{} j{};", on_edge(*label), join.number));
            }
            self.line(depth, &format!("j{} --> n{};", join.number, indexed.nodes[join.target].entry()));
        }
    }

    fn node(&mut self, node: &IndexedNode<'_>, depth: usize) {
        let text = quoted(node.id);
        let id = format!("{}{}", if node.subgraph.is_some() { 'g' } else { 'n' }, node.number);
        if let Some(inner) = &node.subgraph {
            self.line(depth, &format!("subgraph {id}[{text}];"));
            if node.entry() == node.number || node.exit() == node.number {
                // A subgraph without start or end has no node that outer edges could connect to, so the block gets
                // a point.
                self.line(depth + 1, &format!("n{}((\" \"));", node.number));
            }
            self.graph(inner, depth + 1);
            self.line(depth, "end;");
        } else {
            let (open, close) = match node.kind {
                NodeKind::Start | NodeKind::End => ("([", "])"),
                NodeKind::Node => ("[", "]"),
                NodeKind::Subgraph => ("[[", "]]"),
            };
            self.line(depth, &format!("{id}{open}{text}{close};"));
        }
        if node.deferred {
            self.deferred.push(id);
        }
    }

    fn classes(&mut self) {
        let deferred = std::mem::take(&mut self.deferred);
        let joins = std::mem::take(&mut self.joins);
        for (name, style, members) in
            [("deferred", "stroke-dasharray:6 3,stroke-width:2px", deferred), ("join", "font-size:10px", joins)]
        {
            if !members.is_empty() {
                self.line(1, &format!("classDef {name} {style};"));
                self.line(1, &format!("class {} {name};", members.join(",")));
            }
        }
    }
}

fn on_edge(label: Option<&str>) -> String {
    label.map(|label| format!("|{}|", quoted(label))).unwrap_or_default()
}

fn quoted(text: &str) -> String {
    // Mermaid treats an empty string as a missing label and shows the identifier.
    if text.is_empty() { "\" \"".into() } else { format!("\"{}\"", escaped(text)) }
}

// Only characters that are known to be inert stay: letters and digits, single spaces, and `_` or `-` inside a word.
// The rest would be Markdown (Mermaid 11 reads `1. a` as a list), syntax, or Mermaid's own mask for entities
// (`ﬂ°°60¶ß`).
fn escaped(text: &str) -> String {
    let characters: Vec<char> = escape_invisible(text).chars().collect();
    let mut escaped = String::with_capacity(characters.len());
    for (position, &character) in characters.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(position + 1).copied();
        let inside_word = before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
        let is_inert = match character {
            'ﬂ' | '°' | '¶' | 'ß' => false,
            '_' | '-' => inside_word,
            ' ' => before.is_some_and(|before| before != ' ') && after.is_some(),
            other => other.is_ascii_alphanumeric() || !other.is_ascii(),
        };
        if is_inert {
            escaped.push(character);
        } else {
            escaped.push_str(&format!("#{};", u32::from(character)));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::quoted;

    /// R-FWK-10, R-REF-152: edges, conditional labels and loops.
    #[test]
    fn a_loop_with_conditions_is_drawn_dotted_and_labelled() {
        insta::assert_snapshot!(fixtures::agent().to_mermaid(), @r##"
        graph TD;
          n0(["#95;#95;start#95;#95;"]);
          n1["think"];
          n2["tools"];
          n3(["#95;#95;end#95;#95;"]);
          n0 --> n1;
          n1 -.->|"call"| n2;
          n1 -.->|"done"| n3;
          n2 --> n1;
        "##);
    }

    /// R-FWK-10, R-REF-152: a join is one circle, a deferred node has a class.
    #[test]
    fn a_join_is_a_shared_circle_and_a_deferred_node_is_marked() {
        insta::assert_snapshot!(fixtures::join().to_mermaid(), @r##"
        graph TD;
          n0(["#95;#95;start#95;#95;"]);
          n1["a"];
          n2["b"];
          n3["c"];
          n4["d"];
          n5(["#95;#95;end#95;#95;"]);
          j0(("all"));
          n0 --> n1;
          n1 --> n2;
          n1 --> n3;
          n4 --> n5;
          n2 --- j0;
          n3 --- j0;
          j0 --> n4;
          classDef deferred stroke-dasharray:6 3,stroke-width:2px;
          class n4 deferred;
          classDef join font-size:10px;
          class j0 join;
        "##);
    }

    /// R-FWK-10, R-REF-152: subgraphs are blocks, entered at their start.
    #[test]
    fn a_subgraph_is_a_block_around_its_nodes() {
        insta::assert_snapshot!(fixtures::nested().to_mermaid(), @r##"
        graph TD;
          n0(["#95;#95;start#95;#95;"]);
          subgraph g1["research"];
            n2(["#95;#95;start#95;#95;"]);
            n3["search"];
            n4(["#95;#95;end#95;#95;"]);
            n2 --> n3;
            n3 --> n4;
          end;
          n5["write"];
          n6(["#95;#95;end#95;#95;"]);
          n0 --> n2;
          n4 --> n5;
          n5 -.-> n2;
          n5 --> n6;
        "##);
    }

    /// R-FWK-10, R-REF-152: self-loops.
    #[test]
    fn a_self_loop_returns_to_its_node() {
        insta::assert_snapshot!(fixtures::self_loop().to_mermaid(), @r##"
        graph TD;
          n0(["#95;#95;start#95;#95;"]);
          n1["try"];
          n2(["#95;#95;end#95;#95;"]);
          n0 --> n1;
          n1 -.->|"again"| n1;
          n1 -.->|"ok"| n2;
        "##);
    }

    /// R-FWK-10: hostile names stay inside their quotes.
    #[test]
    fn hostile_labels_cannot_leave_their_quotes() {
        insta::assert_snapshot!(fixtures::hostile().to_mermaid(), @r##"
        graph TD;
          n0["#60;#47;text#62;#60;script#62;alert#40;1#41;#60;#47;script#62;"];
          n1["a#34;#93;#59; b#91;#34;c#92;n#92;"];
          n2["#96;#95;#95;md#95;#95;#96;"];
          n0 -.->|"#92;u#123;202e#125;evil#92;u#123;2069#125; #124; #60;b#62;#38;lt#59;"| n1;
          n1 --> n2;
        "##);
    }

    /// R-FWK-10: neither directives, Markdown, icons nor entity masks survive in a label.
    #[test]
    fn no_character_with_a_meaning_is_left_in_a_label() {
        for (input, drawn) in [
            ("snake_case a-b", "\"snake_case a-b\""),
            ("%%{init}%%", "\"#37;#37;#123;init#125;#37;#37;\""),
            ("1. x", "\"1#46; x\""),
            ("`a`", "\"#96;a#96;\""),
            ("fa:fa-ban", "\"fa#58;fa-ban\""),
            ("ﬂ°°60¶ß", "\"#64258;#176;#176;60#182;#223;\""),
            ("    code", "\"#32;#32;#32;#32;code\""),
            ("größe 検索", "\"grö#223;e 検索\""),
            ("", "\" \""),
        ] {
            assert_eq!(quoted(input), drawn);
        }
    }
}
