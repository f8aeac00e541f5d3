//! A graph as a node of another: fields with the same name are shared, the others are private to the subgraph.

use superstep::prelude::*;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Article {
    topic: String,
    #[reduce(append)]
    lines: Vec<String>,
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Research {
    topic: String,
    #[reduce(append)]
    lines: Vec<String>,
    #[reduce(add)]
    rounds: u64, // private to the subgraph
}

fn research() -> superstep::Result<superstep::CompiledGraph<Research>> {
    let mut graph = StateGraph::<Research>::new("research");
    let lookup = graph.add_node("look", |research: View<Research>| {
        let line = format!("fact {} about {}", research.rounds + 1, research.topic);
        Research::update().lines(line).rounds(1u64)
    });
    graph.add_edge(START, lookup);
    graph.add_conditional_edges(
        lookup,
        move |r: &Research| if r.rounds < 3 { Goto::node(lookup) } else { Goto::end() },
        [lookup.into(), END],
    );
    graph.compile()
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let mut graph = StateGraph::<Article>::new("article");
    let title = graph.add_node("title", |a: View<Article>| Article::update().lines(format!("On {}", a.topic)));
    let research = graph.add_node("research", research()?);
    let close = graph.add_node("close", || Article::update().lines("The end."));
    graph
        .add_sequence([START, title.into(), research.into(), close.into(), END])
        .checkpointer(MemoryCheckpointer::new());
    let article = graph.compile()?;

    let done = article.invoke(Article::input().topic("foxes")).thread("t").await?;
    println!("{}", done.state.lines.join("\n"));
    for namespace in article.threads().namespaces("t").await? {
        // A namespace names each node of the path, with the task id.
        let node = namespace.as_str().split(':').next().unwrap_or_default();
        println!("saved under {node:?}");
    }
    println!("{}", article.diagram().to_text());
    Ok(())
}
