//! Values under keys in Firestore: on Google's emulator, which the tests start themselves, and behind a server that fails.
//!
//! Where the emulator is not installed these tests test nothing, and say so; `cargo xtask test` says it again at its end.

use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::Path;

use serde_json::Value;
use superstep_adapters::firestore::{Firestore, Options};
use superstep_cluster::firestore::{Emulator, folder, missing};
use superstep_core::port::Put;
use superstep_core::testing::block_on;

use crate::server::pass;

mod account;
mod faults;
mod long;
mod values;

/// R-FWK-38: the suites for values and for checkpoints, against the real protocol.
#[cfg(feature = "key-value")]
mod on_the_emulator {
    use superstep_adapters::firestore::Firestore;
    use superstep_adapters::key_value::KeyValueStore;

    /// Where there is no emulator these tests cannot pass; `cargo xtask test` leaves them out then, and says so.
    fn values() -> Firestore {
        let address = super::emulator().expect("Google's Firestore emulator");
        super::open(&super::options(&address, &super::collection()))
    }

    fn store() -> KeyValueStore<Firestore> {
        KeyValueStore::options().open(values()).unwrap()
    }

    mod keys {
        superstep_core::key_value_conformance!(crate::firestore::on_the_emulator::values);
    }

    mod checkpoints {
        superstep_core::checkpointer_conformance!(crate::firestore::on_the_emulator::store);
    }
}

const PROJECT: &str = "superstep-test";
const ONLY_NEW: Put = Put { only_new: true, lasts: None };

/// The address of the emulator that all tests share; whoever comes first starts it. `None` where there is none.
fn emulator() -> Option<String> {
    if let Some(problem) = missing() {
        eprintln!("\n*** FIRESTORE WAS NOT TESTED: {problem}\n");
        return None;
    }
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("firestore.lock")).unwrap();
    lock.lock().unwrap();
    let folder = folder(parent_id(), "shared");
    let place = folder.join("port");
    if let Ok(port) = std::fs::read_to_string(&place) {
        return Some(Emulator::at(folder, port.trim().parse().unwrap()).address());
    }
    let emulator = Emulator::start(folder, parent_id()).unwrap();
    std::fs::write(place, emulator.port().to_string()).unwrap();
    Some(emulator.address())
}

/// A collection that no other test has.
fn collection() -> String {
    format!("test-{}", superstep_cluster::own_name())
}

/// A store without anything in it, at an address.
fn open(options: &Options) -> Firestore {
    block_on(options.connect()).unwrap()
}

/// Options for a collection of its own on the emulator.
fn options(address: &str, collection: &str) -> Options {
    Firestore::options(PROJECT).collection(collection).emulator(address)
}

/// How many documents a collection has on the emulator.
fn count(address: &str, collection: &str) -> usize {
    let question = serde_json::json!({ "structuredQuery": {
        "from": [{ "collectionId": collection }],
        "select": { "fields": [{ "fieldPath": "__name__" }] },
    } });
    let answer = ask(address, "runQuery", &question);
    answer.as_array().unwrap().iter().filter(|item| item.get("document").is_some()).count()
}

/// Asks the emulator without the store.
fn ask(address: &str, method: &str, body: &Value) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let body = body.to_string();
    let head = format!(
        "POST /v1/projects/{PROJECT}/databases/(default)/documents:{method} HTTP/1.1\r\nhost: localhost\r\n\
         authorization: Bearer owner\r\ncontent-type: application/json\r\ncontent-length: {}",
        body.len()
    );
    let answer = runtime.block_on(pass(address, &head, body.as_bytes())).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}
