//! A graph without a drawing: one function, whose tasks are recorded and not repeated after the question.

use superstep::prelude::*;
use superstep::{entrypoint, task};

#[task]
async fn price(_cx: &Cx, city: String) -> Result<u64, NodeError> {
    println!("looking up {city}");
    Ok(city.len() as u64 * 30)
}

/// Adds up the prices of a trip and asks whether it may cost that much.
#[entrypoint]
async fn trip(cities: Vec<String>, cx: Cx) -> Result<String, NodeError> {
    let mut total = 0;
    for city in cities {
        total += price(&cx, city).await?;
    }
    let yes: bool = cx.ask().person("book it?", total).await?;
    let before: Option<String> = cx.previous()?; // what the last call on this thread returned
    Ok(format!("{total} {}, before: {before:?}", if yes { "booked" } else { "dropped" }))
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let trip = trip().checkpointer(Memory::new()).compile()?;
    for cities in [vec!["Oslo".to_owned(), "Bergen".to_owned()], vec!["Rome".to_owned()]] {
        let paused = trip.run(&cities).thread("ann").await?;
        println!("{} {}", paused.questions()[0].name, paused.questions()[0].value);
        let done = trip.graph().resume("ann", true).await?;
        println!("{}", trip.output(&done)?.unwrap_or_default());
    }
    Ok(())
}
