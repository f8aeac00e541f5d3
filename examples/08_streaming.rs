//! Streaming a run: reading the stream drives the run and returns its events; dropping the stream stops the run.

use superstep::core::machine::MachineEvent;
use superstep::prelude::*;
use superstep::{EventKind, RunEvent};

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Poem {
    #[reduce(append)]
    lines: Vec<String>,
}

async fn write(out: StreamWriter) -> Result<PoemUpdate, NodeError> {
    for word in ["slow", "river", "light"] {
        out.send(word).await?; // a preview, streamed before the node ends
    }
    Ok(Poem::update().lines("slow river light"))
}

async fn sign(cx: TaskContext) -> Result<PoemUpdate, NodeError> {
    if cx.attempt() == 1 {
        return Err(NodeError::new("the pen is dry").retryable());
    }
    Ok(Poem::update().lines("by nobody"))
}

fn describe_event(event: RunEvent) -> String {
    match event.kind {
        EventKind::Custom { node, value, .. } => format!("{node} streams {value}"),
        EventKind::Retry { node, attempt, error, .. } => {
            format!("{node} failed attempt {attempt}: {}", error.message())
        }
        EventKind::Machine(MachineEvent::TaskStarted { node, step, .. }) => format!("step {step}: {node} starts"),
        EventKind::Machine(MachineEvent::TaskFinished { node, step, .. }) => format!("step {step}: {node} ends"),
        EventKind::Machine(MachineEvent::Values { step, .. }) => format!("step {step}: updates applied"),
        EventKind::Started { .. } => "the run starts".to_owned(),
        EventKind::Ended { .. } => "the run ends".to_owned(),
        _ => "another event".to_owned(),
    }
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let mut graph = StateGraph::<Poem>::new("poem");
    let write = graph.add_node("write", write);
    let sign = graph.add_node("sign", node(sign).retry(RetryPolicy::default()));
    graph.add_sequence([START, write.into(), sign.into(), END]);
    let poem = graph.compile()?;

    let mut stream = poem.invoke(Poem::input().lines("The river")).stream();
    while let Some(event) = stream.next().await {
        println!("{}", describe_event(event));
    }
    println!("{:?}", stream.finish().await?.state.lines);
    Ok(())
}
