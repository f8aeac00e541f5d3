//! Overhead of a superstep: no copies of the state, and no idle cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use superstep::Durability;
use superstep::prelude::*;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
    #[reduce(append)]
    log: Vec<String>,
    turns: u64,
}

/// A chat whose messages and log hold 4 MB each.
fn four_megabytes() -> ChatUpdate {
    let messages = (0..1_000).map(|number| Message::user("x".repeat(4_096)).with_id(format!("m{number}")));
    let log: Vec<String> = (0..1_000).map(|_| "y".repeat(4_096)).collect();
    Chat::input().messages(messages.collect::<Vec<_>>()).log(log)
}

/// Returns the bytes allocated by a run of this many supersteps over the large state, each adding one message and one
/// line.
fn bytes_of(supersteps: u64, saving: Option<Durability>) -> u64 {
    let mut graph = StateGraph::<Chat>::new("chat");
    let reply = graph.add_node("say", |chat: View<Chat>| {
        assert!(chat.messages.len() >= 1_000 && chat.log.len() >= 1_000);
        Chat::update().turns(chat.turns + 1).messages(Message::assistant("hello")).log("said hello")
    });
    graph.add_edge(START, reply).recursion_limit(100);
    graph.add_conditional_edges(
        reply,
        move |chat: &Chat| if chat.turns < supersteps { Goto::node(reply) } else { Goto::end() },
        [reply.into(), END],
    );
    let chat = graph.compile().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut run = chat.invoke(four_megabytes());
    if let Some(durability) = saving {
        run = run.checkpointer(MemoryCheckpointer::new()).thread("t").durability(durability);
    }
    let measured = allocation_counter::measure(|| drop(runtime.block_on(run.into_future()).unwrap()));
    measured.bytes_total
}

/// R-GRA-41: nodes share the state: fifty supersteps over 8 MB allocate little more than one.
#[test]
fn a_superstep_does_not_copy_a_large_state() {
    let (one, fifty) = (bytes_of(1, None), bytes_of(51, None));
    let each = (fifty - one) / 50;
    assert!(each < 8_000, "a superstep over 8 MB allocated {each} bytes");
}

/// R-FWK-42, R-FWK-44: with a checkpointer the cost of a superstep depends on its changes, with every durability.
#[test]
fn a_saved_superstep_does_not_copy_a_large_state() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let (one, fifty) = (bytes_of(1, Some(durability)), bytes_of(51, Some(durability)));
        let each = (fifty - one) / 50;
        assert!(each < 16_000, "{durability:?}: a saved superstep over 8 MB allocated {each} bytes");
    }
}

/// R-FWK-13: two computing tasks meet at a barrier, so they must run on two worker threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_compute_use_two_worker_threads() {
    let (barrier, met) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let mut graph = StateGraph::<Chat>::new("compute");
    for name in ["left", "right"] {
        let (barrier, met) = (barrier.clone(), met.clone());
        let work = graph.add_node(name, move || {
            // Blocks its thread: with both tasks on one thread, neither would pass.
            barrier.wait();
            met.fetch_add(1, Ordering::SeqCst);
        });
        graph.add_edge(START, work).add_edge(work, END);
    }
    graph.compile().unwrap().invoke(Chat::input().turns(0u64)).await.unwrap();
    assert_eq!(met.load(Ordering::SeqCst), 2);
}
