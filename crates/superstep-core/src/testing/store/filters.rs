//! Filters of every kind, and names in them that would be code in a database.

use serde_json::{Value, json};

use super::{StoreFactory, put_all, search_indices};
use crate::store::{Filter, SearchOp};

/// Asserts which values each filter finds, by index.
async fn check(open: StoreFactory, values: &[Value], cases: Vec<(Filter, &[usize])>) {
    let (store, _) = open.open();
    put_all(&store, values).await;
    for (filter, expected) in cases {
        assert_eq!(search_indices(&store, SearchOp::new("n").filter(filter.clone())).await, expected, "{filter:?}");
    }
}

fn numbers() -> [Value; 6] {
    [json!({ "a": 1 }), json!({ "a": 2 }), json!({ "a": 2.5 }), json!({ "a": "2" }), json!({ "a": null }), json!({})]
}

/// `Eq` and `Ne` are opposites.
pub async fn eq_and_ne_are_opposites(open: StoreFactory) {
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::eq("a", 2), &[1]),
        (Filter::eq("a", "2"), &[3]),
        (Filter::eq("a", Value::Null), &[4]),
        (Filter::ne("a", 2), &[0, 2, 3, 4, 5]),
        (Filter::ne("a", Value::Null), &[0, 1, 2, 3, 5]),
    ];
    check(open, &numbers(), cases).await;
}

/// `Lt` and `Lte` match values of the same kind only.
pub async fn less_and_less_or_equal(open: StoreFactory) {
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::lt("a", 2), &[0]),
        (Filter::lte("a", 2), &[0, 1]),
        (Filter::lt("a", "3"), &[3]),
        (Filter::lt("a", 1e300), &[0, 1, 2]),
        (Filter::lt("a", Value::Null), &[]),
        (Filter::lte("a", Value::Null), &[]),
    ];
    check(open, &numbers(), cases).await;
}

/// `Gt` and `Gte` match values of the same kind only.
pub async fn greater_and_greater_or_equal(open: StoreFactory) {
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::gt("a", 2), &[2]),
        (Filter::gte("a", 2), &[1, 2]),
        (Filter::gt("a", "1"), &[3]),
        (Filter::gt("a", -1e300), &[0, 1, 2]),
        (Filter::gt("a", json!([])), &[]),
        (Filter::gte("a", json!({})), &[]),
    ];
    check(open, &numbers(), cases).await;
}

/// `In` matches one of several values, of any kinds.
pub async fn one_of_several(open: StoreFactory) {
    let none: [Value; 0] = [];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::one_of("a", [json!(1), json!("2"), json!(7)]), &[0, 3]),
        (Filter::one_of("a", [json!(null)]), &[4]),
        (Filter::one_of("a", none), &[]),
    ];
    check(open, &numbers(), cases).await;
}

/// `Exists` matches any value, including null.
pub async fn exists_matches_any_value_including_null(open: StoreFactory) {
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::exists("a"), &[0, 1, 2, 3, 4]),
        (Filter::None(vec![Filter::exists("a")]), &[5]),
        (Filter::exists("b"), &[]),
        (Filter::exists(["a", "b"]), &[]),
    ];
    check(open, &numbers(), cases).await;
}

/// `All`, `Any` and `None` combine filters, also nested and empty.
pub async fn all_any_and_none(open: StoreFactory) {
    let both = || vec![Filter::gt("a", 1), Filter::lt("a", 2.5)];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::All(both()), &[1]),
        (Filter::Any(both()), &[0, 1, 2]),
        (Filter::None(both()), &[3, 4, 5]),
        (Filter::All(Vec::new()), &[0, 1, 2, 3, 4, 5]),
        (Filter::Any(Vec::new()), &[]),
        (Filter::None(Vec::new()), &[0, 1, 2, 3, 4, 5]),
        (Filter::All(vec![Filter::eq("a", 1), Filter::eq("a", 2)]), &[]),
        (Filter::Any(vec![Filter::All(both()), Filter::None(vec![Filter::exists("a")])]), &[1, 5]),
    ];
    check(open, &numbers(), cases).await;
}

/// A path leads through objects only.
pub async fn paths_traverse_objects_only(open: StoreFactory) {
    let values = [
        json!({ "a": { "b": { "c": 1 } } }),
        json!({ "a": { "b": [{ "c": 1 }] } }),
        json!({ "a.b.c": 1 }),
        json!({ "a": "b" }),
        json!([{ "a": 1 }]),
        json!({ "a": { "": 1, "0": 1 } }),
    ];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::eq(["a", "b", "c"], 1), &[0]),
        (Filter::eq("a.b.c", 1), &[2]),
        (Filter::eq(["a", ""], 1), &[5]),
        (Filter::eq(["a", "0"], 1), &[5]),
        (Filter::exists(["a", "b", "0"]), &[]),
        (Filter::exists("0"), &[]),
        (Filter::eq(["a", "b"], json!({ "c": 1 })), &[0]),
    ];
    check(open, &values, cases).await;
}

/// Lists and objects are compared as a whole, never in part.
pub async fn lists_and_objects_are_compared_completely(open: StoreFactory) {
    let values = [
        json!({ "a": [1, 2] }),
        json!({ "a": [2, 1] }),
        json!({ "a": [1, 2, 3] }),
        json!({ "a": { "x": 1 } }),
        json!({ "a": { "x": 1, "y": 2 } }),
        json!({ "a": [] }),
        json!({ "a": [1.0, 2] }),
    ];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::eq("a", json!([1, 2])), &[0, 6]),
        (Filter::eq("a", json!({ "x": 1 })), &[3]),
        (Filter::eq("a", json!({ "y": 2, "x": 1 })), &[4]),
        (Filter::eq("a", json!([])), &[5]),
        (Filter::eq("a", 1), &[]),
    ];
    check(open, &values, cases).await;
}

/// Numbers are compared by value, and never rounded.
pub async fn numbers_are_compared_by_value(open: StoreFactory) {
    let large = 9_007_199_254_740_993_i64;
    let values = [
        json!({ "a": 1 }),
        json!({ "a": 1.0 }),
        json!({ "a": large }),
        json!({ "a": 9_007_199_254_740_992.0 }),
        json!({ "a": u64::MAX }),
        json!({ "a": 9_223_372_036_854_775_808_u64 }),
        json!({ "a": 9_223_372_036_854_775_808.0 }),
        json!({ "a": true }),
        json!({ "a": -0.0 }),
        json!({ "a": 0.1 }),
    ];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::eq("a", 1), &[0, 1]),
        (Filter::eq("a", 1.0), &[0, 1]),
        (Filter::eq("a", large), &[2]),
        (Filter::eq("a", large - 1), &[3]),
        (Filter::eq("a", 9_223_372_036_854_775_808_u64), &[5, 6]),
        (Filter::eq("a", 9_223_372_036_854_775_808.0), &[5, 6]),
        (Filter::eq("a", 0), &[8]),
        (Filter::eq("a", 0.1), &[9]),
        (Filter::gt("a", i64::MAX), &[4, 5, 6]),
        (Filter::gt("a", 9_007_199_254_740_992.0), &[2, 4, 5, 6]),
    ];
    check(open, &values, cases).await;
}

/// Texts are compared byte by byte, regardless of any locale.
pub async fn texts_are_compared_by_bytes(open: StoreFactory) {
    let values: Vec<Value> =
        ["a", "B", "ä", "Z", "z", "", "aa", "a\u{308}"].iter().map(|text| json!({ "a": text })).collect();
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::lt("a", "a"), &[1, 3, 5]),
        (Filter::gt("a", "z"), &[2]),
        (Filter::eq("a", "ä"), &[2]),
        (Filter::eq("a", ""), &[5]),
        (Filter::gte("a", "aa"), &[2, 4, 6, 7]),
        (Filter::eq("a", "%"), &[]),
        (Filter::eq("a", "_"), &[]),
    ];
    check(open, &values, cases).await;
}

/// Texts with a zero byte are valid, in values and in filters.
pub async fn zero_bytes_are_compared(open: StoreFactory) {
    let values = [json!({ "a": "x\0", "b": 1 }), json!({ "a\0": "x", "b": 1 }), json!({ "a": "x", "b": 2 })];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::eq("a", "x\0"), &[0]),
        (Filter::eq("a", "x"), &[2]),
        (Filter::eq("a\0", "x"), &[1]),
        (Filter::eq("b", 1), &[0, 1]),
    ];
    check(open, &values, cases).await;
}

const HOSTILE_KEYS: [&str; 12] = [
    "x') OR 1=1 --",
    "a') = '1' OR ('1'='1",
    "'; DROP TABLE memory; --",
    "a\"]') OR 1=1 --",
    "$.a",
    "a->>'b'",
    "{a,b}",
    "?",
    "$1",
    "\\\"",
    "@schema@",
    "a' AND (select 1)=1 --",
];

/// A key that would be code in a database statement matches nothing and has no side effect.
pub async fn hostile_keys_find_nothing(open: StoreFactory) {
    let (store, _) = open.open();
    put_all(&store, &numbers()).await;
    for key in HOSTILE_KEYS {
        for filter in [
            Filter::eq(key, 1),
            Filter::eq(["a", key], 1),
            Filter::exists(key),
            Filter::lt(key, 10),
            Filter::gte(key, 0),
            Filter::one_of(key, [1, 2]),
            Filter::from_json(&json!({ "a": 1, key.trim_start_matches('$'): 1 })).expect("a filter"),
        ] {
            assert!(search_indices(&store, SearchOp::new("n").filter(filter.clone())).await.is_empty(), "{filter:?}");
        }
        assert_eq!(search_indices(&store, SearchOp::new("n").filter(Filter::ne(key, 1))).await.len(), numbers().len());
    }
    assert_eq!(search_indices(&store, SearchOp::new("n")).await.len(), numbers().len(), "everything is still there");
}

/// A hostile key matches an item that has it, and a hostile value an equal value.
pub async fn hostile_keys_and_values_are_found_as_they_are(open: StoreFactory) {
    let (store, _) = open.open();
    let values: Vec<Value> = HOSTILE_KEYS.iter().map(|text| json!({ *text: text })).collect();
    put_all(&store, &values).await;
    for (index, text) in HOSTILE_KEYS.iter().enumerate() {
        assert_eq!(
            search_indices(&store, SearchOp::new("n").filter(Filter::eq(*text, *text))).await,
            [index],
            "{text}"
        );
        assert!(search_indices(&store, SearchOp::new("n").filter(Filter::eq("a", *text))).await.is_empty(), "{text}");
    }
}

/// Filters in LangGraph's form have the same meaning.
pub async fn the_langgraph_form_is_parsed(open: StoreFactory) {
    let values = [json!({ "a": 1, "b": 3 }), json!({ "a": 1, "b": 2 }), json!({ "a": { "c": 1, "d": 2 } })];
    let parse = |form: Value| Filter::from_json(&form).expect("a filter");
    let cases: Vec<(Filter, &[usize])> = vec![
        (parse(json!({ "a": 1, "b": { "$gt": 2 } })), &[0]),
        (parse(json!({ "b": { "$gte": 2, "$lt": 3 } })), &[1]),
        (parse(json!({ "b": { "$ne": 2 } })), &[0, 2]),
        (parse(json!({ "a": { "c": 1 } })), &[2]),
        (parse(json!({})), &[0, 1, 2]),
    ];
    check(open, &values, cases).await;
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_filters {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, filters:
            eq_and_ne_are_opposites, less_and_less_or_equal, greater_and_greater_or_equal, one_of_several, exists_matches_any_value_including_null,
            all_any_and_none, paths_traverse_objects_only, lists_and_objects_are_compared_completely,
            numbers_are_compared_by_value, texts_are_compared_by_bytes, zero_bytes_are_compared,
            hostile_keys_find_nothing, hostile_keys_and_values_are_found_as_they_are, the_langgraph_form_is_parsed,
        );
    };
}
