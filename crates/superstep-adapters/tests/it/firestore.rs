//! Tests of the Firestore key-value store on Google's emulator, which they start, and behind a faulty server.
//!
//! Tests that need the emulator are in modules named `on_the_emulator`. They fail if it is not installed;
//! `cargo xtask test` then leaves them out by that name and counts them as skipped.

use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::Path;

use serde_json::Value;
use superstep_adapters::firestore::{FirestoreKeyValue, FirestoreOptions};
use superstep_cluster::firestore_emulator::{FirestoreEmulator, folder, unavailable_reason};
use superstep_core::port::PutOptions;
use superstep_core::testing::block_on;

use crate::server::forward;

mod chunked_values;
mod faults;
mod service_account;

/// R-FWK-38: runs the conformance suites for values and checkpoints against the real protocol.
mod on_the_emulator {
    use superstep_adapters::firestore::FirestoreKeyValue;
    #[cfg(feature = "key-value")]
    use superstep_adapters::key_value::KeyValueCheckpointer;

    mod values;

    /// Returns an empty store.
    fn store_of_values() -> FirestoreKeyValue {
        super::open(&super::options(&super::emulator(), &super::collection()))
    }

    #[cfg(feature = "key-value")]
    fn store() -> KeyValueCheckpointer<FirestoreKeyValue> {
        KeyValueCheckpointer::options().open(store_of_values()).unwrap()
    }

    #[cfg(feature = "key-value")]
    mod keys {
        superstep_core::key_value_conformance!(crate::firestore::on_the_emulator::store_of_values);
    }

    #[cfg(feature = "key-value")]
    mod checkpoints {
        superstep_core::checkpointer_conformance!(crate::firestore::on_the_emulator::store);
    }
}

const PROJECT: &str = "superstep-test";
const ONLY_NEW: PutOptions = PutOptions { if_absent: true, ttl: None };

/// Returns the address of the emulator that all tests share; the first test starts it.
///
/// # Panics
/// Panics if the emulator cannot be started, and names the program to install.
fn emulator() -> String {
    if let Some(problem) = unavailable_reason() {
        panic!("this test needs Google's Firestore emulator: {problem}");
    }
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("firestore.lock")).unwrap();
    lock.lock().unwrap();
    let folder = folder(parent_id(), "shared");
    let port_file = folder.join("port");
    if let Ok(port) = std::fs::read_to_string(&port_file) {
        return FirestoreEmulator::at(folder, port.trim().parse().unwrap()).address();
    }
    let emulator = FirestoreEmulator::start(folder, parent_id()).unwrap();
    std::fs::write(port_file, emulator.port().to_string()).unwrap();
    emulator.address()
}

/// Returns the name of a collection that no other test has.
fn collection() -> String {
    format!("test-{}", superstep_cluster::unique_name())
}

/// Opens a store with these options.
fn open(options: &FirestoreOptions) -> FirestoreKeyValue {
    block_on(options.connect()).unwrap()
}

/// Returns options for a collection on the emulator.
fn options(address: &str, collection: &str) -> FirestoreOptions {
    FirestoreKeyValue::options(PROJECT).collection(collection).emulator(address)
}

/// Returns the number of documents of a collection on the emulator.
fn count(address: &str, collection: &str) -> usize {
    let question = serde_json::json!({ "structuredQuery": {
        "from": [{ "collectionId": collection }],
        "select": { "fields": [{ "fieldPath": "__name__" }] },
    } });
    let response = post(address, "runQuery", &question);
    response.as_array().unwrap().iter().filter(|item| item.get("document").is_some()).count()
}

/// Sends a request to the emulator directly, without the store.
fn post(address: &str, method: &str, body: &Value) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let body = body.to_string();
    let head = format!(
        "POST /v1/projects/{PROJECT}/databases/(default)/documents:{method} HTTP/1.1\r\nhost: localhost\r\n\
         authorization: Bearer owner\r\ncontent-type: application/json\r\ncontent-length: {}",
        body.len()
    );
    let response = runtime.block_on(forward(address, &head, body.as_bytes())).unwrap();
    let response = String::from_utf8(response).unwrap();
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}
