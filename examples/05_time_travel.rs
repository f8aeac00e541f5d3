//! The history of a thread: look back, go on from an old checkpoint, change the state there. Nothing old is changed.

use superstep::core::port::HistoryQuery;
use superstep::prelude::*;
use superstep::{Compiled, Snapshot};

#[derive(State, Clone, Serialize, Deserialize)]
struct Trip {
    by: String,
    #[reduce(append)]
    log: Vec<String>,
}

async fn pack(trip: View<Trip>) -> TripUpdate {
    Trip::update().log(format!("packed for the {}", trip.by))
}

async fn leave(trip: View<Trip>) -> TripUpdate {
    Trip::update().log(format!("left by {}", trip.by))
}

async fn show(trips: &Compiled<Trip>) -> superstep::Result<Vec<Snapshot<Trip>>> {
    let history = trips.threads().history("t", &HistoryQuery::default()).await?; // newest first
    for at in &history {
        let saved = &at.checkpoint;
        println!("step {} {:?}, due {:?}: {:?}", saved.step, saved.source, at.next, at.state.log);
    }
    Ok(history)
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let mut graph = Graph::<Trip>::new("trip");
    let (pack, leave) = (graph.node("pack", pack), graph.node("leave", leave));
    graph.sequence([START, pack.into(), leave.into(), END]).checkpointer(Memory::new());
    let trips = graph.compile()?;
    trips.run(Trip::input().by("train")).thread("t").await?;
    let history = show(&trips).await?;
    let packed = history[1].id();

    println!("-- again from after packing: only `leave` runs");
    trips.go_on("t").at(packed).await?;

    println!("-- what if, by boat");
    trips.threads().update("t", Trip::update().by("boat")).at(packed).await?;
    println!("{:?}", trips.go_on("t").await?.state.log);

    println!("-- the thread now has three lines of history");
    show(&trips).await?;
    Ok(())
}
