//! Targets of links in responses: indexed documents, issues and mail, and nothing else.

use std::os::unix::fs::symlink;

use serde_json::Value;
use superstep_server::ModelRegistry;

use crate::sources::Folder;
use crate::test_server::{TestServer, start_server_with};

const MAIL: &str = "From: a@b.example\r\nSubject: Marmalade\r\n\r\nIt is <b>sweet</b>.\r\n";
const ISSUES: &str = r#"[{"number": 7, "title": "Cold tea", "body": "It gets cold.", "state": "open", "html_url": ""},
    {"number": 8, "title": "Weak tea", "body": "More leaves.", "state": "open", "html_url": "javascript:alert(1)"}]"#;

/// Starts the application with the folder `own`.
async fn serve_folder(folder: &Folder) -> TestServer {
    let path = folder.path().join("own");
    start_server_with(folder, |settings| settings.folder = Some(path), ModelRegistry::default()).await
}

/// Requests a file and returns status and body.
async fn read(server: &TestServer, path: &str) -> (u16, String) {
    let response = server.get(&format!("/api/suggestions/files/{path}")).await;
    (response.status().as_u16(), response.text().await.unwrap())
}

/// R-SUG-55, R-SUG-19: no path serves a file outside of the folders, and markup of a document never runs.
#[tokio::test]
async fn files_are_those_of_the_folders() {
    let folder = Folder::new();
    folder.write("own/docs/a.md", "# Tea <script>alert(1)</script>\n<img src=x onerror=alert(1)>");
    folder.write("own/docs/.hidden.md", "# Hidden");
    folder.write("own/docs/key.pem", "secret");
    folder.write("own/secret.md", "# secret");
    folder.write("docs-secret/a.md", "# secret");
    symlink(folder.path().join("own/secret.md"), folder.path().join("own/docs/link.md")).unwrap();
    symlink(folder.path().join("docs-secret"), folder.path().join("own/docs/linked")).unwrap();
    let server = serve_folder(&folder).await;
    let page = server.get("/api/suggestions/files/docs/a.md").await;
    assert!(page.headers()["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
    let text = page.text().await.unwrap();
    assert!(text.contains("Tea &lt;script&gt;") && !text.contains("<script") && !text.contains("<img"), "{text}");
    for path in [
        "docs/..%2Fsecret.md",
        "docs/%2e%2e/secret.md",
        "docs/..%5csecret.md",
        "docs/.hidden.md",
        "docs/key.pem",
        "docs/link.md",
        "docs/linked/a.md",
        "docs//etc/passwd",
        "docs/%2Fetc%2Fpasswd",
        "docs",
        "docs/none.md",
        "posts/posts.md",
        "issues/a.md",
        "m365/mail/a.eml",
        "../docs-secret/a.md",
    ] {
        let response = server.get(&format!("/api/suggestions/files/{path}")).await;
        assert_eq!(response.status(), 404, "{path}");
        assert!(!response.text().await.unwrap().contains("# secret"), "{path}");
    }
}

/// R-SUG-18, R-SUG-19, R-SUG-20: each source serves only the file types that it indexes.
#[tokio::test]
async fn a_source_serves_the_kinds_it_searches() {
    let folder = Folder::new();
    for (source, others) in [("docs", ["json", "csv", "eml"]), ("issues", ["txt", "html", "eml"])] {
        others.iter().for_each(|ending| folder.write(&format!("own/{source}/secret.{ending}"), "the secret word"));
    }
    folder.write("own/issues/list.json", ISSUES);
    folder.write("own/issues/broken.json", "{\"secret\": \"the secret word\"}");
    folder.write("own/m365/notes.md", "# Notes\nTea.");
    folder.write("own/m365/secret.csv", "the secret word");
    folder.write("own/m365/mail/one.eml", MAIL);
    folder.write("own/m365/mail/secret.json", "the secret word");
    folder.write("own/m365/mail/beside.txt", "A text beside the mail.");
    let server = serve_folder(&folder).await;
    for path in [
        "docs/secret.json",
        "docs/secret.csv",
        "docs/secret.eml",
        "issues/secret.txt",
        "issues/secret.html",
        "issues/secret.eml",
        "issues/broken.json",
        "m365/secret.csv",
        "m365/mail/secret.json",
        "issues/list.json?issue=3",
        "issues/list.json?issue=0",
        "m365/mail/one.eml?message=2",
    ] {
        let (status, text) = read(&server, path).await;
        assert!(status == 404 && !text.contains("the secret word"), "{path}: {status} {text}");
    }
    for (path, words) in [
        ("issues/list.json?issue=2", "More leaves."),
        ("issues/list.json", "It gets cold."),
        ("m365/notes.md", "<h1 id=\"notes\">Notes</h1>"),
        ("m365/mail/one.eml", "It is &lt;b&gt;sweet&lt;/b&gt;."),
        ("m365/mail/beside.txt", "A text beside the mail."),
    ] {
        let (status, text) = read(&server, path).await;
        assert!(status == 200 && text.contains(words), "{path}: {status} {text}");
    }
}

/// R-SUG-19: a folder with documents alone is indexed as documents, and its other files are not served.
#[tokio::test]
async fn a_folder_of_documents_serves_only_documents() {
    let folder = Folder::new();
    folder.write("own/guide.md", "# Guide\nTea.");
    folder.write("own/package.json", "[]");
    folder.write("own/customers.csv", "Issue key,Summary\nA-1,secret\n");
    let server = serve_folder(&folder).await;
    assert_eq!(read(&server, "docs/guide.md").await.0, 200);
    for path in ["docs/package.json", "docs/customers.csv", "issues/customers.csv", "m365/guide.md"] {
        assert_eq!(read(&server, path).await.0, 404, "{path}");
    }
    assert_eq!(server.json("/api/suggestions/settings").await["leftOut"], 2);
}

/// R-SUG-39, R-SUG-19: links to files and headings work for any characters in the file name.
#[tokio::test]
async fn links_work_for_any_file_name() {
    let folder = Folder::new();
    let names = ["c# notes", "what?", "100% sure", "a b", "größe", "a&b=c+d", "x#top", "50%25"];
    for (number, name) in names.into_iter().enumerate() {
        let sentence = format!("zebra{number} stands here");
        folder.write(&format!("own/docs/{name}/{name}.md"), &format!("# Title\n\n## Größe #1\n\n{sentence}\n"));
        folder.write(&format!("own/m365/{name}.md"), &format!("# Title\n\n{sentence}\n"));
        let mail = format!("From a@b Mon Jan  1 00:00:00 2024\n{MAIL}\n{sentence}\n");
        folder.write(&format!("own/m365/mail/{name}.mbox"), &mail);
        folder.write(&format!("own/issues/{name}.json"), &ISSUES.replace("It gets cold.", &sentence));
    }
    let server = serve_folder(&folder).await;
    for (number, name) in names.into_iter().enumerate() {
        let response = server.json(&format!("/api/search?q=zebra{number}")).await;
        for source in ["docs", "issues", "m365"] {
            let links = response[source].as_array().unwrap();
            assert_eq!(links.len(), if source == "m365" { 2 } else { 1 }, "{source} {name}: {response}");
            for url in links.iter().map(|one| one["url"].as_str().unwrap()) {
                let (path, anchor) = url.split_once('#').unwrap_or((url, ""));
                let page = server.get(path).await;
                assert_eq!(page.status(), 200, "{source} {url}");
                let text = page.text().await.unwrap();
                assert!(text.contains(&format!("zebra{number} stands here")), "{url}: {text}");
                assert_eq!(anchor, if source == "docs" { "gr%C3%B6%C3%9Fe-1" } else { "" }, "{url}");
                assert_eq!(text.contains("<h2 id=\"größe-1\">"), source == "docs", "{text}");
            }
        }
    }
}

/// R-SUG-55: if the URL of an issue in an export is not a web URL, the link does not use it.
#[tokio::test]
async fn an_export_cannot_set_a_non_web_link() {
    let folder = Folder::new();
    folder.write("own/issues/list.json", ISSUES);
    let server = serve_folder(&folder).await;
    let response = server.json("/api/search?q=leaves").await;
    let urls: Vec<&Value> = response["issues"].as_array().unwrap().iter().map(|one| &one["url"]).collect();
    assert_eq!(urls, ["/api/suggestions/files/issues/list.json?issue=2"]);
}
