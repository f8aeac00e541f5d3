//! Custom data: SQLite, CSV and Parquet files.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rusqlite::Connection;
use serde_json::{Value, json};
use superstep::ErrorCode;
use superstep_assistant::data::{ColumnType, Dataset};
use superstep_assistant::tools::{ToolSettings, tools};

use super::{call, caller, empty_folder, kind};

async fn run_query(data: Dataset, sql: &str) -> Result<Value, String> {
    let tools = tools(&ToolSettings::new(Arc::new(data))).unwrap();
    call(&tools, "bq_query", json!({ "sql": sql }), &caller(&[], &[])).await
}

/// R-PLN-25, R-PLN-54: the metadata of a view contains no data of its base tables, whatever its column names: a
/// user who may see the view may not see all of that data.
#[tokio::test]
async fn a_view_reveals_no_values_of_hidden_tables() {
    let path = empty_folder("views").join("staff.db");
    let connection = Connection::open(&path).unwrap();
    let tables = "CREATE TABLE employees (name TEXT, born TEXT, salary INTEGER);
        INSERT INTO employees VALUES ('Ada Byron', '1815-12-10', 90210), ('Alan T', '1912-06-23', 90211);
        CREATE VIEW people AS SELECT name AS who, born AS day, salary AS n FROM employees;";
    connection.execute_batch(tables).unwrap();
    drop(connection);
    let data = Arc::new(Dataset::open(&path).unwrap());
    let tools = tools(&ToolSettings::new(data.clone())).unwrap();
    let sam = caller(&["employees"], &[]);
    let described = call(&tools, "describe_table", json!({"table": "people"}), &sam).await.unwrap();
    let listed = call(&tools, "list_tables", json!({}), &sam).await.unwrap();
    assert_eq!(listed["tables"][0], json!({"name": "people", "rows": null, "about": "columns: who, day, n"}));
    assert_eq!((&described["columns"][1]["type"], &described["columns"][2]["samples"]), (&json!("date"), &json!([])));
    for secret in ["Ada", "1815", "90210"] {
        assert!(!format!("{described}{listed}{:?}", data.catalog().table("people")).contains(secret), "{secret}");
    }
    let result = call(&tools, "bq_query", json!({"sql": "SELECT who FROM people"}), &sam).await;
    assert_eq!(kind(&result), "forbidden", "the database knows what a view reads");
}

/// R-PLN-54: a broken view is left out, and a view that never ends keeps its declared columns; neither prevents the
/// start.
#[test]
fn broken_views_do_not_prevent_the_start() {
    let path = empty_folder("broken-views").join("shop.db");
    let connection = Connection::open(&path).unwrap();
    let tables = "CREATE TABLE notes (id INTEGER PRIMARY KEY); CREATE TABLE gone (id INTEGER);
        CREATE VIEW broken AS SELECT * FROM gone; DROP TABLE gone;
        CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS c FROM n;";
    connection.execute_batch(tables).unwrap();
    drop(connection);
    let data = Dataset::open(&path).unwrap();
    let names: Vec<&str> = data.catalog().tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["endless", "notes"]);
    let endless = data.catalog().table("endless").unwrap();
    assert!(endless.is_view && endless.column("c").is_some());
}

/// R-PLN-53: the error for an unreadable table names the table.
#[test]
fn a_table_that_cannot_be_read_is_named() {
    let path = empty_folder("broken-table").join("shop.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE ledger (id INTEGER); INSERT INTO ledger VALUES (1);").unwrap();
    let page: u16 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    drop(connection);
    let mut bytes = fs::read(&path).unwrap();
    bytes[usize::from(page)..][..100].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let error = Dataset::open(&path).unwrap_err().to_string();
    assert!(error.contains("table `ledger`: "), "{error}");
}

/// R-PLN-53: a SQLite file is queried in place, and cannot be written.
#[tokio::test]
async fn a_sqlite_file_is_queried_and_not_written() {
    let path = empty_folder("sqlite").join("shop.db");
    let connection = Connection::open(&path).unwrap();
    let table = "CREATE TABLE notes (\n id INTEGER PRIMARY KEY,\n text TEXT /* x */ -- what it says\n);
        INSERT INTO notes VALUES (1, 'one'), (2, NULL); CREATE VIEW firsts AS SELECT * FROM notes WHERE id = 1;";
    connection.execute_batch(table).unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let data = Dataset::open(&path).unwrap();
    assert_eq!(data.catalog().table("notes").unwrap().column("text").unwrap().comment, "what it says");
    assert!(data.catalog().table("firsts").unwrap().is_view);
    let answer =
        run_query(data, "SELECT n.id, f.text FROM notes n LEFT JOIN firsts f USING (id) ORDER BY 1").await.unwrap();
    assert_eq!(answer["rows"], json!([[1, "one"], [2, null]]));
    let result = run_query(Dataset::open(&path).unwrap(), "DELETE FROM notes").await;
    assert_eq!(kind(&result), "refused");
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// R-PLN-53: columns of CSV files without a schema get types from their values; empty fields are `NULL`.
#[tokio::test]
async fn csv_files_without_a_schema_are_loaded() {
    let folder = empty_folder("csv");
    let text = "\u{feff}id,name,price,postcode,day\n1,\"Stove, small\",12.50,01234,2026-10-01\n2,,7,99999,2026-10-02\n";
    fs::write(folder.join("things.csv"), text).unwrap();
    fs::write(folder.join("notes.txt"), "left alone").unwrap();
    let data = Dataset::open(&folder).unwrap();
    let kinds: Vec<ColumnType> = data.catalog().tables[0].columns.iter().map(|column| column.kind).collect();
    assert_eq!(kinds, [ColumnType::Integer, ColumnType::Text, ColumnType::Decimal, ColumnType::Text, ColumnType::Date]);
    let answer = run_query(data, "SELECT id, name, price, postcode FROM things ORDER BY id").await.unwrap();
    assert_eq!(answer["rows"], json!([[1, "Stove, small", 12.5, "01234"], [2, null, 7, "99999"]]));
}

/// R-PLN-53: Parquet files are loaded with their types, dates as dates and money with its decimals.
#[tokio::test]
async fn parquet_files_are_loaded() {
    let folder = empty_folder("parquet");
    write_parquet(&folder.join("sales.parquet"));
    fs::write(folder.join("shops.csv"), "id,city\n7,Freiburg\n8,Kempten\n").unwrap();
    let data = Dataset::open(&folder).unwrap();
    let sales = data.catalog().table("sales").unwrap();
    let kinds: Vec<(&str, ColumnType)> =
        sales.columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
    let expected = [
        ("shop", ColumnType::Integer),
        ("day", ColumnType::Date),
        ("amount", ColumnType::Decimal),
        ("who", ColumnType::Text),
    ];
    assert_eq!(kinds, expected);
    let sql = "SELECT city, day, amount, who FROM sales JOIN shops ON shops.id = shop ORDER BY day";
    let answer = run_query(data, sql).await.unwrap();
    let expected = json!([["Freiburg", "2024-10-04", 44.9, "Ana"], ["Kempten", "2024-10-05", -0.05, null]]);
    assert_eq!(answer["rows"], expected);
}

fn write_parquet(path: &Path) {
    let schema = "message sales { REQUIRED INT64 shop; REQUIRED INT32 day (DATE);
        REQUIRED INT64 amount (DECIMAL(10,2)); OPTIONAL BYTE_ARRAY who (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[7, 8], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&[20_000, 20_001], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[4_490, -5], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&[ByteArray::from("Ana")], Some(&[1, 0]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

/// R-PLN-53: the error for an unreadable file names the file.
#[test]
fn an_unreadable_file_is_named() {
    type Files = &'static [(&'static str, &'static str)];
    let rows: [(&str, Files, &str); 7] = [
        ("empty", &[("readme.md", "nothing")], "*.csv"),
        ("ragged", &[("a.csv", "x,y\n1\n")], "a.csv"),
        ("schema", &[("schema.sql", "CREATE TABLE a (x"), ("a.csv", "x\n1\n")], "schema.sql"),
        ("columns", &[("schema.sql", "CREATE TABLE a (x)"), ("a.csv", "z\n1\n")], "a.csv"),
        ("check", &[("schema.sql", "CREATE TABLE a (x INTEGER CHECK (x > 5))"), ("a.csv", "x\n1\n")], "row 1"),
        ("attach", &[("schema.sql", "ATTACH 'other.db' AS other"), ("a.csv", "x\n1\n")], "schema.sql"),
        ("parquet", &[("a.parquet", "not one")], "a.parquet"),
    ];
    for (name, files, expected) in rows {
        let folder = empty_folder(&format!("broken-{name}"));
        for (file, text) in files {
            fs::write(folder.join(file), text).unwrap();
        }
        let error = Dataset::open(&folder).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{name}");
        assert!(error.message().contains(expected), "{name}: {error}");
    }
    assert!(Dataset::open(Path::new("/no/such/data")).unwrap_err().message().contains("/no/such/data"));
}
