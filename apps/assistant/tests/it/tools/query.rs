//! Queries of the local data: results, errors and permissions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::tools::{SharedTool, ToolInvocation};
use superstep_assistant::tools::{Caller, DataAccess, ToolSettings, tools};

use super::{call, caller, kind, plain, shop};

/// Returns settings with a timeout that is long enough on any machine.
fn long_timeout() -> ToolSettings {
    ToolSettings { query_timeout: Duration::from_secs(60), ..ToolSettings::new(shop()) }
}

async fn run_query(sql: &str, user: &Arc<Caller>) -> Result<Value, String> {
    call(&plain(), "bq_query", json!({ "sql": sql }), user).await
}

/// R-PLN-53: a query returns columns, rows, their number, and a flag for more rows.
#[tokio::test]
async fn a_query_gives_columns_and_rows() {
    let late = "SELECT count(*) AS late FROM orders WHERE shipped_at > due_at AND shipped_at LIKE '2026-10%'";
    let answer = run_query(late, &caller(&[], &[])).await.unwrap();
    let expected = json!({"columns": ["late"], "rows": [[37]], "count": 1, "truncated": false, "sql": late});
    assert_eq!(answer, expected);
    let some = call(&plain(), "bq_query", json!({"sql": "SELECT id FROM orders", "max_rows": 3}), &caller(&[], &[]))
        .await
        .unwrap();
    assert_eq!((&some["count"], &some["truncated"]), (&json!(3), &json!(true)));
    let all =
        call(&plain(), "bq_query", json!({"sql": "SELECT id FROM categories", "max_rows": 10}), &caller(&[], &[]))
            .await
            .unwrap();
    assert_eq!((&all["count"], &all["truncated"]), (&json!(10), &json!(false)));
    let usual = run_query("SELECT id FROM orders", &caller(&[], &[])).await.unwrap();
    assert_eq!((&usual["count"], &usual["truncated"]), (&json!(100), &json!(true)));
    let none = run_query("SELECT id FROM orders WHERE status = 'LATE'", &caller(&[], &[])).await.unwrap();
    assert_eq!((&none["count"], &none["rows"]), (&json!(0), &json!([])));
}

/// R-PLN-53: sums of money have no floating-point noise.
#[tokio::test]
async fn sums_of_money_are_exact() {
    let sql = "SELECT sum(total), sum(total * 3) / 3, avg(0.1) FROM orders";
    let answer = run_query(sql, &caller(&[], &[])).await.unwrap();
    for value in answer["rows"][0].as_array().unwrap() {
        let decimals = value.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
        assert!(decimals <= 2, "{value}");
    }
}

/// R-PLN-53: the row limit of the role caps every request; a limit of zero rejects queries.
#[tokio::test]
async fn rows_are_limited_by_role() {
    let limited =
        |max_rows| Arc::new(Caller { access: DataAccess { max_rows, ..DataAccess::default() }, ..Caller::new("sam") });
    let many = json!({"sql": "SELECT id FROM orders", "max_rows": 100_000});
    let answer = call(&plain(), "bq_query", many.clone(), &limited(200)).await.unwrap();
    assert_eq!((&answer["count"], &answer["truncated"]), (&json!(200), &json!(true)));
    assert_eq!(kind(&call(&plain(), "bq_query", many, &limited(0)).await), "forbidden");
}

/// R-PLN-43: errors for unknown and ambiguous names suggest the probable names.
#[tokio::test]
async fn unknown_names_are_reported_with_suggestions() {
    let sam = caller(&["employees"], &["products.cost"]);
    for (sql, expected) in [
        ("SELECT * FROM order", "unknown_table: table `order` not found; did you mean `orders`?"),
        ("SELECT FROM WHERE", "invalid: "),
        ("SELECT * FROM ordes", "unknown_table: table `ordes` not found; did you mean `orders`?"),
        ("SELECT statuss FROM orders", "unknown_table: column `statuss` not found; did you mean `status`?"),
        ("SELECT o.totl FROM orders o", "unknown_table: column `o.totl` not found; did you mean `total`?"),
        ("SELECT \"stattus\" FROM orders", "unknown_table: column `stattus` not found; did you mean `status`?"),
        ("SELECT city FROM customers JOIN suppliers", "ambiguous: more than one table has a column `city`"),
        ("SELECT sum(total, 2) FROM orders", "invalid: wrong number of arguments"),
        ("SELECT nope() FROM orders", "refused: the function `nope`"),
    ] {
        let message = run_query(sql, &sam).await.unwrap_err();
        assert!(message.starts_with(expected), "{sql}: {message}");
    }
    let message = run_query("SELECT costs FROM products", &sam).await.unwrap_err();
    assert!(!message.contains("`cost`"), "a hidden column is not suggested: {message}");
    let other = json!({"sql": "SELECT 1", "dataset": "shopp"});
    let message = call(&plain(), "bq_query", other, &sam).await.unwrap_err();
    assert_eq!(message, "unknown_table: data set `shopp` not found; did you mean `shop`? known: `shop`");
    let named = json!({"sql": "SELECT 1", "dataset": "shop"});
    assert!(call(&plain(), "bq_query", named, &sam).await.is_ok());
}

/// R-PLN-53: denied columns are protected against every way of reading them, and other columns of the same name are
/// readable.
#[tokio::test]
async fn hidden_columns_stay_hidden() {
    let ana = caller(&[], &["customers.email"]);
    for sql in [
        "SELECT email FROM customers",
        "SELECT * FROM customers",
        "SELECT c.* FROM customers c",
        "SELECT EMAIL AS x FROM Customers",
        "SELECT x.email FROM (SELECT * FROM customers) x",
        "SELECT id FROM customers WHERE email LIKE 'a%'",
        "SELECT id FROM customers ORDER BY email",
        "SELECT count(DISTINCT email) FROM customers",
        "SELECT max(length(email)) FROM customers",
        "WITH c AS (SELECT id, email e FROM customers) SELECT e FROM c",
        "SELECT (SELECT email FROM customers LIMIT 1)",
        "SELECT s.name FROM suppliers s JOIN customers USING (email)",
        "SELECT s.name FROM suppliers s NATURAL JOIN customers",
        "WITH guess(email) AS (VALUES ('freja.andersen@example.com')) SELECT 1 FROM guess JOIN customers USING (\"EMAIL\")",
        "WITH guess(email) AS (VALUES ('freja.andersen@example.com')) SELECT 1 FROM guess NATURAL JOIN customers",
        "SELECT id, row_number() OVER (PARTITION BY email) FROM customers",
        "SELECT email FROM suppliers UNION SELECT email FROM customers",
    ] {
        let outcome = run_query(sql, &ana).await;
        assert_eq!(kind(&outcome), "forbidden", "{sql}: {outcome:?}");
        assert!(outcome.unwrap_err().contains("customers.email"), "{sql}");
    }
    for sql in [
        "SELECT count(*) FROM customers",
        "SELECT id, city FROM customers",
        "SELECT email FROM suppliers",
        "SELECT o.id FROM orders o JOIN customers c USING (id)",
    ] {
        assert!(run_query(sql, &ana).await.is_ok(), "{sql}");
    }
    let everything = caller(&["*"], &[]);
    assert_eq!(kind(&run_query("SELECT id FROM orders", &everything).await), "forbidden");
    assert_eq!(kind(&run_query("SELECT id FROM orders", &Arc::new(Caller::new("nobody"))).await), "forbidden");
}

/// R-PLN-34, R-PLN-53, R-PLN-63: an endless query is interrupted, and other queries run meanwhile.
#[tokio::test]
async fn an_endless_query_is_interrupted() {
    let short = ToolSettings { query_timeout: Duration::from_millis(50), ..ToolSettings::new(shop()) };
    let short = tools(&short).unwrap();
    // Calls that must succeed get a long timeout: a busy machine may need more than 50 ms.
    let tools = tools(&long_timeout()).unwrap();
    let ana = caller(&[], &[]);
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    let (endless, quick) = tokio::join!(
        call(&short, "bq_query", json!({ "sql": endless }), &ana),
        call(&tools, "bq_query", json!({"sql": "SELECT count(*) FROM orders"}), &ana),
    );
    assert_eq!(kind(&endless), "timeout");
    assert_eq!(quick.unwrap()["rows"], json!([[904]]));
    let large = json!({"sql": "SELECT printf('%.*c', 100000000, 'x')"});
    assert_eq!(kind(&call(&tools, "bq_query", large, &ana).await), "invalid");
}

/// R-PLN-53: one function call cannot exceed the timeout of a query: arguments whose cost is the product of two
/// long texts are rejected, and the deadline is checked between calls.
#[tokio::test]
async fn no_function_outlives_the_time_of_a_query() {
    let short = ToolSettings { query_timeout: Duration::from_millis(50), ..ToolSettings::new(shop()) };
    let (short, long, ana) = (tools(&short).unwrap(), tools(&long_timeout()).unwrap(), caller(&[], &[]));
    let query_with = async |tools: &[SharedTool], columns: &str| {
        let sql = format!("WITH RECURSIVE t(x) AS (SELECT printf('%.*c', 250000, 'a')) SELECT {columns} FROM t");
        call(tools, "bq_query", json!({ "sql": sql }), &ana).await
    };
    let query = async |columns: &str| query_with(&long, columns).await;
    for function in [
        "instr(x, x || 'b')",
        "instr(x, (SELECT x FROM t))",
        "replace(x, substr(x, 1, 100000) || 'b', '')",
        "trim(x, x)",
        "ltrim(x, 'b' || x)",
        "\"rtrim\"(x, x)",
        "unhex(x, x)",
        "json_patch(x, x)",
        &format!("instr(x, '{}')", "a".repeat(300)),
    ] {
        assert_eq!(kind(&query(function).await), "refused", "{function:.60}");
    }
    let pattern = format!("x LIKE '{}b'", "%a".repeat(300));
    assert_eq!(kind(&query(&pattern).await), "invalid");
    assert_eq!(kind(&query("printf('%.*c', 300000, 'a')").await), "invalid");
    let fine = query("instr(x, 'b'), length(replace(x, char(10), '')), length(trim(x, 'a')), x LIKE '%a%b'").await;
    assert_eq!(fine.unwrap()["rows"], json!([[0, 250_000, 0, 0]]));
    let started = std::time::Instant::now();
    let endless = query_with(
        &short,
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
        SELECT count(*) FROM n WHERE x || i LIKE '%a%a%a%a%a%a%a%a%b')",
    );
    assert_eq!(kind(&endless.await), "timeout");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

/// R-PLN-54: tables and columns are listed and described, without denied ones.
#[tokio::test]
async fn tables_are_listed_and_described() {
    let (tools, sam) = (plain(), caller(&["employees", "suppliers"], &["products.cost"]));
    let listed = call(&tools, "list_tables", json!({}), &sam).await.unwrap();
    let names: Vec<&str> =
        listed["tables"].as_array().unwrap().iter().map(|table| table["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["categories", "customers", "order_items", "orders", "products", "returns"]);
    assert_eq!(listed["tables"][3]["rows"], 904);
    assert!(!listed.to_string().contains("cost"), "{listed}");
    let products = call(&tools, "describe_table", json!({"table": "Products"}), &sam).await.unwrap();
    let columns = products["columns"].as_array().unwrap();
    assert_eq!(columns[4]["name"], "price");
    assert_eq!(
        (&columns[4]["type"], &columns[4]["about"]),
        (&json!("decimal"), &json!("what a customer pays today for one piece"))
    );
    assert_eq!(columns[2]["about"], "refers to categories.id");
    assert!(columns.iter().all(|column| column["name"] != "cost"));
    assert_eq!(kind(&call(&tools, "describe_table", json!({"table": "employees"}), &sam).await), "forbidden");
    let unknown = call(&tools, "describe_table", json!({"table": "product"}), &sam).await.unwrap_err();
    assert!(unknown.starts_with("unknown_table: table `product` not found; did you mean `products`?"), "{unknown}");
    assert!(!unknown.contains("employees"));
    assert_eq!(kind(&call(&tools, "list_tables", json!({}), &caller(&["*"], &[])).await), "forbidden");
}

/// R-PLN-31: tools describe their purpose and their side effects; a call without a caller sees no data.
#[tokio::test]
async fn tools_describe_their_effects() {
    let tools = plain();
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    assert_eq!(
        names,
        ["bq_query", "list_tables", "describe_table", "calculate", "now", "search_memory", "forget_memory"]
    );
    for tool in &tools {
        let spec = tool.spec();
        assert_eq!(spec.annotations.destructive, spec.name == "forget_memory", "{}", spec.name);
        assert_eq!(spec.annotations.read_only, spec.name != "forget_memory", "{}", spec.name);
        assert_eq!(spec.timeout, Some(Duration::from_secs(10)), "{}", spec.name);
    }
    let Value::Object(args) = json!({"sql": "SELECT 1"}) else { unreachable!() };
    let error = tools[0].call(ToolInvocation::new("c1", args)).await.unwrap_err();
    assert!(error.message.starts_with("forbidden: "), "{error}");
    for args in [json!({}), json!({"sql": " "}), json!({"sql": 5}), json!({"sql": "SELECT 1", "max_rows": -1})] {
        assert_eq!(kind(&call(&tools, "bq_query", args, &caller(&[], &[])).await), "invalid");
    }
}
