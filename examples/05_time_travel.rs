//! The history of a thread: read it, continue from an old checkpoint, update the state there. Old checkpoints stay.

use superstep::core::port::HistoryQuery;
use superstep::prelude::*;
use superstep::{CompiledGraph, StateSnapshot};

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Trip {
    vehicle: String,
    #[reduce(append)]
    log: Vec<String>,
}

async fn pack(trip: View<Trip>) -> TripUpdate {
    Trip::update().log(format!("packed for the {}", trip.vehicle))
}

async fn leave(trip: View<Trip>) -> TripUpdate {
    Trip::update().log(format!("left by {}", trip.vehicle))
}

async fn print_history(trips: &CompiledGraph<Trip>) -> superstep::Result<Vec<StateSnapshot<Trip>>> {
    let history = trips.threads().get_state_history("t", &HistoryQuery::default()).await?; // newest first
    for snapshot in &history {
        let saved = &snapshot.checkpoint;
        println!("step {} {:?}, next {:?}: {:?}", saved.step, saved.source, snapshot.next, snapshot.state.log);
    }
    Ok(history)
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let mut graph = StateGraph::<Trip>::new("trip");
    let (pack, leave) = (graph.add_node("pack", pack), graph.add_node("leave", leave));
    graph.add_sequence([START, pack.into(), leave.into(), END]).checkpointer(MemoryCheckpointer::new());
    let trips = graph.compile()?;
    trips.invoke(Trip::input().vehicle("train")).thread("t").await?;
    let history = print_history(&trips).await?;
    let packed = history[1].id();

    println!("-- continue after packing: only `leave` runs");
    trips.continue_thread("t").from_checkpoint(packed).await?;

    println!("-- update the state after packing: by boat");
    trips.threads().update_state("t", Trip::update().vehicle("boat")).from_checkpoint(packed).await?;
    println!("{:?}", trips.continue_thread("t").await?.state.log);

    println!("-- the thread now has three branches");
    print_history(&trips).await?;
    Ok(())
}
