//! Tests of applying one superstep to a state: reducers, conflicts, order, all or nothing.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::dynamic_state::DynamicState;
use crate::json_reducer::{overwrite_marker, remove_marker};
use crate::schema::{UnknownFields, field};

mod property;
mod typed;

/// A thread without a machine: a schema, a state and the written fields.
pub(super) struct Thread {
    pub(super) schema: Arc<Schema>,
    pub(super) state: Arc<AnyState>,
    pub(super) written: FieldSet,
    pub(super) options: ApplyOptions,
}

impl Thread {
    pub(super) fn new(schema: Arc<Schema>) -> Self {
        let state = schema.initial_state();
        Self { schema, state, written: FieldSet::default(), options: ApplyOptions::default() }
    }

    fn with_fields(fields: Value) -> Self {
        Self::new(Schema::from_json("state", &fields).expect("a schema"))
    }

    /// Applies one superstep: each node with its update.
    fn step(&mut self, updates: &[(&str, Value)]) -> Result<Applied> {
        let task_update = |(node, update): &(&str, Value)| {
            let update = update.as_object().cloned().expect("an object");
            let update = self.schema.update_from_json(update, &mut Vec::new()).expect("it fits");
            TaskUpdate { node: (*node).into(), update }
        };
        let updates: Vec<TaskUpdate> = updates.iter().map(task_update).collect();
        apply(&self.schema, &mut self.state, &mut self.written, updates, self.options)
    }

    fn json(&self) -> Value {
        self.schema.to_json(&*self.state).expect("data")
    }

    fn dynamic_state(&self) -> DynamicState {
        self.state.downcast_ref::<DynamicState>().expect("a dynamic state").clone()
    }
}

/// Checks one row: a field with a reducer and its value, the writes of one superstep, and the expected value or
/// error.
fn check(reducer: &str, before: Value, writes: &[Value], expected: Result<Value, &str>) {
    let row = format!("{reducer}: {before} <- {writes:?}");
    let mut thread = Thread::with_fields(json!({ "x": { "reducer": reducer, "default": before } }));
    let updates: Vec<(&str, Value)> = writes.iter().map(|value| ("a", json!({ "x": value }))).collect();
    match (thread.step(&updates), expected) {
        (Ok(_), Ok(expected)) => assert_eq!(thread.json()["x"], expected, "{row}"),
        (Err(error), Err(expected)) => {
            assert!(error.message().starts_with(&format!("field `x`: {expected}")), "{row}: {error}");
            assert_eq!((error.code(), &thread.json()["x"]), (ErrorCode::ReducerFailed, &before), "{row}");
        }
        (actual, _) => panic!("{row}: {actual:?}"),
    }
}

/// R-GRA-14, R-GRA-15, R-GRA-16, R-GRA-17, R-GRA-18: `ADD` on every kind of value.
#[test]
fn add_concatenates_sums_and_joins() {
    check("add", json!([1]), &[json!([2, 3]), json!([4])], Ok(json!([1, 2, 3, 4])));
    check("add", json!(0), &[json!(1), json!(2)], Ok(json!(3)));
    check("add", json!(1), &[json!(0.5)], Ok(json!(1.5)));
    check("add", json!(i64::MAX), &[json!(i64::MAX), json!(2)], Err(""));
    check("add", json!("a"), &[json!("b"), json!("c")], Ok(json!("abc")));
    check("add", json!(null), &[json!([1]), json!([2])], Ok(json!([1, 2])));
    check("add", json!(1), &[json!("a")], Err("cannot add string to integer"));
    check("add", json!({}), &[json!([1])], Err(""));
}

/// R-GRA-19: `APPEND` wraps both sides in lists; a map is one element.
#[test]
fn append_makes_lists_of_both_sides() {
    check("append", json!(null), &[json!(1), json!([2]), json!({ "a": 3 })], Ok(json!([1, 2, { "a": 3 }])));
    check("append", json!("a"), &[json!(null), json!("b")], Ok(json!(["a", "b"])));
}

/// R-GRA-20, R-GRA-21: `MERGE` is shallow, the update wins, a marked key is removed, and only maps can be merged.
#[test]
fn merge_is_shallow_and_removes_marked_keys() {
    let before = json!({ "a": { "x": 1 }, "b": 2 });
    check("merge", before.clone(), &[json!({ "a": { "y": 1 } })], Ok(json!({ "a": { "y": 1 }, "b": 2 })));
    check(
        "merge",
        before.clone(),
        &[json!({ "b": remove_marker() }), json!({ "c": 3 })],
        Ok(json!({ "a": { "x": 1 }, "c": 3 })),
    );
    check("merge", before, &[json!([1])], Err(""));
}

/// R-GRA-22: `REPLACE` sets the update regardless of the old value; of several in one superstep the last wins,
/// without an error.
#[test]
fn replace_takes_the_last_update() {
    check("replace", json!(1), &[json!("a"), json!("b")], Ok(json!("b")));
    check("replace", json!([1]), &[json!("a")], Ok(json!("a")));
    check("replace", json!(1), &[json!(null)], Ok(json!(null)));
}

/// R-GRA-23, R-GRA-32, R-GRA-33: the other reducers, which reduce each write of a superstep in turn.
#[test]
fn the_other_reducers_fold_each_write_in_turn() {
    let eight: Vec<u32> = (1..=8).collect();
    check(
        "deep_merge",
        json!({ "a": { "x": 1 } }),
        &[json!({ "a": { "y": 2 } })],
        Ok(json!({ "a": { "x": 1, "y": 2 } })),
    );
    check("max", json!(3), &[json!(2), json!(5), json!(4)], Ok(json!(5)));
    check("min", json!(3), &[json!(4), json!(2)], Ok(json!(2)));
    check("keep_last:10", json!(eight), &[json!([9, 10, 11, 12, 13])], Ok(json!((4..=13).collect::<Vec<u32>>())));
    check("set_union", json!(["a", "b"]), &[json!(["b", "c"])], Ok(json!(["a", "b", "c"])));
    check(
        "merge_by:id",
        json!([{ "id": 1, "v": 1 }]),
        &[json!([{ "id": 1, "v": 2 }]), json!([{ "id": 2 }])],
        Ok(json!([{ "id": 1, "v": 2 }, { "id": 2 }])),
    );
    check("capped:3", json!([1, 2]), &[json!([3])], Ok(json!([1, 2, 3])));
    check("capped:3", json!([1, 2]), &[json!(3), json!(4)], Err(""));
    check("one_of:[\"a\", \"b\"]", json!("a"), &[json!("b")], Ok(json!("b")));
    check("one_of:[\"a\", \"b\"]", json!("a"), &[json!("c")], Err("\"c\" is not one of \"a\", \"b\""));
}

/// R-GRA-1, R-GRA-42, R-GRA-46: every update reaches the state through the reducers; fields without a write keep
/// their value.
#[test]
fn the_updates_of_a_superstep_are_applied_together() {
    let mut thread = Thread::with_fields(
        json!({ "count": { "reducer": "add", "default": 0 }, "a": {}, "b": {}, "kept": { "default": "k" } }),
    );
    let applied = thread
        .step(&[("one", json!({ "count": 1, "a": 1 })), ("two", json!({ "count": 2, "b": 2 })), ("three", json!({}))])
        .unwrap();
    assert_eq!(thread.json(), json!({ "count": 3, "a": 1, "b": 2, "kept": "k" }));
    let changed: Vec<&str> = applied.changes.iter().map(|(id, _)| &*thread.schema.field(*id).name).collect();
    assert_eq!(changed, ["a", "b", "count"]);
    assert_eq!(thread.step(&[]).unwrap(), Applied::default());
    assert_eq!(thread.step(&[("silent", json!({}))]).unwrap(), Applied::default());
}

/// R-GRA-41: another owner of the previous state never sees a change, whether the superstep succeeds or fails.
#[test]
fn a_holder_of_the_old_state_never_sees_a_change() {
    let mut thread = Thread::with_fields(
        json!({ "log": { "reducer": "add", "default": ["a"] }, "n": { "reducer": "add", "default": 1 } }),
    );
    let old = thread.state.clone();
    thread.step(&[("one", json!({ "log": ["b"], "n": 1 }))]).unwrap();
    thread.step(&[("one", json!({ "log": ["c"], "n": "x" }))]).unwrap_err();
    assert_eq!(thread.schema.to_json(&*old).unwrap(), json!({ "log": ["a"], "n": 1 }));
    assert_eq!(thread.json(), json!({ "log": ["a", "b"], "n": 2 }));
}

/// A state without other owners is changed in place.
#[test]
fn an_unshared_state_is_not_copied() {
    let mut thread = Thread::with_fields(json!({ "n": { "reducer": "add", "default": 1 } }));
    let address = Arc::as_ptr(&thread.state).cast::<()>();
    thread.step(&[("one", json!({ "n": 1 }))]).unwrap();
    assert_eq!(Arc::as_ptr(&thread.state).cast::<()>(), address);
}

/// R-GRA-31: any function of two arguments is a reducer.
#[test]
fn a_function_is_a_reducer() {
    let longest = |current: Value, new: Value| {
        let length = |value: &Value| value.as_str().map_or(0, str::len);
        Ok(if length(&new) > length(&current) { new } else { current })
    };
    let schema = Schema::builder("state").field(field("word").reduce_with(longest)).build().unwrap();
    let mut thread = Thread::new(schema);
    thread
        .step(&[("a", json!({ "word": "ab" })), ("b", json!({ "word": "abc" })), ("c", json!({ "word": "x" }))])
        .unwrap();
    assert_eq!(thread.json(), json!({ "word": "abc" }));
    assert_eq!(thread.schema.fields()[0].reducer.as_deref(), Some("custom"));
}

fn picky() -> Arc<Schema> {
    let picky = |_: Value, new: Value| {
        if new == "bad" { Err(ValidationError::new("no").with_help("be good")) } else { Ok(new) }
    };
    let fields = Schema::builder("state").field(field("picky").reduce_with(picky).default("good"));
    fields.fields_from_json(&json!({ "log": { "reducer": "add", "default": ["a"] }, "last": {} })).build().unwrap()
}

/// R-GRA-34: if a reducer fails, nothing of the superstep is applied, and the error names the field, the node and
/// the values.
#[test]
fn a_failing_reducer_leaves_everything_as_it_was() {
    let mut thread = Thread::new(picky());
    let before = thread.dynamic_state();
    let updates = [("one", json!({ "log": ["b"], "last": 1 })), ("two", json!({ "picky": "bad", "log": ["c"] }))];
    let error = thread.step(&updates).unwrap_err();
    assert_eq!((thread.dynamic_state(), &thread.written), (before, &FieldSet::default()));
    insta::assert_snapshot!(error, @r#"
    error[SS-006]: node `two`: field `picky`: no (current value "good", update "bad")
    help: be good
    "#);
}

/// R-GRA-34: long values are truncated in errors.
#[test]
fn an_error_shows_only_the_beginning_of_a_long_value() {
    let mut thread = Thread::with_fields(json!({ "x": { "reducer": "add", "default": ["y".repeat(500)] } }));
    let error = thread.step(&[("a", json!({ "x": "z".repeat(500) }))]).unwrap_err();
    assert!(error.message().chars().count() < 250, "{error}");
    assert!(error.message().contains("yyy") && error.message().contains("zzz"), "{error}");
}

/// Runs a reducer twice on clones of every pair of values and compares the results.
fn assert_pure(reduce: &dyn Fn(Value, Value) -> Result<Value, ValidationError>, values: &[Value]) {
    for (current, new) in values.iter().flat_map(|current| values.iter().map(move |new| (current, new))) {
        let twice = (reduce(current.clone(), new.clone()), reduce(current.clone(), new.clone()));
        assert_eq!(twice.0, twice.1, "{current} <- {new}");
    }
}

/// R-GRA-34: the helper that compares two runs accepts every named reducer and detects one that is not pure.
#[test]
fn named_reducers_are_pure() {
    let values = [json!(null), json!(1), json!("a"), json!([1, "a"]), json!({ "id": 1 }), json!([{ "id": 1 }])];
    for name in [
        "add",
        "append",
        "merge",
        "deep_merge",
        "replace",
        "max",
        "min",
        "keep_last:1",
        "set_union",
        "merge_by:id",
        "capped:2",
    ] {
        let reducer = crate::json_reducer::JsonReducer::parse(name).unwrap();
        let reduce = move |mut current: Value, new: Value| reducer.reduce(&mut current, new).map(|_| current);
        assert_pure(&reduce, &values);
    }
    let calls = std::cell::Cell::new(0);
    let impure = |_: Value, _: Value| {
        calls.set(calls.get() + 1);
        Ok(json!(calls.get()))
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| assert_pure(&impure, &values)));
    assert!(result.is_err());
}

/// R-GRA-23, R-GRA-34: external values that break bounds are rejected together, with every location and the message
/// of the caller; the state is unchanged. Errors of reducers keep their usual form.
#[test]
fn invalid_external_values_are_rejected_together() {
    let fields = json!({
        "n": { "type": "integer", "min": 1, "max": 5 }, "m": { "type": "integer", "max": 1 },
        "sum": { "reducer": "add", "default": 0 }, "free": {},
    });
    let mut thread = Thread::with_fields(fields);
    thread.step(&[("a", json!({ "n": 2, "m": 1 }))]).unwrap();
    let before = thread.json();
    thread.options.external_source = Some("no");
    let error = thread.step(&[("input", json!({ "free": 1, "m": 2, "sum": 1, "n": 9 }))]).unwrap_err();
    let mut pointers: Vec<&str> = error.diagnostics().iter().map(|diagnostic| diagnostic.pointer.as_str()).collect();
    pointers.sort_unstable();
    assert_eq!((error.code(), error.message(), pointers), (ErrorCode::InputInvalid, "no", vec!["/m", "/n"]));
    assert_eq!((error.location().node.as_deref(), thread.json()), (None, before.clone()));
    let error = thread.step(&[("input", json!({ "n": 3, "sum": "x" }))]).unwrap_err();
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::ReducerFailed, Some("input")));
    assert_eq!(thread.json(), before);
    thread.step(&[("input", json!({ "n": 3, "m": 0 }))]).unwrap();
}

/// R-GRA-35: an overwrite replaces the value whatever the reducer, and wins over ordinary writes of its superstep.
#[test]
fn an_overwrite_bypasses_the_reducer() {
    let overwrite = |value: Value| overwrite_marker(value);
    for (reducer, before, value) in [
        ("add", json!([1]), json!([9])),
        ("merge", json!({ "a": 1 }), json!({})),
        ("max", json!(5), json!(1)),
        ("add", json!(5), json!(3)),
    ] {
        check(reducer, before.clone(), &[overwrite(value.clone())], Ok(value.clone()));
        let other = before.clone();
        check(reducer, before.clone(), &[other.clone(), overwrite(value.clone())], Ok(value.clone()));
        check(reducer, before, &[overwrite(value.clone()), other], Ok(value));
    }
}

/// R-GRA-35, R-GRA-43: two overwrites are a conflict, and so are an overwrite and a write to a field without a
/// reducer.
#[test]
fn two_overwrites_are_a_conflict() {
    let fields = json!({ "log": { "reducer": "add", "default": [] }, "title": {} });
    let rows = [
        ("log", overwrite_marker(json!([1])), overwrite_marker(json!([2])), true),
        ("title", overwrite_marker(json!(1)), overwrite_marker(json!(2)), true),
        ("title", overwrite_marker(json!(1)), json!(2), true),
        ("title", json!(1), overwrite_marker(json!(2)), true),
        ("title", json!(1), overwrite_marker(json!(1)), false),
    ];
    for (name, left, right, is_rejected) in rows {
        let mut thread = Thread::with_fields(fields.clone());
        let result = thread.step(&[("a", json!({ name: left })), ("b", json!({ name: right }))]);
        let code = result.as_ref().err().map(Error::code);
        assert_eq!(code, is_rejected.then_some(ErrorCode::ConcurrentUpdate), "{name}: {result:?}");
    }
}

/// R-GRA-35, R-GRA-39: an overwrite does not change a `set_once` value.
#[test]
fn an_overwrite_does_not_change_a_set_once_field() {
    let mut thread = Thread::with_fields(json!({ "topic": { "set_once": true } }));
    thread.step(&[("input", json!({ "topic": "a" }))]).unwrap();
    let applied = thread.step(&[("n", json!({ "topic": overwrite_marker(json!("b")) }))]).unwrap();
    assert_eq!((thread.json(), applied.warnings.len()), (json!({ "topic": "a" }), 1));
}

/// R-GRA-38: an input is reduced into the defaults, and later into the current values; an overwrite replaces them
/// instead.
#[test]
fn an_input_is_folded_on_the_defaults() {
    let mut thread =
        Thread::with_fields(json!({ "count": { "reducer": "add", "default": 5 }, "bare": { "default": 1 } }));
    thread.step(&[("input", json!({ "count": 3, "bare": 2 }))]).unwrap();
    assert_eq!(thread.json(), json!({ "count": 8, "bare": 2 }));
    thread.step(&[("input", json!({ "count": overwrite_marker(json!(3)) }))]).unwrap();
    assert_eq!(thread.json()["count"], 3);
}

/// R-GRA-39: the first value that is not null stays; a default does not count; an equal value causes no warning; a
/// second value causes a warning, or an error in strict mode.
#[test]
fn a_set_once_field_keeps_its_first_value() {
    let mut thread = Thread::with_fields(json!({ "topic": { "reducer": "set_once", "default": "default" } }));
    thread.step(&[("input", json!({ "topic": null }))]).unwrap();
    thread.step(&[("input", json!({ "topic": "first" }))]).unwrap();
    assert_eq!(thread.json()["topic"], "first");
    assert_eq!(thread.step(&[("n", json!({ "topic": "first" }))]).unwrap(), Applied::default());
    let applied = thread.step(&[("n", json!({ "topic": "second" }))]).unwrap();
    let sentence = "field `topic` is `set_once` and already has a value: the value from `n` was ignored";
    assert_eq!(applied.warnings, [(thread.schema.find("topic"), sentence.to_owned())]);
    assert!(applied.changes.is_empty());
    thread.options.strict_set_once = true;
    let error = thread.step(&[("n", json!({ "topic": "second" }))]).unwrap_err();
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::SetOnceViolation, Some("n")));
    assert_eq!(thread.json()["topic"], "first");
}

/// R-GRA-39, R-GRA-45: a rejected second value undoes the other writes of its superstep.
#[test]
fn a_set_once_violation_is_all_or_nothing() {
    let mut thread =
        Thread::with_fields(json!({ "a": {}, "topic": { "set_once": true }, "z": { "reducer": "append" } }));
    thread.options.strict_set_once = true;
    thread.step(&[("input", json!({ "topic": "first" }))]).unwrap();
    let (before, written) = (thread.dynamic_state(), thread.written.clone());
    thread.step(&[("n", json!({ "a": 1, "topic": "second", "z": 1 }))]).unwrap_err();
    assert_eq!((thread.dynamic_state(), thread.written.clone()), (before, written));
}

/// R-GRA-43: the error names the field, the nodes, the values and the three possible fixes.
#[test]
fn two_writers_of_one_value_are_rejected() {
    let mut thread =
        Thread::with_fields(json!({ "title": { "default": "old" }, "n": { "reducer": "add", "default": 0 } }));
    let error = thread
        .step(&[("a", json!({ "title": "x", "n": 1 })), ("b", json!({ "n": 1 })), ("c", json!({ "title": "y" }))])
        .unwrap_err();
    assert_eq!(thread.json(), json!({ "title": "old", "n": 0 }));
    insta::assert_snapshot!(error, @r#"
    error[SS-007]: field `title` received 2 writes in one superstep but has no reducer: `a` wrote "x", `c` wrote "y"
    help: give `title` a reducer such as `#[reduce(append)]`, mark it `#[state(last_wins)]`, or run the nodes one after another
    "#);
}

/// R-GRA-43: equal values are accepted; `last_wins` resolves other conflicts, for one field or for all.
#[test]
fn equal_values_and_last_wins_are_accepted() {
    let updates = [("a", json!({ "x": { "k": [1] } })), ("b", json!({ "x": { "k": [1] } }))];
    let mut thread = Thread::with_fields(json!({ "x": {} }));
    thread.step(&updates).unwrap();
    assert_eq!(thread.json()["x"], json!({ "k": [1] }));
    let from_builder =
        Schema::builder("state").field(field("x")).on_conflict(crate::field::ConflictPolicy::LastWins).build().unwrap();
    let one = Schema::from_json("state", &json!({ "x": { "on_conflict": "last_wins" } })).unwrap();
    for schema in [from_builder, one] {
        let mut thread = Thread::new(schema);
        thread.step(&[("a", json!({ "x": "A" })), ("b", json!({ "x": "B" }))]).unwrap();
        assert_eq!(thread.json()["x"], "B");
    }
    let schema = Schema::builder("state").field(field("x")).on_conflict(crate::field::ConflictPolicy::LastWins);
    let mut thread =
        Thread::new(schema.fields_from_json(&json!({ "y": { "on_conflict": "reject" } })).build().unwrap());
    assert!(thread.step(&[("a", json!({ "y": 1 })), ("b", json!({ "y": 2 }))]).is_err());
}

/// R-GRA-43, R-GRA-47: permitted undeclared fields have no reducer, so two writers conflict.
#[test]
fn two_writers_of_an_undeclared_field_are_rejected() {
    let schema = || Schema::builder("state").unknown_fields(UnknownFields::Allow).build().unwrap();
    let mut thread = Thread::new(schema());
    thread.step(&[("a", json!({ "x": 1, "y": 1 })), ("b", json!({ "x": 1, "z": 2 }))]).unwrap();
    assert_eq!(thread.json(), json!({ "x": 1, "y": 1, "z": 2 }));
    let error = thread.step(&[("a", json!({ "x": 1 })), ("b", json!({ "x": 2 }))]).unwrap_err();
    assert!(error.message().starts_with("field `x` received 2 writes"), "{error}");
    assert_eq!(thread.json(), json!({ "x": 1, "y": 1, "z": 2 }));
}

/// R-GRA-44: a thousand orders of arrival, sorted by the fixed order of tasks, give one result.
#[test]
fn a_thousand_orders_of_arrival_give_one_result() {
    let tasks: Vec<(usize, Value)> = (0..12).map(|task| (task, json!({ "text": format!("{task} ") }))).collect();
    let expected: String = (0..12).map(|task| format!("{task} ")).collect();
    let mut seed = 7_u64;
    for _ in 0..1_000 {
        let mut arrived = tasks.clone();
        for index in (1..arrived.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            arrived.swap(index, (seed >> 33) as usize % (index + 1));
        }
        arrived.sort_by_key(|(task, _)| *task);
        let mut thread = Thread::with_fields(json!({ "text": { "reducer": "add", "default": "" } }));
        let updates: Vec<(&str, Value)> = arrived.into_iter().map(|(_, update)| ("n", update)).collect();
        thread.step(&updates).unwrap();
        assert_eq!(thread.json()["text"], *expected);
    }
}

/// R-GRA-44: the given order of updates decides, whatever the order of fields in an update.
#[test]
fn updates_are_applied_in_the_given_order() {
    let updates = [("a", json!({ "text": "1" })), ("b", json!({ "text": "2" }))];
    let run = |updates: &[(&str, Value)]| {
        let mut thread = Thread::with_fields(json!({ "text": { "reducer": "add", "default": "" } }));
        thread.step(updates).unwrap();
        thread.json()["text"].clone()
    };
    assert_eq!(run(&updates), "12");
    assert_eq!(run(&[updates[1].clone(), updates[0].clone()]), "21");
}

/// R-GRA-45: whichever write of a superstep fails, every earlier write is undone, including lists, overwrites and
/// `written`.
#[test]
fn a_failing_write_undoes_every_earlier_one() {
    let fields = json!({
        "a_last": { "default": 1 }, "b_list": { "reducer": "add", "default": [1, 2, 3] },
        "c_capped": { "reducer": "capped:9", "default": [1] }, "d_map": { "reducer": "merge", "default": { "a": 1 } },
        "e_talk": { "type": "messages", "default": [{ "id": "1", "role": "user", "content": "hi" }] },
        "f_sum": { "reducer": "add", "default": 1 }, "g_typed": { "type": "integer", "default": 1 },
        "h_bound": { "min": 0, "max": 9, "default": 1 }, "i_append": { "reducer": "append", "default": [1] },
    });
    let good = json!({
        "a_last": 2, "b_list": [4], "c_capped": [2], "d_map": { "b": 2 }, "f_sum": 1, "g_typed": 2, "h_bound": 2,
        "e_talk": [{ "id": "1", "role": "user", "content": "ho" }], "i_append": [2],
    });
    let overwrites = json!({
        "b_list": overwrite_marker(json!([9])), "c_capped": overwrite_marker(json!([])),
        "e_talk": overwrite_marker(json!([])), "d_map": overwrite_marker(json!({})),
        "i_append": overwrite_marker(json!("x")), "a_last": overwrite_marker(json!(7)),
    });
    let bad = [
        json!({ "b_list": 1 }),
        json!({ "d_map": 1 }),
        json!({ "f_sum": "x" }),
        json!({ "h_bound": 10 }),
        json!({ "c_capped": [1, 2, 3, 4, 5, 6, 7, 8, 9] }),
    ];
    for bad in &bad {
        for first in [&good, &overwrites] {
            let mut first = first.clone();
            let name = bad.as_object().unwrap().keys().next().unwrap();
            if first[name].get("__overwrite__").is_some() || name == "h_bound" {
                first.as_object_mut().unwrap().remove(name);
            }
            let mut thread = Thread::with_fields(fields.clone());
            thread.step(&[("zero", json!({ "b_list": [0] }))]).unwrap();
            let (before, written) = (thread.dynamic_state(), thread.written.clone());
            let result = thread.step(&[("one", first), ("two", bad.clone())]);
            assert!(result.is_err(), "{bad}");
            assert_eq!((thread.dynamic_state(), &thread.written), (before, &written), "{bad}");
        }
    }
}

/// R-GRA-48: the same state and updates give the same result, however often they are applied.
#[test]
fn applying_is_pure() {
    let updates = [("a", json!({ "n": 1, "log": [1] })), ("b", json!({ "n": 2, "log": [2] }))];
    let run = || {
        let mut thread =
            Thread::with_fields(json!({ "n": { "reducer": "add", "default": 0 }, "log": { "reducer": "append" } }));
        let applied = thread.step(&updates).unwrap();
        (thread.dynamic_state(), thread.written, applied)
    };
    assert_eq!(run(), run());
}
