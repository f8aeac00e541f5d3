//! The program of the README: a story that a person approves.

use superstep::prelude::*;

#[derive(State, Clone)]
struct Story {
    topic: String,
    #[reduce(append)]
    lines: Vec<String>,
    approved: bool,
}

async fn write(story: View<Story>) -> StoryUpdate {
    Story::update().lines(format!("Once there was {}.", story.topic))
}

async fn review(story: View<Story>, ask: Ask) -> Result<StoryUpdate, NodeError> {
    let yes: bool = ask.person("publish?", &story.lines).await?; // the run stops here, for as long as it takes
    Ok(Story::update().approved(yes))
}

fn main() -> superstep::Result<()> {
    let mut graph = Graph::<Story>::new("story");
    let (write, review) = (graph.node("write", write), graph.node("review", review));
    graph.sequence([START, write.into(), review.into(), END]).checkpointer(Memory::new());
    let story = graph.compile()?;

    let paused = story.run(Story::input().topic("a fox")).thread("t1").wait()?;
    println!("{}: {:?}", paused.questions()[0].name, paused.state.lines);
    println!("approved: {}", story.resume("t1", true).wait()?.state.approved);
    Ok(())
}
