//! Tests of the errors for invalid attributes.

use super::*;

fn diagnostics(input: &str) -> Vec<String> {
    let input: DeriveInput = syn::parse_str(input).expect("Rust");
    let error = StateSpec::parse(&input).err();
    error.into_iter().flatten().map(|error| error.to_string()).collect()
}

fn check(field: &str, expected: &[&str]) {
    assert_eq!(diagnostics(&format!("struct Chat {{ {field} }}")), expected, "{field}");
}

fn assert_starts_with(field: &str, expected: &str) {
    let messages = diagnostics(&format!("struct Chat {{ {field} }}"));
    assert!(messages.len() == 1 && messages[0].starts_with(expected), "{field}: {messages:?}");
}

#[test]
fn every_attribute_that_is_documented_reads() {
    let reducers = [
        "append",
        "add",
        "merge",
        "deep_merge",
        "max",
        "min",
        "set_union",
        "messages",
        "replace",
        "keep_last = 10",
        "keep_last = LIMIT",
        "capped = 3",
        "merge_by = id",
        "with = fold",
        "with = my::fold, input = BTreeMap<String, u8>",
    ];
    for reducer in reducers {
        check(&format!("#[reduce({reducer})] a: T"), &[]);
    }
    let options = [
        "set_once",
        "private",
        "untracked",
        "ephemeral",
        "topic",
        "required",
        "last_wins",
        "default = f(1, 2)",
        "one_of(\"a\", 1, -1, 1.5, true)",
        "min = 0",
        "max = -1.5",
        "min = 0, max = 5",
        "rename = \"x\"",
        "private, set_once,",
    ];
    for option in options {
        check(&format!("#[state({option})] a: T"), &[]);
    }
    assert!(diagnostics("#[state(version = 2, name = \"c\", rename_all = \"camelCase\")] struct C {}").is_empty());
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest_one() {
    assert_starts_with(
        "#[reduce(apend)] a: T",
        "unknown reducer `apend`; did you mean `append`? known: `append`, `add`, ",
    );
    assert_starts_with(
        "#[reduce(add_messages)] a: T",
        "unknown reducer `add_messages`; did you mean `messages`? known: ",
    );
    assert_starts_with("#[reduce(blend)] a: T", "unknown reducer `blend`; ");
    assert_starts_with(
        "#[state(ephemral)] a: T",
        "unknown option `ephemral`; did you mean `ephemeral`? known: `set_once`, ",
    );
    check("#[reduce(one_of)] a: T", &["`one_of` is not a reducer: write `#[state(one_of)]`"]);
    check(
        "#[state(reduce = append)] a: T",
        &["`reduce` is a reducer, not an option of a field: write `#[reduce(..)]`"],
    );
    let messages = diagnostics("#[state(versoin = 2, rename_all = \"camel\")] struct C {}");
    assert_eq!(messages[0], "unknown option `versoin`; did you mean `version`? known: `version`, `name`, `rename_all`");
    assert!(messages[1].starts_with("unknown case `camel`; did you mean `camelCase`?"), "{messages:?}");
}

#[test]
fn a_value_of_the_wrong_form_is_answered_with_the_right_one() {
    check("#[reduce(append = 3)] a: T", &["`append` takes no value"]);
    check("#[reduce(keep_last)] a: T", &["`keep_last` requires a value: write `keep_last = 10`"]);
    check("#[reduce(keep_last = \"10\")] a: T", &["write `keep_last = 10`"]);
    check("#[reduce(merge_by = a.b)] a: T", &["write `merge_by = id`"]);
    check("#[reduce(with = 3)] a: T", &["write `with = my_reducer`"]);
    check("#[state(private = true)] a: T", &["`private` takes no value"]);
    check("#[state(min = \"0\")] a: T", &["write `min = 0`"]);
    check("#[state(one_of = 3)] a: T", &["`one_of` requires values: write `one_of(\"a\", \"b\")`"]);
    check("#[state(one_of())] a: T", &["`one_of` requires at least one value"]);
    check("#[state(one_of(f()))] a: T", &["a value of `one_of` must be a string, number, `true` or `false`"]);
    check("#[state()] a: T", &["`#[state(..)]` is empty; add an option, or remove it"]);
    assert_eq!(diagnostics("#[state(version = 0)] struct C {}"), ["write `version = 2`"]);
    assert_eq!(diagnostics("#[state(private)] struct C {}"), ["`private` is only valid on a field"]);
    assert_eq!(diagnostics("#[reduce(add)] struct C {}"), ["`#[reduce(..)]` is only valid on a field"]);
}

#[test]
fn conflicting_options_are_rejected() {
    for (one, other) in
        [("set_once", "topic"), ("untracked", "min = 1"), ("topic", "ephemeral"), ("last_wins", "topic")]
    {
        let name = other.split(' ').next().unwrap_or(other);
        assert_starts_with(
            &format!("#[state({one}, {other})] a: T"),
            &format!("`{one}` and `{name}` cannot be combined: "),
        );
    }
    for option in ["set_once", "untracked", "topic", "last_wins"] {
        let expected = format!("`{option}` and `reduce` cannot be combined: ");
        assert_starts_with(&format!("#[state({option})] #[reduce(append)] a: T"), &expected);
    }
    check("#[state(last_wins)] #[reduce(replace)] a: T", &[]);
    check("#[reduce(append)] #[reduce(add)] a: T", &["a field has one reducer; this one already has `append`"]);
    check("#[state(private, private)] a: T", &["duplicate option `private`"]);
    check("#[state(min = 2, max = 1)] a: T", &["the range from 2 to 1 is empty"]);
    let message = "`input` requires `with`: `#[reduce(with = my_reducer, input = Type)]`";
    check("#[reduce(input = u8)] a: T", &[message]);
    check("#[reduce(append, input = u8)] a: T", &[message]);
}

#[test]
fn names_are_checked_and_all_problems_are_listed() {
    let expected = [
        "unknown option `x`; known: `set_once`, `private`, `untracked`, `ephemeral`, `topic`, `required`, `last_wins`, \
         `default`, `one_of`, `min`, `max`, `rename`",
        "`max` takes no value",
        "field name `__a` is reserved: names must not start with `__`",
        "duplicate field name `b`, also used by `b`",
        "the name of a field is empty",
    ];
    check(
        "#[state(x)] __a: T, b: T, #[state(rename = \"b\")] #[reduce(max = 1)] c: T, #[state(rename = \"\")] d: T",
        &expected,
    );
    let twice = diagnostics("#[state(rename_all = \"camelCase\")] struct C { a_b: T, aB: T }");
    assert_eq!(twice, ["duplicate field name `aB`, also used by `a_b`"]);
}

#[test]
fn only_plain_structs_are_states() {
    let prefix = "a state must be a struct with named fields, but `C` is ";
    for (input, actual) in
        [("enum C {}", "an enum"), ("struct C(T);", "a tuple struct"), ("struct C;", "a unit struct")]
    {
        assert_eq!(diagnostics(input), [format!("{prefix}{actual}")]);
    }
    let generic = "a state cannot have type or lifetime parameters, because its schema is the same for all threads";
    assert_eq!(diagnostics("struct C<'a, T> { a: &'a T }"), [generic]);
}
