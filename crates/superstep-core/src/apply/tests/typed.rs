//! The same rules on a Rust struct, where a value may still have to be read.

use std::sync::Arc;

use super::*;
use crate::datum::Opaque;
use crate::field::{Access, Conflict, FieldOps, Flags, TypedField, UntrackedField};
use crate::reducer::{Append, Items, Reducer, Replace};
use crate::state::TypedState;
use crate::types::FieldType;

#[derive(Clone, Default)]
struct Ticket {
    log: Vec<String>,
    title: Option<String>,
    count: u8,
    live: Arc<str>,
}

fn declare(name: &str, reducer: Option<&str>, flags: Flags, ops: Arc<dyn FieldOps>) -> Field {
    Field {
        name: name.into(),
        kind: FieldType::Any,
        reducer: reducer.map(str::to_owned),
        default: None,
        flags,
        conflict: Conflict::Refuse,
        one_of: Vec::new(),
        range: None,
        json_schema: json!({}),
        fallible: false,
        checked: false,
        ops,
    }
}

macro_rules! access {
    ($name:ident) => {
        Access { get: |ticket: &Ticket| &ticket.$name, get_mut: |ticket| &mut ticket.$name, initial: Default::default }
    };
}

const LOG: FieldId = FieldId(0);
const TITLE: FieldId = FieldId(1);
const COUNT: FieldId = FieldId(2);
const LIVE: FieldId = FieldId(3);

fn ticket() -> Thread {
    let once = Flags { set_once: true, ..Flags::default() };
    let untracked = Flags { untracked: true, ..Flags::default() };
    let fields = vec![
        declare(
            "log",
            Some("append"),
            Flags::default(),
            Arc::new(TypedField::<_, _, Append>::new(access!(log), |_| false)),
        ),
        declare("title", None, once, Arc::new(TypedField::<_, _, Replace>::new(access!(title), Option::is_none))),
        declare("count", None, Flags::default(), Arc::new(TypedField::<_, _, Replace>::new(access!(count), |_| false))),
        declare("live", None, untracked, Arc::new(UntrackedField::new(access!(live)))),
    ];
    Thread::new(Arc::new(Schema::new("ticket", 1, fields, Arc::new(TypedState(Ticket::default))).unwrap()))
}

fn step(thread: &mut Thread, tasks: Vec<Vec<(FieldId, How, Datum)>>) -> Result<Applied> {
    let task = |(index, writes): (usize, Vec<(FieldId, How, Datum)>)| {
        let mut update = Update::new();
        writes.into_iter().for_each(|(field, how, value)| update.push(Write { field, how, value }));
        TaskUpdate { node: format!("n{index}").into(), update }
    };
    let updates: Vec<TaskUpdate> = tasks.into_iter().enumerate().map(task).collect();
    apply(&thread.schema, &mut thread.state, &mut thread.written, updates, thread.rules)
}

fn lines(lines: &[&str]) -> Datum {
    Datum::live(Items(lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>()))
}

/// R-GRA-45: a stored value that does not read takes everything back, although no reducer here can fail.
#[test]
fn a_value_that_does_not_read_changes_nothing() {
    const { assert!(!<Append as Reducer<Vec<String>>>::FALLIBLE) };
    let mut thread = ticket();
    step(&mut thread, vec![vec![(LOG, How::Reduce, lines(&["a"]))]]).unwrap();
    let (before, written) = (thread.json(), thread.written.clone());
    let overwrite = (LOG, How::Overwrite, Datum::live(vec!["x".to_owned()]));
    let rows = [
        vec![(LOG, How::Reduce, lines(&["b"])), (COUNT, How::Reduce, Datum::json(json!(300)))],
        vec![overwrite, (COUNT, How::Reduce, Datum::json(json!("many")))],
        vec![(COUNT, How::Reduce, Datum::live(7_u8)), (LOG, How::Reduce, Datum::json(json!([1])))],
        vec![(COUNT, How::Reduce, Datum::live(7_u8)), (LIVE, How::Reduce, Datum::json(json!("x")))],
    ];
    for row in rows {
        let found = step(&mut thread, vec![row]);
        assert!(found.is_err(), "{found:?}");
        assert_eq!((thread.json(), &thread.written), (before.clone(), &written));
    }
}

/// R-GRA-39: `None` is no value, so what is set once may still be set.
#[test]
fn nothing_is_not_a_first_value() {
    let mut thread = ticket();
    step(&mut thread, vec![vec![(TITLE, How::Reduce, Datum::live(None::<String>))]]).unwrap();
    step(&mut thread, vec![vec![(TITLE, How::Reduce, Datum::live(Some("a".to_owned())))]]).unwrap();
    assert_eq!(thread.json()["title"], "a");
    let applied = step(&mut thread, vec![vec![(TITLE, How::Reduce, Datum::live(Some("b".to_owned())))]]).unwrap();
    assert_eq!((&thread.json()["title"], applied.warnings.len()), (&json!("a"), 1));
}

/// R-GRA-43: live values that are never data cannot be seen to be equal, and two of them are a conflict.
#[test]
fn two_live_values_are_a_conflict() {
    let live = |text: &str| vec![(LIVE, How::Reduce, Datum::live(Opaque(Arc::<str>::from(text))))];
    let mut thread = ticket();
    step(&mut thread, vec![live("a")]).unwrap();
    let error = step(&mut thread, vec![live("b"), live("c")]).unwrap_err();
    assert_eq!(error.code(), Code::ConcurrentUpdate);
    let ticket = thread.state.downcast_ref::<Ticket>().unwrap();
    assert_eq!(&*ticket.live, "a");
}

/// R-GRA-44: writes to one field keep their order, whether they have to be read or not.
#[test]
fn values_to_be_read_keep_their_place() {
    let mut thread = ticket();
    let writes = [lines(&["1"]), Datum::json(json!(["2"])), lines(&["3"]), Datum::json(json!("4"))];
    step(&mut thread, writes.map(|value| vec![(LOG, How::Reduce, value)]).into()).unwrap();
    assert_eq!(thread.json()["log"], json!(["1", "2", "3", "4"]));
}
