//! Long values in fewer bytes: what that saves, and that everything is read back whoever wrote it.

use serde_json::json;
use superstep::core::message::{Message, Messages};
use superstep::core::port::Checkpointer as _;
use superstep::core::testing::block_on;
use superstep::prelude::*;
use superstep::{Compiled, HistoryQuery};
use superstep_adapters::sqlite::Sqlite;

use super::folder;
use super::writing::{Diary, diary, pages, size, write};

/// What is said in a thread in which an agent looks things up: questions, calls, records, answers.
fn said(number: usize) -> Message {
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

#[derive(State, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
}

/// Answers what was said with the next text.
fn chat(store: Sqlite) -> Compiled<Chat> {
    let mut graph = Graph::<Chat>::new("chat");
    let answer = graph.node("answer", |chat: View<Chat>| Chat::update().messages(vec![said(chat.messages.len())]));
    graph.edge(START, answer).edge(answer, END).checkpointer(store);
    graph.compile().unwrap()
}

/// 200 messages, one a superstep; gives the bytes of their values, of the file, and of the messages as plain JSON.
fn two_hundred(name: &str, compression: bool) -> (usize, usize, usize) {
    let path = folder().join(name);
    let store = Sqlite::options().compression(compression).open(&path).unwrap();
    let graph = chat(store.clone());
    for turn in 0..100 {
        graph.run(Chat::input().messages(vec![said(2 * turn)])).thread("t").wait().unwrap();
    }
    let state = block_on(graph.threads().state("t")).unwrap().state.clone();
    assert_eq!(state.messages.len(), 200);
    let stats = block_on(store.stats()).unwrap();
    drop((graph, store));
    let again = block_on(chat(Sqlite::open(&path).unwrap()).threads().state("t")).unwrap();
    assert!(again.state.messages.iter().zip(0..).all(|(message, number)| message.content == said(number).content));
    (stats.bytes as usize, size(&path) as usize, serde_json::to_string(&state.messages).unwrap().len())
}

/// R-FWK-41: the values of a thread of 200 messages take less than a third of their plain JSON, although each was
/// saved by itself; a file with all 200 checkpoints takes less than the messages once.
#[test]
fn a_thread_of_two_hundred_messages_takes_less_than_a_third() {
    let (squeezed, file, plain) = two_hundred("squeezed.db", true);
    assert!(squeezed * 3 < plain, "{squeezed} of {plain}");
    assert!(file < plain, "a file of {file} for messages of {plain}");
    let (unsqueezed, larger, _) = two_hundred("plain.db", false);
    assert!(unsqueezed >= plain && file * 2 < larger, "{unsqueezed} of {plain}, {file} and {larger}");
}

/// R-FWK-41: a file is read and continued whichever way its values were written, by whoever opens it anew, and forks
/// go on from values in the middle.
#[test]
fn both_forms_stand_side_by_side() {
    let path = folder().join("both.db");
    let page = |number: usize| format!("{number:0>700}");
    let mut forks = Vec::new();
    for (round, compression) in [true, false, true, true, false].into_iter().enumerate() {
        let graph = diary(Sqlite::options().compression(compression).open(&path).unwrap(), 700);
        let threads = graph.threads();
        let wanted = 10 * (round + 1);
        assert_eq!(write(&graph, "t", wanted).pages, (0..wanted).map(page).collect::<Vec<_>>());
        let copy = format!("copy-{round}");
        block_on(threads.copy("t", &*copy)).unwrap();
        let history = block_on(threads.history(&*copy, &HistoryQuery::default())).unwrap();
        let middle = &history[history.len() / 2];
        let update = threads.update(&*copy, Diary::update().wanted(wanted + 5)).as_node("write").at(middle.id());
        let forked = block_on(update.into_future()).unwrap();
        let done = graph.go_on(&*copy).at(forked).wait().unwrap();
        assert_eq!(done.state.pages, (0..wanted + 5).map(page).collect::<Vec<_>>());
        forks.push((copy, wanted + 5));
    }
    let graph = diary(Sqlite::open(&path).unwrap(), 700);
    for (copy, length) in forks {
        assert_eq!(pages(&graph, &copy).unwrap().len(), length);
    }
}
