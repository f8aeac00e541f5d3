//! A graph as a node of another: fields with the same name are shared, the others stay inside.

use superstep::prelude::*;

#[derive(State, Clone, Serialize, Deserialize)]
struct Article {
    topic: String,
    #[reduce(append)]
    lines: Vec<String>,
}

#[derive(State, Clone, Serialize, Deserialize)]
struct Research {
    topic: String,
    #[reduce(append)]
    lines: Vec<String>,
    #[reduce(add)]
    rounds: u64, // only in here
}

fn research() -> superstep::Result<superstep::Compiled<Research>> {
    let mut graph = Graph::<Research>::new("research");
    let look = graph.node("look", |research: View<Research>| {
        let line = format!("fact {} about {}", research.rounds + 1, research.topic);
        Research::update().lines(line).rounds(1u64)
    });
    graph.edge(START, look);
    graph.route(look, move |r: &Research| if r.rounds < 3 { Go::to(look) } else { Go::end() }, [look.into(), END]);
    graph.compile()
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let mut graph = Graph::<Article>::new("article");
    let title = graph.node("title", |a: View<Article>| Article::update().lines(format!("On {}", a.topic)));
    let research = graph.node("research", research()?);
    let close = graph.node("close", || Article::update().lines("The end."));
    graph.sequence([START, title.into(), research.into(), close.into(), END]).checkpointer(Memory::new());
    let article = graph.compile()?;

    let done = article.run(Article::input().topic("foxes")).thread("t").await?;
    println!("{}", done.state.lines.join("\n"));
    for namespace in article.threads().namespaces("t").await? {
        // A path names each node on the way, and which of its tasks it was.
        let node = namespace.as_str().split(':').next().unwrap_or_default();
        println!("saved under {node:?}");
    }
    println!("{}", article.drawing().to_text());
    Ok(())
}
