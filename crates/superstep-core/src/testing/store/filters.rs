//! Filters of every kind, and names in them that would be code elsewhere.

use serde_json::{Value, json};

use super::{Opener, found, put_all};
use crate::store::{Filter, Search};

/// Checks which of some values each filter finds, by place.
async fn finds(open: Opener, values: &[Value], cases: Vec<(Filter, &[usize])>) {
    let (store, _) = open.open();
    put_all(&store, values).await;
    for (filter, expected) in cases {
        assert_eq!(found(&store, Search::new("n").filter(filter.clone())).await, expected, "{filter:?}");
    }
}

fn numbers() -> [Value; 6] {
    [json!({ "a": 1 }), json!({ "a": 2 }), json!({ "a": 2.5 }), json!({ "a": "2" }), json!({ "a": null }), json!({})]
}

/// `Is` and `Not` are each other's opposite.
pub async fn is_and_not(open: Opener) {
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::is("a", 2), &[1]),
        (Filter::is("a", "2"), &[3]),
        (Filter::is("a", Value::Null), &[4]),
        (Filter::not("a", 2), &[0, 2, 3, 4, 5]),
        (Filter::not("a", Value::Null), &[0, 1, 2, 3, 5]),
    ];
    finds(open, &numbers(), cases).await;
}

/// `Less` and `LessOrEqual` look at values of the same kind only.
pub async fn less_and_less_or_equal(open: Opener) {
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::less("a", 2), &[0]),
        (Filter::less_or_equal("a", 2), &[0, 1]),
        (Filter::less("a", "3"), &[3]),
        (Filter::less("a", 1e300), &[0, 1, 2]),
        (Filter::less("a", Value::Null), &[]),
        (Filter::less_or_equal("a", Value::Null), &[]),
    ];
    finds(open, &numbers(), cases).await;
}

/// `Greater` and `GreaterOrEqual` look at values of the same kind only.
pub async fn greater_and_greater_or_equal(open: Opener) {
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::greater("a", 2), &[2]),
        (Filter::greater_or_equal("a", 2), &[1, 2]),
        (Filter::greater("a", "1"), &[3]),
        (Filter::greater("a", -1e300), &[0, 1, 2]),
        (Filter::greater("a", json!([])), &[]),
        (Filter::greater_or_equal("a", json!({})), &[]),
    ];
    finds(open, &numbers(), cases).await;
}

/// `In` is one of several, of any kinds.
pub async fn one_of_several(open: Opener) {
    let none: [Value; 0] = [];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::one_of("a", [json!(1), json!("2"), json!(7)]), &[0, 3]),
        (Filter::one_of("a", [json!(null)]), &[4]),
        (Filter::one_of("a", none), &[]),
    ];
    finds(open, &numbers(), cases).await;
}

/// `Exists` asks whether there is a value, and null is one.
pub async fn exists(open: Opener) {
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::exists("a"), &[0, 1, 2, 3, 4]),
        (Filter::None(vec![Filter::exists("a")]), &[5]),
        (Filter::exists("b"), &[]),
        (Filter::exists(["a", "b"]), &[]),
    ];
    finds(open, &numbers(), cases).await;
}

/// `All`, `Any` and `None` put others together, also within each other, also empty.
pub async fn all_any_and_none(open: Opener) {
    let both = || vec![Filter::greater("a", 1), Filter::less("a", 2.5)];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::All(both()), &[1]),
        (Filter::Any(both()), &[0, 1, 2]),
        (Filter::None(both()), &[3, 4, 5]),
        (Filter::All(Vec::new()), &[0, 1, 2, 3, 4, 5]),
        (Filter::Any(Vec::new()), &[]),
        (Filter::None(Vec::new()), &[0, 1, 2, 3, 4, 5]),
        (Filter::All(vec![Filter::is("a", 1), Filter::is("a", 2)]), &[]),
        (Filter::Any(vec![Filter::All(both()), Filter::None(vec![Filter::exists("a")])]), &[1, 5]),
    ];
    finds(open, &numbers(), cases).await;
}

/// A path leads through objects, and through nothing else.
pub async fn paths_lead_through_objects(open: Opener) {
    let values = [
        json!({ "a": { "b": { "c": 1 } } }),
        json!({ "a": { "b": [{ "c": 1 }] } }),
        json!({ "a.b.c": 1 }),
        json!({ "a": "b" }),
        json!([{ "a": 1 }]),
        json!({ "a": { "": 1, "0": 1 } }),
    ];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::is(["a", "b", "c"], 1), &[0]),
        (Filter::is("a.b.c", 1), &[2]),
        (Filter::is(["a", ""], 1), &[5]),
        (Filter::is(["a", "0"], 1), &[5]),
        (Filter::exists(["a", "b", "0"]), &[]),
        (Filter::exists("0"), &[]),
        (Filter::is(["a", "b"], json!({ "c": 1 })), &[0]),
    ];
    finds(open, &values, cases).await;
}

/// Lists and objects are compared whole: a part of one is another.
pub async fn lists_and_objects_are_compared_whole(open: Opener) {
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
        (Filter::is("a", json!([1, 2])), &[0, 6]),
        (Filter::is("a", json!({ "x": 1 })), &[3]),
        (Filter::is("a", json!({ "y": 2, "x": 1 })), &[4]),
        (Filter::is("a", json!([])), &[5]),
        (Filter::is("a", 1), &[]),
    ];
    finds(open, &values, cases).await;
}

/// Numbers are compared by value, and never rounded.
pub async fn numbers_are_compared_by_value(open: Opener) {
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
        (Filter::is("a", 1), &[0, 1]),
        (Filter::is("a", 1.0), &[0, 1]),
        (Filter::is("a", large), &[2]),
        (Filter::is("a", large - 1), &[3]),
        (Filter::is("a", 9_223_372_036_854_775_808_u64), &[5, 6]),
        (Filter::is("a", 9_223_372_036_854_775_808.0), &[5, 6]),
        (Filter::is("a", 0), &[8]),
        (Filter::is("a", 0.1), &[9]),
        (Filter::greater("a", i64::MAX), &[4, 5, 6]),
        (Filter::greater("a", 9_007_199_254_740_992.0), &[2, 4, 5, 6]),
    ];
    finds(open, &values, cases).await;
}

/// Texts are compared byte by byte, whatever language somebody speaks.
pub async fn texts_are_compared_by_bytes(open: Opener) {
    let values: Vec<Value> =
        ["a", "B", "ä", "Z", "z", "", "aa", "a\u{308}"].iter().map(|text| json!({ "a": text })).collect();
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::less("a", "a"), &[1, 3, 5]),
        (Filter::greater("a", "z"), &[2]),
        (Filter::is("a", "ä"), &[2]),
        (Filter::is("a", ""), &[5]),
        (Filter::greater_or_equal("a", "aa"), &[2, 4, 6, 7]),
        (Filter::is("a", "%"), &[]),
        (Filter::is("a", "_"), &[]),
    ];
    finds(open, &values, cases).await;
}

/// Texts with a zero byte are texts, in values and in filters.
pub async fn zero_bytes_are_compared(open: Opener) {
    let values = [json!({ "a": "x\0", "b": 1 }), json!({ "a\0": "x", "b": 1 }), json!({ "a": "x", "b": 2 })];
    let cases: Vec<(Filter, &[usize])> = vec![
        (Filter::is("a", "x\0"), &[0]),
        (Filter::is("a", "x"), &[2]),
        (Filter::is("a\0", "x"), &[1]),
        (Filter::is("b", 1), &[0, 1]),
    ];
    finds(open, &values, cases).await;
}

const HOSTILE: [&str; 12] = [
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

/// A key that would be code where it is written into a statement finds nothing and harms nothing.
pub async fn hostile_keys_find_nothing(open: Opener) {
    let (store, _) = open.open();
    put_all(&store, &numbers()).await;
    for key in HOSTILE {
        for filter in [
            Filter::is(key, 1),
            Filter::is(["a", key], 1),
            Filter::exists(key),
            Filter::less(key, 10),
            Filter::greater_or_equal(key, 0),
            Filter::one_of(key, [1, 2]),
            Filter::from_json(&json!({ "a": 1, key.trim_start_matches('$'): 1 })).expect("a filter"),
        ] {
            assert!(found(&store, Search::new("n").filter(filter.clone())).await.is_empty(), "{filter:?}");
        }
        assert_eq!(found(&store, Search::new("n").filter(Filter::not(key, 1))).await.len(), numbers().len());
    }
    assert_eq!(found(&store, Search::new("n")).await.len(), numbers().len(), "everything is still there");
}

/// A hostile key is found where an item has it, and a hostile value where it is one.
pub async fn hostile_keys_and_values_are_found_as_they_are(open: Opener) {
    let (store, _) = open.open();
    let values: Vec<Value> = HOSTILE.iter().map(|text| json!({ *text: text })).collect();
    put_all(&store, &values).await;
    for (place, text) in HOSTILE.iter().enumerate() {
        assert_eq!(found(&store, Search::new("n").filter(Filter::is(*text, *text))).await, [place], "{text}");
        assert!(found(&store, Search::new("n").filter(Filter::is("a", *text))).await.is_empty(), "{text}");
    }
}

/// Filters in LangGraph's form mean the same here.
pub async fn langgraphs_form_is_understood(open: Opener) {
    let values = [json!({ "a": 1, "b": 3 }), json!({ "a": 1, "b": 2 }), json!({ "a": { "c": 1, "d": 2 } })];
    let read = |form: Value| Filter::from_json(&form).expect("a filter");
    let cases: Vec<(Filter, &[usize])> = vec![
        (read(json!({ "a": 1, "b": { "$gt": 2 } })), &[0]),
        (read(json!({ "b": { "$gte": 2, "$lt": 3 } })), &[1]),
        (read(json!({ "b": { "$ne": 2 } })), &[0, 2]),
        (read(json!({ "a": { "c": 1 } })), &[2]),
        (read(json!({})), &[0, 1, 2]),
    ];
    finds(open, &values, cases).await;
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_filters {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, filters:
            is_and_not, less_and_less_or_equal, greater_and_greater_or_equal, one_of_several, exists,
            all_any_and_none, paths_lead_through_objects, lists_and_objects_are_compared_whole,
            numbers_are_compared_by_value, texts_are_compared_by_bytes, zero_bytes_are_compared,
            hostile_keys_find_nothing, hostile_keys_and_values_are_found_as_they_are, langgraphs_form_is_understood,
        );
    };
}
