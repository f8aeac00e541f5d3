//! Rewritten queries for BigQuery: only checked text is sent, according to the lexical rules of GoogleSQL.

use proptest::prelude::*;
use superstep_assistant::tools::DataAccess;
use superstep_assistant::tools::query::guard::{QueryGuard, SqlDialect};

/// Returns the rewritten query, with `customers.email` denied.
fn sent(sql: &str) -> Result<String, String> {
    let access = &DataAccess { denied_columns: vec!["customers.email".to_owned()], ..DataAccess::default() };
    let guard = QueryGuard { dialect: SqlDialect::BigQuery, tables: None, qualifiers: vec!["shop", "acme"], access };
    guard.check(sql).map(|checked| checked.sql).map_err(|error| error.message)
}

/// R-PLN-69, R-PLN-53, R-PLN-25: in GoogleSQL a carriage return ends a comment, and a quote behind a backslash does
/// not end even a raw string. Text that the guard parses as a comment or a string is not sent as anything else.
#[test]
fn comments_and_strings_are_rewritten_for_googlesql() {
    for (sql, expected) in [
        ("SELECT 1 AS a -- \r, email FROM customers", "SELECT 1 AS a"),
        ("SELECT 1 -- \r; DROP TABLE shop.orders", "SELECT 1"),
        ("SELECT 1 # \r, email FROM customers\n AS a", "SELECT 1 AS a"),
        ("SELECT/* a */1;", "SELECT 1"),
        ("SELECT \"it's\",'it\\'s', '''it's\n''', r'\\d+'", r"SELECT 'it\'s' , 'it\'s' , 'it\'s\n' , '\\d+'"),
        ("SELECT b'\\x00' FROM `acme.shop.orders`", r"SELECT b'\x00' FROM `acme.shop.orders`"),
        ("SELECT a-1, - -1, t.id, 0xFF FROM shop.orders AS t", "SELECT a-1, - -1, t.id, 0xFF FROM shop.orders AS t"),
    ] {
        assert_eq!(sent(sql), Ok(expected.to_owned()), "{sql:?}");
    }
    for sql in [
        "SELECT r'\\', ', email FROM customers -- '",
        "SELECT R\"\\\", \", email FROM customers -- \"",
        "SELECT b'\\', ', email FROM customers -- '",
        "SELECT 'a'''', email FROM customers -- '",
        "SELECT 'it''s'",
        "SELECT '\\q'",
        "SELECT `a\\`, email FROM customers -- `",
        "SELECT `a``b`",
        "SELECT @@x",
        "SELECT ?",
    ] {
        let result = sent(sql);
        assert!(
            result.as_ref().is_err_and(|message| message.starts_with("refused") || message.starts_with("invalid")),
            "{result:?}"
        );
    }
}

/// Tokenizes a text as GoogleSQL does; `None` if GoogleSQL rejects the text.
fn read_by_googlesql(sql: &str) -> Option<Vec<String>> {
    let (mut rest, mut tokens) = (sql, Vec::new());
    while let Some(letter) = rest.chars().next() {
        let word = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let is_prefix = matches!(rest[..word].to_lowercase().as_str(), "" | "r" | "b" | "rb" | "br");
        let after = &rest[word..];
        if rest.starts_with("--") || letter == '#' {
            rest = rest.find(['\r', '\n']).map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = &rest[rest.get(2..)?.find("*/")? + 4..];
        } else if is_prefix && after.starts_with(['\'', '"', '`']) {
            let one = &after[..1];
            let quote = if after.starts_with(&one.repeat(3)) { one.repeat(3) } else { one.to_owned() };
            let mut index = quote.len();
            while !after.get(index..)?.starts_with(&quote) {
                // A backslash escapes the following character, also in a raw string.
                let is_escape = after[index..].starts_with('\\');
                index += usize::from(is_escape);
                index += after[index..].chars().next()?.len_utf8();
            }
            rest = &after[index + quote.len()..];
        } else {
            let length = word.max(letter.len_utf8());
            tokens.push(rest[..length].to_lowercase());
            rest = &rest[length..];
        }
    }
    Some(tokens)
}

const TRAPS: [&str; 12] =
    ["\\", "'", "\"", "''", "\\'", "\r", "\n", "a", ", email FROM customers -- ", ", email, ", "; DROP TABLE x", "*/"];

fn any_piece() -> impl Strategy<Value = String> {
    let inner = || prop::collection::vec(prop::sample::select(&TRAPS[..]), 0..4).prop_map(|traps| traps.concat());
    let prefix = prop::sample::select(&["", "", "r", "R", "b", "rb"][..]);
    let quote = prop::sample::select(&["'", "\"", "'''", "\"\"\"", "`"][..]);
    let text = (prefix, quote, inner()).prop_map(|(prefix, quote, inner)| format!("{prefix}{quote}{inner}{quote}"));
    let comment =
        (prop::sample::select(&["--", "#"][..]), inner()).prop_map(|(sign, inner)| format!("1 {sign}{inner}\n"));
    let block = inner().prop_map(|inner| format!("1 /*{inner}*/"));
    prop_oneof![3 => text, 2 => comment, 1 => block]
}

proptest! {
    // The guard rejects most of the pieces.
    #![proptest_config(ProptestConfig { cases: 500, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    /// R-PLN-69, R-PLN-53, R-PLN-25: whatever comments and strings a query has, GoogleSQL parses the rewritten
    /// query as one statement without the denied column.
    #[test]
    fn a_rewritten_query_is_parsed_as_it_was_checked(
        pieces in prop::collection::vec(any_piece(), 1..4), end in any_piece(), reads in any::<bool>(),
    ) {
        let table = if reads { "customers" } else { "orders" };
        let sql = format!("SELECT id, {} FROM {table} WHERE 1 = {end}", pieces.join(", "));
        let sent = sent(&sql);
        prop_assume!(sent.is_ok());
        let sent = sent.unwrap_or_default();
        let tokens = read_by_googlesql(&sent);
        let unterminated = || TestCaseError::fail(format!("{sql:?} is sent as {sent:?}, which does not end"));
        let tokens = tokens.ok_or_else(unterminated)?;
        let tables = tokens.iter().filter(|word| *word == "from").count();
        let has = |expected: &str| tokens.iter().any(|word| word == expected);
        // The same column name of another table is not denied.
        let is_hidden = has(";") || has("drop") || (has("email") && has("customers"));
        prop_assert!(tables <= 1 && !is_hidden, "{sql:?} is sent as {sent:?}");
    }
}
