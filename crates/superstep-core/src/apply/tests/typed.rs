//! The same rules on a Rust struct, where a value may have to be parsed first.

use std::sync::Arc;

use super::*;
use crate::field::{ConflictPolicy, FieldAccess, FieldFlags, FieldOps, TypedField, UntrackedField};
use crate::reducer::{Append, OneOrMany, Reducer, Replace};
use crate::state::TypedState;
use crate::types::FieldType;
use crate::value::Unserialized;

#[derive(Clone, Default)]
struct Ticket {
    log: Vec<String>,
    title: Option<String>,
    count: u8,
    live: Arc<str>,
}

fn declare(name: &str, reducer: Option<&str>, flags: FieldFlags, ops: Arc<dyn FieldOps>) -> Field {
    Field {
        name: name.into(),
        field_type: FieldType::Any,
        reducer: reducer.map(str::to_owned),
        default: None,
        flags,
        conflict: ConflictPolicy::Reject,
        one_of: Vec::new(),
        range: None,
        json_schema: json!({}),
        is_fallible: false,
        is_type_checked: false,
        ops,
    }
}

macro_rules! access {
    ($name:ident) => {
        FieldAccess {
            get: |ticket: &Ticket| &ticket.$name,
            get_mut: |ticket| &mut ticket.$name,
            initial: Default::default,
        }
    };
}

const LOG: FieldId = FieldId(0);
const TITLE: FieldId = FieldId(1);
const COUNT: FieldId = FieldId(2);
const LIVE: FieldId = FieldId(3);

fn ticket() -> Thread {
    let once = FieldFlags { set_once: true, ..FieldFlags::default() };
    let untracked = FieldFlags { untracked: true, ..FieldFlags::default() };
    let fields = vec![
        declare(
            "log",
            Some("append"),
            FieldFlags::default(),
            Arc::new(TypedField::<_, _, Append>::new(access!(log), |_| false)),
        ),
        declare("title", None, once, Arc::new(TypedField::<_, _, Replace>::new(access!(title), Option::is_none))),
        declare(
            "count",
            None,
            FieldFlags::default(),
            Arc::new(TypedField::<_, _, Replace>::new(access!(count), |_| false)),
        ),
        declare("live", None, untracked, Arc::new(UntrackedField::new(access!(live)))),
    ];
    Thread::new(Arc::new(Schema::new("ticket", 1, fields, Arc::new(TypedState(Ticket::default))).unwrap()))
}

fn step(thread: &mut Thread, tasks: Vec<Vec<(FieldId, WriteMode, AnyValue)>>) -> Result<Applied> {
    let task = |(index, writes): (usize, Vec<(FieldId, WriteMode, AnyValue)>)| {
        let mut update = Update::new();
        writes.into_iter().for_each(|(field, mode, value)| update.push(Write { field, mode, value }));
        TaskUpdate { node: format!("n{index}").into(), update }
    };
    let updates: Vec<TaskUpdate> = tasks.into_iter().enumerate().map(task).collect();
    apply(&thread.schema, &mut thread.state, &mut thread.written, updates, thread.options)
}

fn lines(lines: &[&str]) -> AnyValue {
    AnyValue::native(OneOrMany(lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>()))
}

/// R-GRA-45: a stored value that cannot be parsed undoes all writes, although no reducer here can fail.
#[test]
fn a_value_that_does_not_read_changes_nothing() {
    const { assert!(!<Append as Reducer<Vec<String>>>::FALLIBLE) };
    let mut thread = ticket();
    step(&mut thread, vec![vec![(LOG, WriteMode::Reduce, lines(&["a"]))]]).unwrap();
    let (before, written) = (thread.json(), thread.written.clone());
    let overwrite = (LOG, WriteMode::Overwrite, AnyValue::native(vec!["x".to_owned()]));
    let rows = [
        vec![(LOG, WriteMode::Reduce, lines(&["b"])), (COUNT, WriteMode::Reduce, AnyValue::json(json!(300)))],
        vec![overwrite, (COUNT, WriteMode::Reduce, AnyValue::json(json!("many")))],
        vec![(COUNT, WriteMode::Reduce, AnyValue::native(7_u8)), (LOG, WriteMode::Reduce, AnyValue::json(json!([1])))],
        vec![(COUNT, WriteMode::Reduce, AnyValue::native(7_u8)), (LIVE, WriteMode::Reduce, AnyValue::json(json!("x")))],
    ];
    for row in rows {
        let result = step(&mut thread, vec![row]);
        assert!(result.is_err(), "{result:?}");
        assert_eq!((thread.json(), &thread.written), (before.clone(), &written));
    }
}

/// R-GRA-39: `None` does not count as a value, so a `set_once` field can still be set.
#[test]
fn none_does_not_count_as_the_first_value() {
    let mut thread = ticket();
    step(&mut thread, vec![vec![(TITLE, WriteMode::Reduce, AnyValue::native(None::<String>))]]).unwrap();
    step(&mut thread, vec![vec![(TITLE, WriteMode::Reduce, AnyValue::native(Some("a".to_owned())))]]).unwrap();
    assert_eq!(thread.json()["title"], "a");
    let applied =
        step(&mut thread, vec![vec![(TITLE, WriteMode::Reduce, AnyValue::native(Some("b".to_owned())))]]).unwrap();
    assert_eq!((&thread.json()["title"], applied.warnings.len()), (&json!("a"), 1));
}

/// R-GRA-43: native values that are never serialized cannot be compared, so two of them are a conflict.
#[test]
fn two_live_values_are_a_conflict() {
    let live = |text: &str| vec![(LIVE, WriteMode::Reduce, AnyValue::native(Unserialized(Arc::<str>::from(text))))];
    let mut thread = ticket();
    step(&mut thread, vec![live("a")]).unwrap();
    let error = step(&mut thread, vec![live("b"), live("c")]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConcurrentUpdate);
    let ticket = thread.state.downcast_ref::<Ticket>().unwrap();
    assert_eq!(&*ticket.live, "a");
}

/// R-GRA-44: writes to one field keep their order, whether they have to be parsed or not.
#[test]
fn undecoded_values_keep_order() {
    let mut thread = ticket();
    let writes = [lines(&["1"]), AnyValue::json(json!(["2"])), lines(&["3"]), AnyValue::json(json!("4"))];
    step(&mut thread, writes.map(|value| vec![(LOG, WriteMode::Reduce, value)]).into()).unwrap();
    assert_eq!(thread.json()["log"], json!(["1", "2", "3", "4"]));
}
