//! A folder of files as a store of values under keys, and of checkpoints.

use superstep::Code;
use superstep_adapters::key_value::{Files, KeyValueStore};

use super::{diary, folder, pages, write};

mod values {
    use super::*;

    superstep_core::key_value_conformance!(|| Files::open(folder()).unwrap());
}

mod checkpoints {
    use super::*;

    superstep_core::checkpointer_conformance!(|| KeyValueStore::open(Files::open(folder()).unwrap()).unwrap());
}

/// R-FWK-39: what was saved is there for the next who opens the folder.
#[test]
fn a_folder_is_opened_again() {
    let folder = folder().join("new/inside");
    for wanted in 1..=3 {
        let graph = diary(KeyValueStore::open(Files::open(&folder).unwrap()).unwrap(), 3_000);
        assert_eq!(write(&graph, "t", wanted * 5), wanted * 5);
    }
    let graph = diary(KeyValueStore::open(Files::open(&folder).unwrap()).unwrap(), 3_000);
    assert_eq!(pages(&graph, "t").unwrap(), 15);
}

/// R-FWK-39: a folder of another program, or of a newer version, is refused and not touched.
#[test]
fn a_folder_of_somebody_else_is_refused() {
    let (foreign, newer) = (folder().join("foreign"), folder().join("newer"));
    std::fs::create_dir_all(&foreign).unwrap();
    std::fs::write(foreign.join("letter.txt"), "mine").unwrap();
    assert_eq!(Files::open(&foreign).unwrap_err().code(), Code::ConfigInvalid);
    assert_eq!(std::fs::read_dir(&foreign).unwrap().count(), 1);
    drop(Files::open(&newer).unwrap());
    std::fs::write(newer.join("=form"), "superstep keys 2\n").unwrap();
    assert_eq!(Files::open(&newer).unwrap_err().code(), Code::CheckpointTooNew);
}

/// R-FWK-39: stores with different prefixes in one folder do not see each other.
#[test]
fn prefixes_stay_apart() {
    let files = Files::open(folder()).unwrap();
    let store = |prefix: &str| KeyValueStore::options().prefix(prefix).open(files.clone()).unwrap();
    let graphs = ["a", "a.b", "in"].map(|prefix| diary(store(prefix), 10));
    for (number, graph) in graphs.iter().enumerate() {
        write(graph, "in", number + 1);
    }
    for (number, graph) in graphs.iter().enumerate() {
        assert_eq!(pages(graph, "in").unwrap(), number + 1);
    }
    let refused = KeyValueStore::options().prefix("a/b").open(files).unwrap_err();
    assert_eq!(refused.code(), Code::ConfigInvalid);
}
