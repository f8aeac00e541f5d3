//! Property tests: invariants of any updates with any of the reducers.

use std::collections::BTreeMap;

use proptest::strategy::ValueTree;

use super::*;
use crate::json_reducer::tests::any_value;

/// One write of a generated superstep: task, field, true for an overwrite, value.
type AnyWrite = (usize, usize, bool, Value);

/// Returns a schema with a field for every reducer, with and without a type.
fn every_kind() -> Arc<Schema> {
    let picky = |current: Value, new: Value| match new {
        Value::Bool(_) => Err(ValidationError::new("no truth here")),
        new => Ok(json!([current, new])),
    };
    let fields = json!({
        "a_last": {}, "b_wins": { "on_conflict": "last_wins" }, "c_add": { "reducer": "add" },
        "d_append": { "reducer": "append" }, "e_merge": { "reducer": "merge", "default": {} },
        "f_deep": { "reducer": "deep_merge" }, "g_max": { "reducer": "max" }, "h_min": { "reducer": "min" },
        "i_keep": { "reducer": "keep_last:3" }, "j_union": { "reducer": "set_union", "default": [1] },
        "k_once": { "set_once": true }, "l_one": { "reducer": { "one_of": [1, "a", []] } },
        "m_by": { "reducer": "merge_by:id" }, "n_cap": { "reducer": "capped:4", "default": [1] },
        "o_sum": { "type": "integer", "reducer": "add", "default": 0 }, "p_text": { "type": "string" },
        "q_bound": { "min": 0, "max": 3 }, "r_talk": { "type": "messages" },
    });
    Schema::builder("state").fields_from_json(&fields).field(field("s_own").reduce_with(picky)).build().unwrap()
}

fn any_superstep() -> impl Strategy<Value = Vec<AnyWrite>> {
    let message = ("[ab]", "[xy]{0,2}").prop_map(|(id, text)| json!({ "id": id, "role": "user", "content": text }));
    let removal = "[ab]".prop_map(|id| json!({ "type": "remove", "id": id }));
    let message_updates = prop::collection::vec(prop_oneof![3 => message, 1 => removal], 0..3).prop_map(Value::from);
    let fields = every_kind().fields().len();
    let overwrites = || prop::bool::weighted(0.1);
    // Few writes, so that many supersteps succeed; mostly lists and maps, because their changes have deltas.
    let write = prop_oneof![
        5 => (0..4_usize, 0..fields, overwrites(), any_value()),
        1 => (0..4_usize, Just(17_usize), overwrites(), message_updates),
    ];
    prop::collection::vec(write, 0..5)
}

/// Builds the updates of a superstep in the order of tasks; leaves out values that cannot be parsed.
fn updates(schema: &Schema, writes: &[AnyWrite]) -> Vec<TaskUpdate> {
    let mut tasks = vec![Update::new(); 4];
    for (task, index, overwrites, value) in writes {
        let (field, ops) = (FieldId(*index as u32), &schema.fields()[*index].ops);
        let mode = if *overwrites { WriteMode::Overwrite } else { WriteMode::Reduce };
        let is_messages = schema.fields()[*index].reducer.as_deref() == Some("add_messages");
        let value = match (is_messages, mode) {
            (false, _) => AnyValue::json(value.clone()),
            (true, WriteMode::Reduce) => match ops.parse_update(value.clone()) {
                Ok(value) => value,
                Err(_) => continue,
            },
            (true, WriteMode::Overwrite) => match ops.parse_value(value.clone()) {
                Ok(value) => value,
                Err(_) => continue,
            },
        };
        tasks[*task].push(Write { field, mode, value });
    }
    let task = |(index, update)| TaskUpdate { node: format!("n{index}").into(), update };
    tasks.into_iter().enumerate().map(task).collect()
}

/// Formats the full state as text, because `0.0` equals `-0.0` as a value. Sorts the keys: their order has no
/// meaning in JSON, and a crate of the build may enable the feature of `serde_json` that preserves insertion order.
fn text(schema: &Schema, state: &Arc<AnyState>) -> String {
    sorted(schema.to_json(&**state).unwrap()).to_string()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(map) => {
            let map: BTreeMap<String, Value> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            map.into_iter().collect()
        }
        other => other,
    }
}

/// Replays the deltas of the changes on a copy of `before`, directly or through their stored form.
fn replay(
    schema: &Schema,
    before: &Arc<AnyState>,
    after: &Arc<AnyState>,
    applied: &Applied,
    stored: bool,
) -> Arc<AnyState> {
    let mut copy = schema.ops.copy(&**before);
    let target = Arc::get_mut(&mut copy).unwrap();
    for (id, change) in &applied.changes {
        let ops = &schema.field(*id).ops;
        let delta = ops.delta(&**after, change);
        let delta = if stored { AnyValue::json(delta.to_json().unwrap()) } else { delta };
        ops.apply_delta(target, change, delta).unwrap();
    }
    copy
}

/// Applies the writes to one field alone, to compare the result with that of all writes.
fn alone(schema: &Schema, before: &Arc<AnyState>, written: &FieldSet, all: &[TaskUpdate], id: FieldId) -> Value {
    let only = |task: &TaskUpdate| {
        let mut update = Update::new();
        task.update.writes().iter().filter(|write| write.field == id).for_each(|write| update.push(write.clone()));
        TaskUpdate { node: task.node.clone(), update }
    };
    let (mut state, mut written) = (before.clone(), written.clone());
    apply(schema, &mut state, &mut written, all.iter().map(only), ApplyOptions::default()).unwrap();
    schema.field(id).ops.to_json(&*state).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// R-GRA-34, R-GRA-45, R-GRA-48: any superstep gives the same result twice; a failing one changes nothing; the
    /// deltas of a successful one, replayed on the previous state, give the new state; a successful one can be
    /// undone completely; and fields do not affect each other.
    #[test]
    fn any_superstep_is_deterministic_atomic_replayable_and_can_be_undone(
        supersteps in prop::collection::vec(any_superstep(), 1..6),
        strict in any::<bool>(),
    ) {
        let mut thread = Thread::new(every_kind());
        thread.options.strict_set_once = strict;
        let schema = thread.schema.clone();
        for writes in supersteps {
            let updates = updates(&schema, &writes);
            let (before, before_written) = (schema.ops.copy(&*thread.state), thread.written.clone());
            let before_text = text(&schema, &before);
            let (mut twin, mut twin_written) = (schema.ops.copy(&*before), before_written.clone());
            let options = ApplyOptions { undoable: true, ..thread.options };
            let twin_result = apply_with_undo(&schema, &mut twin, &mut twin_written, updates.clone(), options);
            let result = apply(&schema, &mut thread.state, &mut thread.written, updates.clone(), thread.options);
            prop_assert_eq!(text(&schema, &thread.state), text(&schema, &twin));
            prop_assert_eq!(&thread.written, &twin_written);
            match (result, twin_result) {
                (Ok(applied), Ok((same, undo_log))) => {
                    prop_assert_eq!(&applied, &same);
                    for stored in [false, true] {
                        let copy = replay(&schema, &before, &thread.state, &applied, stored);
                        prop_assert_eq!(text(&schema, &copy), text(&schema, &thread.state));
                    }
                    for (id, field) in schema.iter().filter(|(_, field)| !field.flags.set_once) {
                        let together = field.ops.to_json(&*thread.state).unwrap();
                        prop_assert_eq!(alone(&schema, &before, &before_written, &updates, id), together);
                    }
                    undo_log.run(Arc::get_mut(&mut twin).unwrap(), &mut twin_written);
                    prop_assert_eq!(text(&schema, &twin), before_text);
                    prop_assert_eq!(twin_written, before_written);
                }
                (Err(error), Err(same)) => {
                    prop_assert_eq!(error.to_string(), same.to_string());
                    prop_assert_eq!(text(&schema, &thread.state), before_text);
                    prop_assert_eq!(&thread.written, &before_written);
                }
                (result, _) => prop_assert!(false, "twice differs: {result:?}"),
            }
        }
    }

    /// R-GRA-44: the order of arrival has no effect once the updates are sorted by task.
    #[test]
    fn arrival_order_never_changes_the_state(
        (writes, arrival) in any_superstep().prop_flat_map(|writes| (Just(writes), Just(vec![0, 1, 2, 3_usize]).prop_shuffle())),
    ) {
        let schema = every_kind();
        let sorted = updates(&schema, &writes);
        let mut arrived: Vec<(usize, TaskUpdate)> = arrival.into_iter().map(|task| (task, sorted[task].clone())).collect();
        arrived.sort_by_key(|(task, _)| *task);
        let run = |updates: Vec<TaskUpdate>| {
            let mut thread = Thread::new(schema.clone());
            let result = apply(&schema, &mut thread.state, &mut thread.written, updates, ApplyOptions::default());
            (text(&schema, &thread.state), result.map_err(|error| error.to_string()))
        };
        prop_assert_eq!(run(arrived.into_iter().map(|(_, update)| update).collect()), run(sorted));
    }
}

/// Checks the generator: many supersteps succeed, many fail, and every kind of change occurs.
#[test]
fn generated_supersteps_are_good_bad_and_varied() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (schema, mut good, mut bad, mut kinds) = (every_kind(), 0, 0, std::collections::BTreeSet::new());
    let mut thread = Thread::new(schema.clone());
    for _ in 0..3_000 {
        let writes = any_superstep().new_tree(&mut runner).unwrap().current();
        match apply(&schema, &mut thread.state, &mut thread.written, updates(&schema, &writes), ApplyOptions::default())
        {
            Ok(applied) => {
                good += 1;
                let kind = |change: &Change| serde_json::to_value(change).unwrap()["kind"].to_string();
                kinds.extend(applied.changes.iter().map(|(id, change)| (*id == FieldId(17), kind(change))));
            }
            Err(_) => bad += 1,
        }
    }
    assert!(good > 500 && bad > 300, "{good} good, {bad} bad");
    assert!(kinds.len() >= 6, "{kinds:?}");
}
