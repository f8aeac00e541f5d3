//! The embedded sample.

use std::fs;

use superstep_assistant::data::{ColumnType, Dataset};
use superstep_assistant::sample;

use super::{empty_folder, shop};

/// The sample is unpacked once, and changes by a user stay.
#[test]
fn the_sample_is_unpacked_once() {
    let folder = empty_folder("unpacked");
    sample::unpack(&folder).unwrap();
    let policy = folder.join("policy.toml");
    assert_eq!(fs::read_to_string(&policy).unwrap(), sample::text("policy.toml").unwrap());
    fs::write(&policy, "mine").unwrap();
    fs::remove_file(folder.join("handbook/stock.md")).unwrap();
    sample::unpack(&folder).unwrap();
    assert_eq!(fs::read_to_string(&policy).unwrap(), "mine");
    assert!(folder.join("handbook/stock.md").exists());
    assert_eq!(Dataset::open(&folder.join("shop")).unwrap().catalog(), shop().catalog());
}

/// Concurrent programs unpack the sample without conflicts, and readers never see a partial file.
#[test]
fn the_sample_is_unpacked_by_many_at_once() {
    let folder = empty_folder("unpacked-at-once");
    let full_text = sample::text("shop/order_items.csv").unwrap();
    let read_table = || fs::read_to_string(folder.join("shop/order_items.csv")).ok();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| sample::unpack(&folder))).collect();
        while !all.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            assert!(read_table().is_none_or(|text| text == full_text), "half a file");
        }
        all.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    });
    assert_eq!(read_table(), Some(full_text));
}

/// R-PLN-53, R-PLN-56: the catalog contains the metadata that planning needs: names, types, comments, values,
/// references.
#[test]
fn the_catalog_describes_all_tables() {
    let shop = shop();
    let names: Vec<&str> = shop.catalog().tables.iter().map(|table| table.name.as_str()).collect();
    let expected =
        ["categories", "customers", "employees", "order_items", "orders", "products", "returns", "suppliers"];
    assert_eq!((shop.name(), names.as_slice()), ("shop", expected.as_slice()));
    let orders = shop.catalog().table("ORDERS").unwrap();
    assert_eq!(orders.rows, 904);
    let column = |name: &str| orders.column(name).unwrap();
    for (name, kind) in [
        ("id", ColumnType::Integer),
        ("status", ColumnType::Text),
        ("ordered_at", ColumnType::Time),
        ("shipped_at", ColumnType::Time),
        ("total", ColumnType::Decimal),
    ] {
        assert_eq!(column(name).kind, kind, "{name}");
    }
    assert!(column("id").is_key && !column("status").is_key);
    assert_eq!(column("status").distinct, ["CANCELLED", "DELIVERED", "NEW", "PAID", "RETURNED", "SHIPPED"]);
    assert!(column("status").comment.starts_with("NEW: placed, not paid;"));
    assert!(column("status").comment.ends_with("see due_at."));
    assert!(column("due_at").comment.contains("late if shipped_at > due_at"));
    assert_eq!(column("customer_id").references, Some(("customers".to_owned(), "id".to_owned())));
    assert!(column("id").distinct.is_empty() && column("id").samples.len() == 5);
    let products = shop.catalog().table("products").unwrap();
    assert_eq!(products.column("is_active").unwrap().kind, ColumnType::Boolean);
    assert!(products.column("name").unwrap().distinct.contains(&"Trail Stove Mini".to_owned()));
    assert_eq!(shop.catalog().table("employees").unwrap().column("hired_at").unwrap().kind, ColumnType::Date);
}
