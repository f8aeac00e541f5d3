//! A graph as one function, whose tasks are recorded and not repeated after the interrupt.

use superstep::prelude::*;
use superstep::{entrypoint, task};

#[task]
async fn price(_cx: &TaskContext, city: String) -> Result<u64, NodeError> {
    println!("looking up {city}");
    Ok(city.len() as u64 * 30)
}

/// Adds up the prices of a trip and asks for confirmation of the total.
#[entrypoint]
async fn trip(cities: Vec<String>, cx: TaskContext) -> Result<String, NodeError> {
    let mut total = 0;
    for city in cities {
        total += price(&cx, city).await?;
    }
    let yes: bool = cx.interrupts().raise("book it?", total).await?;
    let previous: Option<String> = cx.previous()?; // what the last call on this thread returned
    Ok(format!("{total} {}, before: {previous:?}", if yes { "booked" } else { "dropped" }))
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let trip = trip().checkpointer(MemoryCheckpointer::new()).compile()?;
    for cities in [vec!["Oslo".to_owned(), "Bergen".to_owned()], vec!["Rome".to_owned()]] {
        let interrupted = trip.invoke(&cities).thread("ann").await?;
        println!("{} {}", interrupted.interrupts()[0].name, interrupted.interrupts()[0].value);
        let done = trip.graph().resume("ann", true).await?;
        println!("{}", trip.output(&done)?.unwrap_or_default());
    }
    Ok(())
}
