//! What holds for any updates on any of the reducers.

use std::collections::BTreeMap;

use proptest::strategy::ValueTree;

use super::*;
use crate::json_reducer::tests::any_value;

/// One write of a generated superstep: task, field, overwrite or not, value.
type AnyWrite = (usize, usize, bool, Value);

/// A field for every reducer, with and without a type.
fn every_kind() -> Arc<Schema> {
    let picky = |current: Value, new: Value| match new {
        Value::Bool(_) => Err(Fault::new("no truth here")),
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
    let talk = prop::collection::vec(prop_oneof![3 => message, 1 => removal], 0..3).prop_map(Value::from);
    let fields = every_kind().fields().len();
    let overwrites = || prop::bool::weighted(0.1);
    // Few writes, so that many supersteps are good; often lists and maps, which have parts.
    let write = prop_oneof![
        5 => (0..4_usize, 0..fields, overwrites(), any_value()),
        1 => (0..4_usize, Just(17_usize), overwrites(), talk),
    ];
    prop::collection::vec(write, 0..5)
}

/// The updates of a superstep, in the order of tasks; what cannot be read is left out.
fn updates(schema: &Schema, writes: &[AnyWrite]) -> Vec<TaskUpdate> {
    let mut tasks = vec![Update::new(); 4];
    for (task, index, overwrites, value) in writes {
        let (field, ops) = (FieldId(*index as u32), &schema.fields()[*index].ops);
        let how = if *overwrites { How::Overwrite } else { How::Reduce };
        let is_talk = schema.fields()[*index].reducer.as_deref() == Some("add_messages");
        let value = match (is_talk, how) {
            (false, _) => Datum::json(value.clone()),
            (true, How::Reduce) => match ops.read_input(value.clone()) {
                Ok(value) => value,
                Err(_) => continue,
            },
            (true, How::Overwrite) => match ops.read_value(value.clone()) {
                Ok(value) => value,
                Err(_) => continue,
            },
        };
        tasks[*task].push(Write { field, how, value });
    }
    let task = |(index, update)| TaskUpdate { node: format!("n{index}").into(), update };
    tasks.into_iter().enumerate().map(task).collect()
}

/// The whole state as text, because `0.0` equals `-0.0` as a value. The order of keys means nothing in JSON, and where a crate
/// of the build has `serde_json` keep it, it is that of writing.
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

/// A copy of `before` on which the parts of the changes are replayed, straight or through storage.
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
        let part = ops.part(&**after, change);
        let part = if stored { Datum::json(part.to_json().unwrap()) } else { part };
        ops.restore(target, change, part).unwrap();
    }
    copy
}

/// Whether the writes to one field alone do what they do among the others.
fn alone(schema: &Schema, before: &Arc<AnyState>, written: &FieldSet, all: &[TaskUpdate], id: FieldId) -> Value {
    let only = |task: &TaskUpdate| {
        let mut update = Update::new();
        task.update.writes().iter().filter(|write| write.field == id).for_each(|write| update.push(write.clone()));
        TaskUpdate { node: task.node.clone(), update }
    };
    let (mut state, mut written) = (before.clone(), written.clone());
    apply(schema, &mut state, &mut written, all.iter().map(only), FoldRules::default()).unwrap();
    schema.field(id).ops.to_json(&*state).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// R-GRA-34, R-GRA-45, R-GRA-48: any superstep gives the same result twice; a bad one changes nothing; the parts of
    /// a good one, replayed on what was before, give what is then; a good one can be taken back whole; and no field
    /// notices the others.
    #[test]
    fn any_superstep_is_deterministic_whole_replayable_and_can_be_taken_back(
        supersteps in prop::collection::vec(any_superstep(), 1..6),
        strict in any::<bool>(),
    ) {
        let mut thread = Thread::new(every_kind());
        thread.rules.strict_set_once = strict;
        let schema = thread.schema.clone();
        for writes in supersteps {
            let updates = updates(&schema, &writes);
            let (before, before_written) = (schema.ops.copy(&*thread.state), thread.written.clone());
            let before_text = text(&schema, &before);
            let (mut twin, mut twin_written) = (schema.ops.copy(&*before), before_written.clone());
            let rules = FoldRules { keep_undo: true, ..thread.rules };
            let again = apply_with_undo(&schema, &mut twin, &mut twin_written, updates.clone(), rules);
            let found = apply(&schema, &mut thread.state, &mut thread.written, updates.clone(), thread.rules);
            prop_assert_eq!(text(&schema, &thread.state), text(&schema, &twin));
            prop_assert_eq!(&thread.written, &twin_written);
            match (found, again) {
                (Ok(applied), Ok((same, back))) => {
                    prop_assert_eq!(&applied, &same);
                    for stored in [false, true] {
                        let copy = replay(&schema, &before, &thread.state, &applied, stored);
                        prop_assert_eq!(text(&schema, &copy), text(&schema, &thread.state));
                    }
                    for (id, field) in schema.iter().filter(|(_, field)| !field.flags.set_once) {
                        let together = field.ops.to_json(&*thread.state).unwrap();
                        prop_assert_eq!(alone(&schema, &before, &before_written, &updates, id), together);
                    }
                    back.run(Arc::get_mut(&mut twin).unwrap(), &mut twin_written);
                    prop_assert_eq!(text(&schema, &twin), before_text);
                    prop_assert_eq!(twin_written, before_written);
                }
                (Err(error), Err(same)) => {
                    prop_assert_eq!(error.to_string(), same.to_string());
                    prop_assert_eq!(text(&schema, &thread.state), before_text);
                    prop_assert_eq!(&thread.written, &before_written);
                }
                (found, _) => prop_assert!(false, "twice differs: {found:?}"),
            }
        }
    }

    /// R-GRA-44: arrival never matters once updates are in the order of tasks.
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
            let found = apply(&schema, &mut thread.state, &mut thread.written, updates, FoldRules::default());
            (text(&schema, &thread.state), found.map_err(|error| error.to_string()))
        };
        prop_assert_eq!(run(arrived.into_iter().map(|(_, update)| update).collect()), run(sorted));
    }
}

/// The generator is worth its name: many supersteps are good, many are not, and every kind of change happens.
#[test]
fn generated_supersteps_are_good_bad_and_varied() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (schema, mut good, mut bad, mut kinds) = (every_kind(), 0, 0, std::collections::BTreeSet::new());
    let mut thread = Thread::new(schema.clone());
    for _ in 0..3_000 {
        let writes = any_superstep().new_tree(&mut runner).unwrap().current();
        match apply(&schema, &mut thread.state, &mut thread.written, updates(&schema, &writes), FoldRules::default()) {
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
