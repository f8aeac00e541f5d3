//! Compression of long values: the saved space, and readability with either setting.

use serde_json::json;
use superstep::core::message::{Message, Messages};
use superstep::core::port::Checkpointer as _;
use superstep::core::testing::block_on;
use superstep::prelude::*;
use superstep::{CompiledGraph, HistoryQuery};
use superstep_adapters::sqlite::SqliteCheckpointer;

use super::fixtures::{Diary, diary, pages, size, write};
use super::folder;

/// Returns a message of a thread with an agent that looks up records.
fn agent_message(number: usize) -> Message {
    let order = 40_000 + number * 37;
    let record = |row: usize| {
        let (total, city) = (19 + (order * 7 + row * 31) % 480, ["Ghent", "Porto", "Graz", "Turku"][(order + row) % 4]);
        json!({
            "order_id": format!("ORD-{:06}", order + row), "customer": { "name": "Noor Haddad", "city": city },
            "status": (["shipped", "delivered", "returned"][(number + row) % 3]), "total": format!("{total}.90 EUR"),
            "items": [{ "sku": format!("SKU-{:04}", total * 3 % 997), "quantity": 1 + row % 3, "gift_wrapped": false }],
        })
    };
    let page = json!({ "page": number, "orders": (0..8).map(record).collect::<Vec<_>>() });
    let sentence = format!(
        "I found 8 orders near ORD-{order:06}. Most went to Ghent and Porto; {} of them came back, which is more than in \
         the week before. Shall I write to the customers, or look at the returned items first?",
        number % 5
    );
    match number % 4 {
        0 => Message::user(format!("What about the orders around ORD-{order:06}? The customer says one is missing.")),
        1 => Message::assistant(json!({ "tool": "find_orders", "arguments": { "near": order } }).to_string()),
        2 => Message::assistant(page.to_string()),
        _ => Message::assistant(sentence),
    }
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
}

/// Builds a graph that answers each message with the next one.
fn chat(store: SqliteCheckpointer) -> CompiledGraph<Chat> {
    let mut graph = StateGraph::<Chat>::new("chat");
    let answer =
        graph.add_node("answer", |chat: View<Chat>| Chat::update().messages(vec![agent_message(chat.messages.len())]));
    graph.add_edge(START, answer).add_edge(answer, END).checkpointer(store);
    graph.compile().unwrap()
}

/// Saves 200 messages, one per superstep; returns the bytes of their values, of the file, and of their plain JSON.
fn two_hundred(name: &str, compression: bool) -> (usize, usize, usize) {
    let path = folder().join(name);
    let store = SqliteCheckpointer::options().compression(compression).open(&path).unwrap();
    let graph = chat(store.clone());
    for turn in 0..100 {
        graph.invoke(Chat::input().messages(vec![agent_message(2 * turn)])).thread("t").wait_blocking().unwrap();
    }
    let state = block_on(graph.threads().get_state("t")).unwrap().state.clone();
    assert_eq!(state.messages.len(), 200);
    let stats = block_on(store.stats()).unwrap();
    drop((graph, store));
    let reopened = block_on(chat(SqliteCheckpointer::open(&path).unwrap()).threads().get_state("t")).unwrap();
    assert!(
        reopened
            .state
            .messages
            .iter()
            .zip(0..)
            .all(|(message, number)| message.content == agent_message(number).content)
    );
    (stats.bytes as usize, size(&path) as usize, serde_json::to_string(&state.messages).unwrap().len())
}

/// R-FWK-41: the values of a thread of 200 messages take less than a third of their plain JSON, although each was
/// saved separately; a file with all 200 checkpoints is smaller than the messages.
#[test]
fn a_thread_of_two_hundred_messages_takes_less_than_a_third() {
    let (compressed, file, plain) = two_hundred("squeezed.db", true);
    assert!(compressed * 3 < plain, "compressed: {compressed}, JSON: {plain} bytes");
    assert!(file < plain, "file: {file}, JSON: {plain} bytes");
    let (uncompressed, larger, _) = two_hundred("plain.db", false);
    assert!(
        uncompressed >= plain && file * 2 < larger,
        "uncompressed: {uncompressed}, JSON: {plain}, files: {file} and {larger} bytes"
    );
}

/// R-FWK-41: a file with compressed and uncompressed values can be read and continued with either setting, and forks
/// continue from values in the middle.
#[test]
fn compressed_and_uncompressed_values_coexist() {
    let path = folder().join("both.db");
    let page = |number: usize| format!("{number:0>700}");
    let mut forks = Vec::new();
    for (round, compression) in [true, false, true, true, false].into_iter().enumerate() {
        let graph = diary(SqliteCheckpointer::options().compression(compression).open(&path).unwrap(), 700);
        let threads = graph.threads();
        let target = 10 * (round + 1);
        assert_eq!(write(&graph, "t", target).pages, (0..target).map(page).collect::<Vec<_>>());
        let copy = format!("copy-{round}");
        block_on(threads.copy("t", &*copy)).unwrap();
        let history = block_on(threads.get_state_history(&*copy, &HistoryQuery::default())).unwrap();
        let middle = &history[history.len() / 2];
        let update = threads
            .update_state(&*copy, Diary::update().target(target + 5))
            .as_node("write")
            .from_checkpoint(middle.id());
        let forked = block_on(update.into_future()).unwrap();
        let done = graph.continue_thread(&*copy).from_checkpoint(forked).wait_blocking().unwrap();
        assert_eq!(done.state.pages, (0..target + 5).map(page).collect::<Vec<_>>());
        forks.push((copy, target + 5));
    }
    let graph = diary(SqliteCheckpointer::open(&path).unwrap(), 700);
    for (copy, length) in forks {
        assert_eq!(pages(&graph, &copy).unwrap().len(), length);
    }
}
