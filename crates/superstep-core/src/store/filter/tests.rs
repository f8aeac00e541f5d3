//! Tests of filters on values.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::error::ErrorCode;

fn parse(form: Value) -> Filter {
    Filter::from_json(&form).unwrap()
}

/// R-FWK-87: LangGraph's form has the same meaning as the typed form.
#[test]
fn langgraphs_form_is_read() {
    assert_eq!(parse(json!({ "a": 1 })), Filter::eq("a", 1));
    assert_eq!(parse(json!({ "a.b": 1 })), Filter::eq("a.b", 1), "a dot is a dot");
    assert_eq!(parse(json!({ "a": { "b": { "$lt": 2 } } })), Filter::lt(["a", "b"], 2));
    assert_eq!(
        parse(json!({ "a": 1, "b": { "$gt": 2, "$lte": 9 } })),
        Filter::All(vec![Filter::eq("a", 1), Filter::All(vec![Filter::gt("b", 2), Filter::lte("b", 9)])])
    );
    assert_eq!(parse(json!({ "a": { "$ne": null } })), Filter::ne("a", Value::Null));
    assert_eq!(parse(json!({ "a": { "$in": [1, "x"] } })), Filter::one_of("a", [json!(1), json!("x")]));
    assert_eq!(parse(json!({ "a": { "$exists": false } })), Filter::None(vec![Filter::exists("a")]));
    assert_eq!(parse(json!({ "a": {} })), Filter::eq("a", json!({})));
    assert_eq!(parse(json!({})), Filter::default());
}

/// R-FWK-87: unknown operators are rejected by name, with a list of the known ones.
#[test]
fn unknown_operators_are_rejected_by_name() {
    let cases = [
        (json!({ "a": { "$gtt": 1 } }), "`$gtt`"),
        (json!({ "$or": [] }), "`$or`"),
        (json!({ "a": { "b": { "$where": "1" } } }), "`$where`"),
        (json!({ "a": { "$gt": 1, "b": 2 } }), "`b`"),
        (json!({ "a": { "$in": 1 } }), "`$in` requires a list"),
        (json!({ "a": { "$exists": 1 } }), "`$exists` requires"),
        (json!([1]), "a filter must be an object"),
    ];
    for (form, quoted) in cases {
        let error = Filter::from_json(&form).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InputInvalid);
        assert!(error.message().contains(quoted), "{error}");
    }
    let error = Filter::from_json(&json!({ "a": { "$gtt": 1 } })).unwrap_err();
    assert!(error.help().unwrap().contains("did you mean `$gt`?"), "{error}");
}

/// R-FWK-87: absent is not null, and neither has an order.
#[test]
fn absent_is_not_null() {
    let (absent, null) = (json!({}), json!({ "a": null }));
    assert!(!Filter::eq("a", Value::Null).matches(&absent) && Filter::eq("a", Value::Null).matches(&null));
    assert!(!Filter::exists("a").matches(&absent) && Filter::exists("a").matches(&null));
    assert!(Filter::ne("a", 1).matches(&absent) && Filter::ne("a", Value::Null).matches(&absent));
    for filter in [Filter::lte("a", Value::Null), Filter::gte("a", Value::Null)] {
        assert!(!filter.matches(&absent) && !filter.matches(&null));
    }
}

#[test]
fn required_equalities_hold_for_all_matches() {
    let filter = Filter::All(vec![
        Filter::eq("a", 1),
        Filter::Any(vec![Filter::eq("b", 2)]),
        Filter::All(vec![Filter::eq(["c", "d"], 3), Filter::ne("e", 4)]),
    ]);
    let equalities: Vec<_> =
        filter.required_equalities().into_iter().map(|(keys, value)| (keys.as_slice().join("/"), value)).collect();
    assert_eq!(equalities, [("a".to_owned(), &json!(1)), ("c/d".to_owned(), &json!(3))]);
}

#[test]
fn keys_traverse_objects_only() {
    let value = json!({ "list": [1], "text": "abc", "": { "": 1 } });
    assert!(!Filter::exists(["list", "0"]).matches(&value) && !Filter::exists(["text", "length"]).matches(&value));
    assert!(Filter::eq(["", ""], 1).matches(&value));
    assert!(Filter::eq(Vec::new(), value.clone()).matches(&value), "no key at all is the whole value");
}

/// Generates values of every kind that lie close together.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..3).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::sample::select(vec![-1.0, -0.0, 0.5, 1.0, 2.0, 9_007_199_254_740_992.0, 1e300]).prop_map(Value::from),
        "[ab\u{0}ä]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..3).prop_map(|fields| json!(fields)),
        ]
    })
}

proptest! {
    /// R-FWK-87: of two values at most one comparison holds, exactly one if both are numbers or both texts; every
    /// condition and its negation are opposites.
    #[test]
    fn comparisons_fit_together(actual in any_value(), bound in any_value()) {
        let item = json!({ "a": actual });
        let holds = |filter: &dyn Fn(&'static str, Value) -> Filter| filter("a", bound.clone()).matches(&item);
        let (is_equal, less, greater) = (holds(&Filter::eq), holds(&Filter::lt), holds(&Filter::gt));
        let is_ordered = actual.is_number() && bound.is_number() || actual.is_string() && bound.is_string();
        let count = usize::from(is_equal) + usize::from(less) + usize::from(greater);
        prop_assert!(count <= 1 && (count == 1 || !is_ordered) && (is_ordered || !(less || greater)));
        prop_assert_eq!(holds(&Filter::lte), is_ordered && (less || is_equal));
        prop_assert_eq!(holds(&Filter::gte), is_ordered && (greater || is_equal));
        prop_assert_eq!(holds(&Filter::ne), !is_equal);
        prop_assert_eq!(Filter::None(vec![Filter::eq("a", bound.clone())]).matches(&item), !is_equal);
        prop_assert_eq!(Filter::one_of("a", [bound.clone()]).matches(&item), is_equal);
        prop_assert_eq!(Filter::eq("a", actual.clone()).matches(&json!({ "a": bound })), is_equal, "from both sides");
    }

    /// R-FWK-87: every item that matches a filter satisfies its required equalities.
    #[test]
    fn every_match_has_what_it_must_have(actual in any_value(), first in any_value(), second in any_value()) {
        let filter = Filter::All(vec![Filter::eq("a", first), Filter::All(vec![Filter::ne("b", second)])]);
        let item = json!({ "a": actual });
        for (keys, value) in filter.required_equalities() {
            prop_assert!(!filter.matches(&item) || Filter::Eq(keys.clone(), value.clone()).matches(&item));
        }
    }

    /// R-FWK-87: any JSON is either parsed as a filter or rejected, and a parsed filter never panics.
    #[test]
    fn no_form_makes_a_filter_panic(form in any_value(), actual in any_value()) {
        if let Ok(filter) = Filter::from_json(&json!({ "a": form })) {
            let item = json!({ "a": actual });
            prop_assert_ne!(Filter::None(vec![filter.clone()]).matches(&item), filter.matches(&item));
        }
    }
}
