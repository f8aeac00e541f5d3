//! Properties of every graph: completion order never matters, a saved state equals the live one, a replay equals the
//! run.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use superstep::core::machine::MachineEvent;
use superstep::prelude::*;
use superstep::{CompiledGraph, Durability, DynamicState, EventKind, Schema};

/// One node: its output, and how often it yields first.
#[derive(Debug, Clone)]
struct Step {
    update: Value,
    yields: usize,
}

fn any_update() -> impl Strategy<Value = Value> {
    let words = prop::collection::vec("[a-c]{1,3}", 0..3);
    (words, -5i64..5, "[a-z]{0,4}", prop::option::of("[x-z]")).prop_map(|(log, count, text, key)| {
        let mut update = json!({ "log": log, "count": count, "text": text });
        if let Some(key) = key {
            update["map"] = json!({ key: count });
        }
        if count % 2 == 0 {
            update["talk"] = json!({ "role": "user", "content": text, "id": format!("m{}", count.rem_euclid(3)) });
        }
        update
    })
}

fn any_steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step = (any_update(), 0usize..4).prop_map(|(update, yields)| Step { update, yields });
    prop::collection::vec(prop::collection::vec(step, 1..5), 1..5)
}

fn any_modes() -> impl Strategy<Value = Vec<Durability>> {
    let mode = prop::sample::select(vec![Durability::Sync, Durability::Async, Durability::Exit]);
    prop::collection::vec(mode, 3)
}

fn schema() -> Arc<Schema> {
    let fields = json!({
        "log": { "reducer": "append", "default": [] },
        "count": { "type": "integer", "reducer": "add", "default": 0 },
        "text": { "type": "string", "reducer": "add", "default": "" },
        "map": { "reducer": "merge", "default": {} },
        "last": { "reducer": "keep_last:3", "default": [] },
        "talk": { "reducer": "add_messages", "default": [] },
    });
    Schema::from_json("any", &fields).unwrap()
}

/// Layers of parallel nodes, each layer joined into the next.
fn layered(steps: &[Vec<Step>], memory: &MemoryCheckpointer) -> CompiledGraph<DynamicState> {
    let mut graph = StateGraph::<DynamicState>::with_schema("layers", schema());
    let mut before: Vec<superstep::NodeHandle> = Vec::new();
    for (layer, steps) in steps.iter().enumerate() {
        let gate = graph.add_node(&format!("gate{layer}"), move || json!({ "last": layer }));
        match before.is_empty() {
            true => graph.add_edge(START, gate),
            false => graph.add_join(before.clone(), gate),
        };
        before.clear();
        for (index, step) in steps.iter().enumerate() {
            let step = step.clone();
            let work = graph.add_node(&format!("n{layer}x{index}"), move || {
                let step = step.clone();
                async move {
                    for _ in 0..step.yields {
                        tokio::task::yield_now().await;
                    }
                    step.update
                }
            });
            graph.add_edge(gate, work);
            before.push(work);
        }
    }
    for node in before {
        graph.add_edge(node, END);
    }
    graph.checkpointer(memory.clone()).recursion_limit(100);
    graph.compile().unwrap()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
}

/// Returns the complete history as JSON, without ids and times.
async fn history(graph: &CompiledGraph<DynamicState>) -> Vec<Value> {
    let snapshots = graph.threads().get_state_history("t", &Default::default()).await.unwrap();
    let snapshot_json = |snapshot: &superstep::StateSnapshot<DynamicState>| json!({ "state": snapshot.state.to_json(), "next": snapshot.next, "step": snapshot.checkpoint.step });
    snapshots.iter().map(snapshot_json).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// R-GRA-44: the order in which parallel tasks finish never changes a checkpoint.
    #[test]
    fn arrival_order_never_changes_a_checkpoint(steps in any_steps(), other in prop::collection::vec(0usize..6, 20)) {
        let mut shuffled = steps.clone();
        shuffled.iter_mut().flatten().zip(&other).for_each(|(step, yields)| step.yields = *yields);
        let run = |steps: Vec<Vec<Step>>| block_on(async move {
            let graph = layered(&steps, &MemoryCheckpointer::new());
            graph.invoke(json!({ "count": 1 })).thread("t").await.unwrap();
            history(&graph).await
        });
        prop_assert_eq!(run(steps), run(shuffled));
    }

    /// R-FWK-50: the state that is loaded from a checkpoint equals the state when it was saved.
    #[test]
    fn a_saved_state_is_the_state(steps in any_steps()) {
        let (live, saved) = block_on(async move {
            let graph = layered(&steps, &MemoryCheckpointer::new());
            let mut stream = graph.invoke(json!({ "count": 1 })).thread("t").stream();
            let mut live = Vec::new();
            while let Some(event) = stream.next().await {
                if let EventKind::Machine(MachineEvent::Values { state, .. }) = event.kind {
                    live.push(state.schema.to_json(&*state.state).unwrap());
                }
            }
            live.reverse();
            let saved: Vec<Value> = history(&graph).await.into_iter().map(|mut row| row["state"].take()).collect();
            (live, saved)
        });
        prop_assert_eq!(live, saved);
    }

    /// R-FWK-44, R-REF-69: with every durability, the loaded state equals the returned one, and is the same in all
    /// modes.
    #[test]
    fn every_durability_saves_the_same_state(runs in prop::collection::vec(any_steps(), 1..4), modes in any_modes()) {
        let ends = |modes: Vec<Durability>| block_on(async {
            let (memory, mut ends) = (MemoryCheckpointer::new(), Vec::new());
            for (steps, mode) in runs.iter().zip(modes) {
                let graph = layered(steps, &memory);
                let done = graph.invoke(json!({ "count": 1 })).thread("t").durability(mode).await.unwrap();
                let saved = graph.threads().get_state("t").await.unwrap();
                prop_assert_eq!(&*saved.state, &*done.state);
                ends.push((saved.state.to_json(), saved.checkpoint.step));
            }
            Ok(ends)
        });
        prop_assert_eq!(ends(modes)?, ends(vec![Durability::Sync; 3])?);
    }

    /// R-FWK-32: a replay from any checkpoint ends as the first run did, and changes no existing checkpoint.
    #[test]
    fn a_replay_is_the_first_run(steps in any_steps()) {
        block_on(async move {
            let graph = layered(&steps, &MemoryCheckpointer::new());
            let first = graph.invoke(json!({ "count": 1 })).thread("t").await.unwrap().to_json().unwrap();
            let old = graph.threads().get_state_history("t", &Default::default()).await.unwrap();
            for snapshot in &old {
                let replayed = graph.continue_thread("t").from_checkpoint(snapshot.id()).await.unwrap().to_json().unwrap();
                prop_assert_eq!(&replayed, &first);
                let saved = graph.threads().get_state_at("t", snapshot.id()).await.unwrap();
                prop_assert_eq!(saved.state.to_json(), snapshot.state.to_json());
            }
            Ok(())
        })?;
    }
}
