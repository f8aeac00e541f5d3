//! Tests of schemas: declaration, validation, parsing and serialization.

use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use super::*;
use crate::apply::{ApplyOptions, FieldSet, TaskUpdate, apply};
use crate::dynamic_state::DynamicState;
use crate::json_reducer::REDUCER_NAMES;
use crate::types::FieldType;

fn build(map: Value) -> Arc<Schema> {
    Schema::from_json("state", &map).expect("a schema")
}

/// Returns pointer, message and help of every mistake in a schema.
fn diagnostics(map: &Value) -> Vec<(String, String, String)> {
    let error = Schema::from_json("state", map).expect_err("rejected");
    assert_eq!(error.code(), ErrorCode::InvalidGraph);
    listed(error.diagnostics())
}

fn listed(diagnostics: &[Diagnostic]) -> Vec<(String, String, String)> {
    let row = |diagnostic: &Diagnostic| {
        (diagnostic.pointer.clone(), diagnostic.message.clone(), diagnostic.help.clone().unwrap_or_default())
    };
    diagnostics.iter().map(row).collect()
}

fn pointers_and_messages(diagnostics: &[Diagnostic]) -> Vec<(String, String)> {
    listed(diagnostics).into_iter().map(|(pointer, message, _)| (pointer, message)).collect()
}

fn owned_rows(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(pointer, message)| ((*pointer).to_owned(), (*message).to_owned())).collect()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

/// Applies a JSON update of a node, and returns the state, the warnings and the new written fields.
fn write(schema: &Schema, update: Value) -> Result<(Value, Vec<String>), Error> {
    let mut warnings = Vec::new();
    let parsed = schema.update_from_json(object(update), &mut warnings);
    let update =
        parsed.map_err(|diagnostics| Error::with_diagnostics(ErrorCode::TypeMismatch, "refused", diagnostics))?;
    let (mut state, mut written) = (schema.initial_state(), FieldSet::default());
    let updates = [TaskUpdate { node: "a".into(), update }];
    let applied = apply(schema, &mut state, &mut written, updates, ApplyOptions::default())?;
    warnings.extend(applied.warnings.into_iter().map(|(_, message)| message));
    Ok((schema.to_json(&*state).expect("data"), warnings))
}

/// R-GRA-2, R-GRA-5, R-GRA-8: only the name is required; without a type any value is accepted, without a reducer
/// the last one stays.
#[test]
fn a_field_needs_only_a_name() {
    let schema = Schema::builder("state")
        .field(field("bare"))
        .field(field("whole").field_type(FieldType::Integer).reducer("add").default(5))
        .build()
        .expect("a schema");
    assert_eq!(
        schema.describe(),
        json!([
            { "name": "bare", "type": "any", "reducer": null, "default": null, "flags": [] },
            { "name": "whole", "type": "integer", "reducer": "add", "default": 5, "flags": [] },
        ])
    );
    for value in [json!(null), json!(1), json!("a"), json!([1, "a"]), json!({ "a": null }), json!(true)] {
        let (state, warnings) = write(&schema, json!({ "bare": value })).expect("any value");
        assert_eq!((&state["bare"], warnings.len()), (&value, 0));
    }
}

/// R-GRA-11: the example of R-GRA-3 in the map form.
#[test]
fn the_seeds_example_is_a_map() {
    let schema = build(json!({
        "messages": { "type": "array", "reducer": "add", "default": [] },
        "count": { "type": "integer", "reducer": "add", "default": 0 },
        "status": { "type": "string" },
        "metadata": { "type": "object", "reducer": "merge", "default": {} },
    }));
    let before = schema.to_json(&*schema.initial_state()).expect("data");
    assert_eq!(before, json!({ "messages": [], "count": 0, "status": null, "metadata": {} }));
    let update = json!({ "messages": ["hi"], "count": 2, "status": "open", "metadata": { "a": 1 } });
    assert_eq!(write(&schema, update.clone()).expect("it fits").0, update);
}

/// R-GRA-4: names are case-sensitive UTF-8.
#[test]
fn names_that_differ_are_two_fields() {
    let schema = build(json!({ "name": {}, "Name": {}, "größe/μ~": {}, "_x": {}, "a b": {} }));
    assert_eq!(schema.fields().len(), 5);
    for field in schema.fields() {
        assert_eq!(schema.field(schema.find(&field.name).expect("declared")).name, field.name);
    }
    assert_eq!(schema.find("NAME"), None);
}

/// R-GRA-4: empty, reserved and repeated names are rejected when the schema is built, all of them, with every other
/// mistake of the schema.
#[test]
fn bad_names_are_listed_all_at_once() {
    let error = Schema::builder("state")
        .field(field(""))
        .field(field("__x"))
        .field(field("a/b"))
        .field(field("a/b").reducer("ad"))
        .field(field("ok").range(Some(2.0), Some(1.0)))
        .build()
        .expect_err("rejected");
    let expected = owned_rows(&[
        ("/", "the name of a field is empty"),
        ("/__x", "field name `__x` is reserved: names must not start with `__`"),
        ("/a~1b", "duplicate field `a/b`"),
        ("/a~1b/reducer", "unknown reducer `ad`"),
        ("/ok", "the range from 2 to 1 is empty"),
    ]);
    assert_eq!(pointers_and_messages(error.diagnostics()), expected);
}

/// R-GRA-6: every type has its form in a schema, and rejects values of other types.
#[test]
fn every_type_is_declared_and_enforced() {
    let person = json!({ "schema": { "type": "object", "required": ["name"] } });
    let rows = [
        (json!("any"), json!([1]), None),
        (json!("boolean"), json!(true), Some(json!(1))),
        (json!("integer"), json!(3), Some(json!(3.5))),
        (json!("number"), json!(3.5), Some(json!("3"))),
        (json!("string"), json!("a"), Some(json!(1))),
        (json!("array"), json!([1]), Some(json!({}))),
        (json!("object"), json!({ "a": 1 }), Some(json!([]))),
        (json!("datetime"), json!("2026-01-02T03:04:05Z"), Some(json!("soon"))),
        (json!("messages"), json!([{ "id": "1", "role": "user", "content": "hi" }]), Some(json!([{ "role": "cat" }]))),
        (json!({ "enum": ["low", "high"] }), json!("low"), Some(json!("lo"))),
        (json!("integer?"), json!(null), Some(json!("1"))),
        (person, json!({ "name": "Ada" }), Some(json!({}))),
    ];
    for (kind, good, bad) in rows {
        let schema = build(json!({ "x": { "type": kind } }));
        assert_eq!(write(&schema, json!({ "x": good })).expect("it fits").0["x"], good, "{kind}");
        if let Some(bad) = bad {
            let error = write(&schema, json!({ "x": bad })).expect_err("rejected");
            assert!(error.diagnostics()[0].pointer.starts_with("/x"), "{kind}: {error}");
        }
    }
}

/// R-GRA-7: `enforce` rejects with field, types and node; `warn` reports the same and accepts the value; `off` is
/// silent.
#[test]
fn types_are_enforced_warned_of_or_left_alone() {
    let schema = |types| {
        let fields =
            json!({ "count": { "type": "integer" }, "items": { "type": "array", "reducer": { "one_of": [1] } } });
        Schema::builder("state").fields_from_json(&fields).type_checks(types).build().expect("a schema")
    };
    let raw = |schema: &Schema| {
        let mut update = Update::new();
        let field = schema.find("count").expect("declared");
        update.push(Write { field, mode: WriteMode::Reduce, value: json!("str").into() });
        let updates = [TaskUpdate { node: "counter".into(), update }];
        let mut state = schema.initial_state();
        let applied = apply(schema, &mut state, &mut FieldSet::default(), updates, ApplyOptions::default());
        applied.map(|applied| (schema.to_json(&*state).expect("data")["count"].clone(), applied.warnings))
    };
    let error = raw(&schema(TypeChecks::Enforce)).expect_err("rejected");
    assert_eq!(error.code(), ErrorCode::TypeMismatch);
    assert_eq!(error.to_string(), "error[SS-005]: node `counter`: field `count`: expected integer, found string");
    let (value, warnings) = raw(&schema(TypeChecks::Warn)).expect("taken");
    assert_eq!(value, "str");
    assert_eq!(warnings[0].1, "field `count` from `counter`: expected integer, found string");
    assert_eq!(raw(&schema(TypeChecks::Off)).expect("taken"), (json!("str"), Vec::new()));
}

/// R-GRA-7: the type is checked for the reduced value, not only for the update.
#[test]
fn a_reduced_value_of_another_type_is_rejected() {
    let schema = build(json!({ "count": { "type": "integer", "reducer": "append", "default": 1 } }));
    let error = write(&schema, json!({ "count": 2 })).expect_err("rejected");
    assert_eq!(error.to_string(), "error[SS-005]: node `a`: field `count`: expected integer, found array");
}

/// R-GRA-9, R-GRA-37: a default is copied to any depth; R-GRA-10: or created by a function, separately for every state.
#[test]
fn every_state_has_its_own_defaults() {
    let created = Arc::new(AtomicU32::new(0));
    let counter = created.clone();
    let schema = Schema::builder("state")
        .field(field("deep").reducer("deep_merge").default(json!({ "list": [[1]], "map": { "a": {} } })))
        .field(field("fresh").default_with(move || json!(counter.fetch_add(1, Ordering::Relaxed))))
        .build()
        .expect("a schema");
    let (first, second) = (schema.initial_state(), schema.initial_state());
    let default_of = |state: &Arc<AnyState>| schema.to_json(&**state).expect("data")["fresh"].clone();
    assert_ne!(default_of(&first), default_of(&second));
    let mut changed = first.clone();
    let mut warnings = Vec::new();
    let update = object(json!({ "deep": { "list": [[1, 2]], "map": { "a": { "b": 1 } } } }));
    let update = schema.update_from_json(update, &mut warnings).expect("it fits");
    let updates = [TaskUpdate { node: "a".into(), update }];
    apply(&schema, &mut changed, &mut FieldSet::default(), updates, ApplyOptions::default()).expect("applied");
    let deep = |state: &Arc<AnyState>| schema.to_json(&**state).expect("data")["deep"].clone();
    assert_eq!(deep(&changed), json!({ "list": [[1, 2]], "map": { "a": { "b": 1 } } }));
    for state in [&first, &second, &schema.initial_state()] {
        assert_eq!(deep(state), json!({ "list": [[1]], "map": { "a": {} } }));
    }
}

/// R-GRA-11: each key is a field; a map has options, each of them optional, any other value means none.
#[test]
fn the_short_form_takes_maps_and_anything_else() {
    let schema = build(json!({
        "empty": {}, "null": null, "text": "integer", "number": 3, "list": [1],
        "typed": { "type": "integer" }, "folded": { "reducer": "append" }, "preset": { "default": 7 },
    }));
    let bare = |name: &str| json!({ "name": name, "type": "any", "reducer": null, "default": null, "flags": [] });
    for row in schema.describe().as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        let expected = match name {
            "typed" => json!({ "name": name, "type": "integer", "reducer": null, "default": null, "flags": [] }),
            "folded" => json!({ "name": name, "type": "any", "reducer": "append", "default": null, "flags": [] }),
            "preset" => json!({ "name": name, "type": "any", "reducer": null, "default": 7, "flags": [] }),
            name => bare(name),
        };
        assert_eq!(row, &expected);
    }
    assert_eq!(write(&schema, json!({ "text": "not checked" })).expect("any value").0["text"], "not checked");
}

/// R-GRA-11: an unknown option, or an invalid value of one, is rejected by name and pointer.
#[test]
fn invalid_options_are_rejected_with_their_location() {
    let rows = [
        (json!({ "a": { "reduser": "add" } }), "/a/reduser", "unknown option `reduser`"),
        (json!({ "a": { "type": "intger" } }), "/a/type", "unknown type `intger`"),
        (json!({ "a": { "type": { "schema": 3 } } }), "/a/type/schema", "not a valid JSON Schema"),
        (json!({ "a": { "private": "yes" } }), "/a/private", "expected boolean, found string"),
        (json!({ "a": { "min": "low" } }), "/a/min", "expected number, found string"),
        (json!({ "a": { "min": 2, "max": 1 } }), "/a", "the range from 2 to 1 is empty"),
        (json!({ "a": { "on_conflict": "first" } }), "/a/on_conflict", "`on_conflict` must be `reject` or `last_wins`"),
        (json!({ "a": { "type": "integer", "default": "0" } }), "/a/default", "expected integer, found string"),
        (json!({ "a": { "type": "messages", "default": [{ "role": "cat" }] } }), "/a/default/0", "role"),
        (
            json!({ "a": { "type": "integer", "reducer": "add_messages" } }),
            "/a",
            "the reducer `add_messages` requires a message list",
        ),
        (json!([1]), "", "a schema must be an object of field names and options"),
    ];
    for (map, location, message) in rows {
        let diagnostics = diagnostics(&map);
        assert_eq!(diagnostics.len(), 1, "{map}: {diagnostics:?}");
        assert!(diagnostics[0].0 == location && diagnostics[0].1.contains(message), "{map}: {diagnostics:?}");
    }
}

/// R-GRA-12: reducers are named by a string; an unknown one is rejected with a list of the valid names.
#[test]
fn an_unknown_reducer_lists_the_known_ones() {
    let names = ["add", "append", "merge", "replace", "add_messages", "keep_last:10", "set_union", "set_once"];
    for name in names {
        build(json!({ "x": { "reducer": name } }));
    }
    let diagnostics = diagnostics(&json!({ "x": { "reducer": "apend" } }));
    assert_eq!((&*diagnostics[0].0, &*diagnostics[0].1), ("/x/reducer", "unknown reducer `apend`"));
    assert!(REDUCER_NAMES.iter().all(|name| diagnostics[0].2.contains(&format!("`{name}`"))), "{diagnostics:?}");
    assert!(diagnostics[0].2.starts_with("did you mean `append`?"), "{diagnostics:?}");
}

/// R-GRA-13: `fields()` has name, type, reducer, default and flags, allowed values and bounds.
#[test]
fn a_schema_describes_itself() {
    let schema = build(json!({
        "a": { "type": "string", "set_once": true, "required": true },
        "b": { "type": "integer", "default": 1, "on_conflict": "last_wins", "min": 0, "max": 9.5 },
        "c": { "private": true, "ephemeral": true, "untracked": true },
        "d": { "reducer": { "one_of": ["x", "y"] } },
        "e": { "type": "messages" },
    }));
    let expected = json!([
        { "name": "a", "type": "string", "reducer": null, "default": null, "flags": ["set_once", "required"] },
        { "name": "b", "type": "integer", "reducer": null, "default": 1, "flags": ["last_wins"], "min": 0, "max": 9.5 },
        { "name": "c", "type": "any", "reducer": null, "default": null, "flags": ["private", "untracked", "ephemeral"] },
        { "name": "d", "type": "any", "reducer": null, "default": null, "flags": [], "one_of": ["x", "y"] },
        { "name": "e", "type": "messages", "reducer": "add_messages", "default": null, "flags": [] },
    ]);
    assert_eq!(schema.describe(), expected);
}

/// R-GRA-13: JSON Schema of the state, or of the fields an input or output has.
#[test]
fn a_schema_exports_json_schema() {
    let schema = build(json!({
        "count": { "type": "integer", "default": 0, "min": 0, "max": 10 },
        "level": { "reducer": { "one_of": ["low", "high"] }, "required": true },
        "secret": { "type": "string?", "private": true },
        "live": { "untracked": true },
    }));
    let all = schema.json_schema(|_| true);
    assert_eq!(all["title"], "state");
    assert_eq!(all["required"], json!(["level"]));
    assert_eq!(all["additionalProperties"], false);
    assert_eq!(
        all["properties"],
        json!({
            "count": { "type": "integer", "default": 0, "minimum": 0, "maximum": 10 },
            "level": { "enum": ["low", "high"] },
            "secret": { "type": ["string", "null"] },
        })
    );
    let input = schema.json_schema(|field| !field.flags.private);
    assert_eq!(object(input["properties"].clone()).keys().collect::<Vec<_>>(), ["count", "level"]);
    assert!(crate::types::JsonSchemaValidator::new(all).is_ok());
}

/// R-GRA-13, R-GRA-47: the slot of undeclared fields is not described as a field.
#[test]
fn undeclared_fields_are_not_described() {
    let schema = allowing();
    assert_eq!(schema.describe().as_array().expect("rows").len(), 1);
    let exported = schema.json_schema(|_| true);
    assert_eq!(object(exported["properties"].clone()).len(), 1);
    assert_eq!(exported["additionalProperties"], true);
}

fn allowing() -> Arc<Schema> {
    unknown(UnknownFields::Allow)
}

fn unknown(rule: UnknownFields) -> Arc<Schema> {
    let fields = json!({ "status": { "default": "new" } });
    Schema::builder("state").fields_from_json(&fields).unknown_fields(rule).build().expect("a schema")
}

/// R-GRA-36: every field has a copy of its default, or null.
#[test]
fn the_initial_state_has_every_field() {
    let schema = build(json!({ "items": { "default": [] }, "count": { "default": 0 }, "status": {} }));
    let state = schema.initial_state();
    assert_eq!(schema.to_json(&*state).expect("data"), json!({ "items": [], "count": 0, "status": null }));
    let dynamic_state = state.downcast_ref::<DynamicState>().expect("a dynamic state");
    assert_eq!(*dynamic_state.get("items"), json!([]));
    assert_eq!(*dynamic_state.get("nothing"), json!(null));
}

/// R-GRA-47: an unknown key is rejected with the nearest name, or with all names.
#[test]
fn an_unknown_field_is_rejected_with_the_nearest_name() {
    let schema = unknown(UnknownFields::Reject);
    let rejections = |update| listed(&schema.update_from_json(object(update), &mut Vec::new()).expect_err("rejected"));
    let row = |pointer: &str, message: &str, help: &str| vec![(pointer.into(), message.into(), help.into())];
    assert_eq!(rejections(json!({ "statsu": 1 })), row("/statsu", "no field `statsu`", "did you mean `status`?"));
    assert_eq!(rejections(json!({ "a/b": 1 })), row("/a~1b", "no field `a/b`", "the fields are `status`"));
    assert_eq!(rejections(json!({ "__extras__": {} }))[0].1, "no field `__extras__`");
}

/// R-GRA-47: `allow` keeps an unknown key, later values replace earlier ones; `drop` leaves it out with a warning.
#[test]
fn unknown_fields_are_retained_or_dropped_as_configured() {
    let update = json!({ "status": "open", "color": ["red"], "size": { "__overwrite__": 3 } });
    let (state, warnings) = write(&allowing(), update.clone()).expect("kept");
    assert_eq!((state, warnings.len()), (json!({ "status": "open", "color": ["red"], "size": 3 }), 0));
    let (state, warnings) = write(&unknown(UnknownFields::Drop), update).expect("dropped");
    assert_eq!(state, json!({ "status": "open" }));
    let dropped = |name: &str| format!("field `{name}` is not in schema `state` and was dropped");
    assert_eq!(warnings, [dropped("color"), dropped("size")]);
}

/// R-GRA-47: an allowed undeclared field can be read by name.
#[test]
fn an_allowed_field_is_read_by_its_name() {
    let schema = allowing();
    let state = schema.state_from_json(object(json!({ "status": "open", "color": "red" }))).expect("read");
    let dynamic_state = state.downcast_ref::<DynamicState>().expect("a dynamic state");
    assert_eq!(*dynamic_state.get("color"), json!("red"));
    assert_eq!(dynamic_state.to_json(), json!({ "status": "open", "color": "red" }));
}

/// R-GRA-50: unknown keys and wrong types are all listed, each with a JSON pointer.
#[test]
fn everything_wrong_with_an_update_is_listed_at_once() {
    let person = json!({ "type": "object", "required": ["name"], "properties": { "age": { "type": "integer" } } });
    let schema = build(json!({
        "count": { "type": "integer", "reducer": "add" },
        "person": { "type": { "schema": person } },
        "status": { "type": "string" },
        "talk": { "type": "messages" },
    }));
    let update = json!({
        "count": "1", "person": { "age": "old" }, "satus": 1, "status": { "__overwrite__": 4 },
        "talk": [{ "role": "user", "content": "hi" }, { "role": "cat", "content": "miau" }],
    });
    let mut warnings = Vec::new();
    let diagnostics = schema.update_from_json(object(update), &mut warnings).expect_err("rejected");
    let expected = owned_rows(&[
        ("/count", "expected integer, found string"),
        ("/person", "missing \"name\""),
        ("/person/age", "expected integer, found string"),
        ("/satus", "no field `satus`"),
        ("/status", "expected string, found integer"),
    ]);
    assert_eq!(pointers_and_messages(&diagnostics)[..5], expected);
    assert!(diagnostics.len() == 6 && diagnostics[5].pointer.starts_with("/talk"), "{diagnostics:?}");
}

/// R-GRA-11: the same map in JSON and in TOML is the same schema.
#[test]
fn json_and_toml_give_the_same_schema() {
    let json = build(json!({
        "count": { "type": "integer", "reducer": "add", "default": 0 },
        "level": { "type": { "enum": ["low", "high"] }, "on_conflict": "last_wins" },
        "log": { "type": "array", "reducer": { "keep_last": 10 }, "default": ["a"], "private": true },
        "ratio": { "type": "number", "min": 0.5 },
        "status": {},
    }));
    let toml = r#"
        status = {}
        ratio = { type = "number", min = 0.5 }
        log = { type = "array", reducer = { keep_last = 10 }, default = ["a"], private = true }
        [count]
        type = "integer"
        reducer = "add"
        default = 0
        [level]
        type = { enum = ["low", "high"] }
        on_conflict = "last_wins"
    "#;
    let toml = Schema::from_toml("state", toml).expect("a schema");
    assert_eq!(json.describe(), toml.describe());
    assert_eq!(json.json_schema(|_| true), toml.json_schema(|_| true));
    let error = Schema::from_toml("state", "count = {").expect_err("rejected");
    assert_eq!(error.code(), ErrorCode::InvalidGraph);
}

/// D6: the types of an external state are checked; every field that cannot be parsed is listed.
#[test]
fn an_unreadable_state_is_rejected_entirely() {
    let schema = build(json!({ "count": { "type": "integer" }, "talk": { "type": "messages" } }));
    let parse_error = |state| schema.state_from_json(object(state)).map(|_| ()).expect_err("rejected");
    let error = parse_error(json!({ "count": "1", "talk": [{ "role": "cat" }], "cuont": 1 }));
    let pointers: Vec<&str> = error.diagnostics().iter().map(|diagnostic| &*diagnostic.pointer).collect();
    assert_eq!(pointers, ["/count", "/cuont", "/talk/0"]);
}

fn any_state() -> impl Strategy<Value = Value> {
    let value = crate::json_reducer::tests::any_value;
    let messages = prop::collection::vec(("[ab]{1,3}", "[xyz ]{0,4}"), 0..4).prop_map(|rows| {
        let message = |(id, text): (String, String)| json!({ "id": id, "role": "user", "content": text });
        let unique: BTreeMap<String, Value> = rows.into_iter().map(|row| (row.0.clone(), message(row))).collect();
        unique.into_values().collect::<Value>()
    });
    (value(), value(), any::<Option<i64>>(), messages, prop::collection::btree_map("[mn/~]{1,2}", value(), 0..3))
        .prop_map(|(any, list, count, messages, more)| {
            let mut state = object(json!({ "any": any, "list": list, "count": count, "talk": messages }));
            state.extend(more);
            Value::Object(state)
        })
}

proptest! {
    /// R-GRA-47: a state survives a round trip through JSON, including undeclared fields.
    #[test]
    fn a_state_is_read_back_from_what_it_writes(state in any_state()) {
        let fields = json!({
            "any": { "default": [1] }, "list": { "reducer": "add" }, "count": { "type": "integer", "default": 5 },
            "talk": { "type": "messages" },
        });
        let schema =
            Schema::builder("state").fields_from_json(&fields).unknown_fields(UnknownFields::Allow).build().unwrap();
        let parsed = schema.state_from_json(object(state.clone())).unwrap();
        let written = schema.to_json(&*parsed).unwrap();
        let reparsed = schema.state_from_json(object(written.clone())).unwrap();
        prop_assert_eq!(parsed.downcast_ref::<DynamicState>().unwrap(), reparsed.downcast_ref::<DynamicState>().unwrap());
        for name in ["any", "list", "count"] {
            prop_assert_eq!(written[name].to_string(), state[name].to_string());
        }
        prop_assert_eq!(object(written).len(), object(state).len());
    }
}
