//! The program of the README: a story that needs the approval of a person.

use superstep::prelude::*;

#[derive(GraphState, Clone)]
struct Story {
    topic: String,
    #[reduce(append)]
    lines: Vec<String>,
    approved: bool,
}

async fn write(story: View<Story>) -> StoryUpdate {
    Story::update().lines(format!("Once there was {}.", story.topic))
}

async fn review(story: View<Story>, interrupts: Interrupts) -> Result<StoryUpdate, NodeError> {
    // Ends the run; a resume runs this node again from its start.
    let yes: bool = interrupts.raise("publish?", &story.lines).await?;
    Ok(Story::update().approved(yes))
}

fn main() -> superstep::Result<()> {
    let mut graph = StateGraph::<Story>::new("story");
    let (write, review) = (graph.add_node("write", write), graph.add_node("review", review));
    graph.add_sequence([START, write.into(), review.into(), END]).checkpointer(MemoryCheckpointer::new());
    let story = graph.compile()?;
    let interrupted = story.invoke(Story::input().topic("a fox")).thread("t1").wait_blocking()?;
    println!("{}: {:?}", interrupted.interrupts()[0].name, interrupted.state.lines);
    println!("approved: {}", story.resume("t1", true).wait_blocking()?.state.approved);
    Ok(())
}
