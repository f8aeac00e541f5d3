//! A folder of files as a key-value store and as the storage of a checkpointer.

use superstep::ErrorCode;
use superstep_adapters::key_value::{FileKeyValue, KeyValueCheckpointer};

use super::{diary, folder, pages, write};

mod values {
    use super::*;

    superstep_core::key_value_conformance!(|| FileKeyValue::open(folder()).unwrap());
}

mod checkpoints {
    use super::*;

    superstep_core::checkpointer_conformance!(
        || KeyValueCheckpointer::open(FileKeyValue::open(folder()).unwrap()).unwrap()
    );
}

/// R-FWK-39: saved data is available after the folder is opened again.
#[test]
fn a_folder_is_opened_again() {
    let folder = folder().join("new/inside");
    for round in 1..=3 {
        let graph = diary(KeyValueCheckpointer::open(FileKeyValue::open(&folder).unwrap()).unwrap(), 3_000);
        assert_eq!(write(&graph, "t", round * 5), round * 5);
    }
    let graph = diary(KeyValueCheckpointer::open(FileKeyValue::open(&folder).unwrap()).unwrap(), 3_000);
    assert_eq!(pages(&graph, "t").unwrap(), 15);
}

/// R-FWK-39: a folder of another program or of a newer version is rejected and not changed.
#[test]
fn a_folder_of_another_program_is_rejected() {
    let (foreign, newer) = (folder().join("foreign"), folder().join("newer"));
    std::fs::create_dir_all(&foreign).unwrap();
    std::fs::write(foreign.join("letter.txt"), "mine").unwrap();
    assert_eq!(FileKeyValue::open(&foreign).unwrap_err().code(), ErrorCode::ConfigInvalid);
    assert_eq!(std::fs::read_dir(&foreign).unwrap().count(), 1);
    drop(FileKeyValue::open(&newer).unwrap());
    std::fs::write(newer.join("=form"), "superstep keys 2\n").unwrap();
    assert_eq!(FileKeyValue::open(&newer).unwrap_err().code(), ErrorCode::CheckpointTooNew);
}

/// R-FWK-39: checkpointers with different prefixes in one folder do not see each other.
#[test]
fn prefixes_are_isolated() {
    let files = FileKeyValue::open(folder()).unwrap();
    let store = |prefix: &str| KeyValueCheckpointer::options().prefix(prefix).open(files.clone()).unwrap();
    let graphs = ["a", "a.b", "in"].map(|prefix| diary(store(prefix), 10));
    for (number, graph) in graphs.iter().enumerate() {
        write(graph, "in", number + 1);
    }
    for (number, graph) in graphs.iter().enumerate() {
        assert_eq!(pages(graph, "in").unwrap(), number + 1);
    }
    let error = KeyValueCheckpointer::options().prefix("a/b").open(files).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid);
}
