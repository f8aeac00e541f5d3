//! `#[derive(GraphState)]`: the schema of a struct, and the application of its updates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::{GraphState, Overwrite, Remove};
use superstep_core::apply::{Applied, ApplyOptions, FieldSet, TaskUpdate, apply};
use superstep_core::change::Change;
use superstep_core::error::{Error, ErrorCode};
use superstep_core::field::AnyState;
use superstep_core::id::FieldId;
use superstep_core::message::{Message, Messages, RemoveMessage};
use superstep_core::schema::{Schema, field};
use superstep_core::types::FieldType;
use superstep_core::update::Update;

/// Returns the schema of a state.
fn schema_of<S: GraphState>() -> Arc<Schema> {
    S::schema().expect("a derived state has a schema")
}

/// State of a thread, with the fields that were written.
struct Thread {
    schema: Arc<Schema>,
    state: Arc<AnyState>,
    written: FieldSet,
}

impl Thread {
    fn new<S: GraphState>() -> Self {
        Self::of(schema_of::<S>())
    }

    fn of(schema: Arc<Schema>) -> Self {
        let state = schema.initial_state();
        Self { schema, state, written: FieldSet::default() }
    }

    /// Applies one superstep, in which each update comes from a separate task: `a`, `b`, …
    fn step<U: Into<Update>>(&mut self, updates: impl IntoIterator<Item = U>) -> Result<Applied, Error> {
        let tasks = ('a'..)
            .zip(updates)
            .map(|(node, update)| TaskUpdate { node: node.to_string().into(), update: update.into() });
        let tasks: Vec<TaskUpdate> = tasks.collect();
        apply(&self.schema, &mut self.state, &mut self.written, tasks, ApplyOptions::default())
    }

    /// Applies one superstep of one task, whose update is JSON.
    fn step_json(&mut self, update: Value) -> Result<Applied, Error> {
        let Value::Object(update) = update else { panic!("an object") };
        let update = self.schema.update_from_json(update, &mut Vec::new()).expect("an update");
        self.step([update])
    }

    fn json(&self) -> Value {
        self.schema.to_json(&*self.state).expect("JSON")
    }

    fn get<S: GraphState>(&self) -> &S {
        self.state.downcast_ref().expect("the state of its own schema")
    }
}

/// Returns the row of one field in `describe()`.
fn row<S: GraphState>(name: &str) -> Value {
    let rows = schema_of::<S>().describe();
    rows.as_array().expect("rows").iter().find(|row| row["name"] == name).expect("a field").clone()
}

/// The state of the example in seed 003.
#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Seed {
    #[reduce(add)]
    messages: Vec<Value>,
    #[reduce(add)]
    count: i64,
    status: Option<String>,
    #[reduce(merge)]
    metadata: BTreeMap<String, Value>,
}

fn seed_by_builder() -> Arc<Schema> {
    let schema = Schema::builder("Seed")
        .field(field("messages").field_type(FieldType::Array).reducer("add").default(json!([])))
        .field(field("count").field_type(FieldType::Integer).reducer("add").default(0))
        .field(field("status").field_type(FieldType::String))
        .field(field("metadata").field_type(FieldType::Object).reducer("merge").default(json!({})));
    schema.build().expect("a schema")
}

fn seed_by_map() -> Arc<Schema> {
    let map = json!({
        "messages": { "type": "array", "reducer": "add", "default": [] },
        "count": { "type": "integer", "reducer": "add", "default": 0 },
        "status": { "type": "string" },
        "metadata": { "type": "object", "reducer": "merge", "default": {} },
    });
    Schema::from_json("Seed", &map).expect("a schema")
}

/// Returns the rows of `describe()` by name, because a JSON map has no order.
fn by_name(schema: &Schema) -> BTreeMap<String, Value> {
    let rows = schema.describe();
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| (row["name"].as_str().expect("a name").to_owned(), row.clone())).collect()
}

/// R-GRA-3: the schema of seed 003 as builder, derive and JSON map has equal `fields()` and equal results.
#[test]
fn the_seeds_schema_is_the_same_in_three_ways() {
    let three = [schema_of::<Seed>(), seed_by_builder(), seed_by_map()];
    assert_eq!(three[0].describe(), three[1].describe());
    assert_eq!(by_name(&three[0]), by_name(&three[2]));
    for schema in three {
        let mut thread = Thread::of(schema);
        assert_eq!(thread.json(), json!({ "messages": [], "count": 0, "status": null, "metadata": {} }));
        let first = json!({ "messages": [{ "id": 1 }], "count": 1, "status": "open", "metadata": { "a": { "b": 1 } } });
        thread.step_json(first).expect("folds");
        let second = json!({ "messages": [2, 3], "count": 2, "metadata": { "a": { "c": 2 }, "d": 1 } });
        thread.step_json(second).expect("folds");
        let expected = json!({
            "messages": [{ "id": 1 }, 2, 3],
            "count": 3,
            "status": "open",
            "metadata": { "a": { "c": 2 }, "d": 1 },
        });
        assert_eq!(thread.json(), expected);
    }
}

/// R-GRA-14: arrays are concatenated in order. R-GRA-20: keys of the update take precedence, nested maps are replaced
/// completely. R-GRA-21: a removed key is deleted.
#[test]
fn setters_take_one_or_many() {
    let mut thread = Thread::new::<Seed>();
    let one = Seed::update().messages(json!("a")).count(1).status("open").metadata(("k".to_owned(), json!({ "x": 1 })));
    thread.step([one]).expect("folds");
    let many =
        Seed::update().messages(vec![json!("b"), json!("c")]).messages([json!("d")]).count(2).count(3).status(None);
    thread.step([many.metadata([("k".to_owned(), json!({ "y": 2 })), ("l".to_owned(), json!(1))])]).expect("folds");
    let expected = json!({
        "messages": ["a", "b", "c", "d"],
        "count": 6,
        "status": null,
        "metadata": { "k": { "y": 2 }, "l": 1 },
    });
    assert_eq!(thread.json(), expected);
    thread.step([Seed::update().metadata(Remove("k".to_owned()))]).expect("folds");
    assert_eq!(thread.json()["metadata"], json!({ "l": 1 }));
}

/// A later call of a setter replaces an earlier one if there is no reducer.
#[test]
fn a_task_may_change_its_mind_about_a_field_without_reducer() {
    let update = Update::from(Seed::input().status("x").count(1).status("y"));
    assert_eq!(update.writes().len(), 2);
    let mut thread = Thread::new::<Seed>();
    thread.step([update]).expect("folds");
    assert_eq!(thread.get::<Seed>().status.as_deref(), Some("y"));
}

/// R-GRA-35: `Overwrite` replaces the value regardless of the reducer; two in one superstep are a conflict.
#[test]
fn overwrite_bypasses_the_reducer() {
    let mut thread = Thread::new::<Seed>();
    thread.step([Seed::update().count(5).messages(json!(1))]).expect("folds");
    let update = Seed::update().count(Overwrite(3)).messages(Overwrite(vec![]));
    thread.step([update.metadata(Overwrite(BTreeMap::new()))]).expect("folds");
    assert_eq!(thread.json()["count"], 3);
    assert_eq!(thread.json()["messages"], json!([]));
    let twice = [Seed::update().count(Overwrite(1)), Seed::update().count(Overwrite(2))];
    assert_eq!(thread.step(twice).expect_err("refused").code(), ErrorCode::ConcurrentUpdate);
    assert_eq!(thread.json()["count"], 3);
}

/// R-GRA-43: two writers of a field without a reducer are rejected, unless the values are equal.
#[test]
fn two_writers_of_one_value_must_agree() {
    let mut thread = Thread::new::<Seed>();
    let error = thread.step([Seed::update().status("x"), Seed::update().status("y")]).expect_err("refused");
    assert_eq!(error.code(), ErrorCode::ConcurrentUpdate);
    thread.step([Seed::update().status("x"), Seed::update().status("x")]).expect("they agree");
    assert_eq!(thread.json()["status"], "x");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Todo {
    id: u32,
    text: String,
}

fn todo(id: u32, text: &str) -> Todo {
    Todo { id, text: text.to_owned() }
}

const LIMIT: usize = 3;

/// A state with every built-in reducer.
#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Folds {
    /// The messages of the conversation.
    #[reduce(messages)]
    talk: Messages,
    #[reduce(append)]
    log: Vec<String>,
    #[reduce(add)]
    joined: String,
    #[reduce(add)]
    spent: Option<u64>,
    #[reduce(deep_merge)]
    tree: BTreeMap<String, Value>,
    #[reduce(deep_merge)]
    json: Value,
    #[reduce(max)]
    best: i32,
    #[reduce(min)]
    #[state(default = 100)]
    worst: i32,
    #[reduce(set_union)]
    seen: Vec<String>,
    #[reduce(set_union)]
    tags: BTreeSet<String>,
    #[reduce(replace)]
    phase: String,
    #[reduce(keep_last = 10)]
    recent: Vec<u32>,
    #[reduce(capped = LIMIT)]
    few: Vec<u32>,
    #[reduce(merge_by = id)]
    todos: Vec<Todo>,
}

/// R-GRA-13: each field describes its reducer by the name that the JSON form uses.
#[test]
fn reducers_are_described_by_name() {
    let rows = schema_of::<Folds>().describe();
    let reducers: Vec<&Value> = rows.as_array().expect("rows").iter().map(|row| &row["reducer"]).collect();
    let expected = json!([
        "add_messages",
        "append",
        "add",
        "add",
        "deep_merge",
        "deep_merge",
        "max",
        "min",
        "set_union",
        "set_union",
        null,
        "keep_last:10",
        "capped:3",
        "merge_by:id",
    ]);
    assert_eq!(json!(reducers), expected);
    assert_eq!(row::<Folds>("talk")["type"], "messages");
    assert_eq!(row::<Folds>("phase")["flags"], json!(["last_wins"]));
}

/// R-GRA-16, R-GRA-17, R-GRA-19: strings are joined, no value plus a number is the number, an append takes one or
/// many.
#[test]
fn additions_and_appends_fold() {
    let mut thread = Thread::new::<Folds>();
    thread.step([Folds::update().joined("ab").spent(2).log("x")]).expect("folds");
    thread.step([Folds::update().joined("cd").spent(3).log(vec!["y".to_owned(), "z".to_owned()])]).expect("folds");
    thread.step_json(json!({ "log": "w", "joined": "!" })).expect("folds");
    let state = thread.get::<Folds>();
    assert_eq!((state.joined.as_str(), state.spent), ("abcd!", Some(5)));
    assert_eq!(state.log, ["x", "y", "z", "w"]);
}

/// R-GRA-23: `deep_merge` merges objects at every depth, and a removed key is deleted.
#[test]
fn deep_merge_merges_at_every_depth() {
    let mut thread = Thread::new::<Folds>();
    let update = |tree: Value| {
        let map: BTreeMap<String, Value> = serde_json::from_value(tree.clone()).expect("a map");
        Folds::update().tree(map).json(tree)
    };
    thread.step([update(json!({ "a": { "b": { "c": 1 } }, "x": 1 }))]).expect("folds");
    let applied = thread.step([update(json!({ "a": { "b": { "d": 2 }, "e": [3] } }))]).expect("folds");
    let merged = Change::Merged { set: vec!["a".to_owned()], removed: vec![] };
    assert_eq!(applied.changes.to_vec(), [(FieldId(4), merged.clone()), (FieldId(5), merged)]);
    let both = json!({ "a": { "b": { "c": 1, "d": 2 }, "e": [3] }, "x": 1 });
    assert_eq!((&thread.json()["tree"], &thread.json()["json"]), (&both, &both));
    thread.step([Folds::update().tree(Remove("x".to_owned()))]).expect("folds");
    thread.step_json(json!({ "tree": { "a": { "b": { "__remove__": true } } } })).expect("folds");
    assert_eq!(thread.json()["tree"], json!({ "a": { "e": [3] } }));
}

/// R-GRA-22, R-GRA-23, R-GRA-32, R-GRA-33: reducers that keep a part of their values.
#[test]
fn reducers_that_keep_a_part() {
    let mut thread = Thread::new::<Folds>();
    let first = Folds::update().best(3).worst(7).recent((0..8).collect::<Vec<u32>>());
    thread.step([first.seen(["a".to_owned(), "b".to_owned()]).tags("t".to_owned())]).expect("folds");
    let second = Folds::update().best(2).worst(9).recent((8..13).collect::<Vec<u32>>());
    thread.step([second.seen(["b".to_owned(), "c".to_owned()]).tags(vec!["t".to_owned()])]).expect("folds");
    thread.step([Folds::update().phase("x"), Folds::update().phase("y")]).expect("the last one wins");
    let state = thread.get::<Folds>();
    assert_eq!((state.best, state.worst, state.phase.as_str()), (3, 7, "y"));
    assert_eq!(state.recent, (3..13).collect::<Vec<u32>>());
    assert_eq!(state.seen, ["a", "b", "c"]);
    assert_eq!(state.tags.len(), 1);
}

/// R-GRA-23: `capped` rejects more items, and an error undoes the whole superstep (R-GRA-34).
#[test]
fn a_rejected_update_undoes_everything() {
    let mut thread = Thread::new::<Folds>();
    thread.step([Folds::update().few([1, 2, 3]).log("kept")]).expect("folds");
    let before = thread.json();
    let error = thread.step([Folds::update().log("lost").joined("lost"), Folds::update().few(4)]).expect_err("refused");
    assert_eq!(error.code(), ErrorCode::ReducerFailed);
    assert!(error.to_string().contains("few"), "{error}");
    assert_eq!(thread.json(), before);
}

/// R-GRA-23: `merge_by` replaces items by their key, in place.
#[test]
fn merge_by_replaces_items_with_equal_keys() {
    let mut thread = Thread::new::<Folds>();
    thread.step([Folds::update().todos(vec![todo(1, "a"), todo(2, "b")])]).expect("folds");
    thread.step([Folds::update().todos(todo(1, "c")).todos(todo(3, "d"))]).expect("folds");
    assert_eq!(thread.get::<Folds>().todos, [todo(1, "c"), todo(2, "b"), todo(3, "d")]);
}

/// R-GRA-24, R-GRA-28: a message list takes messages, texts and removals.
#[test]
fn messages_fold_by_id() {
    let mut thread = Thread::new::<Folds>();
    thread
        .step([Folds::update().talk(Message::user("hi").with_id("1")).talk(Message::assistant("x").with_id("2"))])
        .expect("folds");
    thread.step([Folds::update().talk(Message::assistant("hello").with_id("2"))]).expect("folds");
    thread.step([Folds::update().talk(RemoveMessage::new("1"))]).expect("folds");
    let texts: Vec<String> = thread.get::<Folds>().talk.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["hello"]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mood {
    Good,
    Bad,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Plan {
    steps: Vec<String>,
    next: Option<Box<Plan>>,
}

/// A type without a JSON Schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Plain(u8);

/// A handle that can neither be compared nor serialized.
#[derive(Clone)]
struct Handle(Arc<dyn Fn() -> u32 + Send + Sync>);

impl Default for Handle {
    fn default() -> Self {
        Self(Arc::new(|| 0))
    }
}

fn lorem() -> Vec<Vec<String>> {
    vec![vec!["lorem".to_owned()]]
}

/// A state with every option.
#[derive(GraphState, Clone, Serialize, Deserialize)]
#[state(version = 7, name = "options", rename_all = "camelCase")]
pub struct Options {
    #[state(set_once)]
    topic_of_talk: String,
    #[state(private)]
    secret: Option<Plan>,
    #[serde(skip)]
    #[state(untracked)]
    handle: Handle,
    #[state(ephemeral)]
    glance: Option<i64>,
    #[state(topic)]
    inbox: Vec<i64>,
    #[state(required, last_wins)]
    owner: String,
    #[state(default = lorem())]
    nested: Vec<Vec<String>>,
    #[state(default = Some(Mood::Good), one_of("good", "bad"))]
    mood: Option<Mood>,
    #[state(min = -1, max = 5)]
    level: i8,
    #[state(rename = "@type", one_of("a", "b", 3, true, -1.5))]
    r#type: Value,
    plain: Plain,
    #[state(default = Self::RATIO)]
    ratio: f64,
    done: bool,
}

impl Options {
    const RATIO: f64 = 0.5;
}

/// R-GRA-2, R-GRA-6, R-GRA-13: name, type, reducer, default and flags of every field.
#[test]
fn every_option_is_described() {
    let schema = schema_of::<Options>();
    assert_eq!((schema.name(), schema.version()), ("options", 7));
    let row = |name: &str, kind: Value, reducer: Value, default: Value, flags: &[&str]| json!({ "name": name, "type": kind, "reducer": reducer, "default": default, "flags": flags });
    let (any, none) = (json!("any"), Value::Null);
    let mood = json!({ "enum": ["good", "bad"] });
    let expected = json!([
        row("topicOfTalk", json!("string"), none.clone(), json!(""), &["set_once"]),
        row("secret", json!("object"), none.clone(), none.clone(), &["private"]),
        row("handle", any.clone(), none.clone(), none.clone(), &["untracked"]),
        row("glance", json!("integer"), none.clone(), none.clone(), &["ephemeral"]),
        row("inbox", json!("array"), json!("append"), json!([]), &["ephemeral"]),
        row("owner", json!("string"), none.clone(), json!(""), &["required", "last_wins"]),
        row("nested", json!("array"), none.clone(), json!([["lorem"]]), &[]),
        row("mood", mood, none.clone(), json!("good"), &[]),
        row("level", json!("integer"), none.clone(), json!(0), &[]),
        row("@type", any.clone(), none.clone(), none.clone(), &[]),
        row("plain", any, none.clone(), json!(0), &[]),
        row("ratio", json!("number"), none.clone(), json!(0.5), &[]),
        row("done", json!("boolean"), none, json!(false), &[]),
    ]);
    let mut description = schema.describe();
    let checks = |row: &mut Value| -> Value {
        let row = row.as_object_mut().expect("a row");
        ["one_of", "min", "max"].into_iter().filter_map(|key| row.remove(key)).collect()
    };
    let checks: Vec<Value> = description.as_array_mut().expect("rows").iter_mut().map(checks).collect();
    assert_eq!(description, expected);
    assert_eq!(checks[7..10], [json!([["good", "bad"]]), json!([-1, 5]), json!([["a", "b", 3, true, -1.5]])]);
}

/// R-GRA-13: the schema exports JSON Schema, without references to external definitions.
#[test]
fn json_schema_of_a_struct() {
    let schema = schema_of::<Options>();
    let exported = schema.json_schema(|field| !field.flags.private);
    assert_eq!(exported["required"], json!(["owner"]));
    let properties = &exported["properties"];
    assert_eq!(properties["mood"]["default"], "good");
    assert_eq!(properties["nested"]["items"]["items"]["type"], "string");
    assert_eq!(properties["plain"], json!({ "default": 0 }));
    assert!(properties.get("handle").is_none() && properties.get("secret").is_none());
}

/// R-GRA-39: the first written value stays; a default does not count as a write.
#[test]
fn set_once_keeps_the_first_value() {
    let mut thread = Thread::new::<Options>();
    thread.step([Options::update().topic_of_talk("first")]).expect("folds");
    let applied = thread.step([Options::update().topic_of_talk("second")]).expect("a warning only");
    assert_eq!(applied.warnings.len(), 1);
    assert!(applied.warnings[0].1.contains("`topicOfTalk`"), "{:?}", applied.warnings);
    assert_eq!(thread.get::<Options>().topic_of_talk, "first");
}

/// R-GRA-23: `one_of`, `min` and `max` reject other values, and name field and value.
#[test]
fn checks_reject_and_leave_the_state_as_it_was() {
    let mut thread = Thread::new::<Options>();
    let before = thread.json();
    for (update, part) in [
        (Options::update().level(6), "`level`"),
        (Options::update().level(-2), "`level`"),
        (Options::update().r#type(json!("c")), "`@type`"),
    ] {
        let error = thread.step([update]).expect_err("refused");
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(thread.json(), before);
    }
    let good = Options::update().level(5).r#type(json!(-1.5)).mood(Mood::Bad);
    thread.step([good]).expect("folds");
    thread.step([Options::update().mood(None)]).expect("absent is always allowed");
    assert_eq!((&thread.json()["level"], &thread.json()["mood"]), (&json!(5), &Value::Null));
}

/// An untracked field has any type that can be cloned; it is readable and never serialized.
#[test]
fn untracked_fields_may_have_any_type() {
    let mut thread = Thread::new::<Options>();
    thread.step([Options::update().handle(Handle(Arc::new(|| 42)))]).expect("folds");
    assert_eq!((thread.get::<Options>().handle.0)(), 42);
    assert!(thread.json().get("handle").is_none());
    let outside = json!({ "handle": 1 });
    let problems = thread.schema.update_from_json(outside.as_object().expect("a map").clone(), &mut Vec::new());
    assert_eq!(problems.expect_err("refused").len(), 1);
}

/// A topic appends; `last_wins` resolves two writers.
#[test]
fn topics_append_and_last_wins_resolves_two_writers() {
    let mut thread = Thread::new::<Options>();
    thread.step([Options::update().inbox(1).owner("x"), Options::update().inbox([2, 3]).owner("y")]).expect("folds");
    assert_eq!(thread.get::<Options>().inbox, [1, 2, 3]);
    assert_eq!(thread.get::<Options>().owner, "y");
}

/// R-GRA-9, R-GRA-10, R-GRA-36, R-GRA-37: every thread has its own copy of the defaults, at any depth.
#[test]
fn every_thread_has_its_own_defaults() {
    let (mut one, other) = (Thread::new::<Options>(), Thread::new::<Options>());
    let state: &mut Options = Arc::get_mut(&mut one.state).expect("one owner").downcast_mut().expect("options");
    state.nested[0].push("ipsum".to_owned());
    assert_eq!(one.json()["nested"], json!([["lorem", "ipsum"]]));
    assert_eq!(other.json()["nested"], json!([["lorem"]]));
    assert_eq!(Thread::new::<Options>().json()["nested"], json!([["lorem"]]));
    assert_eq!(Thread::new::<Folds>().json()["worst"], 100);
    assert_eq!(row::<Options>("nested")["default"], json!([["lorem"]]));
}

/// R-GRA-50: external input is validated, and the location of a problem is a JSON pointer.
#[test]
fn input_from_outside_is_checked_by_the_types() {
    let schema = schema_of::<Options>();
    let input = json!({ "mood": "ugly", "secret": { "steps": ["a", 1] }, "topicOfTlak": "x" });
    let mut problems =
        schema.update_from_json(input.as_object().expect("a map").clone(), &mut Vec::new()).expect_err("refused");
    problems.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    let pointers: Vec<&str> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    assert_eq!(pointers, ["/mood", "/secret/steps/1", "/topicOfTlak"]);
    assert_eq!(problems[2].help.as_deref(), Some("did you mean `topicOfTalk`?"));
}

mod folds {
    //! Custom reducers: in place, fallible, by value.

    pub(super) fn longest(current: &mut String, input: String) {
        if input.len() > current.len() {
            *current = input;
        }
    }

    pub(super) fn pay(current: &mut Vec<i64>, amount: i64) -> Result<(), String> {
        current.push(amount);
        if current.iter().sum::<i64>() < 0 { Err(format!("{amount} is more than there is")) } else { Ok(()) }
    }

    pub(super) fn average(current: f64, input: f64) -> f64 {
        f64::midpoint(current, input)
    }
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Custom {
    #[reduce(with = folds::longest)]
    word: String,
    #[reduce(with = folds::pay, input = i64)]
    account: Vec<i64>,
    #[reduce(with = folds::average)]
    mean: f64,
    #[reduce(with = Self::count, input = Vec<(String, u32)>)]
    scores: BTreeMap<String, u32>,
}

impl Custom {
    fn count(current: &mut BTreeMap<String, u32>, input: Vec<(String, u32)>) {
        for (name, score) in input {
            *current.entry(name).or_default() += score;
        }
    }
}

/// R-GRA-31: any function of two arguments is a reducer.
#[test]
fn functions_of_three_shapes_are_reducers() {
    let mut thread = Thread::new::<Custom>();
    let scores = vec![("x".to_owned(), 1), ("y".to_owned(), 2), ("x".to_owned(), 3)];
    thread.step([Custom::update().word("abc".to_owned()).account(5).mean(4.0).scores(scores)]).expect("folds");
    thread.step_json(json!({ "word": "a", "account": -2, "mean": 4.0 })).expect("folds");
    let expected = json!({ "word": "abc", "account": [5, -2], "mean": 3.0, "scores": { "x": 4, "y": 2 } });
    assert_eq!(thread.json(), expected);
    assert_eq!(row::<Custom>("scores")["reducer"], "custom");
    thread.step([Custom::update().word(Overwrite(String::new()))]).expect("folds");
    assert_eq!(thread.json()["word"], "");
}

/// R-GRA-34: a reducer may fail, even after a partial change; then the state is restored and the error names field
/// and node.
#[test]
fn a_function_that_fails_halfway_changes_nothing() {
    let mut thread = Thread::new::<Custom>();
    thread.step([Custom::update().account(5)]).expect("folds");
    let error = thread.step([Custom::update().account(-9)]).expect_err("refused");
    assert_eq!(error.code(), ErrorCode::ReducerFailed);
    assert_eq!(error.location().node.as_deref(), Some("a"));
    assert!(error.to_string().contains("field `account`: -9 is more than there is"), "{error}");
    assert_eq!(thread.json()["account"], json!([5]));
}

/// Changes of typed states can be replayed on another copy, also through JSON.
#[test]
fn changes_replay() {
    let (mut thread, mut copy) = (Thread::new::<Folds>(), Thread::new::<Folds>());
    let steps = [
        Folds::update()
            .log("a")
            .todos(todo(1, "x"))
            .recent((0..9).collect::<Vec<u32>>())
            .json(json!({ "a": { "b": 1 } })),
        Folds::update().log("b").todos([todo(1, "y"), todo(2, "z")].to_vec()).recent([9, 10, 11]).best(4),
        Folds::update().tree(("k".to_owned(), json!({ "a": 1 }))).json(json!({ "a": { "c": 2 } })).spent(3),
    ];
    for update in steps {
        let applied = thread.step([update]).expect("folds");
        for (id, change) in applied.changes {
            let ops = &thread.schema.field(id).ops;
            let part = ops.delta(&*thread.state, &change).to_json().expect("JSON");
            let target = Arc::get_mut(&mut copy.state).expect("one owner");
            ops.apply_delta(target, &change, part.into()).expect("replays");
        }
        assert_eq!(copy.json(), thread.json());
    }
}

/// A state is equal after a round trip through JSON.
#[test]
fn a_state_reads_back_from_its_json() {
    let mut thread = Thread::new::<Options>();
    thread.step([Options::update().owner("x").level(2).secret(Plan { steps: vec![], next: None })]).expect("folds");
    let Value::Object(object) = thread.json() else { panic!("an object") };
    let read = thread.schema.state_from_json(object).expect("reads");
    assert_eq!(thread.schema.to_json(&*read).expect("JSON"), thread.json());
}

/// A state may have no fields, and its schema is built once.
#[test]
fn a_schema_is_made_once() {
    #[derive(GraphState, Clone)]
    struct Empty {}
    assert_eq!(schema_of::<Empty>().fields().len(), 0);
    assert!(Arc::ptr_eq(&schema_of::<Seed>(), &schema_of::<Seed>()));
    assert_eq!(format!("{:?}", Empty::update()), "EmptyUpdate(Update { writes: [] })");
}
