//! Tests of the file format and of everything that is rejected.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::change::Change;
use crate::checkpoint::{Checkpoint, CheckpointNamespace, CheckpointSource, FieldChange, PendingEntry, TaskEntry};
use crate::id::{CheckpointId, RunId, TaskId};
use crate::value::AnyValue;

fn exported(number: u128, parent: Option<u128>, changes: &[(&str, Change, Value)]) -> ExportedCheckpoint {
    let id = CheckpointId::from_bits(number);
    let change = |(field, change, delta): &(&str, Change, Value)| FieldChange {
        field: (*field).into(),
        change: change.clone(),
        delta: AnyValue::json(delta.clone()),
    };
    let entry = TaskEntry::Recorded { key: "k".to_owned(), value: AnyValue::json(json!([number as u64])) };
    ExportedCheckpoint {
        checkpoint: Checkpoint {
            format: FORMAT_VERSION,
            id,
            parent: parent.map(CheckpointId::from_bits),
            thread: "t".into(),
            namespace: CheckpointNamespace::root(),
            step: number as i64,
            source: CheckpointSource::Loop,
            run: RunId::from_bits(1),
            time: 1_700_000_000_000_000,
            graph: "g".into(),
            schema_version: 1,
            next_tasks: Vec::new(),
            joins: Vec::new(),
            deferred: Vec::new(),
            written_fields: Vec::new(),
            parent_task: None,
            changes_since_input: None,
            metadata: Arc::default(),
        },
        changes: changes.iter().map(change).collect(),
        pending: vec![PendingEntry { checkpoint: id, task: TaskId::from_bits(9), node: "n".into(), entry }],
    }
}

fn thread() -> ThreadExport {
    let checkpoints = vec![
        exported(1, None, &[("log", Change::Set, json!(["a"]))]),
        exported(2, Some(1), &[("log", Change::Appended { from: 1 }, json!(["b\n\"é"]))]),
        exported(3, Some(1), &[("title", Change::Set, json!("fork"))]),
    ];
    ThreadExport { thread: "t".into(), status: ThreadStatus::Interrupted, checkpoints, events: Vec::new() }
}

fn write(export: &ThreadExport) -> Vec<u8> {
    let (mut writer, mut file) = ThreadFileWriter::new(&export.thread, export.status).unwrap();
    for exported in &export.checkpoints {
        file.extend(writer.checkpoint(exported).unwrap());
    }
    file.extend(writer.finish().unwrap());
    file
}

fn read(file: &[u8]) -> Result<ThreadExport> {
    let mut reader = ThreadFileReader::default();
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        reader.push_line(line)?;
    }
    reader.finish()
}

fn error_message(file: &[u8]) -> String {
    read(file).map(|_| "it was read".to_owned()).unwrap_or_else(|error| error.message().to_owned())
}

/// R-FWK-49: the file format, which later versions must still read.
#[test]
fn the_form_of_a_file() {
    let lines = String::from_utf8(write(&thread())).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines[0], r#"{"superstep":"thread","version":1,"thread":"t","status":"interrupted"}"#);
    let checkpoint = concat!(
        r#"{"checkpoint":{"format":1,"id":"00000000-0000-0000-0000-000000000002","#,
        r#""parent":"00000000-0000-0000-0000-000000000001","thread":"t","namespace":"","step":2,"source":"loop","#,
        r#""run":"00000000-0000-0000-0000-000000000001","time":1700000000000000,"graph":"g","schema_version":1,"#,
        r#""due":[]},"changes":[{"field":"log","change":{"kind":"appended","from":1},"part":["b\n\"é"]}],"#,
        r#""pending":[{"checkpoint":"00000000-0000-0000-0000-000000000002","#,
        r#""task":"00000000-0000-0000-0000-000000000009","node":"n","entry":{"kind":"once","key":"k","value":[2]}}]}"#,
    );
    assert_eq!(lines[2], checkpoint);
    assert_eq!(lines[4], r#"{"end":{"checkpoints":3,"checksum":"f955d9fbd1b4bd22389dd2a710797304"}}"#);
}

/// R-FWK-49: a written file is read back unchanged.
#[test]
fn a_file_is_read_as_it_was_written() {
    let file = write(&thread());
    assert_eq!(read(&file).unwrap(), thread());
    assert_eq!(write(&read(&file).unwrap()), file);
    assert_eq!(read(file.strip_suffix(b"\n").unwrap()).unwrap(), thread(), "an editor may drop the last line break");
}

/// R-FWK-49: a file that was truncated anywhere is rejected.
#[test]
fn a_truncated_file_is_rejected() {
    let file = write(&thread());
    for end in 0..file.len() - 1 {
        assert!(read(&file[..end]).is_err(), "{end} bytes of {}", file.len());
    }
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(error_message(&lines[..3].concat()), "the file is truncated: no trailer after line 3");
    let without = [lines[0], lines[1], lines[2], lines[4]].concat();
    assert!(error_message(&without).starts_with("line 4 of the file is corrupt: the file contains 2 checkpoints"));
}

/// R-FWK-49: a line after the trailer is rejected.
#[test]
fn a_line_after_the_trailer_is_rejected() {
    let file = write(&thread());
    assert_eq!(
        error_message(&[&file[..], &file[..]].concat()),
        "line 6 of the file is corrupt: unexpected line after the trailer"
    );
}

/// R-FWK-49: the error for a file or a checkpoint of a newer version differs from the error for a corrupt one.
#[test]
fn a_newer_file_is_rejected_by_its_version() {
    let text = String::from_utf8(write(&thread())).unwrap();
    let newer = |from: &str, to: &str| read(text.replacen(from, to, 1).as_bytes()).unwrap_err();
    let error = newer("\"version\":1", "\"version\":2,\"seal\":{}");
    assert_eq!(
        (error.code(), error.message()),
        (ErrorCode::CheckpointTooNew, "line 1: file version 2 is newer than the supported version 1")
    );
    let error = newer("\"format\":1", "\"format\":7");
    assert_eq!(error.code(), ErrorCode::CheckpointTooNew);
    assert_eq!(error.message(), "line 2: checkpoint format 7 is newer than the supported version 1");
}

/// R-FWK-49: a file with a valid checksum and impossible content is rejected with the line number.
#[test]
fn impossible_content_is_rejected_with_its_line() {
    let mut rows = Vec::new();
    let mut add_row = |message: &str, corrupt: &dyn Fn(&mut ThreadExport)| {
        let mut export = thread();
        corrupt(&mut export);
        rows.push((write(&export), message.to_owned()));
    };
    add_row("line 3 of the file", &|export| export.checkpoints[1].checkpoint.parent = Some(CheckpointId::from_bits(9)));
    add_row("line 4 of the file", &|export| export.checkpoints[2].checkpoint.id = CheckpointId::from_bits(2));
    add_row("line 2 of the file", &|export| export.checkpoints[0].checkpoint.thread = "other".into());
    add_row("line 4 of the file", &|export| export.checkpoints[2].changes[0].change = Change::Appended { from: 0 });
    add_row("line 3 of the file", &|export| export.checkpoints[1].pending[0].checkpoint = CheckpointId::from_bits(1));
    add_row("line 1 of the file", &|export| export.thread = "../etc".into());
    for (file, message) in rows {
        let error = read(&file).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{error}");
        assert!(error.message().starts_with(&message), "{error}");
    }
}

/// R-FWK-49: values nested too deeply for the reader are rejected when they are written, not when they are read.
#[test]
fn a_value_nested_too_deeply_is_rejected_when_it_is_written() {
    let nested = |levels: usize| (0..levels).fold(json!("[{\\\"["), |inner, _| json!([inner]));
    let (mut writer, _) = ThreadFileWriter::new(&"t".into(), ThreadStatus::Idle).unwrap();
    let fits = exported(1, None, &[("data", Change::Set, nested(MAX_JSON_DEPTH - 3))]);
    let line = writer.checkpoint(&fits).unwrap();
    serde_json::from_slice::<Value>(&line).expect("what is written can be read");
    let error =
        writer.checkpoint(&exported(2, None, &[("data", Change::Set, nested(MAX_JSON_DEPTH - 2))])).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
}

proptest! {
    /// R-FWK-49: a change of any one byte is rejected.
    #[test]
    fn a_corrupt_file_is_rejected(index in any::<prop::sample::Index>(), byte: u8) {
        let mut file = write(&thread());
        let position = index.index(file.len() - 1);
        prop_assume!(file[position] != byte);
        file[position] = byte;
        prop_assert!(read(&file).is_err());
    }

    /// R-FWK-49: no bytes make the reader panic.
    #[test]
    fn arbitrary_bytes_are_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err());
    }
}
