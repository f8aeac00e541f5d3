//! Reading files: inside the allowed folders only.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::json;
use superstep::ErrorCode;
use superstep_assistant::tools::{ToolSettings, tools};

use super::{call, caller, empty_folder, kind, shop};

/// R-PLN-54: a file of an allowed folder is read, and a large one is cut.
#[tokio::test]
async fn files_of_allowed_folders_are_read() {
    let folder = empty_folder("files").join("handbook");
    fs::create_dir_all(folder.join("more")).unwrap();
    fs::write(folder.join("refunds.md"), "Refunds take 5 days. é").unwrap();
    fs::write(folder.join("more/a.txt"), "deeper").unwrap();
    fs::write(folder.join("large.txt"), "é".repeat(200_000)).unwrap();
    fs::write(folder.join("binary.txt"), b"a\0b").unwrap();
    symlink(folder.join("refunds.md"), folder.join("link.md")).unwrap();
    let tools = tools(&ToolSettings { folders: vec![folder], ..ToolSettings::new(shop()) }).unwrap();
    let ana = caller(&[], &[]);
    for path in ["refunds.md", "handbook/refunds.md", "./refunds.md", "link.md"] {
        let read = call(&tools, "read_file", json!({ "path": path }), &ana).await.unwrap();
        assert_eq!(read, json!({"path": path, "text": "Refunds take 5 days. é", "truncated": false}));
    }
    assert_eq!(call(&tools, "read_file", json!({"path": "more/a.txt"}), &ana).await.unwrap()["text"], "deeper");
    let large = call(&tools, "read_file", json!({"path": "large.txt"}), &ana).await.unwrap();
    assert_eq!((&large["truncated"], large["text"].as_str().unwrap().len()), (&json!(true), 256 * 1024));
    assert_eq!(kind(&call(&tools, "read_file", json!({"path": "binary.txt"}), &ana).await), "invalid");
    let missing = call(&tools, "read_file", json!({"path": "refund.md"}), &ana).await.unwrap_err();
    assert_eq!(missing, "invalid: file `refund.md` not found; did you mean `refunds.md`?");
}

/// R-PLN-72: a path outside the folders, with `..`, or through a link that leaves them is rejected, and so is
/// everything that is not a regular file.
#[tokio::test]
async fn files_outside_the_folders_are_rejected() {
    let root = empty_folder("outside");
    let folder = root.join("allowed");
    fs::create_dir_all(folder.join("inner")).unwrap();
    fs::create_dir_all(root.join("allowed-not")).unwrap();
    fs::write(root.join("secret.txt"), "secret").unwrap();
    fs::write(root.join("allowed-not/secret.txt"), "secret").unwrap();
    fs::write(folder.join(".env"), "secret").unwrap();
    symlink(root.join("secret.txt"), folder.join("out.txt")).unwrap();
    symlink(&root, folder.join("up")).unwrap();
    symlink("/etc", folder.join("etc")).unwrap();
    symlink("/dev/zero", folder.join("zero")).unwrap();
    let _listener = UnixListener::bind(folder.join("socket")).unwrap();
    let tools = tools(&ToolSettings { folders: vec![folder.clone()], ..ToolSettings::new(shop()) }).unwrap();
    let absolute = folder.join("inner").display().to_string();
    for path in [
        "../secret.txt",
        "inner/../../secret.txt",
        "..",
        "inner/..",
        "/etc/passwd",
        absolute.as_str(),
        "out.txt",
        "up/secret.txt",
        "up/allowed-not/secret.txt",
        "etc/passwd",
        "zero",
        "socket",
        "inner",
        ".",
        ".env",
        "~/secret.txt",
        "..\\secret.txt",
        "C:\\secret.txt",
        "file:///etc/passwd",
        "inner\0.txt",
    ] {
        let outcome = call(&tools, "read_file", json!({ "path": path }), &caller(&[], &[])).await;
        assert_eq!(kind(&outcome), "refused", "{path}: {outcome:?}");
    }
}

/// R-PLN-54: a missing folder is an error at startup; without folders the tool does not exist.
#[test]
fn a_folder_that_does_not_exist_is_rejected() {
    let missing = ToolSettings { folders: vec!["/no/such/folder".into()], ..ToolSettings::new(shop()) };
    assert_eq!(tools(&missing).unwrap_err().code(), ErrorCode::ConfigInvalid);
    let none = tools(&ToolSettings::new(shop())).unwrap();
    assert!(none.iter().all(|tool| tool.spec().name != "read_file"));
}
