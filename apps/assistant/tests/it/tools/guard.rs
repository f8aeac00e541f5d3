//! The query guard: read-only queries pass, all others are rejected in every disguise.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use serde_json::json;
use superstep_assistant::tools::DataAccess;
use superstep_assistant::tools::query::guard::{QueryGuard, SqlDialect};

use super::{call, caller, kind, plain};

fn check(sql: &str, dialect: SqlDialect, access: &DataAccess) -> String {
    let tables = (dialect == SqlDialect::Sqlite).then(|| vec!["orders", "customers", "employees"]);
    let qualifiers = if dialect == SqlDialect::Sqlite { vec!["main"] } else { vec!["shop", "acme"] };
    match (QueryGuard { dialect, tables, qualifiers, access }).check(sql) {
        Ok(checked) => format!("fine {}", checked.tables.join(" ")).trim_end().to_owned(),
        Err(error) => error.message.split(':').next().unwrap().to_owned(),
    }
}

fn local(sql: &str) -> String {
    check(sql, SqlDialect::Sqlite, &DataAccess::default())
}

/// R-PLN-53: read-only queries pass, including long ones.
#[test]
fn read_only_queries_are_accepted() {
    for (sql, expected) in [
        ("SELECT 1", "fine"),
        ("select count(*) from Orders;", "fine orders"),
        ("SELECT * FROM main.orders", "fine orders"),
        ("VALUES (1), (2)", "fine"),
        ("WITH late AS (SELECT * FROM orders) SELECT count(*) FROM late", "fine orders"),
        ("SELECT 'a;b', \"total\" FROM orders -- ; DELETE", "fine orders"),
        ("/* DROP TABLE orders; */ SELECT 1", "fine"),
        ("SELECT 'DELETE FROM orders'", "fine"),
        (
            "SELECT a.id FROM orders a JOIN customers b ON a.id = b.id WHERE a.id IN (SELECT id FROM orders)",
            "fine customers orders",
        ),
        ("SELECT id FROM orders UNION ALL SELECT id FROM customers EXCEPT SELECT 3", "fine customers orders"),
        ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT sum(x) FROM n", "fine"),
        (
            "SELECT strftime('%Y-%m', ordered_at) m, round(sum(total), 2) FROM orders GROUP BY m HAVING count(*) > 2 ORDER BY 2 DESC LIMIT 3",
            "fine orders",
        ),
        ("SELECT row_number() OVER (PARTITION BY status ORDER BY id) FROM orders", "fine orders"),
        ("SELECT count(*) FILTER (WHERE total > 5) FROM orders", "fine orders"),
        ("SELECT value FROM json_each('[1,2]')", "fine"),
        ("SELECT CASE WHEN EXISTS (SELECT 1 FROM customers) THEN 1 ELSE 2 END", "fine customers"),
    ] {
        assert_eq!(local(sql), expected, "{sql}");
    }
}

/// R-PLN-69: all other statements are rejected before they run.
#[test]
fn statements_other_than_reads_are_rejected() {
    for sql in [
        "DELETE FROM orders",
        "INSERT INTO orders VALUES (1)",
        "UPDATE orders SET total = 0",
        "REPLACE INTO orders VALUES (1)",
        "DROP TABLE orders",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x AS SELECT 1",
        "CREATE VIEW x AS SELECT 1",
        "ALTER TABLE orders RENAME TO x",
        "ATTACH DATABASE '/etc/passwd' AS x",
        "ATTACH 'other.db' AS other",
        "DETACH main",
        "PRAGMA writable_schema = 1",
        "PRAGMA table_info(orders)",
        "VACUUM INTO '/tmp/copy.db'",
        "BEGIN; SELECT 1; COMMIT",
        "SELECT 1; SELECT 2",
        "SELECT 1; DELETE FROM orders",
        "SELECT 1;\u{a0}DELETE FROM orders",
        "SELECT 1 /* ; */ ; DROP TABLE orders --",
        "WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x",
        "WITH x AS (INSERT INTO orders VALUES (1) RETURNING *) SELECT * FROM x",
        "WITH x AS (SELECT 1) DELETE FROM orders",
        "WITH x AS (SELECT 1) UPDATE orders SET total = 0",
        "EXPLAIN DELETE FROM orders",
        "SELECT * INTO copy FROM orders",
        "SELECT load_extension('x')",
        "SELECT LOAD_EXTENSION('x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'y')",
        "SELECT edit('x')",
        "SELECT fts3_tokenizer('x')",
        "SELECT randomblob(1000000000)",
        "SELECT zeroblob(1000000000)",
        "SELECT sqlite_version()",
        "SELECT * FROM sqlite_master",
        "SELECT sql FROM main.sqlite_schema",
        "SELECT * FROM \"sqlite_master\"",
        "SELECT * FROM [sqlite_temp_master]",
        "SELECT (SELECT sql FROM SQLITE_MASTER LIMIT 1)",
        "SELECT * FROM pragma_table_info('orders')",
        "SELECT * FROM orders WHERE id IN (SELECT rootpage FROM sqlite_schema)",
        "WITH sqlite_master AS (SELECT 1) SELECT * FROM sqlite_master",
        "SELECT * FROM temp.orders",
        "SELECT * FROM other.orders",
        "SELECT * FROM dbstat",
        "SELECT * FROM fsdir('/')",
        "SELECT * FROM orders FOR UPDATE",
    ] {
        let outcome = local(sql);
        assert!(matches!(outcome.as_str(), "refused" | "invalid"), "{sql}: {outcome}");
    }
}

/// R-PLN-69: invalid queries and rejected queries have different errors.
#[test]
fn invalid_and_rejected_queries_have_different_errors() {
    let long = format!("SELECT {}1", "1, ".repeat(10_000));
    let deep = format!("SELECT {}1", "1+".repeat(5_000));
    let brackets = format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000));
    let unions = format!("SELECT 1{}", " UNION SELECT 1".repeat(1_000));
    for sql in [
        "",
        "   ",
        ";",
        "-- nothing",
        "hello",
        "SELECT",
        "SELECT * FROM",
        ".load x",
        ".shell ls",
        "SELECT 'open",
        "SELECT 1\0",
        &long,
        &deep,
        &brackets,
        &unions,
    ] {
        assert_eq!(local(sql), "invalid", "{sql:.60}");
    }
    // The longest accepted query must not be too deep for the visitor.
    assert_eq!(local(&format!("SELECT 1{}", " + 1".repeat(590))), "fine");
    assert_eq!(local(&format!("SELECT 1 WHERE 1 = 1{}", " OR 1".repeat(580))), "fine");
}

/// R-PLN-42, R-PLN-43: the error for an unknown table suggests the nearest name, but never a denied table.
#[test]
fn an_unknown_table_is_answered_with_the_nearest() {
    let access = DataAccess { denied_tables: vec!["employees".to_owned()], ..DataAccess::default() };
    let tables = Some(vec!["orders", "customers", "employees"]);
    let guard = QueryGuard { dialect: SqlDialect::Sqlite, tables, qualifiers: vec!["main"], access: &access };
    let message = |sql: &str| guard.check(sql).unwrap_err().message;
    assert_eq!(
        message("SELECT * FROM order_s"),
        "unknown_table: table `order_s` not found; did you mean `orders`? known: `orders`, `customers`"
    );
    for sql in [
        "SELECT * FROM employees",
        "SELECT * FROM EMPLOYEES e",
        "SELECT * FROM main.\"Employees\"",
        "SELECT (SELECT count(*) FROM employees)",
        "SELECT 1 FROM orders WHERE id IN (SELECT id FROM (SELECT id FROM employees))",
        "WITH x AS (SELECT * FROM employees) SELECT * FROM x",
        "SELECT id FROM orders UNION SELECT id FROM employees",
        "SELECT id FROM orders ORDER BY (SELECT max(id) FROM employees)",
    ] {
        assert!(message(sql).starts_with("forbidden: "), "{sql}: {}", message(sql));
    }
}

/// R-PLN-53: without a second check in the database, every query that might read a denied column is rejected.
#[test]
fn hidden_columns_are_rejected_by_name_in_bigquery() {
    let access = DataAccess { denied_columns: vec!["customers.email".to_owned()], ..DataAccess::default() };
    for (sql, expected) in [
        ("SELECT id FROM customers", "fine customers"),
        ("SELECT id FROM `acme.shop.customers`", "fine customers"),
        ("SELECT count(*) FROM customers", "fine customers"),
        ("SELECT email FROM suppliers", "fine suppliers"),
        ("SELECT email FROM customers", "forbidden"),
        ("SELECT c.Email FROM shop.customers c", "forbidden"),
        ("SELECT * FROM customers", "forbidden"),
        ("SELECT c.* FROM customers c", "forbidden"),
        ("SELECT c FROM customers c", "forbidden"),
        ("SELECT TO_JSON_STRING(customers) FROM customers", "forbidden"),
        ("SELECT x FROM (SELECT `email` AS x FROM `acme.shop.customers`)", "forbidden"),
        ("SELECT * EXCEPT (id) FROM customers", "forbidden"),
        ("SELECT id FROM `acme.shop.cust*`", "forbidden"),
        ("SELECT id FROM other.customers", "refused"),
        ("SELECT id FROM `evil.shop.customers`", "refused"),
        ("SELECT * FROM shop.INFORMATION_SCHEMA.TABLES", "refused"),
        ("SELECT * FROM EXTERNAL_QUERY('c', 'SELECT 1')", "refused"),
        ("SELECT shop.remote(1)", "refused"),
        ("EXPORT DATA OPTIONS(uri='gs://x') AS SELECT 1", "refused"),
        ("SELECT 1 FROM suppliers NATURAL JOIN customers", "forbidden"),
        ("CREATE TABLE shop.x AS SELECT 1", "refused"),
        ("SELECT 1; DROP TABLE shop.orders", "refused"),
        ("BEGIN SELECT 1; END", "refused"),
    ] {
        assert_eq!(check(sql, SqlDialect::BigQuery, &access), expected, "{sql}");
    }
}

/// R-PLN-53, R-PLN-69: for BigQuery only functions that are known to be pure run; all others are rejected by name,
/// such as functions with external access, user-defined functions of the dataset, and new functions.
#[test]
fn only_known_functions_of_bigquery_run() {
    let checked = |expression: &str| {
        let access = &DataAccess::default();
        let guard =
            QueryGuard { dialect: SqlDialect::BigQuery, tables: None, qualifiers: vec!["shop", "acme"], access };
        let checked = guard.check(&format!("SELECT {expression} FROM orders"));
        checked.map(|checked| checked.tables).map_err(|error| error.message)
    };
    for fine in [
        "COUNT(*), SUM(total), AVG(total), APPROX_COUNT_DISTINCT(id), COUNTIF(total > 1), ARRAY_AGG(id)",
        "DATE_TRUNC(ordered_at, MONTH), DATE_DIFF(a, b, DAY), FORMAT_DATE('%Y-%m', d), EXTRACT(YEAR FROM d), CURRENT_DATE()",
        "CAST(total AS STRING), SAFE_CAST(total AS INT64), SAFE.PARSE_DATE('%F', d), PARSE_NUMERIC(x)",
        "UPPER(a), SUBSTR(a, 1, 2), TRIM(a), REGEXP_EXTRACT(a, r'x'), CONCAT(a, b), SPLIT(a, ','), STARTS_WITH(a, 'x')",
        "ROUND(total, 2), MOD(a, 2), SAFE_DIVIDE(a, b), GREATEST(a, b), CEIL(a), FLOOR(a), POW(a, 2)",
        "JSON_VALUE(j, '$.a'), TO_JSON_STRING(j), JSON_QUERY_ARRAY(j)",
        "ROW_NUMBER() OVER (PARTITION BY a ORDER BY b), LAG(a) OVER (ORDER BY b), PERCENTILE_CONT(a, 0.5) OVER ()",
        "IF(a, 1, 2), COALESCE(a, b), NULLIF(a, b), IFNULL(a, b), CASE WHEN a THEN 1 END",
        "`lower`(a), Max(b), ARRAY_LENGTH(a)",
    ] {
        assert_eq!(checked(fine), Ok(vec!["orders".to_owned()]), "{fine}");
    }
    for (rejected, name) in [
        ("REMOTE(id)", "REMOTE"),
        ("shop.remote(id)", "shop.remote"),
        ("`shop.remote`(id)", "`shop.remote`"),
        ("safe.remote(id)", "safe.remote"),
        ("SAFE.shop.remote(id)", "SAFE.shop.remote"),
        ("SESSION_USER()", "SESSION_USER"),
        ("RAND()", "RAND"),
        ("GENERATE_UUID()", "GENERATE_UUID"),
        ("NET.HOST(a)", "NET.HOST"),
        ("KEYS.NEW_KEYSET('AEAD_AES_GCM_256')", "KEYS.NEW_KEYSET"),
        ("AI.GENERATE(a)", "AI.GENERATE"),
        ("ML.DISTANCE(a, b)", "ML.DISTANCE"),
        ("VECTOR_SEARCH(a, b)", "VECTOR_SEARCH"),
        ("EXTERNAL_QUERY('c', 'SELECT 1')", "EXTERNAL_QUERY"),
        ("UPPER(REMOTE(id))", "REMOTE"),
        ("SUM(total) OVER (ORDER BY remote(id))", "remote"),
        ("CASE WHEN EXISTS (SELECT REMOTE(1)) THEN 1 END", "REMOTE"),
    ] {
        let expected = format!("refused: the function `{name}` is not allowed");
        assert!(
            checked(rejected).is_err_and(|said| said.starts_with(&expected)),
            "{rejected}: {:?}",
            checked(rejected)
        );
    }
}

/// Queries with their results in SQLite and in BigQuery, where `customers.email` and `employees` are denied.
const SCOPES: [(&str, &str, &str); 25] = [
    // Outside the query that defines the name.
    (
        "SELECT email FROM customers WHERE EXISTS (WITH customers AS (SELECT 1 AS x) SELECT x FROM customers)",
        "fine customers",
        "forbidden",
    ),
    (
        "WITH a AS (WITH customers AS (SELECT 1 AS x) SELECT x FROM customers) SELECT email FROM customers",
        "fine customers",
        "forbidden",
    ),
    (
        "SELECT email FROM (WITH customers AS (SELECT 1 AS email) SELECT email FROM customers) UNION ALL SELECT email FROM customers",
        "fine customers",
        "forbidden",
    ),
    // Qualified names, and names with dots in one pair of quotes.
    ("WITH customers AS (SELECT 1 AS x) SELECT email FROM main.customers", "fine customers", "refused"),
    ("WITH customers AS (SELECT 1 AS x) SELECT email FROM shop.customers", "refused", "forbidden"),
    ("WITH customers AS (SELECT 1 AS x) SELECT email FROM `acme.shop.customers`", "refused", "forbidden"),
    ("WITH customers AS (SELECT 1 AS x) SELECT x FROM evil.customers", "refused", "refused"),
    ("WITH tables AS (SELECT 1 AS x) SELECT x FROM shop.INFORMATION_SCHEMA.TABLES", "refused", "refused"),
    // BigQuery reads the table in the CTE of the same name, and in earlier CTEs. SQLite itself rejects the first
    // query.
    ("WITH customers AS (SELECT email FROM customers) SELECT 1 FROM customers", "fine", "forbidden"),
    ("WITH a AS (SELECT email FROM customers), customers AS (SELECT 1 AS email) SELECT 1 FROM a", "fine", "forbidden"),
    (
        "WITH RECURSIVE a AS (SELECT email FROM customers), customers AS (SELECT 1 AS email) SELECT 1 FROM a",
        "fine",
        "fine",
    ),
    // In its scope the name is not a table, and its CTE is checked.
    ("WITH customers AS (SELECT id AS email FROM orders) SELECT email FROM customers", "fine orders", "fine orders"),
    ("WITH employees AS (SELECT id FROM orders) SELECT id FROM employees", "fine orders", "fine orders"),
    ("WITH a AS (SELECT id FROM employees) SELECT id FROM a", "forbidden", "forbidden"),
    ("WITH a AS (SELECT email FROM customers) SELECT 1 FROM a", "fine customers", "forbidden"),
    ("WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT (SELECT x FROM b) FROM a", "fine", "fine"),
    // Other ways to read all columns, or one column under another name.
    ("SELECT shop.customers FROM shop.customers", "refused", "forbidden"),
    ("SELECT ARRAY(SELECT AS STRUCT c.*) FROM customers AS c", "invalid", "forbidden"),
    ("SELECT COUNT(c.*) FROM customers AS c", "fine customers", "forbidden"),
    ("SELECT x FROM customers AS c(x, y)", "refused", "refused"),
    ("SELECT `e\\x6dail` FROM customers", "fine customers", "refused"),
    ("SELECT x FROM customers AS shop, shop.email AS x", "refused", "forbidden"),
    ("SELECT id FROM `shop.employees$20200101`", "refused", "refused"),
    ("FROM customers", "invalid", "refused"),
    ("TABLE customers", "invalid", "invalid"),
];

/// R-PLN-53, R-PLN-25: a CTE name refers to the CTE only in its scope; everywhere else the table is read, and its
/// columns are checked as usual. Nothing else makes a table another one: no qualifier, no alias, no escape.
#[test]
fn a_cte_name_is_valid_only_in_its_scope() {
    let denied_columns = vec!["customers.email".to_owned()];
    let access = DataAccess { denied_columns, denied_tables: vec!["employees".to_owned()], ..DataAccess::default() };
    let mut mismatches = Vec::new();
    for (sql, local, bigquery) in SCOPES {
        let outcomes = [SqlDialect::Sqlite, SqlDialect::BigQuery].map(|dialect| check(sql, dialect, &access));
        if outcomes != [local, bigquery] {
            mismatches.push(format!("{sql}: {outcomes:?}"));
        }
    }
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
    let named = DataAccess { denied_columns: vec!["shop.customers.email".to_owned()], ..DataAccess::default() };
    assert_eq!(
        check("SELECT email FROM customers", SqlDialect::BigQuery, &named),
        "forbidden",
        "a denial with a qualifier"
    );
}

/// Generates nested queries with few names for tables and CTEs, so that names often collide.
fn nested_query() -> impl Strategy<Value = String> {
    let name = || prop::sample::select(&["customers", "orders", "late"][..]);
    let columns = || prop::sample::select(&["id, email", "id, id AS email", "*", "count(*) AS id, 1 AS email"][..]);
    let leaf = (columns(), name(), any::<bool>()).prop_map(|(columns, name, is_qualified)| {
        let qualifier = if is_qualified { "main." } else { "" };
        format!("SELECT {columns} FROM {qualifier}{name}")
    });
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let with = (prop::collection::vec((name(), inner.clone()), 1..3), inner.clone()).prop_map(|(ctes, rest)| {
            let mut names = std::collections::BTreeSet::new();
            let ctes = ctes.into_iter().filter(|(name, _)| names.insert(*name));
            let ctes: Vec<String> = ctes.map(|(name, query)| format!("{name} AS ({query})")).collect();
            // A query that starts with WITH cannot be nested directly after another WITH.
            format!("WITH {} SELECT id, email FROM ({rest})", ctes.join(", "))
        });
        let derived = (columns(), inner.clone(), name())
            .prop_map(|(columns, query, alias)| format!("SELECT {columns} FROM ({query}) AS {alias}"));
        let exists = (inner.clone(), name(), inner.clone()).prop_map(|(first, name, second)| {
            format!(
                "SELECT id, email FROM ({first}) AS {name} WHERE EXISTS ({second}) OR id IN (SELECT id FROM {name})"
            )
        });
        let union = (inner.clone(), inner).prop_map(|(first, second)| {
            format!("SELECT id, email FROM ({first}) UNION ALL SELECT id, email FROM ({second})")
        });
        prop_oneof![with, derived, exists, union]
    })
}

/// Returns the reads that SQLite reports for a query, as `(table, column)`; `None` if SQLite rejects the query.
fn read_by_sqlite(sql: &str) -> Option<Vec<(String, String)>> {
    let mut connection = Connection::open_in_memory().unwrap();
    for table in ["customers", "orders", "late"] {
        connection.execute_batch(&format!("CREATE TABLE {table} (id, email)")).unwrap();
    }
    let reads = Arc::new(Mutex::new(Vec::new()));
    let recorder = reads.clone();
    let authorizer = move |auth: AuthContext<'_>| {
        // A read without a column may refer to a CTE: rows of a CTE that are only counted are reported under its
        // name.
        if let AuthAction::Read { table_name, column_name } = auth.action
            && !column_name.is_empty()
        {
            recorder.lock().unwrap().push((table_name.to_owned(), column_name.to_owned()));
        }
        Authorization::Allow
    };
    connection.authorizer(Some(authorizer)).unwrap();
    connection.prepare(sql).is_ok().then(|| reads.lock().unwrap().clone())
}

const WRITES: [&str; 12] = [
    "DELETE FROM orders",
    "INSERT INTO orders (id) VALUES (1)",
    "UPDATE orders SET total = 0",
    "DROP TABLE orders",
    "CREATE TABLE x (a INTEGER)",
    "ALTER TABLE orders ADD COLUMN x",
    "ATTACH 'x' AS x",
    "PRAGMA query_only = 0",
    "VACUUM INTO 'x'",
    "REINDEX orders",
    "ANALYZE orders",
    "REPLACE INTO orders (id) VALUES (1)",
];

const DISGUISES: [&str; 12] = [
    "{}",
    "{};",
    "SELECT 1; {}",
    "{}; SELECT 1",
    "/* SELECT */ {}",
    "-- SELECT 1\n{}",
    "WITH x AS ({}) SELECT * FROM x",
    "SELECT * FROM ({})",
    "SELECT ({})",
    "SELECT 1 WHERE EXISTS ({})",
    "EXPLAIN {}",
    "SELECT 1 UNION {}",
];

/// Varies the whitespace between words and the letter case.
fn vary_case_and_whitespace(sql: &str, blanks: &[&str], cases: &[bool]) -> String {
    let words = sql.split(' ').enumerate();
    let word = |(index, word): (usize, &str)| {
        let is_upper = cases[index % cases.len()];
        let word = if is_upper { word.to_uppercase() } else { word.to_lowercase() };
        format!("{word}{}", blanks[index % blanks.len()])
    };
    words.map(word).collect()
}

/// Returns true if SQLite rejects the text or reports it as read-only.
fn is_harmless(sql: &str) -> bool {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE orders (id, total); CREATE TABLE x (a)").unwrap();
    connection.prepare(sql).map_or(true, |statement| statement.readonly() && statement.column_count() > 0)
}

proptest! {
    /// R-PLN-53, R-PLN-25: whatever names a query defines, the guard knows every table that SQLite reads, and for
    /// BigQuery rejects every query that reads a denied column.
    #[test]
    fn names_of_a_query_cannot_hide_a_table(sql in nested_query()) {
        let reads = read_by_sqlite(&sql);
        prop_assume!(reads.is_some());
        let reads = reads.unwrap_or_default();
        let denied = DataAccess { denied_columns: vec!["customers.email".to_owned()], ..DataAccess::default() };
        for dialect in [SqlDialect::Sqlite, SqlDialect::BigQuery] {
            let check_with = |access: &DataAccess| {
                QueryGuard { dialect, tables: None, qualifiers: vec!["main", "acme"], access }.check(&sql)
            };
            let checked = check_with(&DataAccess::default());
            let checked = checked.map_err(|error| TestCaseError::fail(format!("{sql}: {error}")))?;
            for (table, _) in &reads {
                prop_assert!(checked.tables.contains(table), "{dialect:?}: `{table}` is read: {sql}");
            }
            if dialect == SqlDialect::BigQuery && check_with(&denied).is_ok() {
                let is_hidden = |(table, column): &(String, String)| table == "customers" && column == "email";
                prop_assert!(!reads.iter().any(is_hidden), "{sql}");
            }
        }
    }

    /// R-PLN-69: no write passes in any disguise, and the data is unchanged.
    #[test]
    fn no_write_passes(
        write in prop::sample::select(&WRITES[..]),
        disguise in prop::sample::select(&DISGUISES[..]),
        blanks in prop::collection::vec(prop::sample::select(&[" ", "\n", "\t", "/**/ ", " -- x\n", "\u{a0}", "\u{2003}"][..]), 1..6),
        cases in prop::collection::vec(any::<bool>(), 1..6),
    ) {
        let sql = vary_case_and_whitespace(&disguise.replace("{}", write), &blanks, &cases);
        let passes = local(&sql).starts_with("fine");
        // Whitespace may turn a write into a read: non-ASCII blanks are letters of a name in SQL, and a line end
        // ends a comment (`-- SELECT 1 DELETE FROM orders` on two lines reads a column named `delete`). SQLite
        // decides.
        prop_assert!(!passes || is_harmless(&sql), "{sql:?}");
    }

    /// R-PLN-69: the guard returns a result for any text, and SQLite confirms that accepted queries only read.
    #[test]
    fn accepted_text_only_reads(pieces in prop::collection::vec(prop::sample::select(&[
        "SELECT", "WITH", "x", "AS", "(", ")", "DELETE", "FROM", "orders", ";", "--", "/*", "*/", "'", "\"", "*", ",", "1",
        "INSERT INTO", "VALUES", "UNION", "RETURNING", "\0", "é", "PRAGMA", "=", "\n",
    ][..]), 0..24)) {
        let sql = pieces.join(" ");
        prop_assert!(!local(&sql).starts_with("fine") || is_harmless(&sql), "{sql:?}");
    }
}

/// R-PLN-69: BigQuery tables need a valid qualifier, and its metadata tables are rejected.
#[test]
fn foreign_bigquery_qualifiers_are_rejected() {
    let user = caller(&["payroll"], &[]);
    let is_accepted = |sql: &str| {
        let access = &user.access;
        let guard =
            QueryGuard { dialect: SqlDialect::BigQuery, tables: None, qualifiers: vec!["shop", "acme"], access };
        guard.check(sql).is_ok()
    };
    for fine in ["SELECT id FROM orders", "SELECT id FROM shop.orders", "SELECT id FROM acme.shop.orders"] {
        assert!(is_accepted(fine), "{fine}");
    }
    for foreign in [
        "SELECT name FROM acme.orders",
        "SELECT x FROM shop.shop.orders",
        "SELECT x FROM shop.acme.orders",
        "SELECT x FROM a.acme.shop.orders",
        "SELECT table_id, row_count FROM shop.__TABLES__",
        "SELECT table_id FROM __TABLES_SUMMARY__",
    ] {
        assert!(!is_accepted(foreign), "{foreign}");
    }
}

/// R-PLN-69: writes through the tool, with guard and database, leave the data unchanged.
#[tokio::test]
async fn writes_leave_the_data_as_it_was() {
    let (tools, ana) = (plain(), caller(&[], &[]));
    let count = json!({"sql": "SELECT count(*), sum(total) FROM orders"});
    let before = call(&tools, "bq_query", count.clone(), &ana).await.unwrap();
    for write in WRITES {
        for disguise in DISGUISES {
            let outcome = call(&tools, "bq_query", json!({"sql": disguise.replace("{}", write)}), &ana).await;
            assert!(
                matches!(kind(&outcome), "refused" | "invalid" | "unknown_table"),
                "{disguise} {write}: {outcome:?}"
            );
        }
    }
    assert_eq!(call(&tools, "bq_query", count, &ana).await.unwrap(), before);
}
