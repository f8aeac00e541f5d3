//! Tests of the SVG format: well formed, every label once, nothing active.

use super::super::{Diagram, DiagramEdge, DiagramNode, EdgeKind, NodeKind, fixtures};

/// Parses a document tag by tag: every tag is closed in order, and no bare `<`, `>` or `&` is left in text.
fn check_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        check_text(&rest[..start]);
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "odd quotes in <{tag}>");
        assert!(!tag.contains('<'), "a tag inside <{tag}>");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a tag has a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    check_text(rest);
    assert_eq!(open, Vec::<&str>::new());
}

fn check_text(text: &str) {
    assert!(!text.contains('>'), "bare `>` in {text}");
    for entity in text.split('&').skip(1) {
        let name = entity.split(';').next().expect("split gives a part");
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "bare `&` in {text}");
    }
    assert!(text.chars().all(|character| character == '\n' || !character.is_control()), "control in {text:?}");
}

fn check(diagram: &Diagram, labels: &[&str]) -> String {
    let svg = diagram.to_svg();
    check_well_formed(&svg);
    for label in labels {
        assert_eq!(svg.matches(&format!(">{label}</text>")).count(), 1, "{label} in {svg}");
    }
    for active in ["<script", "href", "onload", "<foreignObject", "<image"] {
        assert!(!svg.contains(active));
    }
    svg
}

/// R-FWK-10: the agent loop as SVG: dashed conditional edges, a backward edge around the side.
#[test]
fn a_loop_with_conditions_is_drawn_dashed_and_labelled() {
    check(&fixtures::agent(), &["think", "tools", "__start__", "__end__", "call", "done"]);
    insta::assert_snapshot!(fixtures::agent().to_svg(), @r#"
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 218 226" width="218" height="226" role="graphics-document document" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="none" stroke="currentColor" stroke-width="1.3">
    <title>agent</title>
    <style>svg:root{color:#1f2328}@media(prefers-color-scheme:dark){svg:root{color:#e6edf3}}</style><defs><marker id="superstep-arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 1L10 5L0 9z" fill="currentColor" stroke="none"/></marker></defs>
    <path d="M117 46V74" marker-end="url(#superstep-arrow)"/>
    <path d="M109 108C109 122 68 122 68 136V152V180" stroke-dasharray="6 4" marker-end="url(#superstep-arrow)"/>
    <text x="74" y="144" dy=".32em" font-size="11" text-anchor="start" fill="currentColor" stroke="none">call</text>
    <path d="M125 108C125 122 166 122 166 136V152V180" stroke-dasharray="6 4" marker-end="url(#superstep-arrow)"/>
    <text x="172" y="144" dy=".32em" font-size="11" text-anchor="start" fill="currentColor" stroke="none">done</text>
    <path d="M36 202L26 202Q18 202 18 194L18 94Q18 86 26 86L85 86" marker-end="url(#superstep-arrow)"/>
    <g role="graphics-symbol img"><title>__start__ (start)</title><rect x="69" y="12" width="96" height="34" rx="17" fill="currentColor" fill-opacity=".08"/>
    <text x="117" y="29" dy=".32em" font-size="13" text-anchor="middle" fill="currentColor" stroke="none">__start__</text>
    </g>
    <g role="graphics-symbol img"><title>think (node)</title><rect x="85" y="74" width="64" height="34" rx="6" fill="currentColor" fill-opacity=".08"/>
    <text x="117" y="91" dy=".32em" font-size="13" text-anchor="middle" fill="currentColor" stroke="none">think</text>
    </g>
    <g role="graphics-symbol img"><title>tools (node)</title><rect x="36" y="180" width="64" height="34" rx="6" fill="currentColor" fill-opacity=".08"/>
    <text x="68" y="197" dy=".32em" font-size="13" text-anchor="middle" fill="currentColor" stroke="none">tools</text>
    </g>
    <g role="graphics-symbol img"><title>__end__ (end)</title><rect x="126" y="180" width="80" height="34" rx="17" fill="currentColor" fill-opacity=".08"/>
    <text x="166" y="197" dy=".32em" font-size="13" text-anchor="middle" fill="currentColor" stroke="none">__end__</text>
    </g>
    </svg>
    "#);
}

/// R-FWK-10: a join is one circle, a deferred node is labelled as deferred.
#[test]
fn a_join_is_a_shared_circle_and_a_deferred_node_is_marked() {
    let svg = check(&fixtures::join(), &["a", "b", "c", "d", "deferred"]);
    assert_eq!(svg.matches("<circle").count(), 1);
    assert!(svg.contains("<title>waits for b, c</title>") && svg.contains("<title>d (node, deferred)</title>"));
}

/// R-FWK-10: a subgraph is a box that contains its own diagram.
#[test]
fn a_subgraph_contains_its_inner_drawing() {
    let svg = check(&fixtures::nested(), &["research", "search", "write"]);
    let [outer, inner] = [">research</text>", ">search</text>"].map(|text| svg.find(text).expect("drawn"));
    assert!(outer < inner && svg.contains("<g transform=\"translate("));
}

/// R-FWK-10: a self-loop leaves and enters the same box.
#[test]
fn a_self_loop_returns_to_its_node() {
    check(&fixtures::self_loop(), &["try", "again", "ok"]);
}

/// R-FWK-10: hostile names are text, whatever they contain.
#[test]
fn hostile_labels_stay_text() {
    let labels = [
        "&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;",
        "a&quot;]; b[&quot;c\\n\\",
        "\\u{202e}evil\\u{2069} | &lt;b&gt;&amp;lt;",
        "`__md__`",
    ];
    check(&fixtures::hostile(), &labels);
}

/// R-FWK-10: a name too long for a box is truncated in the box and complete in the title.
#[test]
fn long_names_are_truncated_in_the_box_and_complete_in_the_title() {
    let name = "x".repeat(300);
    let nodes = vec![DiagramNode::new(name.as_str(), NodeKind::Node)];
    let svg = check(&Diagram { name: "long".into(), nodes, edges: vec![] }, &[&("x".repeat(39) + "…")]);
    assert!(svg.contains(&format!("<title>{name} (node)</title>")));
}

/// R-FWK-10: every edge of a large tangled graph is drawn.
#[test]
fn a_thousand_nodes_are_drawn_with_every_edge() {
    let name = |n: usize| format!("n{}", n % 1000);
    let edge = |n: usize| DiagramEdge::new(name(n), name(n * 7 + n / 1000 + 1), EdgeKind::Plain);
    let nodes = (0..1000).map(|n| DiagramNode::new(name(n), NodeKind::Node)).collect();
    let diagram = Diagram { name: "large".into(), nodes, edges: (0..3000).map(edge).collect() };
    let svg = check(&diagram, &["n0", "n999"]);
    assert_eq!(svg.matches("marker-end").count(), 3000);
}

/// R-FWK-10: an empty graph gives an empty image, not an error.
#[test]
fn an_empty_graph_is_an_empty_picture() {
    let svg = check(&Diagram { name: String::new(), nodes: vec![], edges: vec![] }, &[]);
    assert!(svg.contains("viewBox=\"0 0 24 24\""));
}
