//! Watching a run: the stream drives it and says what happens; dropping the stream stops the run.

use superstep::core::machine::Event;
use superstep::prelude::*;
use superstep::{EventKind, RunEvent};

#[derive(State, Clone, Serialize, Deserialize)]
struct Poem {
    #[reduce(append)]
    lines: Vec<String>,
}

async fn write(out: Writer) -> Result<PoemUpdate, NodeError> {
    for word in ["slow", "river", "light"] {
        out.send(word).await?; // a preview, seen before the node is done
    }
    Ok(Poem::update().lines("slow river light"))
}

async fn sign(cx: Cx) -> Result<PoemUpdate, NodeError> {
    if cx.attempt() == 1 {
        return Err(NodeError::new("the pen is dry").retryable());
    }
    Ok(Poem::update().lines("by nobody"))
}

fn line(event: RunEvent) -> String {
    match event.kind {
        EventKind::Custom { node, value, .. } => format!("{node} says {value}"),
        EventKind::Retry { node, attempt, error, .. } => {
            format!("{node} failed attempt {attempt}: {}", error.message())
        }
        EventKind::Machine(Event::TaskStarted { node, step, .. }) => format!("step {step}: {node} starts"),
        EventKind::Machine(Event::TaskDone { node, step, .. }) => format!("step {step}: {node} is done"),
        EventKind::Machine(Event::Values { step, .. }) => format!("step {step}: its updates are applied"),
        EventKind::Started { .. } => "it starts".to_owned(),
        EventKind::Ended { .. } => "it has ended".to_owned(),
        _ => "something else".to_owned(),
    }
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let mut graph = Graph::<Poem>::new("poem");
    let write = graph.node("write", write);
    let sign = graph.node("sign", node(sign).retry(Retry::default()));
    graph.sequence([START, write.into(), sign.into(), END]);
    let poem = graph.compile()?;

    let mut stream = poem.run(Poem::input().lines("The river")).stream();
    while let Some(event) = stream.next().await {
        println!("{}", line(event));
    }
    println!("{:?}", stream.finish().await?.state.lines);
    Ok(())
}
